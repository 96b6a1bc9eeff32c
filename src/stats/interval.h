/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_STATS_INTERVAL_H
#define IOBM_STATS_INTERVAL_H

/*
 * The interval of a median from order statistics, which assumes no
 * distribution: docs/method.md section 4.  Pure.
 */

#include <stddef.h>

#define INTERVAL_PCT 95.0 /* what is asked for unless told otherwise */

/* Of n independent values in ascending order, x(1) .. x(n), the median of
 * what they come from lies in [x(low), x(high)] with 'confidence_pct'. */
struct interval {
    size_t low, high;      /* from 1 */
    double confidence_pct; /* exact for continuous values, else at least */
};

/*
 * The narrowest interval [x(k), x(n+1-k)] with at least 'wanted_pct', by the
 * binomial: P(k) = 1 - 2 P(B(n, 1/2) < k).  When there is none (95 %: n < 6)
 * the widest, [x(1), x(n)], with the confidence that it has; so look at
 * confidence_pct before you name it.  n = 2 has 50 %; n < 2 has no interval:
 * ranks 0 and NaN.
 */
void interval_median(size_t n, double wanted_pct, struct interval *out);

#endif
