/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From one rank's progress marks to whole bytes per bin of the common grid,
 * and what is read from a sum of such bins.  Where windows of exact times are
 * wanted, marks_bytes_at() knows better than bins.
 */

#include "stats/series.h"

#include <math.h>

#define NS_PER_S 1e9

int64_t series_width_ns(int64_t span_ns, int most_bins)
{
    int64_t width = SERIES_WIDTH_NS;

    /* The next width must fit; bins of centuries are wide enough. */
    while (series_bins(span_ns, width) > (size_t)most_bins &&
           width <= INT64_MAX / 2)
        width *= 2;
    return width;
}

size_t series_bins(int64_t span_ns, int64_t width_ns)
{
    if (span_ns <= 0)
        return 1;
    return (size_t)(span_ns / width_ns + (span_ns % width_ns != 0));
}

/* A rank's two ends on both clocks. */
struct span {
    int64_t local_start, local_end, global_start, global_end;
};

/* global_start < ns < global_end.  Hours in ns, times hours, leave 64 bits. */
static int64_t to_local(const struct span *span, int64_t ns)
{
    __int128 ahead = (__int128)(ns - span->global_start) *
                     (span->local_end - span->local_start);

    return span->local_start +
           (int64_t)(ahead / (span->global_end - span->global_start));
}

/* Whole bytes of the rank before the instant 'ns' of the grid. */
static int64_t bytes_before(const struct marks *marks, const struct span *span,
                            int64_t ns)
{
    if (ns <= span->global_start)
        return 0;
    if (ns >= span->global_end)
        return marks->last_bytes;
    return llround(marks_bytes_at(marks, to_local(span, ns)));
}

void series_fill(const struct marks *marks, int64_t local_start_ns,
                 int64_t local_end_ns, int64_t global_start_ns,
                 int64_t global_end_ns, int64_t origin_ns, int64_t width_ns,
                 int64_t *bins, size_t n)
{
    const struct span span = {local_start_ns, local_end_ns, global_start_ns,
                              global_end_ns};
    int64_t before = 0;

    for (size_t i = 0; i < n; i++) {
        int64_t edge = origin_ns + (int64_t)(i + 1) * width_ns;
        int64_t upto =
            i + 1 < n ? bytes_before(marks, &span, edge) : marks->last_bytes;

        bins[i] = upto - before;
        before = upto;
    }
}

double series_at(const int64_t *bins, size_t n, int64_t width_ns, int64_t ns)
{
    int64_t sum = 0;

    if (ns <= 0)
        return 0;
    size_t whole = ns / width_ns < (int64_t)n ? (size_t)(ns / width_ns) : n;
    for (size_t i = 0; i < whole; i++)
        sum += bins[i];
    if (whole == n)
        return (double)sum;
    return (double)sum +
           (double)bins[whole] * (double)(ns % width_ns) / (double)width_ns;
}

double series_stonewall(const int64_t *bins, size_t n, int64_t width_ns,
                        int64_t d_ns)
{
    /* In whole bins, lest n times the width leave 64 bits. */
    if (d_ns <= 0 || series_bins(d_ns, width_ns) > n)
        return NAN;
    return series_at(bins, n, width_ns, d_ns) * NS_PER_S / (double)d_ns;
}

size_t series_rebin(int64_t *bins, size_t n, size_t factor)
{
    size_t left = 0;

    for (size_t i = 0; i < n; i++) {
        if (i % factor == 0)
            bins[left++] = bins[i];
        else
            bins[left - 1] += bins[i];
    }
    return left;
}
