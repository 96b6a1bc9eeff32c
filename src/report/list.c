/* SPDX-License-Identifier: BSD-3-Clause */
/* "iobm list": the runs of a file, a line each. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/lines.h"
#include "report/parts.h"
#include "report/report.h"

#define MiB 1048576.0

/* The word itself, when it is one that we know. */
static const char *status_word(const char *status)
{
    static const char *const words[] = {"complete", "interrupted", "failed",
                                        "invalid", "running"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(status, words[i]) == 0)
            return words[i];
    return "?";
}

/* "2026-11-30 20:06" of "2026-11-30T20:06:21.123456Z". */
static void add_when(struct str *out, const char *iso, size_t room)
{
    struct str clean = {0};
    size_t length;

    line_clean(&clean, iso, strnlen(iso, room) < 16 ? strnlen(iso, room) : 16);
    for (size_t i = 0; i < clean.length; i++)
        if (clean.text[i] == 'T')
            clean.text[i] = ' ';
    str_add(out, str_text(&clean));
    length = line_columns(str_text(&clean));
    line_spaces(out, length < 16 ? 16 - length : 0);
    out->failed = out->failed || clean.failed;
    str_release(&clean);
}

static void add_rate(const struct run_record *run, const char *op,
                     struct str *out)
{
    struct part_rates rates;
    char text[NUMBER_ROOM];

    if (!part_rates(run, op, &rates))
        out->failed = true;
    str_addf(out, "%9s", line_rate(text, rates.median_Bps, MiB, 8));
}

/* "976.57 KiB" is wider than the column: then "977 KiB". */
static void add_size(struct str *out, int64_t bytes)
{
    char text[SIZE_ROOM], whole[SIZE_ROOM];
    const char *unit;

    line_size(text, bytes);
    unit = strchr(text, ' ');
    snprintf(whole, sizeof(whole), "%.0f%s", atof(text), unit ? unit : "");
    str_addf(out, "  %-8s", strlen(text) <= 8 ? text : whole);
}

/* Behind the run where it fits, else on a line of its own. */
static void add_label(struct str *line, const struct run_record *run)
{
    struct str label = {0};

    line_clean(&label, run->label, sizeof(run->label));
    if (label.length > 0) {
        size_t used = line_columns(str_text(line)) + 2;

        if (used + line_columns(str_text(&label)) > LINE_COLUMNS) {
            str_add(line, "\n    ");
            used = 6;
        }
        str_add(line, "  ");
        line_short(line, str_text(&label), label.length, LINE_COLUMNS - used);
    }
    line->failed = line->failed || label.failed;
    str_release(&label);
}

static void add_line(const struct run_record *run, int status, struct str *out)
{
    const struct iobm_phase_row *first =
        run->phase_count > 0 ? &run->phases[0] : NULL;
    char text[NUMBER_ROOM];
    struct str line = {0};

    str_addf(&line, "%4s  ", line_number(text, (double)run->number, 6, 0));
    add_when(&line, run->started_utc, sizeof(run->started_utc));
    str_addf(&line, "  %-*s", status, status_word(run->status));
    str_addf(&line, "%6s",
             first ? line_number(text, (double)first->ranks, 6, 0) : "-");
    if (first)
        add_size(&line, first->bytes_expected);
    else
        str_addf(&line, "  %-8s", "-");
    add_rate(run, "write", &line);
    add_rate(run, "read", &line);
    add_label(&line, run);
    str_addf(out, "%s\n", str_text(&line));
    out->failed = out->failed || line.failed;
    str_release(&line);
}

void report_list_text(const struct run_record *runs, size_t n, struct str *out)
{
    size_t status = strlen("complete");

    if (n == 0) {
        str_add(out, "no runs\n");
        return;
    }
    /* what one column leaves is for the labels */
    for (size_t i = 0; i < n; i++)
        if (strlen(status_word(runs[i].status)) > status)
            status = strlen(status_word(runs[i].status));
    str_addf(out, "%4s  %-16s  %-*s%6s  %-8s%9s%9s  %s\n", "run",
             "started (UTC)", (int)status, "status", "ranks", "size",
             "wr MiB/s", "rd MiB/s", "label");
    for (size_t i = 0; i < n; i++)
        add_line(&runs[i], (int)status, out);
}
