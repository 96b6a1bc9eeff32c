/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_STATS_COMPARE_H
#define IOBM_STATS_COMPARE_H

/*
 * Two sets of repeats side by side, and many such pairs: docs/method.md
 * section 5.  No distribution is assumed but that the sets differ by a factor.
 * Pure.
 */

#include <stdbool.h>
#include <stddef.h>

#define COMPARE_MARGIN_PCT     3.0
#define COMPARE_CONFIDENCE_PCT 95.0

/*
 * Up to m n = 2500 (50 and 50) the distributions are exact.  Above they are
 * normal, with continuity correction: off by less than 0.0007 in p where p is
 * below 0.1 (0.003 elsewhere) when the smaller set has 25 values or more, and
 * by 0.004 (0.012) when it has 5.
 */
#define COMPARE_EXACT_MAX 2500

/* Above this, no number of repeats is promised to do. */
#define COMPARE_NEEDED_MAX 10000

/*
 * With the margin M (3 %: from 1/1.03 to 1.03) and the interval of the ratio:
 *
 * same           the interval holds 1 and lies within the margin
 * changed small  it does not hold 1, and lies within the margin
 * faster/slower  it does not hold 1, and the ratio is beyond the margin
 * inconclusive   all else; also when so few repeats have no interval of the
 *                confidence that was asked for: 3 and 3 at 95 %
 */
enum compare_verdict {
    COMPARE_INCONCLUSIVE,
    COMPARE_SAME,
    COMPARE_CHANGED_SMALL,
    COMPARE_FASTER,
    COMPARE_SLOWER,
};

struct compare_result {
    double ratio;          /* b over a, Hodges-Lehmann: the median of all m n
                              ratios, on the log scale; above 1: b is faster */
    double low, high;      /* [D(k), D(mn+1-k)] of those ratios in order; NaN
                              when that has no confidence: 1 and 1 */
    double confidence_pct; /* of the interval: what was asked for or a bit
                              more; less when inconclusive for want of n */
    double p;              /* Mann-Whitney, two-sided, exact with ties too */
    enum compare_verdict verdict;
    size_t needed_n; /* repeats of each set that should decide it, if ratio
                        and spread stay as they are; 0 when decided; at most
                        COMPARE_NEEDED_MAX */
    size_t k;
    size_t m, n;     /* values used */
    double p_family; /* p after Holm: compare_family(); p before */
    double wanted_pct, margin_pct;
};

/*
 * 'a' is what 'b' is compared with.  Values that are NaN, infinite, 0 or
 * negative are of repeats that are not complete, and are left out.  An empty
 * set is inconclusive, with NaN.  False, with 'out' cleared, when memory is
 * short, the margin is negative or not finite, or not 0 < confidence < 100.
 */
bool compare_sets(const double *a, size_t m, const double *b, size_t n,
                  double margin_pct, double confidence_pct,
                  struct compare_result *out);

/* "faster", "slower", "same", "changed but small", "inconclusive". */
const char *compare_verdict_name(enum compare_verdict verdict);

/*
 * The least n for which n and n repeats can have an interval of
 * 'confidence_pct', when 'points' are compared at once: 4 for 95 % and 1.
 * COMPARE_NEEDED_MAX when none can: 100 %.
 */
size_t compare_least_n(double confidence_pct, size_t points);

/* Holm's adjustment of 'n' p-values; NaN are no tests and stay NaN.
 * 'adjusted' must not overlap 'p'. */
void compare_holm(const double *p, size_t n, double *adjusted);

/*
 * The verdicts of many points, together: sets p_family, and takes back
 * "faster", "slower" and "changed but small" where it is above
 * 1 - confidence.  Intervals stay what they are: each for itself.  False, and
 * nothing done, when memory is short.
 */
bool compare_family(struct compare_result *results, size_t n);

/* Geometric mean of the ratios that are finite and above 0; NaN for none. */
double compare_geomean(const double *ratio, size_t n);

#endif
