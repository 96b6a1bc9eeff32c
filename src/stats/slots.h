/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_STATS_SLOTS_H
#define IOBM_STATS_SLOTS_H

/*
 * Operations by the slot of time in which they ended: how many, their bytes,
 * and how long they took.  A slot is 1 s wide at first; when an operation
 * ends behind the last slot, neighbours are merged and all slots are two, or
 * four, ... times as wide.  The memory is the caller's and never grows.
 *
 * All is int64_t, so that it can be summed over any number of ranks as it is:
 *
 *     slots_widen(s, largest width_ns of all ranks)
 *     used = largest slots->used of all ranks
 *     sum over the ranks:     s->slot,   used * SLOT_VALUES  int64_t
 *     largest over the ranks: s->max_ns, used                int64_t
 *
 * Then slots_row() of the result, with its 'used' set, is that of all ranks.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/hist.h"

#define SLOT_SUB_BITS  4 /* 16 sub-buckets: a percentile is within 6.25 % */
#define SLOT_BUCKETS   HIST_SCALE(SLOT_SUB_BITS)
#define SLOT_VALUES    (2 + SLOT_BUCKETS)
#define SLOTS_WIDTH_NS INT64_C(1000000000)

/* Slots of a second for phases of up to 512 s; 2.4 MB. */
#define SLOTS_ROOM 512

struct slot {
    int64_t ops, bytes;
    int64_t count[SLOT_BUCKETS];
};

struct slots {
    struct slot *slot; /* [room], in the caller's memory */
    int64_t *max_ns;   /* [room], likewise */
    size_t room, used; /* slots up to the last one that has operations */
    int64_t origin_ns, width_ns;
    size_t current;  /* the slot of the newest operation, */
    int64_t from_ns; /* and where it begins */
};

/* Memory for 'room' >= 1 slots, aligned as malloc() does. */
size_t slots_bytes(size_t room);

/*
 * Begin at 'origin_ns' (the same instant on each rank, by its own clock).
 * Writes all of the memory, so that slots_add() meets no page that is not
 * there; keep the memory, and begin again, for the next phase.
 */
void slots_init(struct slots *slots, void *memory, size_t room,
                int64_t origin_ns, int64_t width_ns);

/* Make 'end_ns' lie in the current slot; merges where it must. */
void slots_seek(struct slots *slots, int64_t end_ns);

/* In the timed loop.  What ended before the origin is in the first slot. */
static inline void slots_add(struct slots *slots, int64_t end_ns,
                             int64_t latency_ns, int64_t bytes)
{
    if (end_ns < slots->from_ns || end_ns - slots->from_ns >= slots->width_ns)
        slots_seek(slots, end_ns);

    struct slot *slot = &slots->slot[slots->current];
    slot->ops++;
    slot->bytes += bytes;
    if (latency_ns > slots->max_ns[slots->current])
        slots->max_ns[slots->current] = latency_ns;
    slot->count[hist_scale_bucket(latency_ns, SLOT_SUB_BITS)]++;
}

/* Merge to slots of 'width_ns'; false, and nothing done, unless that is a
 * whole multiple of the present width. */
bool slots_widen(struct slots *slots, int64_t width_ns);

struct slot_row {
    int64_t start_ns, width_ns; /* since the origin */
    int64_t ops, bytes;
    double p50_ns, p99_ns; /* NaN where n (1-q) < 10 */
    double max_ns;         /* NaN without operations */
};

/* Slot 'i' < used. */
void slots_row(const struct slots *slots, size_t i, struct slot_row *out);

#endif
