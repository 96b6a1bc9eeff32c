/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_STATS_SPREAD_H
#define IOBM_STATS_SPREAD_H

/* How evenly the ranks did: docs/method.md section 1.  Pure. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spread {
    double imbalance; /* max d / mean d - 1 */
    double cov;       /* of r_i: standard deviation (n - 1) / mean */
    double jain;      /* (sum r)^2 / (n sum r^2) */
    double min_rate, max_rate;
    int64_t stragglers;
    double node_eta2, node_p; /* NaN: fewer than 3 nodes with >= 2 ranks */
};

/*
 * 'duration_s' and 'rate' of 'n' ranks, 'node[i]' the node of rank i.
 * 'straggler' (n flags) may be NULL.  The permutation p of eta^2 uses 1000
 * shuffles of 'seed': (1 + shuffles with eta^2 at least as large) / 1001.
 * False when memory is short.
 */
bool spread_compute(const double *duration_s, const double *rate,
                    const int *node, size_t n, uint64_t seed, bool *straggler,
                    struct spread *out);

/* Median of 'n' values; sorts them in place.  NaN for n = 0. */
double spread_median(double *values, size_t n);

#endif
