/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Offsets between clocks, with bounds that hold by causality: the root
 * replied after the request left and before the reply came.  Who exchanges
 * stamps with whom, and when, is in src/par/timeline.c.
 */

#include "stats/clockfit.h"

#include <math.h>

/* The wander of a clock that is taken for granted: 0.1 ppm. */
#define WANDER_PPM 0.1

static int64_t distance(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

int64_t clockfit_drift(int64_t ns)
{
    return ns / (1000000 / CLOCKFIT_DRIFT_PPM) +
           (ns % (1000000 / CLOCKFIT_DRIFT_PPM) != 0);
}

struct interval {
    int64_t low, high;
};

/* What a sample says of the offset at 'local_ns'.  The root read its clock at
 * an unknown instant between A and B: the farther end counts. */
static struct interval widened(const struct clock_sample *sample,
                               int64_t local_ns)
{
    int64_t to_sent = distance(local_ns, sample->sent_ns);
    int64_t to_received = distance(local_ns, sample->received_ns);
    int64_t by = clockfit_drift(to_sent > to_received ? to_sent : to_received);

    return (struct interval){
        sample->root_ns - sample->received_ns - by,
        sample->root_ns - sample->sent_ns + by,
    };
}

static int64_t round_trip(const struct clock_sample *sample)
{
    return sample->received_ns - sample->sent_ns;
}

/* The sample with the shortest round trip that is one: a clock set back in
 * between gives less than nothing. */
static const struct clock_sample *best_sample(
    const struct clock_sample *samples, size_t n)
{
    const struct clock_sample *best = &samples[0];

    for (size_t i = 1; i < n; i++)
        if (round_trip(&samples[i]) >= 0 &&
            (round_trip(best) < 0 ||
             round_trip(&samples[i]) < round_trip(best)))
            best = &samples[i];
    return best;
}

struct clock_point clockfit_point(const struct clock_sample *samples, size_t n)
{
    const struct clock_sample *best = best_sample(samples, n);
    struct clock_point point = {.rtt_min_ns = round_trip(best)};

    point.local_ns = best->sent_ns + point.rtt_min_ns / 2;
    struct interval common = widened(best, point.local_ns);
    for (size_t i = 0; i < n; i++) {
        struct interval one = widened(&samples[i], point.local_ns);
        if (round_trip(&samples[i]) < 0)
            point.anomaly = true;
        if (one.low > common.low)
            common.low = one.low;
        if (one.high < common.high)
            common.high = one.high;
    }
    if (common.low > common.high)
        point.anomaly = true;
    if (point.anomaly)
        common = widened(best, point.local_ns);

    int64_t width = distance(common.high, common.low);
    point.offset_ns = common.low + (common.high - common.low) / 2;
    point.bound_ns = width / 2 + width % 2;
    if (point.bound_ns == 0) /* 0 is the root's own clock */
        point.bound_ns = 1;
    return point;
}

bool clockfit_check(const struct clock_point *point,
                    const struct clock_sample *samples, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct interval one = widened(&samples[i], point->local_ns);
        if (round_trip(&samples[i]) < 0 ||
            one.low > point->offset_ns + point->bound_ns ||
            one.high < point->offset_ns - point->bound_ns)
            return false;
    }
    return true;
}

struct clock_point clockfit_chain(const struct clock_point *near,
                                  const struct clock_point *far)
{
    /* The far leg was measured at another instant of the middle's clock. */
    int64_t apart = distance(near->local_ns + near->offset_ns, far->local_ns);
    bool same_clock = far->offset_ns == 0 && far->bound_ns == 0;

    return (struct clock_point){
        .local_ns = near->local_ns,
        .offset_ns = near->offset_ns + far->offset_ns,
        .bound_ns = near->bound_ns + far->bound_ns +
                    (same_clock ? 0 : clockfit_drift(apart)),
        .rtt_min_ns = near->rtt_min_ns + far->rtt_min_ns,
        .anomaly = near->anomaly || far->anomaly,
    };
}

/* 'value' * 'part' / 'whole', to the nearest; hours in ns times their drift
 * leave 64 bits. */
static int64_t fraction(int64_t value, int64_t part, int64_t whole)
{
    __int128 product = (__int128)value * part;
    __int128 half = whole / 2;

    return (int64_t)((product + (product < 0 ? -half : half)) / whole);
}

static int64_t up_ns(double ns)
{
    return (int64_t)ceil(ns);
}

/* With one point only, the drift that is taken for granted is all we know. */
static int64_t from_one_point(const struct clock_point *point, int64_t local_ns,
                              int64_t *bound_ns)
{
    bool exact = point->offset_ns == 0 && point->bound_ns == 0;

    *bound_ns = exact ? 0
                      : point->bound_ns +
                            clockfit_drift(distance(local_ns, point->local_ns));
    return local_ns + point->offset_ns;
}

int64_t clockfit_global(const struct clock_point *a,
                        const struct clock_point *b, int64_t local_ns,
                        double skew_change_ppm, int64_t *bound_ns)
{
    int64_t span = b->local_ns - a->local_ns;

    if (span <= 0)
        return from_one_point(b, local_ns, bound_ns);
    if (a->bound_ns == 0 && b->bound_ns == 0) {
        *bound_ns = 0;
        return local_ns + a->offset_ns;
    }

    int64_t after = local_ns - a->local_ns;
    int64_t before = b->local_ns - local_ns;
    const struct clock_point *near = after < before ? a : b;
    int64_t apart = distance(local_ns, near->local_ns);
    double wander = fmax(WANDER_PPM, fabs(skew_change_ppm)) * 1e-6;
    double bound;
    if (after >= 0 && before >= 0)
        bound = ((double)a->bound_ns * (double)before +
                 (double)b->bound_ns * (double)after) /
                (double)span;
    else /* the line's own slope is uncertain by both bounds */
        bound = (double)near->bound_ns +
                ((double)a->bound_ns + (double)b->bound_ns) * (double)apart /
                    (double)span;
    *bound_ns = up_ns(bound + wander * (double)apart);
    return local_ns + near->offset_ns +
           fraction(b->offset_ns - a->offset_ns, local_ns - near->local_ns,
                    span);
}

double clockfit_skew_ppm(const struct clock_point *a,
                         const struct clock_point *b)
{
    int64_t span = b->local_ns - a->local_ns;

    if (span == 0)
        return 0;
    return (double)(b->offset_ns - a->offset_ns) * 1e6 / (double)span;
}
