/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_BASE_LAYOUT_H
#define IOBM_BASE_LAYOUT_H

/*
 * Which bytes belong to which rank: pure arithmetic.  "Part" p of a layout is
 * what rank p writes: file p when every rank has a file, else its share of
 * the one file.
 */

#include <stdbool.h>
#include <stdint.h>

#include "iobm/error.h"

struct layout {
    bool shared;            /* one file; else file per rank */
    bool strided;           /* shared only: blocks dealt out in turn */
    int parts;              /* > 0: ranks that write */
    int64_t total_bytes;    /* over all parts */
    int64_t transfer_bytes; /* > 0 */
    int64_t block_bytes;    /* > 0 when strided */
    int64_t grain_bytes;    /* parts of a segmented shared file begin at
                               multiples of this (O_DIRECT), else 1 */
};

/* Check the members against each other; IOBM_EUSAGE with the reason. */
enum iobm_status layout_check(const struct layout *layout,
                              struct iobm_error *err) IOBM_CHECK;

/*
 * Bytes of part 'p'.  File per rank and segmented: the total is divided
 * evenly in units of the grain, the first parts have one unit more, and the
 * last part has what is less than a unit.  Strided: block k belongs to part
 * k mod parts, the last block may be shorter.
 */
int64_t layout_part_bytes(const struct layout *layout, int p);

/* Where part 'p' begins in its file. */
int64_t layout_part_offset(const struct layout *layout, int p);

/* Operations of part 'p', each at most transfer_bytes.  Strided: operations
 * end at the end of a block, or cover whole blocks when the transfer size is
 * larger than a block (then it is a multiple of it). */
int64_t layout_part_ops(const struct layout *layout, int p);
int64_t layout_max_ops(const struct layout *layout); /* over all parts */

int layout_files(const struct layout *layout);

/* Size of file 'f', 0 <= f < layout_files(). */
int64_t layout_file_bytes(const struct layout *layout, int f);

#endif
