/* SPDX-License-Identifier: BSD-3-Clause */
/* Repeats: figures worked out by hand, health tests on cases and by
 * simulation (false alarms, detection), and when to stop. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/repeats.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MOST     40

static void assert_near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%.9g is not %.9g", got, expected);
}

static struct repeats of(const double *rate, size_t n, bool *outlier)
{
    struct repeats_input in = {.rate = rate, .n = n};
    struct repeats out;

    memset(&out, 0x55, sizeof(out));
    assert_true(repeats_summarise(&in, outlier, &out));
    return out;
}

static void by_hand(void **state)
{
    /* 600 bytes in 6 s, 600 in 4, 600 in 2, 1200 in 3; one that failed */
    const double rate[] = {100, 150, NAN, 300, 400};
    const double bytes[] = {600, 600, 555, 600, 1200};
    const double seconds[] = {6, 4, 77, 2, 3};
    struct repeats_input in = {rate, bytes, seconds, 5};
    struct repeats r;

    (void)state;
    assert_true(repeats_summarise(&in, NULL, &r));
    assert_int_equal(r.n, 4);
    assert_int_equal(r.left_out, 1);
    assert_near(r.median, 225, 1e-12);
    assert_near(r.low, 100, 0);
    assert_near(r.high, 400, 0);
    assert_near(r.confidence_pct, 87.5, 1e-12);
    assert_false(r.is_95);
    assert_near(r.half_width_pct, 100 * 150 / 225.0, 1e-9);
    assert_near(r.mean_rate, 3000 / 15.0, 1e-12); /* not 237.5 */
    assert_near(r.best, 400, 0);
    assert_near(r.worst, 100, 0);
    /* deviations 137.5, 87.5, 62.5, 162.5 from 237.5 */
    assert_near(r.cov_pct, 100 * sqrt(56875 / 3.0) / 237.5, 1e-9);
    assert_near(r.first_run_pct, -100 * 200 / 300.0, 1e-9);
    assert_false(r.first_run);
    assert_near(r.trend_p, 2 / 24.0, 1e-12);
    assert_false(r.trend);
    /* slopes of ln: .405, .366, .347, .347, .327, .288; 4 repeats apart */
    assert_near(r.trend_pct, 100 * expm1(4 * log(4) / 4), 1e-9);
    assert_false(r.two_modes);
    assert_true(isnan(r.mode_low) && isnan(r.mode_high));
    assert_int_equal(r.outliers, 0);
}

/* The ranks of docs/method.md, of rates that are in any order. */
static void intervals(void **state)
{
    static const struct {
        size_t n, low, high;
        double confidence;
        bool is_95;
    } cases[] = {
        {2, 1, 2, 50, false},      {3, 1, 3, 75, false},
        {4, 1, 4, 87.5, false},    {5, 1, 5, 93.75, false},
        {6, 1, 6, 96.875, true},   {9, 2, 8, 96.09, true},
        {10, 2, 9, 97.85, true},   {12, 3, 10, 96.14, true},
        {15, 4, 12, 96.48, true},  {20, 6, 15, 95.86, true},
        {30, 10, 21, 95.72, true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        double rate[MOST];
        size_t n = cases[i].n;
        struct repeats r;

        for (size_t k = 0; k < n; k++) /* 7 is prime to all of them */
            rate[k] = 1000 + (double)(7 * k % n + 1);
        r = of(rate, n, NULL);
        assert_near(r.low, 1000 + (double)cases[i].low, 0);
        assert_near(r.high, 1000 + (double)cases[i].high, 0);
        assert_near(r.median, 1000 + (double)(n + 1) / 2, 0);
        assert_near(r.confidence_pct, cases[i].confidence, 0.006);
        assert_int_equal(r.is_95, cases[i].is_95);
    }
}

static void none_or_one(void **state)
{
    static const double nothing[] = {NAN, 0, -5, INFINITY, -INFINITY};
    static const double one[] = {NAN, 7};
    bool outlier[5] = {true, true, true, true, true};
    struct repeats r = of(NULL, 0, NULL);

    (void)state;
    assert_int_equal(r.n, 0);
    assert_true(isnan(r.median) && isnan(r.low) && isnan(r.half_width_pct));
    assert_true(isnan(r.mean_rate) && isnan(r.best) && isnan(r.trend_p));
    assert_true(isnan(r.confidence_pct));
    assert_false(r.is_95 || r.first_run || r.trend || r.two_modes);

    r = of(nothing, COUNT(nothing), outlier);
    assert_int_equal(r.n, 0);
    assert_int_equal(r.left_out, 5);
    assert_true(isnan(r.median));
    for (size_t i = 0; i < 5; i++)
        assert_false(outlier[i]);

    r = of(one, 2, outlier);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.left_out, 1);
    assert_near(r.median, 7, 0);
    assert_near(r.best, 7, 0);
    assert_true(isnan(r.low) && isnan(r.high) && isnan(r.half_width_pct));
    assert_true(isnan(r.confidence_pct) && isnan(r.cov_pct));
    assert_true(isnan(r.first_run_pct) && isnan(r.trend_pct));
    assert_true(isnan(r.mean_rate)); /* no bytes given */
    assert_false(r.is_95);
}

static void no_time_has_no_mean(void **state)
{
    const double rate[] = {5}, bytes[] = {5}, seconds[] = {0};
    struct repeats_input in = {rate, bytes, seconds, 1};
    struct repeats r;

    (void)state;
    assert_true(repeats_summarise(&in, NULL, &r));
    assert_true(isnan(r.mean_rate));
}

/* ---- the health tests, case by case */

static void first_runs(void **state)
{
    static const struct {
        double rate[8];
        size_t n;
        bool first;
        double pct; /* NaN: not known */
    } cases[] = {
        {{60, 100, 101, 99, 100, 102}, 6, true, -40},
        {{150, 100, 101, 99, 100}, 5, true, 50},
        {{60, 100, 101, 99}, 4, false, -40},           /* too few to be sure */
        {{96, 100, 100, 100, 100, 100}, 6, false, -4}, /* below 5 % */
        {{94, 100, 100, 100, 100, 100}, 6, true, -6},
        {{100, 60, 101, 99, 100, 102}, 6, false, 0}, /* not the first */
        /* within 3 scaled MAD of the range of the others */
        {{70, 90, 110, 100, 80, 120}, 6, false, -30},
        {{30, 90, 110, 100, 80, 120}, 6, true, -70},
        /* scaled MAD 0.141: outside by 2.7 and by 3.2 of it */
        {{58.1, 85, 90, 95, 100, 105, 110, 115}, 8, false, -41.9},
        {{54.2, 85, 90, 95, 100, 105, 110, 115}, 8, true, -45.8},
        /* the first to be complete is not the first to run */
        {{NAN, 60, 100, 101, 99, 100, 102}, 7, false, NAN},
        {{60, NAN, 100, 101, 99, 100, 102}, 7, true, -40},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct repeats r = of(cases[i].rate, cases[i].n, NULL);
        if (r.first_run != cases[i].first)
            fail_msg("case %zu: %d", i, r.first_run);
        if (isnan(cases[i].pct))
            assert_true(isnan(r.first_run_pct));
        else
            assert_near(r.first_run_pct, cases[i].pct, 0.6);
    }
}

static void outliers(void **state)
{
    static const struct {
        double rate[8];
        size_t n;
        const char *flags;
    } cases[] = {
        {{100, 101, 99, 100, 98, 150}, 6, "000001"},
        {{20, 101, 99, 100, 98, 100, 500}, 7, "1000001"},
        {{100, 101, 99, 100, 98, 110}, 6, "000000"},
        {{100, 101, 99, 30}, 4, "0000"},           /* too few */
        {{100, 100, 100, 100, 100.5}, 5, "00000"}, /* MAD 0, below 1 % */
        {{100, 100, 100, 100, 101.5}, 5, "00001"},
        {{100, NAN, 101, 99, 0, 100, 98, 150}, 8, "00000001"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        bool flag[8];
        size_t count = 0;
        struct repeats r, quiet;

        memset(flag, 1, sizeof(flag));
        r = of(cases[i].rate, cases[i].n, flag);
        for (size_t k = 0; k < cases[i].n; k++) {
            if (flag[k] != (cases[i].flags[k] == '1'))
                fail_msg("case %zu, repeat %zu: %d", i, k, flag[k]);
            count += flag[k];
        }
        assert_int_equal(r.outliers, count);
        quiet = of(cases[i].rate, cases[i].n, NULL);
        assert_int_equal(quiet.outliers, count);
    }
    /* Flagged, never dropped. */
    assert_near(of(cases[0].rate, 6, NULL).best, 150, 0);
    assert_int_equal(of(cases[0].rate, 6, NULL).n, 6);
}

static void modes(void **state)
{
    static const struct {
        double rate[12];
        size_t n;
        bool two;
        double low, high;
    } cases[] = {
        {{500, 300, 505, 302, 498, 297}, 6, true, 300, 500},
        {{100, 120, 100, 120, 100, 120}, 6, true, 100, 120},
        {{500, 300, 505, 302, 498}, 5, false, 0, 0},      /* too few */
        {{500, 501, 505, 302, 498, 499}, 6, false, 0, 0}, /* one alone */
        {{100, 104, 100, 104, 100, 104}, 6, false, 0, 0}, /* below 5 % */
        {{100, 100, 100, 100, 100, 100}, 6, false, 0, 0},
        {{60, 70, 80, 90, 100, 110, 120, 130}, 8, false, 0, 0},
        {{100, 131, 95, 144, 103, 138, 99, 141}, 8, true, 99.5, 139.5},
        /* 2 of 12 are enough, and the rest has no more */
        {{50, 100, 101, 99, 52, 98, 102, 100, 101, 99, 100, 97},
         12,
         true,
         51,
         100},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct repeats r = of(cases[i].rate, cases[i].n, NULL);
        if (r.two_modes != cases[i].two)
            fail_msg("case %zu: %d", i, r.two_modes);
        if (!cases[i].two) {
            assert_true(isnan(r.mode_low) && isnan(r.mode_high));
            continue;
        }
        assert_near(r.mode_low, cases[i].low, 1e-9);
        assert_near(r.mode_high, cases[i].high, 1e-9);
    }
}

/* Fewer than a sixth are a tail, not a mode. */
static void modes_are_no_tails(void **state)
{
    (void)state;
    for (size_t slow = 0; slow <= 15; slow++) {
        double rate[30];
        for (size_t i = 0; i < 30; i++)
            rate[i] = (i < slow ? 50 : 100) + (double)(i % 3);
        assert_int_equal(of(rate, 30, NULL).two_modes, slow >= 5);
    }
}

/* p from whole-number counts of orders; with ties by hand. */
static void trends(void **state)
{
    static const struct {
        double rate[8];
        size_t n;
        bool trend;
        double p, pct;
    } cases[] = {
        {{100, 98, 96, 94, 92, 90}, 6, true, 2 / 720.0, -10},
        {{90, 92, 94, 96, 98, 100}, 6, true, 2 / 720.0, 11.1},
        {{90, 92, 94, 96, 100, 98}, 6, true, 12 / 720.0, 11.1},
        {{100, 100.1, 100.2, 100.3, 100.4, 100.5}, 6, false, 2 / 720.0, 0.5},
        {{100, 110, 120, 130}, 4, false, 2 / 24.0, 30},
        {{3, 2, 1}, 3, false, 2 / 6.0, -66.7},
        {{100, 100, 100, 100, 100, 100}, 6, false, 1, 0},
        /* S = 13, variance (6 5 17 - 2 2 1 9) / 18 = 26.33 */
        {{10, 10, 11, 12, 12, 13}, 6, true, 0.019363849765, 32.1},
        /* what is left out leaves its place */
        {{100, NAN, 98, NAN, 96, NAN, 94, 93}, 8, true, 2 / 120.0, -7},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct repeats r = of(cases[i].rate, cases[i].n, NULL);
        if (r.trend != cases[i].trend)
            fail_msg("case %zu: %d, p %g", i, r.trend, r.trend_p);
        assert_near(r.trend_p, cases[i].p, 1e-11);
        assert_near(r.trend_pct, cases[i].pct, 0.8);
    }
    assert_true(isnan(of(cases[0].rate, 2, NULL).trend_p));
    assert_true(isnan(of(cases[0].rate, 2, NULL).trend_pct));
}

/* An order of n values with exactly 'inversions' pairs that fall. */
static void order_with(size_t n, size_t inversions, double *rate)
{
    for (size_t i = 0; i < n; i++)
        rate[i] = 100 + (double)i;
    while (inversions > 0) /* the largest steps: bubble sort backwards */
        for (size_t i = 0; i + 1 < n && inversions > 0; i++)
            if (rate[i] < rate[i + 1]) {
                double swap = rate[i];
                rate[i] = rate[i + 1];
                rate[i + 1] = swap;
                inversions--;
            }
}

/* Orders with at most so many falling pairs, counted in whole numbers. */
static void exact_p_of_trends(void **state)
{
    static const struct {
        size_t n, score;
        double p, tolerance; /* relative */
    } cases[] = {
        {10, 23, 0.04662257495590829, 1e-12},
        {10, 21, 0.07255015432098766, 1e-12},
        {12, 66, 4.17535139757362e-09, 1e-12},
        {20, 62, 0.04676893674989459, 1e-12},
        {30, 87, 0.12567230893543138, 1e-12},
        {50, 345, 0.003657134234012478, 1e-10},
        {10, 1, 1, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        double rate[64];
        size_t n = cases[i].n, pairs = n * (n - 1) / 2;

        for (int sign = 0; sign < 2; sign++) {
            size_t falls = sign ? (pairs - cases[i].score) / 2
                                : (pairs + cases[i].score) / 2;
            order_with(n, falls, rate);
            assert_near(of(rate, n, NULL).trend_p / cases[i].p, 1,
                        cases[i].tolerance);
        }
    }
    /* At the change to the normal approximation p does not jump. */
    double rate[64], exact, approximate;
    order_with(50, 1225 / 2 - 120, rate);
    exact = of(rate, 50, NULL).trend_p;
    order_with(51, 1275 / 2 - 123, rate); /* the same z */
    approximate = of(rate, 51, NULL).trend_p;
    assert_near(approximate, exact, 0.002);
    assert_in_range((int)(1000 * exact), 30, 60);
}

/* All orders of 6 values: p is the share of orders that are as extreme. */
static void all_orders(void **state)
{
    double p[720], score[720], rate[6];
    int orders = 0;

    (void)state;
    for (int code = 0; code < 46656; code++) {
        int used = 0, rest = code;
        for (int i = 0; i < 6; i++, rest /= 6) {
            rate[i] = 10 + rest % 6;
            used |= 1 << rest % 6;
        }
        if (used != 63)
            continue;
        score[orders] = 0;
        for (int i = 0; i < 6; i++)
            for (int j = i + 1; j < 6; j++)
                score[orders] += rate[j] > rate[i] ? 1 : -1;
        p[orders++] = of(rate, 6, NULL).trend_p;
    }
    assert_int_equal(orders, 720);
    for (int i = 0; i < 720; i++) {
        int extreme = 0;
        for (int k = 0; k < 720; k++)
            extreme += fabs(score[k]) >= fabs(score[i]);
        assert_near(p[i], extreme / 720.0, 1e-12);
    }
}

/* ---- simulation */

struct source {
    uint64_t seed, counter;
};

static double uniform(struct source *s)
{
    return ((double)(rng_at(s->seed, s->counter++) >> 11) + 0.5) * 0x1p-53;
}

static double normal(struct source *s)
{
    double radius = sqrt(-2 * log(uniform(s)));

    return radius * cos(2 * M_PI * uniform(s));
}

static double normal_5(struct source *s)
{
    return 100 * (1 + 0.05 * normal(s));
}

static double normal_20(struct source *s)
{
    return 100 * (1 + 0.2 * normal(s));
}

static double rounded(struct source *s)
{
    return round(200 * (1 + 0.05 * normal(s)));
}

static double lognormal_50(struct source *s)
{
    return 100 * exp(0.5 * normal(s));
}

/* Student's t with 2 degrees of freedom: no variance. */
static double heavy(struct source *s)
{
    double z = normal(s);

    return 100 * exp(0.05 * z / sqrt(-log(uniform(s))));
}

static const struct distribution {
    const char *name;
    double (*draw)(struct source *);
    bool may_be_wrong; /* more often than the header promises */
} distributions[] = {
    {"normal, 5 %", normal_5, false},
    {"normal, 20 %", normal_20, false},
    {"lognormal, 50 %", lognormal_50, false},
    {"normal, rounded", rounded, false},
    {"t2, 5 %", heavy, true},
};

struct alarms {
    double first, trend, modes, outliers; /* % */
};

static struct alarms count_alarms(double (*draw)(struct source *), size_t n,
                                  int tries)
{
    struct source source = {.seed = 1000 + n};
    struct alarms a = {0, 0, 0, 0};
    double rate[MOST], each = 100.0 / tries;

    for (int t = 0; t < tries; t++) {
        for (size_t i = 0; i < n; i++)
            rate[i] = draw(&source);
        struct repeats r = of(rate, n, NULL);
        a.first += r.first_run ? each : 0;
        a.trend += r.trend ? each : 0;
        a.modes += r.two_modes ? each : 0;
        a.outliers += r.outliers > 0 ? each : 0;
    }
    return a;
}

static void false_alarms(void **state)
{
    (void)state;
    for (size_t d = 0; d < COUNT(distributions); d++) {
        struct alarms most = {0, 0, 0, 0};
        double trends = 0;

        for (size_t n = 5; n <= 30; n++) {
            struct alarms a =
                count_alarms(distributions[d].draw, n, n <= 12 ? 1000 : 400);
            most.first = fmax(most.first, a.first);
            most.trend = fmax(most.trend, a.trend);
            trends += a.trend;
            most.modes = fmax(most.modes, a.modes);
            most.outliers = fmax(most.outliers, a.outliers);
        }
        print_message("# %-15s wrong at most: first %.1f, trend %.1f, "
                      "modes %.1f, outliers %.1f %%\n",
                      distributions[d].name, most.first, most.trend, most.modes,
                      most.outliers);
        /* 5 % look like up to 8 % in the worst of 26 small samples. */
        assert_true(most.trend <= 8 && trends <= 5 * 26);
        if (distributions[d].may_be_wrong)
            continue;
        assert_true(most.first <= 5);
        assert_true(most.modes <= 3);
        assert_true(most.outliers <= 5);
    }
}

enum disease { SLOW_FIRST, DRIFT, MODES_8, MODES_12, SICKNESSES };

/* % of the repeats with that disease in which its test says so; the normal
 * spread is 3 %. */
static double found(enum disease disease, size_t n, int tries)
{
    struct source source = {.seed = 77 + n};
    double rate[MOST];
    int count = 0;

    for (int t = 0; t < tries; t++) {
        struct repeats r;
        for (size_t i = 0; i < n; i++) {
            double x = 0.03 * normal(&source);
            if (disease == SLOW_FIRST)
                x += i == 0 ? -0.3 : 0;
            else if (disease == DRIFT)
                x += -0.15 * (double)i / (double)(n - 1);
            else
                x += (i & 1 ? 0.03 : 0) * (disease == MODES_8 ? 8 : 12);
            rate[i] = 100 * exp(x);
        }
        r = of(rate, n, NULL);
        count += disease == SLOW_FIRST ? r.first_run
                 : disease == DRIFT    ? r.trend
                                       : r.two_modes;
    }
    return 100.0 * count / tries;
}

static void detection(void **state)
{
    static const struct {
        size_t n;
        double least[SICKNESSES];
    } cases[] = {
        {6, {80, 55, 35, 75}},
        {10, {90, 85, 70, 97}},
        {15, {95, 95, 93, 99}},
        {30, {95, 98, 99, 99}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        double got[SICKNESSES];

        for (int d = 0; d < SICKNESSES; d++)
            got[d] = found((enum disease)d, cases[i].n, 300);
        print_message("# n %2zu found: first -26 %% %.0f, drift -14 %% %.0f, "
                      "modes 8 s %.0f, 12 s %.0f %%\n",
                      cases[i].n, got[0], got[1], got[2], got[3]);
        for (int d = 0; d < SICKNESSES; d++)
            assert_true(got[d] >= cases[i].least[d]);
    }
}

static void coverage(void **state)
{
    static const size_t sizes[] = {2, 3, 5, 6, 10, 15, 20};
    enum { TRIES = 5000 };

    (void)state;
    for (size_t d = 0; d < COUNT(distributions); d++)
        for (size_t s = 0; s < COUNT(sizes); s++) {
            struct source source = {.seed = 10 * d + s};
            double rate[MOST], median, nominal = 0;
            int held = 0;

            median = distributions[d].draw == rounded ? 200 : 100;
            for (int t = 0; t < TRIES; t++) {
                for (size_t i = 0; i < sizes[s]; i++)
                    rate[i] = distributions[d].draw(&source);
                struct repeats r = of(rate, sizes[s], NULL);
                held += r.low <= median && median <= r.high;
                nominal = r.confidence_pct;
            }
            if (!(100.0 * held / TRIES >= nominal - 1))
                fail_msg("%s, n %zu: %.2f %% for %.2f", distributions[d].name,
                         sizes[s], 100.0 * held / TRIES, nominal);
        }
}

/* ---- many repeats, stopping, jobs */

/* Not all pairs, no exact distribution: linear in n, but for sorting. */
static void very_many(void **state)
{
    enum { N = 20000 };
    struct source source = {.seed = 3};
    double *rate = malloc(N * sizeof(*rate));
    struct repeats r;

    (void)state;
    assert_non_null(rate);
    for (size_t i = 0; i < N; i++)
        rate[i] = 100 * exp(0.05 * normal(&source));
    r = of(rate, N, NULL);
    assert_near(r.median, 100, 0.2);
    assert_near(r.cov_pct, 5, 0.1);
    assert_false(r.trend || r.two_modes || r.first_run);
    assert_near(r.confidence_pct, 95, 0.3);
    for (size_t i = 0; i < N; i++)
        rate[i] *= 1 - 0.1 * (double)i / N;
    r = of(rate, N, NULL);
    assert_true(r.trend);
    assert_near(r.trend_pct, -10, 0.5);
    free(rate);
}

static void decisions(void **state)
{
    static const struct {
        size_t n, left_out;
        double half_width;
        double target;
        size_t cap;
        int64_t spent, budget;
        enum repeats_stop expected;
    } cases[] = {
        {0, 0, NAN, 5, 30, 0, 0, REPEATS_GO_ON},
        {1, 0, NAN, 5, 30, 0, 0, REPEATS_GO_ON},
        {5, 0, 0.1, 5, 30, 0, 0, REPEATS_GO_ON}, /* no 95 % below 6 */
        {6, 0, 5, 5, 30, 0, 0, REPEATS_PRECISE},
        {6, 0, 5.1, 5, 30, 0, 0, REPEATS_GO_ON},
        {29, 0, 9, 5, 30, 0, 0, REPEATS_GO_ON},
        {30, 0, 9, 5, 30, 0, 0, REPEATS_CAP},
        {30, 0, 9, 5, 0, 0, 0, REPEATS_CAP}, /* 0: the default */
        {29, 0, 9, 5, 0, 0, 0, REPEATS_GO_ON},
        {30, 0, 4, 5, 30, 99, 9, REPEATS_PRECISE}, /* good news first */
        {4, 26, 1, 5, 30, 0, 0, REPEATS_CAP},      /* failures count, too */
        {0, 30, NAN, 5, 30, 0, 0, REPEATS_CAP},
        {3, 0, 1, 5, 3, 0, 0, REPEATS_CAP},
        {7, 0, 9, 5, 30, 9, 10, REPEATS_GO_ON},
        {7, 0, 9, 5, 30, 10, 10, REPEATS_BUDGET},
        {1, 0, NAN, 5, 30, 10, 10, REPEATS_BUDGET},
        {30, 0, 9, 5, 30, 10, 10, REPEATS_CAP},
        {7, 0, 9, 5, 30, INT64_MAX, 0, REPEATS_GO_ON}, /* 0: no budget */
        {7, 0, 0, NAN, 30, 0, 0, REPEATS_GO_ON},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct repeats so_far = {
            .n = cases[i].n,
            .left_out = cases[i].left_out,
            .is_95 = cases[i].n >= 6,
            .half_width_pct = cases[i].half_width,
        };
        enum repeats_stop got =
            repeats_decide(&so_far, cases[i].target, cases[i].cap,
                           cases[i].spent, cases[i].budget);
        if (got != cases[i].expected)
            fail_msg("case %zu: '%s'", i, repeats_stop_name(got));
    }
    assert_string_equal(repeats_stop_name(REPEATS_PRECISE), "precise");
    assert_string_equal(repeats_stop_name(REPEATS_CAP), "cap");
    assert_string_equal(repeats_stop_name(REPEATS_BUDGET), "time budget");
    assert_string_equal(repeats_stop_name(REPEATS_GO_ON), "");
}

static void jobs_by_hand(void **state)
{
    /* Logs 0 and 2, 4 and 6 in units of u: within 2 u^2, between means
     * (1, 5) 16 u^2 (two each): (16 - 2) / 2 = 7 u^2. */
    const double u = 0.01;
    const double rate[] = {100, 100 * exp(4 * u), NAN, 100 * exp(2 * u),
                           100 * exp(6 * u)};
    const double bytes[] = {600, 900, 1, 300, 900};
    const double seconds[] = {6, 9, 1, 3, 3};
    const int64_t job[] = {42, -7, 8, 42, -7};
    struct repeats_input in = {rate, bytes, seconds, 5};
    struct repeats_jobs j;

    (void)state;
    assert_true(repeats_summarise_jobs(&in, job, &j));
    assert_int_equal(j.means.n, 2);
    assert_int_equal(j.means.left_out, 0);
    assert_int_equal(j.left_out, 1);
    assert_near(j.means.low, 100, 0);  /* 900 / 9 */
    assert_near(j.means.high, 150, 0); /* 1800 / 12 */
    assert_near(j.means.mean_rate, 2700 / 21.0, 1e-12);
    assert_near(j.within_pct, 100 * u * sqrt(2), 1e-9);
    assert_near(j.between_pct, 100 * u * sqrt(7), 1e-9);
}

static void jobs_with_little(void **state)
{
    const double rate[] = {100, 200, 300}, ones[] = {1, 1, 1};
    const int64_t same[] = {1, 1, 1}, each[] = {1, 2, 3};
    struct repeats_input in = {rate, ones, ones, 3};
    struct repeats_jobs j;

    (void)state;
    assert_true(repeats_summarise_jobs(&in, same, &j));
    assert_int_equal(j.means.n, 1);
    assert_true(j.within_pct > 0 && isnan(j.between_pct));
    assert_true(repeats_summarise_jobs(&in, each, &j));
    assert_int_equal(j.means.n, 3);
    assert_true(isnan(j.within_pct) && isnan(j.between_pct));
    in.n = 0;
    assert_true(repeats_summarise_jobs(&in, each, &j));
    assert_int_equal(j.means.n, 0);
    assert_true(isnan(j.means.median) && isnan(j.within_pct));
}

/* 6 jobs of 5 repeats, 2 % within and 10 % between: the interval of the jobs
 * holds, that of 30 values taken as independent does not. */
static void jobs_need_their_own_interval(void **state)
{
    enum { TRIES = 1000, JOBS = 6, EACH = 5, N = JOBS * EACH };
    struct source source = {.seed = 9};
    double rate[N], ones[N], within = 0, between = 0;
    int64_t job[N];
    int held = 0, naive = 0;

    (void)state;
    for (int t = 0; t < TRIES; t++) {
        double shift = 0;
        for (int i = 0; i < N; i++) {
            if (i % EACH == 0)
                shift = 0.1 * normal(&source);
            rate[i] = 100 * exp(shift + 0.02 * normal(&source));
            ones[i] = 1 / rate[i]; /* seconds of a byte */
            job[i] = i / EACH;
        }
        double bytes[N];
        for (int i = 0; i < N; i++)
            bytes[i] = 1;
        struct repeats_input in = {rate, bytes, ones, N};
        struct repeats_jobs j;
        assert_true(repeats_summarise_jobs(&in, job, &j));
        held += j.means.low <= 100 && 100 <= j.means.high;
        within += j.within_pct * j.within_pct / TRIES;
        between += j.between_pct * j.between_pct / TRIES;
        struct repeats r = of(rate, N, NULL);
        naive += r.low <= 100 && 100 <= r.high;
    }
    assert_true(held >= TRIES * 0.9587);
    assert_true(naive < TRIES * 0.8);
    assert_near(sqrt(within), 2, 0.1);
    assert_near(sqrt(between), 10, 0.4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(intervals),
        cmocka_unit_test(none_or_one),
        cmocka_unit_test(no_time_has_no_mean),
        cmocka_unit_test(first_runs),
        cmocka_unit_test(outliers),
        cmocka_unit_test(modes),
        cmocka_unit_test(modes_are_no_tails),
        cmocka_unit_test(trends),
        cmocka_unit_test(exact_p_of_trends),
        cmocka_unit_test(all_orders),
        cmocka_unit_test(false_alarms),
        cmocka_unit_test(detection),
        cmocka_unit_test(coverage),
        cmocka_unit_test(very_many),
        cmocka_unit_test(decisions),
        cmocka_unit_test(jobs_by_hand),
        cmocka_unit_test(jobs_with_little),
        cmocka_unit_test(jobs_need_their_own_interval),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("repeats", tests, NULL, NULL);
}
