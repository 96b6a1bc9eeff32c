/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A phase on several ranks with a back end that takes a known time and moves
 * nothing: the figures that come out, and what comes out when ranks fail, in
 * any number and at any point.  Rank 0 prints TAP with the plan last; a check
 * passes when it does on every rank.  Times are compared with each other, or
 * with room for a machine under load.
 */
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/measure.h"

#define MS        INT64_C(1000000)
#define OPS       10
#define OP_BYTES  INT64_C(10485760)
#define PER_RANK  (OPS * OP_BYTES)
#define PHASE_NS  (200 * MS)
#define ROOM      0.35 /* for a machine under load */
#define MAX_RANKS 16

/* What every check needs.  One per process. */
static struct {
    struct iobm_comm comm;
    int checks, failures;
} test;

IOBM_PRINTF(2, 3) static void check(bool passed, const char *fmt, ...)
{
    int64_t worst = !passed;
    struct iobm_error err;
    va_list args;

    if (par_max_all(&test.comm, &worst, 1, &err) != IOBM_OK)
        worst = 1;
    test.checks++;
    test.failures += worst != 0;
    if (test.comm.rank != 0)
        return;
    printf("%sok %d - ", worst ? "not " : "", test.checks);
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    putchar('\n');
}

/* ---- the back end ---- */

enum stage { NONE, PLAN, OPEN, XFER, LIE, SYNC, CLOSE, SIGNAL };

struct timed {
    int64_t open_ns;  /* how long opening takes: then the rank starts */
    int64_t begun_ns; /* end of it */
    int slow;         /* transfers take so many times as long */
    int done;
    enum stage fail; /* on this rank */
};

static int64_t true_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Sleep that begins late does not end later. */
static void sleep_until(int64_t ns)
{
    const struct timespec until = {ns / 1000000000, ns % 1000000000};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
        ;
}

static enum iobm_status fail_at(const struct timed *t, enum stage stage,
                                struct iobm_error *err)
{
    return t->fail == stage ? iobm_fail(err, IOBM_EIO, "stage %d failed", stage)
                            : IOBM_OK;
}

static enum iobm_status timed_open(void *state, const struct iobm_open *how,
                                   void *file, struct iobm_error *err)
{
    struct timed *t = state;

    (void)how;
    (void)file;
    t->begun_ns = true_ns() + t->open_ns;
    t->done = 0;
    sleep_until(t->begun_ns);
    return fail_at(t, OPEN, err);
}

static enum iobm_status timed_xfer(void *state, void *file, struct iobm_op *op,
                                   struct iobm_error *err)
{
    struct timed *t = state;
    bool half = ++t->done == OPS / 2;

    (void)file;
    sleep_until(t->begun_ns + t->done * t->slow * PHASE_NS / OPS);
    op->done = half && t->fail == LIE ? op->size / 2 : op->size;
    if (half && t->fail == SIGNAL)
        kill(getpid(), SIGUSR2); /* the second thread takes it */
    if (!half || t->fail != XFER)
        return IOBM_OK;
    op->done = op->size / 4;
    return fail_at(t, XFER, err);
}

static enum iobm_status timed_sync(void *state, void *file,
                                   struct iobm_error *err)
{
    (void)file;
    return fail_at(state, SYNC, err);
}

static enum iobm_status timed_close(void *state, void *file,
                                    struct iobm_error *err)
{
    (void)file;
    return fail_at(state, CLOSE, err);
}

static const struct iobm_backend timed_backend = {
    .name = "timed",
    .open = timed_open,
    .xfer = timed_xfer,
    .sync = timed_sync,
    .close = timed_close,
};

/* ---- the workload: as planned, unless the plan fails ---- */

static struct timed timed;

static enum iobm_status plan(void *state, const struct iobm_workload_input *in,
                             struct iobm_error *err)
{
    enum iobm_status status = fail_at(&timed, PLAN, err);

    return status == IOBM_OK
               ? iobm_workload_find("sequential")->plan(state, in, err)
               : status;
}

/* ---- phases ---- */

struct rig {
    struct node_map map;
    struct timeline timeline;
    struct stop stop;
    struct watch watch;
    struct iobm_workload workload;
    struct measure measure;
    struct iobm_phase_row row;
    struct iobm_rank_row ranks[MAX_RANKS];
    struct iobm_detail detail;
    struct iobm_error err;
};

static void ignore_signal(void *arg, int signal_number)
{
    (void)arg;
    (void)signal_number;
}

static void ignore_stuck(void *arg, enum watch_stage stage, int64_t ns)
{
    (void)arg;
    (void)stage;
    (void)ns;
}

static void ignore_status(void *arg)
{
    (void)arg;
}

static enum iobm_status rig_init_all(struct rig *rig)
{
    const struct watch_calls calls = {ignore_signal, ignore_stuck,
                                      ignore_status, NULL};
    struct iobm_error *err = &rig->err;
    enum iobm_status status = nodes_init_all(&test.comm, &rig->map, err);

    if (status == IOBM_OK)
        status = timeline_init_all(&rig->timeline, &test.comm, &rig->map, err);
    if (status == IOBM_OK)
        status = stop_init_all(&rig->stop, &test.comm, err);
    if (status == IOBM_OK)
        status = watch_start(&rig->watch, &calls, 0, err);
    if (status != IOBM_OK)
        return status;
    watch_attach(&rig->watch, &rig->stop, 0);
    rig->workload = *iobm_workload_find("sequential");
    rig->workload.plan = plan;
    rig->measure = (struct measure){
        .comm = &test.comm,
        .map = &rig->map,
        .timeline = &rig->timeline,
        .stop = &rig->stop,
        .watch = &rig->watch,
        .backend = &timed_backend,
        .state = &timed,
        .workload = &rig->workload,
    };
    return IOBM_OK;
}

static void rig_release(struct rig *rig)
{
    watch_end(&rig->watch);
    stop_release(&rig->stop);
    timeline_release(&rig->timeline);
    nodes_release(&rig->map);
}

/* How a rank differs from others. */
struct course {
    int64_t open_ns;
    int slow;
    enum stage fail;
};

static enum iobm_status run_all(struct rig *rig, struct course course)
{
    int rank = test.comm.rank;
    const struct layout layout = {
        .parts = test.comm.size,
        .total_bytes = test.comm.size * PER_RANK,
        .transfer_bytes = OP_BYTES,
        .grain_bytes = 1,
    };
    const struct measure_phase phase = {
        .kind = IOBM_OP_WRITE,
        .layout = &layout,
        .part = rank,
        .path = "F",
        .alignment_bytes = 1,
        .create = true,
        .sync = MEASURE_SYNC_END,
        .data_seed = 5,
    };

    timed = (struct timed){
        .open_ns = course.open_ns, .slow = course.slow, .fail = course.fail};
    rig->stop.flag = 0;
    rig->timeline.row_count = 0;
    memset(&rig->row, 0, sizeof(rig->row));
    rig->row.phase = 7;
    rig->row.repeat = 3;
    rig->row.op_cost_ns = 50;
    rig->row.memcpy_Bps = NAN;
    memset(rig->ranks, 0, sizeof(rig->ranks));
    iobm_detail_release(&rig->detail);
    memset(&rig->detail, 0, sizeof(rig->detail));
    memset(&rig->err, 0xa5, sizeof(rig->err));
    return measure_phase_all(&rig->measure, &phase,
                             rank == 0 ? &rig->row : NULL,
                             rank == 0 ? rig->ranks : NULL,
                             rank == 0 ? &rig->detail : NULL, &rig->err);
}

/* Rank r opens for r * step; those whose bit is set fail at 'stage'. */
static enum iobm_status phase_all(struct rig *rig, int64_t step_ns,
                                  enum stage stage, unsigned failing)
{
    int rank = test.comm.rank;

    return run_all(rig, (struct course){rank * step_ns, 1,
                                        failing >> rank & 1 ? stage : NONE});
}

static bool near(double a, double b, double share)
{
    return fabs(a - b) <= share * fabs(b);
}

/* ---- checks ---- */

/* What follows from the ranks' rows must be in the phase's. */
static bool adds_up(const struct rig *rig)
{
    const struct iobm_phase_row *p = &rig->row;
    int64_t first = INT64_MAX, last = 0, longest = 0, bytes = 0;
    double naive = 0;

    for (int r = 0; r < test.comm.size; r++) {
        const struct iobm_rank_row *one = &rig->ranks[r];
        int64_t d = one->end_ns - one->start_ns;

        first = one->start_ns < first ? one->start_ns : first;
        last = one->end_ns > last ? one->end_ns : last;
        longest = d > longest ? d : longest;
        naive += (double)one->bytes * 1e9 / (double)d;
        bytes += one->bytes;
        if (one->rank != r || one->bytes != PER_RANK || one->ops != OPS ||
            one->errors != 0)
            return false;
    }
    return bytes == p->bytes && p->bytes == p->bytes_expected &&
           near(p->bw_naive_Bps, naive, 1e-9) &&
           near(p->bw_slowest_Bps, (double)bytes * 1e9 / (double)longest,
                1e-9) &&
           near(p->bw_wall_Bps, (double)bytes * 1e9 / (double)(last - first),
                1e-9);
}

/* 1 - wall/steady = ramp + tail, on the row as it is stored. */
static bool losses_add_up(const struct iobm_phase_row *p)
{
    return fabs(1 - p->bw_wall_Bps / p->bw_steady_Bps -
                (p->loss_ramp_pct + p->loss_tail_pct) / 100) < 1e-9;
}

/* ---- what happened within the phase ---- */

/* All bytes of one curve: rank -1, of all together. */
static int64_t curve_bytes(const struct rig *rig, int rank)
{
    int64_t next_ns = rig->row.first_start_ns, sum = 0;

    for (size_t i = 0; i < rig->detail.series_count; i++) {
        const struct iobm_series_row *s = &rig->detail.series[i];

        if (s->rank != rank)
            continue;
        if (s->phase != 7 || s->repeat != 3 || s->start_ns != next_ns ||
            s->width_ns % (10 * MS) != 0 || s->bytes < 0 ||
            s->node != (rank < 0 ? -1 : rig->map.node_of[rank]))
            return -1;
        next_ns += s->width_ns;
        sum += s->bytes;
    }
    return next_ns >= rig->row.last_end_ns ? sum : -1;
}

static bool series_add_up(const struct rig *rig)
{
    for (int r = 0; r < test.comm.size; r++)
        if (curve_bytes(rig, r) != PER_RANK)
            return false;
    return curve_bytes(rig, -1) == rig->row.bytes;
}

static bool seconds_add_up(const struct rig *rig)
{
    int64_t ops = 0, bytes = 0;
    double longest = 0;

    for (size_t i = 0; i < rig->detail.second_count; i++) {
        const struct iobm_second_row *s = &rig->detail.seconds[i];

        if (s->phase != 7 || s->repeat != 3 || s->width_s != 1 ||
            s->start_s != (double)i ||
            (s->ops > 0 && !(s->max_s >= 0.005 && s->max_s < 1)) ||
            isnan(s->p50_s) != (s->ops < 20) || !isnan(s->p99_s))
            return false;
        ops += s->ops;
        bytes += s->bytes;
        longest = fmax(longest, s->max_s);
    }
    return ops == rig->row.ops && bytes == rig->row.bytes &&
           longest == rig->row.latency_max_s;
}

/* The class of that name, or NULL: unless its buckets add up to it. */
static const struct iobm_class_row *find_class(const struct rig *rig,
                                               const char *name)
{
    const struct iobm_class_row *found = NULL;
    double least = INFINITY, most = 0;
    int64_t ops = 0;

    for (size_t i = 0; i < rig->detail.class_count; i++)
        if (strcmp(rig->detail.classes[i].op_class, name) == 0)
            found = &rig->detail.classes[i];
    for (size_t i = 0; found && i < rig->detail.latency_count; i++) {
        const struct iobm_latency_row *l = &rig->detail.latency[i];

        if (strcmp(l->op_class, name) != 0)
            continue;
        ops += l->ops;
        least = fmin(least, (double)l->low_ns / 1e9);
        most = fmax(most, (double)l->high_ns / 1e9);
    }
    return found && ops == found->ops && least <= found->min_s &&
                   found->min_s <= found->mean_s &&
                   found->mean_s <= found->max_s && found->max_s < most
               ? found
               : NULL;
}

/* A percentile is there when ten operations lie beyond it. */
static bool has_rightly(double value, int64_t n, double beyond)
{
    return isnan(value) != ((double)n * beyond >= 10 - 1e-6);
}

static bool classes_add_up(const struct rig *rig)
{
    const struct iobm_phase_row *p = &rig->row;
    const struct iobm_class_row *w = find_class(rig, "write");
    static const char *const once[] = {"open", "sync", "close"};

    for (int i = 0; i < 3; i++) {
        const struct iobm_class_row *one = find_class(rig, once[i]);

        if (!one || one->ops != test.comm.size || one->phase != 7)
            return false;
    }
    return w && w->ops == p->ops && rig->detail.class_count == 4 &&
           has_rightly(w->p50_s, w->ops, 0.5) &&
           has_rightly(w->p90_s, w->ops, 0.1) &&
           has_rightly(w->p99_s, w->ops, 0.01) &&
           w->min_s == p->latency_min_s && w->mean_s == p->latency_mean_s &&
           w->max_s == p->latency_max_s &&
           has_rightly(p->latency_p50_s, w->ops, 0.5) &&
           has_rightly(p->latency_p90_s, w->ops, 0.1) &&
           isnan(p->latency_p99_s) && isnan(p->latency_p999_s);
}

/* 'shape': NULL: whatever it is. */
static void check_detail(const struct rig *rig, const char *shape)
{
    bool root = test.comm.rank == 0;

    check(!root || series_add_up(rig), "the series are all the bytes");
    check(!root || seconds_add_up(rig), "the seconds are all the operations");
    check(!root || classes_add_up(rig), "and so are the classes");
    check(!root || !shape || strcmp(rig->row.shape, shape) == 0,
          "the shape: '%s'", rig->row.shape);
    check(root || rig->detail.series_count == 0, "on rank 0 alone");
}

/* Of a phase that failed, or whose clocks did, nothing that lies in time. */
static bool detail_is_timeless(const struct rig *rig)
{
    const struct iobm_phase_row *p = &rig->row;
    int64_t writes = 0;

    for (size_t i = 0; i < rig->detail.latency_count; i++)
        if (strcmp(rig->detail.latency[i].op_class, "write") == 0)
            writes += rig->detail.latency[i].ops;
    return rig->detail.series_count == 0 && rig->detail.second_count == 0 &&
           rig->detail.change_count == 0 && writes == p->ops &&
           p->ramp_ranks == -1 && p->tail_ranks == -1 && isnan(p->ramp_s) &&
           p->shape[0] == '\0' && p->changes == -1 && p->cliff_bytes == -1;
}

static void check_late_starter(struct rig *rig)
{
    const struct iobm_phase_row *p = &rig->row;
    bool root = test.comm.rank == 0,
         last = test.comm.rank + 1 == test.comm.size;
    enum iobm_status status =
        run_all(rig, (struct course){last ? PHASE_NS * 3 / 4 : 0, 1, NONE});

    check(status == IOBM_OK, "one rank begins late");
    check(!root || (p->ramp_ranks == 1 && p->ramp_nodes == 1 &&
                    near(p->ramp_s, 0.15, ROOM)),
          "it made the ramp: %lld of the ranks, %.3f s",
          (long long)p->ramp_ranks, p->ramp_s);
    check_detail(rig, "too-short");
}

/* Long enough for more than one slot, and for bins of two widths. */
static void check_slow_ranks(struct rig *rig)
{
    const struct iobm_phase_row *p = &rig->row;
    bool first = test.comm.rank == 0;
    int slow = test.comm.size - 1;
    enum iobm_status status =
        run_all(rig, (struct course){first ? PHASE_NS * 3 / 4 : 0,
                                     first ? 1 : 7, NONE});

    check(status == IOBM_OK, "all but one rank are slow");
    check(!first || (p->tail_ranks == slow && p->tail_nodes == 1 &&
                     near(p->tail_s, 1.05, ROOM)),
          "they made the tail: %lld ranks, %.3f s", (long long)p->tail_ranks,
          p->tail_s);
    check(!first || (p->ramp_ranks == 1 && near(p->ramp_s, 0.15, ROOM)),
          "but the other one the ramp: %.3f s", p->ramp_s);
    check(!first || p->loss_tail_pct > 10, "what the tail cost: %.1f %%",
          p->loss_tail_pct);
    check(!first || rig->detail.second_count >= 2, "it lasted two seconds");
    check_detail(rig, "too-short");
}

/* Our own cost, as the caller knows it: 50 ns of each operation. */
static bool overhead_is(const struct rig *rig)
{
    double ns = 0;

    for (int r = 0; r < test.comm.size; r++)
        ns += (double)(rig->ranks[r].end_ns - rig->ranks[r].start_ns);
    return near(rig->row.overhead_pct, 100 * 50 * (double)rig->row.ops / ns,
                1e-9) &&
           rig->row.op_cost_ns == 50;
}

static void check_bare(struct rig *rig)
{
    const struct iobm_phase_row *p = &rig->row;
    bool root = test.comm.rank == 0;
    enum iobm_status status;

    rig->measure.bare = true;
    status = phase_all(rig, 10 * MS, NONE, 0);
    rig->measure.bare = false;
    rig->row.bytes_expected = test.comm.size * PER_RANK;
    check(status == IOBM_OK, "a bare phase");
    check(!root || adds_up(rig), "bare: the figures are the ranks'");
    check(!root ||
              (rig->detail.series_count == 0 && rig->detail.second_count == 0 &&
               rig->detail.class_count == 0 && rig->detail.latency_count == 0),
          "bare: no detail");
    check(!root || (isnan(p->bw_steady_Bps) && isnan(p->latency_mean_s) &&
                    isnan(p->loss_tail_pct) && p->shape[0] == '\0'),
          "bare: nothing that takes marks or histograms");
}

static void check_one_after_the_other(struct rig *rig)
{
    const struct iobm_phase_row *p = &rig->row;
    bool root = test.comm.rank == 0;
    int n = test.comm.size;
    enum iobm_status status = phase_all(rig, PHASE_NS, NONE, 0);

    rig->row.bytes_expected = n * PER_RANK;
    check(status == IOBM_OK, "ranks that start one after the other");
    check(!root || adds_up(rig), "naive, slowest and wall are the ranks'");
    check(!root || near(p->bw_naive_Bps / p->bw_wall_Bps, n, ROOM),
          "naive is %d times the wall bandwidth: %.3f", n,
          p->bw_naive_Bps / p->bw_wall_Bps);
    check(!root || near(p->inflation_start, n, ROOM), "by late starts: %.3f",
          p->inflation_start);
    check(!root || near(p->inflation_ranks, 1, ROOM), "not by uneven ranks");
    check(!root || n < 3 || isnan(p->bw_steady_Bps),
          "at no time all are active");
    check(!root || strcmp(p->status, "complete") == 0, "complete");
    check(!root || (p->seconds <= p->seconds_outer &&
                    near(p->start_skew_s, (n - 1) * 0.2, ROOM)),
          "the times fit: %.3f of %.3f s", p->seconds, p->seconds_outer);
    check(!root || (p->bw_wall_low_Bps <= p->bw_wall_Bps &&
                    p->bw_wall_Bps <= p->bw_wall_high_Bps),
          "the bounds lie around the wall bandwidth");
    /* Two of them may overlap by a little. */
    check_detail(rig, n == 1 ? "too-short" : n == 2 ? NULL : "");
}

static void check_overlap(struct rig *rig)
{
    const struct iobm_phase_row *p = &rig->row;
    bool root = test.comm.rank == 0;
    enum iobm_status status = phase_all(rig, 10 * MS, NONE, 0);

    rig->row.bytes_expected = test.comm.size * PER_RANK;
    check(status == IOBM_OK, "ranks that overlap");
    check(!root || adds_up(rig), "the figures are the ranks'");
    check(!root || losses_add_up(p), "the losses add up: %.6f %% and %.6f %%",
          p->loss_ramp_pct, p->loss_tail_pct);
    check(!root || (p->bw_steady_Bps >= (1 - ROOM) * p->bw_wall_Bps &&
                    p->bw_q90_Bps >= (1 - ROOM) * p->bw_wall_Bps),
          "the steady bandwidth is no lower");
    check(!root || (p->open_max_s >= (test.comm.size - 1) * 0.01 &&
                    p->latency_max_s >= 0.015),
          "open and latency were seen");
    check(!root || overhead_is(rig), "our own cost: %.6f %%", p->overhead_pct);
    check(!root || (p->cpu_s > 0 && p->cpu_s < p->seconds_outer * 16),
          "the time of the processors: %.4f s", p->cpu_s);
    check_detail(rig, "too-short");
}

static const struct {
    const char *name;
    enum stage stage;
    unsigned failing; /* bits of ranks */
    enum iobm_status status;
    int rank; /* that is named, or -1 */
    const char *text;
    double done; /* of the failing rank's bytes */
} failures[] = {
    {"the plan of rank 1", PLAN, 2, IOBM_EIO, 1, "stage 1 failed", 0},
    {"open of rank 0", OPEN, 1, IOBM_EIO, 0, "stage 2 failed", 0},
    {"open of rank 2", OPEN, 4, IOBM_EIO, 2, "stage 2 failed", 0},
    {"a write of rank 1", XFER, 2, IOBM_EIO, 1, "stage 3 failed", 0.425},
    {"a write of ranks 1 and 2", XFER, 6, IOBM_EIO, 1,
     "stage 3 failed (1 more rank failed)", 0.425},
    {"a write of all", XFER, 7, IOBM_EIO, 0,
     "stage 3 failed (2 more ranks failed)", 0.425},
    {"a write that lies", LIE, 4, IOBM_EIO, 2,
     "moved 99614720 of 104857600 bytes of 'F'", 0.95},
    {"sync of rank 2", SYNC, 4, IOBM_EIO, 2, "stage 5 failed", 1},
    {"close of rank 0", CLOSE, 1, IOBM_EIO, 0, "stage 6 failed", 1},
    {"a signal to rank 2", SIGNAL, 4, IOBM_ESTOPPED, -1, "stopped by SIGUSR2",
     -1},
    {"a signal to all", SIGNAL, 7, IOBM_ESTOPPED, -1, "stopped by SIGUSR2", -1},
};

static bool no_rates(const struct rig *rig)
{
    const struct iobm_phase_row *p = &rig->row;
    int rates = 0;

    for (const struct iobm_column *c = iobm_phase_columns;
         c->type != IOBM_COL_END; c++)
        if (strcmp(c->unit, "B/s") == 0) {
            double rate;

            memcpy(&rate, (const char *)p + c->offset, sizeof(rate));
            rates += !isnan(rate);
        }
    for (int r = 0; r < test.comm.size; r++)
        rates += !isnan(rig->ranks[r].rate_Bps);
    return rates == 0;
}

/* The rows say who did how much, also of a phase that never began. */
static bool rows_are_named(const struct rig *rig, unsigned failing, double done)
{
    int64_t sum = 0;

    for (int r = 0; r < test.comm.size; r++) {
        const struct iobm_rank_row *one = &rig->ranks[r];

        sum += one->bytes;
        if (one->rank != r || one->node[0] == '\0')
            return false;
        if (done >= 0 && failing >> r & 1 &&
            one->bytes != (int64_t)(done * (double)PER_RANK))
            return false;
    }
    return sum == rig->row.bytes;
}

static void check_failures(struct rig *rig)
{
    bool root = test.comm.rank == 0;

    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
        const char *name = failures[i].name;
        enum iobm_status status =
            phase_all(rig, 0, failures[i].stage, failures[i].failing);

        check(status == failures[i].status, "%s fails", name);
        check(strcmp(rig->err.text, failures[i].text) == 0, "%s: %s", name,
              rig->err.text);
        check(rig->err.rank == failures[i].rank, "%s: rank %d is named", name,
              rig->err.rank);
        check(!root || no_rates(rig), "%s: no rate", name);
        check(!root || detail_is_timeless(rig), "%s: latencies alone", name);
        check(!root ||
                  rows_are_named(rig, failures[i].failing, failures[i].done),
              "%s: the bytes done", name);
        check(!root || strcmp(rig->row.status, status == IOBM_ESTOPPED
                                                   ? "interrupted"
                                                   : "failed") == 0,
              "%s: status %s", name, rig->row.status);
    }
}

/* One rank's clock is known to be wrong: only rank 0's own proves anything. */
static void check_bad_clock(struct rig *rig)
{
    const struct iobm_phase_row *p = &rig->row;
    bool root = test.comm.rank == 0;
    enum iobm_status status;

    rig->timeline.check_failed = test.comm.rank == test.comm.size - 1;
    status = phase_all(rig, 0, NONE, 0);
    check(status == IOBM_EINVALID, "a clock that failed its check");
    check(strstr(rig->err.text, "clocks") != NULL, "said: %s", rig->err.text);
    check(!root || (p->clock_failed && strcmp(p->status, "invalid") == 0),
          "status %s", p->status);
    check(!root ||
              near(p->bw_wall_Bps, (double)p->bytes / p->seconds_outer, 1e-12),
          "the bandwidth is by rank 0's clock");
    check(!root || p->bw_wall_Bps < (double)test.comm.size * PER_RANK / 0.2,
          "and a lower bound");
    check(!root || (isnan(p->bw_wall_high_Bps) && isnan(p->bw_steady_Bps) &&
                    isnan(p->bw_open_close_Bps) && isnan(p->bw_cache_Bps)),
          "what needs more than one clock is not there");
    check(!root || (detail_is_timeless(rig) && find_class(rig, "write")),
          "but latencies are");
}

int main(int argc, char **argv)
{
    static struct rig rig;

    watch_block_signals();
    if (par_init(&argc, &argv, &test.comm, &rig.err) != IOBM_OK ||
        rig_init_all(&rig) != IOBM_OK) {
        fprintf(stderr, "measure_driver: %s\n", rig.err.text);
        return 1;
    }
    if (test.comm.size >= 3)
        check_failures(&rig);
    /* After all those failures it measures as before. */
    check_one_after_the_other(&rig);
    check_overlap(&rig);
    if (test.comm.size >= 2) {
        check_late_starter(&rig);
        check_slow_ranks(&rig);
    }
    check_bare(&rig);
    check_bad_clock(&rig);
    iobm_detail_release(&rig.detail);
    rig_release(&rig);
    if (test.comm.rank == 0) {
        printf("1..%d\n", test.checks);
        fflush(stdout);
    }
    par_finalize(&test.comm);
    return test.failures ? 1 : 0;
}
