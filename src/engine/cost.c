/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The cost of iobm on this machine: see cost.h.  Each figure is the median, or
 * the best, of short batches, so that a batch in which something else ran does
 * not count.
 */

#include "engine/cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/data.h"
#include "engine/trial.h"
#include "stats/hist.h"
#include "stats/spread.h"

#define BATCHES     9
#define TIMER_CALLS 500
#define OP_BYTES    4096
#define OPS         2048
#define STEP_CALLS  20000
#define HIST_VALUES 1024 /* a power of 2 */
#define HIST_CALLS  20000
#define COPIES      3
#define COPY_BYTES  ((size_t)16 << 20)

static double time_clock(void)
{
    double ns[BATCHES];
    double median;

    for (int i = 0; i < BATCHES; i++) {
        int64_t from = clock_now_ns(), to = from;

        for (int k = 0; k < TIMER_CALLS; k++)
            to = clock_now_ns();
        ns[i] = (double)(to - from) / TIMER_CALLS;
    }
    median = spread_median(ns, BATCHES);
    return median > 0 ? median : NAN;
}

/* The whole of a null phase of OPS operations is shorter than the least time
 * between two looks for messages. */
static enum iobm_status time_ops(double *median, struct iobm_error *err)
{
    const struct trial_input in = {
        .backend = iobm_backend_find("null"),
        .kind = IOBM_OP_WRITE,
        .transfer_bytes = OP_BYTES,
        .most_ops = OPS,
    };
    struct trial *trial;
    double ns[BATCHES], first;
    enum iobm_status status;

    if (!in.backend) /* a build without it */
        return IOBM_OK;
    status = trial_create(&in, &trial, err);
    if (status != IOBM_OK)
        return status;
    status = trial_run(trial, OPS, true, &first, err); /* touches memory */
    for (int i = 0; i < BATCHES && status == IOBM_OK; i++)
        status = trial_run(trial, OPS, true, &ns[i], err);
    trial_free(trial);
    if (status == IOBM_OK && first > 0)
        *median = spread_median(ns, BATCHES);
    return status;
}

static double time_copy(void)
{
    unsigned char *from = data_pages(COPY_BYTES);
    unsigned char *to = data_pages(COPY_BYTES);
    double best = NAN;

    if (from && to) {
        memset(from, 1, COPY_BYTES);
        memset(to, 2, COPY_BYTES);
        for (int i = 0; i < COPIES; i++) {
            int64_t began = clock_now_ns(), spent;

            memcpy(to, from, COPY_BYTES);
            from[i] = to[COPY_BYTES - 1]; /* no copy is idle */
            spent = clock_now_ns() - began;
            if (spent > 0 && !((double)COPY_BYTES * 1e9 / (double)spent < best))
                best = (double)COPY_BYTES * 1e9 / (double)spent;
        }
    }
    free(from);
    free(to);
    return best;
}

enum iobm_status cost_measure(struct cost *cost, struct iobm_error *err)
{
    struct cost mine = {time_clock(), NAN, time_copy()};
    enum iobm_status status = time_ops(&mine.op_ns, err);

    if (status == IOBM_OK)
        *cost = mine;
    return status;
}

double cost_clock_step_ns(void)
{
    int64_t before = clock_now_ns(), least = 0;

    for (int i = 0; i < STEP_CALLS; i++) {
        int64_t now = clock_now_ns(), step = now - before;

        if (step > 0 && (least == 0 || step < least))
            least = step;
        before = now;
    }
    return least > 0 ? (double)least : NAN;
}

double cost_hist_ns(void)
{
    struct hist *hist = malloc(sizeof(*hist));
    int64_t latency[HIST_VALUES];
    double ns[BATCHES];

    if (!hist)
        return NAN;
    hist_init(hist);
    /* From 1 to 17 us, as of a file in memory, in no order. */
    for (int k = 0; k < HIST_VALUES; k++)
        latency[k] = 1000 + k * 7919 % 16000;
    for (int i = 0; i < BATCHES; i++) {
        int64_t from = clock_now_ns();

        for (int k = 0; k < HIST_CALLS; k++)
            hist_add(hist, latency[k & (HIST_VALUES - 1)]);
        ns[i] = (double)(clock_now_ns() - from) / HIST_CALLS;
    }
    /* What was counted is used, or counting could be left out. */
    if (hist->n != (int64_t)BATCHES * HIST_CALLS)
        ns[0] = NAN;
    free(hist);
    return spread_median(ns, BATCHES);
}
