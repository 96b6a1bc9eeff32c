/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sums over all ranks, turned into rows.  What a bin, a slot, a percentile or
 * a change is, the modules of src/stats know.
 */

#include "engine/detail_rows.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "stats/series.h"
#include "stats/structure.h"

#define NS_PER_S 1e9

/* Share of a phase that its sync may take before the rate of the last
 * transfers is one into a cache. */
#define SYNC_SHARE_MAX 0.1

void detail_grid_init(struct detail_grid *grid, int64_t origin_ns,
                      int64_t span_ns)
{
    grid->origin_ns = origin_ns;
    grid->width_ns = series_width_ns(span_ns, DETAIL_BINS);
    grid->part_width_ns = series_width_ns(span_ns, DETAIL_PART_BINS);
    grid->bins = series_bins(span_ns, grid->width_ns);
    grid->part_bins = series_bins(span_ns, grid->part_width_ns);
}

/* One curve's rows, to 'out'; returns what is behind them. */
static struct iobm_series_row *add_curve(struct iobm_series_row *out,
                                         const struct iobm_series_row *like,
                                         const int64_t *bins, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = *like;
        out[i].start_ns += (int64_t)i * like->width_ns;
        out[i].bytes = bins[i];
    }
    return out + n;
}

static struct iobm_series_row *add_ranks(struct iobm_series_row *out,
                                         struct iobm_series_row *like,
                                         const int64_t *parts, size_t n,
                                         int ranks, const int *node_of)
{
    for (int r = 0; r < ranks; r++) {
        like->rank = r;
        like->node = node_of[r];
        out = add_curve(out, like, parts + (size_t)r * n, n);
    }
    return out;
}

/* Curves of zeros to which each rank's is then added. */
static void add_nodes(struct iobm_series_row *out, struct iobm_series_row *like,
                      const int64_t *parts, size_t n, int ranks,
                      const int *node_of, int nodes)
{
    static const int64_t zeros[DETAIL_PART_BINS];
    struct iobm_series_row *to = out;

    like->rank = -1;
    for (int node = 0; node < nodes; node++) {
        like->node = node;
        to = add_curve(to, like, zeros, n);
    }
    for (int r = 0; r < ranks; r++)
        for (size_t i = 0; i < n; i++)
            out[(size_t)node_of[r] * n + i].bytes += parts[(size_t)r * n + i];
}

bool detail_series_rows(const struct detail_grid *grid, const int64_t *total,
                        const int64_t *parts, int ranks, const int *node_of,
                        int nodes, const struct iobm_phase_row *row,
                        struct iobm_detail *detail)
{
    bool each = ranks <= SERIES_RANKS_MAX;
    size_t count =
        grid->bins + (size_t)(each ? ranks : nodes) * grid->part_bins;
    struct iobm_series_row like = {
        .phase = row->phase,
        .repeat = row->repeat,
        .rank = -1,
        .node = -1,
        .start_ns = grid->origin_ns,
        .width_ns = grid->width_ns,
    };
    struct iobm_series_row *out;

    if (!detail)
        return true;
    assert(!detail->series && grid->part_bins <= DETAIL_PART_BINS);
    out = detail->series = calloc(count, sizeof(*out));
    if (!out)
        return false;
    detail->series_count = count;
    out = add_curve(out, &like, total, grid->bins);
    like.width_ns = grid->part_width_ns;
    if (each)
        add_ranks(out, &like, parts, grid->part_bins, ranks, node_of);
    else
        add_nodes(out, &like, parts, grid->part_bins, ranks, node_of, nodes);
    return true;
}

bool detail_second_rows(const struct slots *slots,
                        const struct iobm_phase_row *row,
                        struct iobm_detail *detail)
{
    struct iobm_second_row *out;

    if (!detail)
        return true;
    assert(!detail->seconds);
    out = detail->seconds = calloc(slots->used, sizeof(*out));
    if (!out)
        return false;
    detail->second_count = slots->used;
    for (size_t i = 0; i < slots->used; i++) {
        struct slot_row slot;

        slots_row(slots, i, &slot);
        out[i] = (struct iobm_second_row){
            .phase = row->phase,
            .repeat = row->repeat,
            .start_s = (double)slot.start_ns / NS_PER_S,
            .width_s = (double)slot.width_ns / NS_PER_S,
            .ops = slot.ops,
            .bytes = slot.bytes,
            .p50_s = slot.p50_ns / NS_PER_S,
            .p99_s = slot.p99_ns / NS_PER_S,
            .max_s = slot.max_ns / NS_PER_S,
        };
    }
    return true;
}

static const char *class_name(enum phase_class class, enum iobm_op_kind kind)
{
    static const char *const names[PHASE_CLASSES] = {
        [PHASE_OPEN] = "open", [PHASE_SYNC] = "sync", [PHASE_CLOSE] = "close"};

    if (class == PHASE_TRANSFER)
        return kind == IOBM_OP_WRITE ? "write" : "read";
    return names[class];
}

static double quantile_s(const struct hist *hist, double q)
{
    return hist_quantile_ns(hist, q) / NS_PER_S;
}

static void class_row(const struct hist *hist, const char *name,
                      const struct iobm_phase_row *row,
                      struct iobm_class_row *out)
{
    *out = (struct iobm_class_row){
        .phase = row->phase,
        .repeat = row->repeat,
        .ops = hist->n,
        .min_s = (double)hist->min_ns / NS_PER_S,
        .mean_s = hist_mean_ns(hist) / NS_PER_S,
        .p50_s = quantile_s(hist, 0.5),
        .p90_s = quantile_s(hist, 0.9),
        .p99_s = quantile_s(hist, 0.99),
        .p999_s = quantile_s(hist, 0.999),
        .p9999_s = quantile_s(hist, 0.9999),
        .max_s = (double)hist->max_ns / NS_PER_S,
    };
    str_copy(out->op_class, sizeof(out->op_class), name);
}

static size_t buckets_used(const struct hist *hist)
{
    size_t used = 0;

    for (int i = 0; i < HIST_BUCKETS; i++)
        used += hist->count[i] > 0;
    return used;
}

/* Rows of the buckets that are not empty; returns what is behind them. */
static struct iobm_latency_row *add_buckets(struct iobm_latency_row *out,
                                            const struct hist *hist,
                                            const char *name,
                                            const struct iobm_phase_row *row)
{
    for (int i = 0; i < HIST_BUCKETS; i++) {
        if (hist->count[i] == 0)
            continue;
        out->phase = row->phase;
        out->repeat = row->repeat;
        str_copy(out->op_class, sizeof(out->op_class), name);
        hist_edges(i, &out->low_ns, &out->high_ns);
        out->ops = hist->count[i];
        out++;
    }
    return out;
}

bool detail_class_rows(const struct hist *hist, enum iobm_op_kind kind,
                       struct iobm_phase_row *row, struct iobm_detail *detail)
{
    const struct hist *transfers = &hist[PHASE_TRANSFER];
    struct iobm_latency_row *bucket;
    struct iobm_class_row one;
    size_t buckets = 0;

    if (transfers->n > 0) {
        class_row(transfers, "", row, &one);
        row->latency_min_s = one.min_s;
        row->latency_mean_s = one.mean_s;
        row->latency_p50_s = one.p50_s;
        row->latency_p90_s = one.p90_s;
        row->latency_p99_s = one.p99_s;
        row->latency_p999_s = one.p999_s;
    }
    if (!detail)
        return true;
    assert(!detail->classes && !detail->latency);
    for (int c = 0; c < PHASE_CLASSES; c++)
        buckets += buckets_used(&hist[c]);
    if (buckets == 0)
        return true;
    detail->classes = calloc(PHASE_CLASSES, sizeof(*detail->classes));
    bucket = detail->latency = calloc(buckets, sizeof(*bucket));
    if (!detail->classes || !bucket)
        return false;
    detail->latency_count = buckets;
    for (int c = 0; c < PHASE_CLASSES; c++) {
        const char *name = class_name((enum phase_class)c, kind);

        if (hist[c].n == 0)
            continue;
        class_row(&hist[c], name, row, &detail->classes[detail->class_count++]);
        bucket = add_buckets(bucket, &hist[c], name, row);
    }
    return true;
}

/* The changes, 'ahead_ns' and 'ahead_bytes' behind S0. */
static bool change_rows(const struct structure *structure, int64_t ahead_ns,
                        int64_t ahead_bytes, const struct iobm_phase_row *row,
                        struct iobm_detail *detail)
{
    size_t n = structure->change_count;

    if (!detail || n == 0)
        return true;
    assert(!detail->changes);
    detail->changes = calloc(n, sizeof(*detail->changes));
    if (!detail->changes)
        return false;
    detail->change_count = n;
    for (size_t i = 0; i < n; i++) {
        const struct structure_change *change = &structure->change[i];

        detail->changes[i] = (struct iobm_change_row){
            .phase = row->phase,
            .repeat = row->repeat,
            .at_s = (double)(ahead_ns + change->at_ns) / NS_PER_S,
            .at_bytes = ahead_bytes + change->at_bytes,
            .before_Bps = change->before_Bps,
            .after_Bps = change->after_Bps,
        };
    }
    return true;
}

static void fill_structure(const struct structure *structure,
                           int64_t ahead_bytes, struct iobm_phase_row *row)
{
    str_copy(row->shape, sizeof(row->shape),
             structure_shape_name(structure->shape));
    if (structure->shape == STRUCTURE_SHORT)
        return;
    row->warmup_s = (double)structure->warmup_ns / NS_PER_S;
    row->changes = (int64_t)structure->change_count;
    if (structure->cliff) {
        row->cliff_bytes = ahead_bytes + structure->cliff_bytes;
        row->cliff_before_Bps = structure->cliff_before_Bps;
        row->cliff_after_Bps = structure->cliff_after_Bps;
    }
    if (!(row->sync_max_s > SYNC_SHARE_MAX * row->seconds))
        row->sustained_Bps = structure->sustained_Bps;
}

bool detail_structure(const struct detail_grid *grid, const int64_t *total,
                      int64_t from_ns, int64_t to_ns, enum iobm_op_kind kind,
                      struct iobm_phase_row *row, struct iobm_detail *detail)
{
    int64_t fine = grid->width_ns;
    int64_t bins[DETAIL_BINS], width, ahead_bytes = 0;
    struct structure structure;
    size_t first, end, n;

    if (from_ns < grid->origin_ns || to_ns <= from_ns)
        return true;
    first = (size_t)((from_ns - grid->origin_ns + fine - 1) / fine);
    end = (size_t)((to_ns - grid->origin_ns) / fine);
    if (end > grid->bins)
        end = grid->bins;
    if (first > end)
        first = end;
    for (size_t i = 0; i < first; i++)
        ahead_bytes += total[i];
    n = structure_rebin(total + first, end - first, fine, bins, &width);
    if (!structure_find(bins, n, width, kind == IOBM_OP_WRITE, &structure))
        return false;
    fill_structure(&structure, ahead_bytes, row);
    return change_rows(&structure, (int64_t)first * fine, ahead_bytes, row,
                       detail);
}
