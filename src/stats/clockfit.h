/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_STATS_CLOCKFIT_H
#define IOBM_STATS_CLOCKFIT_H

/*
 * Clock offsets by exchange of stamps, with proven bounds: docs/method.md
 * section 2.  Pure arithmetic.  The offset is root minus local: a local time
 * t is t + offset on the global timeline.
 *
 * A point of the root's own clock has offset 0 and bound 0; a point that was
 * measured never has bound 0, and between two points of bound 0 there is no
 * uncertainty.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Two clocks are taken never to run apart faster than this.  A larger skew
 * between two points means that one of them was set. */
#define CLOCKFIT_DRIFT_PPM 200

/* How far two clocks can part in 'ns' >= 0, rounded up. */
int64_t clockfit_drift(int64_t ns);

struct clock_sample {
    int64_t sent_ns;     /* A, local: before the request left */
    int64_t root_ns;     /* G, root: when it replied */
    int64_t received_ns; /* B, local: after the reply came */
};

struct clock_point {
    int64_t local_ns;  /* where on the local clock the point lies */
    int64_t offset_ns; /* root minus local there */
    int64_t bound_ns;  /* the true offset lies within offset +- bound */
    int64_t rtt_min_ns;
    bool anomaly; /* the intervals had no common part */
};

/*
 * Each sample bounds the offset to [G-B, G-A]; widened by 200 ppm of its
 * distance to the middle of the best sample (from its farther end, so that
 * the bound holds wherever between A and B the root replied), all are
 * intersected.  The point lies in that middle.  Without a common part, or when
 * a sample's B is before its A, the best sample alone counts, and 'anomaly'
 * is set.  n >= 1.
 */
struct clock_point clockfit_point(const struct clock_sample *samples, size_t n);

/* Whether fresh samples agree with the point (their widened intervals meet
 * [offset - bound, offset + bound]). */
bool clockfit_check(const struct clock_point *point,
                    const struct clock_sample *samples, size_t n);

/* Add the bounds and offsets of two legs: local to middle, middle to root.
 * What the clocks can have drifted between the legs is added to the bound. */
struct clock_point clockfit_chain(const struct clock_point *near,
                                  const struct clock_point *far);

/*
 * A local time on the global timeline, from the points before and after:
 * linear interpolation; outside [a, b] the nearer end with the skew between
 * them.  The bound is the interpolated bound plus wander
 * w*min(t-ta, tb-t), w = max(0.1 ppm, |skew_change_ppm|); outside, the nearer
 * end's bound, the uncertainty of the skew and the wander of the distance.
 * When both points lie at the same time, b alone and 200 ppm of the distance.
 */
int64_t clockfit_global(const struct clock_point *a,
                        const struct clock_point *b, int64_t local_ns,
                        double skew_change_ppm, int64_t *bound_ns);

/* Rate of the root's clock against the local one between two points, less 1,
 * in ppm; 0 when they coincide. */
double clockfit_skew_ppm(const struct clock_point *a,
                         const struct clock_point *b);

#endif
