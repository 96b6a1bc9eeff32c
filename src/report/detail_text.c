/* SPDX-License-Identifier: BSD-3-Clause */

/* A phase over time: the series as a table, and virtual stonewalls; and what
 * the other files behind detail_text.h share. */

#include "report/detail_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/detail_impl.h"
#include "report/lines.h"
#include "stats/series.h"

#define NS_PER_S 1e9

/* A phase has at most so many lines. */
#define SERIES_LINES 40

/* ---- lines */

void detail_line(size_t indent, struct str *line, struct str *out)
{
    line_wrap(out, indent, str_text(line));
    out->failed = out->failed || line->failed;
    str_release(line);
}

void detail_name(const struct iobm_phase_row *phase, struct str *out)
{
    line_clean(out, phase->op, sizeof(phase->op));
    if (phase->repeat > 0)
        str_addf(out, " repeat %" PRIu64, (uint64_t)phase->repeat + 1);
}

void detail_heading(const struct iobm_phase_row *phase, const char *text,
                    struct str *out)
{
    struct str line = {0};

    if (out->length > 0)
        str_add(out, "\n");
    detail_name(phase, &line);
    str_addf(&line, ": %s", text);
    detail_line(0, &line, out);
}

void detail_bar(double value, double most, struct str *out)
{
    double share = value / most;
    int columns = share > 0 && share <= 1 ? (int)lround(DETAIL_BAR * share) : 0;

    if (share > 0) {
        str_add(out, "  ");
        for (int i = 0; i < columns; i++)
            str_add(out, "#");
        str_add(out, columns ? "" : ".");
    }
    str_add(out, "\n");
}

void detail_right(const char *text, size_t columns, struct str *out)
{
    size_t used = line_columns(text);

    line_spaces(out, used < columns ? columns - used : 0);
    str_add(out, text);
}

void detail_left(const char *text, size_t room, size_t columns, struct str *out)
{
    struct str name = {0};

    line_short(&name, text, room, columns);
    str_add(out, str_text(&name));
    line_spaces(out, columns - line_columns(str_text(&name)));
    out->failed = out->failed || name.failed;
    str_release(&name);
}

/* ---- the series of a phase */

struct curve {
    int64_t *bins;
    size_t n; /* 0: there is none */
    int64_t width_ns;
};

static bool is_total(const struct iobm_series_row *row, int64_t phase)
{
    return row->phase == phase && row->rank < 0 && row->node < 0;
}

/* Whether 'row' is a bin right behind 'last', the first one if that is NULL;
 * 'bytes' and 'ns' are those of all bins so far. */
static bool follows(const struct iobm_series_row *last,
                    const struct iobm_series_row *row, int64_t *bytes,
                    int64_t *ns)
{
    int64_t next;

    if (row->width_ns <= 0 || row->bytes < 0 ||
        __builtin_add_overflow(*bytes, row->bytes, bytes) ||
        __builtin_add_overflow(*ns, row->width_ns, ns))
        return false;
    return !last ||
           (row->width_ns == last->width_ns &&
            !__builtin_add_overflow(last->start_ns, last->width_ns, &next) &&
            row->start_ns == next);
}

/* Take the rows of all ranks together, in their order: bins of one width, one
 * behind the other, or it is no series.  False when memory is short. */
static bool find_curve(const struct iobm_detail *detail, int64_t phase,
                       struct curve *out)
{
    const struct iobm_series_row *last = NULL;
    int64_t bytes = 0, ns = 0;

    *out = (struct curve){0};
    out->bins = calloc(detail->series_count + 1, sizeof(*out->bins));
    if (!out->bins)
        return false;
    for (size_t i = 0; i < detail->series_count; i++) {
        const struct iobm_series_row *row = &detail->series[i];

        if (!is_total(row, phase))
            continue;
        if (!follows(last, row, &bytes, &ns)) {
            out->n = 0;
            return true;
        }
        out->width_ns = row->width_ns;
        out->bins[out->n++] = row->bytes;
        last = row;
    }
    return true;
}

/* Join bins until they fit on a page. */
static void shorten(struct curve *curve)
{
    size_t factor = (curve->n + SERIES_LINES - 1) / SERIES_LINES;

    /* The sum of all widths is known to fit. */
    curve->n = series_rebin(curve->bins, curve->n, factor);
    curve->width_ns *= (int64_t)factor;
}

/* How long bin 'i' lasted.  The phase may end within the last one, which then
 * is shorter; a mere rest of it tells no rate. */
static double bin_seconds(const struct curve *curve, size_t i, double seconds)
{
    double width = (double)curve->width_ns / NS_PER_S;
    double left = seconds - (double)i * width;

    return left < width && left >= 0.1 * width ? left : width;
}

static double bin_rate(const struct curve *curve, size_t i, double seconds)
{
    return (double)curve->bins[i] / bin_seconds(curve, i, seconds);
}

static void print_curve(const struct curve *curve,
                        const struct iobm_phase_row *phase, struct str *out)
{
    double width = (double)curve->width_ns / NS_PER_S, most = 0;
    struct rate_unit unit;
    char text[NUMBER_ROOM], size[SIZE_ROOM];
    struct str from = {0};

    for (size_t i = 0; i < curve->n; i++)
        most = fmax(most, bin_rate(curve, i, phase->seconds));
    unit = line_unit(most);
    str_addf(out, "%12s%14s%12s\n", "from", "moved", unit.binary);
    for (size_t i = 0; i < curve->n; i++) {
        double rate = bin_rate(curve, i, phase->seconds);

        str_addf(&from, "%s s",
                 line_number(text, (double)i * width, 9, width < 1 ? 2 : 1));
        detail_right(str_text(&from), 12, out);
        str_release(&from);
        detail_right(line_size(size, curve->bins[i]), 14, out);
        detail_right(line_rate(text, rate, unit.binary_Bps, 11), 12, out);
        detail_bar(rate, most, out);
    }
}

static void phase_series(const struct run_record *run,
                         const struct iobm_phase_row *phase, struct str *out)
{
    char width[NUMBER_ROOM];
    struct curve curve;
    struct str text = {0};

    if (!find_curve(&run->detail, phase->phase, &curve)) {
        out->failed = true;
        return;
    }
    if (curve.n == 0) {
        detail_heading(phase, "no series", out);
    } else {
        shorten(&curve);
        str_addf(&text, "all ranks together, in steps of %s",
                 line_span(width, (double)curve.width_ns / NS_PER_S));
        detail_heading(phase, str_text(&text), out);
        print_curve(&curve, phase, out);
    }
    out->failed = out->failed || text.failed;
    str_release(&text);
    free(curve.bins);
}

void detail_series_text(const struct run_record *run, struct str *out)
{
    for (size_t i = 0; i < run->phase_count; i++)
        phase_series(run, &run->phases[i], out);
    if (run->phase_count == 0)
        str_add(out, "no phases\n");
}

/* ---- virtual stonewalls */

/* The rate, or NaN and why there is none. */
static double stonewall(const struct curve *curve,
                        const struct iobm_phase_row *phase, int64_t d_ns,
                        struct str *why)
{
    char text[NUMBER_ROOM];
    double rate;

    if (strcmp(phase->status, "complete") != 0) {
        str_add(why, "the phase is ");
        if (phase->status[0])
            line_clean(why, phase->status, sizeof(phase->status));
        else
            str_add(why, "not complete");
        return NAN;
    }
    if ((double)d_ns / NS_PER_S > phase->seconds) {
        if (phase->seconds < 1)
            str_addf(why, "the phase lasted %s",
                     line_span(text, phase->seconds));
        else
            str_addf(why, "the phase lasted %s s",
                     line_number(text, phase->seconds, 9, 1));
        return NAN;
    }
    rate = curve->n > 0
               ? series_stonewall(curve->bins, curve->n, curve->width_ns, d_ns)
               : NAN;
    if (!isfinite(rate))
        str_add(why, "no series");
    return rate;
}

static void phase_stonewall(const struct run_record *run,
                            const struct iobm_phase_row *phase, int64_t d_ns,
                            struct str *out)
{
    struct str why = {0}, name = {0};
    struct rate_unit unit;
    struct curve curve;
    char a[NUMBER_ROOM], b[NUMBER_ROOM];
    double rate;

    if (!find_curve(&run->detail, phase->phase, &curve)) {
        out->failed = true;
        return;
    }
    rate = stonewall(&curve, phase, d_ns, &why);
    unit = line_unit(rate);
    detail_name(phase, &name);
    str_add(out, "  ");
    detail_left(str_text(&name), name.length, 30, out);
    if (isfinite(rate))
        str_addf(out, "%12s %s%12s %s\n",
                 line_rate(a, rate, unit.binary_Bps, 11), unit.binary,
                 line_rate(b, rate, unit.decimal_Bps, 11), unit.decimal);
    else
        str_addf(out, "n/a: %s\n", str_text(&why));
    out->failed = out->failed || why.failed || name.failed;
    str_release(&name);
    str_release(&why);
    free(curve.bins);
}

void detail_stonewall_text(const struct run_record *run, int64_t d_ns,
                           struct str *out)
{
    double seconds = (double)d_ns / NS_PER_S;
    char span[NUMBER_ROOM];

    if (seconds < 1000)
        line_span(span, seconds);
    else
        snprintf(span, sizeof(span), "%.10g s", seconds);
    str_addf(out, "%srate of the first %s of each phase\n",
             out->length > 0 ? "\n" : "", span);
    for (size_t i = 0; i < run->phase_count; i++)
        phase_stonewall(run, &run->phases[i], d_ns, out);
    if (run->phase_count == 0)
        str_add(out, "  no phases\n");
}
