/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A part from its first byte to its last, one transfer after the other.  In a
 * strided file an operation ends at the end of a block, or spans as many
 * whole blocks as a transfer holds.
 */
#include "workload/workloads.h"

#include "base/layout.h"

struct sequential {
    enum iobm_op_kind kind;
    int64_t transfer_bytes;
    int64_t left_bytes;  /* of the part */
    int64_t offset;      /* of the next byte in the file */
    int64_t block_bytes; /* strided: else 0 */
    int64_t block_left;  /* until the end of the current block */
    int64_t stride_bytes;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static enum iobm_status sequential_plan(void *state,
                                        const struct iobm_workload_input *in,
                                        struct iobm_error *err)
{
    const struct layout *layout = in->layout;
    struct sequential *s = state;
    enum iobm_status status = layout_check(layout, err);

    if (status)
        return status;
    if (in->part < 0 || in->part >= layout->parts)
        return iobm_fail(err, IOBM_EBUG, "part %d of a layout of %d parts",
                         in->part, layout->parts);
    *s = (struct sequential){
        .kind = in->kind,
        .transfer_bytes = layout->transfer_bytes,
        .left_bytes = layout_part_bytes(layout, in->part),
        .offset = layout_part_offset(layout, in->part),
    };
    if (layout->strided) {
        s->block_bytes = layout->block_bytes;
        s->block_left = layout->block_bytes;
        s->stride_bytes = layout->block_bytes * layout->parts;
    }
    return IOBM_OK;
}

/* Whole blocks, as many as one transfer holds; then on to the next block. */
static void span_blocks(struct sequential *s, struct iobm_op *op)
{
    int64_t blocks;

    op->size = least(s->transfer_bytes, s->left_bytes);
    blocks = (op->size + s->block_bytes - 1) / s->block_bytes;
    if (blocks > 1) {
        op->block_bytes = s->block_bytes;
        op->stride_bytes = s->stride_bytes;
    }
    s->left_bytes -= op->size;
    if (s->left_bytes > 0)
        s->offset += blocks * s->stride_bytes;
}

/* A piece of one block, or of a part that has no blocks. */
static void take_piece(struct sequential *s, struct iobm_op *op)
{
    op->size = least(s->transfer_bytes, s->left_bytes);
    if (s->block_bytes > 0)
        op->size = least(op->size, s->block_left);
    s->left_bytes -= op->size;
    if (s->left_bytes == 0)
        return;
    s->offset += op->size;
    if (s->block_bytes == 0)
        return;
    s->block_left -= op->size;
    if (s->block_left == 0) {
        s->offset += s->stride_bytes - s->block_bytes;
        s->block_left = s->block_bytes;
    }
}

static bool sequential_next(void *state, struct iobm_op *op)
{
    struct sequential *s = state;

    if (s->left_bytes == 0)
        return false;
    op->kind = s->kind;
    op->offset = s->offset;
    op->block_bytes = 0;
    op->stride_bytes = 0;
    if (s->block_bytes > 0 && s->transfer_bytes > s->block_bytes)
        span_blocks(s, op);
    else
        take_piece(s, op);
    return true;
}

const struct iobm_workload iobm_workload_sequential = {
    .name = "sequential",
    .summary = "from the first byte to the last, one transfer after the other",
    .abi = IOBM_WORKLOAD_ABI,
    .state_size = sizeof(struct sequential),
    .plan = sequential_plan,
    .next = sequential_next,
};
