/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_CLI_JOB_EVIDENCE_H
#define IOBM_CLI_JOB_EVIDENCE_H

/*
 * Whether it was the storage (docs/method.md section 6): the page cache is
 * defeated before a read, and what the system counted meanwhile is gathered
 * after each phase.
 */

#include "cli/job.h"
#include "env/witness.h"

/* This rank's, over one phase. */
struct evidence {
    struct witness_sample before;
    const char *method;    /* iobm_phase_row.cache_method */
    double resident_share; /* of its part, before a read; NaN: not known */
};

/* What the witnesses of this rank look at. */
enum iobm_status evidence_init(struct job *job,
                               struct iobm_error *err) IOBM_CHECK;

/* Drop this rank's part from the page cache, unless --cache keep or -d. */
void evidence_drop(const struct job *job, const struct measure_phase *phase);

/* Collective, just before the phase: --cache, and the first sample. */
enum iobm_status evidence_before_all(struct job *job,
                                     const struct measure_phase *phase,
                                     struct evidence *evidence,
                                     struct iobm_error *err) IOBM_CHECK;

/* Collective, just after it: on rank 0 fills the row's evidence and the
 * client's state, and appends a row per node to 'detail'. */
enum iobm_status evidence_after_all(struct job *job,
                                    const struct measure_phase *phase,
                                    const struct evidence *evidence,
                                    struct iobm_phase_row *row,
                                    const struct iobm_rank_row *ranks,
                                    struct iobm_detail *detail,
                                    struct iobm_error *err) IOBM_CHECK;

#endif
