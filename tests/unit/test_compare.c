/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparison of two sets: tables, all ways to deal few values into two sets,
 * verdicts on cases, and simulation of coverage and wrong verdicts. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/compare.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MOST     64

static void assert_near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%.9g is not %.9g", got, expected);
}

static struct compare_result compare(const double *a, size_t m, const double *b,
                                     size_t n)
{
    struct compare_result out;

    memset(&out, 0x55, sizeof(out));
    assert_true(compare_sets(a, m, b, n, 3, 95, &out));
    return out;
}

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

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* ---- interval and p */

static void table_of_k(void **state)
{
    static const struct {
        size_t m, n;
        double wanted;
        size_t k;
        double confidence, tolerance;
    } cases[] = {
        /* docs/method.md */
        {4, 4, 95, 1, 97.1, 0.05},
        {5, 5, 95, 3, 100 * (1 - 8 / 252.0), 1e-9},
        {6, 6, 95, 6, 100 * (1 - 38 / 924.0), 1e-9},
        {8, 8, 95, 14, 95.0, 0.2},
        {10, 10, 95, 24, 95.7, 0.05},
        /* the widest there is, with the confidence that it has */
        {3, 3, 95, 1, 90, 1e-9},
        {2, 2, 95, 1, 100 * (1 - 2 / 6.0), 1e-9},
        {1, 2, 95, 1, 100 * (1 - 2 / 3.0), 1e-9},
        {2, 1, 95, 1, 100 * (1 - 2 / 3.0), 1e-9},
        {1, 1, 95, 1, 0, 1e-9},
        /* sizes that differ; other confidences */
        {3, 5, 95, 1, 100 * (1 - 2 / 56.0), 1e-9},
        {5, 3, 95, 1, 100 * (1 - 2 / 56.0), 1e-9},
        {3, 3, 90, 1, 90, 1e-9},
        {4, 4, 99, 1, 100 * (1 - 2 / 70.0), 1e-9},
        {5, 5, 99, 1, 100 * (1 - 2 / 252.0), 1e-9},
        /* whole-number counts, and one step beyond the exact range */
        {20, 20, 95, 128, 95.0909674811, 1e-9},
        {50, 50, 95, 966, 95.0452276401, 1e-9},
        {51, 51, 95, 1008, 95.0407688496, 0.05},
        {60, 60, 95, 1427, 95.0293027493, 0.05},
        {40, 63, 95, 970, 95.0981311865, 0.05}, /* exact: 971 */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        double a[MOST], b[MOST];
        struct compare_result r;

        for (size_t j = 0; j < MOST; j++) {
            a[j] = 100 + (double)(j * 7 % MOST);
            b[j] = 100.5 + (double)(j * 11 % MOST);
        }
        assert_true(
            compare_sets(a, cases[i].m, b, cases[i].n, 3, cases[i].wanted, &r));
        if (r.k != cases[i].k)
            fail_msg("case %zu: k %zu, %.4f %%", i, r.k, r.confidence_pct);
        assert_near(r.confidence_pct, cases[i].confidence, cases[i].tolerance);
    }
}

/* Ratios in order, by sorting all of them. */
static void ratios_in_order(void **state)
{
    static const size_t sizes[][2] = {{1, 1}, {1, 2}, {2, 2}, {3, 3},
                                      {4, 5}, {7, 4}, {6, 6}, {9, 12}};
    struct source source = {.seed = 1};

    (void)state;
    for (size_t i = 0; i < 10 * COUNT(sizes); i++) {
        double a[16], b[16], ratio[256], middle;
        size_t m = sizes[i % COUNT(sizes)][0], n = sizes[i % COUNT(sizes)][1];
        size_t count = 0;
        struct compare_result r;

        /* Every other time with ties within and between the sets. */
        for (size_t j = 0; j < 16; j++) {
            a[j] = 100 + 20 * normal(&source);
            b[j] = 110 + 20 * normal(&source);
            if (i % 2) {
                a[j] = 10 * round(a[j] / 10);
                b[j] = 10 * round(b[j] / 10);
            }
        }
        for (size_t j = 0; j < m; j++)
            for (size_t k = 0; k < n; k++)
                ratio[count++] = b[k] / a[j];
        qsort(ratio, count, sizeof(ratio[0]), compare_double);
        middle = sqrt(ratio[(count - 1) / 2] * ratio[count / 2]);
        r = compare(a, m, b, n);
        assert_near(r.ratio, middle, 1e-12);
        if (count == 1) {
            assert_true(isnan(r.low) && isnan(r.high));
            continue;
        }
        assert_near(r.low, ratio[r.k - 1], 0);
        assert_near(r.high, ratio[count - r.k], 0);

        /* The other way round it is the inverse. */
        struct compare_result inverse = compare(b, n, a, m);
        assert_near(inverse.ratio * r.ratio, 1, 1e-12);
        assert_near(inverse.low * r.high, 1, 1e-12);
        assert_near(inverse.p, r.p, 1e-12);
        assert_int_equal(inverse.k, r.k);
    }
}

/* Pairs in which b is larger; an equal pair is half of one. */
static double pairs_won(const double *all, size_t total, unsigned of_b)
{
    double won = 0;

    for (size_t i = 0; i < total; i++)
        for (size_t j = 0; j < total; j++)
            if ((of_b >> i & 1) && !(of_b >> j & 1))
                won += all[i] > all[j] ? 1 : all[i] == all[j] ? 0.5 : 0;
    return won;
}

/* p: the share of all ways to deal the values that lie as far out, twice. */
static void p_of_all_deals(void **state)
{
    static const struct {
        double all[10];
        size_t total, n; /* n of them are b */
    } cases[] = {
        {{1, 2, 3, 4, 5, 6, 7, 8}, 8, 4},
        {{1, 2, 3, 4, 5, 6, 7, 8}, 8, 3},
        {{1, 1, 2, 2, 2, 3, 4, 4}, 8, 4},
        {{1, 1, 1, 1, 1, 1, 2}, 7, 2},
        {{5, 5, 5, 5, 5, 5}, 6, 3},
        {{1, 2, 2, 3, 3, 3, 4, 5, 6, 6}, 10, 5},
        {{1, 2}, 2, 1},
        {{1, 1, 3}, 3, 1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const double *all = cases[i].all;
        size_t total = cases[i].total;

        for (unsigned deal = 0; deal < 1u << total; deal++) {
            double a[10], b[10], won, below = 0, above = 0, ways = 0;
            size_t m = 0, n = 0;

            if ((size_t)__builtin_popcount(deal) != cases[i].n)
                continue;
            for (size_t j = 0; j < total; j++)
                if (deal >> j & 1)
                    b[n++] = all[j];
                else
                    a[m++] = all[j];
            won = pairs_won(all, total, deal);
            for (unsigned other = 0; other < 1u << total; other++) {
                if ((size_t)__builtin_popcount(other) != cases[i].n)
                    continue;
                double there = pairs_won(all, total, other);
                below += there <= won;
                above += there >= won;
                ways++;
            }
            assert_near(compare(a, m, b, n).p,
                        fmin(1, 2 * fmin(below, above) / ways), 1e-12);
        }
    }
}

/* p <= 5 % if and only if the interval leaves out 1, without ties. */
static void p_and_interval_agree(void **state)
{
    struct source source = {.seed = 2};
    int significant = 0;

    (void)state;
    for (int t = 0; t < 400; t++) {
        double a[12], b[12];
        size_t m = 3 + (size_t)t % 10, n = 3 + (size_t)t / 10 % 10;
        struct compare_result r;

        for (size_t j = 0; j < 12; j++) {
            a[j] = exp(0.1 * normal(&source));
            b[j] = exp(0.1 * normal(&source) + 0.1);
        }
        r = compare(a, m, b, n);
        if (r.confidence_pct < 95)
            continue;
        assert_int_equal(r.p <= 0.05 + 1e-12, r.low > 1 || r.high < 1);
        significant += r.p <= 0.05;
    }
    assert_in_range(significant, 50, 350);
}

/* On both sides of COMPARE_EXACT_MAX. */
static void p_goes_on_beyond_exact(void **state)
{
    struct source source = {.seed = 4};

    (void)state;
    for (int t = 0; t < 12; t++) {
        double a[51], b[51], step = t < 6 ? 0 : 0.1;
        struct compare_result exact, beyond;

        for (size_t j = 0; j < 51; j++) {
            a[j] = exp(0.1 * normal(&source));
            b[j] = exp(0.1 * normal(&source) + 0.01 * (t % 6));
            if (step > 0) { /* most values have equals */
                a[j] = round(a[j] / step) * step;
                b[j] = round(b[j] / step) * step;
            }
        }
        /* One more, as undecided as can be, changes p a little. */
        qsort(a, 50, sizeof(a[0]), compare_double);
        a[50] = a[25];
        exact = compare(a, 50, b, 50);
        beyond = compare(a, 51, b, 50);
        assert_near(beyond.p, exact.p, 0.05 * exact.p + 0.02);
        assert_near(beyond.low, exact.low, 0.01);
        assert_near(beyond.high, exact.high, 0.01);
    }
}

/* 40 and 25 of 60 are low, the others high: U = 2250 of 3600, variance
 * 300 (121 - (65^3 - 65 + 55^3 - 55) / (120 119)) = 27037.8. */
static void normal_p_with_ties(void **state)
{
    double a[60], b[60];

    (void)state;
    for (size_t i = 0; i < 60; i++) {
        a[i] = i < 40 ? 100 : 110;
        b[i] = i < 25 ? 100 : 110;
    }
    assert_near(compare(a, 60, b, 60).p, erfc(449.5 / sqrt(2 * 27037.8)), 1e-7);
    assert_near(compare(b, 60, a, 60).p, erfc(449.5 / sqrt(2 * 27037.8)), 1e-7);
    for (size_t i = 0; i < 60; i++)
        a[i] = b[i] = 100;
    assert_near(compare(a, 60, b, 60).p, 1, 0);
    assert_int_equal(compare(a, 60, b, 60).verdict, COMPARE_SAME);
}

/* ---- verdicts */

static void verdicts(void **state)
{
    static const struct {
        double a[8], b[8];
        size_t m, n;
        enum compare_verdict verdict;
        size_t least, most; /* needed_n */
    } cases[] = {
        {{100, 101, 99, 100.5},
         {110, 111, 109, 110.5},
         4,
         4,
         COMPARE_FASTER,
         0,
         0},
        {{110, 111, 109, 110.5},
         {100, 101, 99, 100.5},
         4,
         4,
         COMPARE_SLOWER,
         0,
         0},
        {{100, 101, 99, 100.5},
         {100.1, 101.1, 99.1, 100.6},
         4,
         4,
         COMPARE_SAME,
         0,
         0},
        {{100, 100.1, 99.9, 100.2},
         {101, 101.1, 100.9, 101.2},
         4,
         4,
         COMPARE_CHANGED_SMALL,
         0,
         0},
        {{101, 101.1, 100.9, 101.2},
         {100, 100.1, 99.9, 100.2},
         4,
         4,
         COMPARE_CHANGED_SMALL,
         0,
         0},
        {{100, 100, 100, 100}, {100, 100, 100, 100}, 4, 4, COMPARE_SAME, 0, 0},
        /* 3 and 3 cannot be enough, whatever they are */
        {{100, 100, 100}, {200, 200, 200}, 3, 3, COMPARE_INCONCLUSIVE, 4, 4},
        {{100, 100, 100}, {100, 100, 100}, 3, 3, COMPARE_INCONCLUSIVE, 4, 4},
        {{100}, {200}, 1, 1, COMPARE_INCONCLUSIVE, 4, 4},
        {{100},
         {200, 210, 220, 190, 180, 205},
         1,
         6,
         COMPARE_INCONCLUSIVE,
         4,
         4},
        {{0}, {200}, 0, 1, COMPARE_INCONCLUSIVE, 4, 4},
        {{0}, {0}, 0, 0, COMPARE_INCONCLUSIVE, 4, 4},
        {{0, NAN, -1, INFINITY},
         {1, 2, 3, 4},
         4,
         4,
         COMPARE_INCONCLUSIVE,
         4,
         4},
        /* wide: 10 % of spread, no change */
        {{90, 100, 110, 95, 105},
         {91, 101, 111, 96, 106},
         5,
         5,
         COMPARE_INCONCLUSIVE,
         50,
         900},
        /* changed for sure, but perhaps by more than the margin */
        {{100, 102, 101, 103},
         {104, 105, 104.5, 103.5},
         4,
         4,
         COMPARE_INCONCLUSIVE,
         5,
         200},
        /* 10 % more, but the sets overlap */
        {{90, 100, 110, 95, 105},
         {99, 110, 121, 104, 115},
         5,
         5,
         COMPARE_INCONCLUSIVE,
         6,
         20},
        /* what is not complete is left out */
        {{100, NAN, 101, 99, 0, 100.5},
         {110, 111, NAN, 109, 110.5},
         6,
         5,
         COMPARE_FASTER,
         0,
         0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct compare_result r =
            compare(cases[i].a, cases[i].m, cases[i].b, cases[i].n);
        if (r.verdict != cases[i].verdict)
            fail_msg("case %zu: %s, %g [%g, %g]", i,
                     compare_verdict_name(r.verdict), r.ratio, r.low, r.high);
        if (r.needed_n < cases[i].least || r.needed_n > cases[i].most)
            fail_msg("case %zu: needs %zu", i, r.needed_n);
    }
    struct compare_result none = compare(NULL, 0, NULL, 0);
    assert_true(isnan(none.ratio) && isnan(none.low) && isnan(none.p));
    assert_true(isnan(none.confidence_pct) && isnan(none.p_family));
    assert_int_equal(none.k, 0);
    assert_int_equal(compare(cases[16].a, 6, cases[16].b, 5).m, 4);
    assert_int_equal(compare(cases[16].a, 6, cases[16].b, 5).n, 4);
}

static void margins(void **state)
{
    static const struct {
        double shift, margin;
        enum compare_verdict verdict;
    } cases[] = {
        {1.02, 3, COMPARE_CHANGED_SMALL},
        {1.02, 1, COMPARE_FASTER},
        {1 / 1.02, 1, COMPARE_SLOWER},
        {1.02, 0, COMPARE_FASTER},
        {1.2, 25, COMPARE_CHANGED_SMALL},
        {1, 0, COMPARE_INCONCLUSIVE}, /* never within nothing */
        {1, 1, COMPARE_SAME},
    };
    const double a[] = {100, 100.1, 100.2, 100.3, 100.4};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        double b[5];
        struct compare_result r;

        for (size_t j = 0; j < 5; j++)
            b[j] = cases[i].shift * a[j];
        assert_true(compare_sets(a, 5, b, 5, cases[i].margin, 95, &r));
        if (r.verdict != cases[i].verdict)
            fail_msg("case %zu: %s", i, compare_verdict_name(r.verdict));
        if (cases[i].shift == 1 && cases[i].margin == 0)
            assert_int_equal(r.needed_n, COMPARE_NEEDED_MAX);
    }
}

static void bad_arguments(void **state)
{
    static const struct {
        double margin, confidence;
        bool ok;
    } cases[] = {
        {3, 95, true},    {0, 95, true},         {-1, 95, false},
        {NAN, 95, false}, {INFINITY, 95, false}, {3, 0, false},
        {3, 100, false},  {3, -5, false},        {3, NAN, false},
        {3, 99.9, true},  {3, 1, true},
    };
    const double a[] = {1, 2, 3, 4, 5}, b[] = {2, 3, 4, 5, 6};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct compare_result r;

        memset(&r, 0x55, sizeof(r));
        if (compare_sets(a, 5, b, 5, cases[i].margin, cases[i].confidence,
                         &r) != cases[i].ok)
            fail_msg("case %zu", i);
        if (!cases[i].ok)
            assert_true(isnan(r.ratio) && r.verdict == COMPARE_INCONCLUSIVE);
    }
}

/* With the rates in any unit, and far apart. */
static void any_scale(void **state)
{
    double a[] = {1e-300, 1.1e-300, 0.9e-300, 1.05e-300};
    double b[] = {1e300, 1.1e300, 0.9e300, 1.05e300};
    struct compare_result r = compare(a, 4, b, 4);

    (void)state;
    assert_int_equal(r.verdict, COMPARE_FASTER);
    assert_true(r.ratio > 1e300);
    r = compare(b, 4, a, 4);
    assert_int_equal(r.verdict, COMPARE_SLOWER);
    for (int i = 0; i < 4; i++) {
        a[i] = (i + 4) * 1e12;
        b[i] = (i + 4) * 2.5e12;
    }
    r = compare(a, 4, b, 4);
    assert_near(r.ratio, 2.5, 0.1);
}

static void least_n(void **state)
{
    static const struct {
        double confidence;
        size_t points, n;
    } cases[] = {
        {95, 1, 4}, /* 2/70; 3 and 3 only 2/20 */
        {95, 0, 4},
        {90, 1, 3},   /* 2/20, exactly */
        {99, 1, 5},   /* 2/252 */
        {95, 10, 6},  /* 0.005: 2/252 is more, 2/924 less */
        {95, 100, 8}, /* 0.0005: 2/3432 is more, 2/12870 less */
        {50, 1, 2},
        {100, 1, COMPARE_NEEDED_MAX}, /* never */
        {NAN, 1, COMPARE_NEEDED_MAX},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t got = compare_least_n(cases[i].confidence, cases[i].points);
        if (got != cases[i].n)
            fail_msg("case %zu: %zu", i, got);
    }
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(compare_verdict_name(COMPARE_FASTER), "faster");
    assert_string_equal(compare_verdict_name(COMPARE_SLOWER), "slower");
    assert_string_equal(compare_verdict_name(COMPARE_SAME), "same");
    assert_string_equal(compare_verdict_name(COMPARE_CHANGED_SMALL),
                        "changed but small");
    assert_string_equal(compare_verdict_name(COMPARE_INCONCLUSIVE),
                        "inconclusive");
}

/* ---- many points */

static void holm(void **state)
{
    static const struct {
        double p[5];
        size_t n;
        double adjusted[5];
    } cases[] = {
        {{0.01, 0.04, 0.03, 0.005}, 4, {0.03, 0.06, 0.06, 0.02}},
        {{0.01}, 1, {0.01}},
        {{0.6, 0.7}, 2, {1, 1}},
        {{0.02, 0.02, 0.02}, 3, {0.06, 0.06, 0.06}},
        {{0.02, NAN, 0.01}, 3, {0.02, NAN, 0.02}},
        {{NAN, NAN}, 2, {NAN, NAN}},
        {{0, 1, 0.5}, 3, {0, 1, 1}},
        {{0}, 0, {0}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        double got[5];

        compare_holm(cases[i].p, cases[i].n, got);
        for (size_t k = 0; k < cases[i].n; k++)
            if (isnan(cases[i].adjusted[k]))
                assert_true(isnan(got[k]));
            else
                assert_near(got[k], cases[i].adjusted[k], 1e-15);
    }
}

static void families(void **state)
{
    const double a[] = {100, 101, 99, 100.5, 99.5, 100.2, 100.7};
    struct compare_result r[12];
    double b[7];

    (void)state;
    /* 4 and 4, p 2/70: alone it is enough, with another it is not. */
    for (size_t i = 0; i < 7; i++)
        b[i] = 1.2 * a[i];
    r[0] = compare(a, 4, b, 4);
    assert_true(compare_family(r, 1));
    assert_int_equal(r[0].verdict, COMPARE_FASTER);
    assert_near(r[0].p_family, 2 / 70.0, 1e-12);
    r[1] = compare(a, 4, a, 4);
    assert_true(compare_family(r, 2));
    assert_int_equal(r[0].verdict, COMPARE_INCONCLUSIVE);
    assert_near(r[0].p_family, 4 / 70.0, 1e-12);
    assert_near(r[0].p, 2 / 70.0, 1e-12);
    assert_int_equal(r[0].needed_n, 5); /* 2/252 */
    assert_int_equal(r[1].verdict, COMPARE_SAME);

    /* 7 and 7, p 2/3432: enough for 12; what is no test does not count. */
    for (size_t i = 0; i < 12; i++)
        r[i] = i == 3 ? compare(a, 7, b, 7) : compare(a, 7, a, 7);
    r[5] = compare(a, 0, a, 7);
    assert_true(compare_family(r, 12));
    assert_int_equal(r[3].verdict, COMPARE_FASTER);
    assert_near(r[3].p_family, 11 * 2 / 3432.0, 1e-12);
    assert_true(isnan(r[5].p_family));

    /* Of 12 tests, 6 and 6 (2/924) are the fewest that can be enough. */
    for (size_t i = 0; i < 12; i++)
        r[i] = i == 3 ? compare(a, 4, b, 4) : compare(a, 7, a, 7);
    assert_true(compare_family(r, 12));
    assert_int_equal(r[3].verdict, COMPARE_INCONCLUSIVE);
    assert_int_equal(r[3].needed_n, 6);
    assert_true(compare_family(NULL, 0));
}

static void geometric_mean(void **state)
{
    static const double ratios[] = {2, 0.5, NAN, 4, 0, INFINITY, -1};

    (void)state;
    assert_near(compare_geomean(ratios, 2), 1, 1e-15);
    assert_near(compare_geomean(ratios, 7), cbrt(4), 1e-12);
    assert_true(isnan(compare_geomean(ratios + 2, 1)));
    assert_true(isnan(compare_geomean(NULL, 0)));
}

/* ---- simulation */

static double draw_normal(struct source *s)
{
    return 100 + 10 * normal(s);
}

static double draw_lognormal(struct source *s)
{
    return 100 * exp(0.5 * normal(s));
}

/* Student's t with 2 degrees of freedom: no variance. */
static double draw_heavy(struct source *s)
{
    double z = normal(s);

    return 100 * exp(0.05 * z / sqrt(-log(uniform(s))));
}

static double draw_rounded(struct source *s)
{
    return round(draw_normal(s) / 5) * 5;
}

static const struct {
    const char *name;
    double (*draw)(struct source *);
} distributions[] = {
    {"normal", draw_normal},
    {"lognormal", draw_lognormal},
    {"t2", draw_heavy},
    {"normal, rounded", draw_rounded},
};

static void coverage(void **state)
{
    static const struct {
        size_t m, n;
        int tries;
    } sizes[] = {
        {3, 3, 3000}, {4, 4, 3000}, {5, 5, 3000},   {3, 6, 3000},
        {6, 6, 3000}, {8, 8, 3000}, {10, 10, 2000}, {20, 20, 300},
    };

    (void)state;
    for (size_t d = 0; d < COUNT(distributions); d++)
        for (size_t s = 0; s < COUNT(sizes); s++) {
            struct source source = {.seed = 10 * d + s};
            double nominal = 0, pct, a[20], b[20];
            int held = 0, wrong = 0, tries = sizes[s].tries;

            for (int t = 0; t < tries; t++) {
                for (size_t i = 0; i < sizes[s].m; i++)
                    a[i] = distributions[d].draw(&source);
                for (size_t i = 0; i < sizes[s].n; i++)
                    b[i] = 1.25 * distributions[d].draw(&source);
                struct compare_result r = compare(a, sizes[s].m, b, sizes[s].n);
                held += r.low <= 1.25 && 1.25 <= r.high;
                wrong +=
                    r.verdict == COMPARE_SLOWER || r.verdict == COMPARE_SAME;
                nominal = r.confidence_pct;
            }
            pct = 100.0 * held / tries;
            /* 300 tries know it to 1 % only. */
            if (!(pct >= nominal - (tries < 1000 ? 2 : 1)))
                fail_msg("%s, %zu and %zu: %.2f %% for %.2f",
                         distributions[d].name, sizes[s].m, sizes[s].n, pct,
                         nominal);
            if (sizes[s].m == 3 && sizes[s].n == 3)
                assert_int_equal(wrong, 0);
            assert_true(wrong <= 0.025 * tries);
        }
}

/* % of comparisons of sets whose true ratio is 'shift' with that verdict. */
static double share_of(enum compare_verdict verdict, double shift,
                       double spread, size_t n)
{
    enum { TRIES = 400 };
    struct source source = {.seed = n};
    double a[16], b[16];
    int count = 0;

    for (int t = 0; t < TRIES; t++) {
        for (size_t i = 0; i < n; i++) {
            a[i] = exp(spread * normal(&source));
            b[i] = shift * exp(spread * normal(&source));
        }
        count += compare(a, n, b, n).verdict == verdict;
    }
    return 100.0 * count / TRIES;
}

/* Wrong verdicts are rare; right ones come with few repeats. */
static void verdicts_by_simulation(void **state)
{
    static const size_t sizes[] = {4, 6, 10, 16};

    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        size_t n = sizes[i];
        double up = share_of(COMPARE_FASTER, 1, 0.05, n);
        double down = share_of(COMPARE_SLOWER, 1, 0.05, n);
        double missed = share_of(COMPARE_SAME, 1.03, 0.01, n);
        double same = share_of(COMPARE_SAME, 1, 0.01, n);
        double slower = share_of(COMPARE_SLOWER, 0.9, 0.05, n);

        print_message("# %2zu and %2zu: of no change 'faster' %.1f %%, "
                      "'slower' %.1f %%; of 3 %% 'same' %.1f %%\n"
                      "#   right: 'same' with 1 %% of spread %.0f %%, "
                      "10 %% 'slower' with 5 %% %.0f %%\n",
                      n, n, up, down, missed, same, slower);
        assert_true(up <= 5 && down <= 5 && missed <= 5);
        assert_true(same >= (n < 6 ? 60 : 90));
        assert_true(slower >= (n < 6 ? 40 : n < 10 ? 65 : 90));
    }
}

/* needed_n: with so many it is decided, mostly. */
static void needed_n_is_about_right(void **state)
{
    struct source source = {.seed = 8};
    double sum = 0, a[6], b[6];
    int open = 0;

    (void)state;
    for (int t = 0; t < 200; t++) {
        for (size_t i = 0; i < 6; i++) {
            a[i] = exp(0.1 * normal(&source));
            b[i] = 1.1 * exp(0.1 * normal(&source));
        }
        struct compare_result r = compare(a, 6, b, 6);
        if (r.verdict != COMPARE_INCONCLUSIVE) {
            assert_int_equal(r.needed_n, 0);
            continue;
        }
        assert_in_range(r.needed_n, 7, COMPARE_NEEDED_MAX);
        sum += log((double)r.needed_n);
        open++;
    }
    /* A t test of 10 % with 10 % of spread needs 17 for 80 %. */
    assert_in_range((int)exp(sum / open), 8, 60);
}

static void very_many(void **state)
{
    enum { N = 5000 };
    struct source source = {.seed = 5};
    double *a = malloc(2 * N * sizeof(*a));
    struct compare_result r;

    (void)state;
    assert_non_null(a);
    for (size_t i = 0; i < 2 * N; i++)
        a[i] = (i < N ? 1 : 1.01) * exp(0.1 * normal(&source));
    r = compare(a, N, a + N, N);
    assert_near(r.ratio, 1.01, 0.005);
    assert_near(r.high / r.low, 1 + 2 * 1.96 * 0.1 * sqrt(2.0 / N) * 1.023,
                0.001);
    assert_int_equal(r.verdict, COMPARE_CHANGED_SMALL);
    assert_true(r.p < 0.001);
    free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_of_k),
        cmocka_unit_test(ratios_in_order),
        cmocka_unit_test(p_of_all_deals),
        cmocka_unit_test(p_and_interval_agree),
        cmocka_unit_test(p_goes_on_beyond_exact),
        cmocka_unit_test(normal_p_with_ties),
        cmocka_unit_test(verdicts),
        cmocka_unit_test(margins),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(any_scale),
        cmocka_unit_test(least_n),
        cmocka_unit_test(names),
        cmocka_unit_test(holm),
        cmocka_unit_test(families),
        cmocka_unit_test(geometric_mean),
        cmocka_unit_test(coverage),
        cmocka_unit_test(verdicts_by_simulation),
        cmocka_unit_test(needed_n_is_about_right),
        cmocka_unit_test(very_many),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}
