/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Phases with and without what is kept of operations, in turns: what is made
 * of their times, and that neither drift nor interruptions have a part in it.
 * The clock moves only when the back end of this file says so.
 */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "engine/perturb.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)

#define OP_BYTES 4096
#define MOST_OPS 4096

/* ---- the clock ---- */

static int64_t the_time_ns = 5000 * MS;
static int64_t the_tick_ns; /* what a reading takes */

int64_t clock_now_ns(void)
{
    the_time_ns += the_tick_ns;
    return the_time_ns;
}

int64_t clock_utc_ns(void)
{
    return the_time_ns;
}

void clock_sleep_ns(int64_t ns)
{
    the_time_ns += ns;
}

const char *clock_domain(char *text, size_t room)
{
    snprintf(text, room, "test");
    return text;
}

const char *clock_iso8601(char *text, size_t room, int64_t utc_ns)
{
    snprintf(text, room, "%lld", (long long)utc_ns);
    return text;
}

/* ---- the back end ---- */

struct fake {
    int64_t op_ns;
    int64_t drift_ns;        /* added to op_ns with each phase */
    int64_t stolen_ns;       /* each ninth phase is interrupted for so long */
    int64_t fail_at;         /* the how manieth operation, from 1; 0: none */
    int64_t phases, ops;     /* so far */
    int64_t end, overlapped; /* of the phase; that did not follow each other */
};

static enum iobm_status fake_open(void *state, const struct iobm_open *how,
                                  void *file, struct iobm_error *err)
{
    struct fake *f = state;

    (void)how, (void)file, (void)err;
    f->phases++;
    f->end = 0;
    f->op_ns += f->drift_ns;
    return IOBM_OK;
}

static enum iobm_status fake_xfer(void *state, void *file, struct iobm_op *op,
                                  struct iobm_error *err)
{
    struct fake *f = state;

    (void)file;
    if (++f->ops == f->fail_at)
        return iobm_fail(err, IOBM_EIO, "cannot write 'it'");
    f->overlapped += op->offset != f->end;
    f->end = op->offset + op->size;
    the_time_ns += f->op_ns;
    if (f->phases % 9 == 0 && op->offset == 0)
        the_time_ns += f->stolen_ns;
    op->done = op->size;
    return IOBM_OK;
}

static enum iobm_status fake_end(void *state, void *file,
                                 struct iobm_error *err)
{
    (void)state, (void)file, (void)err;
    return IOBM_OK;
}

static const struct iobm_backend backend = {
    .name = "fake",
    .abi = IOBM_BACKEND_ABI,
    .open = fake_open,
    .xfer = fake_xfer,
    .sync = fake_end,
    .close = fake_end,
};

static struct trial *make(struct fake *fake, enum iobm_op_kind kind)
{
    const struct trial_input in = {
        .backend = &backend,
        .state = fake,
        .kind = kind,
        .transfer_bytes = OP_BYTES,
        .most_ops = MOST_OPS,
    };
    struct trial *trial;

    assert_int_equal(trial_create(&in, &trial, NULL), IOBM_OK);
    return trial;
}

/* ---- tests ---- */

static void trial_is_a_phase(void **state)
{
    (void)state;
    for (int kind = IOBM_OP_WRITE; kind <= IOBM_OP_READ; kind++) {
        struct fake fake = {.op_ns = 7 * US};
        struct trial *trial = make(&fake, (enum iobm_op_kind)kind);

        for (int64_t ops = 1; ops <= MOST_OPS; ops *= 16) {
            double ns = -1;

            fake.ops = 0;
            assert_int_equal(trial_run(trial, ops, ops != 16, &ns, NULL),
                             IOBM_OK);
            assert_int_equal(fake.ops, ops);
            assert_true(ns == 7000);
        }
        assert_int_equal(fake.phases, 4);
        assert_int_equal(fake.overlapped, 0);
        trial_free(trial);
    }
    trial_free(NULL);
}

/* Longer than the time between two looks for messages: there are none. */
static void trial_of_a_slow_file(void **state)
{
    struct fake fake = {.op_ns = 130 * MS};
    struct trial *trial = make(&fake, IOBM_OP_WRITE);
    double ns = -1;

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(trial_run(trial, 5, true, &ns, NULL), IOBM_OK);
        assert_true(ns == 130e6);
    }
    assert_int_equal(fake.ops, 15);
    trial_free(trial);
}

static void trial_that_fails(void **state)
{
    struct fake fake = {.op_ns = US, .fail_at = 3};
    struct trial *trial = make(&fake, IOBM_OP_WRITE);
    struct iobm_error err;
    double ns = -1;

    (void)state;
    assert_int_equal(trial_run(trial, 5, true, &ns, &err), IOBM_EIO);
    assert_string_equal(err.text, "cannot write 'it'");
    assert_int_equal(fake.ops, 3);
    assert_true(ns == -1);
    trial_free(trial);
}

static void judges(void **state)
{
    static const struct {
        double low, high, confidence;
        enum perturb_verdict verdict;
    } cases[] = {
        {-0.1, 0.2, 99.1, PERTURB_WITHIN},
        {-0.5, 0.5, 99.0, PERTURB_WITHIN},
        {0.1, 0.2, 99.1, PERTURB_WITHIN},
        {0.51, 0.6, 99.1, PERTURB_OUTSIDE},
        {-0.7, -0.51, 99.1, PERTURB_OUTSIDE},
        {0.4, 0.6, 99.1, PERTURB_UNDECIDED},
        {-0.6, -0.4, 99.1, PERTURB_UNDECIDED},
        {-5, 5, 99.1, PERTURB_UNDECIDED},
        {0.5, 0.6, 99.1, PERTURB_UNDECIDED},
        {-0.1, 0.2, 98.9, PERTURB_UNDECIDED},
        {0.6, 0.7, 98.9, PERTURB_UNDECIDED},
        {NAN, NAN, NAN, PERTURB_UNDECIDED},
        {NAN, NAN, 99.1, PERTURB_UNDECIDED},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(
            perturb_judge(cases[i].low, cases[i].high, cases[i].confidence),
            cases[i].verdict);
    assert_string_equal(perturb_verdict_name(PERTURB_UNDECIDED), "undecided");
    assert_string_equal(perturb_verdict_name(PERTURB_WITHIN), "within");
    assert_string_equal(perturb_verdict_name(PERTURB_OUTSIDE), "outside");
}

static bool is_near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

/* 12 rounds that cost 1 % .. 12 %: 99 % have x(2) and x(11), by the binomial
 * 1 - 2 * 13 / 4096 = 99.37 %. */
static void summarises(void **state)
{
    double on[14], off[14], cost[14];
    struct perturb p;

    (void)state;
    for (int i = 0; i < 14; i++) {
        off[i] = 1000;
        on[i] = 1000 + 10 * ((i * 5) % 12 + 1);
    }
    on[12] = 0;
    off[13] = NAN;
    perturb_summarise(on, off, cost, 14, &p);
    assert_int_equal(p.rounds, 12);
    assert_true(is_near(p.cost_pct, 6.5));
    assert_true(is_near(p.low_pct, 2));
    assert_true(is_near(p.high_pct, 11));
    assert_true(is_near(p.confidence_pct, 100 * (1 - 26.0 / 4096)));
    assert_true(is_near(p.on_ns, 1065));
    assert_true(is_near(p.off_ns, 1000));
    assert_int_equal(p.verdict, PERTURB_OUTSIDE);
}

static void summarises_few(void **state)
{
    double on[] = {1010}, off[] = {1000}, cost[1];
    struct perturb p;

    (void)state;
    perturb_summarise(on, off, cost, 1, &p);
    assert_int_equal(p.rounds, 1);
    assert_true(is_near(p.cost_pct, 1));
    assert_true(isnan(p.low_pct) && isnan(p.high_pct));
    assert_int_equal(p.verdict, PERTURB_UNDECIDED);

    perturb_summarise(on, off, cost, 0, &p);
    assert_int_equal(p.rounds, 0);
    assert_true(isnan(p.cost_pct) && isnan(p.low_pct) && isnan(p.on_ns));
    assert_int_equal(p.verdict, PERTURB_UNDECIDED);
}

/* The kept part takes no time on this clock, so the cost is 0 whatever else
 * goes on.  Phases are of 300 us, rounds of four. */
static void measures(void **state)
{
    static const struct {
        struct fake fake;
        int64_t budget_ns;
        size_t least, most; /* rounds */
    } cases[] = {
        {{.op_ns = 1 * US}, 120 * MS, 95, 101},
        {{.op_ns = 100 * US}, 120 * MS, 95, 101},
        /* Two operations at least: rounds of 8 ms, 12 of them at least. */
        {{.op_ns = 1 * MS}, 40 * MS, 12, 12},
        /* Rounds of 80 ms: no more than 4 times the budget. */
        {{.op_ns = 10 * MS}, 100 * MS, 4, 5},
        {{.op_ns = 10 * US, .drift_ns = 100}, 120 * MS, 20, 101},
        {{.op_ns = 10 * US, .stolen_ns = 20 * MS}, 2000 * MS, 100, 400},
        /* All of most_ops is shorter than a phase should be. */
        {{.op_ns = 1}, 1 * MS, 50, 64},
        /* A clock that never moves. */
        {{.op_ns = 0}, 0, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fake fake = cases[i].fake;
        struct trial *trial = make(&fake, IOBM_OP_WRITE);
        struct perturb p = {0};

        assert_int_equal(
            perturb_measure(trial, MOST_OPS, cases[i].budget_ns, &p, NULL),
            IOBM_OK);
        print_message("# case %zu: %zu rounds, %.6f %% (%.6f .. %.6f)\n", i,
                      p.rounds, p.cost_pct, p.low_pct, p.high_pct);
        assert_true(p.rounds >= cases[i].least && p.rounds <= cases[i].most);
        if (p.rounds >= 8) {
            assert_true(fabs(p.cost_pct) < 1e-3);
            assert_int_equal(p.verdict, PERTURB_WITHIN);
        } else {
            assert_int_equal(p.verdict, PERTURB_UNDECIDED);
        }
        trial_free(trial);
    }
}

/* Phases are of two operations, each of them longer than marks are apart;
 * where they are kept the clock is read once more after each. */
static void finds_what_keeping_costs(void **state)
{
    struct fake fake = {.op_ns = 9500 * US, .drift_ns = 100};
    struct trial *trial = make(&fake, IOBM_OP_READ);
    struct perturb p = {0};

    (void)state;
    the_tick_ns = 1 * MS;
    assert_int_equal(perturb_measure(trial, 3, 8000 * MS, &p, NULL), IOBM_OK);
    the_tick_ns = 0;
    print_message("# %zu rounds, %.3f ns, %.3f ns, %.6f %% (%.6f .. %.6f)\n",
                  p.rounds, p.on_ns, p.off_ns, p.cost_pct, p.low_pct,
                  p.high_pct);
    assert_true(p.low_pct > 8.2 && p.high_pct < 8.4);
    assert_true(is_near(p.on_ns, p.off_ns + 1e6));
    assert_int_equal(p.verdict, PERTURB_OUTSIDE);
    trial_free(trial);
}

/* It ends with as many rounds as there is room for. */
static void measures_no_more_than_fit(void **state)
{
    struct fake fake = {.op_ns = 1};
    struct trial *trial = make(&fake, IOBM_OP_READ);
    struct perturb p = {0};

    (void)state;
    assert_int_equal(perturb_measure(trial, 2, 1000 * MS, &p, NULL), IOBM_OK);
    assert_int_equal(p.rounds, PERTURB_ROUNDS_MOST);
    trial_free(trial);
}

static void passes_failures_on(void **state)
{
    /* While the size of a phase is looked for, and later. */
    static const int64_t fail_at[] = {1, 3, 302, 603, 5000};

    (void)state;
    for (size_t i = 0; i < sizeof(fail_at) / sizeof(fail_at[0]); i++) {
        struct fake fake = {.op_ns = US, .fail_at = fail_at[i]};
        struct trial *trial = make(&fake, IOBM_OP_WRITE);
        struct perturb p = {.rounds = 7};
        struct iobm_error err;

        assert_int_equal(perturb_measure(trial, MOST_OPS, 100 * MS, &p, &err),
                         IOBM_EIO);
        assert_string_equal(err.text, "cannot write 'it'");
        assert_int_equal(p.rounds, 7);
        assert_int_equal(fake.ops, fail_at[i]);
        trial_free(trial);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trial_is_a_phase),
        cmocka_unit_test(trial_of_a_slow_file),
        cmocka_unit_test(trial_that_fails),
        cmocka_unit_test(judges),
        cmocka_unit_test(summarises),
        cmocka_unit_test(summarises_few),
        cmocka_unit_test(measures),
        cmocka_unit_test(finds_what_keeping_costs),
        cmocka_unit_test(measures_no_more_than_fit),
        cmocka_unit_test(passes_failures_on),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
