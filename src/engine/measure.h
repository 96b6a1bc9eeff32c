/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_ENGINE_MEASURE_H
#define IOBM_ENGINE_MEASURE_H

/*
 * One phase on all ranks: prepare, sync point, common start, the timed loop,
 * sync point, and the reduction to one row of figures and one per rank.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/layout.h"
#include "engine/watch.h"
#include "iobm/backend.h"
#include "iobm/result.h"
#include "iobm/workload.h"
#include "par/nodes.h"
#include "par/stop.h"
#include "par/timeline.h"

enum measure_sync { MEASURE_SYNC_END, MEASURE_SYNC_EVERY, MEASURE_SYNC_NONE };

/* What lives as long as the run. */
struct measure {
    const struct iobm_comm *comm;
    const struct node_map *map;
    struct timeline *timeline;
    struct stop *stop;
    struct watch *watch;
    const struct iobm_backend *backend;
    void *state; /* the back end's, started */
    const struct iobm_workload *workload;
    bool bare; /* keep nothing of single operations: no marks, no histograms,
                  and none of the figures made from them; for the self-test */
};

/* What one phase is to do; 'part' and 'path' are this rank's own. */
struct measure_phase {
    enum iobm_op_kind kind;
    const struct layout *layout;
    int part;                /* whose bytes this rank moves */
    const char *path;        /* the file they are in */
    int64_t alignment_bytes; /* 1 without O_DIRECT */
    bool create;             /* the phase creates the file */
    bool direct, dsync, device;
    bool collective;
    enum measure_sync sync; /* of a write */
    bool barrier_start;     /* start at a barrier, not at a common time */
    uint64_t data_seed;
};

/*
 * Collective.  On rank 0 fills what is measured of '*row' (which the caller
 * has begun with the parameters) and 'ranks' (comm->size rows); other ranks
 * may pass NULL for both.  The outcome is the same on all ranks.  When it is
 * IOBM_EIO, ..., or IOBM_ESTOPPED, row->status, reason and the bytes moved
 * are filled all the same, and every rate is NaN.  IOBM_EINVALID: measured,
 * but not to be trusted; the row says why.
 *
 * 'detail' (rank 0; NULL: not wanted) gets the series, seconds, classes,
 * latency and changes of the phase, of which it has none yet; their 'phase'
 * and 'repeat' are those of the row.  A phase that failed has classes and
 * latency alone, and so has one whose clocks cannot be trusted.
 */
enum iobm_status measure_phase_all(const struct measure *measure,
                                   const struct measure_phase *phase,
                                   struct iobm_phase_row *row,
                                   struct iobm_rank_row *ranks,
                                   struct iobm_detail *detail,
                                   struct iobm_error *err) IOBM_CHECK;

#endif
