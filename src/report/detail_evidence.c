/* SPDX-License-Identifier: BSD-3-Clause */

/* The certificate check by check, and the witnesses node by node: see
 * detail_text.h. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/detail_impl.h"
#include "report/detail_text.h"
#include "report/lines.h"
#include "report/trust.h"

#define MiB 1048576.0

static bool is(const char *text, const char *other)
{
    return strcmp(text, other) == 0;
}

/* ---- checks */

/* "1.2 s", "10 GiB", "954.0 MiB/s"; "-" for n/a */
static void add_value(double value, const char *unit, struct str *out)
{
    char text[SIZE_ROOM], number[NUMBER_ROOM];
    bool bytes = is(unit, "B");

    if (!isfinite(value) || (bytes && !(value >= 0 && value < 9e18))) {
        str_add(out, "-");
    } else if (bytes) {
        str_add(out, line_size(text, (int64_t)value));
    } else if (is(unit, "B/s")) {
        str_addf(out, "%s MiB/s", line_number(number, value / MiB, 9, 1));
    } else {
        bool whole = value == rint(value) && fabs(value) < 1e9;

        str_addf(out, whole ? "%.0f" : "%.4g", value);
        if (unit[0] && !is(unit, "1")) {
            str_add(out, " ");
            line_clean(out, unit, 8);
        }
    }
}

/* The limit only where there is one. */
static void put_values(const struct iobm_check_row *check, struct str *out)
{
    char unit[sizeof(check->unit) + 1];
    struct str value = {0}, limit = {0};

    snprintf(unit, sizeof(unit), "%.*s", (int)sizeof(check->unit), check->unit);
    add_value(check->value, unit, &value);
    add_value(check->limit, unit, &limit);
    detail_right(str_text(&value), 20, out);
    if (!is(str_text(&limit), "-")) {
        str_add(out, "  limit");
        detail_right(str_text(&limit), 18, out);
    }
    str_add(out, "\n");
    out->failed = out->failed || value.failed || limit.failed;
    str_release(&value);
    str_release(&limit);
}

static void put_words(const char *what, const char *text, size_t room,
                      struct str *out)
{
    struct str line = {0};

    if (!text[0])
        return;
    str_add(&line, what);
    line_clean(&line, text, room);
    detail_line(10, &line, out);
}

static void put_check(const struct iobm_check_row *check, struct str *out)
{
    str_add(out, "  ");
    detail_left(check->result, sizeof(check->result), 8, out);
    detail_left(check->name, sizeof(check->name), 24, out);
    put_values(check, out);
    put_words("", check->text, sizeof(check->text), out);
    put_words("next: ", check->advice, sizeof(check->advice), out);
}

static size_t count_checks(const struct run_record *run, int64_t phase)
{
    size_t n = 0;

    for (size_t i = 0; i < run->detail.check_count; i++)
        n += run->detail.checks[i].phase == phase;
    return n;
}

static void phase_checks(const struct run_record *run,
                         const struct iobm_phase_row *phase, struct str *out)
{
    size_t n = count_checks(run, phase->phase);
    char text[64];

    snprintf(text, sizeof(text), n == 0 ? "no checks" : "%zu check%s", n,
             n == 1 ? "" : "s");
    detail_heading(phase, text, out);
    for (size_t i = 0; i < run->detail.check_count; i++)
        if (run->detail.checks[i].phase == phase->phase)
            put_check(&run->detail.checks[i], out);
}

/* Those of the repeats, kind by kind as they were made. */
static void run_checks(const struct run_record *run, struct str *out)
{
    const char *op = NULL;

    for (size_t i = 0; i < run->detail.check_count; i++) {
        const struct iobm_check_row *check = &run->detail.checks[i];

        if (check->phase >= 0)
            continue;
        if (!op || strncmp(op, check->op, sizeof(check->op)) != 0) {
            str_add(out, out->length > 0 ? "\n" : "");
            line_clean(out, check->op, sizeof(check->op));
            str_add(out, ": all repeats\n");
        }
        op = check->op;
        put_check(check, out);
    }
}

void detail_checks_text(const struct run_record *run, struct str *out)
{
    for (size_t i = 0; i < run->phase_count; i++)
        phase_checks(run, &run->phases[i], out);
    run_checks(run, out);
    if (run->phase_count == 0)
        str_add(out, "no phases\n");
}

/* ---- witnesses */

/* A size in at most eight columns. */
static void put_size(int64_t bytes, struct str *out)
{
    static const char *const names[] = {"B",   "KiB", "MiB", "GiB",
                                        "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    char text[NUMBER_ROOM];
    size_t i = 0;

    for (; i < 6 && value >= 999.5; i++)
        value /= 1024;
    if (bytes < 0)
        snprintf(text, sizeof(text), "-");
    else
        snprintf(text, sizeof(text), value < 1 && i > 0 ? "%.2f %s" : "%.3g %s",
                 value, names[i]);
    detail_right(text, 9, out);
}

static void put_percent(double percent, size_t columns, struct str *out)
{
    char text[NUMBER_ROOM];

    if (strlen(line_percent(text, percent)) >= columns)
        line_number(text, percent, (int)columns - 1, 0);
    detail_right(isfinite(percent) ? text : "-", columns, out);
}

static void put_count(int64_t value, size_t columns, struct str *out)
{
    char text[NUMBER_ROOM];

    detail_right(
        line_number(text, value < 0 ? NAN : (double)value, (int)columns - 1, 0),
        columns, out);
}

static void put_node(const struct iobm_evidence_row *e, struct str *out)
{
    put_count(e->node, 6, out);
    str_add(out, " ");
    detail_left(e->host, sizeof(e->host), 10, out);
}

/* Where the bytes of the node's ranks came from, or went. */
static void put_source(const struct iobm_evidence_row *e, bool write,
                       struct str *out)
{
    put_node(e, out);
    put_size(e->bytes, out);
    put_size(write ? e->self_write_bytes : e->self_read_bytes, out);
    put_size(write ? e->device_write_bytes : e->device_read_bytes, out);
    put_size(write ? e->nfs_server_write_bytes : e->nfs_server_read_bytes, out);
    put_size(write ? e->lustre_osc_write_bytes : e->lustre_osc_read_bytes, out);
    put_size(write ? e->link_tx_bytes : e->link_rx_bytes, out);
    put_percent(write ? e->dirty_pct : e->resident_pct, 9, out);
    str_add(out, "\n");
}

/* How the node itself fared. */
static void put_client(const struct iobm_evidence_row *e, struct str *out)
{
    int64_t swapped;

    if (e->swap_in_bytes < 0 || e->swap_out_bytes < 0 ||
        __builtin_add_overflow(e->swap_in_bytes, e->swap_out_bytes, &swapped))
        swapped = -1;
    put_node(e, out);
    put_count(e->major_faults, 8, out);
    put_size(swapped, out);
    put_percent(e->memory_stall_pct, 8, out);
    put_count(e->memory_limit_hits, 7, out);
    put_percent(e->working_set_pct, 9, out);
    put_percent(e->cpu_busy_pct, 7, out);
    put_percent(e->cpu_wait_pct, 7, out);
    put_percent(e->cpu_steal_pct, 8, out);
    str_add(out, "\n");
}

static void put_nodes(const struct run_record *run,
                      const struct iobm_phase_row *phase, struct str *out)
{
    bool write = is(phase->op, "write");

    str_addf(out, "%6s %-10s%9s%9s%9s%9s%9s%9s%9s\n", "node", "host", "moved",
             "blocks", "device", "NFS", "Lustre", write ? "sent" : "received",
             write ? "dirty %" : "cached %");
    for (size_t i = 0; i < run->detail.evidence_count; i++)
        if (run->detail.evidence[i].phase == phase->phase)
            put_source(&run->detail.evidence[i], write, out);
    str_addf(out, "%6s %-10s%8s%9s%8s%7s%9s%7s%7s%8s\n", "node", "host",
             "faults", "swapped", "stall %", "limit", "memory %", "cpu %",
             "wait %", "steal %");
    for (size_t i = 0; i < run->detail.evidence_count; i++)
        if (run->detail.evidence[i].phase == phase->phase)
            put_client(&run->detail.evidence[i], out);
}

static void phase_evidence(const struct run_record *run,
                           const struct iobm_phase_row *phase, struct str *out)
{
    bool any = false;

    for (size_t i = 0; i < run->detail.evidence_count; i++)
        any = any || run->detail.evidence[i].phase == phase->phase;
    detail_heading(phase, any ? "what each node counted" : "no evidence", out);
    if (!any)
        return;
    trust_evidence(phase, &run->detail, out);
    put_nodes(run, phase, out);
}

void detail_evidence_text(const struct run_record *run, struct str *out)
{
    for (size_t i = 0; i < run->phase_count; i++)
        phase_evidence(run, &run->phases[i], out);
    if (run->phase_count == 0)
        str_add(out, "no phases\n");
}
