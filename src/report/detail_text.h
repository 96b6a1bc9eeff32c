/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_REPORT_DETAIL_TEXT_H
#define IOBM_REPORT_DETAIL_TEXT_H

/*
 * What stands behind the figures of a run, phase by phase, at most 80 columns
 * wide.  Where a run has nothing of the kind, that is said.
 */

#include <stdint.h>

#include "base/str.h"
#include "store/store.h"

/* How the rate of all ranks together went over time, with bars. */
void detail_series_text(const struct run_record *run, struct str *out);

/* Latency of each class of operations, and its histogram. */
void detail_latency_text(const struct run_record *run, struct str *out);

/* Every check with its result, value, limit, reason and next step; those of
 * the run last. */
void detail_checks_text(const struct run_record *run, struct str *out);

/* What the witnesses of each node counted. */
void detail_evidence_text(const struct run_record *run, struct str *out);

/* The rate of the first 'd_ns' > 0 of each phase (docs/method.md section 1,
 * bw_stone), from the bins of the series; n/a, and why, for a phase that was
 * shorter, was not measured to its end, or has no series. */
void detail_stonewall_text(const struct run_record *run, int64_t d_ns,
                           struct str *out);

#endif
