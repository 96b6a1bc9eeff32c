/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_STATS_SERIES_H
#define IOBM_STATS_SERIES_H

/*
 * Bytes per bin of a time grid that all ranks share: docs/method.md section
 * 1.  Bin i is [origin + i width, origin + (i + 1) width) in global ns, the
 * origin is S0.  Bins are whole bytes, so that they add up over ranks, nodes
 * and time to exactly the bytes that moved.
 */

#include <stddef.h>
#include <stdint.h>

#include "stats/bandwidth.h"

#define SERIES_WIDTH_NS MARKS_SPACING_NS /* the least: marks know no more */

/* 10 ms * 2^k, the least with which 'span_ns' takes at most 'most_bins' >= 1
 * bins. */
int64_t series_width_ns(int64_t span_ns, int most_bins);

/* Bins that 'span_ns' takes: at least one. */
size_t series_bins(int64_t span_ns, int64_t width_ns);

/*
 * Fill 'bins' from one rank's marks, whose times are of the local clock; the
 * rank began and ended at 'local_start_ns' and 'local_end_ns', which are
 * 'global_start_ns' and 'global_end_ns' on the grid, and local times between
 * the two lie linearly between.  Nothing is before its start or after its
 * end: what the marks do not place moved by the end.  The sum of the bins is
 * 'last_bytes' of the marks: what lies before the grid is in the first bin,
 * what lies behind in the last.
 */
void series_fill(const struct marks *marks, int64_t local_start_ns,
                 int64_t local_end_ns, int64_t global_start_ns,
                 int64_t global_end_ns, int64_t origin_ns, int64_t width_ns,
                 int64_t *bins, size_t n);

/* Cumulative bytes at 'ns' since the origin, linear within a bin: 0 at and
 * before the origin, all at the end of the last bin and after. */
double series_at(const int64_t *bins, size_t n, int64_t width_ns, int64_t ns);

/*
 * Virtual stonewall: bytes/s of the first 'd_ns'.  NaN unless d_ns > 0 and
 * the bins are as long.  The last bin may reach beyond the phase's end: only
 * the caller knows T, and that a D above it is n/a.
 */
double series_stonewall(const int64_t *bins, size_t n, int64_t width_ns,
                        int64_t d_ns);

/* Sum each 'factor' >= 1 bins into one, in place; the last one may be of
 * fewer.  Returns how many are left. */
size_t series_rebin(int64_t *bins, size_t n, size_t factor);

#endif
