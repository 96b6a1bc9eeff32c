/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_STATS_STRUCTURE_IMPL_H
#define IOBM_STATS_STRUCTURE_IMPL_H

/* Between the files of structure: a series with its sums, and its changes. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STRUCTURE_SEGMENTS 20            /* n / max(5, n / 20) at most */
#define STRUCTURE_JUMP     (0.10 - 1e-9) /* but for rounding */

struct structure_series {
    const int64_t *bytes;
    size_t n, least; /* shortest segment */
    double centre;   /* taken off every value in the sums */
    double *sum;     /* [n + 1]: of the first i values */
    double *squares; /* [n + 1] */
    double *scratch; /* [n] */
    double s2;       /* noise */
    double penalty;  /* of one change */
};

/* 'bytes' must outlive the series.  False when memory is short. */
bool structure_series_init(struct structure_series *series,
                           const int64_t *bytes, size_t n);
void structure_series_release(struct structure_series *series);

/* Of the bins [from, to), which are not none. */
double structure_mean(const struct structure_series *series, size_t from,
                      size_t to);
double structure_median(const struct structure_series *series, size_t from,
                        size_t to);

/* What the squared deviations of [from, to) lose by a split at 'at'. */
double structure_gain(const struct structure_series *series, size_t from,
                      size_t at, size_t to);

/* (after - before) / before; infinity when that is 0. */
double structure_relative(double before, double after);

/* The first bins of the segments, start[0] = 0, and start[count] = n.  False
 * when memory is short. */
bool structure_segments(const struct structure_series *series,
                        size_t start[STRUCTURE_SEGMENTS + 1], size_t *count);

#endif
