/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_CLI_JOB_MEASURE_H
#define IOBM_CLI_JOB_MEASURE_H

/* One phase of a run: see job_measure.c. */

#include <stdint.h>

#include "cli/job.h"

/*
 * Collective.  Measures the phase, gathers the evidence, verifies when asked,
 * and on rank 0 judges, keeps and shows it.  IOBM_EINVALID: the clocks are not
 * to be trusted; IOBM_ECORRUPT: data is not what was written; both when it was
 * done to the end.
 */
enum iobm_status job_measure_all(struct job *job,
                                 const struct measure_phase *phase,
                                 int64_t repeat,
                                 struct iobm_error *err) IOBM_CHECK;

#endif
