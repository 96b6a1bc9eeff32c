/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_CLI_JOB_FACTS_H
#define IOBM_CLI_JOB_FACTS_H

/* What goes into the result beside the measurement. */

#include "cli/job.h"

/* Collective: fill rank 0's record with the command, the parameters and the
 * environment of every node. */
enum iobm_status facts_gather_all(struct job *job, int argc, char **argv,
                                  struct iobm_error *err) IOBM_CHECK;

/* Rank 0: what the back end learnt by working, into record and file. */
enum iobm_status facts_backend(struct job *job,
                               struct iobm_error *err) IOBM_CHECK;

#endif
