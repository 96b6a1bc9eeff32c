/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the rate changed for good: noise of a series and its partition into
 * segments of one rate each.  What that means for a phase is in structure.c;
 * the formulas and their sources are in structure.h.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/spread.h"
#include "stats/structure.h"
#include "stats/structure_impl.h"

#define MAD_TO_SIGMA    1.4826
#define SHORTEST        5    /* bins of a segment */
#define STEPS_ALLOWED   4    /* differences that the mean square clips */
#define NEXT_TO_NOTHING 1e-3 /* of the mean */
#define MOST_RELATED    0.8  /* r beyond which we believe no estimate */

/*
 * Variance of independent values with differences as large as 'sizes', which
 * are sorted.  'middle' is the mean of the values: the median of differences
 * that are next to nothing says that most bins lie within one transfer, and
 * the others tell how unlike transfers are.
 */
static double differences_scale(double *sizes, size_t n, double middle)
{
    double median = spread_median(sizes, n), squares = 0;
    double robust = 0.5 * (MAD_TO_SIGMA * median) * (MAD_TO_SIGMA * median);

    if (median >= NEXT_TO_NOTHING * middle)
        return robust;
    double limit = sizes[n - 1 - STEPS_ALLOWED];
    for (size_t i = 0; i < n; i++)
        squares += fmin(sizes[i], limit) * fmin(sizes[i], limit);
    return fmax(robust, 0.5 * squares / (double)n);
}

static double winsorise(double value, double limit)
{
    return fmin(fmax(value, -limit), limit);
}

/* Autocorrelation of the values from the differences'; they are about 0. */
static double related(const double *d, size_t n, double limit)
{
    double products = 0, squares = 0;

    for (size_t i = 0; i < n; i++) {
        double value = winsorise(d[i], limit);
        squares += value * value;
        if (i + 1 < n)
            products += value * winsorise(d[i + 1], limit);
    }
    if (squares <= 0)
        return 0;
    return fmin(fmax(1 + 2 * products / squares, 0), MOST_RELATED);
}

/* 'd' and 'scratch' have room for n - 1. */
static double noise(const int64_t *bytes, size_t n, double *d, double *scratch)
{
    double mean = 0;

    for (size_t i = 0; i < n; i++)
        mean += (double)bytes[i] / (double)n;
    for (size_t i = 0; i + 1 < n; i++) {
        d[i] = (double)(bytes[i + 1] - bytes[i]);
        scratch[i] = fabs(d[i]);
    }
    double scale = differences_scale(scratch, n - 1, mean);
    double r = related(d, n - 1, 3 * sqrt(2 * scale));
    return scale * (1 + r) / ((1 - r) * (1 - r));
}

bool structure_series_init(struct structure_series *series,
                           const int64_t *bytes, size_t n)
{
    size_t twentieth = (n + STRUCTURE_SEGMENTS - 1) / STRUCTURE_SEGMENTS;

    *series = (struct structure_series){
        .bytes = bytes,
        .n = n,
        .least = twentieth > SHORTEST ? twentieth : SHORTEST,
        .centre = (double)bytes[0],
        .sum = malloc((n + 1) * sizeof(double)),
        .squares = malloc((n + 1) * sizeof(double)),
        .scratch = malloc(n * sizeof(double)),
    };
    if (!series->sum || !series->squares || !series->scratch) {
        structure_series_release(series);
        return false;
    }
    series->s2 = noise(bytes, n, series->sum, series->scratch);
    series->penalty = 4 * series->s2 * log((double)n);

    series->sum[0] = series->squares[0] = 0;
    for (size_t i = 0; i < n; i++) {
        double value = (double)(bytes[i] - bytes[0]);
        series->sum[i + 1] = series->sum[i] + value;
        series->squares[i + 1] = series->squares[i] + value * value;
    }
    return true;
}

void structure_series_release(struct structure_series *series)
{
    free(series->sum);
    free(series->squares);
    free(series->scratch);
    series->sum = series->squares = series->scratch = NULL;
}

double structure_mean(const struct structure_series *series, size_t from,
                      size_t to)
{
    return series->centre +
           (series->sum[to] - series->sum[from]) / (double)(to - from);
}

/* Squared deviations of [from, to) from their mean. */
static double cost(const struct structure_series *series, size_t from,
                   size_t to)
{
    double sum = series->sum[to] - series->sum[from];

    return series->squares[to] - series->squares[from] -
           sum * sum / (double)(to - from);
}

double structure_gain(const struct structure_series *series, size_t from,
                      size_t at, size_t to)
{
    return cost(series, from, to) - cost(series, from, at) -
           cost(series, at, to);
}

double structure_relative(double before, double after)
{
    if (before > 0)
        return (after - before) / before;
    return after > 0 ? INFINITY : 0;
}

double structure_median(const struct structure_series *series, size_t from,
                        size_t to)
{
    for (size_t i = from; i < to; i++)
        series->scratch[i - from] = (double)series->bytes[i];
    return spread_median(series->scratch, to - from);
}

/* How much the rate changes at 'at', by means or by medians, whichever is
 * less; 0 where the two disagree on the sign. */
static double jump_at(const struct structure_series *series, size_t from,
                      size_t at, size_t to)
{
    double means = structure_relative(structure_mean(series, from, at),
                                      structure_mean(series, at, to));
    double medians = structure_relative(structure_median(series, from, at),
                                        structure_median(series, at, to));

    if ((means > 0) != (medians > 0))
        return 0;
    return fmin(fabs(means), fabs(medians));
}

/* best[t]: the least cost of the first t bins, its last segment from last[t]
 * on. */
static void partition(const struct structure_series *series, double *best,
                      size_t *last)
{
    for (size_t t = 0; t <= series->n; t++) {
        best[t] = t == 0 ? 0 : INFINITY;
        last[t] = 0;
        for (size_t s = 0; s + series->least <= t; s++) {
            double sum =
                best[s] + cost(series, s, t) + (s > 0 ? series->penalty : 0);
            if (sum < best[t]) {
                best[t] = sum;
                last[t] = s;
            }
        }
    }
}

/* The boundary that splits the segments around boundary 'i' best. */
static size_t best_split(const struct structure_series *series,
                         const size_t *start, size_t i)
{
    size_t from = start[i - 1], to = start[i + 1], found = start[i];
    double most = structure_gain(series, from, found, to);

    for (size_t at = from + series->least; at + series->least <= to; at++) {
        double gain = structure_gain(series, from, at, to);
        if (gain > most) {
            most = gain;
            found = at;
        }
    }
    return found;
}

/* Until none moves; the passes are counted as rounding might go in circles. */
static void place_anew(const struct structure_series *series, size_t *start,
                       size_t count)
{
    bool moved = true;

    for (int pass = 0; moved && pass < STRUCTURE_SEGMENTS; pass++) {
        moved = false;
        for (size_t i = 1; i < count; i++) {
            size_t at = best_split(series, start, i);
            moved = moved || at != start[i];
            start[i] = at;
        }
    }
}

/* The boundary with the smallest jump; 0 without any. */
static size_t smallest(const struct structure_series *series,
                       const size_t *start, size_t count, double *jump)
{
    size_t found = 0;

    *jump = INFINITY;
    for (size_t i = 1; i < count; i++) {
        double here = jump_at(series, start[i - 1], start[i], start[i + 1]);
        if (found == 0 || here < *jump) {
            *jump = here;
            found = i;
        }
    }
    return found;
}

static void drop_small(const struct structure_series *series, size_t *start,
                       size_t *count)
{
    double jump;

    for (;;) {
        size_t i = smallest(series, start, *count, &jump);
        if (i == 0 ||
            (jump >= STRUCTURE_JUMP && *count <= STRUCTURE_CHANGES + 1))
            return;
        memmove(start + i, start + i + 1, (*count - i) * sizeof(*start));
        --*count;
        place_anew(series, start, *count);
    }
}

bool structure_segments(const struct structure_series *series,
                        size_t start[STRUCTURE_SEGMENTS + 1], size_t *count)
{
    double *best = malloc((series->n + 1) * sizeof(*best));
    size_t *last = malloc((series->n + 1) * sizeof(*last));
    bool ok = best && last;

    if (ok) {
        partition(series, best, last);
        *count = 0;
        for (size_t t = series->n; t > 0; t = last[t])
            ++*count;
        size_t i = *count;
        start[i] = series->n;
        for (size_t t = series->n; t > 0; t = last[t])
            start[--i] = last[t];
        drop_small(series, start, count);
    }
    free(best);
    free(last);
    return ok;
}
