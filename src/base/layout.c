/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which bytes belong to which part.  Totals may be any number of bytes up to
 * INT64_MAX, so sums are arranged never to leave that range.
 */

#include "base/layout.h"

#include <inttypes.h>

enum iobm_status layout_check(const struct layout *layout,
                              struct iobm_error *err)
{
    const int64_t block = layout->block_bytes;
    const int64_t transfer = layout->transfer_bytes;
    int64_t turn;

    if (layout->parts < 1)
        return iobm_fail(err, IOBM_EUSAGE,
                         "cannot divide the data over %d ranks", layout->parts);
    if (layout->total_bytes < 1)
        return iobm_fail(err, IOBM_EUSAGE,
                         "the total size must be at least 1 byte, not %" PRId64,
                         layout->total_bytes);
    if (transfer < 1)
        return iobm_fail(err, IOBM_EUSAGE,
                         "the transfer size must be at least 1 byte, "
                         "not %" PRId64,
                         transfer);
    if (layout->grain_bytes < 1)
        return iobm_fail(err, IOBM_EUSAGE,
                         "the alignment must be at least 1 byte, not %" PRId64,
                         layout->grain_bytes);
    if (!layout->strided)
        return IOBM_OK;

    if (!layout->shared)
        return iobm_fail(err, IOBM_EUSAGE,
                         "a strided layout needs one shared file");
    if (block < 1)
        return iobm_fail(err, IOBM_EUSAGE,
                         "the block size must be at least 1 byte, "
                         "not %" PRId64,
                         block);
    if (__builtin_mul_overflow(block, (int64_t)layout->parts, &turn))
        return iobm_fail(err, IOBM_EUSAGE,
                         "one block of %" PRId64 " bytes for each of %d ranks "
                         "is more than a file can hold",
                         block, layout->parts);
    if (transfer > block && transfer % block != 0)
        return iobm_fail(err, IOBM_EUSAGE,
                         "a transfer of %" PRId64 " bytes is no multiple of "
                         "the block of %" PRId64 " bytes",
                         transfer, block);
    if (block % layout->grain_bytes != 0)
        return iobm_fail(err, IOBM_EUSAGE,
                         "a block of %" PRId64 " bytes is no multiple of the "
                         "alignment of %" PRId64 " bytes",
                         block, layout->grain_bytes);
    return IOBM_OK;
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/* Whole blocks of part 'p', and the bytes of its short one, 0 for none. */
static int64_t part_blocks(const struct layout *layout, int p,
                           int64_t *short_bytes)
{
    int64_t whole = layout->total_bytes / layout->block_bytes;
    int64_t rest = layout->total_bytes % layout->block_bytes;
    int64_t turn = whole % layout->parts;

    *short_bytes = p == turn ? rest : 0;
    return whole / layout->parts + (p < turn);
}

int64_t layout_part_bytes(const struct layout *layout, int p)
{
    if (layout->strided) {
        int64_t rest;
        int64_t whole = part_blocks(layout, p, &rest);
        return whole * layout->block_bytes + rest;
    }

    int64_t units = layout->total_bytes / layout->grain_bytes;
    int64_t rest = layout->total_bytes % layout->grain_bytes;
    int64_t mine = units / layout->parts + (p < units % layout->parts);
    return mine * layout->grain_bytes + (p == layout->parts - 1 ? rest : 0);
}

int64_t layout_part_offset(const struct layout *layout, int p)
{
    if (!layout->shared)
        return 0;
    if (layout->strided)
        return p * layout->block_bytes;

    int64_t units = layout->total_bytes / layout->grain_bytes;
    int64_t extra = units % layout->parts;
    int64_t before = units / layout->parts * p + (p < extra ? p : extra);
    return before * layout->grain_bytes;
}

int64_t layout_part_ops(const struct layout *layout, int p)
{
    const int64_t transfer = layout->transfer_bytes;

    if (!layout->strided)
        return divide_up(layout_part_bytes(layout, p), transfer);

    int64_t rest;
    int64_t whole = part_blocks(layout, p, &rest);
    if (transfer > layout->block_bytes)
        return divide_up(whole + (rest > 0), transfer / layout->block_bytes);
    return whole * divide_up(layout->block_bytes, transfer) +
           divide_up(rest, transfer);
}

int64_t layout_max_ops(const struct layout *layout)
{
    /* The first parts have a unit more; with units shared out evenly the
     * last one, with the rest, is the largest.  Strided: the first. */
    int64_t first = layout_part_ops(layout, 0);
    int64_t last = layout_part_ops(layout, layout->parts - 1);

    return first > last ? first : last;
}

int layout_files(const struct layout *layout)
{
    return layout->shared ? 1 : layout->parts;
}

int64_t layout_file_bytes(const struct layout *layout, int f)
{
    return layout->shared ? layout->total_bytes : layout_part_bytes(layout, f);
}
