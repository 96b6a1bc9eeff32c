/* SPDX-License-Identifier: BSD-3-Clause */

/* What stands behind a figure: see trust.h.  Which sentence is worth a line
 * is decided here, what the numbers mean in src/stats and src/judge. */

#include "report/trust.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/lines.h"
#include "stats/ends.h"

static bool is(const char *text, const char *other)
{
    return strcmp(text, other) == 0;
}

/* Add the words of 'line' as whole lines, and release it. */
static void put_line(struct str *out, size_t indent, struct str *line)
{
    if (line->length)
        line_wrap(out, indent, str_text(line));
    out->failed = out->failed || line->failed;
    str_release(line);
}

/* ---- how it went */

static void ends(const struct iobm_phase_row *p, struct str *out)
{
    const struct ends found = {
        .ramp_ranks = p->ramp_ranks > 0 ? (size_t)p->ramp_ranks : 0,
        .ramp_nodes = p->ramp_nodes > 0 ? (size_t)p->ramp_nodes : 0,
        .ramp_s = p->ramp_s,
        .tail_ranks = p->tail_ranks > 0 ? (size_t)p->tail_ranks : 0,
        .tail_nodes = p->tail_nodes > 0 ? (size_t)p->tail_nodes : 0,
        .tail_s = p->tail_s,
    };
    struct str line = {0};

    ends_sentence(&found, p->loss_ramp_pct, p->loss_tail_pct,
                  p->ranks > 0 ? (size_t)p->ranks : 0, &line);
    put_line(out, 2, &line);
}

/* A smaller fall need not be that of a cache. */
#define CACHE_FULL 0.8

static void shape(const struct iobm_phase_row *p, struct str *out)
{
    struct rate_unit unit = line_unit(p->bw_wall_Bps);
    char a[NUMBER_ROOM], b[NUMBER_ROOM], c[NUMBER_ROOM], size[SIZE_ROOM];
    struct str line = {0};

    if (p->cliff_bytes >= 0)
        str_addf(
            &line, "%s after %s: %s -> %s %s",
            p->cliff_after_Bps < CACHE_FULL * p->cliff_before_Bps ? "cache full"
                                                                  : "slow-down",
            line_size(size, p->cliff_bytes),
            line_rate(a, p->cliff_before_Bps, unit.binary_Bps, 11),
            line_rate(b, p->cliff_after_Bps, unit.binary_Bps, 11), unit.binary);
    else if (is(p->shape, "warm-up"))
        str_addf(&line, "warm-up: the first %s s differ from the rest",
                 line_number(a, p->warmup_s, 8, 1));
    else if (is(p->shape, "slow-down") || is(p->shape, "unsteady"))
        str_addf(&line, "%s: %" PRId64 " lasting change%s of the rate",
                 p->shape, p->changes, p->changes == 1 ? "" : "s");
    if (line.length && isfinite(p->sustained_Bps))
        str_addf(&line, "; sustained %s %s",
                 line_rate(c, p->sustained_Bps, unit.binary_Bps, 11),
                 unit.binary);
    put_line(out, 2, &line);
}

static void latency(const struct iobm_phase_row *p, bool verbose,
                    struct str *out)
{
    char text[NUMBER_ROOM];
    struct str line = {0};

    if (!verbose && !isfinite(p->latency_p99_s))
        return;
    if (!isfinite(p->latency_mean_s))
        return;
    str_addf(&line, "a transfer took %s on average",
             line_span(text, p->latency_mean_s));
    if (isfinite(p->latency_p50_s))
        str_addf(&line, ", half of them at most %s",
                 line_span(text, p->latency_p50_s));
    if (isfinite(p->latency_p99_s))
        str_addf(&line, ", 99 %% at most %s",
                 line_span(text, p->latency_p99_s));
    if (isfinite(p->latency_p999_s))
        str_addf(&line, ", 99.9 %% %s", line_span(text, p->latency_p999_s));
    str_addf(&line, ", the longest %s", line_span(text, p->latency_max_s));
    put_line(out, 2, &line);
}

void trust_course(const struct iobm_phase_row *p, bool verbose, struct str *out)
{
    ends(p, out);
    shape(p, out);
    latency(p, verbose, out);
}

/* ---- where it came from */

static const char *method_text(const char *method)
{
    if (is(method, "direct"))
        return "past the page cache by O_DIRECT";
    if (is(method, "other-node"))
        return "each rank read what another node wrote";
    if (is(method, "dropped"))
        return "the files' pages were dropped before";
    if (is(method, "drop-all"))
        return "the nodes' caches were dropped before";
    if (is(method, "kept"))
        return "the page cache was left as it was";
    return "";
}

static void verdict(const struct iobm_phase_row *p, struct str *out)
{
    const char *how = method_text(p->cache_method);
    char share[NUMBER_ROOM];
    struct str line = {0};

    if (!p->cache_verdict[0] || is(p->cache_verdict, "none"))
        return;
    if (is(p->cache_verdict, "unknown"))
        str_add(&line, "cold or cached: nobody can tell here");
    else
        str_addf(&line, "%s: %s %% of it came from the client's memory (%s)",
                 p->cache_verdict, line_percent(share, p->cached_pct),
                 p->cache_witness);
    if (*how)
        str_addf(&line, "; %s", how);
    put_line(out, 2, &line);
}

#define FINDINGS_MAX 8

static void findings(const struct iobm_phase_row *p,
                     const struct iobm_detail *detail, struct str *out)
{
    size_t shown = 0, all = 0;

    for (size_t i = 0; detail && i < detail->finding_count; i++) {
        const struct iobm_finding_row *f = &detail->findings[i];
        struct str line = {0};

        if (f->phase != p->phase || f->repeat != p->repeat || ++all == 0)
            continue;
        if (shown >= FINDINGS_MAX)
            continue;
        shown++;
        str_addf(&line, "%s: rank %" PRId64 ", '", f->kind, f->rank);
        line_clean(&line, f->path, sizeof(f->path));
        str_addf(&line,
                 "' at %" PRId64 ", %" PRId64 " byte%s in %" PRId64 " block%s",
                 f->offset, f->bytes, f->bytes == 1 ? "" : "s", f->blocks,
                 f->blocks == 1 ? "" : "s");
        if (f->expected[0])
            str_addf(&line, ": %s, not %s", f->actual, f->expected);
        if (f->whose[0]) {
            str_add(&line, "; ");
            line_clean(&line, f->whose, sizeof(f->whose));
        }
        put_line(out, 4, &line);
    }
    if (all > shown)
        str_addf(out, "    and %zu more in the result\n", all - shown);
}

static void verification(const struct iobm_phase_row *p,
                         const struct iobm_detail *detail, struct str *out)
{
    char size[SIZE_ROOM];

    if (p->verify_errors < 0)
        return;
    line_size(size, p->verify_bytes);
    if (p->verify_errors == 0)
        str_addf(out, "  verified: all %s are as they were written\n", size);
    else
        str_addf(out, "  verified %s: %" PRId64 " block%s of 4 KiB %s WRONG\n",
                 size, p->verify_errors, p->verify_errors == 1 ? "" : "s",
                 p->verify_errors == 1 ? "is" : "are");
    findings(p, detail, out);
}

void trust_evidence(const struct iobm_phase_row *p,
                    const struct iobm_detail *detail, struct str *out)
{
    verdict(p, out);
    verification(p, detail, out);
}

/* ---- the certificate */

static bool of_phase(const struct iobm_check_row *check, int64_t phase,
                     int64_t repeat)
{
    return check->phase == phase && check->repeat == repeat;
}

/* The names of all notes in one line. */
static void add_notes(const struct iobm_detail *detail, int64_t phase,
                      int64_t repeat, struct str *out)
{
    struct str line = {0};

    for (size_t i = 0; i < detail->check_count; i++) {
        const struct iobm_check_row *check = &detail->checks[i];

        if (!of_phase(check, phase, repeat) || !is(check->result, "NOTE"))
            continue;
        str_addf(&line, line.length ? ", %s" : "NOTE %s", check->name);
    }
    if (line.length)
        str_add(&line, " (-v or iobm show --checks says more)");
    put_line(out, 2, &line);
}

static void add_check(const struct iobm_check_row *check, struct str *out)
{
    struct str line = {0};

    str_addf(&line, "%s %s: ", check->result, check->name);
    line_clean(&line, check->text, sizeof(check->text));
    if (check->advice[0]) {
        str_add(&line, "; ");
        line_clean(&line, check->advice, sizeof(check->advice));
    }
    put_line(out, 2, &line);
}

void trust_checks(const struct iobm_detail *detail, int64_t phase,
                  int64_t repeat, bool verbose, struct str *out)
{
    static const char *const results[] = {"INVALID", "WARN", "NOTE", "OK"};
    size_t count[4] = {0}, all = 0;
    struct str line = {0};

    for (size_t i = 0; detail && i < detail->check_count; i++)
        for (int k = 0; k < 4; k++)
            if (of_phase(&detail->checks[i], phase, repeat) &&
                is(detail->checks[i].result, results[k]) && ++all)
                count[k]++;
    if (all == 0)
        return;
    str_addf(&line, phase < 0 ? "checks of the run: " : "checks: ");
    for (int k = 3; k >= 0; k--)
        if (count[k] > 0 || k == 3)
            str_addf(&line, "%s%zu %s", k == 3 ? "" : ", ", count[k],
                     results[k]);
    put_line(out, 0, &line);
    for (int k = 0; k < (verbose ? 3 : 2); k++)
        for (size_t i = 0; i < detail->check_count; i++)
            if (of_phase(&detail->checks[i], phase, repeat) &&
                is(detail->checks[i].result, results[k]))
                add_check(&detail->checks[i], out);
    if (!verbose)
        add_notes(detail, phase, repeat, out);
}

/* ---- the repeats */

static void interval(const struct iobm_summary_row *s,
                     const struct rate_unit *unit, struct str *out)
{
    char a[NUMBER_ROOM], b[NUMBER_ROOM], c[NUMBER_ROOM], d[NUMBER_ROOM];
    struct str line = {0};

    if (!isfinite(s->low_Bps) || !isfinite(s->high_Bps))
        return;
    str_addf(&line, "the median lies between %s and %s %s (%s %% confidence)",
             line_rate(a, s->low_Bps, unit->binary_Bps, 11),
             line_rate(b, s->high_Bps, unit->binary_Bps, 11), unit->binary,
             line_number(c, s->confidence_pct, 6, 1));
    if (isfinite(s->half_width_pct))
        str_addf(&line, ", +-%s %%", line_percent(d, s->half_width_pct));
    if (!is(s->stopped, "all"))
        str_addf(&line, "; stopped: %s", s->stopped);
    put_line(out, 2, &line);
    if (s->outliers > 0) {
        str_addf(&line, "far off, and counted all the same: repeat%s %s",
                 s->outliers == 1 ? "" : "s", s->outlier_repeats);
        put_line(out, 2, &line);
    }
}

void trust_repeats(const struct iobm_detail *detail, struct str *out)
{
    for (size_t i = 0; i < detail->summary_count; i++) {
        const struct iobm_summary_row *s = &detail->summaries[i];
        struct rate_unit unit = line_unit(s->median_Bps);
        char a[NUMBER_ROOM], b[NUMBER_ROOM], c[NUMBER_ROOM];
        struct str line = {0};

        if (s->repeats - s->left_out < 2)
            continue;
        str_addf(&line, "%s, %" PRId64 " repeats", s->op,
                 s->repeats - s->left_out);
        if (s->left_out > 0)
            str_addf(&line, " of %" PRId64, s->repeats);
        str_addf(out, "%-24s%12s %s   median; least %s, most %s\n",
                 str_text(&line),
                 line_rate(a, s->median_Bps, unit.binary_Bps, 11), unit.binary,
                 line_rate(b, s->worst_Bps, unit.binary_Bps, 7),
                 line_rate(c, s->best_Bps, unit.binary_Bps, 7));
        out->failed = out->failed || line.failed;
        str_release(&line);
        interval(s, &unit, out);
    }
}
