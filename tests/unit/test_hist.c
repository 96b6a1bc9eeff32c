/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The latency histogram: its buckets, quantiles against sorted values, what
 * is withheld, merging, and values that no bucket is made for.
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
#include "stats/hist.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define TOP      HIST_TOP_NS

static void assert_near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%.9g is not %.9g", got, expected);
}

static struct hist *new_hist(void)
{
    struct hist *h = malloc(sizeof(*h));

    assert_non_null(h);
    memset(h, 0x5a, sizeof(*h));
    hist_init(h);
    return h;
}

static void buckets_of_values(void **state)
{
    static const struct {
        int64_t ns;
        int bucket;
        int64_t low, high;
    } cases[] = {
        {INT64_MIN, 0, 0, 1},
        {-1, 0, 0, 1},
        {0, 0, 0, 1},
        {1, 1, 1, 2},
        {127, 127, 127, 128},
        {128, 128, 128, 129},
        {255, 255, 255, 256},
        {256, 256, 256, 258},
        {257, 256, 256, 258},
        {258, 257, 258, 260},
        {511, 383, 510, 512},
        {512, 384, 512, 516},
        {1000000, 1780, 999424, 1003520},
        {TOP - 1, HIST_BUCKETS - 1, TOP - TOP / 256, TOP},
        {TOP, HIST_BUCKETS - 1, TOP - TOP / 256, TOP},
        {INT64_MAX, HIST_BUCKETS - 1, TOP - TOP / 256, TOP},
    };

    (void)state;
    assert_int_equal(HIST_BUCKETS, 4352);
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t low, high;

        assert_int_equal(hist_bucket(cases[i].ns), cases[i].bucket);
        hist_edges(cases[i].bucket, &low, &high);
        assert_int_equal(low, cases[i].low);
        assert_int_equal(high, cases[i].high);
    }
}

/* Every bucket, of every scale: no gap, no overlap, never too wide. */
static void buckets_tile_the_range(void **state)
{
    (void)state;
    for (int bits = 2; bits <= 10; bits++) {
        int64_t end = 0, low, high;

        for (int b = 0; b < HIST_SCALE(bits); b++) {
            hist_scale_edges(b, bits, &low, &high);
            assert_int_equal(low, end);
            assert_true(high > low);
            assert_true(high - low == 1 || (high - low) << bits <= low);
            assert_int_equal(hist_scale_bucket(low, bits), b);
            assert_int_equal(hist_scale_bucket(high - 1, bits), b);
            end = high;
        }
        assert_int_equal(end, TOP);
    }
}

static int compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Random values of one shape: uniform in the logarithm, narrow, two modes,
 * all equal. */
static int64_t random_ns(int shape, uint64_t seed, uint64_t i)
{
    uint64_t r = rng_at(seed, i);

    switch (shape) {
    case 0:
        return (int64_t)((r >> 8) >> (16 + r % 40));
    case 1:
        return 1000000 + (int64_t)(r % 5000);
    case 2:
        return (r & 7 ? 20000 : 80000000) + (int64_t)(r >> 8) % 9000;
    default:
        return 123457;
    }
}

#define SHAPES 4

static void quantiles_match_sorted_values(void **state)
{
    static const double quantiles[] = {0.01, 0.1,  0.25,  0.5,   0.75,
                                       0.9,  0.99, 0.999, 0.9999};
    static const size_t sizes[] = {20, 21, 100, 1000, 3777, 100000};
    struct hist *h = new_hist();
    int64_t *values = malloc(100000 * sizeof(*values));
    int told = 0;

    (void)state;
    assert_non_null(values);
    for (size_t s = 0; s < COUNT(sizes) * SHAPES; s++) {
        size_t n = sizes[s / SHAPES];
        int64_t sum = 0;

        hist_init(h);
        for (size_t i = 0; i < n; i++) {
            values[i] = random_ns(s % SHAPES, 100 + s, i);
            sum += values[i];
            hist_add(h, values[i]);
        }
        qsort(values, n, sizeof(*values), compare_ns);
        assert_int_equal(h->n, n);
        assert_int_equal(h->sum_ns, sum);
        assert_int_equal(h->min_ns, values[0]);
        assert_int_equal(h->max_ns, values[n - 1]);
        assert_near(hist_mean_ns(h), (double)sum / (double)n, 1e-6);
        for (size_t k = 0; k < COUNT(quantiles); k++) {
            double q = quantiles[k], got = hist_quantile_ns(h, q);
            double side = (double)n * (q < 0.5 ? q : 1 - q);

            if (side < 9.999) {
                assert_true(isnan(got));
                continue;
            }
            size_t rank = (size_t)ceil((double)n * q - 1e-6);
            double exact = (double)values[rank - 1];
            assert_near(got, exact, exact / 128);
            assert_true(got >= (double)h->min_ns);
            assert_true(got <= (double)h->max_ns);
            told++;
        }
    }
    assert_true(told > 100);
    free(values);
    free(h);
}

static void quantiles_need_ten_beyond(void **state)
{
    static const struct {
        int64_t n;
        double q;
        double value; /* of 1, 2, ... 100 again and again */
    } cases[] = {
        {0, 0.5, NAN},       {1, 0.5, NAN},      {19, 0.5, NAN},
        {20, 0.5, 10},       {99, 0.9, NAN},     {100, 0.9, 90},
        {999, 0.99, NAN},    {1000, 0.99, 99},   {9999, 0.999, NAN},
        {10000, 0.999, 100}, {100, 0.1, 10},     {99, 0.1, NAN},
        {100, 0.14, 14},     {1000, 0.57, 57},   {1000, 0.07, 7},
        {100000, 0, NAN},    {100000, 1, NAN},   {100000, -1, NAN},
        {100000, 2, NAN},    {100000, NAN, NAN}, {100000, 0.2, 20},
    };
    struct hist *h = new_hist();

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        hist_init(h);
        for (int64_t k = 0; k < cases[i].n; k++)
            hist_add(h, 1 + k % 100);
        double got = hist_quantile_ns(h, cases[i].q);
        if (isnan(cases[i].value) ? !isnan(got) : got != cases[i].value)
            fail_msg("n %" PRId64 " q %g: %g is not %g", cases[i].n, cases[i].q,
                     got, cases[i].value);
    }
    free(h);
}

static void an_empty_one(void **state)
{
    struct hist *h = new_hist(), *other = new_hist();

    (void)state;
    assert_int_equal(h->n, 0);
    assert_true(isnan(hist_mean_ns(h)));
    assert_true(isnan(hist_quantile_ns(h, 0.5)));
    hist_add(other, 7);
    hist_merge(other, h);
    assert_int_equal(other->n, 1);
    assert_int_equal(other->min_ns, 7);
    assert_int_equal(other->max_ns, 7);
    hist_merge(h, other);
    assert_memory_equal(h, other, sizeof(*h));
    free(h);
    free(other);
}

/* The parts of any division add up to the whole, in any order. */
static void merging_is_adding(void **state)
{
    enum { PARTS = 5 };
    struct hist *all = new_hist(), *sum = new_hist(), *part[PARTS];

    (void)state;
    for (int p = 0; p < PARTS; p++)
        part[p] = new_hist();
    for (uint64_t i = 0; i < 20000; i++) {
        int64_t ns = random_ns(i % SHAPES, 7, i);
        /* The last part gets nothing. */
        hist_add(part[rng_below(8, i, PARTS - 1)], ns);
        hist_add(all, ns);
    }
    for (int p = PARTS - 1; p >= 0; p--)
        hist_merge(sum, part[p]);
    assert_memory_equal(sum, all, sizeof(*all));
    for (int p = 0; p < PARTS; p++)
        free(part[p]);
    free(all);
    free(sum);
}

static void values_beyond_the_ends(void **state)
{
    struct hist *h = new_hist();
    const int64_t far = 50 * TOP;

    (void)state;
    for (int i = 0; i < 40; i++) {
        hist_add(h, -5);
        hist_add(h, 0);
        hist_add(h, TOP);
        hist_add(h, far);
    }
    assert_int_equal(h->n, 160);
    assert_int_equal(h->sum_ns, 40 * (TOP + far));
    assert_int_equal(h->min_ns, 0);
    assert_int_equal(h->max_ns, far);
    assert_int_equal(h->count[0], 80);
    assert_int_equal(h->count[HIST_BUCKETS - 1], 80);
    assert_near(hist_quantile_ns(h, 0.3), 0, 0);
    assert_near(hist_quantile_ns(h, 0.75), TOP, TOP / 128.0);

    /* All above the last bucket: its middle is less than any of them. */
    hist_init(h);
    for (int i = 0; i < 40; i++)
        hist_add(h, far + i);
    assert_near(hist_quantile_ns(h, 0.5), far, 0);

    /* One value: both ends clamp the middle of its bucket. */
    hist_init(h);
    for (int i = 0; i < 40; i++)
        hist_add(h, 1000000);
    assert_near(hist_quantile_ns(h, 0.5), 1000000, 0);
    free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_of_values),
        cmocka_unit_test(buckets_tile_the_range),
        cmocka_unit_test(quantiles_match_sorted_values),
        cmocka_unit_test(quantiles_need_ten_beyond),
        cmocka_unit_test(an_empty_one),
        cmocka_unit_test(merging_is_adding),
        cmocka_unit_test(values_beyond_the_ends),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
