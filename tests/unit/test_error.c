/* SPDX-License-Identifier: BSD-3-Clause */
/* iobm_error: texts, causes, cutting, statuses.  No other module. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "iobm/error.h"

#define ROOM sizeof(((struct iobm_error *)NULL)->text)

static void fail_fills_everything(void **state)
{
    struct iobm_error err = {.status = IOBM_OK, .rank = 7};

    (void)state;
    assert_int_equal(iobm_fail(&err, IOBM_EUSAGE, "no %s for %d", "room", 3),
                     IOBM_EUSAGE);
    assert_int_equal(err.status, IOBM_EUSAGE);
    assert_int_equal(err.rank, -1);
    assert_string_equal(err.text, "no room for 3");
}

static void null_is_allowed(void **state)
{
    (void)state;
    assert_int_equal(iobm_fail(NULL, IOBM_EBUG, "x"), IOBM_EBUG);
    assert_int_equal(iobm_fail_errno(NULL, ENOSPC, "x"), IOBM_EIO);
    assert_int_equal(iobm_context(NULL, IOBM_ENOMEM, "x"), IOBM_ENOMEM);
}

static void errno_is_spelt_out_last(void **state)
{
    struct iobm_error err;

    (void)state;
    assert_int_equal(iobm_fail_errno(&err, ENOSPC, "cannot write '%s' at %d",
                                     "/big/test.17", 4096),
                     IOBM_EIO);
    assert_int_equal(err.status, IOBM_EIO);
    assert_int_equal(err.rank, -1);
    assert_string_equal(err.text, "cannot write '/big/test.17' at 4096: "
                                  "No space left on device");
}

static void context_goes_in_front(void **state)
{
    struct iobm_error err;

    (void)state;
    (void)iobm_fail(&err, IOBM_EIO, "cause");
    err.rank = 5;
    assert_int_equal(iobm_context(&err, IOBM_EIO, "phase %d", 2), IOBM_EIO);
    assert_string_equal(err.text, "phase 2: cause");
    assert_int_equal(err.rank, 5);
    assert_int_equal(iobm_context(&err, IOBM_ESTOPPED, "job"), IOBM_ESTOPPED);
    assert_int_equal(err.status, IOBM_ESTOPPED);
    assert_string_equal(err.text, "job: phase 2: cause");
}

static void own_text_may_be_an_argument(void **state)
{
    struct iobm_error err;

    (void)state;
    (void)iobm_fail(&err, IOBM_EIO, "inner");
    (void)iobm_fail(&err, IOBM_EBUG, "outer (%s)", err.text);
    assert_string_equal(err.text, "outer (inner)");
    (void)iobm_fail_errno(&err, EIO, "again %s", err.text);
    assert_string_equal(err.text, "again outer (inner): Input/output error");
    (void)iobm_context(&err, IOBM_EIO, "<%s>", err.text);
    assert_string_equal(err.text, "<again outer (inner): Input/output error>: "
                                  "again outer (inner): Input/output error");
}

static void one_error_is_one_line(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"a\nb\rc\td", "a?b?c?d"},
        {"\x1b[31mred\x7f", "?[31mred?"},
        {"gr\xc3\xb6\xc3\x9f", "gr\xc3\xb6\xc3\x9f"}, /* UTF-8 stays */
        {"\xc2\x9b"
         "31m",
         "??31m"}, /* C1 goes */
        {"\xc2\xa0.", "\xc2\xa0."},
        {"end\xc2", "end\xc2"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct iobm_error err;
        (void)iobm_fail(&err, IOBM_EIO, "%s", cases[i].in);
        assert_string_equal(err.text, cases[i].out);
        (void)iobm_context(&err, IOBM_EIO, "%s", cases[i].in);
        assert_null(strpbrk(err.text, "\n\r\t\x1b\x7f"));
    }
}

static void long_texts_keep_the_cause(void **state)
{
    char path[4 * ROOM];
    struct iobm_error err;
    const char *cause = ": No space left on device";

    (void)state;
    /* Every length around the room, of one- and of two-byte letters. */
    for (size_t n = ROOM - 60; n < ROOM + 60; n++) {
        memset(path, 'x', n);
        path[n] = '\0';
        (void)iobm_fail(&err, IOBM_EIO, "%s", path);
        assert_int_equal(strlen(err.text), n < ROOM ? n : ROOM - 1);
        (void)iobm_fail_errno(&err, ENOSPC, "%s", path);
        assert_true(strlen(err.text) < ROOM);
        assert_string_equal(err.text + strlen(err.text) - strlen(cause), cause);
        (void)iobm_context(&err, IOBM_EIO, "%s", path);
        assert_true(strlen(err.text) < ROOM);
        assert_string_equal(err.text + strlen(err.text) - strlen(cause), cause);
    }
    for (size_t n = 0; n < sizeof(path) - 2; n += 2)
        memcpy(path + n, "\xc3\xb6", 3);
    for (int shift = 0; shift < 2; shift++) {
        (void)iobm_fail_errno(&err, ENOSPC, "%.*s%s", shift, "x", path);
        size_t front = strlen(err.text) - strlen(cause);
        assert_string_equal(err.text + front, cause);
        assert_int_equal((unsigned char)err.text[front - 1], 0xb6);
        (void)iobm_fail(&err, IOBM_EIO, "%.*s%s", shift, "x", path);
        assert_int_equal((unsigned char)err.text[strlen(err.text) - 1], 0xb6);
    }
}

static void statuses_have_names(void **state)
{
    (void)state;
    for (int s = IOBM_ESTOPPED; s <= IOBM_OK; s++) {
        const char *name = iobm_status_name((enum iobm_status)s);
        assert_string_not_equal(name, "unknown status");
        for (int t = s + 1; t <= IOBM_OK; t++)
            assert_string_not_equal(name,
                                    iobm_status_name((enum iobm_status)t));
    }
    assert_string_equal(iobm_status_name(IOBM_EUSAGE), "usage error");
    assert_string_equal(iobm_status_name(IOBM_ENOMEM), "out of memory");
    assert_string_equal(iobm_status_name((enum iobm_status) - 99),
                        "unknown status");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fail_fills_everything),
        cmocka_unit_test(null_is_allowed),
        cmocka_unit_test(errno_is_spelt_out_last),
        cmocka_unit_test(context_goes_in_front),
        cmocka_unit_test(own_text_may_be_an_argument),
        cmocka_unit_test(one_error_is_one_line),
        cmocka_unit_test(long_texts_keep_the_cause),
        cmocka_unit_test(statuses_have_names),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
