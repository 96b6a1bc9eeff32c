/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of iobm/result.h against their structs: every member has one
 * row, in order, with nothing but padding between, and names, types and units
 * agree.
 */

#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "iobm/result.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct table {
    const char *name;
    const struct iobm_column *columns;
    size_t size;
} tables[] = {
    {"phase", iobm_phase_columns, sizeof(struct iobm_phase_row)},
    {"rank", iobm_rank_columns, sizeof(struct iobm_rank_row)},
    {"clock", iobm_clock_columns, sizeof(struct iobm_clock_row)},
    {"node", iobm_node_columns, sizeof(struct iobm_node_row)},
    {"log", iobm_log_columns, sizeof(struct iobm_log_row)},
    {"series", iobm_series_columns, sizeof(struct iobm_series_row)},
    {"second", iobm_second_columns, sizeof(struct iobm_second_row)},
    {"class", iobm_class_columns, sizeof(struct iobm_class_row)},
    {"latency", iobm_latency_columns, sizeof(struct iobm_latency_row)},
    {"change", iobm_change_columns, sizeof(struct iobm_change_row)},
    {"evidence", iobm_evidence_columns, sizeof(struct iobm_evidence_row)},
    {"finding", iobm_finding_columns, sizeof(struct iobm_finding_row)},
    {"check", iobm_check_columns, sizeof(struct iobm_check_row)},
    {"summary", iobm_summary_columns, sizeof(struct iobm_summary_row)},
};

static size_t alignment(enum iobm_column_type type)
{
    switch (type) {
    case IOBM_COL_I64:
        return alignof(int64_t);
    case IOBM_COL_F64:
        return alignof(double);
    case IOBM_COL_TEXT:
    case IOBM_COL_END:
        break;
    }
    return 1;
}

/* A member of 8 bytes that the table forgot would be more than padding; so
 * would a text, all of which have a multiple of 4 bytes: where one of them is
 * no multiple of 8, its neighbour makes up for it. */
static void rows_cover_the_struct(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNT(tables); t++) {
        size_t at = 0;
        for (const struct iobm_column *c = tables[t].columns; c->type; c++) {
            size_t align = alignment(c->type);
            size_t expected = (at + align - 1) / align * align;
            if (c->offset != expected)
                fail_msg("%s.%s is at %zu, expected at %zu", tables[t].name,
                         c->name, c->offset, expected);
            if (c->type == IOBM_COL_TEXT ? c->size % 4 != 0 : c->size != 8)
                fail_msg("%s.%s has %zu bytes", tables[t].name, c->name,
                         c->size);
            if (c->type != IOBM_COL_TEXT)
                assert_int_equal(at % 8, 0);
            at = c->offset + c->size;
        }
        assert_int_equal((at + 7) / 8 * 8, tables[t].size);
    }
}

static void tables_end(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNT(tables); t++) {
        const struct iobm_column *c = tables[t].columns;
        while (c->type != IOBM_COL_END)
            c++;
        assert_null(c->name);
        assert_true(c > tables[t].columns);
    }
}

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

/* The unit that a name promises; "" when it promises none. */
static const char *promised_unit(const char *name)
{
    static const struct {
        const char *end, *unit;
    } ends[] = {
        {"link_bits_per_s", "bit/s"},
        {"_ns", "ns"},
        {"_Bps", "B/s"},
        {"_bytes", "B"},
        {"_pct", "%"},
        {"_ppm", "ppm"},
        {"bytes_expected", "B"},
        {"_s", "s"},
    };

    for (size_t i = 0; i < COUNT(ends); i++)
        if (ends_in(name, ends[i].end))
            return ends[i].unit;
    if (strcmp(name, "bytes") == 0 || strcmp(name, "offset") == 0)
        return "B";
    if (strcmp(name, "seconds") == 0 || strcmp(name, "seconds_outer") == 0)
        return "s";
    return "";
}

/* Means, and sums of which a part may be unknown: NaN says so. */
static bool may_be_a_fraction(const char *name)
{
    static const char *const names[] = {"timer_ns", "op_cost_ns",
                                        "link_moved_bytes", "device_bytes"};

    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void names_and_units_agree(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNT(tables); t++)
        for (const struct iobm_column *c = tables[t].columns; c->type; c++) {
            const char *unit = promised_unit(c->name);
            if (c->type == IOBM_COL_TEXT)
                assert_string_equal(c->unit, "");
            else if (strcmp(c->unit, unit[0] ? unit : "1") != 0)
                fail_msg("%s.%s has the unit '%s', by its name '%s'",
                         tables[t].name, c->name, c->unit, unit);
            /* Whole ns and bytes, real rates and seconds. */
            if (c->type == IOBM_COL_F64 && !may_be_a_fraction(c->name) &&
                (strcmp(unit, "ns") == 0 || strcmp(unit, "B") == 0))
                fail_msg("%s is a double", c->name);
            if (c->type == IOBM_COL_I64 &&
                (strcmp(unit, "B/s") == 0 || strcmp(unit, "s") == 0 ||
                 strcmp(unit, "%") == 0 || strcmp(unit, "ppm") == 0))
                fail_msg("%s is an integer", c->name);
        }
}

static void names_are_unique_identifiers(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNT(tables); t++)
        for (const struct iobm_column *c = tables[t].columns; c->type; c++) {
            assert_int_equal(strspn(c->name, "abcdefghijklmnopqrstuvwxyz"
                                             "B_0123456789"),
                             strlen(c->name));
            for (const struct iobm_column *d = c + 1; d->type; d++)
                assert_string_not_equal(c->name, d->name);
        }
}

static void every_row_is_explained(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNT(tables); t++)
        for (const struct iobm_column *c = tables[t].columns; c->type; c++) {
            assert_true(strlen(c->help) > 4);
            assert_null(strpbrk(c->help, "\n\"\\"));
            assert_int_not_equal(c->help[strlen(c->help) - 1], '.');
        }
}

/* A value written through the struct is found through the table. */
static void offsets_reach_the_members(void **state)
{
    struct iobm_phase_row row = {.bytes = 42, .bw_wall_Bps = 1.5, .op = "read"};
    int found = 0;

    (void)state;
    for (const struct iobm_column *c = iobm_phase_columns; c->type; c++) {
        const char *at = (const char *)&row + c->offset;
        int64_t whole = 0;
        double real = 0;
        if (strcmp(c->name, "bytes") == 0) {
            memcpy(&whole, at, c->size);
            assert_true(whole == 42);
            found++;
        } else if (strcmp(c->name, "bw_wall_Bps") == 0) {
            memcpy(&real, at, c->size);
            assert_true(real == 1.5);
            found++;
        } else if (strcmp(c->name, "op") == 0) {
            assert_string_equal(at, "read");
            found++;
        }
    }
    assert_int_equal(found, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_cover_the_struct),
        cmocka_unit_test(tables_end),
        cmocka_unit_test(names_and_units_agree),
        cmocka_unit_test(names_are_unique_identifiers),
        cmocka_unit_test(every_row_is_explained),
        cmocka_unit_test(offsets_reach_the_members),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("columns", tests, NULL, NULL);
}
