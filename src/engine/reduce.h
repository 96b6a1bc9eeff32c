/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_ENGINE_REDUCE_H
#define IOBM_ENGINE_REDUCE_H

/* The ranks' stamps of one phase, reduced to figures on rank 0. */

#include <stdint.h>

#include "engine/measure.h"
#include "engine/phase.h"

/* What this rank has of the phase. */
struct reduce_input {
    const struct phase_output *out;
    struct phase_log *log; /* NULL (on all ranks): nothing was kept */
    int64_t outer_ns;      /* from before the start to behind the end barrier */
    int64_t late_ns;
    double cpu_s; /* that this rank used in the phase */
    int part;
    enum iobm_op_kind kind;
    int64_t transfer_bytes;
    uint64_t seed; /* of the permutation test */
};

/*
 * Rank 0, before anything else (others pass NULL): who the ranks are, and n/a
 * for all that is measured or judged, here or later, so that no rate of a
 * phase that failed is ever seen.  The cost of iobm itself (timer_ns,
 * op_cost_ns, memcpy_Bps) is left alone: the caller knows it before the phase
 * and sets it as it does the parameters; 0 or NaN: not known.
 */
void reduce_begin(const struct measure *measure, struct iobm_phase_row *row,
                  struct iobm_rank_row *ranks);

/*
 * Collective; the timeline has its point behind the phase.  'outcome' is what
 * all ranks agreed on: bytes and rows are filled in any case, rates only for
 * IOBM_OK.  IOBM_EINVALID when the clocks cannot be trusted: then the wall
 * bandwidth is a lower bound, and what compares times of two clocks is n/a.
 * 'detail' as in measure_phase_all().
 */
enum iobm_status reduce_phase_all(const struct measure *measure,
                                  const struct reduce_input *in,
                                  enum iobm_status outcome,
                                  struct iobm_phase_row *row,
                                  struct iobm_rank_row *ranks,
                                  struct iobm_detail *detail,
                                  struct iobm_error *err) IOBM_CHECK;

#endif
