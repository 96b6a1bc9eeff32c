/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_CLI_JOB_JUDGE_H
#define IOBM_CLI_JOB_JUDGE_H

/*
 * Rank 0's judgement: the certificate of each phase, the repeats summed up,
 * and whether there have been enough of them.
 */

#include "cli/job.h"
#include "stats/repeats.h"

/* The checks of a phase: appended to 'detail', their short form in the row. */
enum iobm_status judge_phase(struct job *job, struct iobm_phase_row *row,
                             struct iobm_detail *detail,
                             struct iobm_error *err) IOBM_CHECK;

/* After the last repeat: a row for each kind of phase, and its checks, kept
 * with the run.  'stopped' says why there are no more repeats. */
enum iobm_status judge_run(struct job *job, const char *stopped,
                           struct iobm_error *err) IOBM_CHECK;

/* Whether all kinds of phases have been repeated often enough. */
enum iobm_status judge_repeats(const struct job *job, int64_t spent_ns,
                               enum repeats_stop *stop,
                               struct iobm_error *err) IOBM_CHECK;

/* IOBM_EINVALID, with the checks, when a check says so; with --strict also
 * when one warns. */
enum iobm_status judge_outcome(const struct job *job,
                               struct iobm_error *err) IOBM_CHECK;

#endif
