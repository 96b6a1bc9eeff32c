/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_GUARD_INSPECT_H
#define IOBM_GUARD_INSPECT_H

/* What a file really is, before iobm reads or replaces it.  Never writes. */

#include <stdbool.h>
#include <stdint.h>

#include "iobm/error.h"

enum inspect_kind {
    INSPECT_MISSING,
    INSPECT_REGULAR,
    INSPECT_LINK, /* symbolic */
    INSPECT_BLOCK,
    INSPECT_OTHER, /* directory, socket ... */
};

struct inspect {
    enum inspect_kind kind;
    int64_t bytes;           /* of a block device: its capacity */
    int64_t links;           /* st_nlink */
    int64_t hole_bytes;      /* sparse (SEEK_HOLE) */
    int64_t unwritten_bytes; /* FIEMAP: allocated, never written */
    bool extents_known;      /* whether FIEMAP answered */
};

enum iobm_status inspect_file(const char *path, bool extents,
                              struct inspect *out,
                              struct iobm_error *err) IOBM_CHECK;

/*
 * Refuse a file that a read test must not read: missing, short, longer,
 * sparse or unwritten, not regular.  One line with the reason and the way
 * out.
 */
enum iobm_status inspect_readable(const char *path, int64_t expected_bytes,
                                  struct iobm_error *err) IOBM_CHECK;

/*
 * Refuse a block device that is mounted, in use (O_EXCL) or too small.  Needs
 * 'destroy' for a write.
 */
enum iobm_status inspect_device(const char *path, bool write, bool destroy,
                                int64_t needed_bytes,
                                struct iobm_error *err) IOBM_CHECK;

#endif
