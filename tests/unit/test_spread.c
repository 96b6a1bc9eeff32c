/* SPDX-License-Identifier: BSD-3-Clause */
/* How evenly the ranks did, against values worked out by hand. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/spread.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void assert_near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%.9g is not %.9g", got, expected);
}

static void medians(void **state)
{
    static const struct {
        double values[6];
        size_t n;
        double median;
    } cases[] = {
        {{3}, 1, 3},
        {{2, 1}, 2, 1.5},
        {{9, 1, 5}, 3, 5},
        {{4, 1, 3, 2}, 4, 2.5},
        {{-1, -1, 7, 100, -1}, 5, -1},
        {{1e308, 1.5e308}, 2, 1.25e308}, /* the sum would overflow */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        double values[6];
        memcpy(values, cases[i].values, sizeof(values));
        assert_near(spread_median(values, cases[i].n), cases[i].median, 0);
    }
    assert_true(isnan(spread_median(NULL, 0)));
}

static void by_hand(void **state)
{
    const double duration[] = {10, 10, 10, 20};
    const double rate[] = {2, 2, 2, 1};
    const int node[] = {0, 0, 1, 1};
    bool straggler[4];
    struct spread s;

    (void)state;
    assert_true(spread_compute(duration, rate, node, 4, 1, straggler, &s));
    assert_near(s.imbalance, 20 / 12.5 - 1, 1e-12);
    assert_near(s.cov, 0.5 / 1.75, 1e-12); /* variance 0.75 / 3 */
    assert_near(s.jain, 49.0 / (4 * 13), 1e-12);
    assert_near(s.min_rate, 1, 0);
    assert_near(s.max_rate, 2, 0);
    assert_int_equal(s.stragglers, 1);
    assert_true(straggler[3] && !straggler[0] && !straggler[1]);
    assert_true(isnan(s.node_eta2) && isnan(s.node_p)); /* two nodes */
}

static void one_rank_or_none(void **state)
{
    const double duration[] = {10}, rate[] = {5};
    const int node[] = {0};
    bool straggler[1] = {true};
    struct spread s;

    (void)state;
    assert_true(spread_compute(duration, rate, node, 1, 1, straggler, &s));
    assert_near(s.imbalance, 0, 0);
    assert_near(s.jain, 1, 1e-12);
    assert_true(isnan(s.cov));
    assert_false(straggler[0]);
    assert_true(spread_compute(NULL, NULL, NULL, 0, 1, NULL, &s));
    assert_true(isnan(s.imbalance) && isnan(s.jain) && isnan(s.min_rate));
    assert_int_equal(s.stragglers, 0);
}

/* Both rules must hold: beyond 3.5 scaled MAD, and 5 % above the median. */
static void stragglers_are_far_and_slow(void **state)
{
    static const struct {
        double last;  /* the others: 98 .. 102 */
        double width; /* times their distance from 100 */
        bool straggler;
    } cases[] = {
        {104, 0, false}, /* MAD 0, but below 5 % */
        {105, 0, false},   {105.1, 0, true},
        {106, 1, false}, /* median 100.5, MAD 1.5: limit 108.28 */
        {108.2, 1, false}, {108.4, 1, true},
        {182, 10, false}, /* median 105, MAD 15: limit 182.84 */
        {183, 10, true},   {50, 1, false}, /* fast is no straggler */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        double duration[8], rate[8];
        int node[8] = {0};
        bool flag[8];
        struct spread s;
        static const double base[] = {-2, -1, -1, 0, 1, 1, 2};
        for (size_t r = 0; r < 7; r++)
            duration[r] = 100 + cases[i].width * base[r];
        duration[7] = cases[i].last;
        for (size_t r = 0; r < 8; r++)
            rate[r] = 1 / duration[r];
        assert_true(spread_compute(duration, rate, node, 8, 1, flag, &s));
        if (flag[7] != cases[i].straggler)
            fail_msg("case %zu: %d", i, flag[7]);
        assert_int_equal(s.stragglers, cases[i].straggler);
    }
}

static void node_effect_by_hand(void **state)
{
    /* Means 1.5, 3.5, 5.5: between 16, within 1.5. */
    const double rate[] = {1, 2, 3, 4, 5, 6};
    const double duration[] = {1, 1, 1, 1, 1, 1};
    const int node[] = {0, 0, 1, 1, 2, 2};
    struct spread s;

    (void)state;
    assert_true(spread_compute(duration, rate, node, 6, 7, NULL, &s));
    assert_near(s.node_eta2, 16 / 17.5, 1e-12);
    /* 6 of the 90 ways to deal six into three pairs do as well. */
    assert_in_range((int)(s.node_p * 1000), 35, 105);
}

static void node_effect_needs_nodes(void **state)
{
    static const struct {
        int node[6];
        bool known;
    } cases[] = {
        {{0, 0, 1, 1, 2, 2}, true},
        {{0, 0, 0, 1, 1, 1}, false},
        {{0, 0, 1, 1, 2, 3}, false}, /* two with a rank alone */
        {{0, 1, 2, 3, 4, 5}, false},
        {{5, 5, 2, 2, 9, 9}, true}, /* numbers with gaps */
    };
    const double rate[] = {1, 2, 3, 4, 5, 6};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct spread s;
        assert_true(spread_compute(rate, rate, cases[i].node, 6, 7, NULL, &s));
        assert_int_equal(!isnan(s.node_eta2), cases[i].known);
        assert_int_equal(!isnan(s.node_p), cases[i].known);
    }
}

/* A slow node is found; equal nodes are found at about the level of p. */
static void node_effect_tells_slow_nodes(void **state)
{
    double rate[32], duration[32];
    int node[32];
    struct spread s, again;
    int false_alarms = 0;

    (void)state;
    for (int i = 0; i < 32; i++) {
        node[i] = i / 8;
        duration[i] = 1;
        rate[i] =
            (node[i] == 2 ? 60 : 100) + (double)rng_below(1, (uint64_t)i, 10);
    }
    assert_true(spread_compute(duration, rate, node, 32, 3, NULL, &s));
    assert_true(s.node_eta2 > 0.9);
    assert_near(s.node_p, 1.0 / 1001, 1e-12);
    assert_true(spread_compute(duration, rate, node, 32, 3, NULL, &again));
    assert_near(again.node_p, s.node_p, 0); /* the same for the same seed */

    for (uint64_t k = 0; k < 60; k++) {
        for (uint64_t i = 0; i < 32; i++)
            rate[i] = 100 + (double)rng_below(2, 40 * k + i, 1000);
        assert_true(spread_compute(duration, rate, node, 32, k, NULL, &s));
        assert_true(s.node_eta2 >= 0 && s.node_eta2 <= 1);
        false_alarms += s.node_p <= 0.05;
    }
    assert_in_range(false_alarms, 0, 8);
    /* All alike: nothing to tell. */
    for (int i = 0; i < 32; i++)
        rate[i] = 100;
    assert_true(spread_compute(duration, rate, node, 32, 1, NULL, &s));
    assert_near(s.node_eta2, 0, 0);
    assert_near(s.node_p, 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians),
        cmocka_unit_test(by_hand),
        cmocka_unit_test(one_rank_or_none),
        cmocka_unit_test(stragglers_are_far_and_slow),
        cmocka_unit_test(node_effect_by_hand),
        cmocka_unit_test(node_effect_needs_nodes),
        cmocka_unit_test(node_effect_tells_slow_nodes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("spread", tests, NULL, NULL);
}
