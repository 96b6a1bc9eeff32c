/* SPDX-License-Identifier: BSD-3-Clause */
/* A whole run as people read it: its phases one by one, and what is to be
 * said at the end. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/lines.h"
#include "report/parts.h"
#include "report/report.h"
#include "report/trust.h"

/* Notes beyond this are counted only: they are in the result. */
#define NOTES_MAX 8

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

bool part_rates(const struct run_record *run, const char *op,
                struct part_rates *out)
{
    double *values = calloc(run->phase_count + 1, sizeof(*values));
    size_t n = 0;

    *out = (struct part_rates){0, 0, NAN, NAN, NAN};
    if (!values)
        return false;
    for (size_t i = 0; i < run->phase_count; i++) {
        const struct iobm_phase_row *p = &run->phases[i];

        if (strcmp(p->op, op) != 0)
            continue;
        out->all++;
        if (strcmp(p->status, "complete") == 0 && isfinite(p->bw_wall_Bps))
            values[n++] = p->bw_wall_Bps;
    }
    out->complete = n;
    if (n > 0) {
        qsort(values, n, sizeof(*values), by_value);
        out->least_Bps = values[0];
        out->most_Bps = values[n - 1];
        out->median_Bps = (values[(n - 1) / 2] + values[n / 2]) / 2;
    }
    free(values);
    return true;
}

static void put_line(struct str *out, size_t indent, struct str *line)
{
    line_wrap(out, indent, str_text(line));
    out->failed = out->failed || line->failed;
    str_release(line);
}

/* Of a run that did not come to its end, where nothing was summed up. */
static void summary(const struct run_record *run, const char *op,
                    struct str *out)
{
    struct part_rates rates;
    struct rate_unit unit;
    struct str line = {0};
    char a[NUMBER_ROOM], b[NUMBER_ROOM], c[NUMBER_ROOM];

    if (!part_rates(run, op, &rates)) {
        out->failed = true;
        return;
    }
    if (rates.complete < 2)
        return;
    unit = line_unit(rates.median_Bps);
    str_addf(&line, "%s, %zu repeats", op, rates.complete);
    if (rates.complete < rates.all)
        str_addf(&line, " of %zu", rates.all);
    str_addf(out, "%-24s%12s %s   median; least %s, most %s\n", str_text(&line),
             line_rate(a, rates.median_Bps, unit.binary_Bps, 11), unit.binary,
             line_rate(b, rates.least_Bps, unit.binary_Bps, 7),
             line_rate(c, rates.most_Bps, unit.binary_Bps, 7));
    out->failed = out->failed || line.failed;
    str_release(&line);
}

static void notes(const struct run_record *run, struct str *out)
{
    struct str line = {0};

    for (size_t i = 0; i < run->log_count && i < NOTES_MAX; i++) {
        line_clean(&line, run->log[i].level, sizeof(run->log[i].level));
        str_add(&line, ": ");
        line_clean(&line, run->log[i].text, sizeof(run->log[i].text));
        put_line(out, 0, &line);
    }
    if (run->log_count > NOTES_MAX)
        str_addf(out, "note: and %zu more in the result\n",
                 run->log_count - NOTES_MAX);
}

/* Why a run ended early, unless one of its phases has said so. */
static void ending(const struct run_record *run, struct str *out)
{
    struct str line = {0};

    if (strcmp(run->status, "complete") == 0 || !run->status[0])
        return;
    for (size_t i = 0; i < run->phase_count; i++)
        if (strcmp(run->phases[i].status, "complete") != 0)
            return;
    str_add(&line, "run ");
    line_clean(&line, run->status, sizeof(run->status));
    if (run->reason[0]) {
        str_add(&line, ": ");
        line_clean(&line, run->reason, sizeof(run->reason));
    }
    put_line(out, 0, &line);
}

void report_end_text(const struct run_record *run, const char *file,
                     struct str *out)
{
    bool several = false;

    if (run->detail.summary_count == 0) {
        summary(run, "write", out);
        summary(run, "read", out);
    }
    trust_repeats(&run->detail, out);
    /* One repeat has nothing to say but that. */
    for (size_t i = 0; i < run->detail.summary_count; i++)
        several = several || run->detail.summaries[i].repeats > 1;
    if (several)
        trust_checks(&run->detail, -1, -1, false, out);
    notes(run, out);
    ending(run, out);
    if (file && run->number > 0) {
        str_addf(out, "result run %" PRId64 " in ", run->number);
        line_short(out, file, strlen(file), LINE_COLUMNS - 34);
        str_add(out, "\n");
    }
}

/* The rows of one phase, in one piece. */
static size_t rows_of(const struct run_record *run, int64_t phase,
                      struct iobm_rank_row *rows)
{
    size_t n = 0;

    for (size_t i = 0; i < run->rank_count; i++)
        if (run->ranks[i].phase == phase)
            rows[n++] = run->ranks[i];
    return n;
}

void report_run_text(const struct run_record *run, const char *file,
                     bool verbose, struct str *out)
{
    struct iobm_rank_row *rows = calloc(run->rank_count + 1, sizeof(*rows));

    if (!rows) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < run->phase_count; i++) {
        size_t n = rows_of(run, run->phases[i].phase, rows);

        if (i > 0)
            str_add(out, "\n");
        report_phase_text(run->version, &run->phases[i], rows, n, &run->detail,
                          verbose, out);
    }
    free(rows);
    report_end_text(run, file, out);
}
