/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_ENGINE_PERTURB_H
#define IOBM_ENGINE_PERTURB_H

/*
 * Whether measuring changes what is measured: the same short phase with and
 * without histograms, slots and marks, in turns.  Four phases, with, without,
 * without, with, are a round: what gets faster or slower steadily has no part
 * in the ratio of a round.  The cost is the median over the rounds, so that
 * rounds in which something else ran do not count, with its exact interval.
 */

#include <stddef.h>
#include <stdint.h>

#include "engine/trial.h"

#define PERTURB_LIMIT_PCT      0.5
#define PERTURB_CONFIDENCE_PCT 99.0
#define PERTURB_ROUNDS_LEAST   12
#define PERTURB_ROUNDS_MOST    4096

enum perturb_verdict {
    PERTURB_UNDECIDED,
    PERTURB_WITHIN,  /* the interval lies within +-PERTURB_LIMIT_PCT */
    PERTURB_OUTSIDE, /* it lies outside, all of it */
};

struct perturb {
    size_t rounds;
    double on_ns, off_ns; /* an operation, with and without; medians */
    double cost_pct;      /* median of (with / without - 1) */
    double low_pct, high_pct, confidence_pct; /* NaN: fewer than 2 rounds */
    enum perturb_verdict verdict;
};

/* Of 'rounds' rounds: what an operation took with and without.  Pure; those
 * that are not above 0 are left out.  Overwrites both, and 'cost_pct', which
 * has room for as many. */
void perturb_summarise(double *on_ns, double *off_ns, double *cost_pct,
                       size_t rounds, struct perturb *out);

/* Undecided unless the interval has PERTURB_CONFIDENCE_PCT. */
enum perturb_verdict perturb_judge(double low_pct, double high_pct,
                                   double confidence_pct);

/* "undecided", "within", "outside". */
const char *perturb_verdict_name(enum perturb_verdict verdict);

/* For about 'budget_ns'; longer, up to four times, where that is not enough
 * for PERTURB_ROUNDS_LEAST rounds.  'most_ops' is that of the trial. */
enum iobm_status perturb_measure(struct trial *trial, int64_t most_ops,
                                 int64_t budget_ns, struct perturb *out,
                                 struct iobm_error *err) IOBM_CHECK;

#endif
