/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_STATS_HIST_H
#define IOBM_STATS_HIST_H

/*
 * Latency histogram of docs/method.md section 8: log-linear, 128 sub-buckets
 * per power of two up to 2^40 ns, so that no bucket is wider than 1/128 of
 * what it holds.  Counts of several ranks add up to the histogram of all:
 * sum 'n', 'sum_ns' and 'count', and take the least 'min_ns' and the largest
 * 'max_ns'.  Nothing allocates.
 */

#include <stddef.h>
#include <stdint.h>

/* Any log-linear scale of 2^bits sub-buckets: one bucket per ns up to
 * 2^bits, then 2^bits for each power of two up to 2^40 ns. */
#define HIST_TOP_BITS     40
#define HIST_TOP_NS       (INT64_C(1) << HIST_TOP_BITS)
#define HIST_SCALE(bits)  ((HIST_TOP_BITS + 1 - (bits)) << (bits))
#define HIST_SUB_BITS     7
#define HIST_BUCKETS      HIST_SCALE(HIST_SUB_BITS)
#define HIST_TAIL_SAMPLES 10

struct hist {
    int64_t n, sum_ns;
    int64_t min_ns, max_ns; /* exact; INT64_MAX and 0 when n is 0 */
    int64_t count[HIST_BUCKETS];
};

/* Below 0 counts as 0; HIST_TOP_NS and above are in the last bucket. */
static inline int hist_scale_bucket(int64_t ns, int bits)
{
    if (ns < 0)
        ns = 0;
    if (ns >= HIST_TOP_NS)
        ns = HIST_TOP_NS - 1;
    /* Up to 2^bits the shift is 0 and the bucket is the value. */
    int shift =
        63 - bits - __builtin_clzll((unsigned long long)ns | (1ULL << bits));
    return (shift << bits) + (int)(ns >> shift);
}

static inline int hist_bucket(int64_t ns)
{
    return hist_scale_bucket(ns, HIST_SUB_BITS);
}

/* In the timed loop. */
static inline void hist_add(struct hist *h, int64_t ns)
{
    if (ns < 0)
        ns = 0;
    h->n++;
    h->sum_ns += ns;
    if (ns < h->min_ns)
        h->min_ns = ns;
    if (ns > h->max_ns)
        h->max_ns = ns;
    h->count[hist_bucket(ns)]++;
}

/* Writes all of it: the timed loop finds its pages in place. */
void hist_init(struct hist *h);
void hist_merge(struct hist *into, const struct hist *from);

/* What a bucket holds: [low, high). */
void hist_edges(int bucket, int64_t *low_ns, int64_t *high_ns);
void hist_scale_edges(int bucket, int bits, int64_t *low_ns, int64_t *high_ns);

/*
 * The ceil(q n)-th smallest value, as the middle of its bucket, within
 * [min, max]: less than 1/128 (0.78 %) from the exact one, unless that is
 * above HIST_TOP_NS.  NaN unless 0 < q < 1 and at least 10 values lie beyond
 * it: n (1-q) >= 10, and below the median n q >= 10.
 */
double hist_quantile_ns(const struct hist *h, double q);

/* The same for the counts of any scale, which sum to 'n'. */
double hist_scale_quantile_ns(const int64_t *count, int bits, int64_t n,
                              double q);

double hist_mean_ns(const struct hist *h); /* exact; NaN when n is 0 */

#endif
