/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One phase as people read it.  The figures are computed elsewhere and mean
 * what docs/method.md says; here is only which of them are worth a line.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/lines.h"
#include "report/parts.h"
#include "report/report.h"
#include "report/table.h"
#include "report/trust.h"

static bool is(const char *text, const char *other)
{
    return strcmp(text, other) == 0;
}

static bool is_write(const struct iobm_phase_row *p)
{
    return !is(p->op, "read");
}

/* Add the words of 'line' as whole lines, and release it. */
static void put_line(struct str *out, size_t indent, struct str *line)
{
    line_wrap(out, indent, str_text(line));
    out->failed = out->failed || line->failed;
    str_release(line);
}

/* ---- what was done ---- */

static void add_how(const struct iobm_phase_row *p, struct str *line)
{
    line_clean(line, p->api, sizeof(p->api));
    if (p->direct)
        str_add(line, " O_DIRECT");
    else if (is(p->api, "posix"))
        str_add(line, " buffered");
    if (p->collective)
        str_add(line, " collective");
}

static void title(const char *version, const struct iobm_phase_row *p,
                  struct str *out)
{
    struct str line = {0};

    str_add(&line, "iobm ");
    line_clean(&line, version, 32);
    str_add(&line, "  ");
    line_clean(&line, p->op, sizeof(p->op));
    if (p->repeat > 0)
        str_addf(&line, " repeat %" PRIu64, (uint64_t)p->repeat + 1);
    if (is(p->access, "shared")) {
        str_add(&line, "  shared file, ");
        line_clean(&line, p->layout, sizeof(p->layout));
    } else {
        str_add(&line, "  file per rank");
    }
    str_add(&line, "  ");
    add_how(p, &line);
    str_addf(&line, "  %" PRId64 " rank%s on %" PRId64 " node%s", p->ranks,
             p->ranks == 1 ? "" : "s", p->nodes, p->nodes == 1 ? "" : "s");
    put_line(out, 0, &line);
}

/* "640 transfers of 16 MiB", "7 transfers of up to 16 MiB". */
static void add_transfers(const struct iobm_phase_row *p, struct str *line)
{
    char size[SIZE_ROOM];
    int64_t whole;
    bool all = p->bytes == p->bytes_expected && p->ops > 0;
    bool even = all &&
                !__builtin_mul_overflow(p->ops, p->transfer_bytes, &whole) &&
                whole == p->bytes;

    line_size(size, p->transfer_bytes);
    if (!all)
        str_addf(line, "transfers of %s", size);
    else
        str_addf(line, "%" PRId64 " transfer%s of %s%s", p->ops,
                 p->ops == 1 ? "" : "s", even ? "" : "up to ", size);
}

/* The size of one of 'parts', which the bytes may not divide into evenly. */
static void add_part_size(int64_t bytes, int64_t parts, struct str *line)
{
    char size[SIZE_ROOM];

    if (parts > 0 && bytes > 0 && bytes < parts)
        str_add(line, "at most 1 B");
    else if (parts > 0)
        str_addf(line, "%s%s", bytes % parts ? "about " : "",
                 line_size(size, bytes / parts));
}

static void add_files(const struct iobm_phase_row *p, struct str *line)
{
    bool shared = is(p->access, "shared");
    int64_t parts = shared ? p->ranks : p->files;
    char size[SIZE_ROOM];

    str_add(line, line_size(size, p->bytes_expected));
    if (shared)
        str_add(line, " in one file");
    if (shared && is(p->layout, "strided")) {
        str_addf(line, " dealt out in blocks of %s",
                 line_size(size, p->block_bytes));
    } else if (parts > 1 || !shared) {
        str_addf(line, shared ? ", %" PRId64 " parts of " : " in %" PRId64,
                 parts);
        if (!shared)
            str_addf(line, " file%s of ", parts == 1 ? "" : "s");
        add_part_size(p->bytes_expected, parts, line);
    }
    str_add(line, ", ");
}

/* Sizes, then the path: behind them where it fits, else on its own line. */
static void subject(const struct iobm_phase_row *p, struct str *out)
{
    struct str line = {0}, path = {0};
    size_t used, room, tail = 0;
    char last[48] = "";

    add_files(p, &line);
    add_transfers(p, &line);
    used = line_columns(str_text(&line));
    if (!is(p->access, "shared")) {
        snprintf(last, sizeof(last), ".0");
        if (p->files > 1)
            snprintf(last, sizeof(last), ".0 ... .%" PRId64, p->files - 1);
        tail = strlen(last);
    }
    line_clean(&path, p->path, sizeof(p->path));
    room = line_columns(str_text(&path)) + tail;
    if (used + 3 + room <= LINE_COLUMNS) {
        str_addf(&line, "   %s%s\n", str_text(&path), last);
        str_add(out, str_text(&line));
        str_release(&line);
    } else {
        put_line(out, 0, &line);
        str_add(out, "  ");
        line_short(out, str_text(&path), path.length, LINE_COLUMNS - 2 - tail);
        str_addf(out, "%s\n", last);
    }
    out->failed = out->failed || path.failed;
    str_release(&path);
}

/* ---- how fast ---- */

/* "label      value unit  decimal unit   tail"; a long label has a line of
 * its own.  'decimal' false leaves that out. */
static void rate_line(const char *label, double Bps,
                      const struct rate_unit *unit, bool decimal,
                      const char *tail, struct str *out)
{
    char text[NUMBER_ROOM];

    if (strlen(label) > 24) {
        str_addf(out, "%s\n", label);
        label = "";
    }
    str_addf(out, "%-24s%12s %s", label,
             line_rate(text, Bps, unit->binary_Bps, 11), unit->binary);
    if (decimal)
        str_addf(out, "%10s %s", line_rate(text, Bps, unit->decimal_Bps, 9),
                 unit->decimal);
    if (*tail && (decimal ? 57 : 42) + 3 + strlen(tail) > LINE_COLUMNS)
        str_addf(out, "\n    %s", tail);
    else if (*tail)
        str_addf(out, "   %s", tail);
    str_add(out, "\n");
}

static void headline(const struct iobm_phase_row *p,
                     const struct rate_unit *unit, struct str *out)
{
    char bound[NUMBER_ROOM], tail[64] = "one clock";

    if (p->clock_domains > 1 || p->clock_bound_s > 0)
        snprintf(tail, sizeof(tail), "clock +-%s",
                 line_span(bound, p->clock_bound_s));
    rate_line("naive sum of the ranks", p->bw_naive_Bps, unit, true, "", out);
    rate_line("precise, first start to last end", p->bw_wall_Bps, unit, true,
              tail, out);
}

static double percent_above(double ratio)
{
    return 100 * (ratio - 1);
}

static void inflation(const struct iobm_phase_row *p, struct str *out)
{
    double above = percent_above(p->bw_naive_Bps / p->bw_wall_Bps);
    char a[NUMBER_ROOM], b[NUMBER_ROOM], c[NUMBER_ROOM];

    if (!isfinite(above))
        return;
    if (p->ranks == 1) {
        str_add(out, "  naive is the same: there is one rank only\n");
        return;
    }
    if (above < 0.1) {
        str_add(out, "  naive is the same: even ranks, started together\n");
        return;
    }
    /* Percentages that large do not add up by eye; factors multiply. */
    if (above >= 99.5) {
        str_addf(out,
                 "  naive is %s times as high: uneven ranks x %s, late "
                 "starts x %s\n",
                 line_number(a, p->bw_naive_Bps / p->bw_wall_Bps, 7, 1),
                 line_number(b, p->inflation_ranks, 7, 2),
                 line_number(c, p->inflation_start, 7, 2));
        return;
    }
    str_addf(out,
             "  naive is %s %% above: uneven ranks %s %%, late starts %s %%\n",
             line_percent(a, above),
             line_percent(b, percent_above(p->inflation_ranks)),
             line_percent(c, percent_above(p->inflation_start)));
}

/* The proven bounds, where they are wider than 0.05 %. */
static void bounds(const struct iobm_phase_row *p, const struct rate_unit *unit,
                   struct str *out)
{
    char low[NUMBER_ROOM], high[NUMBER_ROOM];
    double width = p->bw_wall_high_Bps - p->bw_wall_low_Bps;

    if (!isfinite(p->bw_wall_low_Bps))
        return;
    if (isfinite(width) && width <= 0.0005 * p->bw_wall_Bps)
        return;
    if (isfinite(width))
        str_addf(out, "  by the clocks it lies between %s and %s %s\n",
                 line_rate(low, p->bw_wall_low_Bps, unit->binary_Bps, 11),
                 line_rate(high, p->bw_wall_high_Bps, unit->binary_Bps, 11),
                 unit->binary);
    else
        str_addf(out, "  by the clocks it is at least %s %s\n",
                 line_rate(low, p->bw_wall_low_Bps, unit->binary_Bps, 11),
                 unit->binary);
}

/* A write: how durable, and how fast it went into the cache.  The null
 * interface: that there were no data. */
static void durability(const struct iobm_phase_row *p,
                       const struct rate_unit *unit, struct str *out)
{
    char text[NUMBER_ROOM];

    if (is(p->api, "null"))
        str_add(out, "  null moves nothing: this is the speed of iobm alone\n");
    if (!is_write(p) || is(p->api, "null"))
        return;
    if (is(p->sync, "every"))
        str_add(out, "  every transfer was synced before the next one\n");
    else if (is(p->sync, "dsync"))
        str_add(out, "  every transfer was durable before the next one "
                     "(O_DSYNC)\n");
    else if (is(p->sync, "end") && isfinite(p->bw_cache_Bps))
        rate_line(p->direct ? "  before the sync" : "  into the cache",
                  p->bw_cache_Bps, unit, false,
                  p->direct ? "transfers alone" : "before the sync", out);
    if (isfinite(p->dirty_pct) && !p->direct && is(p->sync, "end"))
        str_addf(out,
                 "    %s %% of it was in memory alone when the sync began\n",
                 line_percent(text, p->dirty_pct));
}

static bool differs(double a, double b, double share)
{
    return isfinite(a) && isfinite(b) && fabs(a - b) > share * fabs(b);
}

/* Beyond this error, in percent, the rate while all were active tells
 * nothing, and only who asks for everything sees it. */
#define STEADY_EDGE_PCT 10

/* Is there a rate while all were active that is worth a line? */
static bool has_steady(const struct iobm_phase_row *p, bool verbose)
{
    bool lost = fabs(p->loss_ramp_pct) > 1 || fabs(p->loss_tail_pct) > 1;

    if (!isfinite(p->bw_steady_Bps) || p->ranks < 2)
        return false;
    return verbose || (lost && !(p->bw_steady_edge_pct > STEADY_EDGE_PCT));
}

/* Rates over other stretches of time, where they tell something else. */
static void other_rates(const struct iobm_phase_row *p,
                        const struct rate_unit *unit, bool verbose,
                        struct str *out)
{
    char a[NUMBER_ROOM], b[NUMBER_ROOM], tail[96];

    if (has_steady(p, verbose)) {
        snprintf(tail, sizeof(tail), "lost: start %s %%, end %s %%",
                 line_percent(a, p->loss_ramp_pct),
                 line_percent(b, p->loss_tail_pct));
        rate_line("  while all were active", p->bw_steady_Bps, unit, false,
                  tail, out);
        if (p->bw_steady_edge_pct > 1)
            str_addf(out, "    uncertain by %s %%: few transfers lie in it\n",
                     line_percent(a, p->bw_steady_edge_pct));
    }
    if (verbose && isfinite(p->bw_q90_Bps) && p->ranks >= 10)
        rate_line("  while 90 % were active", p->bw_q90_Bps, unit, false, "",
                  out);
    if (isfinite(p->bw_open_close_Bps) &&
        (verbose || differs(p->bw_open_close_Bps, p->bw_wall_Bps, 0.01)))
        rate_line("  with open and close", p->bw_open_close_Bps, unit, false,
                  "first open to last close", out);
}

/* ---- more, on request ---- */

static void more_ranks(const struct iobm_phase_row *p, struct str *out)
{
    char a[NUMBER_ROOM], b[NUMBER_ROOM], c[NUMBER_ROOM];
    struct str line = {0};

    if (isfinite(p->imbalance) && p->ranks > 1) {
        str_addf(&line,
                 "ranks: longest %s %% over the mean, rates vary by %s %% "
                 "(CoV), Jain %s, stragglers %" PRId64,
                 line_percent(a, 100 * p->imbalance),
                 line_percent(b, 100 * p->rate_cov),
                 line_number(c, p->rate_jain, 8, 4), p->stragglers);
        put_line(out, 2, &line);
    }
    if (isfinite(p->node_eta2)) {
        str_addf(&line,
                 "nodes: %s %% of the variance of the rates is between nodes "
                 "(p %s)",
                 line_percent(a, 100 * p->node_eta2),
                 line_number(b, p->node_p, 8, 3));
        put_line(out, 2, &line);
    }
}

static void more_clock(const struct iobm_phase_row *p, struct str *out)
{
    char a[NUMBER_ROOM], b[NUMBER_ROOM];
    struct str line = {0};

    str_addf(&line,
             "clock: %" PRId64 " clock%s, bound +-%s, starts within %s, "
             "%" PRId64 " late rank%s",
             p->clock_domains, p->clock_domains == 1 ? "" : "s",
             line_span(a, p->clock_bound_s), line_span(b, p->start_skew_s),
             p->late_ranks, p->late_ranks == 1 ? "" : "s");
    if (p->clock_anomaly)
        str_add(&line, ", exchanges disagreed");
    put_line(out, 2, &line);
    str_addf(&line, "time: %s s, by rank 0's clock with the barriers ",
             line_number(a, p->seconds, 12, 6));
    str_addf(&line, "%s s", line_number(a, p->seconds_outer, 12, 6));
    put_line(out, 2, &line);
}

static void more(const struct iobm_phase_row *p, struct str *out)
{
    char a[NUMBER_ROOM], b[NUMBER_ROOM], c[NUMBER_ROOM], d[NUMBER_ROOM];
    struct str line = {0};

    more_ranks(p, out);
    more_clock(p, out);
    if (isfinite(p->duty_pct)) {
        str_addf(&line,
                 "duty: %s %% of the time in transfers and syncs, %s %% in "
                 "preparing data",
                 line_number(a, p->duty_pct, 8, 1),
                 line_percent(b, p->prepare_pct));
        put_line(out, 2, &line);
    }
    str_addf(&line, "longest: open %s, transfer %s, sync %s, close %s",
             line_span(a, p->open_max_s), line_span(b, p->latency_max_s),
             line_span(c, p->sync_max_s), line_span(d, p->close_max_s));
    put_line(out, 2, &line);
    str_addf(&line,
             "bytes: %" PRId64 " in all, %" PRId64 " a transfer, alignment "
             "%" PRId64,
             p->bytes, p->transfer_bytes, p->alignment_bytes);
    put_line(out, 2, &line);
    if (!is_write(p)) {
        str_addf(&line,
                 "order: %s, %" PRId64 " of %" PRId64 " parts written "
                 "on another node",
                 p->order, p->moved_files, p->ranks);
        put_line(out, 2, &line);
    }
}

/* ---- a whole phase ---- */

/* No bandwidth for what did not end as it should: bytes and the reason. */
static void unfinished(const struct iobm_phase_row *p, struct str *out)
{
    char done[SIZE_ROOM], all[SIZE_ROOM];
    struct str line = {0};

    line_clean(&line, p->status, sizeof(p->status));
    if (p->reason[0]) {
        str_add(&line, ": ");
        line_clean(&line, p->reason, sizeof(p->reason));
    }
    put_line(out, 2, &line);
    if (p->bytes < 0)
        str_addf(&line, "of %s (%" PRId64 " bytes) part was done: no bandwidth",
                 line_size(all, p->bytes_expected), p->bytes_expected);
    else
        str_addf(&line, "%s of %s were done (%" PRId64 " bytes): no bandwidth",
                 line_size(done, p->bytes), line_size(all, p->bytes_expected),
                 p->bytes);
    put_line(out, 2, &line);
}

/* The clocks cannot be trusted: only what rank 0's own clock proves. */
static void untrusted(const struct iobm_phase_row *p, struct str *out)
{
    struct rate_unit unit = line_unit(p->bw_wall_Bps);
    struct str line = {0};

    line_clean(&line, p->status, sizeof(p->status));
    if (p->reason[0]) {
        str_add(&line, ": ");
        line_clean(&line, p->reason, sizeof(p->reason));
    }
    put_line(out, 2, &line);
    if (p->clock_failed && isfinite(p->bw_wall_Bps))
        rate_line("at least", p->bw_wall_Bps, &unit, true, "by rank 0's clock",
                  out);
}

void report_phase_text(const char *version, const struct iobm_phase_row *p,
                       const struct iobm_rank_row *ranks, size_t n,
                       const struct iobm_detail *detail, bool verbose,
                       struct str *out)
{
    struct rate_unit unit = line_unit(p->bw_naive_Bps);

    title(version, p, out);
    subject(p, out);
    if (is(p->status, "invalid")) {
        untrusted(p, out);
        trust_checks(detail, p->phase, p->repeat, verbose, out);
        return;
    }
    if (!is(p->status, "complete")) {
        unfinished(p, out);
        trust_evidence(p, detail, out);
        return;
    }
    table_of_ranks(p, ranks, n, verbose, out);
    headline(p, &unit, out);
    inflation(p, out);
    bounds(p, &unit, out);
    durability(p, &unit, out);
    other_rates(p, &unit, verbose, out);
    trust_course(p, verbose, out);
    trust_evidence(p, detail, out);
    if (verbose)
        more(p, out);
    trust_checks(detail, p->phase, p->repeat, verbose, out);
}
