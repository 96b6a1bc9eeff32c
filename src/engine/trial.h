/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_ENGINE_TRIAL_H
#define IOBM_ENGINE_TRIAL_H

/*
 * Short phases of this process alone, without MPI, to measure iobm itself:
 * the timed loop that runs use, with all that it keeps of each operation or
 * without.  What a phase needs is made once, so that many phases after each
 * other differ in nothing else.
 */

#include <stdbool.h>
#include <stdint.h>

#include "iobm/backend.h"

struct trial_input {
    const struct iobm_backend *backend;
    void *state, *file; /* the back end's, the caller's; must live as long */
    enum iobm_op_kind kind;
    int64_t transfer_bytes;
    int64_t most_ops; /* of one phase */
};

struct trial;

/* IOBM_ENOMEM, IOBM_EBUG. */
enum iobm_status trial_create(const struct trial_input *in,
                              struct trial **trial,
                              struct iobm_error *err) IOBM_CHECK;
void trial_free(struct trial *trial);

/*
 * One phase of 1 <= 'ops' <= most_ops operations, from the first byte of the
 * file on.  'keep': histograms, slots and marks, as runs have them; they go on
 * from phase to phase.  'ns' is what an operation took, from its preparation
 * to the next one's.
 */
enum iobm_status trial_run(struct trial *trial, int64_t ops, bool keep,
                           double *ns, struct iobm_error *err) IOBM_CHECK;

#endif
