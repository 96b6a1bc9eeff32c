/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_ENGINE_VERIFY_PART_H
#define IOBM_ENGINE_VERIFY_PART_H

/*
 * One rank's share of a verification: its part read back and compared.
 * Nothing here is collective but what the back end does.  For engine/verify.c
 * and the tests.
 */

#include <stdbool.h>
#include <stdint.h>

#include "engine/diagnose.h"
#include "engine/watch.h"
#include "iobm/backend.h"
#include "iobm/result.h"
#include "par/stop.h"

/* The operations on a part, in the order of the file.  They end at multiples
 * of 'most_bytes', so that no 4 KiB block is cut in two that need not be. */
struct verify_walk {
    int64_t offset, left;
    int64_t most_bytes;
    int64_t block_bytes, block_left; /* contiguous: all is one block */
    int64_t stride_bytes;            /* contiguous: 0 */
    bool span;                       /* take more than one block at once */
};

struct verify_part {
    /* the owner's */
    const struct iobm_backend *backend;
    void *state, *file;
    struct iobm_open how;
    struct data data;
    struct diagnose diagnose;
    unsigned char *buffer; /* page aligned, for how.transfer_bytes */
    int64_t unit_bytes;    /* smallest read: a block, or the alignment */
    int64_t turns;         /* collective transfers: on each rank; else -1 */
    struct stop *stop;
    struct watch *watch;

    /* what came out: one row per kind; blocks == 0: none */
    struct iobm_finding_row found[DIAGNOSE_KINDS];
    int64_t bytes, errors; /* as in struct verify_result */
    enum iobm_status status;
    struct iobm_error err;

    struct verify_walk walk;
    int64_t flipped_bits;
    int64_t last_block; /* the last one counted, and as what */
    enum diagnose_kind last_kind;
    int unreadable; /* transfers */
    int64_t poll_ns;
};

/* As described in 'how'; 'span': the back end takes strides. */
void verify_walk_init(struct verify_walk *walk, const struct iobm_open *how,
                      bool span);

/* The workload's members of the next operation; false at the end. */
bool verify_walk_next(struct verify_walk *walk, struct iobm_op *op);

/* Open, read and compare all, close.  part->status is not IOBM_OK only when a
 * signal ended it, or it could not be done. */
void verify_part_run(struct verify_part *part);

#endif
