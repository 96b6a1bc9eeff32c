/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bandwidth definitions: published and hand-made runs, the laws that hold
 * for any run, progress marks, windows and losses.
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
#include "stats/bandwidth.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MIB      (INT64_C(1) << 20)
#define MS       INT64_C(1000000)
#define S        INT64_C(1000000000)

static void assert_near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%.9g is not %.9g", got, expected);
}

static struct bw_rank rank_of(int64_t start_ns, int64_t end_ns, int64_t bytes)
{
    return (struct bw_rank){
        .start_ns = start_ns,
        .end_ns = end_ns,
        .bytes = bytes,
        .io_end_ns = end_ns,
        .open_ns = start_ns,
        .close_ns = end_ns,
    };
}

/* Four ranks of 2560 MiB, as the tool that came before printed them. */
static void the_published_run(void **state)
{
    const struct bw_rank ranks[] = {
        rank_of(0, 19746 * MS, 2560 * MIB),
        rank_of(0, 19950 * MS, 2560 * MIB),
        rank_of(0, 19746 * MS, 2560 * MIB),
        rank_of(0, 20181 * MS, 2560 * MIB),
    };
    struct bw_result bw;

    (void)state;
    bw_compute(ranks, COUNT(ranks), &bw);
    assert_true(bw.bytes == 10240 * MIB);
    assert_near(bw.naive / MIB, 514.466, 0.0005);
    assert_near(bw.slowest / MIB, 507.408, 0.0005);
    assert_near(bw.wall / MIB, 507.408, 0.0005);
    assert_near(bw.seconds, 20.181, 1e-9);
    assert_near(bw.inflation, 514.466 / 507.408, 1e-5);
    assert_near(bw.inflation_start, 1, 1e-12);
    assert_true(bw.ordered);
    assert_false(bw.too_short);
}

/* Three ranks of 100 MiB at 100 MiB/s that start at 0, 1 and 2 s. */
static void late_starts(void **state)
{
    const struct bw_rank ranks[] = {
        rank_of(0, S, 100 * MIB),
        rank_of(S, 2 * S, 100 * MIB),
        rank_of(2 * S, 3 * S, 100 * MIB),
    };
    struct bw_result bw;
    int64_t from, to;

    (void)state;
    bw_compute(ranks, COUNT(ranks), &bw);
    assert_near(bw.naive / MIB, 300, 1e-9);
    assert_near(bw.slowest / MIB, 300, 1e-9);
    assert_near(bw.wall / MIB, 100, 1e-9);
    assert_near(bw.inflation, 3, 1e-12);
    assert_near(bw.inflation_ranks, 1, 1e-12);
    assert_near(bw.inflation_start, 3, 1e-12);
    assert_true(bw.s0 == 0 && bw.s1 == 2 * S);
    assert_true(bw.e0 == S && bw.e1 == 3 * S);
    /* Never all at once. */
    assert_false(bw_window(ranks, COUNT(ranks), 1, &from, &to));
}

static void every_stamp_has_its_place(void **state)
{
    struct bw_rank ranks[] = {
        rank_of(10 * S, 30 * S, 1000), rank_of(12 * S, 40 * S, 2000),
        rank_of(0, 90 * S, 0), /* idle: left out altogether */
    };
    struct bw_result bw;

    (void)state;
    ranks[0].open_ns = 9 * S;
    ranks[0].io_end_ns = 25 * S;
    ranks[0].close_ns = 41 * S;
    ranks[1].open_ns = 11 * S;
    ranks[1].io_end_ns = 20 * S;
    ranks[1].close_ns = 40 * S;
    ranks[2].open_ns = 0;
    ranks[2].close_ns = 99 * S;
    bw_compute(ranks, COUNT(ranks), &bw);
    assert_true(bw.bytes == 3000);
    assert_near(bw.seconds, 30, 1e-12);
    assert_near(bw.wall, 100, 1e-9);
    assert_near(bw.naive, 1000.0 / 20 + 2000.0 / 28, 1e-9);
    assert_near(bw.slowest, 3000.0 / 28, 1e-9);
    assert_true(bw.max_duration_ns == 28 * S);
    assert_near(bw.open_close, 3000.0 / 32, 1e-9);
    assert_near(bw.cache, 3000.0 / 15, 1e-9);
}

static void nothing_moved_is_not_a_rate(void **state)
{
    const struct bw_rank idle[] = {rank_of(5, 5, 0), rank_of(7, 7, 0)};
    struct bw_result bw;

    (void)state;
    for (size_t n = 0; n <= COUNT(idle); n++) {
        bw_compute(idle, n, &bw);
        assert_int_equal(bw.bytes, 0);
        assert_true(isnan(bw.naive) && isnan(bw.slowest) && isnan(bw.wall));
        assert_true(isnan(bw.wall_low) && isnan(bw.wall_high));
        assert_true(isnan(bw.open_close) && isnan(bw.cache));
        assert_true(isnan(bw.seconds) && isnan(bw.inflation));
        assert_true(bw.ordered);
    }
}

static void bounds_of_the_clock(void **state)
{
    static const struct {
        int64_t bound[2];
        double low_s, high_s; /* T+, T-; 0: n/a */
        bool too_short;
    } cases[] = {
        {{0, 0}, 10, 10, false},
        {{2 * MS, 2 * MS}, 10.004, 9.996, false},
        {{20 * MS, 0}, 10.02, 9.98, false},
        {{0, 30 * MS}, 10.03, 9.97, false},
        {{25 * MS, 26 * MS}, 10.051, 9.949, true},
        {{6 * S, 6 * S}, 22, 0, true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bw_rank ranks[] = {
            rank_of(100 * S, 105 * S, 6000),
            rank_of(101 * S, 110 * S, 4000),
        };
        struct bw_result bw;
        ranks[0].bound_ns = cases[i].bound[0];
        ranks[1].bound_ns = cases[i].bound[1];
        bw_compute(ranks, 2, &bw);
        assert_near(bw.wall, 1000, 1e-9);
        assert_near(bw.wall_low, 10000 / cases[i].low_s, 1e-9);
        if (cases[i].high_s > 0)
            assert_near(bw.wall_high, 10000 / cases[i].high_s, 1e-9);
        else
            assert_true(isnan(bw.wall_high));
        assert_int_equal(bw.too_short, cases[i].too_short);
        assert_true(bw.ordered);
    }
}

static void backwards_is_out_of_order(void **state)
{
    struct bw_rank ranks[] = {
        rank_of(0, 10 * S, 100),
        rank_of(5 * S, 5 * S - 100, 100),
    };
    struct bw_result bw;

    (void)state;
    bw_compute(ranks, 2, &bw);
    assert_false(bw.ordered);
    ranks[1].bound_ns = 50; /* both times may be wrong by that much */
    bw_compute(ranks, 2, &bw);
    assert_true(bw.ordered);
    ranks[1].bound_ns = 49;
    bw_compute(ranks, 2, &bw);
    assert_false(bw.ordered);
    /* No time at all is a tick, not an infinite rate. */
    ranks[1] = rank_of(5 * S, 5 * S, 100);
    bw_compute(ranks, 2, &bw);
    assert_true(isfinite(bw.naive) && bw.ordered);
}

static void the_sandwich(void **state)
{
    const struct bw_rank ranks[] = {rank_of(0, 10 * S, 1)};
    static const struct {
        int64_t own_ns, outer_ns, bound_ns;
        bool holds;
    } cases[] = {
        {10 * S, 11 * S, 0, true},
        {10 * S, 10 * S, 0, true},
        {10 * S, 10 * S - 1, 0, false},
        {10 * S, 10 * S - 2000, 1000, true},
        {10 * S, 10 * S - 2001, 1000, false},
        /* By its own clock the rank worked longer than the phase took: on
         * one clock never, else by 200 ppm at most. */
        {10 * S + 1, 11 * S, 0, false},
        {10 * S + 2 * MS, 11 * S, 1000, true},
        {10 * S + 3 * MS, 11 * S, 1000, false},
        {15 * S, 11 * S, 1000, false},
    };
    struct bw_result bw;

    (void)state;
    bw_compute(ranks, 1, &bw);
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(bw_sandwich(&bw, cases[i].own_ns, cases[i].outer_ns,
                                     cases[i].bound_ns),
                         cases[i].holds);
    /* A rank that worked longer than the phase took. */
    bw.max_duration_ns = 10 * S + 2001;
    assert_false(bw_sandwich(&bw, 0, 20 * S, 1000));
    bw.max_duration_ns = 10 * S + 2000;
    assert_true(bw_sandwich(&bw, 0, 20 * S, 1000));
}

static size_t random_ranks(uint64_t i, struct bw_rank *ranks, size_t room)
{
    size_t n = 1 + (size_t)rng_below(20, i, room);

    for (size_t r = 0; r < n; r++) {
        uint64_t c = 1000 * i + r;
        int64_t start =
            (int64_t)rng_below(21, c, 1 + (UINT64_C(1) << i % 33)) - S;
        int64_t length = (int64_t)rng_below(22, c, 1 + (UINT64_C(1) << i % 31));
        int64_t bytes = (int64_t)(rng_at(23, c) >> (20 + i % 40));
        ranks[r] = rank_of(start, start + length, c % 7 ? bytes : 0);
        ranks[r].bound_ns = (int64_t)rng_below(24, c, 1 + i % 5000);
    }
    return n;
}

static void the_order_of_the_rates(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        struct bw_rank ranks[20];
        struct bw_result bw;
        size_t n = random_ranks(i, ranks, COUNT(ranks));
        bw_compute(ranks, n, &bw);
        if (bw.bytes == 0)
            continue;
        double e = 1 + 1e-9;
        assert_true(bw.ordered);
        assert_true(bw.naive * e >= bw.slowest);
        assert_true(bw.slowest * e >= bw.wall);
        assert_true(bw.wall_low <= bw.wall * e);
        if (!isnan(bw.wall_high))
            assert_true(bw.wall_high * e >= bw.wall);
        assert_near(bw.inflation_ranks * bw.inflation_start / bw.inflation, 1,
                    1e-9);
        assert_true(bw_sandwich(&bw, 0, bw.e1 - bw.s0, 0));
    }
}

/* Where the true times lie anywhere within the bounds, so does the rate. */
static void the_true_wall_is_within(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 5000; i++) {
        struct bw_rank ranks[20], seen[20];
        struct bw_result truth, bw;
        size_t n = random_ranks(i, ranks, COUNT(ranks));
        for (size_t r = 0; r < n; r++) {
            uint64_t c = 50 * i + r, width;
            seen[r] = ranks[r];
            width = 2 * (uint64_t)ranks[r].bound_ns + 1;
            seen[r].start_ns +=
                (int64_t)rng_below(31, c, width) - ranks[r].bound_ns;
            seen[r].end_ns +=
                (int64_t)rng_below(32, c, width) - ranks[r].bound_ns;
        }
        bw_compute(ranks, n, &truth);
        bw_compute(seen, n, &bw);
        if (bw.bytes == 0)
            continue;
        assert_true(bw.wall_low <= truth.wall * (1 + 1e-9));
        if (!isnan(bw.wall_high))
            assert_true(bw.wall_high * (1 + 1e-9) >= truth.wall);
    }
}

static void windows(void **state)
{
    static const struct {
        int64_t span[10][2];
        size_t n;
        double share;
        int64_t from, to; /* equal: none */
    } cases[] = {
        {{{0, 10}}, 1, 1, 0, 10},
        {{{0, 10}, {3, 20}, {1, 7}}, 3, 1, 3, 7},
        {{{0, 10}, {10, 20}}, 2, 1, 0, 0},
        {{{0, 10}, {12, 20}}, 2, 1, 0, 0},
        {{{0, 10}, {10, 20}}, 2, 0.5, 0, 20},  /* a handover is no gap */
        {{{0, 10}, {11, 30}}, 2, 0.5, 11, 30}, /* the longer stretch */
        {{{0, 20}, {22, 30}}, 2, 0.5, 0, 20},
        {{{0, 10}, {0, 30}, {0, 5}}, 3, 0.6, 0, 10},
        {{{5, 5}}, 1, 1, 0, 0},
        {{{0, 0}}, 0, 0.9, 0, 0},
        {{{0, 90},
          {0, 90},
          {0, 90},
          {0, 90},
          {0, 90},
          {0, 90},
          {0, 90},
          {0, 90},
          {1, 91},
          {2, 500}},
         10,
         0.9,
         1,
         90},
        {{{0, 90},
          {0, 90},
          {0, 90},
          {0, 90},
          {0, 90},
          {0, 90},
          {0, 90},
          {0, 90},
          {1, 91},
          {2, 500}},
         10,
         1,
         2,
         90},
        {{{0, 90},
          {0, 90},
          {0, 90},
          {0, 90},
          {0, 90},
          {0, 90},
          {0, 90},
          {0, 90},
          {1, 91},
          {2, 500}},
         10,
         0.1,
         0,
         500},
        {{{0, 90},
          {0, 90},
          {0, 90},
          {0, 90},
          {0, 90},
          {0, 90},
          {0, 90},
          {0, 90},
          {1, 91},
          {2, 500}},
         10,
         1e-6,
         0,
         500},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bw_rank ranks[12];
        int64_t from = -1, to = -1;
        size_t n = cases[i].n;
        for (size_t r = 0; r < n; r++)
            ranks[r] =
                rank_of(cases[i].span[r][0], cases[i].span[r][1], 1 + (int)r);
        ranks[n] = rank_of(1000, 2000, 0); /* idle ranks do not count */
        bool found = bw_window(ranks, n + 1, cases[i].share, &from, &to);
        if (found != (cases[i].from < cases[i].to))
            fail_msg("case %zu: %d", i, found);
        if (found && (from != cases[i].from || to != cases[i].to))
            fail_msg("case %zu: %" PRId64 " to %" PRId64, i, from, to);
    }
}

/* By the definition: share 1 is [S1, E0]; for less, looked at tick by tick. */
static void windows_by_counting(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 2000; i++) {
        struct bw_rank ranks[12];
        size_t n = 1 + (size_t)rng_below(40, i, 12);
        struct bw_result bw;
        for (size_t r = 0; r < n; r++) {
            int64_t start = (int64_t)rng_below(41, 20 * i + r, 50);
            ranks[r] = rank_of(
                start, start + (int64_t)rng_below(42, 20 * i + r, 50), 1);
        }
        bw_compute(ranks, n, &bw);
        int64_t from = 0, to = 0;
        assert_int_equal(bw_window(ranks, n, 1, &from, &to), bw.e0 > bw.s1);
        if (bw.e0 > bw.s1)
            assert_true(from == bw.s1 && to == bw.e0);

        double share = 0.05 * (1 + (double)rng_below(43, i, 20));
        int64_t best = 0, run = 0;
        for (int64_t t = 0; t < 100; t++) { /* the tick from t to t + 1 */
            size_t active = 0;
            for (size_t r = 0; r < n; r++)
                active += ranks[r].start_ns <= t && t < ranks[r].end_ns;
            run = (double)active >= share * (double)n - 1e-9 ? run + 1 : 0;
            best = run > best ? run : best;
        }
        bool found = bw_window(ranks, n, share, &from, &to);
        assert_int_equal(found, best > 0);
        if (found)
            assert_int_equal(to - from, best);
    }
}

static void marks_interpolate(void **state)
{
    int64_t at[8][2];
    struct marks marks;

    (void)state;
    marks_init(&marks, at, 8, 1000 * MS);
    assert_near(marks_bytes_at(&marks, 1000 * MS), 0, 0);
    marks_add(&marks, 1004 * MS, 40);  /* too close: not stored */
    marks_add(&marks, 1010 * MS, 100); /* stored */
    marks_add(&marks, 1015 * MS, 110);
    marks_add(&marks, 1030 * MS, 500);
    marks_add(&marks, 1035 * MS, 600);
    assert_int_equal(marks.count, 3);
    static const struct {
        int64_t ms;
        double bytes;
    } cases[] = {
        {0, 0},      {999, 0},    {1000, 0},   {1004, 40},
        {1005, 50},  {1010, 100}, {1020, 300}, {1030, 500},
        {1032, 540}, {1035, 600}, {1036, 600}, {99999, 600},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_near(marks_bytes_at(&marks, cases[i].ms * MS), cases[i].bytes,
                    1e-9);
}

static void marks_merge(void **state)
{
    (void)state;
    for (size_t room = 4; room <= 64; room += 6) {
        int64_t at[64 + 1][2];
        struct marks marks;
        at[room][0] = at[room][1] = -7; /* must stay */
        marks_init(&marks, at, room, 0);
        int64_t now = 0, bytes = 0;
        for (uint64_t i = 0; i < 3000; i++) {
            now += 1 + (int64_t)rng_below(50 + room, i, 8 * MS);
            bytes = 3 * now; /* a steady rank, so any subset is on the line */
            marks_add(&marks, now, bytes);
            assert_true(marks.count <= room);
        }
        assert_true(marks.last_ns == now && marks.last_bytes == bytes);
        assert_near(marks_bytes_at(&marks, now), (double)bytes, 0);
        assert_true(at[0][0] == 0 && at[0][1] == 0);
        assert_true(marks.spacing_ns > MARKS_SPACING_NS);
        assert_true(marks.count >= room / 2);
        for (size_t k = 1; k < marks.count; k++) {
            assert_true(at[k][0] - at[k - 1][0] >= marks.spacing_ns);
            assert_true(at[k][1] >= at[k - 1][1]);
        }
        for (int64_t t = 0; t <= now; t += now / 97)
            assert_near(marks_bytes_at(&marks, t), 3.0 * (double)t,
                        1e-9 * (double)bytes);
        /* Windows that meet share out every byte. */
        double sum = 0;
        for (int k = 0; k < 10; k++)
            sum += marks_bytes_at(&marks, now * (k + 1) / 10) -
                   marks_bytes_at(&marks, now * k / 10);
        assert_near(sum, (double)bytes, 1e-6 * (double)bytes);
        assert_true(at[room][0] == -7 && at[room][1] == -7);
    }
}

/* A rank that does all in one op, and one that does nothing. */
static void marks_of_short_ranks(void **state)
{
    int64_t at[4][2];
    struct marks marks;

    (void)state;
    marks_init(&marks, at, 4, 5 * S);
    assert_near(marks_bytes_at(&marks, 4 * S), 0, 0);
    assert_near(marks_bytes_at(&marks, 6 * S), 0, 0);
    marks_add(&marks, 7 * S, 1000);
    assert_near(marks_bytes_at(&marks, 6 * S), 500, 1e-9);
    assert_near(marks_bytes_at(&marks, 8 * S), 1000, 0);
}

/* 1 - wall/steady = ramp + tail, for any marks. */
static void the_loss_identity(void **state)
{
    int checked = 0;

    (void)state;
    for (uint64_t i = 0; i < 3000; i++) {
        struct bw_rank ranks[6];
        int64_t at[6][32][2];
        struct marks marks[6];
        struct bw_result bw;
        size_t n = 1 + (size_t)rng_below(60, i, 6);
        for (size_t r = 0; r < n; r++) {
            uint64_t c = 10 * i + r;
            int64_t start = (int64_t)rng_below(61, c, (uint64_t)S);
            int64_t now = start, bytes = 0;
            marks_init(&marks[r], at[r], 32, start);
            for (uint64_t k = 0; k < 40; k++) {
                now += 1 + (int64_t)rng_below(62, 50 * c + k, 60000000);
                bytes += (int64_t)rng_below(63, 50 * c + k, 16 << 20);
                marks_add(&marks[r], now, bytes);
            }
            ranks[r] = rank_of(start, now, bytes);
        }
        bw_compute(ranks, n, &bw);
        int64_t from, to;
        if (!bw_window(ranks, n, 1, &from, &to))
            continue;
        double v_s1 = 0, v_e0 = 0, ramp, tail;
        for (size_t r = 0; r < n; r++) {
            v_s1 += marks_bytes_at(&marks[r], from);
            v_e0 += marks_bytes_at(&marks[r], to);
        }
        double steady = (v_e0 - v_s1) / ((double)(to - from) / 1e9);
        bw_losses(&bw, steady, v_s1, v_e0, &ramp, &tail);
        assert_near(ramp + tail, 1 - bw.wall / steady, 1e-9);
        if (n == 1)
            assert_near(fabs(ramp) + fabs(tail), 0, 1e-12);
        checked++;
    }
    assert_true(checked > 1000);
}

static void losses_by_hand(void **state)
{
    /* 100 B/s each; the second starts 2 s late and ends 1 s late. */
    const struct bw_rank ranks[] = {
        rank_of(0, 10 * S, 1000),
        rank_of(2 * S, 11 * S, 900),
    };
    struct bw_result bw;
    double ramp, tail;

    (void)state;
    bw_compute(ranks, 2, &bw);
    bw_losses(&bw, 200, 200, 1800, &ramp, &tail);
    assert_near(ramp, (200.0 * 2 - 200) / (200 * 11), 1e-12);
    assert_near(tail, (200.0 * 1 - 100) / (200 * 11), 1e-12);
    /* The survivor speeds up: the tail is a gain. */
    bw_losses(&bw, 100, 100, 900, &ramp, &tail);
    assert_true(tail < 0);
    static const double bad[] = {NAN, 0, -1, INFINITY};
    for (size_t i = 0; i < COUNT(bad); i++) {
        bw_losses(&bw, bad[i], 1, 2, &ramp, &tail);
        assert_true(isnan(ramp) && isnan(tail));
    }
    bw_compute(ranks, 0, &bw);
    bw_losses(&bw, 100, 0, 0, &ramp, &tail);
    assert_true(isnan(ramp) && isnan(tail));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_run),
        cmocka_unit_test(late_starts),
        cmocka_unit_test(every_stamp_has_its_place),
        cmocka_unit_test(nothing_moved_is_not_a_rate),
        cmocka_unit_test(bounds_of_the_clock),
        cmocka_unit_test(backwards_is_out_of_order),
        cmocka_unit_test(the_sandwich),
        cmocka_unit_test(the_order_of_the_rates),
        cmocka_unit_test(the_true_wall_is_within),
        cmocka_unit_test(windows),
        cmocka_unit_test(windows_by_counting),
        cmocka_unit_test(marks_interpolate),
        cmocka_unit_test(marks_merge),
        cmocka_unit_test(marks_of_short_ranks),
        cmocka_unit_test(the_loss_identity),
        cmocka_unit_test(losses_by_hand),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("bandwidth", tests, NULL, NULL);
}
