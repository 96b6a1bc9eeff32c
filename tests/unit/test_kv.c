/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of keys and values. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/kv.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void order_and_repeats_are_kept(void **state)
{
    struct kvlist list = {0};
    char key[16], value[16];

    (void)state;
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof(key), "k%d", i % 50);
        snprintf(value, sizeof(value), "v%d", i);
        assert_int_equal(kv_add(&list, key, value, NULL), IOBM_OK);
    }
    assert_int_equal(list.count, 100);
    assert_string_equal(list.items[0].key, "k0");
    assert_string_equal(list.items[99].value, "v99");
    assert_string_equal(kv_get(&list, "k7"), "v7"); /* the first */
    assert_null(kv_get(&list, "k"));
    assert_null(kv_get(&list, "K7"));
    kv_release(&list);
    assert_int_equal(list.count, 0);
    assert_null(kv_get(&list, "k7"));
    kv_release(&list);
}

static void set_replaces(void **state)
{
    struct kvlist list = {0};

    (void)state;
    assert_int_equal(kv_set(&list, "a", "1", NULL), IOBM_OK);
    assert_int_equal(kv_set(&list, "b", "2", NULL), IOBM_OK);
    assert_int_equal(kv_set(&list, "a", "3", NULL), IOBM_OK);
    assert_int_equal(kv_setf(&list, NULL, "b", "%d%%", 50), IOBM_OK);
    assert_int_equal(kv_setf(&list, NULL, "c", "%s", ""), IOBM_OK);
    assert_int_equal(list.count, 3);
    assert_string_equal(kv_get(&list, "a"), "3");
    assert_string_equal(kv_get(&list, "b"), "50%");
    assert_string_equal(kv_get(&list, "c"), "");
    /* Its own value as the new one. */
    assert_int_equal(kv_set(&list, "a", kv_get(&list, "a"), NULL), IOBM_OK);
    assert_string_equal(kv_get(&list, "a"), "3");
    kv_release(&list);
}

static void append_copies(void **state)
{
    struct kvlist a = {0}, b = {0};

    (void)state;
    assert_int_equal(kv_append(&a, &b, NULL), IOBM_OK);
    assert_int_equal(a.count, 0);
    assert_int_equal(kv_add(&a, "x", "1", NULL), IOBM_OK);
    for (int i = 0; i < 9; i++)
        assert_int_equal(kv_add(&b, "y", "2", NULL), IOBM_OK);
    assert_int_equal(kv_append(&a, &b, NULL), IOBM_OK);
    kv_release(&b);
    assert_int_equal(a.count, 10);
    assert_string_equal(a.items[9].value, "2");
    assert_int_equal(kv_append(&a, &a, NULL), IOBM_OK);
    assert_int_equal(a.count, 20);
    assert_string_equal(a.items[10].key, "x");
    kv_release(&a);
}

static void texts_are_split(void **state)
{
    static const struct {
        const char *text, *key, *value, *refused;
    } cases[] = {
        {"a=b", "a", "b", NULL},
        {"cb_nodes=4", "cb_nodes", "4", NULL},
        {"a=", "a", "", NULL},
        {"a=b=c", "a", "b=c", NULL},
        {"a b= c ", "a b", " c ", NULL},
        {"", NULL, NULL, "no '='"},
        {"word", NULL, NULL, "cannot use 'word': no '=' in it"},
        {"=b", NULL, NULL, "no key"},
        {"=", NULL, NULL, "no key"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct kvlist list = {0};
        struct iobm_error err = {.text = ""};
        enum iobm_status status = kv_parse(&list, cases[i].text, &err);
        if (cases[i].refused) {
            assert_int_equal(status, IOBM_EUSAGE);
            assert_non_null(strstr(err.text, cases[i].refused));
            assert_int_equal(list.count, 0);
        } else {
            assert_int_equal(status, IOBM_OK);
            assert_int_equal(list.count, 1);
            assert_string_equal(list.items[0].key, cases[i].key);
            assert_string_equal(list.items[0].value, cases[i].value);
        }
        kv_release(&list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_and_repeats_are_kept),
        cmocka_unit_test(set_replaces),
        cmocka_unit_test(append_copies),
        cmocka_unit_test(texts_are_split),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("kv", tests, NULL, NULL);
}
