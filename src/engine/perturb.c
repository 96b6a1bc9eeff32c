/* SPDX-License-Identifier: BSD-3-Clause */

/* Phases with and without what is kept of operations, in turns: perturb.h. */

#include "engine/perturb.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "stats/interval.h"
#include "stats/spread.h"

/* Of one phase: long against what surrounds it, and short against a turn of
 * the scheduler, so that few are interrupted. */
#define PHASE_NS INT64_C(300000)

#define LEAST_OPS    2
#define CALIBRATIONS 3

enum perturb_verdict perturb_judge(double low_pct, double high_pct,
                                   double confidence_pct)
{
    if (!(confidence_pct >= PERTURB_CONFIDENCE_PCT))
        return PERTURB_UNDECIDED;
    if (low_pct >= -PERTURB_LIMIT_PCT && high_pct <= PERTURB_LIMIT_PCT)
        return PERTURB_WITHIN;
    if (low_pct > PERTURB_LIMIT_PCT || high_pct < -PERTURB_LIMIT_PCT)
        return PERTURB_OUTSIDE;
    return PERTURB_UNDECIDED;
}

const char *perturb_verdict_name(enum perturb_verdict verdict)
{
    static const char *const names[] = {"undecided", "within", "outside"};

    return names[verdict];
}

void perturb_summarise(double *on_ns, double *off_ns, double *cost_pct,
                       size_t rounds, struct perturb *out)
{
    struct interval interval;
    size_t n = 0;

    for (size_t i = 0; i < rounds; i++) {
        if (!(on_ns[i] > 0) || !(off_ns[i] > 0))
            continue;
        on_ns[n] = on_ns[i];
        off_ns[n] = off_ns[i];
        cost_pct[n] = 100 * (on_ns[n] / off_ns[n] - 1);
        n++;
    }
    interval_median(n, PERTURB_CONFIDENCE_PCT, &interval);
    *out = (struct perturb){
        .rounds = n,
        .on_ns = spread_median(on_ns, n),
        .off_ns = spread_median(off_ns, n),
        .cost_pct = spread_median(cost_pct, n),
        .low_pct = NAN,
        .high_pct = NAN,
        .confidence_pct = interval.confidence_pct,
    };
    if (n > 1) { /* they are sorted now */
        out->low_pct = cost_pct[interval.low - 1];
        out->high_pct = cost_pct[interval.high - 1];
    }
    out->verdict =
        perturb_judge(out->low_pct, out->high_pct, out->confidence_pct);
}

/* How many operations of 'ns' each take about PHASE_NS. */
static int64_t fitting(double ns, int64_t most_ops)
{
    double ops = ns > 0 ? (double)PHASE_NS / ns : (double)most_ops;

    if (ops < LEAST_OPS)
        ops = LEAST_OPS;
    return ops < (double)most_ops ? (int64_t)ops : most_ops;
}

/* '*ops' of one phase.  Afterwards all that they touch has been touched, both
 * ways. */
static enum iobm_status choose_ops(struct trial *trial, int64_t most_ops,
                                   int64_t *ops, struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;
    double ns = PHASE_NS;

    for (int i = 0; i < CALIBRATIONS && status == IOBM_OK; i++) {
        *ops = fitting(ns, most_ops);
        status = trial_run(trial, *ops, true, &ns, err);
    }
    if (status == IOBM_OK)
        status = trial_run(trial, *ops, false, &ns, err);
    return status;
}

/* With, without, without, with; every other round the other way round. */
static enum iobm_status run_round(struct trial *trial, int64_t ops, bool turned,
                                  double *on_ns, double *off_ns,
                                  struct iobm_error *err)
{
    double ns[4], outer, inner;
    enum iobm_status status = IOBM_OK;

    for (int i = 0; i < 4 && status == IOBM_OK; i++)
        status =
            trial_run(trial, ops, (i == 0 || i == 3) != turned, &ns[i], err);
    if (status != IOBM_OK)
        return status;
    outer = (ns[0] + ns[3]) / 2;
    inner = (ns[1] + ns[2]) / 2;
    *on_ns = turned ? inner : outer;
    *off_ns = turned ? outer : inner;
    return IOBM_OK;
}

static bool is_enough(size_t rounds, int64_t spent_ns, int64_t budget_ns)
{
    if (rounds >= PERTURB_ROUNDS_MOST)
        return true;
    return spent_ns >=
           (rounds < PERTURB_ROUNDS_LEAST ? 4 * budget_ns : budget_ns);
}

struct samples {
    double on_ns[PERTURB_ROUNDS_MOST];
    double off_ns[PERTURB_ROUNDS_MOST];
    double cost_pct[PERTURB_ROUNDS_MOST];
};

enum iobm_status perturb_measure(struct trial *trial, int64_t most_ops,
                                 int64_t budget_ns, struct perturb *out,
                                 struct iobm_error *err)
{
    const int64_t began_ns = clock_now_ns();
    struct samples *s = calloc(1, sizeof(*s));
    enum iobm_status status;
    size_t rounds = 0;
    int64_t ops = 0;

    if (!s)
        return iobm_fail(err, IOBM_ENOMEM, "no memory to measure iobm itself");
    status = choose_ops(trial, most_ops, &ops, err);
    while (status == IOBM_OK &&
           !is_enough(rounds, clock_now_ns() - began_ns, budget_ns)) {
        status = run_round(trial, ops, rounds % 2 == 1, &s->on_ns[rounds],
                           &s->off_ns[rounds], err);
        rounds++;
    }
    if (status == IOBM_OK)
        perturb_summarise(s->on_ns, s->off_ns, s->cost_pct, rounds, out);
    free(s);
    return status;
}
