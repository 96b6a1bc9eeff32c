/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_ENGINE_DETAIL_H
#define IOBM_ENGINE_DETAIL_H

/*
 * What each rank kept of a phase over time and over latency, brought to rank
 * 0: histograms and time slots as sums over the ranks, bytes per bin as a sum
 * and for each rank.  Messages are as long as what was seen is wide, not as
 * the memory that it is kept in.
 */

#include <stdbool.h>
#include <stdint.h>

#include "engine/detail_rows.h"
#include "engine/measure.h"
#include "engine/phase.h"

/* How far what one rank, or any rank, has of a phase reaches. */
struct detail_extent {
    int64_t least_ns[PHASE_CLASSES]; /* INT64_MAX where there is none */
    int64_t most_ns[PHASE_CLASSES];
    int64_t slot_width_ns;
    int64_t slots_ns; /* to the end of the last slot in use */
};

void detail_extent_init(struct detail_extent *extent); /* of no rank */
void detail_extent_add(struct detail_extent *extent,
                       const struct detail_extent *other);
void detail_extent_of(const struct phase_log *log,
                      struct detail_extent *extent);

/* What rank 0 wants to have; the same on all ranks. */
struct detail_plan {
    struct detail_extent extent; /* of all ranks */
    bool in_time;                /* what lies in time: series and seconds */
    bool parts;                  /* the series of each rank, too */
    struct detail_grid grid;     /* where in_time */
};

/* What this rank has.  Its phase began and ended at these times of its own
 * clock and of the timeline. */
struct detail_input {
    struct phase_log *log; /* rank 0's slots become those of all ranks */
    int64_t local_start_ns, local_end_ns;
    int64_t start_ns, end_ns;
    /* 'sum_count' values that are summed on the way, to rank 0. */
    int64_t *sums;
    int sum_count;
};

/* What rank 0 gets.  Begin with zeros, and release in any case. */
struct detail_all {
    struct hist *hist;   /* [PHASE_CLASSES] */
    int64_t *total;      /* [bins]; NULL: not in time */
    int64_t *parts;      /* [ranks * part_bins]; NULL: not wanted */
    struct slots *slots; /* NULL: not in time */
    int64_t *values;     /* what was summed, as it was sent */
};

/* Collective. */
enum iobm_status detail_gather_all(const struct measure *measure,
                                   const struct detail_plan *plan,
                                   const struct detail_input *in,
                                   struct detail_all *all,
                                   struct iobm_error *err) IOBM_CHECK;
void detail_all_release(struct detail_all *all);

#endif
