/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Merging and reading latency histograms.  Adding a value is in the header:
 * it belongs to the timed loop.
 */

#include "stats/hist.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

void hist_init(struct hist *h)
{
    memset(h, 0, sizeof(*h));
    h->min_ns = INT64_MAX;
}

void hist_merge(struct hist *into, const struct hist *from)
{
    into->n += from->n;
    into->sum_ns += from->sum_ns;
    if (from->min_ns < into->min_ns)
        into->min_ns = from->min_ns;
    if (from->max_ns > into->max_ns)
        into->max_ns = from->max_ns;
    for (int i = 0; i < HIST_BUCKETS; i++)
        into->count[i] += from->count[i];
}

void hist_scale_edges(int bucket, int bits, int64_t *low_ns, int64_t *high_ns)
{
    int64_t subs = INT64_C(1) << bits;
    int shift = bucket < 2 * subs ? 0 : (bucket >> bits) - 1;
    int64_t within = bucket - ((int64_t)shift << bits);

    *low_ns = within << shift;
    *high_ns = (within + 1) << shift;
}

void hist_edges(int bucket, int64_t *low_ns, int64_t *high_ns)
{
    hist_scale_edges(bucket, HIST_SUB_BITS, low_ns, high_ns);
}

/* 100 * (1 - 0.9) is a last place short of 10. */
static bool enough_beyond(int64_t n, double q)
{
    double side = q < 0.5 ? q : 1 - q;

    return q > 0 && q < 1 && (double)n * side >= HIST_TAIL_SAMPLES - 1e-6;
}

double hist_scale_quantile_ns(const int64_t *count, int bits, int64_t n,
                              double q)
{
    int64_t low, high, seen = 0;
    int bucket = 0, last = HIST_SCALE(bits) - 1;

    if (!enough_beyond(n, q))
        return NAN;
    double rank = ceil(q * (double)n * (1 - 1e-12));
    for (;; bucket++) {
        seen += count[bucket];
        if ((double)seen >= rank || bucket == last)
            break;
    }
    hist_scale_edges(bucket, bits, &low, &high);
    /* Whole ns from low to high - 1. */
    return 0.5 * ((double)low + (double)(high - 1));
}

double hist_quantile_ns(const struct hist *h, double q)
{
    double value = hist_scale_quantile_ns(h->count, HIST_SUB_BITS, h->n, q);

    if (isnan(value))
        return NAN;
    return fmin(fmax(value, (double)h->min_ns), (double)h->max_ns);
}

double hist_mean_ns(const struct hist *h)
{
    return h->n > 0 ? (double)h->sum_ns / (double)h->n : NAN;
}
