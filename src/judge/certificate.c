/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The checks of one phase and of the repeats of a phase: see certificate.h.
 * Each is a small function that adds one row, or none when it does not apply.
 */

#include "judge/certificate.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/units.h"

#define SHORT_S          3.0
#define SKEW_PCT         1.0
#define CLOCK_PCT        1.0
#define DUTY_WARN_PCT    98.0
#define DUTY_INVALID_PCT 90.0
#define COST_NOTE_PCT    0.5
#define COST_WARN_PCT    2.0
#define COST_INVALID_PCT 10.0
#define TAIL_PCT         10.0
#define WORKING_SET_PCT  200.0
#define STALL_PCT        10.0
#define CPU_BUSY_PCT     95.0
#define CPU_WAIT_PCT     10.0
#define SWAP_BYTES       (INT64_C(1) << 20)
#define FAULTS_PER_RANK  100
#define DIRTY_LEFT_PCT   0.0
#define REPEATS_NEEDED   6
#define HALF_WIDTH_PCT   5.0

enum result { OK, NOTE, WARN, INVALID };

static const char *const result_names[] = {"OK", "NOTE", "WARN", "INVALID"};

struct list {
    struct iobm_check_row *rows;
    size_t count, room;
    int64_t phase, repeat;
    const char *op;
};

static struct iobm_check_row *add(struct list *list, const char *name,
                                  enum result result, double value,
                                  double limit, const char *unit)
{
    static const struct iobm_check_row none;
    struct iobm_check_row *row;

    /* There are fewer checks than room: see the macros. */
    row =
        &list->rows[list->count < list->room ? list->count++ : list->room - 1];
    *row = none;
    row->phase = list->phase;
    row->repeat = list->repeat;
    row->value = value;
    row->limit = limit;
    str_copy(row->op, sizeof(row->op), list->op);
    str_copy(row->name, sizeof(row->name), name);
    str_copy(row->result, sizeof(row->result), result_names[result]);
    str_copy(row->unit, sizeof(row->unit), unit);
    return row;
}

/* What was found, and what to do about it. */
static void say(struct iobm_check_row *row, const char *advice, const char *fmt,
                ...) IOBM_PRINTF(3, 4);

static void say(struct iobm_check_row *row, const char *advice, const char *fmt,
                ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(row->text, sizeof(row->text), fmt, args);
    va_end(args);
    str_copy(row->advice, sizeof(row->advice), advice);
}

/* ---- whether the bytes are right */

static void check_errors(const struct iobm_phase_row *p, struct list *list)
{
    bool failed = p->errors > 0 || strcmp(p->status, "failed") == 0;
    struct iobm_check_row *row =
        add(list, "errors", failed ? INVALID : OK, (double)p->errors, 0, "1");

    if (failed)
        say(row, "mend what failed; its first error is the reason",
            "%" PRId64 " operation%s failed", p->errors,
            p->errors == 1 ? "" : "s");
}

static void check_bytes(const struct iobm_phase_row *p, struct list *list)
{
    bool right = p->bytes == p->bytes_expected;
    struct iobm_check_row *row =
        add(list, "bytes", right ? OK : INVALID, (double)p->bytes,
            (double)p->bytes_expected, "B");

    if (!right)
        say(row, "the figures are of a part of the work only",
            "%" PRId64 " of %" PRId64 " bytes were moved", p->bytes,
            p->bytes_expected);
}

static void check_verify(const struct iobm_phase_row *p, struct list *list)
{
    struct iobm_check_row *row;

    if (p->verify_errors < 0)
        return;
    row = add(list, "verify", p->verify_errors > 0 ? INVALID : OK,
              (double)p->verify_errors, 0, "1");
    if (p->verify_errors > 0)
        say(row, "the storage loses data: see the findings; check it first",
            "%" PRId64 " block%s of 4 KiB %s not what was written",
            p->verify_errors, p->verify_errors == 1 ? "" : "s",
            p->verify_errors == 1 ? "is" : "are");
}

/* ---- whether the clock is right */

static void check_order(const struct iobm_phase_row *p, struct list *list)
{
    double slack = 1 + 2 * p->clock_bound_s / p->seconds + 1e-6;
    bool right = !(p->bw_naive_Bps * slack < p->bw_slowest_Bps) &&
                 !(p->bw_slowest_Bps * slack < p->bw_wall_Bps);
    struct iobm_check_row *row = add(list, "order", right ? OK : INVALID,
                                     p->bw_wall_Bps, p->bw_slowest_Bps, "B/s");

    if (!right)
        say(row, "this is a defect of the clocks or of iobm: report it",
            "naive >= slowest >= wall does not hold");
}

static void check_clock(const struct iobm_phase_row *p, struct list *list)
{
    double width =
        100 * (p->bw_wall_high_Bps - p->bw_wall_low_Bps) / p->bw_wall_Bps;
    struct iobm_check_row *row =
        add(list, "sandwich", p->clock_failed ? INVALID : OK, p->seconds,
            p->seconds_outer, "s");

    if (p->clock_failed)
        say(row, "check the time service of the nodes",
            "the clocks disagree beyond their bounds; the bandwidth is a "
            "lower bound");
    row = add(list, "clock", p->too_short || p->clock_anomaly ? WARN : OK,
              width, CLOCK_PCT, "%");
    if (p->too_short)
        say(row, "run longer: a larger -n",
            "the bounds of the clocks are wider than 1 %% of the time");
    else if (p->clock_anomaly)
        say(row, "check the time service and the load of the nodes",
            "exchanges of stamps contradicted each other");
}

static void check_start(const struct iobm_phase_row *p, struct list *list)
{
    double skew = 100 * p->start_skew_s / p->seconds;
    struct iobm_check_row *row = add(list, "late", p->late_ranks ? NOTE : OK,
                                     (double)p->late_ranks, 0, "1");

    if (p->late_ranks)
        say(row, "look for load beside the job on these nodes",
            "%" PRId64 " of %" PRId64 " ranks came late to the common start",
            p->late_ranks, p->ranks);
    row = add(list, "skew", skew > SKEW_PCT ? WARN : OK, skew, SKEW_PCT, "%");
    if (skew > SKEW_PCT)
        say(row, "run longer, or quote the steady rate beside it",
            "the ranks began over %.3g s: %.1f %% of the time", p->start_skew_s,
            skew);
}

static void check_length(const struct iobm_phase_row *p, struct list *list)
{
    bool brief = p->seconds < SHORT_S;
    struct iobm_check_row *row =
        add(list, "short", brief ? WARN : OK, p->seconds, SHORT_S, "s");

    if (brief)
        say(row, "run 10 s or more: a larger -n",
            "it took %.2g s; below 3 s starts and caches weigh too much",
            p->seconds);
}

/* ---- whether the tool was in the way */

static void check_duty(const struct iobm_phase_row *p, struct list *list)
{
    enum result result = OK;
    struct iobm_check_row *row;

    if (isnan(p->duty_pct))
        return;
    if (p->duty_pct < DUTY_WARN_PCT)
        result = p->duty_pct < DUTY_INVALID_PCT ? INVALID : WARN;
    row = add(list, "duty", result, p->duty_pct,
              result == INVALID ? DUTY_INVALID_PCT : DUTY_WARN_PCT, "%");
    if (result != OK)
        say(row, "use fewer ranks per core or larger transfers",
            "only %.1f %% of the time was spent in the storage's calls",
            p->duty_pct);
}

static void check_cost(const struct iobm_phase_row *p, struct list *list)
{
    double cost = p->overhead_pct;
    enum result result = OK;
    struct iobm_check_row *row;

    if (isnan(cost))
        return;
    if (cost > COST_NOTE_PCT)
        result = cost > COST_INVALID_PCT ? INVALID
                 : cost > COST_WARN_PCT  ? WARN
                                         : NOTE;
    row = add(list, "overhead", result, cost,
              result == INVALID ? COST_INVALID_PCT
              : result == WARN  ? COST_WARN_PCT
                                : COST_NOTE_PCT,
              "%");
    if (result != OK)
        say(row, "use larger transfers",
            "iobm itself takes %.0f ns per operation: %.2g %% of the time",
            p->op_cost_ns, cost);
}

static void check_cores(const struct certificate_input *in, struct list *list)
{
    bool crowded = in->crowded_ranks > in->crowded_cores;
    struct iobm_check_row *row;

    if (in->crowded_cores <= 0)
        return;
    row = add(list, "cores", crowded ? WARN : OK, (double)in->crowded_ranks,
              (double)in->crowded_cores, "1");
    if (crowded)
        say(row, "start at most one rank per core",
            "%" PRId64 " ranks share the %" PRId64 " cores of a node",
            in->crowded_ranks, in->crowded_cores);
}

/* ---- what the rate did over time, and over the ranks */

static void check_shape(const struct iobm_phase_row *p, struct list *list)
{
    char at[32];
    enum result result = OK;
    struct iobm_check_row *row;

    if (!p->shape[0])
        return;
    if (strcmp(p->shape, "flat") != 0)
        result = strcmp(p->shape, "unsteady") == 0 ||
                         strcmp(p->shape, "slow-down") == 0
                     ? WARN
                     : NOTE;
    row = add(list, "steady", result, (double)p->changes, 0, "1");
    if (strcmp(p->shape, "too-short") == 0)
        say(row, "run longer to see how the rate goes over time",
            "too short to judge whether the rate is steady");
    else if (strcmp(p->shape, "warm-up") == 0)
        say(row, "quote the sustained rate, or run longer",
            "the first %.3g s were different from the rest", p->warmup_s);
    else if (result != OK)
        say(row, "run longer, and look at: iobm show --series",
            "the rate was not steady: %s, %" PRId64 " lasting change%s",
            p->shape, p->changes, p->changes == 1 ? "" : "s");
    if (strcmp(p->op, "write") != 0)
        return;
    row = add(list, "cliff", p->cliff_bytes >= 0 ? WARN : OK,
              (double)p->cliff_bytes, -1, "B");
    if (p->cliff_bytes >= 0)
        say(row, "quote the sustained rate, or write much more than that",
            "the rate fell after %s, as when a cache is full: %.4g -> %.4g "
            "MiB/s",
            units_size(at, sizeof(at), p->cliff_bytes),
            p->cliff_before_Bps / 1048576, p->cliff_after_Bps / 1048576);
}

static void check_ranks(const struct iobm_phase_row *p, struct list *list)
{
    bool long_tail = p->loss_tail_pct > TAIL_PCT;
    struct iobm_check_row *row;

    if (!isnan(p->loss_tail_pct)) {
        row = add(list, "tail", long_tail ? NOTE : OK, p->loss_tail_pct,
                  TAIL_PCT, "%");
        if (long_tail)
            say(row, "look at the slowest ranks and their nodes",
                "waiting for the last ranks cost %.1f %% of the steady rate",
                p->loss_tail_pct);
    }
    row = add(list, "straggler", p->stragglers ? NOTE : OK,
              (double)p->stragglers, 0, "1");
    if (p->stragglers)
        say(row, "look at these ranks' nodes: iobm show -v",
            "%" PRId64 " of %" PRId64 " ranks were much slower than the rest",
            p->stragglers, p->ranks);
    if (isnan(p->node_p))
        return;
    row = add(list, "nodes", p->node_p < 0.01 && p->node_eta2 > 0.5 ? NOTE : OK,
              p->node_eta2, 0.5, "1");
    if (strcmp(row->result, "NOTE") == 0)
        say(row, "compare the nodes: links, mounts, load",
            "%.0f %% of the ranks' spread lies between the nodes",
            100 * p->node_eta2);
}

/* ---- whether it was the storage */

static void check_cache(const struct certificate_input *in, struct list *list)
{
    const struct iobm_phase_row *p = in->row;
    const char *verdict = p->cache_verdict;
    enum result result = NOTE;
    struct iobm_check_row *row;

    if (!verdict[0] || strcmp(verdict, "none") == 0)
        return;
    if (strcmp(verdict, "cold") == 0)
        result = OK;
    else if (in->require_cold)
        result = INVALID;
    else if (strcmp(verdict, "cached") == 0 || strcmp(verdict, "mixed") == 0)
        result = WARN;
    row = add(list, "cache", result, p->cached_pct, 1, "%");
    if (result == OK)
        return;
    if (strcmp(verdict, "unknown") == 0)
        say(row,
            p->direct ? "read what another node wrote (--order shift)"
                      : "use -d, or read what another node wrote (--order "
                        "shift)",
            "whether a cache answered cannot be told here");
    else
        say(row,
            strcmp(p->cache_witness, "memory") == 0
                ? "put the files on storage, not into memory"
                : "use --cache drop, -d, or read from another node",
            "%s: %.0f %% of the bytes came from the client's memory (%s)",
            verdict, p->cached_pct, p->cache_witness);
}

static void check_direct(const struct iobm_phase_row *p, struct list *list)
{
    struct iobm_check_row *row;

    if (!p->direct)
        return;
    row = add(list, "direct", p->direct_not_honoured ? WARN : OK,
              (double)p->direct_not_honoured, 0, "1");
    if (p->direct_not_honoured)
        say(row, "measure a file system that honours O_DIRECT",
            "direct_not_honoured: O_DIRECT was accepted, and memory answered");
}

static void check_dirty(const struct certificate_input *in, struct list *list)
{
    const struct iobm_phase_row *p = in->row;
    bool left = p->dirty_left_pct > DIRTY_LEFT_PCT;
    struct iobm_check_row *row;

    if (strcmp(p->op, "write") != 0)
        return;
    if (in->durable && !isnan(p->dirty_left_pct)) {
        row = add(list, "durable", left ? INVALID : OK, p->dirty_left_pct,
                  DIRTY_LEFT_PCT, "%");
        if (left)
            say(row, "the sync does not do its work: see its documentation",
                "%.2g %% of the data was still in memory alone after the sync",
                p->dirty_left_pct);
    } else if (!in->durable) {
        double dirty =
            isnan(p->dirty_left_pct) ? p->dirty_pct : p->dirty_left_pct;

        row = add(list, "durable", WARN, dirty, DIRTY_LEFT_PCT, "%");
        if (isnan(dirty))
            say(row, "leave -z out for a figure of the storage",
                "nothing was synced: how much is on the storage is not known");
        else
            say(row, "leave -z out for a figure of the storage",
                "nothing was synced: %.0f %% of the data was in memory alone "
                "at the end",
                dirty);
    }
}

static void check_link(const struct iobm_phase_row *p, struct list *list)
{
    struct iobm_check_row *row;

    if (isnan(p->link_Bps))
        return;
    row = add(list, "link", p->faster_than_link ? WARN : OK, p->bw_wall_Bps,
              p->link_Bps, "B/s");
    if (p->faster_than_link)
        say(row, "defeat the cache: --cache drop, -d, or a larger -n",
            "faster than the link: %.4g MB/s over links that carry %.4g MB/s: "
            "a cache answered",
            p->bw_wall_Bps / 1e6, p->link_Bps / 1e6);
}

/* Only where a cache could have held it. */
static void check_working_set(const struct iobm_phase_row *p, struct list *list)
{
    bool small = p->working_set_pct < WORKING_SET_PCT;
    struct iobm_check_row *row;

    if (isnan(p->working_set_pct) || p->direct)
        return;
    row = add(list, "memory", small ? NOTE : OK, p->working_set_pct,
              WORKING_SET_PCT, "%");
    if (small)
        say(row, "to rule caches out, use more than twice the memory",
            "the data are %.2g times the memory of a node: caches can hold "
            "them",
            p->working_set_pct / 100);
}

static void check_client(const struct certificate_input *in, struct list *list)
{
    const struct iobm_phase_row *p = in->row;
    bool faults = !in->mapped && p->major_faults > FAULTS_PER_RANK * p->ranks;
    struct iobm_check_row *row;

    if (p->swapped_bytes > SWAP_BYTES) {
        row = add(list, "client", WARN, (double)p->swapped_bytes,
                  (double)SWAP_BYTES, "B");
        say(row, "free memory on the nodes",
            "a node swapped %" PRId64 " MiB: the client was measured, not the "
            "storage",
            p->swapped_bytes >> 20);
    } else if (faults || p->memory_stall_pct > STALL_PCT ||
               p->memory_limit_hits > 0) {
        row = add(list, "client", WARN, p->memory_stall_pct, STALL_PCT, "%");
        if (p->memory_limit_hits > 0)
            say(row, "raise the memory limit of the job",
                "the job's memory limit was hit %" PRId64 " times: the client "
                "was measured, not the storage",
                p->memory_limit_hits);
        else
            say(row, "free memory on the nodes",
                "the nodes were short of memory (%" PRId64 " major faults, "
                "stalled %.0f %%): the client was measured, not the storage",
                p->major_faults,
                isnan(p->memory_stall_pct) ? 0 : p->memory_stall_pct);
    } else if (p->cpu_wait_pct > CPU_WAIT_PCT ||
               p->cpu_busy_pct > CPU_BUSY_PCT) {
        row = add(list, "client", WARN, p->cpu_busy_pct, CPU_BUSY_PCT, "%");
        say(row, "use fewer ranks per node, or larger transfers",
            "the processors were busy %.0f %%, the ranks waited for one "
            "%.0f %% of the time: the client was measured",
            p->cpu_busy_pct, isnan(p->cpu_wait_pct) ? 0 : p->cpu_wait_pct);
    } else if (!isnan(p->cpu_busy_pct)) {
        add(list, "client", OK, p->cpu_busy_pct, CPU_BUSY_PCT, "%");
    }
}

static void check_result_file(const struct certificate_input *in,
                              struct list *list)
{
    struct iobm_check_row *row =
        add(list, "results", in->result_beside ? NOTE : OK, in->result_beside,
            0, "1");

    if (in->result_beside)
        say(row, "put the result file elsewhere with -o",
            "the result file is on the file system under test");
}

size_t certificate_phase(const struct certificate_input *in,
                         struct iobm_check_row rows[CERTIFICATE_PHASE_MAX])
{
    const struct iobm_phase_row *p = in->row;
    struct list list = {rows,     0,         CERTIFICATE_PHASE_MAX,
                        p->phase, p->repeat, p->op};

    check_errors(p, &list);
    check_bytes(p, &list);
    check_verify(p, &list);
    if (strcmp(p->status, "failed") == 0 ||
        strcmp(p->status, "interrupted") == 0)
        return list.count;
    if (!p->clock_failed)
        check_order(p, &list);
    check_clock(p, &list);
    if (!p->clock_failed)
        check_start(p, &list);
    check_length(p, &list);
    check_cores(in, &list);
    check_shape(p, &list);
    check_ranks(p, &list);
    if (!in->storage)
        return list.count;
    check_duty(p, &list);
    check_cost(p, &list);
    check_cache(in, &list);
    check_direct(p, &list);
    check_dirty(in, &list);
    check_link(p, &list);
    check_working_set(p, &list);
    check_client(in, &list);
    check_result_file(in, &list);
    return list.count;
}

/* ---- the repeats */

size_t certificate_run(const struct iobm_summary_row *s,
                       struct iobm_check_row rows[CERTIFICATE_RUN_MAX])
{
    struct list list = {rows, 0, CERTIFICATE_RUN_MAX, -1, -1, s->op};
    int64_t n = s->repeats - s->left_out;
    struct iobm_check_row *row =
        add(&list, "repeats", n >= REPEATS_NEEDED ? OK : NOTE, (double)n,
            REPEATS_NEEDED, "1");
    bool wide = s->half_width_pct > HALF_WIDTH_PCT;

    if (n < REPEATS_NEEDED)
        say(row, "repeat it: -i 6 or more, or --precision 5%",
            "%" PRId64 " repeat%s: no interval of 95 %% can be told", n,
            n == 1 ? "" : "s");
    if (n >= 2 && !isnan(s->half_width_pct)) {
        row = add(&list, "interval", wide ? NOTE : OK, s->half_width_pct,
                  HALF_WIDTH_PCT, "%");
        if (wide)
            say(row, "repeat it more often, or longer",
                "the median is known to +-%.1f %% only", s->half_width_pct);
    }
    if (n < REPEATS_NEEDED)
        return list.count;
    row = add(&list, "trend", s->trend ? WARN : OK, s->trend_p, 0.05, "1");
    if (s->trend)
        say(row, "find out what changes: filling, ageing, other load",
            "the repeats drift: %+.1f %% from the first to the last",
            s->trend_pct);
    row = add(&list, "modes", s->two_modes ? WARN : OK, (double)s->two_modes, 0,
              "1");
    if (s->two_modes)
        say(row, "find out what switches: quote both, not the median",
            "the repeats fall into two groups, about %.4g and %.4g MiB/s",
            s->mode_low_Bps / 1048576, s->mode_high_Bps / 1048576);
    row =
        add(&list, "first", s->first_run ? WARN : OK, s->first_run_pct, 0, "%");
    if (s->first_run)
        say(row, "judge the first repeat apart: what did it find or leave?",
            "the order matters: the first repeat differs by %+.1f %%",
            s->first_run_pct);
    return list.count;
}

/* ---- the short form */

int certificate_rank(const char *result)
{
    for (int i = 0; i < 4; i++)
        if (strcmp(result, result_names[i]) == 0)
            return i;
    return INVALID;
}

void certificate_code(const struct iobm_check_row *rows, size_t n,
                      char trust[8], char *code, size_t room)
{
    struct str text = {0};
    int worst = OK;

    for (int level = INVALID; level > OK; level--) {
        for (size_t i = 0; i < n; i++) {
            if (certificate_rank(rows[i].result) != level)
                continue;
            worst = level > worst ? level : worst;
            str_addf(&text, "%s%c:%s", text.length ? " " : "",
                     result_names[level][0], rows[i].name);
        }
    }
    str_copy(trust, 8, result_names[worst]);
    str_copy(code, room, str_text(&text));
    str_release(&text);
}
