/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How evenly the ranks did, and whether it is the nodes that differ:
 * docs/method.md section 1.  No verdicts: those are in src/report.
 */

#include "stats/spread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define SHUFFLES     1000
#define NODES_NEEDED 3

/* Scaled MAD is the standard deviation of normal values times this. */
#define MAD_TO_SIGMA 1.4826

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double spread_median(double *values, size_t n)
{
    if (n == 0)
        return NAN;
    qsort(values, n, sizeof(*values), compare_double);
    if (n % 2)
        return values[n / 2];
    return 0.5 * values[n / 2 - 1] + 0.5 * values[n / 2];
}

static double mean(const double *values, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return sum / (double)n;
}

static void describe_rates(const double *rate, size_t n, struct spread *out)
{
    double middle = mean(rate, n), squares = 0, deviations = 0;

    out->min_rate = out->max_rate = rate[0];
    for (size_t i = 0; i < n; i++) {
        out->min_rate = fmin(out->min_rate, rate[i]);
        out->max_rate = fmax(out->max_rate, rate[i]);
        squares += rate[i] * rate[i];
        deviations += (rate[i] - middle) * (rate[i] - middle);
    }
    if (n > 1 && middle > 0)
        out->cov = sqrt(deviations / (double)(n - 1)) / middle;
    if (squares > 0)
        out->jain = (double)n * middle * middle / squares;
}

/* 'scratch' has room for n. */
static void find_stragglers(const double *duration_s, size_t n, double *scratch,
                            bool *straggler, struct spread *out)
{
    double longest = duration_s[0];

    memcpy(scratch, duration_s, n * sizeof(*scratch));
    double median = spread_median(scratch, n);
    for (size_t i = 0; i < n; i++)
        scratch[i] = fabs(duration_s[i] - median);
    double mad = spread_median(scratch, n);
    double limit = fmax(median + 3.5 * MAD_TO_SIGMA * mad, 1.05 * median);

    for (size_t i = 0; i < n; i++) {
        bool slow = duration_s[i] > limit;
        out->stragglers += slow;
        if (straggler)
            straggler[i] = slow;
        longest = fmax(longest, duration_s[i]);
    }
    double average = mean(duration_s, n);
    if (average > 0)
        out->imbalance = longest / average - 1;
}

struct groups {
    int *node;       /* [n]: shuffled in place */
    double *centred; /* [n]: rates less their mean */
    size_t n;
    int count;
    int64_t *size; /* [count] */
    double *sum;   /* [count] */
    double total;  /* sum of the squares of 'centred' */
};

/* Sum of squares between the groups, over the total. */
static double eta2(struct groups *g)
{
    double between = 0;

    for (int i = 0; i < g->count; i++)
        g->sum[i] = 0;
    for (size_t i = 0; i < g->n; i++)
        g->sum[g->node[i]] += g->centred[i];
    for (int i = 0; i < g->count; i++)
        if (g->size[i] > 0)
            between += g->sum[i] * g->sum[i] / (double)g->size[i];
    return g->total > 0 ? between / g->total : 0;
}

static void test_nodes(struct groups *g, uint64_t seed, struct spread *out)
{
    int large = 0, as_much = 0;

    for (int i = 0; i < g->count; i++)
        large += g->size[i] >= 2;
    if (large < NODES_NEEDED)
        return;

    out->node_eta2 = eta2(g);
    for (int i = 0; i < SHUFFLES; i++) {
        rng_shuffle(g->node, g->n, rng_at(seed, (uint64_t)i));
        /* The same groups in another order of adding are as much. */
        as_much += eta2(g) >= out->node_eta2 * (1 - 1e-12);
    }
    out->node_p = (1.0 + as_much) / (1.0 + SHUFFLES);
}

static bool node_effect(const double *rate, const int *node, size_t n,
                        uint64_t seed, struct spread *out)
{
    struct groups g = {.n = n, .count = 1};
    double middle = mean(rate, n);

    for (size_t i = 0; i < n; i++)
        if (node[i] >= g.count)
            g.count = node[i] + 1;
    g.node = malloc(n * sizeof(*g.node));
    g.centred = malloc(n * sizeof(*g.centred));
    g.size = calloc((size_t)g.count, sizeof(*g.size));
    g.sum = malloc((size_t)g.count * sizeof(*g.sum));
    bool ok = g.node && g.centred && g.size && g.sum;
    if (ok) {
        memcpy(g.node, node, n * sizeof(*g.node));
        for (size_t i = 0; i < n; i++) {
            g.size[node[i]]++;
            g.centred[i] = rate[i] - middle;
            g.total += g.centred[i] * g.centred[i];
        }
        test_nodes(&g, seed, out);
    }
    free(g.node);
    free(g.centred);
    free(g.size);
    free(g.sum);
    return ok;
}

bool spread_compute(const double *duration_s, const double *rate,
                    const int *node, size_t n, uint64_t seed, bool *straggler,
                    struct spread *out)
{
    *out = (struct spread){
        .imbalance = NAN,
        .cov = NAN,
        .jain = NAN,
        .min_rate = NAN,
        .max_rate = NAN,
        .node_eta2 = NAN,
        .node_p = NAN,
    };
    if (n == 0)
        return true;

    double *scratch = malloc(n * sizeof(*scratch));
    if (!scratch)
        return false;
    describe_rates(rate, n, out);
    find_stragglers(duration_s, n, scratch, straggler, out);
    free(scratch);
    return node_effect(rate, node, n, seed, out);
}
