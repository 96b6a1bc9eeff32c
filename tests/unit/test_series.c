/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes per bin: the sum is exact whatever the marks and the clocks, bins are
 * where they belong, stonewalls, rebinning, and marks of long runs.
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
#include "stats/series.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MS       INT64_C(1000000)
#define S        INT64_C(1000000000)

static void assert_near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%.9g is not %.9g", got, expected);
}

static int64_t sum_of(const int64_t *bins, size_t n)
{
    int64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += bins[i];
    return sum;
}

static void widths_and_bins(void **state)
{
    static const struct {
        int64_t span_ns;
        int most;
        int64_t width_ns;
        size_t bins;
    } cases[] = {
        {0, 100, 10 * MS, 1},
        {-5, 100, 10 * MS, 1},
        {1, 1, 10 * MS, 1},
        {10 * MS, 1, 10 * MS, 1},
        {10 * MS + 1, 1, 20 * MS, 1},
        {S, 100, 10 * MS, 100},
        {S + 1, 100, 20 * MS, 51},
        {60 * S, 1000, 80 * MS, 750},
        {3600 * S, 4096, 1280 * MS, 2813},
        {INT64_MAX, 1000, (10 * MS) << 30, 859},
        {INT64_MAX, 1, (10 * MS) << 39, 2}, /* as far as it goes */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t width = series_width_ns(cases[i].span_ns, cases[i].most);

        assert_int_equal(width, cases[i].width_ns);
        assert_int_equal(series_bins(cases[i].span_ns, width), cases[i].bins);
    }
}

/* Marks at 0 and every 10 ms; 100 bytes in the first 10 ms, then 200 ... */
static void bins_by_hand(void **state)
{
    static const struct {
        const char *what;
        int64_t local_start_ms, local_end_ms, global_start_ms, global_end_ms;
        int64_t origin_ms;
        size_t n;
        int64_t bins[6];
    } cases[] = {
        {"on the grid", 0, 40, 0, 40, 0, 4, {100, 200, 300, 400}},
        {"with an offset", 0, 40, 7000, 7040, 7000, 4, {100, 200, 300, 400}},
        {"late by half a bin", 0, 40, 5, 45, 0, 5, {50, 150, 250, 350, 200}},
        {"late by two bins", 0, 40, 20, 60, 0, 6, {0, 0, 100, 200, 300, 400}},
        {"a clock twice as fast", 0, 40, 0, 20, 0, 2, {300, 700}},
        {"a clock half as fast",
         0,
         40,
         0,
         80,
         20,
         6,
         {200, 100, 150, 150, 200, 200}},
        {"a sync behind the last op",
         0,
         60,
         0,
         60,
         0,
         6,
         {100, 200, 300, 400, 0, 0}},
        {"an end before the last mark",
         0,
         35,
         0,
         35,
         0,
         4,
         {100, 200, 300, 400}},
        {"an end on the grid before the last mark",
         0,
         30,
         0,
         30,
         0,
         4,
         {100, 200, 700, 0}},
        {"to the nearest byte",
         0,
         40,
         0,
         60,
         0,
         6,
         {67, 100, 133, 200, 233, 267}},
        {"before and behind the grid", 0, 40, 0, 40, 10, 2, {300, 700}},
        {"all before the grid", 0, 40, 0, 40, 50, 2, {1000, 0}},
        {"all behind the grid", 0, 40, 90, 130, 0, 3, {0, 0, 1000}},
        {"an instant", 0, 0, 20, 20, 0, 4, {0, 0, 1000, 0}},
        {"an instant at the end of the grid",
         0,
         0,
         40,
         40,
         0,
         4,
         {0, 0, 0, 1000}},
        {"an end before the start", 40, 0, 20, 15, 0, 4, {0, 0, 1000, 0}},
    };
    int64_t at[8][2];
    struct marks marks;

    (void)state;
    marks_init(&marks, at, 8, 0);
    marks_add(&marks, 10 * MS, 100);
    marks_add(&marks, 20 * MS, 300);
    marks_add(&marks, 30 * MS, 600);
    marks_add(&marks, 40 * MS, 1000);
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t bins[7] = {0};

        bins[cases[i].n] = -7; /* must stay */
        series_fill(&marks, cases[i].local_start_ms * MS,
                    cases[i].local_end_ms * MS, cases[i].global_start_ms * MS,
                    cases[i].global_end_ms * MS, cases[i].origin_ms * MS,
                    10 * MS, bins, cases[i].n);
        for (size_t k = 0; k < cases[i].n; k++)
            if (bins[k] != cases[i].bins[k])
                fail_msg("%s: bin %zu is %" PRId64, cases[i].what, k, bins[k]);
        assert_int_equal(bins[cases[i].n], -7);
    }
}

static void the_sum_is_exact(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        int64_t at[16][2], bins[200];
        struct marks marks;
        int64_t start = (int64_t)rng_below(1, seed, 1000 * (uint64_t)S);
        int64_t now = start, bytes = 0;
        uint64_t ops = rng_below(2, seed, 200);
        size_t room = 4 + 2 * (size_t)rng_below(3, seed, 7);

        marks_init(&marks, at, room, start);
        for (uint64_t i = 0; i < ops; i++) {
            now += (int64_t)rng_below(4 * seed, i, 40 * (uint64_t)MS);
            bytes += (int64_t)rng_below(5 * seed, i, UINT64_C(1) << 33);
            marks_add(&marks, now, bytes);
        }
        int64_t end = now + (int64_t)rng_below(6, seed, (uint64_t)S);
        int64_t global = (int64_t)rng_below(7, seed, 2 * (uint64_t)S) - S;
        int64_t span =
            end - start + (int64_t)rng_below(8, seed, 2 * (uint64_t)MS) - MS;
        int64_t origin = (int64_t)rng_below(9, seed, 2 * (uint64_t)S) - S;
        int64_t width = 10 * MS << rng_below(10, seed, 4);
        size_t n = 1 + (size_t)rng_below(11, seed, COUNT(bins));

        series_fill(&marks, start, end, global, global + span, origin, width,
                    bins, n);
        assert_int_equal(sum_of(bins, n), bytes);
        for (size_t i = 0; i < n; i++) {
            int64_t low = origin + (int64_t)i * width, high = low + width;

            assert_true(bins[i] >= 0);
            if (i > 0 && low > global + span)
                assert_int_equal(bins[i], 0);
            if (i + 1 < n && high <= global)
                assert_int_equal(bins[i], 0);
        }
        /* Rebinning keeps the sum. */
        size_t factor = 1 + (size_t)rng_below(12, seed, n + 3);
        size_t left = series_rebin(bins, n, factor);
        assert_int_equal(left, (n + factor - 1) / factor);
        assert_int_equal(sum_of(bins, left), bytes);
    }
}

/* A whole bin of the grid holds what the marks say of its time. */
static void bins_agree_with_the_marks(void **state)
{
    int64_t at[64][2], bins[64];
    struct marks marks;
    int64_t now = 0, bytes = 0;
    const int64_t offset = 123 * S + 456789; /* global less local */

    (void)state;
    marks_init(&marks, at, 64, now);
    for (uint64_t i = 0; now < 600 * MS; i++) {
        now += (int64_t)rng_below(20, i, 15 * (uint64_t)MS);
        bytes += (int64_t)rng_below(21, i, 10000000);
        marks_add(&marks, now, bytes);
    }
    series_fill(&marks, 0, now, offset, now + offset, offset, 10 * MS, bins,
                64);
    for (size_t i = 0; i < 60; i++)
        assert_near((double)bins[i],
                    marks_bytes_at(&marks, (int64_t)(i + 1) * 10 * MS) -
                        marks_bytes_at(&marks, (int64_t)i * 10 * MS),
                    1.0);
}

static void reading_a_series(void **state)
{
    static const int64_t bins[] = {100, 300, 0, 600};
    static const struct {
        int64_t ns;
        double bytes; /* before it */
        double stone; /* bytes/s of the first 'ns' */
    } cases[] = {
        {INT64_MIN, 0, NAN},    {-1, 0, NAN},           {0, 0, NAN},
        {S / 2, 50, 100},       {S, 100, 100},          {S + S / 3, 200, 150},
        {2 * S, 400, 200},      {5 * S / 2, 400, 160},  {4 * S, 1000, 250},
        {4 * S + 1, 1000, NAN}, {INT64_MAX, 1000, NAN},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        double stone = series_stonewall(bins, 4, S, cases[i].ns);

        assert_near(series_at(bins, 4, S, cases[i].ns), cases[i].bytes, 1e-6);
        if (isnan(cases[i].stone))
            assert_true(isnan(stone));
        else
            assert_near(stone, cases[i].stone, 1e-6);
    }
    assert_near(series_at(bins, 0, S, S), 0, 0);
    assert_true(isnan(series_stonewall(bins, 0, S, S)));
}

static void rebinning(void **state)
{
    static const struct {
        size_t n, factor, left;
        int64_t bins[5];
    } cases[] = {
        {0, 3, 0, {0}},       {5, 1, 5, {1, 2, 3, 4, 5}},
        {5, 2, 3, {3, 7, 5}}, {4, 2, 2, {3, 7}},
        {5, 5, 1, {15}},      {5, 99, 1, {15}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t bins[] = {1, 2, 3, 4, 5};
        size_t left = series_rebin(bins, cases[i].n, cases[i].factor);

        assert_int_equal(left, cases[i].left);
        assert_memory_equal(bins, cases[i].bins, left * sizeof(*bins));
    }
}

/* Ranks of any clocks and starts: each grid sums to all bytes, and what all
 * did by an instant is what each did by it. */
static void ranks_add_up(void **state)
{
    enum { RANKS = 7, BINS = 100 };
    int64_t all[BINS] = {0}, bins[BINS], total = 0;
    double by_2s = 0;

    (void)state;
    for (uint64_t r = 0; r < RANKS; r++) {
        int64_t at[128][2];
        struct marks marks;
        int64_t offset = (int64_t)(r * 1000) * S;
        int64_t start = (int64_t)rng_below(30, r, 300) * MS; /* global */
        int64_t now = start, bytes = 0;

        marks_init(&marks, at, 128, now - offset);
        for (uint64_t i = 0; now < 4 * S; i++) {
            now += (int64_t)rng_below(31 + r, i, 5 * (uint64_t)MS);
            bytes += 4096;
            marks_add(&marks, now - offset, bytes);
        }
        series_fill(&marks, start - offset, now - offset, start, now, 0,
                    50 * MS, bins, BINS);
        assert_int_equal(sum_of(bins, BINS), bytes);
        total += bytes;
        by_2s += marks_bytes_at(&marks, 2 * S - offset);
        for (size_t i = 0; i < BINS; i++)
            all[i] += bins[i];
    }
    assert_int_equal(sum_of(all, BINS), total);
    assert_near(series_at(all, BINS, 50 * MS, 2 * S), by_2s, RANKS);
    assert_near(series_stonewall(all, BINS, 50 * MS, 2 * S), by_2s / 2, RANKS);
}

/* True bytes at 'ns' of a rank that does 1 MB/s for six hours, pauses for
 * three, does 3 MB/s for three, and again. */
static double truth_at(int64_t ns)
{
    const int64_t hour = 3600 * S;
    int64_t halves = ns / (12 * hour), left = ns % (12 * hour);
    double bytes = (double)halves * 15 * 3600e6;

    if (left <= 6 * hour)
        return bytes + (double)left / 1e3;
    if (left <= 9 * hour)
        return bytes + 6 * 3600e6;
    return bytes + 6 * 3600e6 + (double)(left - 9 * hour) * 3 / 1e3;
}

/* Two days in a few kB: no mark is wrong, and between marks nothing is off by
 * more than moved in the spacing. */
static void marks_of_long_runs(void **state)
{
    static const size_t rooms[] = {4, 10, 64, 4096};
    const int64_t end = 2 * 86400 * S;

    (void)state;
    for (size_t r = 0; r < COUNT(rooms); r++) {
        size_t room = rooms[r];
        int64_t(*at)[2] = calloc(room + 1, sizeof(*at));
        struct marks marks;
        int64_t now = 0;

        assert_non_null(at);
        at[room][0] = -7; /* must stay */
        marks_init(&marks, at, room, 0);
        for (uint64_t i = 0; now < end; i++) {
            now += 1 + (int64_t)rng_below(40, i, 400 * (uint64_t)MS);
            marks_add(&marks, now, (int64_t)truth_at(now));
        }
        assert_true(marks.count <= room && marks.count > room / 2 - 1);
        assert_int_equal(at[room][0], -7);
        /* Never coarser than twice what the room asks for, and an op. */
        assert_true(marks.spacing_ns <= 4 * now / (int64_t)room + S);
        for (size_t k = 0; k < marks.count; k++)
            assert_int_equal(at[k][1], (int64_t)truth_at(at[k][0]));
        assert_near(marks_bytes_at(&marks, now), (double)marks.last_bytes, 0);
        double slack = 3e-3 * (double)(marks.spacing_ns + S) + 1;
        for (int64_t t = 0; t <= now; t += now / 9973)
            assert_near(marks_bytes_at(&marks, t), truth_at(t), slack);
        free(at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_and_bins),
        cmocka_unit_test(bins_by_hand),
        cmocka_unit_test(the_sum_is_exact),
        cmocka_unit_test(bins_agree_with_the_marks),
        cmocka_unit_test(reading_a_series),
        cmocka_unit_test(rebinning),
        cmocka_unit_test(ranks_add_up),
        cmocka_unit_test(marks_of_long_runs),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
