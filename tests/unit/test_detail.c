/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arrays of struct iobm_detail: rows are copied behind those that are
 * there, array by array, and an append that fails changes none of them.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "iobm/result.h"

/* Every array of the struct, by its place. */
static const struct {
    const char *name;
    size_t array, count, row_bytes;
} arrays[] = {
#define ARRAY(array, count)                                                    \
    {                                                                          \
#array, offsetof(struct iobm_detail, array),                           \
            offsetof(struct iobm_detail, count),                               \
            sizeof(*((struct iobm_detail *)NULL)->array)                       \
    }
    ARRAY(series, series_count),     ARRAY(seconds, second_count),
    ARRAY(classes, class_count),     ARRAY(latency, latency_count),
    ARRAY(changes, change_count),    ARRAY(evidence, evidence_count),
    ARRAY(findings, finding_count),  ARRAY(checks, check_count),
    ARRAY(summaries, summary_count),
#undef ARRAY
};

#define ARRAYS (sizeof(arrays) / sizeof(arrays[0]))

static unsigned char *array_of(const struct iobm_detail *detail, size_t i)
{
    unsigned char *rows;

    memcpy(&rows, (const char *)detail + arrays[i].array, sizeof(rows));
    return rows;
}

static size_t count_of(const struct iobm_detail *detail, size_t i)
{
    size_t count;

    memcpy(&count, (const char *)detail + arrays[i].count, sizeof(count));
    return count;
}

/* The byte that fills row 'row' of array 'i' of the 'seed'th detail. */
static int byte_at(int seed, size_t i, size_t row)
{
    return (int)((size_t)seed * 61 + i * 17 + row * 3) % 251;
}

/* 'n' rows in each array, or, with 'only' >= 0, in that one. */
static struct iobm_detail make(int seed, size_t n, int only)
{
    struct iobm_detail detail = {0};

    for (size_t i = 0; i < ARRAYS; i++) {
        unsigned char *rows;

        if (n == 0 || (only >= 0 && (size_t)only != i))
            continue;
        rows = malloc(n * arrays[i].row_bytes);
        assert_non_null(rows);
        for (size_t k = 0; k < n; k++)
            memset(rows + k * arrays[i].row_bytes, byte_at(seed, i, k),
                   arrays[i].row_bytes);
        memcpy((char *)&detail + arrays[i].array, &rows, sizeof(rows));
        memcpy((char *)&detail + arrays[i].count, &n, sizeof(n));
    }
    return detail;
}

/* Whether 'n' rows from 'first' on are those of make(seed). */
static void assert_rows(const struct iobm_detail *detail, size_t i,
                        size_t first, size_t n, int seed)
{
    const unsigned char *rows = array_of(detail, i);

    for (size_t k = 0; k < n; k++)
        for (size_t b = 0; b < arrays[i].row_bytes; b++)
            if (rows[(first + k) * arrays[i].row_bytes + b] !=
                byte_at(seed, i, k))
                fail_msg("%s: row %zu is wrong", arrays[i].name, first + k);
}

/* Nothing but the arrays and their counts: a new array that is not in this
 * list, and so perhaps not in those of the program, is found. */
static void the_list_is_complete(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct iobm_detail),
                     ARRAYS * (sizeof(void *) + sizeof(size_t)));
}

static void appends_behind(void **state)
{
    static const size_t counts[][2] = {{0, 0}, {0, 1}, {1, 0},
                                       {1, 1}, {3, 5}, {1000, 1}};

    (void)state;
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        struct iobm_detail into = make(1, counts[c][0], -1);
        struct iobm_detail from = make(2, counts[c][1], -1);

        assert_true(iobm_detail_append(&into, &from));
        for (size_t i = 0; i < ARRAYS; i++) {
            assert_int_equal(count_of(&into, i), counts[c][0] + counts[c][1]);
            assert_int_equal(count_of(&from, i), counts[c][1]);
            assert_rows(&into, i, 0, counts[c][0], 1);
            assert_rows(&into, i, counts[c][0], counts[c][1], 2);
            assert_rows(&from, i, 0, counts[c][1], 2);
            /* a copy, not the same rows */
            assert_true(counts[c][1] == 0 ||
                        array_of(&into, i) != array_of(&from, i));
        }
        iobm_detail_release(&from);
        iobm_detail_release(&into);
    }
}

static void each_array_alone(void **state)
{
    (void)state;
    for (size_t only = 0; only < ARRAYS; only++) {
        struct iobm_detail into = {0};

        for (int seed = 1; seed <= 4; seed++) {
            struct iobm_detail from = make(seed, 2, (int)only);

            assert_true(iobm_detail_append(&into, &from));
            iobm_detail_release(&from);
        }
        for (size_t i = 0; i < ARRAYS; i++)
            assert_int_equal(count_of(&into, i), i == only ? 8 : 0);
        for (int seed = 1; seed <= 4; seed++)
            assert_rows(&into, only, 2 * (size_t)(seed - 1), 2, seed);
        iobm_detail_release(&into);
    }
}

static void release_leaves_an_empty_one(void **state)
{
    static const struct iobm_detail empty;
    struct iobm_detail detail = make(1, 3, -1);

    (void)state;
    iobm_detail_release(&detail);
    assert_memory_equal(&detail, &empty, sizeof(detail));
    iobm_detail_release(&detail); /* twice is fine */
}

/* So many rows that their bytes cannot be counted; none is looked at. */
static void short_memory_changes_nothing(void **state)
{
    static const size_t many[] = {SIZE_MAX, SIZE_MAX - 2, SIZE_MAX / 2,
                                  SIZE_MAX / 16};

    (void)state;
    for (size_t i = 0; i < ARRAYS; i++)
        for (size_t m = 0; m < sizeof(many) / sizeof(many[0]); m++) {
            struct iobm_detail into = make(1, 2, -1);
            struct iobm_detail from = make(2, 1, -1);
            struct iobm_detail huge = from;

            memcpy((char *)&huge + arrays[i].count, &many[m], sizeof(many[m]));
            assert_false(iobm_detail_append(&into, &huge));
            for (size_t k = 0; k < ARRAYS; k++) {
                assert_int_equal(count_of(&into, k), 2);
                assert_rows(&into, k, 0, 2, 1);
            }
            assert_true(iobm_detail_append(&into, &from));
            assert_rows(&into, i, 2, 1, 2);
            iobm_detail_release(&from);
            iobm_detail_release(&into);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_is_complete),
        cmocka_unit_test(appends_behind),
        cmocka_unit_test(each_array_alone),
        cmocka_unit_test(release_leaves_an_empty_one),
        cmocka_unit_test(short_memory_changes_nothing),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("detail", tests, NULL, NULL);
}
