/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_STATS_STRUCTURE_H
#define IOBM_STATS_STRUCTURE_H

/*
 * Time structure of one phase (docs/method.md section 3): did the rate warm
 * up, change for good, or never settle?  Arithmetic over bytes per bin; no
 * clock, no MPI.  Rates are bytes per second; n/a is NaN.
 *
 * Noise.  With d the differences of neighbouring bins,
 *     s2 = (1.4826 * median|d| / sqrt 2)^2 * (1 + r) / (1 - r)^2
 *     r  = clamp(1 + 2 * acf1(d winsorised at 3 scaled MAD), 0, 0.8)
 * For values x with autocorrelation r^k at lag k, var d = 2 (1 - r) var x and
 * acf1(d) = -(1 - r) / 2, so that s2 estimates var x * (1 + r) / (1 - r): n
 * times the variance of the mean of n bins.  A few steps in the series move
 * neither median nor winsorised correlation much.  Where the median is below
 * a thousandth of the mean, most bins lie within one transfer; then the mean
 * square of d counts if it is larger, the four largest clipped to the fifth.
 *
 * Changes.  The partition into segments of at least max(5, n / 20) bins with
 * the least sum of squared deviations from the segments' means plus 4 * s2 *
 * ln n per change, found exactly by dynamic programming: B. Jackson et al.,
 * "An algorithm for optimal partitioning of data on an interval", IEEE Signal
 * Processing Letters 12(2), 2005.  Then the smallest jump is taken back, its
 * segments joined and the others placed anew, until all are >= 10 % of the
 * rate before, by means and by medians: in a short segment one bin that
 * stalled moves the mean.
 *
 * Warm-up.  MSER over means Z_j of k batches of five bins: leave out the d <=
 * k / 2 batches that minimise
 *     sum over j > d of (Z_j - mean Z)^2 / (k - d)^2
 * K. P. White, "An effective truncation heuristic for bias reduction in
 * simulation output", Simulation 69(6), 1997; batches of five: White, Cobb,
 * Spratt, "A comparison of five steady-state truncation heuristics for
 * simulation", Winter Simulation Conference 2000.  On a flat series, and
 * behind a warm-up, the rule often cuts more than it need.  So batches before
 * the cut whose mean is not slower by 10 % are taken back; and what is left
 * counts only where it is slower than the rest by 10 %, by its mean and by the
 * median of its first batch, and by more than the penalty of a change.  Bins
 * behind the first lasting fall do not take part: they would be the "steady"
 * ones, and the fast bins before them the warm-up.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str;

#define STRUCTURE_MIN_BINS     30
#define STRUCTURE_MAX_BINS     120 /* that structure_rebin() makes */
#define STRUCTURE_MIN_WIDTH_NS INT64_C(100000000)
#define STRUCTURE_CHANGES      16 /* of more, the largest are kept */

struct structure_change {
    size_t bin;       /* the first of the new rate */
    int64_t at_ns;    /* since the first bin's start; within the bin where the
                         step stands out of the noise, else its start */
    int64_t at_bytes; /* moved from the first bin's start until then; what was
                         moved before, as ranks started, is not in it */
    double before_Bps, after_Bps; /* means of the segments that meet here */
};

enum structure_shape {
    STRUCTURE_SHORT,     /* fewer than STRUCTURE_MIN_BINS */
    STRUCTURE_FLAT,      /* no lasting change, no warm-up */
    STRUCTURE_WARM_UP,   /* slower at first, then flat */
    STRUCTURE_SLOW_DOWN, /* falls only, behind a warm-up if there is one */
    STRUCTURE_UNSTEADY   /* a rise that is no warm-up: no steady state */
};

struct structure {
    enum structure_shape shape;
    size_t bins;
    int64_t width_ns;
    int64_t warmup_ns; /* MSER-5 cut, see above; 0 none */
    double warmup_Bps; /* rate before the cut */
    size_t change_count;
    struct structure_change change[STRUCTURE_CHANGES];

    /* A write that fell by a change point and stayed down: the largest fall
     * with every rate before it, but for the warm-up, above the middle of the
     * fall and every rate behind it below.  None: -1 and NaN. */
    bool cliff;
    int64_t cliff_bytes, cliff_at_ns;
    double cliff_before_Bps, cliff_after_Bps;

    double sustained_Bps; /* rate of the last segment, after warm-up and
                             cliff; n/a when short or not steady there */
    double noise_pct;     /* sqrt(s2) / mean, in per cent, for the reader */
};

/*
 * 'bytes' (>= 0) in each of 'n' bins of 'width_ns' > 0, from when all ranks
 * are active to when the first ends.  O(n^2).  False when memory is short.
 */
bool structure_find(const int64_t *bytes, size_t n, int64_t width_ns,
                    bool write, struct structure *out);

/*
 * Join bins of 'fine_ns' to bins of max(100 ms, n * fine_ns / 120), rounded up
 * to whole fine bins; a rest that fills no bin is left out.  Returns how many
 * there are, at most STRUCTURE_MAX_BINS, in 'bytes', which may be 'fine'.
 */
size_t structure_rebin(const int64_t *fine, size_t n, int64_t fine_ns,
                       int64_t *bytes, int64_t *width_ns);

/* "too-short", "flat", "warm-up", "slow-down", "unsteady" */
const char *structure_shape_name(enum structure_shape shape);

/* Add one plain sentence without a full stop: "cache full after 41.2 GiB: 9.8
 * -> 3.1 GiB/s; sustained 3.1 GiB/s".  A write is said to have filled a cache
 * when it fell by a fifth or more. */
void structure_sentence(const struct structure *structure, struct str *out);

#endif
