/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the test data owes: the same bytes for (seed, file, offset) whatever
 * the operation, no two blocks alike, nothing to compress, and a check that
 * finds every wrong byte.  The files are imaginary.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "engine/data.h"

#define KIB INT64_C(1024)
#define MIB (KIB * KIB)

static struct data make(uint64_t seed, int file, int64_t part, int64_t transfer)
{
    struct iobm_error err;
    struct data data;

    assert_int_equal(data_init(&data, seed, file, part, transfer, &err),
                     IOBM_OK);
    return data;
}

/* Where a byte of a packed buffer lies in the file, in other words than the
 * code has. */
static int64_t file_offset(const struct iobm_op *op, int64_t i)
{
    if (op->stride_bytes == 0)
        return op->offset + i;
    return op->offset + i / op->block_bytes * op->stride_bytes +
           i % op->block_bytes;
}

static const struct shape {
    int64_t part, transfer;
    struct iobm_op op;
} shapes[] = {
    {1, 1, {.offset = 0, .size = 1}},
    {1, 16 * MIB, {.offset = 0, .size = 1}},
    {100, 7, {.offset = 3, .size = 7}},
    {100 * KIB, 4096, {.offset = 4096, .size = 4096}},
    {100 * KIB, 4096, {.offset = 4095, .size = 2}},
    {100 * KIB, 4096, {.offset = 4097, .size = 4095}},
    {3 * MIB, 2 * MIB, {.offset = 1 * MIB, .size = 2 * MIB}},
    {64 * MIB, MIB, {.offset = 5 * MIB, .size = MIB}},
    {64 * MIB, MIB, {.offset = 4 * MIB - 4096, .size = MIB}},
    {64 * MIB, 16 * MIB, {.offset = 48 * MIB, .size = 16 * MIB}},
    {64 * MIB, 1000003, {.offset = 7 * 1000003, .size = 1000003}},
    {64 * MIB, 1000003, {.offset = 12 * 1000003, .size = 1}},
    {64 * MIB, 9000011, {.offset = 9000011, .size = 9000011}},
    /* a part far out in a large file */
    {MIB, MIB, {.offset = INT64_C(1) << 50, .size = MIB}},
    {64 * MIB, MIB, {.offset = (INT64_C(1) << 50) + 1, .size = MIB - 1}},
    /* with a stride */
    {64 * MIB,
     MIB,
     {.offset = 0,
      .size = MIB,
      .block_bytes = 64 * KIB,
      .stride_bytes = 256 * KIB}},
    {100 * KIB,
     1000,
     {.offset = 31, .size = 1000, .block_bytes = 31, .stride_bytes = 93}},
    {64 * MIB,
     1000,
     {.offset = 0, .size = 990, .block_bytes = 100, .stride_bytes = 100}},
};

#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static void prepares_what_is_expected(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        struct iobm_op op = shapes[i].op;
        struct data data = make(9, 3, shapes[i].part, shapes[i].transfer);
        struct data other = make(9, 3, 64 * MIB, MIB);
        const unsigned char *got;

        data_prepare(&data, &op);
        got = op.buffer;
        if (op.offset % 4096 == 0)
            assert_int_equal((uintptr_t)got % 4096, 0);
        for (int64_t k = 0; k<op.size; k += op.size> 5000 ? 997 : 1) {
            unsigned char want;

            data_expect(&other, file_offset(&op, k), 1, &want);
            if (got[k] != want)
                fail_msg("shape %zu, byte %lld", i, (long long)k);
        }
        assert_int_equal(data_check(&other, &op), -1);
        assert_int_equal(data_check(&data, &op), -1);
        data_release(&data);
        data_release(&other);
    }
}

/* Stamping one window must not spoil what another is expected to hold. */
static void an_operation_leaves_no_trace(void **state)
{
    struct iobm_op first = {.offset = 0, .size = MIB};
    struct iobm_op other = {.offset = DATA_POOL_BYTES + 4096, .size = MIB};
    struct data data = make(1, 0, 64 * MIB, MIB);
    unsigned char *before = malloc(MIB), *after = malloc(MIB);

    (void)state;
    data_prepare(&data, &first);
    memcpy(before, first.buffer, MIB);
    data_prepare(&data, &other);
    data_prepare(&data, &first);
    assert_memory_equal(before, first.buffer, MIB);
    data_expect(&data, 0, MIB, after);
    assert_memory_equal(before, after, MIB);
    free(before);
    free(after);
    data_release(&data);
}

static void warming_changes_nothing(void **state)
{
    struct iobm_op op = {.offset = 4096, .size = 8192};
    struct data data = make(1, 0, 20000, 8192);

    (void)state;
    data_warm(&data, &op);
    assert_null(op.buffer);
    data_prepare(&data, &op);
    assert_int_equal(data_check(&data, &op), -1);
    data_release(&data);
}

static const struct {
    struct iobm_op op;
    int64_t at; /* in the buffer */
} faults[] = {
    {{.offset = 0, .size = 100000}, 0},
    {{.offset = 0, .size = 100000}, 99999},
    {{.offset = 0, .size = 100000}, 4096},
    {{.offset = 12345, .size = 100000}, 8191},
    {{.offset = 12345, .size = 1}, 0},
    {{.offset = 10, .size = 100, .block_bytes = 10, .stride_bytes = 50}, 37},
};

static void finds_every_wrong_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        struct iobm_op op = faults[i].op;
        struct data data = make(5, 0, 10 * MIB, MIB);
        unsigned char *copy = malloc((size_t)op.size);

        data_prepare(&data, &op);
        memcpy(copy, op.buffer, (size_t)op.size);
        op.buffer = copy;
        assert_int_equal(data_check(&data, &op), -1);
        copy[faults[i].at] ^= 0x10;
        assert_int_equal(data_check(&data, &op),
                         file_offset(&op, faults[i].at));
        free(copy);
        data_release(&data);
    }
}

/* A block that is right, but from elsewhere: what stamps are for. */
static void finds_a_block_in_the_wrong_place(void **state)
{
    struct data data = make(5, 1, 10 * MIB, MIB);
    struct data seed = make(6, 1, 10 * MIB, MIB);
    struct data file = make(5, 2, 10 * MIB, MIB);
    struct iobm_op op = {.offset = DATA_POOL_BYTES, .size = 4096};

    (void)state;
    data_prepare(&data, &op);
    assert_int_equal(data_check(&data, &op), -1);
    op.offset = 0; /* the same place in the pool */
    assert_int_equal(data_check(&data, &op), 0);
    op.offset = DATA_POOL_BYTES;
    assert_true(data_check(&seed, &op) >= op.offset);
    assert_true(data_check(&file, &op) >= op.offset);
    data_release(&data);
    data_release(&seed);
    data_release(&file);
}

static const struct {
    int64_t offset, bytes;
    int64_t at; /* the wrong byte; -1: none */
} ranges[] = {
    {0, 4096, -1},
    {0, 4096, 0},
    {0, 4096, 7},
    {0, 4096, 8},
    {0, 4096, 4095},
    {0, 1, 0},
    {0, 0, -1},
    {5, 1, 0},
    {5, 3, 2},
    {5, 4, 3},
    {7, 2, 0},
    {7, 2, 1},
    {8, 1, 0},
    {4095, 2, 0},
    {4095, 2, 1},
    {4095, 10, 9},
    {4000, 9000, -1},
    {4000, 9000, 96},
    {4000, 9000, 103},
    {4000, 9000, 104},
    {4000, 9000, 8999},
    {1, 5 * MIB, -1},
    {1, 5 * MIB, 5 * MIB - 1},
    {(INT64_C(1) << 50) + 4090, 20000, 19999},
};

/* Whatever range of the file it looks at, with all of the pool or with as
 * little as was needed, and with stamps left behind in it. */
static void finds_the_first_wrong_byte(void **state)
{
    const int64_t parts[] = {1000, 64 * MIB};

    (void)state;
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        for (size_t k = 0; k < 2; k++) {
            struct data data = make(5, 2, parts[k], 9000);
            struct iobm_op op = {.offset = 4000, .size = 900};
            size_t bytes = (size_t)ranges[i].bytes;
            unsigned char *got = malloc(bytes + 1);
            int64_t at = ranges[i].at;

            data_prepare(&data, &op);
            data_expect(&data, ranges[i].offset, ranges[i].bytes, got);
            got[bytes] = 0;
            if (at >= 0)
                got[at] ^= 1;
            if (at >= 0 && at + 1 < ranges[i].bytes)
                got[bytes - 1] ^= 1;
            assert_int_equal(
                data_first_wrong(&data, ranges[i].offset, ranges[i].bytes, got),
                at);
            free(got);
            data_release(&data);
        }
}

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, 64);
}

struct head {
    unsigned char behind[64], stamp[8];
    int write;
};

static int by_head(const void *a, const void *b)
{
    return memcmp(a, b, offsetof(struct head, write));
}

/* Over the files of four ranks, three repeats and two runs.  Blocks of one
 * write may be alike but for the stamp, those of two writes not even so. */
static void no_repeat_or_run_is_like_another(void **state)
{
    enum { FILES = 4, REPEATS = 3, BLOCKS = 700 };
    const size_t all = 2 * FILES * REPEATS * BLOCKS;
    struct head *heads = calloc(all, sizeof(*heads)), *next = heads;

    (void)state;
    for (int write = 0; write < 2 * REPEATS; write++)
        for (int file = 0; file < FILES; file++) {
            uint64_t run = 100 + (uint64_t)write % 2;
            struct data data =
                make(data_repeat_seed(run, write / 2), file, 64 * MIB, MIB);

            for (int64_t b = 0; b < BLOCKS; b++, next++) {
                next->write = write;
                data_expect(&data, b * 4096, 8, next->stamp);
                data_expect(&data, b * 4096 + 8, 64, next->behind);
            }
            data_release(&data);
        }
    qsort(heads, all, sizeof(*heads), by_head);
    for (size_t i = 1; i < all; i++) {
        assert_true(by_head(&heads[i - 1], &heads[i]) != 0);
        if (memcmp(heads[i - 1].behind, heads[i].behind, 64) == 0)
            assert_int_equal(heads[i - 1].write, heads[i].write);
    }
    free(heads);
}

/* Repeats of one run, and of runs whose seeds are neighbours. */
static void repeats_have_their_own_seeds(void **state)
{
    (void)state;
    assert_true(data_repeat_seed(42, 0) == 42);
    for (uint64_t seed = 0; seed < 3; seed++)
        for (int64_t a = 0; a < 50; a++)
            for (uint64_t other = 0; other < 3; other++)
                for (int64_t b = 0; b < 50; b++)
                    assert_int_equal(data_repeat_seed(seed, a) ==
                                         data_repeat_seed(other, b),
                                     seed == other && a == b);
    /* Files of one version are checked by the next. */
    assert_true(data_repeat_seed(42, 1) == UINT64_C(0x4916a435b837a7ac));
}

/* A block tells its file and place by its stamp, and the rest is where in the
 * pool that place is. */
static void a_block_can_be_traced(void **state)
{
    unsigned char block[4096];

    (void)state;
    for (int file = 0; file < 3; file++) {
        const int64_t far = INT64_C(1) << 37;
        struct data data = make(9, file, 64 * MIB, MIB);
        uint64_t key = data_key(9, file);

        for (int64_t b = 0; b < far; b = 3 * b + 1) {
            uint64_t stamp, word;
            int64_t place = data_pool_place(key, b);

            data_expect(&data, b * 4096, 4096, block);
            memcpy(&stamp, block, 8);
            memcpy(&word, block + 8 * 77, 8);
            assert_true(rng_unmix(stamp) - key == (uint64_t)b);
            assert_true(data_pool_word(9, place, 77) == word);
            assert_int_equal(data_pool_alike(9, place, 8, 4088, block + 8),
                             4088);
            assert_int_equal(data_pool_alike(9, place, 100, 10, block + 100),
                             10);
            block[105]++;
            assert_int_equal(data_pool_alike(9, place, 100, 10, block + 100),
                             9);
            assert_in_range(data_pool_alike(9, place + 1, 8, 4088, block + 8),
                            0, 100);
        }
        data_release(&data);
    }
}

/* Over four times the pool and two files: the first 64 bytes, stamp included,
 * tell all blocks apart. */
static void no_two_blocks_are_alike(void **state)
{
    const int64_t blocks = 4 * DATA_POOL_BLOCKS;
    unsigned char(*heads)[64] = malloc((size_t)(2 * blocks) * 64);

    (void)state;
    for (int file = 0; file < 2; file++) {
        struct data data = make(77, file, 64 * MIB, MIB);

        for (int64_t b = 0; b < blocks; b++)
            data_expect(&data, b * 4096, 64, heads[file * blocks + b]);
        data_release(&data);
    }
    qsort(heads, (size_t)(2 * blocks), 64, by_bytes);
    for (int64_t b = 1; b < 2 * blocks; b++)
        assert_memory_not_equal(heads[b - 1], heads[b], 64);
    free(heads);
}

/* Without the stamps: what a deduplicating or compressing store would find. */
static void files_begin_elsewhere_in_the_pool(void **state)
{
    struct data one = make(77, 0, 64 * MIB, MIB);
    struct data two = make(77, 1, 64 * MIB, MIB);
    unsigned char a[64], b[64];

    (void)state;
    data_expect(&one, 8, 64, a);
    data_expect(&two, 8, 64, b);
    assert_memory_not_equal(a, b, 64);
    data_expect(&one, DATA_POOL_BYTES + 8, 64, b);
    assert_memory_equal(a, b, 64);
    data_expect(&one, (4 << 20) + 8, 64, b);
    assert_memory_not_equal(a, b, 64);
    data_release(&one);
    data_release(&two);
}

static const struct {
    int64_t bytes;
    bool ratio, share; /* can be told */
} measures[] = {
    {0, false, false},      {1, true, false},     {4095, true, false},
    {4096, true, true},     {100000, true, true}, {4 * MIB, true, true},
    {64 * MIB, true, true}, {-1, false, false},
};

static void measures_as_incompressible(void **state)
{
    struct data data = make(3, 0, 64 * MIB, MIB);
    struct data small = make(3, 0, 1000, 1000);
    double ratio, share;

    (void)state;
    for (size_t i = 0; i < sizeof(measures) / sizeof(measures[0]); i++) {
        data_measure(&data, measures[i].bytes, &ratio, &share);
        assert_int_equal(!isnan(ratio), measures[i].ratio);
        assert_int_equal(!isnan(share), measures[i].share);
        if (measures[i].ratio)
            assert_true(ratio >= 0.99);
        if (measures[i].share)
            assert_true(share == 0.0);
    }
    data_measure(&small, 1000, &ratio, &share);
    assert_true(ratio >= 0.99 && isnan(share));
    data_release(&data);
    data_release(&small);
}

/* The measure itself: spoil the pool and it must tell. */
static void measures_bad_data_as_bad(void **state)
{
    struct data data = make(3, 0, 64 * MIB, MIB);
    double ratio, share;

    (void)state;
    memset(data.pool, 0, data.pool_bytes);
    data_measure(&data, 4 * MIB, &ratio, &share);
    assert_true(ratio < 0.1);
    assert_true(share == 0.0); /* the stamps still differ */
    data_release(&data);
}

static void refuses_what_memory_cannot_hold(void **state)
{
    struct iobm_error err = {0};
    struct data data;

    (void)state;
    assert_int_equal(
        data_init(&data, 1, 0, INT64_C(1) << 60, INT64_C(1) << 60, &err),
        IOBM_ENOMEM);
    assert_non_null(strstr(err.text, "cannot allocate"));
    assert_null(data.pool);
    data_release(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prepares_what_is_expected),
        cmocka_unit_test(an_operation_leaves_no_trace),
        cmocka_unit_test(warming_changes_nothing),
        cmocka_unit_test(finds_every_wrong_byte),
        cmocka_unit_test(finds_the_first_wrong_byte),
        cmocka_unit_test(finds_a_block_in_the_wrong_place),
        cmocka_unit_test(no_two_blocks_are_alike),
        cmocka_unit_test(no_repeat_or_run_is_like_another),
        cmocka_unit_test(repeats_have_their_own_seeds),
        cmocka_unit_test(a_block_can_be_traced),
        cmocka_unit_test(files_begin_elsewhere_in_the_pool),
        cmocka_unit_test(measures_as_incompressible),
        cmocka_unit_test(measures_bad_data_as_bad),
        cmocka_unit_test(refuses_what_memory_cannot_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
