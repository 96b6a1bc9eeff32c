/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_ENGINE_PHASE_H
#define IOBM_ENGINE_PHASE_H

/*
 * One rank's part of one phase: open, transfer, sync, close, and the stamps
 * in between.  Nothing here is collective but what the back end does, and
 * nothing allocates or prints.
 */

#include <stdbool.h>
#include <stdint.h>

#include "engine/data.h"
#include "engine/watch.h"
#include "iobm/backend.h"
#include "iobm/workload.h"
#include "par/stop.h"
#include "stats/bandwidth.h"

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
    struct marks *marks;
};

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
