/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * From the ranks' stamps to figures.  What every figure means is in
 * stats/bandwidth.h and docs/method.md; here is only who computes what where:
 * each rank puts its own times on the global timeline, rank 0 reduces, and
 * what needs each rank's marks and histograms is summed over all
 * (engine/detail.c).
 */

#include "engine/reduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/detail.h"
#include "stats/ends.h"
#include "stats/spread.h"

#define NS_PER_S INT64_C(1000000000)

/* What one rank sends to rank 0: its row, and times that the row has not. */
struct sent {
    struct iobm_rank_row row;
    int64_t open_ns, io_end_ns, close_ns; /* global */
    double dirty_share, cpu_s;
    int64_t check_failed; /* of this rank's clock */
    struct detail_extent extent;
};

static void fill_sent(const struct measure *measure,
                      const struct reduce_input *in, struct sent *sent)
{
    const struct phase_output *out = in->out;
    const struct timeline *line = measure->timeline;
    struct iobm_rank_row *row = &sent->row;
    int node = measure->map->node_of[measure->comm->rank];
    int64_t start_bound, end_bound, spare;

    memset(sent, 0, sizeof(*sent));
    row->rank = measure->comm->rank;
    memcpy(row->node, measure->map->host[node], sizeof(row->node));
    row->part = in->part;
    row->start_ns = timeline_global(line, out->start_ns, &start_bound);
    row->end_ns = timeline_global(line, out->sync_end_ns, &end_bound);
    row->clock_bound_ns = start_bound > end_bound ? start_bound : end_bound;
    row->open_ns = out->start_ns - out->open_start_ns;
    row->io_ns = out->io_end_ns - out->start_ns;
    row->sync_ns = out->sync_end_ns - out->io_end_ns;
    row->close_ns = out->close_end_ns - out->sync_end_ns;
    row->bytes = out->bytes;
    row->ops = out->ops;
    row->errors = out->errors;
    row->late_ns = in->late_ns;
    row->latency_sum_ns = out->latency_sum_ns;
    row->latency_max_ns = out->latency_max_ns;
    row->prepare_ns = out->prepare_ns;
    row->rate_Bps =
        row->end_ns > row->start_ns
            ? (double)row->bytes * 1e9 / (double)(row->end_ns - row->start_ns)
            : NAN;
    sent->dirty_share = out->dirty_share;
    sent->cpu_s = in->cpu_s;
    sent->check_failed = line->check_failed;
    detail_extent_init(&sent->extent);
    if (in->log)
        detail_extent_of(in->log, &sent->extent);
    sent->open_ns = timeline_global(line, out->open_start_ns, &spare);
    sent->io_end_ns = timeline_global(line, out->io_end_ns, &spare);
    sent->close_ns = timeline_global(line, out->close_end_ns, &spare);
}

static void clear_rates(struct iobm_phase_row *row)
{
    row->bw_naive_Bps = row->bw_slowest_Bps = row->bw_wall_Bps = NAN;
    row->bw_wall_low_Bps = row->bw_wall_high_Bps = NAN;
    row->bw_steady_Bps = row->bw_steady_edge_pct = row->bw_q90_Bps = NAN;
    row->bw_open_close_Bps = row->bw_cache_Bps = NAN;
    row->bw_stone_10s_Bps = row->bw_stone_30s_Bps = NAN;
    row->bw_stone_60s_Bps = row->bw_stone_300s_Bps = NAN;
    row->dirty_pct = NAN;
    row->inflation_ranks = row->inflation_start = NAN;
    row->loss_ramp_pct = row->loss_tail_pct = NAN;
    row->imbalance = row->rate_cov = row->rate_jain = NAN;
    row->node_eta2 = row->node_p = NAN;
    row->rank_min_Bps = row->rank_max_Bps = NAN;
    row->duty_pct = row->prepare_pct = row->overhead_pct = NAN;
    row->seconds = row->seconds_outer = row->start_skew_s = NAN;
    row->first_start_ns = row->last_start_ns = -1;
    row->first_end_ns = row->last_end_ns = -1;
}

/* What lies in time within the phase. */
static void clear_structure(struct iobm_phase_row *row)
{
    row->ramp_ranks = row->ramp_nodes = -1;
    row->tail_ranks = row->tail_nodes = -1;
    row->ramp_s = row->tail_s = NAN;
    row->shape[0] = '\0';
    row->warmup_s = NAN;
    row->changes = row->cliff_bytes = -1;
    row->cliff_before_Bps = row->cliff_after_Bps = NAN;
    row->sustained_Bps = NAN;
}

static void clear_latency(struct iobm_phase_row *row)
{
    row->latency_min_s = row->latency_mean_s = NAN;
    row->latency_p50_s = row->latency_p90_s = NAN;
    row->latency_p99_s = row->latency_p999_s = NAN;
}

/* What is found out around the phase, not from it. */
static void clear_evidence(struct iobm_phase_row *row)
{
    row->cache_verdict[0] = row->cache_witness[0] = '\0';
    row->cache_method[0] = '\0';
    row->cached_pct = row->resident_pct = row->dirty_left_pct = NAN;
    row->direct_not_honoured = row->faster_than_link = -1;
    row->link_Bps = row->link_moved_bytes = row->device_bytes = NAN;
    row->working_set_pct = NAN;
    row->major_faults = row->swapped_bytes = row->memory_limit_hits = -1;
    row->memory_stall_pct = row->cpu_busy_pct = NAN;
    row->cpu_wait_pct = row->cpu_steal_pct = row->cpu_s = NAN;
    row->verify_bytes = row->verify_errors = -1;
    row->trust[0] = row->checks[0] = '\0';
}

void reduce_begin(const struct measure *measure, struct iobm_phase_row *row,
                  struct iobm_rank_row *ranks)
{
    if (row) {
        clear_rates(row);
        clear_structure(row);
        clear_latency(row);
        clear_evidence(row);
    }
    for (int r = 0; ranks && r < measure->comm->size; r++) {
        const char *host = measure->map->host[measure->map->node_of[r]];

        ranks[r].rank = r;
        memcpy(ranks[r].node, host, sizeof(ranks[r].node));
        ranks[r].start_ns = ranks[r].end_ns = -1;
        ranks[r].rate_Bps = NAN;
    }
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Rank 0: sums and maxima over the ranks. */
static void sum_up(const struct measure *measure, const struct sent *all,
                   struct iobm_phase_row *row)
{
    int64_t latency = 0, prepare = 0, duration = 0;
    double dirty = 0;
    int64_t latest_bound = 0, most = 0;

    row->cpu_s = 0;
    row->clock_failed = 0;
    for (int r = 0; r < measure->comm->size; r++) {
        const struct iobm_rank_row *one = &all[r].row;

        row->bytes += one->bytes;
        row->ops += one->ops;
        row->errors += one->errors;
        row->late_ranks += one->late_ns > 0;
        row->clock_failed |= all[r].check_failed;
        row->cpu_s += all[r].cpu_s;
        row->open_max_s = larger(row->open_max_s, (double)one->open_ns / 1e9);
        row->sync_max_s = larger(row->sync_max_s, (double)one->sync_ns / 1e9);
        row->close_max_s =
            larger(row->close_max_s, (double)one->close_ns / 1e9);
        if (one->latency_max_ns > most)
            most = one->latency_max_ns;
        if (one->clock_bound_ns > latest_bound)
            latest_bound = one->clock_bound_ns;
        if (one->bytes == 0)
            continue;
        latency += one->latency_sum_ns;
        dirty += all[r].dirty_share * (double)one->bytes;
        prepare += one->prepare_ns;
        duration += one->end_ns - one->start_ns;
    }
    row->dirty_pct = row->bytes > 0 ? 100.0 * dirty / (double)row->bytes : NAN;
    row->latency_max_s = (double)most / 1e9;
    row->clock_bound_s = (double)latest_bound / 1e9;
    row->duty_pct =
        duration > 0 ? 100.0 * (double)latency / (double)duration : NAN;
    row->prepare_pct =
        duration > 0 ? 100.0 * (double)prepare / (double)duration : NAN;
    if (duration > 0 && row->op_cost_ns > 0)
        row->overhead_pct =
            100.0 * row->op_cost_ns * (double)row->ops / (double)duration;
}

/* Whether the exchanges disagreed at a point that is not yet saved: before
 * the phase or after it. */
static bool any_anomaly(const struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->row_count; i++)
        if (timeline->rows[i].anomaly)
            return true;
    return false;
}

static void fill_bandwidth(const struct bw_result *bw,
                           struct iobm_phase_row *row)
{
    row->first_start_ns = bw->s0;
    row->last_start_ns = bw->s1;
    row->first_end_ns = bw->e0;
    row->last_end_ns = bw->e1;
    row->seconds = bw->seconds;
    row->start_skew_s = (double)(bw->s1 - bw->s0) / 1e9;
    row->bw_naive_Bps = bw->naive;
    row->bw_slowest_Bps = bw->slowest;
    row->bw_wall_Bps = bw->wall;
    row->bw_wall_low_Bps = bw->wall_low;
    row->bw_wall_high_Bps = bw->wall_high;
    row->bw_open_close_Bps = bw->open_close;
    row->bw_cache_Bps = bw->cache;
    row->inflation_ranks = bw->inflation_ranks;
    row->inflation_start = bw->inflation_start;
    row->too_short = bw->too_short;
}

/* Rank 0: how evenly the ranks did. */
static enum iobm_status fill_spread(const struct measure *measure,
                                    struct sent *all, uint64_t seed,
                                    struct iobm_phase_row *row,
                                    struct iobm_error *err)
{
    int n = measure->comm->size;
    double *duration = calloc((size_t)n, sizeof(*duration));
    double *rate = calloc((size_t)n, sizeof(*rate));
    int *node = calloc((size_t)n, sizeof(*node));
    bool *straggler = calloc((size_t)n, sizeof(*straggler));
    int *who = calloc((size_t)n, sizeof(*who));
    struct spread spread;
    size_t active = 0;
    bool ok = duration && rate && node && straggler && who;

    for (int r = 0; ok && r < n; r++) {
        const struct iobm_rank_row *one = &all[r].row;

        if (one->bytes == 0 || one->end_ns <= one->start_ns)
            continue;
        duration[active] = (double)(one->end_ns - one->start_ns) / 1e9;
        rate[active] = one->rate_Bps;
        node[active] = measure->map->node_of[r];
        who[active++] = r;
    }
    ok = ok &&
         spread_compute(duration, rate, node, active, seed, straggler, &spread);
    for (size_t i = 0; ok && i < active; i++)
        all[who[i]].row.straggler = straggler[i];
    if (ok) {
        row->imbalance = spread.imbalance;
        row->rate_cov = spread.cov;
        row->rate_jain = spread.jain;
        row->stragglers = spread.stragglers;
        row->node_eta2 = spread.node_eta2;
        row->node_p = spread.node_p;
        row->rank_min_Bps = spread.min_rate;
        row->rank_max_Bps = spread.max_rate;
    }
    free(duration);
    free(rate);
    free(node);
    free(straggler);
    free(who);
    if (!ok)
        return iobm_fail(err, IOBM_ENOMEM, "cannot compare %d ranks", n);
    return IOBM_OK;
}

/* Where the windows lie; -1 bounds: there is none. */
struct windows {
    int64_t steady_from, steady_to;
    int64_t q90_from, q90_to;
    int64_t s0, s1, e0, e1;
};

static const struct windows no_windows = {-1, -1, -1, -1, -1, -1, -1, -1};

/* bw_stone(D) for these, where the phase lasted as long. */
#define STONES 4
static const int64_t stones_s[STONES] = {10, 30, 60, 300};

/* Bytes that are summed over the ranks: V_i at these times. */
enum {
    AT_STEADY_FROM,
    AT_STEADY_TO,
    AT_Q90_FROM,
    AT_Q90_TO,
    AT_S1,
    AT_E0,
    ACTIVE, /* ranks with bytes */
    AT_STONE,
    SUMS = AT_STONE + STONES
};

static void find_windows(const struct bw_rank *ranks, int n,
                         const struct bw_result *bw, struct windows *w)
{
    *w = (struct windows){-1, -1, -1, -1, bw->s0, bw->s1, bw->e0, bw->e1};
    if (!bw_window(ranks, (size_t)n, 1.0, &w->steady_from, &w->steady_to))
        w->steady_from = w->steady_to = -1;
    if (!bw_window(ranks, (size_t)n, 0.9, &w->q90_from, &w->q90_to))
        w->q90_from = w->q90_to = -1;
}

/* This rank's bytes at a time of the global timeline: the marks are local, so
 * the point is moved to where it lies between the rank's own two ends. */
static double bytes_at(const struct reduce_input *in, const struct sent *mine,
                       int64_t global_ns)
{
    const struct phase_output *out = in->out;
    int64_t span = mine->row.end_ns - mine->row.start_ns;
    int64_t ahead = global_ns - mine->row.start_ns;

    if (ahead < 0)
        return 0;
    if (ahead >= span)
        return (double)mine->row.bytes;
    /* The two clocks differ by far less than the ns that a double loses. */
    ahead += (int64_t)((double)(out->sync_end_ns - out->start_ns - span) *
                       (double)ahead / (double)span);
    return marks_bytes_at(&in->log->marks, out->start_ns + ahead);
}

/* Rank 0: the virtual stonewalls, from all ranks' bytes at each. */
static void fill_stones(const struct windows *w, const int64_t *bytes,
                        struct iobm_phase_row *row)
{
    double *const rates[STONES] = {
        &row->bw_stone_10s_Bps, &row->bw_stone_30s_Bps, &row->bw_stone_60s_Bps,
        &row->bw_stone_300s_Bps};

    for (int i = 0; i < STONES; i++)
        if (w->e1 - w->s0 >= stones_s[i] * NS_PER_S)
            *rates[i] = (double)bytes[i] / (double)stones_s[i];
}

/* What this rank adds.  Whole bytes: sums of them are exact, and half a byte
 * of each rank is nothing. */
static void fill_sums(const struct reduce_input *in, const struct sent *mine,
                      const struct windows *w, int64_t *sums)
{
    const int64_t at_ns[] = {w->steady_from, w->steady_to, w->q90_from,
                             w->q90_to,      w->s1,        w->e0};

    if (mine->row.bytes == 0)
        return;
    for (int i = 0; i < ACTIVE; i++)
        sums[i] = llround(bytes_at(in, mine, at_ns[i]));
    sums[ACTIVE] = 1;
    for (int i = 0; i < STONES; i++)
        sums[AT_STONE + i] =
            llround(bytes_at(in, mine, w->s0 + stones_s[i] * NS_PER_S));
}

/* Rank 0: what the windows hold, as rates. */
static void fill_windows(const struct reduce_input *in, const struct windows *w,
                         const struct bw_result *bw, const int64_t *sums,
                         struct iobm_phase_row *row)
{
    double inside = (double)(sums[AT_STEADY_TO] - sums[AT_STEADY_FROM]);
    double ramp, tail;

    if (w->steady_to > w->steady_from) {
        row->bw_steady_Bps =
            inside / ((double)(w->steady_to - w->steady_from) / 1e9);
        row->bw_steady_edge_pct = inside > 0 ? 100.0 * (double)sums[ACTIVE] *
                                                   (double)in->transfer_bytes /
                                                   (2.0 * inside)
                                             : NAN;
        bw_losses(bw, row->bw_steady_Bps, (double)sums[AT_S1],
                  (double)sums[AT_E0], &ramp, &tail);
        row->loss_ramp_pct = 100.0 * ramp;
        row->loss_tail_pct = 100.0 * tail;
    }
    fill_stones(w, sums + AT_STONE, row);
    if (w->q90_to > w->q90_from)
        row->bw_q90_Bps = (double)(sums[AT_Q90_TO] - sums[AT_Q90_FROM]) /
                          ((double)(w->q90_to - w->q90_from) / 1e9);
}

static void to_bw_ranks(const struct sent *all, int n, struct bw_rank *ranks)
{
    for (int r = 0; r < n; r++) {
        const struct sent *one = &all[r];

        ranks[r] = (struct bw_rank){
            .start_ns = one->row.start_ns,
            .end_ns = one->row.end_ns,
            .bound_ns = one->row.clock_bound_ns,
            .bytes = one->row.bytes,
            .io_end_ns = one->io_end_ns,
            .open_ns = one->open_ns,
            .close_ns = one->close_ns,
        };
    }
}

/* max d_i, each by its rank's own clock. */
static int64_t longest_own(const struct sent *all, int n)
{
    int64_t longest = 0;

    for (int r = 0; r < n; r++) {
        const struct iobm_rank_row *one = &all[r].row;

        if (one->bytes > 0 && one->io_ns + one->sync_ns > longest)
            longest = one->io_ns + one->sync_ns;
    }
    return longest;
}

/*
 * The sandwich test needs no model of the clocks.  When it fails, the only
 * bandwidth that stands is the one by rank 0's own clock: a lower bound.
 */
static enum iobm_status check_clock(const struct reduce_input *in,
                                    const struct bw_result *bw, int64_t own_ns,
                                    struct iobm_phase_row *row,
                                    struct iobm_error *err)
{
    int64_t outer = in->outer_ns;
    int64_t bound = (int64_t)(row->clock_bound_s * 1e9);

    row->seconds_outer = (double)outer / 1e9;
    if (bw->ordered && bw_sandwich(bw, own_ns, outer, bound) &&
        !row->clock_failed)
        return IOBM_OK;
    row->clock_failed = 1;
    row->bw_open_close_Bps = row->bw_cache_Bps = row->inflation_start = NAN;
    row->start_skew_s = NAN;
    row->too_short = 0;
    row->bw_wall_Bps = row->bw_wall_low_Bps =
        (double)bw->bytes / row->seconds_outer;
    row->bw_wall_high_Bps = NAN;
    row->seconds = row->seconds_outer;
    return iobm_fail(err, IOBM_EINVALID,
                     "the clocks of the nodes disagree beyond their bounds: "
                     "the bandwidth is a lower bound by rank 0's clock");
}

/* What rank 0 tells all of how to sum up. */
struct shared {
    struct windows windows;
    struct detail_plan plan;
};

/* What a phase is reduced from; the arrays are rank 0's. */
struct gathered {
    struct sent mine;
    struct sent *all;
    struct bw_rank *ranks;
    struct bw_result bw;
    int64_t moving_from, moving_to; /* all ranks, or most, move bytes */
    struct shared shared;
};

static enum iobm_status gather_all(const struct measure *measure,
                                   const struct reduce_input *in,
                                   struct gathered *g, struct iobm_error *err)
{
    size_t n = measure->comm->rank == 0 ? (size_t)measure->comm->size : 1;
    enum iobm_status status = IOBM_OK;

    g->all = calloc(n, sizeof(*g->all));
    g->ranks = calloc(n, sizeof(*g->ranks));
    if (!g->all || !g->ranks)
        status = iobm_fail(err, IOBM_ENOMEM, "cannot gather the results");
    status = par_agree_all(measure->comm, status, NULL, err);
    if (status != IOBM_OK)
        return status;
    fill_sent(measure, in, &g->mine);
    return par_gather_all(measure->comm, &g->mine, sizeof(g->mine), g->all,
                          err);
}

/* Rank 0: who began late and who was at work to the last. */
static enum iobm_status fill_ends(const struct measure *measure,
                                  const struct bw_rank *ranks,
                                  struct iobm_phase_row *row,
                                  struct iobm_error *err)
{
    struct ends ends;

    if (!ends_find(ranks, measure->map->node_of, (size_t)measure->comm->size,
                   &ends))
        return iobm_fail(err, IOBM_ENOMEM, "cannot compare the ranks' ends");
    row->ramp_ranks = (int64_t)ends.ramp_ranks;
    row->ramp_nodes = (int64_t)ends.ramp_nodes;
    row->ramp_s = ends.ramp_s;
    row->tail_ranks = (int64_t)ends.tail_ranks;
    row->tail_nodes = (int64_t)ends.tail_nodes;
    row->tail_s = ends.tail_s;
    return IOBM_OK;
}

/* Rank 0: when bytes move on all ranks, else on most; not while they sync.
 * Changes 'ranks'. */
static void find_moving(struct bw_rank *ranks, int n, int64_t *from_ns,
                        int64_t *to_ns)
{
    *from_ns = *to_ns = -1;
    for (int r = 0; r < n; r++)
        ranks[r].end_ns = ranks[r].io_end_ns;
    if (!bw_window(ranks, (size_t)n, 1.0, from_ns, to_ns) &&
        !bw_window(ranks, (size_t)n, 0.9, from_ns, to_ns))
        *from_ns = *to_ns = -1;
}

/* Rank 0: what is to be looked at in time, once the clocks are known to be
 * right. */
static enum iobm_status plan_in_time(const struct measure *measure,
                                     struct gathered *g,
                                     struct iobm_phase_row *row,
                                     struct iobm_error *err)
{
    struct detail_plan *plan = &g->shared.plan;
    int64_t span_ns = g->bw.e1 - g->bw.s0;
    enum iobm_status status = fill_ends(measure, g->ranks, row, err);

    if (status != IOBM_OK)
        return status;
    find_windows(g->ranks, measure->comm->size, &g->bw, &g->shared.windows);
    find_moving(g->ranks, measure->comm->size, &g->moving_from, &g->moving_to);
    plan->in_time = g->bw.bytes > 0;
    detail_grid_init(&plan->grid, g->bw.s0, span_ns > 0 ? span_ns : 1);
    return IOBM_OK;
}

/* Rank 0: all that takes the stamps alone. */
static enum iobm_status reduce_rank0(const struct measure *measure,
                                     const struct reduce_input *in,
                                     enum iobm_status outcome,
                                     struct gathered *g,
                                     struct iobm_phase_row *row,
                                     struct iobm_error *err)
{
    int n = measure->comm->size;
    enum iobm_status status;

    row->clock_anomaly = any_anomaly(measure->timeline);
    sum_up(measure, g->all, row);
    for (int r = 0; r < n; r++)
        detail_extent_add(&g->shared.plan.extent, &g->all[r].extent);
    if (outcome != IOBM_OK)
        return IOBM_OK;
    to_bw_ranks(g->all, n, g->ranks);
    bw_compute(g->ranks, (size_t)n, &g->bw);
    fill_bandwidth(&g->bw, row);
    status = fill_spread(measure, g->all, in->seed, row, err);
    if (status == IOBM_OK)
        status = check_clock(in, &g->bw, longest_own(g->all, n), row, err);
    if (status == IOBM_OK)
        status = plan_in_time(measure, g, row, err);
    return status;
}

/* Rank 0: from what was summed to rows. */
static enum iobm_status fill_detail(const struct measure *measure,
                                    const struct reduce_input *in,
                                    const struct gathered *g,
                                    const struct detail_all *all,
                                    struct iobm_phase_row *row,
                                    struct iobm_detail *detail,
                                    struct iobm_error *err)
{
    const struct node_map *map = measure->map;
    const struct detail_grid *grid = &g->shared.plan.grid;
    bool ok = detail_class_rows(all->hist, in->kind, row, detail);

    if (all->total)
        ok = ok && detail_second_rows(all->slots, row, detail) &&
             detail_structure(grid, all->total, g->moving_from, g->moving_to,
                              in->kind, row, detail);
    if (all->parts)
        ok = ok && detail_series_rows(grid, all->total, all->parts,
                                      measure->comm->size, map->node_of,
                                      map->nodes, row, detail);
    return ok ? IOBM_OK
              : iobm_fail(err, IOBM_ENOMEM,
                          "cannot keep what the ranks did over time");
}

/* What takes everyone's marks and histograms. */
static enum iobm_status fill_logs_all(const struct measure *measure,
                                      const struct reduce_input *in,
                                      struct gathered *g,
                                      struct iobm_phase_row *row,
                                      struct iobm_detail *detail,
                                      struct iobm_error *err)
{
    struct shared *shared = &g->shared;
    int64_t sums[SUMS] = {0};
    const struct detail_input input = {
        .log = in->log,
        .local_start_ns = in->out->start_ns,
        .local_end_ns = in->out->sync_end_ns,
        .start_ns = g->mine.row.start_ns,
        .end_ns = g->mine.row.end_ns,
        .sums = sums,
        .sum_count = SUMS,
    };
    struct detail_all all = {0};
    enum iobm_status status;

    shared->plan.parts = detail != NULL; /* rank 0's is what counts */
    status = par_bcast_all(measure->comm, shared, sizeof(*shared), 0, err);
    if (status != IOBM_OK)
        return status;
    if (shared->plan.in_time)
        fill_sums(in, &g->mine, &shared->windows, sums);
    status = detail_gather_all(measure, &shared->plan, &input, &all, err);
    if (status == IOBM_OK && measure->comm->rank == 0) {
        if (shared->plan.in_time)
            fill_windows(in, &shared->windows, &g->bw, sums, row);
        status = fill_detail(measure, in, g, &all, row, detail, err);
    }
    detail_all_release(&all);
    return status;
}

static void copy_rows(const struct sent *all, int n, enum iobm_status outcome,
                      struct iobm_rank_row *ranks)
{
    for (int r = 0; r < n; r++) {
        ranks[r] = all[r].row;
        if (outcome != IOBM_OK)
            ranks[r].rate_Bps = NAN;
    }
}

/* Gather, and on rank 0 reduce; what the ranks kept takes everyone.  The
 * outcome is each rank's own. */
static enum iobm_status reduce_own_all(
    const struct measure *measure, const struct reduce_input *in,
    enum iobm_status outcome, struct gathered *g, struct iobm_phase_row *row,
    struct iobm_rank_row *ranks, struct iobm_detail *detail,
    struct iobm_error *err)
{
    struct iobm_error other;
    enum iobm_status status = IOBM_OK, filled = IOBM_OK;

    if (measure->comm->rank == 0) {
        status = reduce_rank0(measure, in, outcome, g, row, err);
        copy_rows(g->all, measure->comm->size, outcome, ranks);
    }
    if (in->log)
        filled = fill_logs_all(measure, in, g, row, detail, &other);
    /* Clocks that disagree are not the worst that can be. */
    if (filled != IOBM_OK && (status == IOBM_OK || status == IOBM_EINVALID)) {
        status = filled;
        *err = other;
    }
    return status;
}

enum iobm_status reduce_phase_all(const struct measure *measure,
                                  const struct reduce_input *in,
                                  enum iobm_status outcome,
                                  struct iobm_phase_row *row,
                                  struct iobm_rank_row *ranks,
                                  struct iobm_detail *detail,
                                  struct iobm_error *err)
{
    struct gathered g = {.shared.windows = no_windows};
    struct iobm_error own = {.rank = -1};
    enum iobm_status status;

    detail_extent_init(&g.shared.plan.extent);
    status = gather_all(measure, in, &g, err);
    if (status == IOBM_OK) {
        status =
            reduce_own_all(measure, in, outcome, &g, row, ranks, detail, &own);
        status = par_agree_all(measure->comm, status, NULL, &own);
        if (status != IOBM_OK)
            *err = own;
    }
    if (row && status != IOBM_OK && status != IOBM_EINVALID) {
        clear_rates(row);
        clear_structure(row);
    }
    free(g.all);
    free(g.ranks);
    return status;
}
