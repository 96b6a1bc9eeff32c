/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the self-test makes of its figures: the verdict, and text of 80
 * columns and JSON whatever they are.  That it measures is tests/ranks'.
 */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/selftest.h"
#include "report/lines.h"

#define W PERTURB_WITHIN
#define O PERTURB_OUTSIDE
#define U PERTURB_UNDECIDED

static void make(struct selftest *test, enum perturb_verdict write,
                 enum perturb_verdict read)
{
    *test = (struct selftest){
        .node = {.host = "node03", .cpu = "Some CPU", .cores = 64},
        .cost = {22.04, 42.5, 10 * 1073741824.0},
        .clock_step_ns = 20,
        .hist_ns = 1.94,
        .folder = "/dev/shm",
        .fs_type = "tmpfs",
    };
    for (int i = 0; i < SELFTEST_ROWS; i++)
        test->row[i] = (struct selftest_row){
            .file = i >= 2,
            .kind = i % 2 == 0 ? IOBM_OP_WRITE : IOBM_OP_READ,
            .transfer_bytes = i < 4 ? 4096 : 1048576,
            .counts = i >= 4,
            .perturb = {.rounds = 100 + (size_t)i,
                        .on_ns = i < 4 ? 50 : 200e3,
                        .off_ns = 40,
                        .cost_pct = 25,
                        .low_pct = 24.5,
                        .high_pct = 26.04,
                        .confidence_pct = 99.2,
                        .verdict = O},
        };
    test->row[4].perturb.verdict = write;
    test->row[5].perturb.verdict = read;
    test->verdict = selftest_judge(test);
}

static void the_worst_counts(void **state)
{
    static const struct {
        enum perturb_verdict write, read, worst;
    } cases[] = {
        {W, W, W}, {W, U, U}, {U, W, U}, {U, U, U}, {W, O, O},
        {O, W, O}, {U, O, O}, {O, U, O}, {O, O, O},
    };
    struct selftest test;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        make(&test, cases[i].write, cases[i].read);
        assert_int_equal(test.verdict, cases[i].worst);
    }
}

static void assert_has(const char *text, const char *wanted)
{
    if (!strstr(text, wanted))
        fail_msg("no '%s' in:\n%s", wanted, text);
}

static void assert_fits(const char *text)
{
    char line[4096];

    while (*text) {
        size_t length = strcspn(text, "\n");

        assert_true(length < sizeof(line));
        memcpy(line, text, length);
        line[length] = '\0';
        if (line_columns(line) > 80)
            fail_msg("too long: %s", line);
        text += length + (text[length] == '\n');
    }
}

static void text_says_it(void **state)
{
    struct selftest test;
    struct str out = {0};

    (void)state;
    make(&test, W, W);
    selftest_text(&test, &out);
    assert_false(out.failed);
    assert_fits(out.text);
    assert_has(out.text, "on node03, 64 cores, one process\n");
    assert_has(out.text, "clock            22.0 ns per reading; the least "
                         "step seen is 20.0 ns\n");
    assert_has(out.text, "histogram         1.9 ns per operation; with slots "
                         "of time and marks 10.0 ns\n");
    assert_has(out.text, " 50.0 ns per write of 4 KiB: at most 20.0 million/s");
    /* 1 MiB in 200 us are 5000 MiB/s of 10 GiB/s. */
    assert_has(out.text, "10240 MiB/s (10737 MB/s); a write of 1 MiB gets "
                         "49 %\n");
    assert_has(out.text, "null     write  4 KiB     40.0 ns     50.0 ns    "
                         "25.0     24.5 ..   26.0     100\n");
    assert_has(out.text, "read of 1 MiB: instrumentation costs 25.0 % (24.5 "
                         ".. 26.0 %): within +-0.5 %\n");
    assert_has(out.text, "the test file was in '/dev/shm' (tmpfs)");
    assert_null(strstr(out.text, "try again"));
    str_release(&out);
}

static void text_advises(void **state)
{
    struct selftest test;
    struct str out = {0};

    (void)state;
    make(&test, W, U);
    selftest_text(&test, &out);
    assert_has(out.text, "26.0 %): undecided\ntry again without --quick");
    str_release(&out);
    make(&test, O, U);
    selftest_text(&test, &out);
    assert_has(out.text, "26.0 %): beyond +-0.5 %\n");
    assert_has(out.text, "measuring changes what is measured here");
    assert_null(strstr(out.text, "try again"));
    str_release(&out);
}

/* Fewer rounds than 99 % take have no interval of 99 %. */
static void text_claims_no_confidence(void **state)
{
    struct selftest test;
    struct str out = {0};

    (void)state;
    make(&test, W, U);
    test.row[5].perturb.confidence_pct = 96.875;
    selftest_text(&test, &out);
    assert_has(out.text, "25.0 % (- .. - %): undecided\n");
    str_release(&out);
}

static void odd_figures_fit(void **state)
{
    static const double values[] = {NAN,  INFINITY, -INFINITY, 0,    -1234567,
                                    1e-9, 1e9,      1e18,      1e300};
    struct selftest test;
    struct str out = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        double v = values[i];

        make(&test, W, U);
        test.cost = (struct cost){v, v, v};
        test.clock_step_ns = test.hist_ns = v;
        memset(test.folder, '/', 1000);
        memset(test.folder + 1000, '\xff', 8);
        strcpy(test.fs_type, "fuse.a-long-name-of-a-file-sys");
        memset(test.node.host, 'h', sizeof(test.node.host) - 1);
        for (int k = 0; k < SELFTEST_ROWS; k++) {
            struct perturb *p = &test.row[k].perturb;

            p->on_ns = p->off_ns = p->cost_pct = v;
            p->low_pct = p->high_pct = v;
            p->rounds = 4096;
        }
        selftest_text(&test, &out);
        assert_false(out.failed);
        assert_fits(out.text);
        str_release(&out);
        selftest_json(&test, &out);
        assert_false(out.failed);
        assert_null(strstr(out.text, "nan"));
        assert_null(strstr(out.text, "inf"));
        str_release(&out);
    }
}

static void json_has_it(void **state)
{
    struct selftest test;
    struct str out = {0};

    (void)state;
    make(&test, W, U);
    test.clock_step_ns = NAN;
    selftest_json(&test, &out);
    assert_has(out.text, "{\"host\":\"node03\",\"cpu\":\"Some CPU\","
                         "\"cores\":64,\"quick\":false,");
    assert_has(out.text, "\"timer_step_ns\":null,");
    assert_has(out.text, "\"keep_ns\":10,");
    assert_has(out.text, "\"limit_pct\":0.5,\"verdict\":\"undecided\",");
    assert_has(out.text, "{\"api\":\"posix\",\"fs_type\":\"tmpfs\",\"op\":"
                         "\"write\",\"transfer_bytes\":1048576,"
                         "\"without_ns\":40,\"with_ns\":200000,"
                         "\"ops_per_s\":5000,");
    assert_has(out.text, "\"rounds\":104,\"counts\":true,"
                         "\"verdict\":\"within\"}");
    str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worst_counts),
        cmocka_unit_test(text_says_it),
        cmocka_unit_test(text_advises),
        cmocka_unit_test(text_claims_no_confidence),
        cmocka_unit_test(odd_figures_fit),
        cmocka_unit_test(json_has_it),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
