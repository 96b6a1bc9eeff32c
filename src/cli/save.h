/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_CLI_SAVE_H
#define IOBM_CLI_SAVE_H

/*
 * Rank 0's record of the run: in memory for the output, in the result file
 * for later.  Two threads may come here, the first one between phases and the
 * watchdog's when the end comes early; a lock keeps them apart.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "iobm/result.h"
#include "store/store.h"

struct save {
    pthread_mutex_t lock;
    struct run_record record;
    struct store *store; /* NULL: -o none, not begun, or finished */
    const char *target;  /* "none": no file */
    atomic_bool begun;   /* there is a partial file, and 'target' is known */
    atomic_bool closing; /* the end has come early */
    bool finished;
    bool pending; /* 'next' is being measured */
    struct iobm_phase_row next;
    struct iobm_error log_error; /* the first note that could not be kept */
};

void save_init(struct save *save);
enum iobm_status save_begin(struct save *save, const char *target,
                            struct iobm_error *err) IOBM_CHECK;
void save_release(struct save *save);

/* The phase that is measured next, with what is known of it before: should
 * the end come early, it is kept as it stands. */
void save_pending(struct save *save, const struct iobm_phase_row *phase);

/* Takes copies. */
enum iobm_status save_phase(struct save *save,
                            const struct iobm_phase_row *phase,
                            const struct iobm_rank_row *ranks, size_t n,
                            struct iobm_error *err) IOBM_CHECK;

/* The rows beside a phase, before that phase, or those of the run, before its
 * end; on disk with whatever is kept next.  The record keeps all but the
 * series of single ranks and nodes, which only the file has. */
enum iobm_status save_detail(struct save *save,
                             const struct iobm_detail *detail,
                             struct iobm_error *err) IOBM_CHECK;
enum iobm_status save_clocks(struct save *save,
                             const struct iobm_clock_row *rows, size_t n,
                             struct iobm_error *err) IOBM_CHECK;

/* Facts that are learnt late, for the file; the record has them already. */
enum iobm_status save_facts(struct save *save, const struct kvlist *facts,
                            struct iobm_error *err) IOBM_CHECK;

/* Keep a line for the log: level "note", "warn" or "error". */
void save_log(struct save *save, const char *level, const char *fmt, ...)
    IOBM_PRINTF(3, 4);

/* End the run; record.number is known afterwards.  When the merge fails the
 * record is complete all the same. */
enum iobm_status save_finish(struct save *save, const char *status,
                             const char *reason,
                             struct iobm_error *err) IOBM_CHECK;

/*
 * The same from the watchdog's thread, which ends the program next: the first
 * thread, should it come here again, waits for that.  Gives up when the first
 * thread has not let go of the record within half a second.  'what' gets what
 * became of the measurements: "what was measured is run 12 in F", or "" when
 * there is nothing to tell.
 */
void save_finish_early(struct save *save, const char *status,
                       const char *reason, char *what, size_t room);

#endif
