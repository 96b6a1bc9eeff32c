/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks of a phase.  Nothing is computed from several ranks here but
 * which of them are the slowest, and order statistics.
 */
#include "report/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/lines.h"

#define MiB 1048576.0

/* Widths that follow from the values; the other columns are fixed. */
struct shape {
    size_t rank, part, node; /* 'part' 0: no such column */
    int decimals;            /* of times: more when all are short */
    bool write, shared;
};

static double seconds_of(const struct iobm_rank_row *row)
{
    return ((double)row->end_ns - (double)row->start_ns) / 1e9;
}

static size_t digits(int64_t value)
{
    size_t n = value < 0 ? 2 : 1;

    for (; value >= 10 || value <= -10; value /= 10)
        n++;
    return n;
}

static size_t clamp(size_t value, size_t low, size_t high)
{
    return value < low ? low : value > high ? high : value;
}

static struct shape shape_of(const struct iobm_phase_row *phase,
                             const struct iobm_rank_row *ranks, size_t n)
{
    struct shape shape = {.write = strcmp(phase->op, "read") != 0,
                          .shared = strcmp(phase->access, "shared") == 0};
    size_t fixed, room, rank = 0, node = 0;
    double longest = 0;
    bool moved = false;

    for (size_t i = 0; i < n; i++) {
        struct str host = {0};

        line_clean(&host, ranks[i].node, sizeof(ranks[i].node));
        node = clamp(line_columns(str_text(&host)), node, 64);
        str_release(&host);
        rank = clamp(digits(ranks[i].rank), rank, 20);
        rank = clamp(digits(ranks[i].part), rank, 20);
        longest = fmax(longest, seconds_of(&ranks[i]));
        moved = moved || ranks[i].part != ranks[i].rank;
    }
    shape.decimals = longest >= 1 ? 3 : 5;
    shape.rank = clamp(rank + 2, 6, 9);
    shape.part = moved ? shape.rank : 0;
    fixed = shape.rank + shape.part + 2 + 9 + 10 + 9 + 8 + 8 +
            (shape.write ? 8 : 0);
    room = LINE_COLUMNS - 1 - fixed;
    shape.node = clamp(node, room < 10 ? room : 10, room);
    return shape;
}

static void heading(const struct shape *shape, struct str *out)
{
    str_addf(out, "%*s", (int)shape->rank, "rank");
    if (shape->part)
        str_addf(out, "%*s", (int)shape->part, shape->shared ? "part" : "file");
    str_addf(out, "  %-*s%9s%10s%9s%8s", (int)shape->node, "node", "seconds",
             "MiB/s", "open", shape->write ? "write" : "read");
    if (shape->write)
        str_addf(out, "%8s", "sync");
    str_addf(out, "%8s\n", "close");
}

static void add_number(struct str *out, int width, double value, int decimals)
{
    char text[NUMBER_ROOM];

    str_addf(out, "%*s", width, line_number(text, value, width - 1, decimals));
}

static void row_of(const struct shape *shape, const struct iobm_rank_row *row,
                   struct str *out)
{
    struct str host = {0};
    char text[NUMBER_ROOM];
    double rate = row->bytes > 0 ? row->rate_Bps : NAN;

    str_addf(out, "%*s", (int)shape->rank,
             line_number(text, (double)row->rank, (int)shape->rank - 1, 0));
    if (shape->part)
        str_addf(out, "%*s", (int)shape->part,
                 line_number(text, (double)row->part, (int)shape->part - 1, 0));
    line_short(&host, row->node, sizeof(row->node), shape->node);
    str_addf(out, "  %s", str_text(&host));
    line_spaces(out, shape->node - line_columns(str_text(&host)));
    out->failed = out->failed || host.failed;
    str_release(&host);
    add_number(out, 9, seconds_of(row), shape->decimals);
    add_number(out, 10, rate / MiB, 3);
    add_number(out, 9, (double)row->open_ns / 1e9, shape->decimals);
    add_number(out, 8, (double)row->io_ns / 1e9, shape->decimals);
    if (shape->write)
        add_number(out, 8, (double)row->sync_ns / 1e9, shape->decimals);
    add_number(out, 8, (double)row->close_ns / 1e9, shape->decimals);
    str_add(out, row->straggler ? "*\n" : "\n");
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of n > 0 sorted values: the median, or the nearest rank. */
static double quantile(const double *sorted, size_t n, double q)
{
    size_t k;

    if (q == 0.5)
        return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
    k = (size_t)ceil(q * (double)n);
    return sorted[clamp(k, 1, n) - 1];
}

static void quantiles(const char *name, double *values, size_t n, int decimals,
                      struct str *out)
{
    static const double q[] = {0, 0.1, 0.5, 0.9, 1};

    qsort(values, n, sizeof(*values), by_value);
    str_addf(out, "    %-16s", name);
    for (size_t i = 0; i < sizeof(q) / sizeof(q[0]); i++)
        add_number(out, 11, quantile(values, n, q[i]), decimals);
    str_add(out, "\n");
}

/* The longest first; the lower rank first where they are equal. */
static int by_length(const void *a, const void *b)
{
    const struct iobm_rank_row *x = *(const struct iobm_rank_row *const *)a;
    const struct iobm_rank_row *y = *(const struct iobm_rank_row *const *)b;
    double dx = seconds_of(x), dy = seconds_of(y);

    if (dx != dy)
        return dx < dy ? 1 : -1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static void sum_up(const struct shape *shape,
                   const struct iobm_rank_row **active, size_t n, size_t idle,
                   double *values, struct str *out)
{
    str_addf(out, "  over %zu ranks", n);
    if (idle > 0)
        str_addf(out, " (%zu more had no bytes)", idle);
    str_addf(out, "\n    %-16s%11s%11s%11s%11s%11s\n", "", "least", "10 %",
             "median", "90 %", "most");
    for (size_t i = 0; i < n; i++)
        values[i] = seconds_of(active[i]);
    quantiles("seconds", values, n, shape->decimals, out);
    for (size_t i = 0; i < n; i++)
        values[i] = active[i]->rate_Bps / MiB;
    quantiles("MiB/s", values, n, 3, out);
    qsort(active, n, sizeof(*active), by_length);
    str_addf(out, "  the slowest %zu\n", clamp(n, 1, TABLE_SLOWEST));
    heading(shape, out);
    for (size_t i = 0; i < n && i < TABLE_SLOWEST; i++)
        row_of(shape, active[i], out);
}

static void table_summary(const struct shape *shape,
                          const struct iobm_rank_row *ranks, size_t n,
                          struct str *out)
{
    const struct iobm_rank_row **active = calloc(n, sizeof(*active));
    double *values = calloc(n, sizeof(*values));
    size_t count = 0;

    if (!active || !values) {
        out->failed = true;
        goto out;
    }
    for (size_t i = 0; i < n; i++)
        if (ranks[i].bytes > 0)
            active[count++] = &ranks[i];
    if (count > 0)
        sum_up(shape, active, count, n - count, values, out);
out:
    free(active);
    free(values);
}

void table_of_ranks(const struct iobm_phase_row *phase,
                    const struct iobm_rank_row *ranks, size_t n, bool all,
                    struct str *out)
{
    struct shape shape = shape_of(phase, ranks, n);
    bool stragglers = false;

    if (n == 0)
        return;
    if (n > TABLE_RANKS && !all) {
        table_summary(&shape, ranks, n, out);
    } else {
        heading(&shape, out);
        for (size_t i = 0; i < n; i++)
            row_of(&shape, &ranks[i], out);
    }
    for (size_t i = 0; i < n; i++)
        stragglers = stragglers || ranks[i].straggler;
    if (stragglers)
        str_add(out, "  * much slower than the median rank\n");
}
