/* SPDX-License-Identifier: BSD-3-Clause */
/* Intervals of the median: tables, the binomial in whole numbers, and how
 * often they hold the median of simulated values. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/interval.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void assert_near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%.9g is not %.9g", got, expected);
}

static void table(void **state)
{
    static const struct {
        size_t n;
        double wanted;
        size_t low, high;
        double confidence, tolerance;
    } cases[] = {
        /* docs/method.md, to the digits given there */
        {3, 95, 1, 3, 75, 1e-9},
        {4, 95, 1, 4, 87.5, 1e-9},
        {5, 95, 1, 5, 93.75, 1e-9},
        {6, 95, 1, 6, 96.9, 0.05},
        {9, 95, 2, 8, 96.1, 0.05},
        {10, 95, 2, 9, 97.9, 0.05},
        {12, 95, 3, 10, 96.1, 0.05},
        {15, 95, 4, 12, 96.5, 0.05},
        {20, 95, 6, 15, 95.9, 0.05},
        {30, 95, 10, 21, 95.7, 0.05},
        /* other confidences; one that is had exactly, and a bit more */
        {8, 99, 1, 8, 99.21875, 1e-9},
        {7, 99, 1, 7, 98.4375, 1e-9},
        {8, 90, 2, 7, 92.96875, 1e-9},
        {6, 96.875, 1, 6, 96.875, 1e-9},
        {9, 96.09375, 2, 8, 96.09375, 1e-9},
        {9, 96.1, 1, 9, 99.609375, 1e-9},
        {2, 95, 1, 2, 50, 1e-9},
        {2, 0, 1, 2, 50, 1e-9},
        /* no less than the whole range, no more than its confidence */
        {20, 100, 1, 20, 99.9998, 1e-4},
        {20, NAN, 1, 20, 99.9998, 1e-4},
        /* nothing to enclose a median with */
        {0, 95, 0, 0, NAN, 0},
        {1, 95, 0, 0, NAN, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct interval got;

        interval_median(cases[i].n, cases[i].wanted, &got);
        if (got.low != cases[i].low || got.high != cases[i].high)
            fail_msg("case %zu: [%zu, %zu]", i, got.low, got.high);
        if (isnan(cases[i].confidence))
            assert_true(isnan(got.confidence_pct));
        else
            assert_near(got.confidence_pct, cases[i].confidence,
                        cases[i].tolerance);
    }
}

/* Up to n = 60, 2^n and all that is summed are whole numbers of 64 bits. */
static void is_the_binomial(void **state)
{
    static const double wanted[] = {50, 80, 90, 95, 99};

    (void)state;
    for (size_t n = 2; n <= 60; n++)
        for (size_t w = 0; w < COUNT(wanted); w++) {
            uint64_t ways = 1, below = 0, enough = 0;
            size_t k = 0;
            struct interval got;

            for (size_t j = 0; j < n / 2; j++) {
                below += ways;
                ways = (uint64_t)((unsigned __int128)ways * (n - j) / (j + 1));
                double share = ldexp((double)below, 1 - (int)n);
                if (j > 0 && 100 * (1 - share) < wanted[w])
                    break;
                k = j + 1;
                enough = below;
            }
            interval_median(n, wanted[w], &got);
            assert_int_equal(got.low, k);
            assert_int_equal(got.high, n + 1 - k);
            assert_near(got.confidence_pct,
                        100 * (1 - ldexp((double)enough, 1 - (int)n)), 1e-9);
        }
}

/* From whole numbers of any size; 2^-n is 0 as a double from n = 1075 on. */
static void many_values(void **state)
{
    static const struct {
        size_t n, low;
        double confidence;
    } cases[] = {
        {100, 40, 96.4799799782},     {500, 228, 95.5936530421},
        {1000, 469, 95.3708802640},   {1075, 505, 95.5933520620},
        {1100, 518, 95.0032948054},   {3000, 1446, 95.3433550618},
        {20000, 9861, 95.1487538404},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct interval got;

        interval_median(cases[i].n, 95, &got);
        assert_int_equal(got.low, cases[i].low);
        assert_int_equal(got.high, cases[i].n + 1 - cases[i].low);
        assert_near(got.confidence_pct, cases[i].confidence, 1e-8);
    }
}

/* ---- simulation: all distributions have the median 0 */

static double uniform(uint64_t seed, uint64_t *counter)
{
    return ((double)(rng_at(seed, (*counter)++) >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t seed, uint64_t *counter)
{
    double radius = sqrt(-2 * log(uniform(seed, counter)));

    return radius * cos(2 * M_PI * uniform(seed, counter));
}

static double lognormal(uint64_t seed, uint64_t *counter)
{
    return expm1(normal(seed, counter));
}

static double cauchy(uint64_t seed, uint64_t *counter)
{
    return tan(M_PI * (uniform(seed, counter) - 0.5));
}

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void coverage(void **state)
{
    static const struct {
        const char *name;
        double (*draw)(uint64_t, uint64_t *);
    } from[] = {
        {"normal", normal},
        {"lognormal", lognormal},
        {"cauchy", cauchy},
    };
    static const size_t sizes[] = {3, 4, 5, 6, 7, 9, 10, 12, 15, 20, 30};
    enum { TRIES = 10000 };

    (void)state;
    for (size_t d = 0; d < COUNT(from); d++)
        for (size_t s = 0; s < COUNT(sizes); s++) {
            size_t n = sizes[s], held = 0;
            uint64_t counter = 0;
            struct interval ranks;

            interval_median(n, 95, &ranks);
            for (size_t t = 0; t < TRIES; t++) {
                double x[30];
                for (size_t i = 0; i < n; i++)
                    x[i] = from[d].draw(100 * d + n, &counter);
                qsort(x, n, sizeof(x[0]), compare_double);
                held += x[ranks.low - 1] <= 0 && 0 <= x[ranks.high - 1];
            }
            /* Exact: nor is it more. */
            double pct = 100.0 * (double)held / TRIES;
            if (!(fabs(pct - ranks.confidence_pct) <= 1))
                fail_msg("%s, n %zu: %.2f %% for %.2f", from[d].name, n, pct,
                         ranks.confidence_pct);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),
        cmocka_unit_test(is_the_binomial),
        cmocka_unit_test(many_values),
        cmocka_unit_test(coverage),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("interval", tests, NULL, NULL);
}
