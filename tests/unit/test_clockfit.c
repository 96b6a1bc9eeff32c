/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clock offsets and their bounds, against simulated clocks whose truth is
 * known: offsets of seconds, tens of ppm of skew, delays that are random and
 * differ by direction, seconds to hours between points.
 */

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/clockfit.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define US       INT64_C(1000)
#define MS       INT64_C(1000000)
#define S        INT64_C(1000000000)
#define HOUR     (3600 * S)

/* A world: true time is the root's; the local clock is off from it. */
struct world {
    int64_t offset_ns; /* local minus root at time 0 */
    double skew_ppm;   /* of the local clock */
    double bend_ppm;   /* by how much the skew changes over 'bend_ns' */
    int64_t bend_ns;
    int64_t step_at_ns, step_ns; /* the local clock jumps */
    int64_t delay_ns[2];         /* least one-way delays: there, back */
    int64_t jitter_ns;           /* most of the delays' random part */
    uint64_t seed, draws;
};

static int64_t local_of(const struct world *w, int64_t root_ns)
{
    long double t = (long double)root_ns;
    long double drift = t * (long double)w->skew_ppm * 1e-6L;

    if (w->bend_ns > 0)
        drift += (long double)w->bend_ppm * 1e-6L * t * t /
                 (2 * (long double)w->bend_ns);
    return root_ns + w->offset_ns + (int64_t)floorl(drift) +
           (w->step_ns != 0 && root_ns >= w->step_at_ns ? w->step_ns : 0);
}

/* Delays have a long tail: most small, few near the most. */
static int64_t delay(struct world *w, int direction)
{
    uint64_t r = rng_below(w->seed, w->draws++, 1000000);
    double share = (double)r / 1e6;

    return w->delay_ns[direction] +
           (int64_t)((double)w->jitter_ns * share * share * share * share);
}

/* One exchange that begins at '*now' of the root's time and moves it on. */
static struct clock_sample exchange(struct world *w, int64_t *now)
{
    struct clock_sample sample;

    sample.sent_ns = local_of(w, *now);
    *now += delay(w, 0);
    sample.root_ns = *now;
    *now += delay(w, 1);
    sample.received_ns = local_of(w, *now);
    *now += 500;
    return sample;
}

static struct clock_point measure(struct world *w, int64_t *now, size_t n,
                                  bool *agrees)
{
    struct clock_sample samples[100], fresh[5];

    for (size_t i = 0; i < n; i++)
        samples[i] = exchange(w, now);
    for (size_t i = 0; i < COUNT(fresh); i++)
        fresh[i] = exchange(w, now);
    struct clock_point point = clockfit_point(samples, n);
    *agrees = clockfit_check(&point, fresh, COUNT(fresh));
    return point;
}

/* How far 'global_ns' for the local time of 'root_ns' is from the truth. */
static void assert_bounded(int64_t global_ns, int64_t bound_ns, int64_t root_ns)
{
    if (llabs(global_ns - root_ns) > bound_ns)
        fail_msg("off by %" PRId64 ", bound %" PRId64, global_ns - root_ns,
                 bound_ns);
}

static void points_by_hand(void **state)
{
    static const struct {
        struct clock_sample samples[3];
        size_t n;
        int64_t offset, bound, rtt;
        bool anomaly;
    } cases[] = {
        {{{1000, 6000, 2000}}, 1, 4500, 501, 1000, false},
        /* One slow there, one slow back: together they pin it down. */
        {{{1000, 6010, 2000}, {3000, 8990, 4010}}, 2, 4995, 16, 1000, false},
        {{{1000, 6100, 2000}, {3000, 7200, 4100}}, 2, 4150, 51, 1000, false},
        /* No common part: the best alone. */
        {{{1000, 6000, 2000}, {3000, 8000, 3900}, {5000, 19000, 6000}},
         3,
         4550,
         451,
         900,
         true},
        /* A clock set back within the second exchange. */
        {{{1000, 6000, 2000}, {3000, 8000, 2500}}, 2, 4500, 501, 1000, true},
        {{{3000, 8000, 2500}, {1000, 6000, 2000}}, 2, 4500, 501, 1000, true},
        /* Three clocks of the same tick: never a bound of 0. */
        {{{1000, 6000, 1000}}, 1, 5000, 1, 0, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct clock_point p = clockfit_point(cases[i].samples, cases[i].n);
        if (p.bound_ns < 1 || llabs(p.offset_ns - cases[i].offset) > 1 ||
            llabs(p.bound_ns - cases[i].bound) > 1 ||
            p.rtt_min_ns != cases[i].rtt || p.anomaly != cases[i].anomaly)
            fail_msg("case %zu: offset %" PRId64 " bound %" PRId64
                     " rtt %" PRId64 " anomaly %d",
                     i, p.offset_ns, p.bound_ns, p.rtt_min_ns, p.anomaly);
    }
}

static void random_world(uint64_t i, struct world *w)
{
    static const int64_t offsets[] = {0, S, -S, 10 * S, -10 * S, 3 * HOUR};
    static const int64_t least[] = {200, 3 * US, 30 * US, 400 * US};
    static const int64_t jitters[] = {300, 10 * US, MS, 20 * MS};
    static const double skews[] = {0, 50, -50, 3.3, 100};

    *w = (struct world){
        .offset_ns = offsets[rng_below(1, i, COUNT(offsets))],
        .skew_ppm = skews[rng_below(2, i, COUNT(skews))],
        .delay_ns = {least[rng_below(3, i, COUNT(least))],
                     least[rng_below(4, i, COUNT(least))]},
        .jitter_ns = jitters[rng_below(5, i, COUNT(jitters))],
        .seed = i,
    };
}

static void the_truth_is_in_the_bound(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 3000; i++) {
        struct world w;
        bool agrees;
        int64_t now = (int64_t)rng_below(6, i, 1000) * S;
        random_world(i, &w);
        size_t n = 1 + (size_t)rng_below(7, i, 100);
        int64_t began = now;
        struct clock_point p = measure(&w, &now, n, &agrees);

        assert_false(p.anomaly);
        assert_true(agrees);
        /* No worse than half the best round trip and its drift. */
        assert_true(p.bound_ns <= p.rtt_min_ns / 2 + 2 + p.rtt_min_ns / 5000);
        int64_t least = w.delay_ns[0] + w.delay_ns[1];
        assert_true(p.rtt_min_ns >= least - least / 5000 - 10);
        /* Find the root's time at which the local clock showed local_ns. */
        int64_t low = began, high = now;
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if (local_of(&w, middle) < p.local_ns)
                low = middle + 1;
            else
                high = middle;
        }
        if (llabs(p.offset_ns - (low - p.local_ns)) > p.bound_ns)
            fail_msg("world %" PRIu64 ": offset %" PRId64 " +- %" PRId64
                     ", truth %" PRId64,
                     i, p.offset_ns, p.bound_ns, low - p.local_ns);
    }
}

static void between_two_points(void **state)
{
    static const int64_t apart[] = {10 * MS, 15 * S, 300 * S, HOUR, 12 * HOUR};

    (void)state;
    for (uint64_t i = 0; i < 1500; i++) {
        struct world w;
        bool agrees;
        int64_t start = 100 * S, now = start;
        int64_t span = apart[i % COUNT(apart)];
        random_world(i, &w);
        struct clock_point a = measure(&w, &now, 20, &agrees);
        int64_t first = now;
        now = start + span + 10 * S;
        int64_t last = now;
        struct clock_point b = measure(&w, &now, 20, &agrees);

        double skew = clockfit_skew_ppm(&a, &b);
        double wrong = 1e6 * (double)(a.bound_ns + b.bound_ns + 2) /
                       (double)(b.local_ns - a.local_ns);
        assert_true(fabs(skew - (1 / (1 + w.skew_ppm * 1e-6) - 1) * 1e6) <=
                    wrong * 1.001 + 1e-6);
        for (int k = 0; k <= 20; k++) {
            int64_t root = first + (last - first) / 20 * k;
            int64_t bound = -1;
            int64_t global =
                clockfit_global(&a, &b, local_of(&w, root), 0, &bound);
            assert_bounded(global, bound, root);
        }
        /* A little before and after as well. */
        for (int k = 1; k <= 3; k++) {
            int64_t bound = -1;
            int64_t root = start - k * S;
            int64_t global =
                clockfit_global(&a, &b, local_of(&w, root), 0, &bound);
            assert_bounded(global, bound, root);
            root = now + k * S;
            global = clockfit_global(&a, &b, local_of(&w, root), 0, &bound);
            assert_bounded(global, bound, root);
        }
    }
}

/* Offset alone would be wrong by far more than the bound: the line is
 * needed. */
static void interpolation_matters(void **state)
{
    struct world w = {.offset_ns = S,
                      .skew_ppm = 50,
                      .delay_ns = {800, 800},
                      .jitter_ns = 3 * US,
                      .seed = 5};
    bool agrees;
    int64_t now = 0, bound;

    (void)state;
    struct clock_point a = measure(&w, &now, 20, &agrees);
    now = 15 * S;
    struct clock_point b = measure(&w, &now, 20, &agrees);
    int64_t root = 15 * S - S / 2;
    int64_t local = local_of(&w, root);
    int64_t global = clockfit_global(&a, &b, local, 0, &bound);
    assert_bounded(global, bound, root);
    assert_true(bound < 3 * US);
    assert_true(llabs(local + a.offset_ns - root) > 600 * US);
}

/* The skew itself changes (temperature): wander covers it. */
static void a_bending_clock_is_covered(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 300; i++) {
        int64_t span = 15 * S + (int64_t)rng_below(1, i, 3600) * S;
        struct world w = {
            .offset_ns = -10 * S,
            .skew_ppm = 40,
            .bend_ppm = 0.1 * (double)(i % 40) - 2,
            .bend_ns = span,
            .delay_ns = {900, 1500},
            .jitter_ns = 5 * US,
            .seed = i,
        };
        bool agrees;
        int64_t now = 0;
        struct clock_point a = measure(&w, &now, 20, &agrees);
        int64_t first = now;
        now = span;
        struct clock_point b = measure(&w, &now, 20, &agrees);
        for (int k = 0; k <= 20; k++) {
            int64_t root = first + (span - first) / 20 * k;
            int64_t bound;
            int64_t global =
                clockfit_global(&a, &b, local_of(&w, root), w.bend_ppm, &bound);
            assert_bounded(global, bound, root);
        }
    }
}

static void a_step_is_seen(void **state)
{
    static const int64_t steps[] = {5 * S, -5 * S, MS, -MS};

    (void)state;
    for (size_t i = 0; i < COUNT(steps); i++) {
        struct world w = {.offset_ns = S,
                          .skew_ppm = 50,
                          .delay_ns = {2 * US, 3 * US},
                          .jitter_ns = 10 * US,
                          .seed = i};
        struct clock_sample samples[40];
        int64_t now = 0;
        bool agrees;

        /* Within the exchanges of one point. */
        w.step_at_ns = 200 * US;
        w.step_ns = steps[i];
        for (size_t k = 0; k < COUNT(samples); k++)
            samples[k] = exchange(&w, &now);
        assert_true(now > w.step_at_ns);
        assert_true(clockfit_point(samples, COUNT(samples)).anomaly);

        /* Between a point and its check. */
        w.step_at_ns = 30 * S;
        now = 10 * S;
        struct clock_point a = measure(&w, &now, 20, &agrees);
        assert_true(agrees && !a.anomaly);
        now = 31 * S;
        for (size_t k = 0; k < 5; k++)
            samples[k] = exchange(&w, &now);
        if (llabs(steps[i]) > 10 * MS) /* 200 ppm of 20 s is 4 ms */
            assert_false(clockfit_check(&a, samples, 5));

        /* Within the check itself. */
        w.step_at_ns = HOUR;
        now = 50 * S;
        struct clock_point b = measure(&w, &now, 20, &agrees);
        assert_true(agrees);
        w.step_at_ns = now + 1;
        for (size_t k = 0; k < 5; k++)
            samples[k] = exchange(&w, &now);
        assert_false(clockfit_check(&b, samples, 5));

        /* Between two points that agree with themselves: the skew tells. */
        w.step_at_ns = 60 * S;
        now = 59 * S;
        a = measure(&w, &now, 20, &agrees);
        now = 61 * S;
        b = measure(&w, &now, 20, &agrees);
        assert_true(agrees && !b.anomaly);
        assert_true(fabs(clockfit_skew_ppm(&a, &b)) > CLOCKFIT_DRIFT_PPM);
    }
}

static void checks_by_hand(void **state)
{
    const struct clock_point point = {
        .local_ns = 1500, .offset_ns = 5000, .bound_ns = 100};
    static const struct {
        struct clock_sample sample;
        bool agrees;
    } cases[] = {
        {{1000, 6500, 2000}, true},  /* [4500, 5500] */
        {{1000, 7098, 2000}, true},  /* [5098, 6098] */
        {{1000, 7100, 2000}, true},  /* touches */
        {{1000, 7103, 2000}, false}, /* above, drift 1 */
        {{1000, 5900, 2000}, true},  /* [3900, 4900] touches */
        {{1000, 5897, 2000}, false}, /* below */
        {{1600, 6500, 1400}, false}, /* received, then sent */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        if (clockfit_check(&point, &cases[i].sample, 1) != cases[i].agrees)
            fail_msg("case %zu", i);
    assert_true(clockfit_check(&point, NULL, 0));
}

/* Local to middle to root: the truth is in the added bounds. */
static void chains_add_up(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 1000; i++) {
        struct world middle, leaf; /* each against true time */
        bool agrees;
        int64_t now = 1000 * S;
        random_world(i, &middle);
        random_world(i + 5000, &leaf);
        struct clock_point far = measure(&middle, &now, 20, &agrees);
        now += (int64_t)rng_below(8, i, 50) * MS;

        struct clock_sample samples[20];
        int64_t began = now;
        for (size_t k = 0; k < COUNT(samples); k++) {
            samples[k] = exchange(&leaf, &now);
            samples[k].root_ns = local_of(&middle, samples[k].root_ns);
        }
        struct clock_point near = clockfit_point(samples, COUNT(samples));
        struct clock_point both = clockfit_chain(&near, &far);

        assert_true(both.local_ns == near.local_ns);
        assert_true(both.bound_ns >= near.bound_ns + far.bound_ns);
        assert_true(both.rtt_min_ns == near.rtt_min_ns + far.rtt_min_ns);
        int64_t low = began, high = now;
        while (low < high) {
            int64_t half = low + (high - low) / 2;
            if (local_of(&leaf, half) < both.local_ns)
                low = half + 1;
            else
                high = half;
        }
        assert_bounded(both.local_ns + both.offset_ns, both.bound_ns, low);
    }
    const struct clock_point odd = {.anomaly = true, .bound_ns = 5};
    const struct clock_point root = {0};
    assert_true(clockfit_chain(&odd, &root).anomaly);
    assert_true(clockfit_chain(&root, &odd).anomaly);
    /* Through the root's own clock nothing is added. */
    const struct clock_point near = {
        .local_ns = 77 * S, .offset_ns = 9, .bound_ns = 4};
    assert_int_equal(clockfit_chain(&near, &root).bound_ns, 4);
}

static void the_roots_own_clock_is_exact(void **state)
{
    const struct clock_point a = {.local_ns = 10 * S};
    const struct clock_point b = {.local_ns = 20 * HOUR};
    static const int64_t times[] = {0, 10 * S, HOUR, 20 * HOUR, 30 * HOUR};

    (void)state;
    for (size_t i = 0; i < COUNT(times); i++) {
        int64_t bound = -1;
        assert_true(clockfit_global(&a, &b, times[i], 0, &bound) == times[i]);
        assert_int_equal(bound, 0);
        assert_true(clockfit_global(&a, &a, times[i], 0, &bound) == times[i]);
        assert_int_equal(bound, 0);
    }
    assert_true(clockfit_skew_ppm(&a, &a) == 0);
    assert_true(clockfit_skew_ppm(&a, &b) == 0);
}

static void bounds_by_hand(void **state)
{
    const struct clock_point a = {
        .local_ns = 0, .offset_ns = 1000, .bound_ns = 100};
    const struct clock_point b = {
        .local_ns = 10 * S, .offset_ns = 501000, .bound_ns = 300}; /* 50 ppm */
    static const struct {
        int64_t local;
        double change_ppm;
        int64_t global, bound;
    } cases[] = {
        {0, 0, 1000, 100},
        {10 * S, 0, 10 * S + 501000, 300},
        {5 * S, 0, 5 * S + 251000, 200 + 500}, /* 0.1 ppm of 5 s */
        {2 * S, 0, 2 * S + 101000, 140 + 200},
        {9 * S, 0, 9 * S + 451000, 280 + 100},
        {5 * S, 2, 5 * S + 251000, 200 + 10000},
        {5 * S, -2, 5 * S + 251000, 200 + 10000},
        {11 * S, 0, 11 * S + 551000, 300 + 40 + 100},
        {-S, 0, -S - 49000, 100 + 40 + 100},
    };

    (void)state;
    assert_true(fabs(clockfit_skew_ppm(&a, &b) - 50) < 1e-9);
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t bound = -1;
        int64_t global = clockfit_global(&a, &b, cases[i].local,
                                         cases[i].change_ppm, &bound);
        if (global != cases[i].global || llabs(bound - cases[i].bound) > 1)
            fail_msg("case %zu: %" PRId64 " +- %" PRId64, i, global, bound);
    }
    /* One point: what clocks may drift. */
    int64_t bound;
    assert_true(clockfit_global(&b, &b, 11 * S, 0, &bound) == 11 * S + 501000);
    assert_int_equal(bound, 300 + 200000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_by_hand),
        cmocka_unit_test(the_truth_is_in_the_bound),
        cmocka_unit_test(between_two_points),
        cmocka_unit_test(interpolation_matters),
        cmocka_unit_test(a_bending_clock_is_covered),
        cmocka_unit_test(a_step_is_seen),
        cmocka_unit_test(checks_by_hand),
        cmocka_unit_test(chains_add_up),
        cmocka_unit_test(the_roots_own_clock_is_exact),
        cmocka_unit_test(bounds_by_hand),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("clockfit", tests, NULL, NULL);
}
