/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_OP_H
#define IOBM_OP_H

#include <stddef.h>
#include <stdint.h>

enum iobm_op_kind {
    IOBM_OP_WRITE,
    IOBM_OP_READ,
};

/*
 * One operation.  The workload fills what to do, the engine the buffer and
 * the times, the back end the outcome.  Nobody writes another's members.
 *
 * An operation is contiguous in the file when 'stride_bytes' is 0.  Else it
 * covers pieces of 'block_bytes', the first at 'offset', each next one
 * 'stride_bytes' further on; the last piece may be shorter.  Such an
 * operation starts at a block's first byte.
 */
struct iobm_op {
    /* workload */
    enum iobm_op_kind kind;
    int64_t offset;       /* of the first byte in the file */
    int64_t size;         /* bytes; 0 only for a collective idle turn */
    int64_t block_bytes;  /* see above */
    int64_t stride_bytes; /* 0: contiguous */

    /* engine */
    void *buffer;     /* see below */
    int64_t start_ns; /* when it was handed to the back end */
    int64_t end_ns;   /* when the back end was done with it */

    /* back end */
    int64_t done; /* bytes really moved; less than 'size' only on failure */
};

/*
 * The buffer holds the operation's bytes back to back, whatever the stride.
 * To read into: page aligned, with room for 'size' rounded up to 4 KiB.  To
 * write from: page aligned when 'offset' is a multiple of 4 KiB, else at the
 * same distance from a page as 'offset'; the back end does not change it.
 */

/* How many bytes are contiguous in the file behind the first 'done' bytes of
 * 'op', and the '*offset' they begin at. */
static inline int64_t iobm_op_piece(const struct iobm_op *op, int64_t done,
                                    int64_t *offset)
{
    int64_t left = op->size - done;

    if (op->stride_bytes == 0) {
        *offset = op->offset + done;
        return left;
    }
    int64_t within = done % op->block_bytes;

    *offset = op->offset + done / op->block_bytes * op->stride_bytes + within;
    return left < op->block_bytes - within ? left : op->block_bytes - within;
}

#endif
