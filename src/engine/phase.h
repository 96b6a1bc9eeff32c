/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_ENGINE_PHASE_H
#define IOBM_ENGINE_PHASE_H

/*
 * One rank's part of one phase: open, transfer, sync, close, the stamps in
 * between, and what is kept of each operation.  Nothing here is collective
 * but what the back end does, and nothing allocates or prints.
 */

#include <stdbool.h>
#include <stdint.h>

#include "engine/data.h"
#include "engine/watch.h"
#include "iobm/backend.h"
#include "iobm/workload.h"
#include "par/stop.h"
#include "stats/bandwidth.h"
#include "stats/hist.h"
#include "stats/slots.h"

/* Operations whose latencies are counted apart; a transfer's is that of the
 * back end's call alone. */
enum phase_class {
    PHASE_OPEN,
    PHASE_TRANSFER,
    PHASE_SYNC, /* those after each operation, and the one at the end */
    PHASE_CLOSE,
    PHASE_CLASSES
};

/*
 * What is kept of each operation that succeeded, as long as the phase may
 * last, in memory that does not grow.  All of it is begun (hist_init,
 * slots_init at the common start) before the phase; 'marks' has its memory
 * and is begun by the phase.
 */
struct phase_log {
    struct hist hist[PHASE_CLASSES];
    struct slots slots; /* transfers */
    struct marks marks; /* bytes, of failed operations too */
};

struct phase_input {
    const struct iobm_backend *backend;
    void *state, *file;
    struct iobm_open how;
    enum iobm_op_kind kind;
    const struct iobm_workload *workload;
    void *plan; /* the workload's state, planned */

    /* >= 0: every rank makes this many turns, idle ones included, because
     * transfers or syncs are collective.  -1: as many as the plan has. */
    int64_t turns;
    bool collective;  /* idle turns call xfer with no bytes */
    bool sync_each;   /* after every operation */
    bool sync_end;    /* once, before close */
    bool sync_always; /* sync is collective: also after a failure */
    bool ask_dirty;   /* after the last transfer: the dirty share */

    struct data *data; /* write: where the bytes come from */
    void *buffer;      /* read: where they go */
    struct stop *stop;
    struct watch *watch;
    struct phase_log *log; /* NULL: keep nothing, and pay nothing for it */
};

/*
 * Reading the clock costs more than all else that the loop does, so where
 * there is little between two transfers they share one reading: the end of
 * one is the start of the next.  So it is with reads, and with writes of one
 * 4 KiB block at most, where what lies between (the next offset; 8 bytes of
 * stamp) takes less time than a reading would.  Whatever else the loop does
 * now and then, as looking for word from other ranks, is never in a latency.
 * Larger writes, and operations with a sync of their own, have readings of
 * their own.
 */
bool phase_shares_stamps(const struct phase_input *in);

/* All times on the local clock.  open, transfer, sync and close are the
 * differences of neighbours: disjoint, adding up to close_end - open_start. */
struct phase_output {
    int64_t open_start_ns;
    int64_t start_ns; /* S_i: open is done, the first transfer is next */
    int64_t io_end_ns;
    int64_t sync_end_ns; /* E_i */
    int64_t close_end_ns;
    int64_t bytes, ops, errors;
    int64_t latency_sum_ns; /* operations and syncs */
    int64_t latency_max_ns; /* of one operation */
    int64_t prepare_ns;     /* between operations: our own cost */
    double dirty_share;     /* before the sync; NaN: not known */
    enum iobm_status status;
    struct iobm_error err;
};

void phase_run(const struct phase_input *in, struct phase_output *out);

#endif
