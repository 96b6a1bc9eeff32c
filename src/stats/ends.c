/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks at the edges of a phase.  The ramp is the tail with time turned
 * round, but for who is idle: those that are late to start, or those that are
 * early to end.
 */

#include "stats/ends.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define LEAST_LOSS_PCT 1.0
#define NS_PER_S       1e9

struct edge {
    int64_t ns; /* the rank's start or end */
    int node;
};

struct edges {
    struct edge *edge; /* [n], sorted by time */
    size_t n;
    int64_t bound_ns; /* two edges closer than this may be one */
};

static int compare_edge(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    return (x->ns > y->ns) - (x->ns < y->ns);
}

static int compare_node(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    return (x->node > y->node) - (x->node < y->node);
}

/* X of the header's sentences, when the first 'early' edges are not the late
 * ranks'. */
static int64_t gap_ns(const struct edges *e, size_t early, bool tail)
{
    return tail ? e->edge[e->n - 1].ns - e->edge[early - 1].ns
                : e->edge[early].ns - e->edge[0].ns;
}

/* Rank-ns that this accounts for. */
static double idle(const struct edges *e, size_t early, bool tail)
{
    size_t ranks = tail ? early : e->n - early;

    return (double)ranks * (double)gap_ns(e, early, tail);
}

/* How many are not late in the best sentence; 0: there is none. */
static size_t best_early(const struct edges *e, bool tail)
{
    size_t best = 0;
    double most = 0;

    /* From the late side, so that of equals the shortest list wins. */
    for (size_t early = e->n; early-- > 1;) {
        if (idle(e, early, tail) > most) {
            most = idle(e, early, tail);
            best = early;
        }
    }
    return best;
}

/* Sorts the edges from 'edge' on by node. */
static size_t count_nodes(struct edge *edge, size_t n)
{
    size_t nodes = 0;

    qsort(edge, n, sizeof(*edge), compare_node);
    for (size_t i = 0; i < n; i++)
        nodes += i == 0 || edge[i].node != edge[i - 1].node;
    return nodes;
}

static void name_late(struct edges *e, bool tail, size_t *ranks, size_t *nodes,
                      double *seconds)
{
    qsort(e->edge, e->n, sizeof(*e->edge), compare_edge);
    size_t early = best_early(e, tail);
    if (early == 0 || gap_ns(e, early, tail) <= e->bound_ns)
        return;
    *seconds = (double)gap_ns(e, early, tail) / NS_PER_S;
    *ranks = e->n - early;
    *nodes = count_nodes(e->edge + early, *ranks);
}

/* The starts or the ends of the ranks that moved something. */
static void take_edges(const struct bw_rank *ranks, const int *node, size_t n,
                       bool tail, struct edges *e)
{
    e->n = 0;
    e->bound_ns = 0;
    for (size_t i = 0; i < n; i++) {
        if (ranks[i].bytes <= 0)
            continue;
        e->edge[e->n++] = (struct edge){
            .ns = tail ? ranks[i].end_ns : ranks[i].start_ns,
            .node = node[i],
        };
        if (2 * ranks[i].bound_ns > e->bound_ns)
            e->bound_ns = 2 * ranks[i].bound_ns;
    }
}

bool ends_find(const struct bw_rank *ranks, const int *node, size_t n,
               struct ends *out)
{
    struct edges e = {.edge = malloc((n + 1) * sizeof(*e.edge))};

    *out = (struct ends){0};
    if (!e.edge)
        return false;
    take_edges(ranks, node, n, false, &e);
    name_late(&e, false, &out->ramp_ranks, &out->ramp_nodes, &out->ramp_s);
    take_edges(ranks, node, n, true, &e);
    name_late(&e, true, &out->tail_ranks, &out->tail_nodes, &out->tail_s);
    free(e.edge);
    return true;
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void add_who(size_t late, size_t nodes, double seconds,
                    const char *where, size_t ranks, struct str *out)
{
    if (late == 0)
        return;
    str_addf(out, " (%zu of %zu rank%s on %zu node%s, %s ", late, ranks,
             plural(ranks), nodes, plural(nodes), where);
    if (seconds >= 0.95)
        str_addf(out, "%.1f s)", seconds);
    else if (seconds >= 0.0095)
        str_addf(out, "%.0f ms)", seconds * 1e3);
    else
        str_addf(out, "%.2g ms)", seconds * 1e3);
}

void ends_sentence(const struct ends *ends, double loss_ramp_pct,
                   double loss_tail_pct, size_t ranks, struct str *out)
{
    bool ramp = loss_ramp_pct >= LEAST_LOSS_PCT;
    bool tail = loss_tail_pct >= LEAST_LOSS_PCT;

    if (ramp) {
        str_addf(out, "ramp cost %.1f %%", loss_ramp_pct);
        add_who(ends->ramp_ranks, ends->ramp_nodes, ends->ramp_s, "first",
                ranks, out);
    }
    if (ramp && tail)
        str_add(out, "; ");
    if (tail) {
        str_addf(out, "tail cost %.1f %%", loss_tail_pct);
        add_who(ends->tail_ranks, ends->tail_nodes, ends->tail_s, "last", ranks,
                out);
    }
}
