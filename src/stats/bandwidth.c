/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bandwidth definitions of docs/method.md section 1, in its notation.
 * Times come in on one timeline; how they got there is in clockfit.c.
 */

#include "stats/bandwidth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/clockfit.h"

#define NS_PER_S 1e9

/* An interval that the clock saw as nothing counts as its tick. */
static int64_t at_least_tick(int64_t ns)
{
    return ns > 0 ? ns : 1;
}

static double rate(int64_t bytes, int64_t ns)
{
    return (double)bytes * NS_PER_S / (double)ns;
}

static int64_t min_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_ns(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The edges that only bw_compute needs. */
struct edges {
    int64_t open, io_end, close;
    int64_t start_low, start_high;
    int64_t end_low, end_high;
};

static void take_first(const struct bw_rank *r, struct bw_result *out,
                       struct edges *edges)
{
    out->s0 = out->s1 = r->start_ns;
    out->e0 = out->e1 = r->end_ns;
    *edges = (struct edges){
        .open = r->open_ns,
        .io_end = r->io_end_ns,
        .close = r->close_ns,
        .start_low = r->start_ns - r->bound_ns,
        .start_high = r->start_ns + r->bound_ns,
        .end_low = r->end_ns - r->bound_ns,
        .end_high = r->end_ns + r->bound_ns,
    };
}

static void take(const struct bw_rank *r, struct bw_result *out,
                 struct edges *edges)
{
    out->s0 = min_ns(out->s0, r->start_ns);
    out->s1 = max_ns(out->s1, r->start_ns);
    out->e0 = min_ns(out->e0, r->end_ns);
    out->e1 = max_ns(out->e1, r->end_ns);
    edges->open = min_ns(edges->open, r->open_ns);
    edges->io_end = max_ns(edges->io_end, r->io_end_ns);
    edges->close = max_ns(edges->close, r->close_ns);
    edges->start_low = min_ns(edges->start_low, r->start_ns - r->bound_ns);
    edges->start_high = min_ns(edges->start_high, r->start_ns + r->bound_ns);
    edges->end_low = max_ns(edges->end_low, r->end_ns - r->bound_ns);
    edges->end_high = max_ns(edges->end_high, r->end_ns + r->bound_ns);
}

static void bound_wall(const struct edges *edges, int64_t total_ns,
                       struct bw_result *out)
{
    int64_t shortest = edges->end_low - edges->start_high; /* T- */
    int64_t longest =
        at_least_tick(edges->end_high - edges->start_low); /* T+ */

    out->wall_low = rate(out->bytes, max_ns(longest, total_ns));
    if (shortest > 0)
        out->wall_high = rate(out->bytes, shortest);
    out->too_short = (double)(longest - shortest) > 0.01 * (double)total_ns;
}

/* Sums of doubles may differ in the last places. */
static bool at_least(double a, double b)
{
    return a >= b * (1 - 1e-9);
}

void bw_compute(const struct bw_rank *ranks, size_t n, struct bw_result *out)
{
    struct edges edges = {0};
    bool any = false, forward = true;
    double naive = 0;

    *out = (struct bw_result){
        .seconds = NAN,
        .naive = NAN,
        .slowest = NAN,
        .wall = NAN,
        .wall_low = NAN,
        .wall_high = NAN,
        .open_close = NAN,
        .cache = NAN,
        .inflation = NAN,
        .inflation_ranks = NAN,
        .inflation_start = NAN,
        .ordered = true,
    };
    for (size_t i = 0; i < n; i++) {
        const struct bw_rank *r = &ranks[i];
        if (r->bytes <= 0)
            continue;
        if (!any)
            take_first(r, out, &edges);
        take(r, out, &edges);
        any = true;

        int64_t duration = r->end_ns - r->start_ns;
        if (duration < -2 * r->bound_ns)
            forward = false;
        out->bytes += r->bytes;
        out->max_duration_ns =
            max_ns(out->max_duration_ns, at_least_tick(duration));
        naive += rate(r->bytes, at_least_tick(duration));
    }
    if (!any)
        return;

    int64_t total_ns = at_least_tick(out->e1 - out->s0);
    out->seconds = (double)total_ns / NS_PER_S;
    out->naive = naive;
    out->slowest = rate(out->bytes, out->max_duration_ns);
    out->wall = rate(out->bytes, total_ns);
    bound_wall(&edges, total_ns, out);
    out->open_close = rate(out->bytes, at_least_tick(edges.close - edges.open));
    out->cache = rate(out->bytes, at_least_tick(edges.io_end - out->s0));
    out->inflation = out->naive / out->wall;
    out->inflation_ranks = out->naive / out->slowest;
    out->inflation_start = (double)total_ns / (double)out->max_duration_ns;
    out->ordered = forward && at_least(out->naive, out->slowest) &&
                   at_least(out->slowest, out->wall);
}

bool bw_sandwich(const struct bw_result *bw, int64_t own_ns, int64_t outer_ns,
                 int64_t max_bound_ns)
{
    int64_t total_ns = bw->e1 - bw->s0;
    /* T is the difference of two times, each wrong by the bound at most. */
    int64_t slack = 2 * max_bound_ns;
    int64_t drift = max_bound_ns > 0 ? clockfit_drift(own_ns) : 0;

    return bw->max_duration_ns <= at_least_tick(total_ns) + slack &&
           own_ns <= at_least_tick(total_ns) + slack + drift &&
           total_ns <= outer_ns + slack;
}

void marks_init(struct marks *marks, int64_t (*at)[2], size_t room,
                int64_t start_ns)
{
    *marks = (struct marks){
        .at = at,
        .room = room,
        .count = 1,
        .spacing_ns = MARKS_SPACING_NS,
        .last_ns = start_ns,
    };
    at[0][0] = start_ns;
    at[0][1] = 0;
}

void marks_store(struct marks *marks, int64_t now_ns, int64_t bytes)
{
    if (marks->count == marks->room) {
        /* Bytes are cumulative: what a dropped mark counted is in the next. */
        for (size_t i = 0; 2 * i < marks->count; i++)
            memcpy(marks->at[i], marks->at[2 * i], sizeof(marks->at[i]));
        marks->count /= 2;
        marks->spacing_ns *= 2;
    }
    marks->at[marks->count][0] = now_ns;
    marks->at[marks->count][1] = bytes;
    marks->count++;
}

static double interpolate(int64_t from_ns, int64_t from_bytes, int64_t to_ns,
                          int64_t to_bytes, int64_t ns)
{
    if (to_ns <= from_ns)
        return (double)to_bytes;
    return (double)from_bytes +
           (double)(to_bytes - from_bytes) *
               ((double)(ns - from_ns) / (double)(to_ns - from_ns));
}

double marks_bytes_at(const struct marks *marks, int64_t ns)
{
    if (marks->count == 0 || ns < marks->at[0][0])
        return 0;
    if (ns >= marks->last_ns)
        return (double)marks->last_bytes;

    size_t low = 0, high = marks->count; /* at[low] <= ns < at[high] */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (marks->at[middle][0] <= ns)
            low = middle;
        else
            high = middle;
    }
    bool newest = high == marks->count;
    return interpolate(marks->at[low][0], marks->at[low][1],
                       newest ? marks->last_ns : marks->at[high][0],
                       newest ? marks->last_bytes : marks->at[high][1], ns);
}

static int compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The longest stretch with at least 'need' of 'n' sorted spans open. */
static bool longest_stretch(const int64_t *starts, const int64_t *ends,
                            size_t n, size_t need, int64_t *from_ns,
                            int64_t *to_ns)
{
    int64_t since = 0, best = 0;
    size_t s = 0, e = 0;

    while (e < n) {
        /* Starts first: a handover in the same ns is no gap. */
        if (s < n && starts[s] <= ends[e]) {
            s++;
            if (s - e == need)
                since = starts[s - 1];
            continue;
        }
        if (s - e == need && ends[e] - since > best) {
            best = ends[e] - since;
            *from_ns = since;
            *to_ns = ends[e];
        }
        e++;
    }
    return best > 0;
}

bool bw_window(const struct bw_rank *ranks, size_t n, double share,
               int64_t *from_ns, int64_t *to_ns)
{
    int64_t *starts = malloc((2 * n + 1) * sizeof(*starts));
    size_t active = 0;

    if (!starts)
        return false;
    int64_t *ends = starts + n;
    for (size_t i = 0; i < n; i++) {
        if (ranks[i].bytes <= 0 || ranks[i].end_ns < ranks[i].start_ns)
            continue;
        starts[active] = ranks[i].start_ns;
        ends[active++] = ranks[i].end_ns;
    }
    qsort(starts, active, sizeof(*starts), compare_ns);
    qsort(ends, active, sizeof(*ends), compare_ns);

    /* 0.9 * 10 must not become 10 by a last binary place. */
    size_t need = (size_t)ceil(share * (double)active - 1e-9);
    bool found = longest_stretch(starts, ends, active, need > 0 ? need : 1,
                                 from_ns, to_ns);
    free(starts);
    return found;
}

void bw_losses(const struct bw_result *bw, double steady, double v_s1,
               double v_e0, double *ramp, double *tail)
{
    if (!isfinite(steady) || steady <= 0 || !isfinite(bw->seconds)) {
        *ramp = NAN;
        *tail = NAN;
        return;
    }
    double total = steady * bw->seconds;
    *ramp = (steady * ((double)(bw->s1 - bw->s0) / NS_PER_S) - v_s1) / total;
    *tail = (steady * ((double)(bw->e1 - bw->e0) / NS_PER_S) -
             ((double)bw->bytes - v_e0)) /
            total;
}
