/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Packing, summing over the ranks, unpacking.  Everything that is a sum goes
 * in one message: the caller's values, bins, histograms, slots, one behind
 * the other.  Every rank packs by the plan, so that the places agree.
 */

#include "engine/detail.h"

#include <stdlib.h>
#include <string.h>

#include "stats/series.h"

void detail_extent_init(struct detail_extent *extent)
{
    *extent = (struct detail_extent){.slot_width_ns = SLOTS_WIDTH_NS};
    for (int c = 0; c < PHASE_CLASSES; c++)
        extent->least_ns[c] = INT64_MAX;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void detail_extent_add(struct detail_extent *extent,
                       const struct detail_extent *other)
{
    for (int c = 0; c < PHASE_CLASSES; c++) {
        if (other->least_ns[c] < extent->least_ns[c])
            extent->least_ns[c] = other->least_ns[c];
        extent->most_ns[c] = larger(extent->most_ns[c], other->most_ns[c]);
    }
    extent->slot_width_ns = larger(extent->slot_width_ns, other->slot_width_ns);
    extent->slots_ns = larger(extent->slots_ns, other->slots_ns);
}

void detail_extent_of(const struct phase_log *log, struct detail_extent *extent)
{
    for (int c = 0; c < PHASE_CLASSES; c++) {
        extent->least_ns[c] = log->hist[c].min_ns;
        extent->most_ns[c] = log->hist[c].max_ns;
    }
    extent->slot_width_ns = log->slots.width_ns;
    extent->slots_ns = (int64_t)log->slots.used * log->slots.width_ns;
}

/* Buckets that hold something on any rank. */
struct range {
    int first, count;
};

static struct range buckets(const struct detail_extent *extent,
                            enum phase_class class, int bits)
{
    int first, last;

    if (extent->most_ns[class] < extent->least_ns[class])
        return (struct range){0, 0};
    first = hist_scale_bucket(extent->least_ns[class], bits);
    last = hist_scale_bucket(extent->most_ns[class], bits);
    return (struct range){first, last - first + 1};
}

/* Slots of all ranks; each has room for as many, the widest slots' included,
 * since widths are powers of two. */
static size_t slots_used(const struct detail_plan *plan)
{
    const struct detail_extent *extent = &plan->extent;

    if (!plan->in_time)
        return 0;
    return (size_t)((extent->slots_ns + extent->slot_width_ns - 1) /
                    extent->slot_width_ns);
}

/* A walk over the message: sums, bins, classes, slots. */
struct walk {
    const struct detail_plan *plan;
    int64_t *at;
    bool unpack;
};

static void move(struct walk *walk, int64_t *values, size_t n)
{
    if (walk->unpack)
        memcpy(values, walk->at, n * sizeof(*values));
    else
        memcpy(walk->at, values, n * sizeof(*values));
    walk->at += n;
}

static void walk_hist(struct walk *walk, struct hist *hist)
{
    const struct detail_extent *extent = &walk->plan->extent;

    for (int c = 0; c < PHASE_CLASSES; c++) {
        struct range range =
            buckets(extent, (enum phase_class)c, HIST_SUB_BITS);

        move(walk, &hist[c].n, 1);
        move(walk, &hist[c].sum_ns, 1);
        move(walk, hist[c].count + range.first, (size_t)range.count);
        if (walk->unpack && range.count > 0) {
            hist[c].min_ns = extent->least_ns[c];
            hist[c].max_ns = extent->most_ns[c];
        }
    }
}

static void walk_slots(struct walk *walk, struct slots *slots)
{
    struct range range =
        buckets(&walk->plan->extent, PHASE_TRANSFER, SLOT_SUB_BITS);
    size_t used = slots_used(walk->plan);

    for (size_t i = 0; i < used; i++) {
        struct slot *slot = &slots->slot[i];

        move(walk, &slot->ops, 1);
        move(walk, &slot->bytes, 1);
        move(walk, slot->count + range.first, (size_t)range.count);
    }
    if (walk->unpack && used > 0)
        slots->used = used;
}

/* How many values the message has. */
static size_t message_values(const struct detail_plan *plan, int sums)
{
    size_t n = (size_t)sums + (plan->in_time ? plan->grid.bins : 0);

    for (int c = 0; c < PHASE_CLASSES; c++)
        n += 2 +
             (size_t)buckets(&plan->extent, (enum phase_class)c, HIST_SUB_BITS)
                 .count;
    return n + slots_used(plan) *
                   (2 + (size_t)buckets(&plan->extent, PHASE_TRANSFER,
                                        SLOT_SUB_BITS)
                            .count);
}

static bool allocate(const struct measure *measure,
                     const struct detail_plan *plan,
                     const struct detail_input *in, struct detail_all *all)
{
    bool root = measure->comm->rank == 0;
    size_t n = plan->grid.part_bins * (size_t)measure->comm->size;

    all->values =
        calloc(message_values(plan, in->sum_count), sizeof(*all->values));
    if (!all->values)
        return false;
    if (plan->in_time) {
        all->total = calloc(plan->grid.bins, sizeof(*all->total));
        if (!all->total)
            return false;
    }
    if (plan->in_time && plan->parts && root) {
        all->parts = calloc(n, sizeof(*all->parts));
        if (!all->parts)
            return false;
    }
    if (!root)
        return true;
    all->hist = malloc(PHASE_CLASSES * sizeof(*all->hist));
    for (int c = 0; all->hist && c < PHASE_CLASSES; c++)
        hist_init(&all->hist[c]);
    return all->hist != NULL;
}

/*
 * The longest operation of each slot; and, in the same message, whether some
 * rank has no memory for the others.
 */
static enum iobm_status share_longest_all(const struct measure *measure,
                                          const struct detail_plan *plan,
                                          struct slots *slots, bool ready,
                                          struct iobm_error *err)
{
    int64_t most[SLOTS_ROOM + 1];
    size_t used = slots_used(plan);
    enum iobm_status status;

    if (plan->in_time)
        memcpy(most, slots->max_ns, used * sizeof(*most));
    most[used] = !ready;
    status = par_max_all(measure->comm, most, (int)used + 1, err);
    if (status != IOBM_OK)
        return status;
    if (most[used])
        return iobm_fail(err, IOBM_ENOMEM,
                         "cannot gather what the ranks did over time");
    if (measure->comm->rank == 0 && plan->in_time)
        memcpy(slots->max_ns, most, used * sizeof(*most));
    return IOBM_OK;
}

static void pack(const struct detail_plan *plan, const struct detail_input *in,
                 struct detail_all *all)
{
    struct walk walk = {plan, all->values, false};

    move(&walk, in->sums, (size_t)in->sum_count);
    if (plan->in_time)
        move(&walk, all->total, plan->grid.bins);
    walk_hist(&walk, in->log->hist);
    walk_slots(&walk, &in->log->slots);
}

static void unpack(const struct detail_plan *plan,
                   const struct detail_input *in, struct detail_all *all)
{
    struct walk walk = {plan, all->values, true};

    move(&walk, in->sums, (size_t)in->sum_count);
    if (plan->in_time) {
        move(&walk, all->total, plan->grid.bins);
        all->slots = &in->log->slots;
    }
    walk_hist(&walk, all->hist);
    walk_slots(&walk, &in->log->slots);
}

/* This rank's bins, and of them those of its own curve. */
static void fill_bins(const struct detail_plan *plan,
                      const struct detail_input *in, int64_t *total,
                      int64_t *part)
{
    const struct detail_grid *grid = &plan->grid;
    size_t factor = (size_t)(grid->part_width_ns / grid->width_ns);

    series_fill(&in->log->marks, in->local_start_ns, in->local_end_ns,
                in->start_ns, in->end_ns, grid->origin_ns, grid->width_ns,
                total, grid->bins);
    for (size_t i = 0; i < grid->bins; i++)
        part[i] = total[i];
    (void)series_rebin(part, grid->bins, factor);
}

enum iobm_status detail_gather_all(const struct measure *measure,
                                   const struct detail_plan *plan,
                                   const struct detail_input *in,
                                   struct detail_all *all,
                                   struct iobm_error *err)
{
    int n = (int)message_values(plan, in->sum_count);
    int64_t part[DETAIL_BINS];
    enum iobm_status status;
    bool ready = allocate(measure, plan, in, all);

    if (plan->in_time)
        (void)slots_widen(&in->log->slots, plan->extent.slot_width_ns);
    status = share_longest_all(measure, plan, &in->log->slots, ready, err);
    if (status != IOBM_OK)
        return status;
    if (plan->in_time)
        fill_bins(plan, in, all->total, part);
    pack(plan, in, all);
    status = par_sum_int_all(measure->comm, all->values, n, err);
    if (status == IOBM_OK && plan->in_time && plan->parts)
        status = par_gather_all(measure->comm, part,
                                plan->grid.part_bins * sizeof(*part),
                                all->parts, err);
    if (status == IOBM_OK && measure->comm->rank == 0)
        unpack(plan, in, all);
    return status;
}

void detail_all_release(struct detail_all *all)
{
    free(all->hist);
    free(all->total);
    free(all->parts);
    free(all->values);
    *all = (struct detail_all){0};
}
