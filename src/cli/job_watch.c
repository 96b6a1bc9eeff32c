/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the second thread of a rank does when the end comes early: rank 0
 * saves what there is, everyone leaves at once.
 */

#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/job.h"

static void end_early(struct job *job, const char *status, const char *text)
{
    struct iobm_error err;

    if (job->comm->rank != 0)
        return;
    if (save_finish_early(&job->save, status, text, &err))
        fprintf(stderr, "iobm: %s: what was measured is run %lld in %s\n", text,
                (long long)job->save.record.number, job->save.target);
    else
        fprintf(stderr, "iobm: %s\n", text);
}

static void on_overdue(void *arg, int signal_number)
{
    struct job *job = arg;
    char text[256];

    if (job->comm->rank == 0) {
        snprintf(text, sizeof(text), "ended by %s during %s",
                 watch_signal_name(signal_number),
                 job->phase_name ? job->phase_name : "set-up");
        end_early(job, "interrupted", text);
    }
    _exit(EXIT_FAILED);
}

static void on_stuck(void *arg, enum watch_stage stage, int64_t ns)
{
    struct job *job = arg;
    int rank = job->comm->rank;
    char text[1024];

    snprintf(text, sizeof(text),
             "rank %d (%s): no progress for %.0f s: %s, %s of '%.512s' after "
             "%lld bytes",
             rank, job->map.host[job->map.node_of[rank]], (double)ns / 1e9,
             job->phase_name ? job->phase_name : "set-up",
             watch_stage_name(stage), job->phase_path ? job->phase_path : "",
             (long long)atomic_load(&job->watch.bytes));
    if (rank == 0)
        end_early(job, "failed", text);
    else
        fprintf(stderr, "iobm: %s\n", text);
    _exit(EXIT_FAILED);
}

static void on_status(void *arg)
{
    struct job *job = arg;

    if (job->comm->rank == 0)
        fprintf(stderr, "iobm: %s: rank 0 has moved %lld bytes\n",
                job->phase_name ? job->phase_name : "set-up",
                (long long)atomic_load(&job->watch.bytes));
}

struct watch_calls job_watch_calls(struct job *job)
{
    return (struct watch_calls){on_overdue, on_stuck, on_status, job};
}
