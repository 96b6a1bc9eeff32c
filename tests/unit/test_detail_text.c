/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What stands behind the figures, as text and in JSON: made-up rows go in, at
 * most 80 columns come out, whatever the rows hold.
 */

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/str.h"
#include "report/detail_text.h"
#include "report/lines.h"
#include "report/report.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MiB      INT64_C(1048576)
#define SECOND   INT64_C(1000000000)

/* ---- what is looked for ---- */

static void assert_has(const char *text, const char *what)
{
    if (!strstr(text, what))
        fail_msg("no '%s' in:\n%s", what, text);
}

static void assert_lacks(const char *text, const char *what)
{
    if (strstr(text, what))
        fail_msg("'%s' in:\n%s", what, text);
}

static size_t count_lines(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* Whole lines of at most 80 columns, none with blanks at its end. */
static void assert_form(const struct str *out)
{
    const char *text = str_text(out);

    assert_false(out->failed);
    while (*text) {
        size_t n = strcspn(text, "\n");
        char *line = strndup(text, n);

        assert_non_null(line);
        assert_int_equal(text[n], '\n');
        if (line_columns(line) > 80)
            fail_msg("%zu columns: '%s'", line_columns(line), line);
        if (n > 0 && line[n - 1] == ' ')
            fail_msg("blanks at the end of '%s'", line);
        for (size_t i = 0; i < n; i++)
            assert_true((unsigned char)line[i] >= ' ');
        free(line);
        text += n + 1;
    }
}

static void one_phase(struct run_record *run, struct iobm_phase_row *phase)
{
    memset(run, 0, sizeof(*run));
    memset(phase, 0, sizeof(*phase));
    strcpy(phase->op, "write");
    strcpy(phase->status, "complete");
    phase->seconds = 3;
    run->phases = phase;
    run->phase_count = 1;
}

/* ---- series ---- */

/* Bins of all ranks together, and rows that are not for the total. */
static void make_series(struct iobm_series_row *rows, size_t n, int64_t width,
                        const int64_t *bytes)
{
    for (size_t i = 0; i < n; i++)
        rows[i] = (struct iobm_series_row){
            .rank = -1,
            .node = -1,
            .start_ns = 7 * SECOND + (int64_t)i * width,
            .width_ns = width,
            .bytes = bytes ? bytes[i] : MiB,
        };
}

static void test_series(void **state)
{
    static const int64_t bytes[] = {100 * MiB, 200 * MiB, MiB, 0, 50 * MiB};
    struct iobm_series_row rows[7];
    struct iobm_phase_row phase;
    struct run_record run;
    struct str out = {0};

    (void)state;
    one_phase(&run, &phase);
    phase.seconds = 4.5; /* half of the last bin */
    make_series(rows, 5, SECOND, bytes);
    rows[5] = rows[6] = rows[0];
    rows[5].rank = 0;
    rows[6].node = 0;
    run.detail.series = rows;
    run.detail.series_count = 7;
    detail_series_text(&run, &out);
    assert_form(&out);
    assert_string_equal(
        str_text(&out),
        "write: all ranks together, in steps of 1 s\n"
        "        from         moved       MiB/s\n"
        "       0.0 s       100 MiB      100.00  ####################\n"
        "       1.0 s       200 MiB      200.00  "
        "########################################\n"
        "       2.0 s         1 MiB       1.000  .\n"
        "       3.0 s           0 B        0.00\n"
        "       4.0 s        50 MiB      100.00  ####################\n");
    str_release(&out);
}

/* Where the phase ends in the last bin: 1 MiB in each of ten bins of 1 s. */
static void test_series_end(void **state)
{
    static const struct {
        double seconds;
        const char *last;
    } cases[] = {
        {10, "9.0 s         1 MiB       1.000  "},
        {9.5, "9.0 s         1 MiB       2.000  "},
        {9.11, "9.0 s         1 MiB       9.091  "},
        {9.01, "9.0 s         1 MiB       1.000  "}, /* a mere rest */
        {8, "9.0 s         1 MiB       1.000  "},    /* behind the end */
        {NAN, "9.0 s         1 MiB       1.000  "},
    };
    struct iobm_series_row rows[10];
    struct iobm_phase_row phase;
    struct run_record run;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct str out = {0};

        one_phase(&run, &phase);
        phase.seconds = cases[i].seconds;
        make_series(rows, 10, SECOND, NULL);
        run.detail.series = rows;
        run.detail.series_count = 10;
        detail_series_text(&run, &out);
        assert_form(&out);
        assert_has(str_text(&out), cases[i].last);
        str_release(&out);
    }
}

/* Any number of bins fits on a page. */
static void test_series_long(void **state)
{
    static const struct {
        size_t n, lines;
        const char *step;
    } cases[] = {
        {1, 1, "steps of 10 ms"},     {40, 40, "steps of 10 ms"},
        {41, 21, "steps of 20 ms"},   {80, 40, "steps of 20 ms"},
        {81, 27, "steps of 30 ms"},   {120, 40, "steps of 30 ms"},
        {600, 40, "steps of 150 ms"}, {601, 38, "steps of 160 ms"},
    };
    struct iobm_series_row rows[601];
    struct iobm_phase_row phase;
    struct run_record run;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct str out = {0};

        one_phase(&run, &phase);
        make_series(rows, cases[i].n, SECOND / 100, NULL);
        run.detail.series = rows;
        run.detail.series_count = cases[i].n;
        detail_series_text(&run, &out);
        assert_form(&out);
        assert_has(str_text(&out), cases[i].step);
        assert_int_equal(count_lines(str_text(&out)), 2 + cases[i].lines);
        str_release(&out);
    }
}

/* What is no series is not taken for one. */
static void test_series_damaged(void **state)
{
    enum what { NONE, WIDTH, NO_WIDTH, GAP, BACK, NEGATIVE, SUM, FAR, LONG };
    struct iobm_series_row rows[3];
    struct iobm_phase_row phase;
    struct run_record run;

    (void)state;
    for (int what = NONE; what <= LONG; what++) {
        struct str out = {0};

        one_phase(&run, &phase);
        make_series(rows, 3, SECOND, NULL);
        rows[1].width_ns += what == WIDTH;
        if (what == NO_WIDTH)
            rows[0].width_ns = rows[1].width_ns = rows[2].width_ns = 0;
        rows[2].start_ns += what == GAP ? 1 : what == BACK ? -2 * SECOND : 0;
        if (what == NEGATIVE)
            rows[2].bytes = -1;
        if (what == SUM)
            rows[0].bytes = rows[2].bytes = INT64_MAX / 2 + 1;
        if (what == FAR)
            rows[0].start_ns = rows[1].start_ns = rows[2].start_ns = INT64_MAX;
        for (size_t i = 0; what == LONG && i < 3; i++) {
            rows[i].width_ns = INT64_MAX / 2;
            rows[i].start_ns = INT64_MIN + (int64_t)i * rows[i].width_ns;
        }
        run.detail.series = rows;
        run.detail.series_count = what == NONE ? 0 : 3;
        detail_series_text(&run, &out);
        assert_string_equal(str_text(&out), "write: no series\n");
        str_release(&out);
        detail_stonewall_text(&run, SECOND, &out);
        assert_form(&out);
        assert_has(str_text(&out), "n/a: no series");
        str_release(&out);
    }
}

/* ---- stonewalls ---- */

static void test_stonewall(void **state)
{
    static const int64_t bytes[] = {400 * MiB, 200 * MiB, 90 * MiB};
    static const struct {
        int64_t d_ns;
        double seconds;
        const char *status, *wanted;
    } cases[] = {
        {SECOND, 3, "complete", "400.00 MiB/s      419.43 MB/s\n"},
        {2 * SECOND, 3, "complete", "300.00 MiB/s      314.57 MB/s\n"},
        {SECOND / 2, 3, "complete", "400.00 MiB/s"},
        {3 * SECOND / 2, 3, "complete", "333.33 MiB/s"},
        {3 * SECOND, 3, "complete", "230.00 MiB/s"},
        {2 * SECOND, 2, "complete", "300.00 MiB/s"},
        {2 * SECOND + 1, 2, "complete", "n/a: the phase lasted 2.0 s\n"},
        {3 * SECOND + 1, 3, "complete", "n/a: the phase lasted 3.0 s\n"},
        {30 * SECOND, 12.34, "complete", "n/a: the phase lasted 12.3 s\n"},
        {SECOND, 0.1234, "complete", "n/a: the phase lasted 123 ms\n"},
        {4 * SECOND, 9, "complete", "n/a: no series\n"},
        {SECOND, NAN, "failed", "n/a: the phase is failed\n"},
        {SECOND, 3, "failed", "n/a: the phase is failed\n"},
        {SECOND, 3, "invalid", "n/a: the phase is invalid\n"},
        {SECOND, 3, "interrupted", "n/a: the phase is interrupted\n"},
        {SECOND, 3, "", "n/a: the phase is not complete\n"},
        {INT64_MAX, 3, "complete", "n/a: the phase lasted 3.0 s\n"},
    };
    struct iobm_series_row rows[3];
    struct iobm_phase_row phase;
    struct run_record run;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct str out = {0};

        one_phase(&run, &phase);
        phase.seconds = cases[i].seconds;
        strcpy(phase.status, cases[i].status);
        make_series(rows, 3, SECOND, bytes);
        run.detail.series = rows;
        run.detail.series_count = 3;
        detail_stonewall_text(&run, cases[i].d_ns, &out);
        assert_form(&out);
        assert_has(str_text(&out), cases[i].wanted);
        assert_int_equal(count_lines(str_text(&out)), 2);
        str_release(&out);
    }
}

static void test_stonewall_phases(void **state)
{
    struct iobm_series_row rows[4];
    struct iobm_phase_row phases[3];
    struct run_record run;
    struct str out = {0};

    (void)state;
    one_phase(&run, &phases[0]);
    phases[1] = phases[2] = phases[0];
    phases[1].phase = 1;
    strcpy(phases[1].op, "read");
    phases[2].phase = 2;
    phases[2].repeat = 1;
    run.phases = phases;
    run.phase_count = 3;
    make_series(rows, 4, SECOND, NULL);
    rows[2].phase = rows[3].phase = 2;
    rows[2].bytes = 7 * MiB;
    run.detail.series = rows;
    run.detail.series_count = 4;
    detail_stonewall_text(&run, SECOND, &out);
    assert_form(&out);
    assert_string_equal(
        str_text(&out),
        "rate of the first 1 s of each phase\n"
        "  write                                1.000 MiB/s       1.049 MB/s\n"
        "  read                          n/a: no series\n"
        "  write repeat 2                       7.000 MiB/s       7.340 "
        "MB/s\n");
    str_release(&out);
}

/* ---- latency ---- */

static void test_latency(void **state)
{
    struct iobm_class_row classes[] = {
        {0, 0, "open", 2, 1e-5, 2e-5, NAN, NAN, NAN, NAN, NAN, 3e-5},
        {0, 0, "write", 1234, 1e-6, 2.5e-3, 2e-3, 3e-3, 4e-3, NAN, NAN, 1.5},
        {1, 0, "read", 1, 1, 1, 1, 1, 1, 1, 1, 1},
    };
    struct iobm_latency_row rows[] = {
        {0, 0, "open", 10000, 10100, 2}, {0, 0, "write", 1024, 1032, 1},
        {0, 0, "write", 2048, 2064, 40}, {0, 0, "write", 3072, 3080, 80},
        {0, 0, "write", 4000, 4032, 10}, {1, 0, "write", 2048, 2064, 7000},
        {0, 0, "wri", 2048, 2064, 7000},
    };
    struct iobm_second_row seconds[] = {
        {0, 0, 0, 1, 1200, 1200 << 20, 2e-3, 4e-3, 1.5},
        {1, 0, 0, 1, 7, 7, 7, 7, 7},
        {0, 0, 1, 1, 34, 34 << 19, NAN, NAN, 5e-3},
    };
    struct iobm_phase_row phase;
    struct run_record run;
    struct str out = {0};

    (void)state;
    one_phase(&run, &phase);
    run.detail.classes = classes;
    run.detail.class_count = COUNT(classes);
    run.detail.latency = rows;
    run.detail.latency_count = COUNT(rows);
    run.detail.seconds = seconds;
    run.detail.second_count = COUNT(seconds);
    detail_latency_text(&run, &out);
    assert_form(&out);
    assert_string_equal(
        str_text(&out),
        "write: latency; - where too few to tell\n"
        "           count     min    mean    50 %    90 %    99 %  99.9 % "
        "99.99 %     max\n"
        "open           2   10 us   20 us       -       -       -       -"
        "       -   30 us\n"
        "write       1234    1 us  2.5 ms    2 ms    3 ms    4 ms       -"
        "       -   1.5 s\n"
        "\n"
        "  write     from       count\n"
        "         1.02 us           1  #\n"
        "         1.15 us           0\n"
        "         1.28 us           0\n"
        "         1.41 us           0\n"
        "         1.54 us           0\n"
        "         1.66 us           0\n"
        "         1.79 us           0\n"
        "         1.92 us           0\n"
        "         2.05 us          40  ####################\n"
        "          2.3 us           0\n"
        "         2.56 us           0\n"
        "         2.82 us           0\n"
        "         3.07 us          80  "
        "########################################\n"
        "         3.33 us           0\n"
        "         3.58 us           0\n"
        "         3.84 us          10  #####\n"
        "\n"
        "    second   transfers         MiB/s      50 %      99 %       max\n"
        "         0        1200       1200.00      2 ms      4 ms     1.5 s\n"
        "         1          34         17.00         -         -      5 ms\n");
    str_release(&out);
}

/* As fine as the page allows; each operation is in one line of it. */
static void test_histogram_pieces(void **state)
{
    static const struct {
        int64_t low, high; /* of the first and the last bucket */
        size_t lines;
    } cases[] = {
        {0, 0, 1},
        {1, 1, 1},
        {1, 2, 2},
        {1, 1000, 10},
        {8, 15, 8},
        {1000000, 1000000, 1},
        {1 << 20, (1 << 21) - 1, 8},
        {1 << 20, (1 << 23) - 1, 24},
        {1 << 20, 1 << 23, 13},
        {1 << 20, 1 << 26, 13},
        {1, INT64_C(1) << 39, 40},
        {1, INT64_MAX, 63},
        {-5, 5, 3},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct iobm_class_row class = {.op_class = "read", .ops = 20};
        struct iobm_latency_row rows[] = {
            {.op_class = "read", .low_ns = cases[i].low, .ops = 9},
            {.op_class = "read", .low_ns = cases[i].high, .ops = 11},
        };
        struct iobm_phase_row phase;
        struct run_record run;
        struct str out = {0};
        const char *table;
        long long ops = 0;
        char number[16];

        one_phase(&run, &phase);
        run.detail.classes = &class;
        run.detail.class_count = 1;
        run.detail.latency = rows;
        run.detail.latency_count = 2;
        detail_latency_text(&run, &out);
        assert_form(&out);
        table = strstr(str_text(&out), "\n\n");
        assert_non_null(table);
        if (count_lines(table) != 3 + cases[i].lines)
            fail_msg("%" PRId64 " to %" PRId64 ": not %zu lines\n%s",
                     cases[i].low, cases[i].high, cases[i].lines, table);
        table = strstr(table + 2, "\n") + 1;
        for (const char *line = table; *line; line = strchr(line, '\n') + 1)
            if (sscanf(line + 16, "%15s", number) == 1)
                ops += atoll(number);
        assert_int_equal(ops, 20);
        str_release(&out);
    }
}

/* ---- checks ---- */

static void test_checks(void **state)
{
    struct iobm_check_row checks[] = {
        {0, 0, "write", "errors", "OK", 0, 0, "1", "", ""},
        {-1, -1, "write", "repeats", "NOTE", 2, 6, "1", "only 2", "more"},
        {0, 0, "write", "short", "WARN", 1.234567, 3, "s", "it was short",
         "run longer"},
        {0, 0, "write", "bytes", "INVALID", 1 << 20, (double)(1 << 21), "B",
         "too few", ""},
        {1, 0, "read", "cache", "WARN", NAN, NAN, "%", "", ""},
        {-1, -1, "read", "repeats", "OK", 7, 6, "1", "", ""},
        {0, 0, "write", "cliff", "OK", -1, -1, "B", "", ""},
        {0, 0, "write", "link", "OK", 100 * (double)MiB, NAN, "B/s", "", ""},
        {0, 0, "write", "skew", "OK", 0.04458, 1, "%", "", ""},
    };
    struct iobm_phase_row phases[3];
    struct run_record run;
    struct str out = {0};

    (void)state;
    one_phase(&run, &phases[0]);
    phases[1] = phases[2] = phases[0];
    phases[1].phase = 1;
    strcpy(phases[1].op, "read");
    phases[2].phase = 2;
    phases[2].repeat = 1;
    run.phases = phases;
    run.phase_count = 3;
    run.detail.checks = checks;
    run.detail.check_count = COUNT(checks);
    detail_checks_text(&run, &out);
    assert_form(&out);
    assert_string_equal(
        str_text(&out),
        "write: 6 checks\n"
        "  OK      errors                                     0"
        "  limit                 0\n"
        "  WARN    short                                1.235 s"
        "  limit               3 s\n"
        "          it was short\n"
        "          next: run longer\n"
        "  INVALID bytes                                  1 MiB"
        "  limit             2 MiB\n"
        "          too few\n"
        "  OK      cliff                                      -\n"
        "  OK      link                             100.0 MiB/s\n"
        "  OK      skew                               0.04458 %"
        "  limit               1 %\n"
        "\n"
        "read: 1 check\n"
        "  WARN    cache                                      -\n"
        "\n"
        "write repeat 2: no checks\n"
        "\n"
        "write: all repeats\n"
        "  NOTE    repeats                                    2"
        "  limit                 6\n"
        "          only 2\n"
        "          next: more\n"
        "\n"
        "read: all repeats\n"
        "  OK      repeats                                    7"
        "  limit                 6\n");
    str_release(&out);
}

/* ---- evidence ---- */

static void test_evidence(void **state)
{
    struct iobm_evidence_row rows[] = {
        {.host = "node001", .bytes = 10 * MiB, .resident_pct = 12.5},
        {.node = 1,
         .host = "a-host-with-a-long-name.example.org",
         .bytes = 999 * MiB,
         .self_read_bytes = 1000 * MiB,
         .self_write_bytes = 5,
         .device_read_bytes = 1,
         .device_write_bytes = 6,
         .nfs_server_read_bytes = 2,
         .nfs_server_write_bytes = 7,
         .lustre_osc_read_bytes = 3,
         .lustre_osc_write_bytes = 8,
         .link_rx_bytes = 4,
         .link_tx_bytes = 9,
         .resident_pct = NAN,
         .dirty_pct = 1.25,
         .major_faults = -1,
         .swap_in_bytes = 1024,
         .swap_out_bytes = 1024,
         .memory_limit_hits = 3,
         .cpu_busy_pct = 99.5},
        {.phase = 1, .host = "other"},
    };
    struct iobm_phase_row phase;
    struct run_record run;

    (void)state;
    for (int write = 0; write < 2; write++) {
        struct str out = {0};

        one_phase(&run, &phase);
        strcpy(phase.op, write ? "write" : "read");
        strcpy(phase.cache_verdict, write ? "none" : "cached");
        strcpy(phase.cache_witness, "self_io");
        phase.cached_pct = 93;
        phase.verify_bytes = phase.verify_errors = -1;
        run.detail.evidence = rows;
        run.detail.evidence_count = 3;
        detail_evidence_text(&run, &out);
        assert_form(&out);
        assert_has(str_text(&out), ": what each node counted\n");
        assert_has(str_text(&out), "     0 node001");
        assert_has(str_text(&out), "     1 a-h....org");
        assert_lacks(str_text(&out), "other");
        if (write) {
            assert_has(str_text(&out), "  999 MiB      5 B      6 B      7 B"
                                       "      8 B      9 B      1.2\n");
            assert_lacks(str_text(&out), "cached");
        } else {
            assert_has(str_text(&out), "  999 MiB 0.98 GiB      1 B      2 B"
                                       "      3 B      4 B        -\n");
            assert_has(str_text(&out), "cached: 93 %");
        }
        assert_has(str_text(&out), "       -    2 KiB     0.0      3      0.0"
                                   "    100    0.0     0.0\n");
        str_release(&out);
    }
}

/* ---- runs that have nothing of the kind ---- */

static void add_all(const struct run_record *run, struct str *out)
{
    detail_checks_text(run, out);
    detail_evidence_text(run, out);
    detail_series_text(run, out);
    detail_latency_text(run, out);
    detail_stonewall_text(run, SECOND, out);
}

static void test_empty(void **state)
{
    struct iobm_phase_row phase;
    struct run_record run;
    struct str out = {0};

    (void)state;
    one_phase(&run, &phase);
    add_all(&run, &out);
    assert_form(&out);
    assert_string_equal(str_text(&out),
                        "write: no checks\n\nwrite: no evidence\n\n"
                        "write: no series\n\nwrite: no latencies\n\n"
                        "rate of the first 1 s of each phase\n"
                        "  write                         n/a: no series\n");
    str_release(&out);
    run.phase_count = 0;
    add_all(&run, &out);
    assert_form(&out);
    assert_int_equal(count_lines(str_text(&out)), 7);
    str_release(&out);
}

/* ---- whatever the rows hold ---- */

static void odd_row(const struct iobm_column *columns, void *row,
                    uint64_t *counter)
{
    static const double reals[] = {NAN,  INFINITY, -INFINITY, 0,
                                   -0.0, 1e300,    -1e300,    1e-300,
                                   1,    99.95,    123456789, -3.5};
    static const int64_t wholes[] = {
        0, 1, -1, INT64_MAX, INT64_MIN, INT64_MAX - 1, 999, 1000, 1 << 30};

    for (const struct iobm_column *c = columns; c->type != IOBM_COL_END; c++) {
        char *at = (char *)row + c->offset;
        uint64_t dice = rng_at(77, (*counter)++);

        if (c->type == IOBM_COL_F64) {
            memcpy(at, &reals[dice % COUNT(reals)], 8);
        } else if (c->type == IOBM_COL_I64) {
            int64_t value =
                dice & 1024 ? (int64_t)dice : wholes[dice % COUNT(wholes)];

            memcpy(at, &value, 8);
        } else {
            for (size_t i = 0; i < c->size; i++) {
                dice = rng_at(78, (*counter)++);
                at[i] = (char)(dice % 5 ? 'a' + dice % 26 : dice >> 8);
                at[i] = (char)(at[i] == ' ' ? '_' : at[i]);
            }
        }
    }
}

#define ODD_ROWS 6

static void test_odd(void **state)
{
    uint64_t counter = 0;

    (void)state;
    for (int round = 0; round < 300; round++) {
        struct iobm_phase_row phases[2];
        struct iobm_series_row series[ODD_ROWS];
        struct iobm_class_row classes[ODD_ROWS];
        struct iobm_latency_row latency[ODD_ROWS];
        struct iobm_second_row seconds[ODD_ROWS];
        struct iobm_evidence_row evidence[ODD_ROWS];
        struct iobm_check_row checks[ODD_ROWS];
        struct run_record run = {.phases = phases, .phase_count = 2};
        struct str out = {0};

        for (int i = 0; i < 2; i++) {
            odd_row(iobm_phase_columns, &phases[i], &counter);
            phases[i].phase = i;
            if (round % 2)
                strcpy(phases[i].status, "complete");
        }
        for (int i = 0; i < ODD_ROWS; i++) {
            odd_row(iobm_series_columns, &series[i], &counter);
            odd_row(iobm_class_columns, &classes[i], &counter);
            odd_row(iobm_latency_columns, &latency[i], &counter);
            odd_row(iobm_second_columns, &seconds[i], &counter);
            seconds[i].phase = i % 2;
            odd_row(iobm_evidence_columns, &evidence[i], &counter);
            odd_row(iobm_check_columns, &checks[i], &counter);
            if (i > 1 && round % 3)
                memcpy(latency[i].op_class, classes[i / 2].op_class, 16);
            if (round % 4 == 0)
                series[i].rank = series[i].node = -1;
            series[i].phase = classes[i].phase = latency[i].phase =
                evidence[i].phase = i % 2;
            checks[i].phase = i % 3 - 1;
        }
        run.detail = (struct iobm_detail){
            .series = series,
            .series_count = round % 7 ? ODD_ROWS : 1,
            .classes = classes,
            .class_count = ODD_ROWS,
            .latency = latency,
            .latency_count = ODD_ROWS,
            .seconds = seconds,
            .second_count = ODD_ROWS,
            .evidence = evidence,
            .evidence_count = ODD_ROWS,
            .checks = checks,
            .check_count = ODD_ROWS,
        };
        add_all(&run, &out);
        assert_form(&out);
        str_release(&out);
    }
}

/* ---- JSON ---- */

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    while ((text = strstr(text, what))) {
        n++;
        text += strlen(what);
    }
    return n;
}

/* Each row stands once, with its phase; series of single ranks and nodes do
 * not. */
static void test_json(void **state)
{
    struct iobm_series_row series[] = {{.phase = 1, .rank = -1, .node = -1},
                                       {.phase = 0, .rank = -1, .node = -1},
                                       {.phase = 0, .rank = 0, .node = 0},
                                       {.phase = 0, .rank = -1, .node = 0},
                                       {.phase = 7, .rank = -1, .node = -1}};
    struct iobm_second_row seconds[] = {{.phase = 1}, {.phase = 1}};
    struct iobm_class_row classes[] = {{.phase = 0, .op_class = "open"}};
    struct iobm_latency_row latency[] = {{.phase = 0, .low_ns = 4711}};
    struct iobm_change_row changes[] = {{.phase = 1, .at_bytes = 4712}};
    struct iobm_evidence_row evidence[] = {{.phase = 0, .host = "h\"1"}};
    struct iobm_finding_row findings[] = {{.phase = 1, .kind = "lost"}};
    struct iobm_check_row checks[] = {{.phase = 0, .name = "short"},
                                      {.phase = -1, .name = "trend"},
                                      {.phase = 1, .name = "clock"}};
    struct iobm_summary_row summaries[] = {{.op = "write", .best_Bps = NAN}};
    struct iobm_phase_row phases[2];
    struct run_record run;
    struct str out = {0};
    const char *text, *second;

    (void)state;
    one_phase(&run, &phases[0]);
    phases[1] = phases[0];
    phases[1].phase = 1;
    run.phases = phases;
    run.phase_count = 2;
    run.detail = (struct iobm_detail){
        .series = series,
        .series_count = COUNT(series),
        .seconds = seconds,
        .second_count = COUNT(seconds),
        .classes = classes,
        .class_count = COUNT(classes),
        .latency = latency,
        .latency_count = COUNT(latency),
        .changes = changes,
        .change_count = COUNT(changes),
        .evidence = evidence,
        .evidence_count = COUNT(evidence),
        .findings = findings,
        .finding_count = COUNT(findings),
        .checks = checks,
        .check_count = COUNT(checks),
        .summaries = summaries,
        .summary_count = COUNT(summaries),
    };
    report_run_json(&run, NULL, &out);
    assert_false(out.failed);
    text = str_text(&out);
    second = strstr(strstr(text, "\"rank_rows\":[]") + 1, "\"rank_rows\":[]");
    assert_non_null(second);
    assert_int_equal(count(text, "\"series_rows\":[\n  {\"phase\":"), 2);
    assert_int_equal(count(text, "\"width_ns\":"), 2);
    assert_int_equal(count(text, "\"second_rows\":[]"), 1);
    assert_int_equal(count(second, "{\"phase\":1,\"repeat\":0,\"start_s\":"),
                     2);
    assert_int_equal(count(text, "\"latency_rows\":[]"), 1);
    assert_true(strstr(text, "\"op_class\":\"open\"") < second);
    assert_null(strstr(text, "4711")); /* buckets are in the file alone */
    assert_non_null(strstr(second, "\"at_bytes\":4712"));
    assert_true(strstr(text, "\"host\":\"h\\\"1\"") < second);
    assert_non_null(strstr(second, "\"kind\":\"lost\""));
    assert_true(strstr(text, "\"name\":\"short\"") < second);
    assert_non_null(strstr(second, "\"name\":\"clock\""));
    assert_has(text, "\"repeats\":[\n{\"op\":\"write\",");
    assert_has(text, "\"best_Bps\":null");
    assert_has(strstr(text, "\n\"checks\":[\n  {\"phase\":-1,"),
               "\"name\":\"trend\"");
    assert_int_equal(count(text, "\"name\":\"trend\""), 1);
    str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_series),
        cmocka_unit_test(test_series_end),
        cmocka_unit_test(test_series_long),
        cmocka_unit_test(test_series_damaged),
        cmocka_unit_test(test_stonewall),
        cmocka_unit_test(test_stonewall_phases),
        cmocka_unit_test(test_latency),
        cmocka_unit_test(test_histogram_pieces),
        cmocka_unit_test(test_checks),
        cmocka_unit_test(test_evidence),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_odd),
        cmocka_unit_test(test_json),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("detail_text", tests, NULL, NULL);
}
