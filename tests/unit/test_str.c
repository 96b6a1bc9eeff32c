/* SPDX-License-Identifier: BSD-3-Clause */
/* The growing string, and texts and numbers in JSON and CSV. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/str.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void empty_is_a_text(void **state)
{
    struct str s = {0};

    (void)state;
    assert_string_equal(str_text(&s), "");
    str_release(&s);
    str_add(&s, "");
    assert_string_equal(str_text(&s), "");
    assert_int_equal(s.length, 0);
    str_release(&s);
    assert_null(s.text);
}

static void it_grows(void **state)
{
    struct str s = {0};

    (void)state;
    for (int i = 0; i < 1000; i++) {
        str_add(&s, "ab");
        str_addf(&s, "%03d", i);
        str_addn(&s, "cdef", 2);
    }
    assert_false(s.failed);
    assert_int_equal(s.length, 7000);
    assert_int_equal(strlen(s.text), 7000);
    assert_true(s.room > s.length);
    assert_memory_equal(s.text, "ab000cdab001cd", 14);
    assert_string_equal(s.text + 6993, "ab999cd");
    str_release(&s);
}

static void long_formats_fit(void **state)
{
    struct str s = {0};

    (void)state;
    for (int width = 60; width < 70; width++) {
        size_t before = s.length;
        str_addf(&s, "%*d", width, 7);
        assert_int_equal(s.length, before + (size_t)width);
        assert_int_equal(s.text[s.length - 1], '7');
        assert_int_equal(s.text[s.length], '\0');
    }
    str_release(&s);
}

static void failure_is_remembered(void **state)
{
    struct str s = {0};

    (void)state;
    str_add(&s, "kept");
    str_addn(&s, "x", SIZE_MAX - 2); /* cannot be had, is not read */
    assert_true(s.failed);
    str_add(&s, "later");
    str_addf(&s, "%d", 1);
    assert_string_equal(str_text(&s), "kept");
    str_release(&s);
    assert_false(s.failed);
}

static void json_texts(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", "\"\""},
        {"plain /a/b", "\"plain /a/b\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"\n\r\t\b\x01\x1f", "\"\\n\\r\\t\\u0008\\u0001\\u001f\""},
        {"\x7f", "\"\\u007f\""},
        {"\xc3\xb6 \xe2\x82\xac \xf0\x9f\x98\x80",
         "\"\xc3\xb6 \xe2\x82\xac \xf0\x9f\x98\x80\""},
        {"\xff", "\"\xef\xbf\xbd\""},
        {"a\xc3", "\"a\xef\xbf\xbd\""},               /* cut off */
        {"\xc3(", "\"\xef\xbf\xbd(\""},               /* no continuation */
        {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""}, /* overlong '/' */
        {"\xe0\x9f\xbf", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xf4\x90\x80\x80",
         "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\""}, /* U+10FFFF */
        {"\x80z", "\"\xef\xbf\xbdz\""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct str s = {0};
        str_add_json(&s, cases[i].in);
        assert_string_equal(str_text(&s), cases[i].out);
        str_release(&s);
    }
}

static void json_numbers(void **state)
{
    static const struct {
        double in;
        const char *out;
    } cases[] = {
        {0, "0"},
        {1, "1"},
        {-2.5, "-2.5"},
        {0.1, "0.1"},
        {514.466, "514.466"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1e300, "1e+300"},
        {1.0 / 3, "0.3333333333333333"},
        {NAN, "null"},
        {INFINITY, "null"},
        {-INFINITY, "null"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct str s = {0};
        str_add_json_double(&s, cases[i].in);
        assert_string_equal(str_text(&s), cases[i].out);
        str_release(&s);
    }
    for (uint64_t i = 0; i < 2000; i++) {
        struct str s = {0};
        double value = ldexp((double)(int64_t)rng_at(3, i),
                             (int)rng_below(4, i, 600) - 300);
        str_add_json_double(&s, value);
        assert_true(strtod(str_text(&s), NULL) == value);
        str_release(&s);
    }
}

static void csv_fields(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"", ""},
        {"plain", "plain"},
        {"in between", "in between"},
        {"a,b", "\"a,b\""},
        {"a\"b", "\"a\"\"b\""},
        {"\"", "\"\"\"\""},
        {"a\nb", "\"a\nb\""},
        {"a\rb", "\"a\rb\""},
        {" a", "\" a\""},
        {"a ", "\"a \""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct str s = {0};
        str_add_csv(&s, cases[i].in);
        assert_string_equal(str_text(&s), cases[i].out);
        str_release(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_is_a_text),
        cmocka_unit_test(it_grows),
        cmocka_unit_test(long_formats_fit),
        cmocka_unit_test(failure_is_remembered),
        cmocka_unit_test(json_texts),
        cmocka_unit_test(json_numbers),
        cmocka_unit_test(csv_fields),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("str", tests, NULL, NULL);
}
