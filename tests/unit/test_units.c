/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes, times and numbers as text: what is read, refused and printed. */

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/units.h"

#define KI INT64_C(1024)
#define MI (KI * KI)
#define GI (KI * MI)
#define TI (KI * GI)
#define PI (KI * TI)

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* 'refused' is a part of the error, NULL when the text is good. */
struct parse_case {
    const char *text, *bare;
    int64_t value;
    const char *refused;
};

static const struct parse_case size_cases[] = {
    {"0B", NULL, 0, NULL},
    {"1B", NULL, 1, NULL},
    {"1b", NULL, 1, NULL},
    {"4096B", NULL, 4096, NULL},
    {"1K", NULL, KI, NULL},
    {"1k", NULL, KI, NULL},
    {"16M", NULL, 16 * MI, NULL},
    {"10g", NULL, 10 * GI, NULL},
    {"2T", NULL, 2 * TI, NULL},
    {"3P", NULL, 3 * PI, NULL},
    {"1KiB", NULL, KI, NULL},
    {"1kib", NULL, KI, NULL},
    {"1MiB", NULL, MI, NULL},
    {"1GiB", NULL, GI, NULL},
    {"1TIB", NULL, TI, NULL},
    {"1PiB", NULL, PI, NULL},
    {"1kB", NULL, 1000, NULL},
    {"1KB", NULL, 1000, NULL},
    {"1kb", NULL, 1000, NULL},
    {"1MB", NULL, 1000000, NULL},
    {"1gb", NULL, 1000000000, NULL},
    {"1TB", NULL, INT64_C(1000000000000), NULL},
    {"1PB", NULL, INT64_C(1000000000000000), NULL},
    {"10 GiB", NULL, 10 * GI, NULL},
    {"10", "GiB", 10 * GI, NULL},
    {"10", "MiB", 10 * MI, NULL},
    {"10B", "GiB", 10, NULL},
    {"0", "GiB", 0, NULL},
    {"007", "B", 7, NULL},
    {"10Gb", NULL, 0, "not the unit 'Gb'"},
    {"10Mib", "GiB", 0, "not the unit 'Mib'"},
    /* fractions */
    {"1.5g", NULL, GI + GI / 2, NULL},
    {"0.5", "GiB", GI / 2, NULL},
    {"2.50K", NULL, 2560, NULL},
    {"1.000B", NULL, 1, NULL},
    {"1.1kB", NULL, 1100, NULL},
    {"0.1MB", NULL, 100000, NULL}, /* exactly a tenth */
    {"1.000000000000001PB", NULL, INT64_C(1000000000000001), NULL},
    {"1.00000000000000000000000000000K", NULL, KI, NULL},
    {"1.5B", NULL, 0, "understood 1.5 B, which is no whole number of bytes"},
    {"0.1k", NULL, 0, "no whole number of bytes; the next below is 102B"},
    {"1.0000000000000000001P", NULL, 0, "too many digits"},
    /* the edge of int64 */
    {"9223372036854775807B", NULL, INT64_MAX, NULL},
    {"9223372036854775808B", NULL, 0, "too large"},
    {"8191.999P", NULL, 0, "no whole number"},
    {"8191.5P", NULL, 8191 * PI + PI / 2, NULL},
    {"8192P", NULL, 0, "understood 8192 P, which is more than"},
    {"9223372036854775807K", NULL, 0, "more than 9223372036854775807"},
    {"9223.372036854775807PB", NULL, INT64_MAX, NULL},
    {"9223.3720368547758071PB", NULL, 0, "no whole number"},
    {"9223372036.854775807GB", NULL, INT64_MAX, NULL},
    {"9223372036.854775808GB", NULL, 0, "more than"},
    {"99999999999999999999999999B", NULL, 0, "too large a number"},
    /* anything else */
    {"", "GiB", 0, "it is empty"},
    {"", NULL, 0, "it is empty"},
    {"10", NULL, 0, "it has no unit"},
    {"K", NULL, 0, "does not begin with a digit"},
    {"-1G", "GiB", 0, "it is negative"},
    {"-0", "GiB", 0, "it is negative"},
    {"+1G", NULL, 0, "does not begin with a digit"},
    {" 1G", NULL, 0, "does not begin with a digit"},
    {"1G ", NULL, 0, "but not the unit 'G '"},
    {"1 ", "GiB", 0, "but not the unit ' '"},
    {"1  G", NULL, 0, "but not the unit ' G'"},
    {"1\tG", NULL, 0, "but not the unit"},
    {"10X", NULL, 0, "understood the number 10, but not the unit 'X'"},
    {"10X", "GiB", 0, "understood the number 10, but not the unit 'X'"},
    {"1.5.5G", NULL, 0, "understood the number 1.5, but not the unit '.5G'"},
    {"1.G", NULL, 0, "understood the number 1, but not the unit '.G'"},
    {".5G", NULL, 0, "does not begin with a digit"},
    {"1,5G", NULL, 0, "but not the unit ',5G'"},
    {"1e3B", NULL, 0, "but not the unit 'e3B'"},
    {"0x10B", NULL, 0, "understood the number 0, but not the unit 'x10B'"},
    {"1GG", NULL, 0, "but not the unit 'GG'"},
    {"1Gi", NULL, 0, "but not the unit 'Gi'"},
    {"1Gib/s", NULL, 0, "but not the unit 'Gib/s'"},
    {"1E", NULL, 0, "but not the unit 'E'"},
    {"1KBB", NULL, 0, "but not the unit"},
    {"one", "GiB", 0, "does not begin with a digit"},
    {"\xd9\xa1G", NULL, 0, "does not begin with a digit"},
};

static const struct parse_case time_cases[] = {
    {"1ns", NULL, 1, NULL},
    {"3us", NULL, 3000, NULL},
    {"20ms", NULL, 20000000, NULL},
    {"1s", NULL, INT64_C(1000000000), NULL},
    {"1", NULL, INT64_C(1000000000), NULL},
    {"0", NULL, 0, NULL},
    {"0.5", NULL, 500000000, NULL},
    {"1.5m", NULL, INT64_C(90000000000), NULL},
    {"2min", NULL, INT64_C(120000000000), NULL},
    {"2h", NULL, INT64_C(7200000000000), NULL},
    {"0.3ns", NULL, 0, "no whole number of nanoseconds"},
    {"3000000h", NULL, 0, "more than"},
    {"1d", NULL, 0, "but not the unit 'd'"},
    {"1h30m", NULL, 0, "understood the number 1, but not the unit 'h30m'"},
    {"-1s", NULL, 0, "it is negative"},
    {"", NULL, 0, "it is empty"},
    {"soon", NULL, 0, "does not begin with a digit"},
};

static const struct parse_case int_cases[] = {
    {"0", NULL, 0, NULL},
    {"-0", NULL, 0, NULL},
    {"+5", NULL, 5, NULL},
    {"-17", NULL, -17, NULL},
    {"9223372036854775807", NULL, INT64_MAX, NULL},
    {"-9223372036854775808", NULL, INT64_MIN, NULL},
    {"9223372036854775808", NULL, 0, "too large"},
    {"-9223372036854775809", NULL, 0, "too large"},
    {"", NULL, 0, "not a whole number"},
    {"-", NULL, 0, "not a whole number"},
    {"+-1", NULL, 0, "not a whole number"},
    {" 1", NULL, 0, "not a whole number"},
    {"1 ", NULL, 0, "understood 1, but not ' '"},
    {"1.0", NULL, 0, "understood 1, but not '.0'"},
    {"1K", NULL, 0, "understood 1, but not 'K'"},
    {"0x1", NULL, 0, "understood 0, but not 'x1'"},
};

static void check_case(const struct parse_case *c, enum iobm_status status,
                       int64_t value, const struct iobm_error *err)
{
    if (!c->refused) {
        if (status != IOBM_OK)
            fail_msg("'%s' was refused: %s", c->text, err->text);
        if (value != c->value)
            fail_msg("'%s' gave %" PRId64, c->text, value);
        return;
    }
    if (status != IOBM_EUSAGE || err->status != IOBM_EUSAGE)
        fail_msg("'%s' was not refused: %" PRId64, c->text, value);
    if (!strstr(err->text, c->refused))
        fail_msg("'%s': '%s' is not in: %s", c->text, c->refused, err->text);
    if (value != -77)
        fail_msg("'%s' failed and set a value", c->text);
}

static void sizes_are_strict(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(size_cases); i++) {
        struct iobm_error err = {.text = ""};
        int64_t value = -77;
        enum iobm_status status = units_parse_size(
            size_cases[i].text, size_cases[i].bare, &value, &err);
        check_case(&size_cases[i], status, value, &err);
    }
}

static void times_are_strict(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(time_cases); i++) {
        struct iobm_error err = {.text = ""};
        int64_t value = -77;
        enum iobm_status status =
            units_parse_time(time_cases[i].text, &value, &err);
        check_case(&time_cases[i], status, value, &err);
    }
}

static void ints_are_strict(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(int_cases); i++) {
        struct iobm_error err = {.text = ""};
        int64_t value = -77;
        enum iobm_status status =
            units_parse_int(int_cases[i].text, &value, &err);
        check_case(&int_cases[i], status, value, &err);
    }
}

static void sizes_are_printed(void **state)
{
    static const struct {
        int64_t bytes;
        const char *about, *exact, *typed;
    } cases[] = {
        {0, "0 B", "0 bytes", "0B"},
        {1, "1 B", "1 byte", "1B"},
        {1000, "1000 B", "1000 bytes", "1kB"},
        {1023, "1023 B", "1023 bytes", "1023B"},
        {1024, "1 KiB", "1 KiB (1024 bytes)", "1K"},
        {1025, "1.00 KiB", "1.00 KiB (1025 bytes)", "1025B"},
        {1536, "1.5 KiB", "1.5 KiB (1536 bytes)", "1.5K"},
        {10 * GI, "10 GiB", "10 GiB (10737418240 bytes)", "10G"},
        {2560 * MI, "2.5 GiB", "2.5 GiB (2684354560 bytes)", "2.5G"},
        {16 * MI, "16 MiB", "16 MiB (16777216 bytes)", "16M"},
        {MI + MI / 8, "1.125 MiB", "1.125 MiB (1179648 bytes)", "1152K"},
        {1000003, "976.57 KiB", "976.57 KiB (1000003 bytes)", "1000003B"},
        {INT64_C(1000000000), "953.67 MiB", "953.67 MiB (1000000000 bytes)",
         "1GB"},
        {GI - 1, "1.00 GiB", "1.00 GiB (1073741823 bytes)", "1073741823B"},
        {MI - 5, "1.00 MiB", "1.00 MiB (1048571 bytes)", "1048571B"},
        {MI - 6, "1023.99 KiB", "1023.99 KiB (1048570 bytes)", "1048570B"},
        {10048000, "9.58 MiB", "9.58 MiB (10048000 bytes)", "10048kB"},
        {1023 * KI, "1023 KiB", "1023 KiB (1047552 bytes)", "1023K"},
        {INT64_MAX, "8192.00 PiB", "8192.00 PiB (9223372036854775807 bytes)",
         "9223372036854775807B"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[80];
        int64_t bytes = cases[i].bytes;
        assert_string_equal(units_size(text, sizeof(text), bytes),
                            cases[i].about);
        assert_string_equal(units_size_exact(text, sizeof(text), bytes),
                            cases[i].exact);
        assert_string_equal(units_size_typed(text, sizeof(text), bytes),
                            cases[i].typed);
    }
}

static void small_rooms_are_kept(void **state)
{
    char text[8] = "-------";

    (void)state;
    units_size_exact(text, 4, 10 * GI);
    assert_string_equal(text, "10 ");
    assert_string_equal(text + 4, "---");
    units_size_typed(text, 3, 1000003);
    assert_string_equal(text, "10");
}

/* Any number of bytes is typed so that it is read back. */
static void typed_sizes_read_back(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        static const int64_t round[] = {1, KI, MI, 1000, 1000000, GI / 8};
        int shift = (int)rng_below(1, i, 63);
        int64_t bytes = (int64_t)(rng_at(2, i) >> 1) >> shift;
        int64_t step = round[i % COUNT(round)];
        bytes -= bytes % step;

        char text[40];
        int64_t back = -1;
        units_size_typed(text, sizeof(text), bytes);
        if (units_parse_size(text, NULL, &back, NULL) != IOBM_OK ||
            back != bytes)
            fail_msg("%" PRId64 " became '%s' and %" PRId64, bytes, text, back);
        /* An exact text of units_size() reads back as well. */
        units_size(text, sizeof(text), bytes);
        if (units_parse_size(text, NULL, &back, NULL) == IOBM_OK &&
            !strstr(text, ".") && back != bytes)
            fail_msg("%" PRId64 " was shown as '%s'", bytes, text);
    }
}

static void products_and_sums_are_checked(void **state)
{
    static const struct {
        int64_t a, b;
        enum iobm_status product, sum;
    } cases[] = {
        {0, INT64_MAX, IOBM_OK, IOBM_OK},
        {1, INT64_MAX, IOBM_OK, IOBM_EUSAGE},
        {2, INT64_MAX / 2, IOBM_OK, IOBM_OK},
        {2, INT64_MAX / 2 + 1, IOBM_EUSAGE, IOBM_OK},
        {INT64_MAX, INT64_MAX, IOBM_EUSAGE, IOBM_EUSAGE},
        {INT64_C(3037000500), INT64_C(3037000500), IOBM_EUSAGE, IOBM_OK},
        {INT64_C(3037000499), INT64_C(3037000499), IOBM_OK, IOBM_OK},
        {-1, 5, IOBM_EBUG, IOBM_EBUG},
        {5, -1, IOBM_EBUG, IOBM_EBUG},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct iobm_error err = {.text = ""};
        int64_t a = cases[i].a, b = cases[i].b, value = -77;
        assert_int_equal(units_multiply(a, b, "the total size", &value, &err),
                         cases[i].product);
        if (cases[i].product == IOBM_OK)
            assert_true(value == a * b);
        else
            assert_true(value == -77 && strstr(err.text, "the total size"));
        value = -77;
        assert_int_equal(units_add(a, b, "the end", &value, &err),
                         cases[i].sum);
        if (cases[i].sum == IOBM_OK)
            assert_true(value == a + b);
        else
            assert_true(value == -77 && strstr(err.text, "the end"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_strict),
        cmocka_unit_test(times_are_strict),
        cmocka_unit_test(ints_are_strict),
        cmocka_unit_test(sizes_are_printed),
        cmocka_unit_test(small_rooms_are_kept),
        cmocka_unit_test(typed_sizes_read_back),
        cmocka_unit_test(products_and_sums_are_checked),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
