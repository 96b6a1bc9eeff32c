/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every workload owes: all bytes of the layout once, no byte of another
 * part, operations no larger than a transfer and as many as the layout says,
 * the same ones for the same seed.  A new workload is tried without a change
 * here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/layout.h"
#include "iobm/workload.h"

#define SEED 7

/* shared, strided, parts, total, transfer, block, grain */
static const struct layout layouts[] = {
    /* file per rank */
    {false, false, 1, 1, 1, 0, 1},
    {false, false, 1, 4096, 4096, 0, 1},
    {false, false, 4, 4096, 16, 0, 1},
    {false, false, 4, 4099, 16, 0, 1},  /* a remainder */
    {false, false, 7, 10007, 13, 0, 1}, /* primes */
    {false, false, 16, 5, 4, 0, 1},     /* fewer bytes than ranks */
    {false, false, 3, 100, 1000, 0, 1}, /* less than a transfer */
    {false, false, 3, 10000, 1024, 0, 512},
    {false, false, 3, 511, 512, 0, 512},
    /* one file, segmented */
    {true, false, 1, 999, 10, 0, 1},
    {true, false, 4, 4096, 64, 0, 1},
    {true, false, 7, 10007, 13, 0, 1},
    {true, false, 16, 5, 4, 0, 1},
    {true, false, 3, 10000, 1024, 0, 512},
    {true, false, 5, 10001, 512, 0, 512},
    /* one file, strided: block as, larger than, smaller than a transfer */
    {true, true, 1, 100, 10, 10, 1},
    {true, true, 4, 4096, 64, 64, 1},
    {true, true, 4, 4096, 16, 64, 1},
    {true, true, 4, 4100, 48, 64, 1}, /* pieces of 48 and 16 */
    {true, true, 7, 10007, 13, 31, 1},
    {true, true, 4, 4096, 256, 64, 1},
    {true, true, 3, 1000, 70, 7, 1},
    {true, true, 3, 1000, 700, 7, 1},
    {true, true, 2, 65, 64, 32, 1}, /* a last block of 1 byte */
    {true, true, 16, 5, 4, 2, 1},
    {true, true, 16, 5, 4, 100, 1},
    {true, true, 1, 1003, 20, 5, 1}, /* stride as large as a block */
    {true, true, 3, 10240, 1024, 512, 512},
};

#define LAYOUTS (sizeof(layouts) / sizeof(layouts[0]))

struct walk {
    const struct iobm_workload *workload;
    void *state;
};

static struct walk begin(const struct iobm_workload *workload,
                         const struct layout *layout, int part,
                         enum iobm_op_kind kind)
{
    struct iobm_workload_input in = {
        .layout = layout, .part = part, .kind = kind, .seed = SEED};
    struct walk walk = {workload, malloc(workload->state_size)};
    struct iobm_error err = {0};

    assert_non_null(walk.state);
    /* plan must not count on zeros */
    memset(walk.state, 0xa5, workload->state_size);
    assert_int_equal(workload->plan(walk.state, &in, &err), IOBM_OK);
    return walk;
}

static bool next(struct walk *walk, struct iobm_op *op)
{
    memset(op, 0x5a, sizeof(*op));
    return walk->workload->next(walk->state, op);
}

static void end(struct walk *walk)
{
    struct iobm_op op;

    assert_false(next(walk, &op)); /* stays at the end */
    assert_false(next(walk, &op));
    free(walk->state);
}

static int owner(const struct layout *layout, int file, int64_t at)
{
    if (!layout->shared)
        return file;
    if (layout->strided)
        return (int)(at / layout->block_bytes % layout->parts);
    for (int p = layout->parts - 1; p > 0; p--)
        if (layout_part_bytes(layout, p) > 0 &&
            at >= layout_part_offset(layout, p))
            return p;
    return 0;
}

/* Count the bytes of one contiguous piece; all must be the part's own. */
static void count_piece(const struct layout *layout, int part, int64_t offset,
                        int64_t size, unsigned char *seen)
{
    int file = layout->shared ? 0 : part;

    assert_true(offset >= 0 && size > 0);
    assert_true(offset + size <= layout_file_bytes(layout, file));
    for (int64_t at = offset; at < offset + size; at++) {
        assert_int_equal(owner(layout, file, at), part);
        seen[at]++;
    }
}

/* The members that the workload owns are set and make sense. */
static void check_op(const struct layout *layout, const struct iobm_op *op,
                     enum iobm_op_kind kind)
{
    assert_int_equal(op->kind, kind);
    assert_true(op->size > 0 && op->size <= layout->transfer_bytes);
    if (op->stride_bytes == 0)
        return;
    assert_true(layout->strided);
    assert_true(layout->transfer_bytes > layout->block_bytes);
    assert_true(op->size > layout->block_bytes);
    assert_int_equal(op->block_bytes, layout->block_bytes);
    assert_int_equal(op->stride_bytes, layout->block_bytes * layout->parts);
    assert_int_equal(op->offset % layout->block_bytes, 0);
}

/* ... and the others are left alone. */
static void check_ownership(const struct iobm_op *op)
{
    struct iobm_op filled;

    memset(&filled, 0x5a, sizeof(filled));
    assert_ptr_equal(op->buffer, filled.buffer);
    assert_int_equal(op->start_ns, filled.start_ns);
    assert_int_equal(op->end_ns, filled.end_ns);
    assert_int_equal(op->done, filled.done);
}

/* Returns how many operations the part has. */
static int64_t walk_part(const struct iobm_workload *workload,
                         const struct layout *layout, int part,
                         unsigned char *seen)
{
    enum iobm_op_kind kind = part % 2 ? IOBM_OP_READ : IOBM_OP_WRITE;
    struct walk walk = begin(workload, layout, part, kind);
    int64_t ops = 0, bytes = 0;
    struct iobm_op op;

    while (next(&walk, &op)) {
        int64_t offset = op.offset, left = op.size;

        check_op(layout, &op, kind);
        check_ownership(&op);
        while (op.stride_bytes > 0 && left > op.block_bytes) {
            count_piece(layout, part, offset, op.block_bytes, seen);
            offset += op.stride_bytes;
            left -= op.block_bytes;
        }
        count_piece(layout, part, offset, left, seen);
        bytes += op.size;
        ops++;
    }
    end(&walk);
    assert_int_equal(bytes, layout_part_bytes(layout, part));
    return ops;
}

static void test_covers_once(void **state)
{
    (void)state;
    for (size_t w = 0; iobm_workloads[w]; w++)
        for (size_t i = 0; i < LAYOUTS; i++) {
            const struct layout *layout = &layouts[i];
            unsigned char *seen = NULL;

            for (int part = 0; part < layout->parts; part++) {
                int file = layout->shared ? 0 : part;
                int64_t bytes = layout_file_bytes(layout, file);
                bool last = !layout->shared || part == layout->parts - 1;

                if (!seen)
                    seen = calloc(1, (size_t)bytes + 1);
                assert_non_null(seen);
                assert_int_equal(
                    walk_part(iobm_workloads[w], layout, part, seen),
                    layout_part_ops(layout, part));
                if (!last)
                    continue;
                for (int64_t at = 0; at < bytes; at++)
                    assert_int_equal(seen[at], 1);
                free(seen);
                seen = NULL;
            }
        }
}

static void test_same_for_same_seed(void **state)
{
    (void)state;
    for (size_t w = 0; iobm_workloads[w]; w++)
        for (size_t i = 0; i < LAYOUTS; i++)
            for (int part = 0; part < layouts[i].parts; part++) {
                const struct iobm_workload *workload = iobm_workloads[w];
                struct walk a =
                    begin(workload, &layouts[i], part, IOBM_OP_WRITE);
                struct walk b =
                    begin(workload, &layouts[i], part, IOBM_OP_WRITE);
                struct iobm_op x, y;

                while (next(&a, &x)) {
                    assert_true(next(&b, &y));
                    assert_memory_equal(&x, &y, sizeof(x));
                }
                end(&a);
                end(&b);
            }
}

/* A transfer larger than a block takes several: one operation spans them. */
static void test_spans_blocks(void **state)
{
    static const struct layout layout = {true, true, 4, 4096, 256, 64, 1};

    (void)state;
    for (size_t w = 0; iobm_workloads[w]; w++) {
        struct walk walk = begin(iobm_workloads[w], &layout, 1, IOBM_OP_WRITE);
        struct iobm_op op;

        for (int i = 0; i < 4; i++) {
            assert_true(next(&walk, &op));
            assert_int_equal(op.size, 256);
            assert_int_equal(op.block_bytes, 64);
            assert_int_equal(op.stride_bytes, 256);
        }
        end(&walk);
    }
}

/* Sizes at the end of the range; the first and the last part. */
static void test_huge(void **state)
{
    static const struct layout huge[] = {
        {false, false, 1, INT64_MAX, INT64_C(1) << 60, 0, 1},
        {false, false, 3, INT64_MAX, INT64_MAX, 0, 1},
        {true, false, 1000, INT64_MAX, INT64_C(1) << 50, 0, 4096},
        {true, true, 3, INT64_MAX, INT64_C(1) << 55, INT64_C(1) << 55, 1},
        {true, true, 3, INT64_MAX, INT64_C(1) << 58, INT64_C(1) << 55, 1},
        {true, true, 3, INT64_MAX, INT64_C(1) << 56, INT64_C(1) << 60, 1},
    };

    (void)state;
    for (size_t w = 0; iobm_workloads[w]; w++)
        for (size_t i = 0; i < sizeof(huge) / sizeof(huge[0]); i++)
            for (int k = 0; k < 2; k++) {
                int part = k ? huge[i].parts - 1 : 0;
                struct walk walk =
                    begin(iobm_workloads[w], &huge[i], part, IOBM_OP_READ);
                int64_t ops = 0, bytes = 0;
                struct iobm_op op;

                while (next(&walk, &op)) {
                    assert_true(op.offset >= 0 && op.size > 0);
                    assert_true(op.offset <= INT64_MAX - op.size ||
                                op.stride_bytes > 0);
                    ops++;
                    bytes += op.size;
                }
                end(&walk);
                assert_int_equal(bytes, layout_part_bytes(&huge[i], part));
                assert_int_equal(ops, layout_part_ops(&huge[i], part));
            }
}

static const struct {
    struct layout layout;
    int part;
    enum iobm_status status;
} bad[] = {
    {{true, false, 4, 4096, 64, 0, 1}, -1, IOBM_EBUG},
    {{true, false, 4, 4096, 64, 0, 1}, 4, IOBM_EBUG},
    {{true, false, 0, 4096, 64, 0, 1}, 0, IOBM_EUSAGE},
    {{true, false, 4, 4096, 0, 0, 1}, 0, IOBM_EUSAGE},
    {{true, true, 4, 4096, 64, 0, 1}, 0, IOBM_EUSAGE},
    {{false, true, 4, 4096, 64, 64, 1}, 0, IOBM_EUSAGE},
    {{true, true, 4, 4096, 100, 64, 1}, 0, IOBM_EUSAGE},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t w = 0; iobm_workloads[w]; w++)
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
            struct iobm_workload_input in = {.layout = &bad[i].layout,
                                             .part = bad[i].part,
                                             .kind = IOBM_OP_WRITE};
            void *room = calloc(1, iobm_workloads[w]->state_size);
            struct iobm_error err = {0};

            assert_non_null(room);
            assert_int_equal(iobm_workloads[w]->plan(room, &in, &err),
                             bad[i].status);
            assert_string_not_equal(err.text, "");
            free(room);
        }
}

static void test_registry(void **state)
{
    (void)state;
    assert_non_null(iobm_workloads[0]);
    for (size_t w = 0; iobm_workloads[w]; w++) {
        const struct iobm_workload *workload = iobm_workloads[w];

        assert_int_equal(workload->abi, IOBM_WORKLOAD_ABI);
        assert_true(workload->state_size > 0);
        assert_string_not_equal(workload->summary, "");
        assert_ptr_equal(iobm_workload_find(workload->name), workload);
    }
    assert_non_null(iobm_workload_find("sequential"));
    assert_null(iobm_workload_find("sequentia"));
    assert_null(iobm_workload_find(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registry),
        cmocka_unit_test(test_covers_once),
        cmocka_unit_test(test_same_for_same_seed),
        cmocka_unit_test(test_spans_blocks),
        cmocka_unit_test(test_huge),
        cmocka_unit_test(test_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
