/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time slots of bounded memory: finding the slot of an operation, merging
 * neighbours, reading them.  Adding is in the header.
 */

#include "stats/slots.h"

#include <math.h>
#include <string.h>

/* Merging sums a slot as an array of its values. */
_Static_assert(sizeof(struct slot) == SLOT_VALUES * sizeof(int64_t),
               "a slot has only int64_t");

size_t slots_bytes(size_t room)
{
    return room * (sizeof(struct slot) + sizeof(int64_t));
}

void slots_init(struct slots *slots, void *memory, size_t room,
                int64_t origin_ns, int64_t width_ns)
{
    memset(memory, 0, slots_bytes(room));
    *slots = (struct slots){
        .slot = memory,
        .max_ns = (int64_t *)((struct slot *)memory + room),
        .room = room,
        .origin_ns = origin_ns,
        .width_ns = width_ns,
        .from_ns = origin_ns,
    };
    slots->used = 1;
}

static void add_slot(struct slot *into, const struct slot *from)
{
    into->ops += from->ops;
    into->bytes += from->bytes;
    for (int i = 0; i < SLOT_BUCKETS; i++)
        into->count[i] += from->count[i];
}

/* Each 'factor' slots become one, from the front: a slot is read before, or
 * where, one is written. */
static void merge(struct slots *slots, size_t factor)
{
    for (size_t i = 0; i < slots->used; i++) {
        size_t to = i / factor;

        if (to == i)
            continue;
        if (i % factor == 0) {
            slots->slot[to] = slots->slot[i];
            slots->max_ns[to] = slots->max_ns[i];
        } else {
            add_slot(&slots->slot[to], &slots->slot[i]);
            if (slots->max_ns[i] > slots->max_ns[to])
                slots->max_ns[to] = slots->max_ns[i];
        }
    }
    size_t left = (slots->used + factor - 1) / factor;
    memset(&slots->slot[left], 0, (slots->used - left) * sizeof(struct slot));
    memset(&slots->max_ns[left], 0, (slots->used - left) * sizeof(int64_t));
    slots->used = left;
}

static void set_current(struct slots *slots, size_t current)
{
    slots->current = current;
    slots->from_ns = slots->origin_ns + (int64_t)current * slots->width_ns;
}

bool slots_widen(struct slots *slots, int64_t width_ns)
{
    if (width_ns < slots->width_ns || width_ns % slots->width_ns != 0)
        return false;
    int64_t factor = width_ns / slots->width_ns;
    if (factor > 1) {
        /* All room in one slot is as far as it goes. */
        merge(slots,
              factor < (int64_t)slots->room ? (size_t)factor : slots->room);
        slots->width_ns = width_ns;
        set_current(slots, slots->current / (size_t)factor);
    }
    return true;
}

void slots_seek(struct slots *slots, int64_t end_ns)
{
    int64_t ahead = end_ns - slots->origin_ns;
    int64_t width = slots->width_ns;

    if (ahead < 0)
        ahead = 0;
    while (ahead / width >= (int64_t)slots->room)
        width *= 2;
    (void)slots_widen(slots, width);
    set_current(slots, (size_t)(ahead / width));
    if (slots->current >= slots->used)
        slots->used = slots->current + 1;
}

void slots_row(const struct slots *slots, size_t i, struct slot_row *out)
{
    const struct slot *slot = &slots->slot[i];
    double most = slot->ops > 0 ? (double)slots->max_ns[i] : NAN;

    *out = (struct slot_row){
        .start_ns = (int64_t)i * slots->width_ns,
        .width_ns = slots->width_ns,
        .ops = slot->ops,
        .bytes = slot->bytes,
        .p50_ns =
            hist_scale_quantile_ns(slot->count, SLOT_SUB_BITS, slot->ops, 0.5),
        .p99_ns =
            hist_scale_quantile_ns(slot->count, SLOT_SUB_BITS, slot->ops, 0.99),
        .max_ns = most,
    };
    /* The middle of a bucket may lie above all that is in it. */
    if (out->p50_ns > most)
        out->p50_ns = most;
    if (out->p99_ns > most)
        out->p99_ns = most;
}
