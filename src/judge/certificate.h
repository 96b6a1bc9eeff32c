/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_JUDGE_CERTIFICATE_H
#define IOBM_JUDGE_CERTIFICATE_H

/*
 * The checks of docs/method.md section 11: whether a figure may be quoted.
 * Pure: what was measured goes in, a row for each check comes out, with the
 * reason and the next step where it is not OK.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iobm/result.h"

/* What the row of a phase does not say itself. */
struct certificate_input {
    const struct iobm_phase_row *row; /* all else of it is filled */
    bool storage;      /* the back end has files; else there is less to judge */
    bool mapped;       /* page faults are how it moves bytes */
    bool durable;      /* a write that was made durable */
    bool require_cold; /* --cache require-cold */
    int64_t crowded_ranks, crowded_cores; /* of the fullest node */
    bool result_beside; /* the result file is on the file system under test */
};

#define CERTIFICATE_PHASE_MAX 28
#define CERTIFICATE_RUN_MAX   8

/* A row for each check that applies to this phase; returns how many.  A phase
 * that is not complete has only those of errors and bytes. */
size_t certificate_phase(const struct certificate_input *in,
                         struct iobm_check_row rows[CERTIFICATE_PHASE_MAX]);

/* The checks over the repeats of one kind of phase. */
size_t certificate_run(const struct iobm_summary_row *summary,
                       struct iobm_check_row rows[CERTIFICATE_RUN_MAX]);

/* The worst of 'n' results, "OK" for none, and the short code of those that
 * are not OK, worst first: "I:bytes W:short N:late". */
void certificate_code(const struct iobm_check_row *rows, size_t n,
                      char trust[8], char *code, size_t room);

/* 0 OK, 1 NOTE, 2 WARN, 3 INVALID; a word that is none of them: 3. */
int certificate_rank(const char *result);

#endif
