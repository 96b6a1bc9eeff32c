/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layouts: every byte belongs to one part, whatever the numbers.  Small
 * layouts are painted byte by byte; large ones are checked by their sums.
 */

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/layout.h"
#include "base/rng.h"

#define COUNT(a)  (sizeof(a) / sizeof((a)[0]))
#define PAINT_MAX 4096

static void holds(bool truth, const char *claim, const struct layout *l)
{
    if (truth)
        return;
    fail_msg("not so: %s; shared %d strided %d parts %d total %" PRId64
             " transfer %" PRId64 " block %" PRId64 " grain %" PRId64,
             claim, l->shared, l->strided, l->parts, l->total_bytes,
             l->transfer_bytes, l->block_bytes, l->grain_bytes);
}

#define HOLDS(claim, l) holds(claim, #claim, l)

static void layouts_are_checked(void **state)
{
    static const struct {
        struct layout layout;
        const char *refused;
    } cases[] = {
        /* shared strided parts total transfer block grain */
        {{false, false, 4, 100, 10, 0, 1}, NULL},
        {{false, false, 4, 3, 10, 0, 1}, NULL},
        {{true, false, 4, 100, 10, 0, 512}, NULL},
        {{true, true, 4, 100, 10, 10, 1}, NULL},
        {{true, true, 4, 100, 7, 10, 1}, NULL},
        {{true, true, 4, 100, 30, 10, 1}, NULL},
        {{true, true, 4, 4096, 512, 1024, 512}, NULL},
        {{true, true, 3, 100, 10, INT64_MAX / 3, 1}, NULL},
        {{false, false, 0, 100, 10, 0, 1}, "over 0 ranks"},
        {{false, false, -1, 100, 10, 0, 1}, "over -1 ranks"},
        {{false, false, 4, 0, 10, 0, 1}, "total size"},
        {{false, false, 4, -5, 10, 0, 1}, "not -5"},
        {{false, false, 4, 100, 0, 0, 1}, "transfer size"},
        {{false, false, 4, 100, 10, 0, 0}, "alignment"},
        {{false, true, 4, 100, 10, 10, 1}, "needs one shared file"},
        {{true, true, 4, 100, 10, 0, 1}, "block size"},
        {{true, true, 4, 100, 15, 10, 1}, "15 bytes is no multiple"},
        {{true, true, 4, 100, 10, 1000, 512}, "multiple of the alignment"},
        {{true, true, 4, 100, 10, INT64_MAX / 3, 1}, "for each of 4 ranks"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct iobm_error err = {.text = ""};
        enum iobm_status status = layout_check(&cases[i].layout, &err);
        if (!cases[i].refused)
            assert_int_equal(status, IOBM_OK);
        else if (status != IOBM_EUSAGE || !strstr(err.text, cases[i].refused))
            fail_msg("'%s' is not in: %s", cases[i].refused, err.text);
    }
}

static void known_layouts(void **state)
{
    /* The main job: 10 GiB over 4 ranks in files, and 10 bytes over 4. */
    const struct layout files = {
        false, false, 4, INT64_C(10) << 30, INT64_C(16) << 20, 0, 1};
    const struct layout ten = {true, false, 4, 10, 4, 0, 1};
    const struct layout grain = {true, false, 4, 10 * 512 + 5, 512, 0, 512};
    const struct layout turns = {true, true, 3, 47, 5, 10, 1};
    static const int64_t ten_bytes[] = {3, 3, 2, 2};
    static const int64_t ten_offset[] = {0, 3, 6, 8};
    static const int64_t grain_bytes[] = {1536, 1536, 1024, 1029};
    static const int64_t turn_bytes[] = {20, 17, 10};
    static const int64_t turn_ops[] = {4, 4, 2};

    (void)state;
    assert_int_equal(layout_files(&files), 4);
    assert_int_equal(layout_max_ops(&files), 160);
    for (int p = 0; p < 4; p++) {
        assert_true(layout_part_bytes(&files, p) == INT64_C(2560) << 20);
        assert_true(layout_file_bytes(&files, p) == INT64_C(2560) << 20);
        assert_int_equal(layout_part_offset(&files, p), 0);
        assert_int_equal(layout_part_bytes(&ten, p), ten_bytes[p]);
        assert_int_equal(layout_part_offset(&ten, p), ten_offset[p]);
        assert_int_equal(layout_part_ops(&ten, p), 1);
        assert_int_equal(layout_part_bytes(&grain, p), grain_bytes[p]);
    }
    assert_int_equal(layout_max_ops(&grain), 3);
    assert_int_equal(layout_part_ops(&grain, 3), 3);
    assert_int_equal(layout_files(&ten), 1);
    assert_int_equal(layout_file_bytes(&ten, 0), 10);
    for (int p = 0; p < 3; p++) {
        assert_int_equal(layout_part_bytes(&turns, p), turn_bytes[p]);
        assert_int_equal(layout_part_offset(&turns, p), 10 * p);
        assert_int_equal(layout_part_ops(&turns, p), turn_ops[p]);
    }
}

static int64_t up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Paint what part 'p' of a strided layout owns by the definition, counting
 * the operations as a reader of the header would. */
static int64_t paint_strided(const struct layout *l, int p, char *paint,
                             int64_t *ops)
{
    int64_t bytes = 0, per_op = 0;

    *ops = 0;
    for (int64_t k = 0; k * l->block_bytes < l->total_bytes; k++) {
        if (k % l->parts != p)
            continue;
        int64_t from = k * l->block_bytes;
        int64_t size = l->total_bytes - from;
        if (size > l->block_bytes)
            size = l->block_bytes;
        for (int64_t b = from; b < from + size; b++)
            paint[b]++;
        bytes += size;
        if (l->transfer_bytes <= l->block_bytes) {
            *ops += up(size, l->transfer_bytes);
        } else {
            if (per_op == 0)
                (*ops)++;
            per_op = (per_op + 1) % (l->transfer_bytes / l->block_bytes);
        }
    }
    return bytes;
}

static void check_painted(const struct layout *l)
{
    char paint[PAINT_MAX] = {0};
    int64_t max_ops = 0, sum = 0, ops = 0, next = 0;

    for (int p = 0; p < l->parts; p++) {
        int64_t bytes = layout_part_bytes(l, p);
        int64_t offset = layout_part_offset(l, p);
        if (l->strided) {
            HOLDS(paint_strided(l, p, paint, &ops) == bytes, l);
            HOLDS(offset == p * l->block_bytes, l);
        } else {
            HOLDS(bytes >= 0 && sum + bytes <= l->total_bytes, l);
            HOLDS(offset == (l->shared ? next : 0), l);
            HOLDS(next % l->grain_bytes == 0, l);
            for (int64_t b = next; b < next + bytes; b++)
                paint[b]++;
            next += bytes;
            ops = up(bytes, l->transfer_bytes);
        }
        HOLDS(layout_part_ops(l, p) == ops, l);
        if (ops > max_ops)
            max_ops = ops;
        sum += bytes;
    }
    HOLDS(sum == l->total_bytes, l);
    HOLDS(layout_max_ops(l) == max_ops, l);
    for (int64_t b = 0; b < l->total_bytes; b++)
        HOLDS(paint[b] == 1, l);
}

static void check_files(const struct layout *l)
{
    int64_t sum = 0;

    HOLDS(layout_files(l) == (l->shared ? 1 : l->parts), l);
    for (int f = 0; f < layout_files(l); f++)
        sum += layout_file_bytes(l, f);
    HOLDS(sum == l->total_bytes, l);
}

/* Shares differ by one unit at most, larger ones first; the rest, less than a
 * unit, is with the last part. */
static void check_even(const struct layout *l)
{
    int64_t rest = l->total_bytes % l->grain_bytes;
    int64_t first = layout_part_bytes(l, 0);
    int last = l->parts - 1;

    if (last == 0)
        return;
    for (int p = 1; p <= last; p++) {
        int64_t bytes = layout_part_bytes(l, p) - (p == last ? rest : 0);
        int64_t before = layout_part_bytes(l, p - 1);
        HOLDS(bytes % l->grain_bytes == 0, l);
        HOLDS(bytes <= before && first - bytes <= l->grain_bytes, l);
    }
}

static void small_layouts_cover_once(void **state)
{
    static const int64_t totals[] = {1,   2,   3,   7,    10,   97,  128,
                                     511, 512, 513, 1009, 2048, 4093};
    static const int parts[] = {1, 2, 3, 4, 7, 13, 16, 64, 101};
    static const int64_t sizes[] = {1, 2, 3, 5, 16, 64, 127, 512, 5000};

    (void)state;
    for (size_t i = 0; i < COUNT(totals) * COUNT(parts); i++)
        for (size_t j = 0; j < COUNT(sizes) * COUNT(sizes); j++) {
            struct layout l = {
                .total_bytes = totals[i % COUNT(totals)],
                .parts = parts[i / COUNT(totals)],
                .transfer_bytes = sizes[j % COUNT(sizes)],
                .grain_bytes = sizes[j / COUNT(sizes)],
            };
            for (int shared = 0; shared < 2; shared++) {
                l.shared = shared;
                assert_int_equal(layout_check(&l, NULL), IOBM_OK);
                check_painted(&l);
                check_files(&l);
                check_even(&l);
            }
            l.strided = true;
            l.block_bytes = l.grain_bytes;
            l.grain_bytes = 1;
            if (layout_check(&l, NULL) == IOBM_OK) {
                check_painted(&l);
                check_files(&l);
            }
        }
}

static void random_layouts_cover_once(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 4000; i++) {
        struct layout l = {
            .shared = true,
            .strided = i % 2,
            .parts = 1 + (int)rng_below(1, i, 40),
            .total_bytes = 1 + (int64_t)rng_below(2, i, PAINT_MAX),
            .transfer_bytes = 1 + (int64_t)rng_below(3, i, 300),
            .block_bytes = 1 + (int64_t)rng_below(4, i, 200),
            .grain_bytes = 1 + (int64_t)rng_below(5, i, 700),
        };
        if (l.strided) {
            l.grain_bytes = 1;
            if (i % 4 == 1)
                l.transfer_bytes =
                    l.block_bytes * (1 + (int64_t)rng_below(6, i, 5));
        }
        if (layout_check(&l, NULL) == IOBM_OK)
            check_painted(&l);
        else
            HOLDS(l.transfer_bytes > l.block_bytes, &l);
    }
}

/* Up to the largest total there is: nothing overflows (UBSan looks on). */
static void huge_layouts_add_up(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 3000; i++) {
        int shift = (int)rng_below(7, i, 40);
        struct layout l = {
            .shared = i % 3 != 0,
            .strided = i % 3 == 2,
            .parts = 1 + (int)rng_below(8, i, 300),
            .total_bytes = i < 9 ? INT64_MAX - (int64_t)(i / 3)
                                 : 1 + ((int64_t)(rng_at(9, i) >> 2) >> shift),
            .transfer_bytes = INT64_C(1) << rng_below(10, i, 62),
            .block_bytes = INT64_C(1) << rng_below(11, i, 54),
            .grain_bytes = i % 3 == 2 ? 1 : INT64_C(1) << rng_below(12, i, 62),
        };
        HOLDS(layout_check(&l, NULL) == IOBM_OK, &l);
        int64_t sum = 0, most = 0;
        for (int p = 0; p < l.parts; p++) {
            int64_t bytes = layout_part_bytes(&l, p);
            int64_t ops = layout_part_ops(&l, p);
            if (l.shared && !l.strided)
                HOLDS(layout_part_offset(&l, p) == sum, &l);
            HOLDS(bytes >= 0, &l);
            HOLDS((bytes == 0) == (ops == 0), &l);
            HOLDS(ops >= bytes / l.transfer_bytes, &l);
            sum += bytes;
            most = ops > most ? ops : most;
        }
        HOLDS(sum == l.total_bytes, &l);
        HOLDS(layout_max_ops(&l) == most, &l);
        if (!l.strided)
            check_even(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_are_checked),
        cmocka_unit_test(known_layouts),
        cmocka_unit_test(small_layouts_cover_once),
        cmocka_unit_test(random_layouts_cover_once),
        cmocka_unit_test(huge_layouts_add_up),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
