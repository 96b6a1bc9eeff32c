/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time structure: constructed series, values worked out by hand, and a
 * simulation with fixed seeds that measures false alarms, detection and the
 * error of the position.
 */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/str.h"
#include "stats/structure.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MS       INT64_C(1000000)
#define WIDTH    (100 * MS)
#define MOST     1000
#define GiB      1073741824.0

static void assert_near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%.9g is not %.9g", got, expected);
}

/* ---- series */

/* Normal values (Box and Muller). */
static double normal(uint64_t seed, uint64_t i)
{
    double u = (double)((rng_at(seed, 2 * i) >> 11) + 1) * 0x1p-53;
    double v = (double)(rng_at(seed, 2 * i + 1) >> 11) * 0x1p-53;

    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

struct piece {
    size_t bins;
    double level; /* in units of 10^7 bytes per bin */
};

#define PIECES 24

/* Levels with noise of 'cov' of the level whose autocorrelation is 'r'. */
static size_t build(int64_t *bytes, const struct piece *pieces, double cov,
                    double r, uint64_t seed)
{
    double e = normal(seed, 0);
    size_t n = 0;

    for (size_t p = 0; p < PIECES && pieces[p].bins > 0; p++)
        for (size_t i = 0; i < pieces[p].bins; i++, n++) {
            if (n > 0)
                e = r * e + sqrt(1 - r * r) * normal(seed, n);
            bytes[n] = (int64_t)fmax(1e7 * pieces[p].level * (1 + cov * e), 0);
        }
    return n;
}

/* Pieces from "50x10 70x4": bins and level. */
static size_t build_text(int64_t *bytes, const char *text, double unit,
                         double cov, double r, uint64_t seed)
{
    struct piece pieces[PIECES] = {{0}};
    char *end = NULL;

    for (size_t i = 0; *text != '\0'; i++, text = end) {
        pieces[i].bins = strtoul(text, &end, 10);
        pieces[i].level = unit * strtod(end + 1, &end);
    }
    return build(bytes, pieces, cov, r, seed);
}

static struct structure find(const int64_t *bytes, size_t n, bool write)
{
    struct structure s;

    assert_true(structure_find(bytes, n, WIDTH, write, &s));
    return s;
}

/* Is one of the changes within 'slack' bins of 'bin'? */
static bool has_change(const struct structure *s, size_t bin, size_t slack)
{
    for (size_t i = 0; i < s->change_count; i++)
        if (s->change[i].bin + slack >= bin && s->change[i].bin <= bin + slack)
            return true;
    return false;
}

/* ---- constructed */

static void too_short(void **state)
{
    int64_t bytes[STRUCTURE_MIN_BINS];

    (void)state;
    for (size_t i = 0; i < COUNT(bytes); i++)
        bytes[i] = i < 10 ? 100 : 50;
    for (size_t n = 0; n <= COUNT(bytes); n++) {
        struct structure s = find(bytes, n, true);
        assert_int_equal(s.shape == STRUCTURE_SHORT, n < 30);
        assert_int_equal(s.bins, n);
        if (n >= 30)
            continue;
        assert_int_equal(s.change_count, 0);
        assert_false(s.cliff);
        assert_true(s.cliff_bytes == -1 && s.cliff_at_ns == -1);
        assert_true(isnan(s.sustained_Bps) && isnan(s.noise_pct));
    }
}

static void constant(void **state)
{
    static const struct {
        int64_t bytes, jitter;
    } cases[] = {
        {0, 0},
        {1, 0},
        {10000000, 0},
        {10000000, 1},
        {0, 1},                         /* mostly idle: one byte now and then */
        {INT64_C(4000000000000000), 0}, /* 40 PB/s */
        {INT64_C(4000000000000000), 7},
        {10485760, 0},
    };
    static const size_t lengths[] = {30, 31, 59, 100, 120, 1000};

    (void)state;
    for (size_t i = 0; i < COUNT(cases) * COUNT(lengths); i++) {
        int64_t bytes[MOST];
        size_t n = lengths[i / COUNT(cases)];
        int64_t level = cases[i % COUNT(cases)].bytes;
        int64_t jitter = cases[i % COUNT(cases)].jitter;
        for (size_t k = 0; k < n; k++)
            bytes[k] = level + (k % 7 == 3 ? jitter : 0);
        struct structure s = find(bytes, n, true);
        if (s.shape != STRUCTURE_FLAT || s.change_count != 0 || s.cliff)
            fail_msg("case %zu: %s", i, structure_shape_name(s.shape));
        assert_int_equal(s.warmup_ns, 0);
        double mean = level > 0 ? (double)level : 1.0 / 7;
        assert_near(s.sustained_Bps, 10 * (double)level,
                    10 * (double)(jitter + 1) * 0.2);
        if (jitter == 0)
            assert_near(s.noise_pct, 0, 0);
        else
            assert_true(s.noise_pct >= 0 && s.noise_pct < 1000 / mean);
    }
}

/* Noise by hand: all differences are +-2 or +-1, so the median is too. */
static void noise_by_hand(void **state)
{
    static const int64_t pattern[][4] = {
        {99, 101, 99, 101},  /* d = 2 -2: acf1 -1, so r 0 */
        {98, 100, 102, 100}, /* d = 2 2 -2 -2: acf1 0, r clamped to 0.8 */
    };
    static const double related[] = {0, 0.8};

    (void)state;
    for (size_t i = 0; i < COUNT(pattern); i++) {
        int64_t bytes[100];
        double r = related[i];
        for (size_t k = 0; k < COUNT(bytes); k++)
            bytes[k] = pattern[i][k % 4];
        struct structure s = find(bytes, COUNT(bytes), false);
        double s2 = 2 * 1.4826 * 1.4826 * (1 + r) / ((1 - r) * (1 - r));
        assert_near(s.noise_pct, sqrt(s2), 1e-9); /* the mean is 100 */
        assert_int_equal(s.shape, STRUCTURE_FLAT);
    }
}

struct shape_case {
    const char *name, *pieces;
    double cov;
    enum structure_shape shape;
    size_t warmup_least, warmup_most; /* bins of the cut */
    const char *changes;              /* where they must be, within one bin */
    size_t cliff;                     /* of a write; 0 none */
    double sustained;                 /* level; NaN */
};

static const struct shape_case shape_cases[] = {
    {"flat", "120x10", 0.03, STRUCTURE_FLAT, 0, 0, "", 0, 10},
    {"flat, loud", "120x10", 0.3, STRUCTURE_FLAT, 0, 0, "", 0, 10},
    {"step down", "50x10 70x4", 0.03, STRUCTURE_SLOW_DOWN, 0, 0, "50", 50, 4},
    {"step down, exact", "50x10 70x4", 0, STRUCTURE_SLOW_DOWN, 0, 0, "50", 50,
     4},
    {"step down, fewest bins", "12x10 18x4", 0.03, STRUCTURE_SLOW_DOWN, 0, 0,
     "12", 12, 4},
    {"to nothing", "50x10 70x0", 0.03, STRUCTURE_SLOW_DOWN, 0, 0, "50", 50, 0},
    {"10 % down, exact", "60x10 60x9", 0, STRUCTURE_SLOW_DOWN, 0, 0, "60", 60,
     9},
    {"9 % down, exact", "60x10 60x9.1", 0, STRUCTURE_FLAT, 0, 0, "", 0, 9.55},
    {"warm-up", "20x5 100x10", 0.03, STRUCTURE_WARM_UP, 20, 30, "20", 0, 10},
    {"warm-up, exact", "20x5 100x10", 0, STRUCTURE_WARM_UP, 20, 20, "20", 0,
     10},
    {"warm-up, within a batch", "12x5 108x10", 0, STRUCTURE_WARM_UP, 15, 15,
     "12", 0, 10},
    {"warm-up from nothing", "10x0 110x10", 0.03, STRUCTURE_WARM_UP, 10, 20,
     "10", 0, 10},
    {"warm-up below a segment", "4x2 116x10", 0.03, STRUCTURE_WARM_UP, 5, 10,
     "", 0, 10},
    {"late rise is no warm-up", "80x5 40x10", 0.03, STRUCTURE_UNSTEADY, 0, 0,
     "80", 0, NAN},
    {"warm-up, cliff", "15x5 45x10 60x3", 0.03, STRUCTURE_SLOW_DOWN, 15, 25,
     "15 60", 60, 3},
    {"warm-up, early fall", "6x5 7x10 107x3", 0.02, STRUCTURE_SLOW_DOWN, 5, 5,
     "6 13", 13, 3},
    {"two steps down", "40x10 40x8 40x3", 0.02, STRUCTURE_SLOW_DOWN, 0, 0,
     "40 80", 80, 3},
    {"dip", "40x10 40x5 40x10", 0.03, STRUCTURE_UNSTEADY, 0, 0, "40 80", 0,
     NAN},
    {"hump", "40x5 20x10 60x5", 0.03, STRUCTURE_UNSTEADY, 0, 0, "40 60", 0,
     NAN},
    {"cliff, then waves", "40x20 20x5 20x7 20x5 20x7", 0.02, STRUCTURE_UNSTEADY,
     0, 0, "40 60 80 100", 40, NAN},
    {"long warm-up, then cliff", "30x20 30x25 60x5", 0.02, STRUCTURE_SLOW_DOWN,
     30, 30, "30 60", 60, 5},
    {"late rise, then cliff", "70x8 20x10 30x2", 0.02, STRUCTURE_UNSTEADY, 0, 0,
     "70 90", 90, 2},
    {"falls half way back", "40x10 40x2 40x6.5", 0.02, STRUCTURE_UNSTEADY, 0, 0,
     "40 80", 0, NAN},
    {"square wave", "24x9 24x5 24x9 24x5 24x9", 0.04, STRUCTURE_UNSTEADY, 0, 0,
     "24 48 72 96", 0, NAN},
    {"many bins", "400x10 600x5", 0.1, STRUCTURE_SLOW_DOWN, 0, 0, "400", 400,
     5},
};

static void check_cliff(const struct shape_case *c, const struct structure *s,
                        const int64_t *bytes)
{
    int64_t moved[3] = {0};

    if (s->cliff != (c->cliff > 0))
        fail_msg("%s: cliff %d", c->name, s->cliff);
    if (!s->cliff)
        return;
    for (size_t i = 0; i <= c->cliff; i++)
        for (size_t k = 0; k < 3; k++)
            if (i + 1 < c->cliff + k)
                moved[k] += bytes[i];
    if (s->cliff_bytes < moved[0] || s->cliff_bytes > moved[2])
        fail_msg("%s: cliff after %lld bytes", c->name,
                 (long long)s->cliff_bytes);
    assert_near((double)s->cliff_at_ns / WIDTH, (double)c->cliff, 1);
    assert_true(s->cliff_after_Bps < s->cliff_before_Bps);
}

static void check_shape(const struct shape_case *c, const struct structure *s)
{
    size_t wanted = 0, cut = (size_t)(s->warmup_ns / WIDTH);

    if (s->shape != c->shape)
        fail_msg("%s: %s", c->name, structure_shape_name(s->shape));
    if (cut < c->warmup_least || cut > c->warmup_most)
        fail_msg("%s: warm-up of %zu bins", c->name, cut);
    assert_int_equal(s->warmup_ns % (5 * WIDTH), 0);
    assert_int_equal(isnan(s->warmup_Bps), cut == 0);
    for (const char *p = c->changes; *p != '\0'; wanted++) {
        char *end;
        size_t bin = strtoul(p, &end, 10);
        if (!has_change(s, bin, 1))
            fail_msg("%s: no change at %zu", c->name, bin);
        p = end;
    }
    /* A start below the least segment may or may not be one. */
    if (wanted > 0 && s->change_count != wanted)
        fail_msg("%s: %zu changes", c->name, s->change_count);
    if (isnan(c->sustained))
        assert_true(isnan(s->sustained_Bps));
    else
        assert_near(s->sustained_Bps, 1e8 * c->sustained,
                    1e8 * (c->cov * 4 * c->sustained / 5 + 1e-9));
}

static void shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(shape_cases); i++) {
        const struct shape_case *c = &shape_cases[i];
        int64_t bytes[MOST];
        size_t n = build_text(bytes, c->pieces, 1, c->cov, 0, 11);
        struct structure s = find(bytes, n, true);
        check_shape(c, &s);
        check_cliff(c, &s, bytes);
        struct structure read = find(bytes, n, false);
        assert_int_equal(read.shape, s.shape);
        assert_false(read.cliff);
        assert_true(read.cliff_bytes == -1 && isnan(read.cliff_after_Bps));
    }
}

/* The same series with other units has the same structure. */
static void scale_does_not_matter(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(shape_cases); i++) {
        int64_t bytes[MOST];
        size_t n = build_text(bytes, shape_cases[i].pieces, 1, 0.05, 0.3, 5);
        struct structure s = find(bytes, n, true), large;
        for (size_t k = 0; k < n; k++)
            bytes[k] *= 100000;
        assert_true(structure_find(bytes, n, 50 * WIDTH, true, &large));
        assert_int_equal(large.shape, s.shape);
        assert_int_equal(large.warmup_ns, 50 * s.warmup_ns);
        assert_int_equal(large.change_count, s.change_count);
        for (size_t k = 0; k < s.change_count; k++) {
            assert_int_equal(large.change[k].bin, s.change[k].bin);
            assert_near(large.change[k].after_Bps, 2000 * s.change[k].after_Bps,
                        1e-9 * large.change[k].after_Bps);
        }
        assert_near(large.noise_pct, s.noise_pct, 1e-6);
    }
}

/* A bin that holds some of both rates says when the rate changed. */
static void cliff_within_a_bin(void **state)
{
    (void)state;
    for (int tenth = 0; tenth < 10; tenth++) {
        const double share = tenth / 10.0;
        int64_t bytes[100], moved = 0;
        for (size_t i = 0; i < COUNT(bytes); i++)
            bytes[i] = i < 40 ? 1000000 : 300000;
        bytes[40] = (int64_t)(300000 + 700000 * share + 0.5);
        for (size_t i = 0; i < 40; i++)
            moved += bytes[i];
        struct structure s = find(bytes, COUNT(bytes), true);
        assert_true(s.cliff);
        assert_int_equal(s.change_count, 1);
        assert_near((double)s.cliff_at_ns / WIDTH, 40 + share, 0.05);
        assert_near((double)s.cliff_bytes, (double)moved + 1e6 * share, 5e4);
        assert_true(s.change[0].at_bytes == s.cliff_bytes &&
                    s.change[0].at_ns == s.cliff_at_ns);
    }
}

static double squares(const int64_t *bytes, size_t from, size_t to)
{
    double mean = 0, sum = 0;

    for (size_t i = from; i < to; i++)
        mean += (double)bytes[i] / (double)(to - from);
    for (size_t i = from; i < to; i++)
        sum += ((double)bytes[i] - mean) * ((double)bytes[i] - mean);
    return sum;
}

/* Each change splits the segments that meet in it better than any other bin
 * would, and is told within its bin only where it stands out of the noise. */
static void check_places(const int64_t *bytes, size_t n,
                         const struct structure *s)
{
    double noise_Bps = 0;

    for (size_t i = 0; i < n; i++)
        noise_Bps += 10 * (double)bytes[i] / (double)n * s->noise_pct / 100;
    for (size_t i = 0; i < s->change_count; i++) {
        const struct structure_change *c = &s->change[i];
        size_t from = i > 0 ? c[-1].bin : 0;
        size_t to = i + 1 < s->change_count ? c[1].bin : n;
        double least =
            squares(bytes, from, c->bin) + squares(bytes, c->bin, to);
        assert_true(c->bin >= from + 6 && c->bin + 6 <= to);
        for (size_t at = from + 6; at + 6 <= to; at++)
            if (squares(bytes, from, at) + squares(bytes, at, to) <
                least * (1 - 1e-9))
                fail_msg("%zu is a better place than %zu", at, c->bin);
        double off = (double)c->at_ns / WIDTH - (double)c->bin;
        assert_true(fabs(off) <= 1);
        if (fabs(c->after_Bps - c->before_Bps) < 3.99 * noise_Bps)
            assert_near(off, 0, 0);
    }
}

static void places(void **state)
{
    int unclear = 0, changes = 0;

    (void)state;
    for (int t = 0; t < 60; t++) {
        int64_t bytes[120];
        double slope = -0.9 + 0.1 * (t % 6), cov = 0.02 * (t % 3);
        for (size_t i = 0; i < COUNT(bytes); i++)
            bytes[i] = (int64_t)(1e8 * (1 + slope * (double)i / 120) *
                                 (1 + cov * normal((uint64_t)t, i)));
        struct structure s = find(bytes, COUNT(bytes), true);
        check_places(bytes, COUNT(bytes), &s);
        changes += (int)s.change_count;

        struct piece step[PIECES] = {{60, 10}, {60, 8}};
        size_t n = build(bytes, step, 0.1, 0, (uint64_t)t);
        s = find(bytes, n, true);
        check_places(bytes, n, &s);
        unclear += (int)s.change_count;
    }
    assert_true(changes >= 100 && unclear >= 50);
}

/* A rate that falls evenly by 30 % falls by no step of 10 %, and yet it is
 * not flat; one that falls by 8 % is. */
static void drift(void **state)
{
    static const struct {
        double by;
        enum structure_shape shape;
    } cases[] = {
        {-0.3, STRUCTURE_SLOW_DOWN},
        {-0.08, STRUCTURE_FLAT},
        {0.08, STRUCTURE_FLAT},
        {0.6, STRUCTURE_UNSTEADY},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        for (int noisy = 0; noisy < 2; noisy++) {
            int64_t bytes[120];
            for (size_t k = 0; k < COUNT(bytes); k++)
                bytes[k] = (int64_t)(1e8 * (1 + cases[i].by * (double)k / 119) *
                                     (1 + noisy * 0.01 * normal(3, k)));
            struct structure s = find(bytes, COUNT(bytes), true);
            if (s.shape != cases[i].shape)
                fail_msg("%g: %s", cases[i].by, structure_shape_name(s.shape));
        }
}

/* More changes than there is room for: the largest stay. */
static void more_changes_than_room(void **state)
{
    int64_t bytes[MOST];
    size_t n = 0;

    (void)state;
    for (size_t p = 0; p < 20; p++) /* one pair differs by more */
        for (size_t i = 0; i < 50; i++, n++)
            bytes[n] =
                (int64_t)((p % 2 ? 2e8 : 1e8) * (p == 7 || p == 8 ? 5 : 1) *
                          (1 + 0.01 * normal(1, n)));
    struct structure s = find(bytes, n, true);
    assert_int_equal(s.shape, STRUCTURE_UNSTEADY);
    assert_true(s.change_count >= 10 && s.change_count <= STRUCTURE_CHANGES);
    assert_true(has_change(&s, 350, 0) && has_change(&s, 450, 0));
    for (size_t i = 1; i < s.change_count; i++) {
        assert_true(s.change[i].bin > s.change[i - 1].bin);
        assert_true(s.change[i].at_ns > s.change[i - 1].at_ns);
        assert_near(s.change[i].before_Bps, s.change[i - 1].after_Bps, 0);
    }
}

/* ---- simulation */

struct rates {
    int trials, alarms, found, alone, near;
};

static void simulate(const struct piece *pieces, double cov, double r,
                     uint64_t seed, int trials, struct rates *out)
{
    size_t at = pieces[0].bins;

    *out = (struct rates){.trials = trials};
    for (int t = 0; t < trials; t++) {
        int64_t bytes[MOST];
        size_t n = build(bytes, pieces, cov, r, seed + (uint64_t)t);
        struct structure s = find(bytes, n, true);
        out->alarms += s.shape != STRUCTURE_FLAT;
        out->found += has_change(&s, at, 5);
        out->near += has_change(&s, at, 1);
        out->alone += has_change(&s, at, 5) && s.change_count == 1;
    }
}

static double percent(int count, int of)
{
    return of > 0 ? 100.0 * count / of : 0;
}

static void false_alarms(void **state)
{
    static const struct {
        double r;
        int n, trials;
        double most_pct;
    } cases[] = {
        {0, 30, 1000, 2.5},  {0, 60, 1000, 1.5},   {0, 120, 1000, 1},
        {0, 400, 150, 1},    {0.3, 30, 1000, 4},   {0.3, 60, 1000, 3},
        {0.3, 120, 1000, 2}, {0.3, 400, 150, 1.5}, {0.6, 30, 1000, 8},
        {0.6, 60, 1000, 6},  {0.6, 120, 1000, 4},  {0.6, 400, 150, 2},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct piece flat[PIECES] = {{(size_t)cases[i].n, 10}};
        struct rates rates;
        simulate(flat, 0.2, cases[i].r, 1000 * (i + 1), cases[i].trials,
                 &rates);
        double pct = percent(rates.alarms, rates.trials);
        print_message("# false alarms, r %.1f, %3d bins, noise 20 %%: "
                      "%.2f %%\n",
                      cases[i].r, cases[i].n, pct);
        if (pct > cases[i].most_pct)
            fail_msg("r %.1f, %d bins: %.2f %% false alarms", cases[i].r,
                     cases[i].n, pct);
    }
}

static void detection(void **state)
{
    static const struct {
        int n;
        double cov, r, step;
        double found_pct, near_pct; /* at least; near: of those found */
    } cases[] = {
        /* Half of the steps of just 10 % measure less than that. */
        {120, 0.02, 0, -0.10, 30, 99},   {120, 0.02, 0, -0.15, 99, 99},
        {120, 0.05, 0, -0.15, 98, 95},   {120, 0.05, 0, -0.20, 99, 98},
        {120, 0.05, 0, -0.30, 99, 99},   {120, 0.05, 0, -0.50, 99, 99},
        {120, 0.05, 0, 0.50, 99, 99},    {120, 0.05, 0.6, -0.20, 97, 97},
        {120, 0.05, 0.6, -0.30, 99, 98}, {120, 0.05, 0.6, -0.50, 99, 98},
        {120, 0.10, 0, -0.30, 98, 97},   {120, 0.10, 0.6, -0.50, 98, 97},
        {60, 0.05, 0, -0.20, 97, 97},    {60, 0.05, 0, -0.50, 99, 99},
        {60, 0.05, 0.6, -0.50, 99, 98},  {30, 0.02, 0, -0.30, 99, 99},
        {30, 0.05, 0, -0.50, 98, 99},    {30, 0.05, 0.6, -0.50, 98, 97},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t at = (size_t)cases[i].n * 2 / 5;
        struct piece step[PIECES] = {
            {at, 10},
            {(size_t)cases[i].n - at, 10 * (1 + cases[i].step)},
        };
        struct rates rates;
        simulate(step, cases[i].cov, cases[i].r, 50000 * (i + 1), 400, &rates);
        double found = percent(rates.found, rates.trials);
        double near = percent(rates.near, rates.found);
        double alone = percent(rates.alone, rates.found);
        print_message("# step %+3.0f %%, noise %2.0f %%, r %.1f, %3d bins: "
                      "found %.1f %%, %.1f %% of them within a bin, %.1f %% "
                      "with no other\n",
                      100 * cases[i].step, 100 * cases[i].cov, cases[i].r,
                      cases[i].n, found, near, alone);
        if (found < cases[i].found_pct || near < cases[i].near_pct ||
            alone < 90)
            fail_msg("case %zu: %.1f %%, %.1f %%, %.1f %%", i, found, near,
                     alone);
    }
}

/* Cliffs of a write at any place: its bytes, within one bin. */
static void cliff_position(void **state)
{
    int right = 0, trials = 500;
    double error = 0;

    (void)state;
    for (int t = 0; t < trials; t++) {
        size_t at = 10 + (size_t)rng_below(8, (uint64_t)t, 100);
        struct piece cliff[PIECES] = {{at, 10}, {120 - at, 3.5}};
        int64_t bytes[MOST], before = 0;
        size_t n =
            build(bytes, cliff, 0.05, t % 2 ? 0.6 : 0, 777000 + (uint64_t)t);
        struct structure s = find(bytes, n, true);
        for (size_t i = 0; i < at; i++)
            before += bytes[i];
        double off = fabs((double)(s.cliff_bytes - before)) / 1e8;
        right += s.cliff && off <= 1;
        error += s.cliff ? off : 1;
    }
    print_message("# cliff: within one bin in %.1f %%, on average %.2f bins "
                  "off\n",
                  percent(right, trials), error / trials);
    assert_true(percent(right, trials) >= 99);
    assert_true(error / trials <= 0.2);
}

static void warm_up_found(void **state)
{
    enum { STEP, RAMP, APPROACH, KINDS };
    static const char *const names[KINDS] = {"step", "ramp", "approach"};
    const int trials = 300;

    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        int found = 0;
        for (int t = 0; t < trials; t++) {
            int64_t bytes[120];
            for (size_t i = 0; i < COUNT(bytes); i++) {
                double x = (double)i, level = 1;
                if (kind == STEP)
                    level = i < 15 ? 0.5 : 1;
                else if (kind == RAMP)
                    level = fmin(x / 20, 1);
                else
                    level = 1 - 0.8 * exp(-x / 4);
                double e = normal(4000 + (uint64_t)t, i);
                bytes[i] = (int64_t)(1e8 * level * (1 + 0.04 * e));
            }
            struct structure s = find(bytes, COUNT(bytes), true);
            found += s.shape == STRUCTURE_WARM_UP && s.warmup_ns > 0;
            if (!isnan(s.sustained_Bps))
                assert_near(s.sustained_Bps, 1e9, 4e7);
        }
        print_message("# warm-up, %s: %.1f %%\n", names[kind],
                      percent(found, trials));
        assert_true(percent(found, trials) >= 95);
    }
}

/* The last step of a staircase found in a ramp comes before its end. */
static void ramp_is_left_out(void **state)
{
    int64_t bytes[120];

    (void)state;
    for (int length = 10; length <= 40; length++) {
        for (int i = 0; i < 120; i++)
            bytes[i] = i < length ? 1000000 * (int64_t)i / length : 1000000;
        struct structure s = find(bytes, COUNT(bytes), true);
        assert_int_equal(s.shape, STRUCTURE_WARM_UP);
        assert_in_range(s.warmup_ns / WIDTH, length * 8 / 10 - 5, length + 5);
        assert_near(s.sustained_Bps, 1e7, 1e5);
        double sum = 0;
        for (int64_t i = s.warmup_ns / WIDTH; i < 120; i++)
            sum += (double)bytes[i];
        assert_true(s.sustained_Bps * (120 - (double)s.warmup_ns / WIDTH) >=
                    10 * sum * (1 - 1e-9));
    }
}

/* Single bins that stall, bursts, waves and large transfers are no lasting
 * changes. */
static void odd_noise(void **state)
{
    enum { STALLS, BURSTS, WAVES, TRANSFERS, SKEWED, KINDS };
    static const char *const names[KINDS] = {"stalls", "bursts", "waves",
                                             "long transfers", "skewed"};
    static const double most_pct[KINDS] = {3, 5, 1, 5, 6};
    const int trials = 300;

    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        int alarms = 0;
        for (int t = 0; t < trials; t++) {
            uint64_t seed = 900000 + (uint64_t)(kind * trials + t);
            int64_t bytes[120];
            for (size_t i = 0; i < COUNT(bytes); i++) {
                double e = normal(seed, i);
                bool rare = rng_below(~seed, i, 100) < 2;
                double level[KINDS] = {
                    rare ? 0 : 1 + 0.03 * e,
                    rare ? 10 : 1 + 0.03 * e,
                    1 + 0.2 * sin(0.5 * (double)i + t),
                    1 + 0.05 * normal(seed, i / 8),
                    exp(0.5 * e),
                };
                bytes[i] = (int64_t)(1e8 * fmax(level[kind], 0));
            }
            struct structure s = find(bytes, COUNT(bytes), true);
            alarms += s.shape != STRUCTURE_FLAT;
        }
        print_message("# false alarms, %s: %.1f %%\n", names[kind],
                      percent(alarms, trials));
        if (percent(alarms, trials) > most_pct[kind])
            fail_msg("%s: %d of %d", names[kind], alarms, trials);
    }
}

/* ---- bins and words */

static void rebin(void **state)
{
    static const struct {
        size_t n;
        int64_t fine_ns;
        size_t bins;
        int64_t width_ns;
    } cases[] = {
        {0, 10 * MS, 0, 100 * MS},
        {9, 10 * MS, 0, 100 * MS},
        {10, 10 * MS, 1, 100 * MS},
        {309, 10 * MS, 30, 100 * MS}, /* a rest of 9 is left out */
        {1200, 10 * MS, 120, 100 * MS},
        {1201, 10 * MS, 109, 110 * MS},
        {6000, 10 * MS, 120, 500 * MS},
        {100, 30 * MS, 25, 120 * MS}, /* whole fine bins */
        {100, 100 * MS, 100, 100 * MS},
        {60, 640 * MS, 60, 640 * MS},
        {121, 640 * MS, 60, 1280 * MS},
        {3000, 1, 0, 100 * MS},
    };
    int64_t fine[6000], bytes[6000], width_ns;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t sum = 0;
        for (size_t k = 0; k < cases[i].n; k++)
            fine[k] = (int64_t)k + 1;
        size_t bins = structure_rebin(fine, cases[i].n, cases[i].fine_ns, bytes,
                                      &width_ns);
        if (bins != cases[i].bins || width_ns != cases[i].width_ns)
            fail_msg("case %zu: %zu of %lld", i, bins, (long long)width_ns);
        assert_true(bins <= STRUCTURE_MAX_BINS);
        for (size_t k = 0; k < bins; k++)
            sum += bytes[k];
        int64_t used = (int64_t)bins * (width_ns / cases[i].fine_ns);
        assert_int_equal(sum, used * (used + 1) / 2);
        /* In place is the same. */
        assert_int_equal(structure_rebin(fine, cases[i].n, cases[i].fine_ns,
                                         fine, &width_ns),
                         bins);
        assert_memory_equal(fine, bytes, bins * sizeof(*fine));
    }
}

static void names(void **state)
{
    static const char *const expected[] = {"too-short", "flat", "warm-up",
                                           "slow-down", "unsteady"};

    (void)state;
    for (int i = 0; i <= STRUCTURE_UNSTEADY; i++)
        assert_string_equal(structure_shape_name((enum structure_shape)i),
                            expected[i]);
}

static void sentences(void **state)
{
    static const struct {
        const char *pieces; /* level: GiB/s */
        bool write;
        const char *text;
    } cases[] = {
        {"12x1", true, "too short to judge: 12 bins of 100 ms"},
        {"1x1", true, "too short to judge: 1 bin of 100 ms"},
        {"60x3.125", true, "flat: 3.1 GiB/s"},
        {"60x0.9999", true, "flat: 1023.9 MiB/s"},
        {"60x0.99999", true, "flat: 1.0 GiB/s"},
        {"60x0", true, "flat: 0.0 B/s"},
        {"42x9.81 60x3.1", true,
         "cache full after 41.2 GiB: 9.8 -> 3.1 GiB/s; sustained 3.1 GiB/s"},
        {"42x9.81 60x3.1", false,
         "slow-down: 9.8 -> 3.1 GiB/s after 4.2 s (41.2 GiB)"},
        {"42x9.81 60x0.5", true,
         "cache full after 41.2 GiB: 9.8 GiB/s -> 512.0 MiB/s; sustained "
         "512.0 MiB/s"},
        {"40x10 60x8.5", true,
         "slow-down: 10.0 -> 8.5 GiB/s after 4.0 s (40.0 GiB)"},
        {"40x10 30x8 30x5", false,
         "slow-down: 10.0 -> 5.0 GiB/s in 2 steps, the first after 4.0 s "
         "(40.0 GiB)"},
        {"40x1.2 80x2.4", true,
         "warm-up: the first 4.0 s were slower, 1.2 -> 2.4 GiB/s"},
        {"20x5 40x10 60x2", true,
         "cache full after 50.0 GiB: 10.0 -> 2.0 GiB/s; sustained 2.0 GiB/s; "
         "warm-up: the first 2.0 s were slower"},
        {"40x10 30x2 30x3", true,
         "cache full after 40.0 GiB: 10.0 -> 2.0 GiB/s; no steady state "
         "since, 2.0 to 3.0 GiB/s"},
        {"70x8 20x10 30x2", true,
         "cache full after 76.0 GiB: 10.0 -> 2.0 GiB/s; sustained 2.0 GiB/s"},
        {"80x1 40x2", true,
         "no steady state: 1 lasting change of the rate, 1.0 to 2.0 GiB/s"},
        {"40x10 40x5 40x10", true,
         "no steady state: 2 lasting changes of the rate, 5.0 to 10.0 GiB/s"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t bytes[MOST];
        struct str text = {0};
        size_t n = build_text(bytes, cases[i].pieces, GiB / 1e8, 0, 0, 1);
        struct structure s = find(bytes, n, cases[i].write);
        structure_sentence(&s, &text);
        assert_string_equal(str_text(&text), cases[i].text);
        str_release(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_short),
        cmocka_unit_test(constant),
        cmocka_unit_test(noise_by_hand),
        cmocka_unit_test(shapes),
        cmocka_unit_test(scale_does_not_matter),
        cmocka_unit_test(cliff_within_a_bin),
        cmocka_unit_test(places),
        cmocka_unit_test(drift),
        cmocka_unit_test(more_changes_than_room),
        cmocka_unit_test(false_alarms),
        cmocka_unit_test(detection),
        cmocka_unit_test(cliff_position),
        cmocka_unit_test(warm_up_found),
        cmocka_unit_test(ramp_is_left_out),
        cmocka_unit_test(odd_noise),
        cmocka_unit_test(rebin),
        cmocka_unit_test(names),
        cmocka_unit_test(sentences),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("structure", tests, NULL, NULL);
}
