/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the second thread of a rank does when the end comes early: rank 0
 * saves what there is, everyone leaves at once.  It may come at any time from
 * before MPI_Init on, so it looks at nothing but what job.h says it may.
 */

#include <stdio.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/job.h"

static const char *doing_name(const struct job *job)
{
    static const char *const names[] = {"set-up", "write", "read", "the end"};

    return names[atomic_load(&job->doing)];
}

__attribute__((noreturn)) static void end_early(struct job *job,
                                                const char *status,
                                                struct iobm_error *err)
{
    char what[sizeof(err->text)] = "";

    if (job->launcher_rank == 0)
        save_finish_early(&job->save, status, err->text, what, sizeof(what));
    fprintf(stderr, "iobm: %s%s%s\n", err->text, *what ? ": " : "", what);
    _exit(EXIT_FAILED);
}

static void on_overdue(void *arg, int signal_number)
{
    struct job *job = arg;
    struct iobm_error err;

    if (job->launcher_rank != 0)
        _exit(EXIT_FAILED); /* rank 0 speaks */
    (void)iobm_fail(&err, IOBM_ESTOPPED, "ended by %s during %s",
                    watch_signal_name(signal_number), doing_name(job));
    end_early(job, "interrupted", &err);
}

static const char *host_of(const struct job *job, int rank)
{
    return job->map.host[job->map.node_of[rank]];
}

void job_on_silent(void *arg, int rank, int64_t ns)
{
    struct job *job = arg;
    struct iobm_error err;

    (void)iobm_fail(&err, IOBM_EIO,
                    "rank %d (%s): no sign of life for %.0f s during %s: "
                    "frozen, or its node is gone",
                    rank, host_of(job, rank), (double)ns / 1e9,
                    doing_name(job));
    end_early(job, "failed", &err);
}

/* Which of the ranks that wait for each other is at fault is not known. */
static void on_stuck_around(struct job *job, int64_t ns)
{
    int rank = job->launcher_rank;
    struct iobm_error err;

    (void)iobm_fail(&err, IOBM_EIO,
                    "rank %d (%s): no progress for %.0f s around %s: a file "
                    "system or another rank does not answer",
                    rank, host_of(job, rank), (double)ns / 1e9,
                    doing_name(job));
    end_early(job, "failed", &err);
}

/* In a call that all ranks make the one that is stuck may be another's. */
static const char *blame(const struct job *job, enum watch_stage stage)
{
    bool together = job->layout.shared &&
                    (job->measure.backend->caps & IOBM_CAP_MPI_OPEN) &&
                    (stage != WATCH_TRANSFER || job->options->collective);

    return together ? ", in a call that waits for all ranks" : "";
}

/* The watchdog looks once the map and the paths are there. */
static void on_stuck(void *arg, enum watch_stage stage, int64_t ns)
{
    struct job *job = arg;
    int rank = job->launcher_rank;
    int phase =
        atomic_load(&job->doing) == JOB_READ ? IOBM_OP_READ : IOBM_OP_WRITE;
    struct iobm_error err;

    if (stage == WATCH_AROUND) {
        on_stuck_around(job, ns);
        return;
    }
    (void)iobm_fail(&err, IOBM_EIO,
                    "rank %d (%s): no progress for %.0f s: %s, %s of '%.512s' "
                    "after %lld bytes%s",
                    rank, host_of(job, rank), (double)ns / 1e9, doing_name(job),
                    watch_stage_name(stage), job->phase_path[phase],
                    (long long)atomic_load(&job->watch.bytes),
                    blame(job, stage));
    end_early(job, "failed", &err);
}

static void on_status(void *arg)
{
    struct job *job = arg;
    long long bytes = atomic_load(&job->watch.bytes);
    char size[64];

    if (job->launcher_rank == 0)
        fprintf(stderr, "iobm: %s: rank 0 has moved %lld bytes (%s)\n",
                doing_name(job), bytes, units_size(size, sizeof(size), bytes));
}

struct watch_calls job_watch_calls(struct job *job)
{
    return (struct watch_calls){on_overdue, on_stuck, on_status, job};
}
