/* SPDX-License-Identifier: BSD-3-Clause */

/* Latencies as tables and histograms: see detail_text.h.  Percentiles come
 * from the rows; buckets are only joined here. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/detail_impl.h"
#include "report/detail_text.h"
#include "report/lines.h"

/* A histogram has at most so many lines, or one for each power of two. */
#define HISTOGRAM_LINES 24
#define HISTOGRAM_LEAST 10 /* of fewer operations the table says enough */
#define OCTAVES         63

/* ---- the table */

/* A span in at most seven columns; "-" for what is none. */
static const char *short_span(char text[NUMBER_ROOM], double seconds)
{
    if (!(seconds >= 0 && seconds < 1e99))
        return "-";
    if (strlen(line_span(text, seconds)) <= 7)
        return text;
    snprintf(text, NUMBER_ROOM, "%.0f s", seconds);
    if (strlen(text) > 7)
        snprintf(text, NUMBER_ROOM, "%.0e s", seconds);
    return text;
}

static void table_row(const struct iobm_class_row *row, struct str *out)
{
    const double spans[] = {row->min_s, row->mean_s, row->p50_s,   row->p90_s,
                            row->p99_s, row->p999_s, row->p9999_s, row->max_s};
    char text[NUMBER_ROOM];

    detail_left(row->op_class, sizeof(row->op_class), 6, out);
    detail_right(line_number(text, (double)row->ops, 9, 0), 10, out);
    for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++)
        detail_right(short_span(text, spans[i]), 8, out);
    str_add(out, "\n");
}

static void table(const struct run_record *run,
                  const struct iobm_phase_row *phase, struct str *out)
{
    static const char *const names[] = {"min",  "mean",   "50 %",    "90 %",
                                        "99 %", "99.9 %", "99.99 %", "max"};

    detail_heading(phase, "latency; - where too few to tell", out);
    str_addf(out, "%-6s%10s", "", "count");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        str_addf(out, "%8s", names[i]);
    str_add(out, "\n");
    for (size_t i = 0; i < run->detail.class_count; i++)
        if (run->detail.classes[i].phase == phase->phase)
            table_row(&run->detail.classes[i], out);
}

/* ---- the histogram: each power of two in 'parts' equal pieces, numbered
 * through */

static int octave_of(int64_t ns)
{
    return 63 - __builtin_clzll((unsigned long long)(ns > 1 ? ns : 1));
}

static int piece_of(int64_t ns, int parts)
{
    int octave = octave_of(ns);
    int64_t over = ns > 1 ? ns - (INT64_C(1) << octave) : 0;

    return octave * parts + (int)((__int128)over * parts >> octave);
}

static int64_t piece_ns(int piece, int parts)
{
    int octave = piece / parts;
    int64_t start = INT64_C(1) << octave;

    return start + (int64_t)(((__int128)start * (piece % parts)) / parts);
}

/* Rows of one class of one phase. */
struct selection {
    const struct iobm_latency_row *rows;
    size_t count;
    int64_t phase;
    const char *op_class;
};

static bool is_selected(const struct selection *of,
                        const struct iobm_latency_row *row)
{
    return row->phase == of->phase && row->ops > 0 &&
           strncmp(row->op_class, of->op_class, sizeof(row->op_class)) == 0;
}

/* The first and last piece that have any; false when none has. */
static bool extent(const struct selection *of, int parts, int *first, int *last)
{
    bool any = false;

    for (size_t i = 0; i < of->count; i++) {
        int piece;

        if (!is_selected(of, &of->rows[i]))
            continue;
        piece = piece_of(of->rows[i].low_ns, parts);
        *first = any && *first < piece ? *first : piece;
        *last = any && *last > piece ? *last : piece;
        any = true;
    }
    return any;
}

static double piece_ops(const struct selection *of, int parts, int piece)
{
    double ops = 0;

    for (size_t i = 0; i < of->count; i++)
        if (is_selected(of, &of->rows[i]) &&
            piece_of(of->rows[i].low_ns, parts) == piece)
            ops += (double)of->rows[i].ops;
    return ops;
}

static void print_pieces(const struct selection *of, int parts, int first,
                         int last, struct str *out)
{
    double ops[OCTAVES + HISTOGRAM_LINES], most = 0;
    char text[NUMBER_ROOM];

    for (int i = 0; i <= last - first; i++) {
        ops[i] = piece_ops(of, parts, first + i);
        most = fmax(most, ops[i]);
    }
    for (int i = 0; i <= last - first; i++) {
        double from_s = (double)piece_ns(first + i, parts) / 1e9;

        detail_right(short_span(text, from_s), 16, out);
        detail_right(line_number(text, ops[i], 11, 0), 12, out);
        detail_bar(ops[i], most, out);
    }
}

/* In as small pieces as fit on the page and as the buckets can tell apart. */
static void histogram(const struct selection *of, struct str *out)
{
    int parts = 8, first = 0, last = 0;

    if (!extent(of, 1, &first, &last))
        return;
    while (parts > 1 &&
           (octave_of(parts) > first || !extent(of, parts, &first, &last) ||
            last - first >= HISTOGRAM_LINES)) {
        parts /= 2;
        extent(of, 1, &first, &last);
    }
    extent(of, parts, &first, &last);
    str_add(out, "\n  ");
    detail_left(of->op_class, sizeof(of->rows->op_class), 6, out);
    str_addf(out, "%8s%12s\n", "from", "count");
    print_pieces(of, parts, first, last, out);
}

/* ---- second by second */

static void second_row(const struct iobm_second_row *row, struct str *out)
{
    const double spans[] = {row->p50_s, row->p99_s, row->max_s};
    char text[NUMBER_ROOM];

    detail_right(line_number(text, row->start_s, 9, 0), 10, out);
    detail_right(line_number(text, (double)row->ops, 9, 0), 12, out);
    detail_right(
        line_number(text, (double)row->bytes / row->width_s / 1048576, 11, 2),
        14, out);
    for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++)
        detail_right(short_span(text, spans[i]), 10, out);
    str_add(out, "\n");
}

/* Transfers by when they ended, where there is more than one slot of them. */
static void seconds(const struct iobm_detail *d, int64_t phase, struct str *out)
{
    size_t slots = 0;

    for (size_t i = 0; i < d->second_count; i++)
        slots += d->seconds[i].phase == phase;
    if (slots < 2)
        return;
    str_addf(out, "\n%10s%12s%14s%10s%10s%10s\n", "second", "transfers",
             "MiB/s", "50 %", "99 %", "max");
    for (size_t i = 0; i < d->second_count; i++)
        if (d->seconds[i].phase == phase)
            second_row(&d->seconds[i], out);
}

static void phase_latency(const struct run_record *run,
                          const struct iobm_phase_row *phase, struct str *out)
{
    const struct iobm_detail *d = &run->detail;
    bool any = false;

    for (size_t i = 0; i < d->class_count; i++)
        any = any || d->classes[i].phase == phase->phase;
    if (!any) {
        detail_heading(phase, "no latencies", out);
        return;
    }
    table(run, phase, out);
    for (size_t i = 0; i < d->class_count; i++) {
        const struct selection of = {d->latency, d->latency_count, phase->phase,
                                     d->classes[i].op_class};

        if (d->classes[i].phase == phase->phase &&
            d->classes[i].ops >= HISTOGRAM_LEAST)
            histogram(&of, out);
    }
    seconds(d, phase->phase, out);
}

void detail_latency_text(const struct run_record *run, struct str *out)
{
    for (size_t i = 0; i < run->phase_count; i++)
        phase_latency(run, &run->phases[i], out);
    if (run->phase_count == 0)
        str_add(out, "no phases\n");
}
