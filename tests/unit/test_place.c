/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Whether a path, however it is spelled, leads to a name of the test files.
 * The rest of guard/place.h is tested with the manifest.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "guard/place.h"

static int make_links(void **state)
{
    (void)state;
    return mkdir("place", 0777) || mkdir("other", 0777) ||
           symlink("../place", "other/here") || symlink("t.1", "place/lost") ||
           symlink("lost", "place/t.7") || symlink("../place/file", "other/l");
}

static void test_claims(void **state)
{
    static const struct {
        const char *path;
        bool shared, claimed;
    } cases[] = {
        {"place/t.0", false, true},      {"place/t.12", false, true},
        {"place//t.0", false, true},     {"./other/../place/t.0", false, true},
        {"other/here/t.0", false, true}, {"other/here/t.iobm", true, true},
        {"other/here/t", true, true},    {"other/here/t", false, false},
        {"other/here/t.0", true, false}, {"other/t.0", false, false},
        {"place/t.", false, false},      {"place/t.0x", false, false},
        {"place/t2.0", false, false},    {"place/u.0", false, false},
        {"t.0", false, false},           {"none/t.0", false, false},
        {"other/l", false, false},       {"", false, false},
    };
    struct place place;
    struct iobm_error err;

    (void)state;
    assert_int_equal(place_open("place/t", &place, &err), IOBM_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct layout layout = {.shared = cases[i].shared, .parts = 2};
        bool claimed = place_claims(&place, &layout, cases[i].path);

        if (claimed != cases[i].claimed)
            fail_msg("'%s' is %sclaimed", cases[i].path, claimed ? "" : "not ");
    }
    place_close(&place);
}

/* A link of any name to a test file that is there. */
static void test_link(void **state)
{
    const struct layout layout = {.parts = 2};
    struct place place;
    struct iobm_error err;

    (void)state;
    assert_int_equal(mkdir("place/t.1", 0777), 0);
    assert_int_equal(place_open("place/t", &place, &err), IOBM_OK);
    assert_true(place_claims(&place, &layout, "place/lost"));
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_link),
    };

    return cmocka_run_group_tests(tests, make_links, NULL);
}
