/* SPDX-License-Identifier: BSD-3-Clause */
/* "iobm list": the runs of a file, a line each. */
#include <inttypes.h>
#include <math.h>
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

static void add_line(const struct run_record *run, struct str *out)
{
    const struct iobm_phase_row *first =
        run->phase_count > 0 ? &run->phases[0] : NULL;
    char text[NUMBER_ROOM], size[SIZE_ROOM] = "-";
    struct str line = {0};
    size_t used;

    str_addf(&line, "%4s  ", line_number(text, (double)run->number, 6, 0));
    add_when(&line, run->started_utc, sizeof(run->started_utc));
    str_addf(&line, "  %-11s", status_word(run->status));
    str_addf(&line, "%6s",
             first ? line_number(text, (double)first->ranks, 6, 0) : "-");
    if (first)
        line_size(size, first->bytes_expected);
    str_addf(&line, "  %-8.8s", size);
    add_rate(run, "write", &line);
    add_rate(run, "read", &line);
    used = line_columns(str_text(&line));
    if (run->label[0]) {
        str_add(&line, "  ");
        line_short(&line, run->label, sizeof(run->label),
                   LINE_COLUMNS - used - 2);
    }
    str_addf(out, "%s\n", str_text(&line));
    out->failed = out->failed || line.failed;
    str_release(&line);
}

void report_list_text(const struct run_record *runs, size_t n, struct str *out)
{
    if (n == 0) {
        str_add(out, "no runs\n");
        return;
    }
    str_addf(out, "%4s  %-16s  %-11s%6s  %-8s%9s%9s  %s\n", "run",
             "started (UTC)", "status", "ranks", "size", "wr MiB/s", "rd MiB/s",
             "label");
    for (size_t i = 0; i < n; i++)
        add_line(&runs[i], out);
}
