/* SPDX-License-Identifier: BSD-3-Clause */

/* The phases of a run, repeat by repeat, and the files around them; a phase
 * itself is in job_measure.c. */

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/job.h"
#include "cli/job_judge.h"
#include "cli/job_measure.h"
#include "engine/data.h"

/* Rank 0: the file that all share is there before the clock starts. */
static enum iobm_status create_shared(const struct job *job,
                                      struct iobm_error *err)
{
    const char *path = job->options->file;
    int fd =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);

    if (fd < 0 || close(fd) != 0)
        return iobm_fail_errno(err, errno, "cannot create '%s'", path);
    return IOBM_OK;
}

/* Before a write: what is ours from before goes, and the manifest says what
 * is about to be written. */
static enum iobm_status make_ready_all(struct job *job, enum iobm_op_kind kind,
                                       int64_t repeat, struct iobm_error *err)
{
    const struct manifest *old = NULL;
    enum iobm_status status;

    /* Each write has data of its own, so that what an older one left shows. */
    if (kind == IOBM_OP_WRITE && repeat > 0)
        manifest_new_seed(&job->manifest, data_repeat_seed(job->seed, repeat));
    if (kind != IOBM_OP_WRITE || !job->files || job->pre.device)
        return IOBM_OK;
    if (job->written)
        old = &job->manifest;
    else if (job->pre.ours)
        old = &job->pre.manifest;
    status = guard_prepare_all(job->comm, &job->map, job->options->file, old,
                               &job->manifest, job->options->force, err);
    if (status != IOBM_OK)
        return status;
    job->written = true;
    if (job->layout.shared && job->comm->rank == 0)
        status = create_shared(job, err);
    return par_agree_all(job->comm, status, NULL, err);
}

/* After a write of which every byte arrived. */
static enum iobm_status mark_complete_all(struct job *job,
                                          enum iobm_op_kind kind,
                                          struct iobm_error *err)
{
    if (kind != IOBM_OP_WRITE || !job->files || job->pre.device)
        return IOBM_OK;
    return guard_complete_all(job->comm, &job->map, job->options->file,
                              &job->manifest, err);
}

/* A file that is read must be what was written: checked by its reader. */
static enum iobm_status check_readable_all(const struct job *job,
                                           enum iobm_op_kind kind,
                                           const struct measure_phase *phase,
                                           struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;
    int file = job->layout.shared ? 0 : phase->part;

    if (kind != IOBM_OP_READ || !job->files || job->pre.device)
        return IOBM_OK;
    if (!job->layout.shared || job->comm->rank == 0)
        status = inspect_readable(phase->path,
                                  layout_file_bytes(&job->layout, file), err);
    return par_agree_all(job->comm, status, NULL, err);
}

static void describe(const struct job *job, enum iobm_op_kind kind,
                     struct measure_phase *phase)
{
    const struct run_options *o = job->options;
    bool write = kind == IOBM_OP_WRITE;
    int rank = job->comm->rank;

    *phase = (struct measure_phase){
        .kind = kind,
        .layout = &job->layout,
        .part = write ? rank : job->part_of[rank],
        .path = job->phase_path[kind],
        .alignment_bytes = job->alignment_bytes,
        .create = write && !job->layout.shared,
        .direct = o->direct,
        .dsync = o->sync == SYNC_DSYNC,
        .device = job->pre.device,
        .collective = o->collective,
        .barrier_start = o->start == START_BARRIER,
        .data_seed = job->manifest.seed,
        .sync = o->sync == SYNC_END     ? MEASURE_SYNC_END
                : o->sync == SYNC_EVERY ? MEASURE_SYNC_EVERY
                                        : MEASURE_SYNC_NONE,
    };
}

/* A signal between two phases: no more files are touched. */
static enum iobm_status check_stopped_all(const struct job *job,
                                          struct iobm_error *err)
{
    int64_t by = job->stop.flag;
    enum iobm_status status = par_max_all(job->comm, &by, 1, err);

    if (status == IOBM_OK && by > 0)
        status = iobm_fail(err, IOBM_ESTOPPED, "stopped by %s",
                           watch_signal_name((int)by));
    return status;
}

/* Measured to the end, though not to be trusted. */
static bool go_on_after(enum iobm_status status)
{
    return status == IOBM_OK || status == IOBM_EINVALID ||
           status == IOBM_ECORRUPT;
}

static enum iobm_status phase_all(struct job *job, enum iobm_op_kind kind,
                                  int64_t repeat, struct iobm_error *err)
{
    struct measure_phase phase;
    struct iobm_error other;
    enum iobm_status status = check_stopped_all(job, err);

    watch_enter(&job->watch, WATCH_AROUND);
    atomic_store(&job->doing, JOB_WRITE + (int)kind);
    if (status == IOBM_OK)
        status = make_ready_all(job, kind, repeat, err);
    describe(job, kind, &phase);
    if (status == IOBM_OK)
        status = check_readable_all(job, kind, &phase, err);
    if (status == IOBM_OK)
        status = job_measure_all(job, &phase, repeat, err);
    /* Every byte is there also when the clocks were not to be trusted, or
     * some of them are not what was written. */
    if (go_on_after(status)) {
        enum iobm_status marked = mark_complete_all(job, kind, &other);

        if (marked != IOBM_OK) {
            *err = other;
            status = marked;
            job->taken_over = marked == IOBM_EINVALID;
        }
    }
    return status;
}

/* Wait as asked between phases; a signal to any rank ends it. */
static enum iobm_status pause_all(struct job *job, struct iobm_error *err)
{
    int64_t left = job->options->delay_ns;
    int64_t until = clock_now_ns() + left;

    if (left <= 0)
        return IOBM_OK;
    watch_enter(&job->watch, WATCH_IDLE);
    beat_begin(&job->stop.beat);
    while (left > 0 && !stop_poll(&job->stop)) {
        clock_sleep_ns(left < STOP_POLL_NS ? left : STOP_POLL_NS);
        left = until - clock_now_ns();
    }
    watch_enter(&job->watch, WATCH_AROUND);
    return stop_settle_all(&job->stop, err);
}

/* One repeat of all that is to be done.  '*outcome' and '*err' keep the worst
 * that happened; false: there is to be no other. */
static bool repeat_all(struct job *job, int64_t repeat,
                       enum iobm_status *outcome, struct iobm_error *err)
{
    const struct run_options *o = job->options;

    for (int kind = IOBM_OP_WRITE; kind <= IOBM_OP_READ; kind++) {
        struct iobm_error one;
        enum iobm_status status = IOBM_OK;
        bool first = repeat == 0 && (kind == IOBM_OP_WRITE || !o->write);

        if (kind == IOBM_OP_WRITE ? !o->write : !o->read)
            continue;
        if (!first)
            status = pause_all(job, &one);
        if (status == IOBM_OK)
            status = phase_all(job, (enum iobm_op_kind)kind, repeat, &one);
        /* Wrong data weigh more than a figure that is not to be trusted. */
        if (status != IOBM_OK &&
            !(*outcome == IOBM_ECORRUPT && status == IOBM_EINVALID)) {
            *err = one;
            *outcome = status;
        }
        if (!go_on_after(status) || job->taken_over)
            return false;
    }
    return true;
}

/* Rank 0 decides whether there have been enough repeats. */
static enum iobm_status decide_all(struct job *job, int64_t begun_ns,
                                   enum repeats_stop *stop,
                                   struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;

    *stop = REPEATS_GO_ON;
    if (!job->options->precision && job->options->time_budget_ns <= 0)
        return IOBM_OK;
    if (job->comm->rank == 0)
        status = judge_repeats(job, clock_now_ns() - begun_ns, stop, err);
    /* Without a precision to reach, all repeats are no limit. */
    if (*stop == REPEATS_CAP && !job->options->precision)
        *stop = REPEATS_GO_ON;
    status = par_agree_all(job->comm, status, NULL, err);
    if (status == IOBM_OK)
        status = par_bcast_all(job->comm, stop, sizeof(*stop), 0, err);
    return status;
}

/* The repeats summed up, and the last word on whether to quote them. */
static enum iobm_status conclude_all(struct job *job, const char *stopped,
                                     struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;

    if (job->comm->rank == 0) {
        status = judge_run(job, stopped, err);
        if (status == IOBM_OK)
            status = judge_outcome(job, err);
    }
    return par_agree_all(job->comm, status, NULL, err);
}

enum iobm_status job_phases_all(struct job *job, struct iobm_error *err)
{
    int64_t begun_ns = clock_now_ns();
    enum repeats_stop stop = REPEATS_GO_ON;
    enum iobm_status outcome = IOBM_OK, status = IOBM_OK;
    struct iobm_error last;
    bool going = true;

    for (int64_t i = 0; going && i < job->options->repeats; i++) {
        going = repeat_all(job, i, &outcome, err);
        if (going)
            status = decide_all(job, begun_ns, &stop, &last);
        going = going && status == IOBM_OK && stop == REPEATS_GO_ON;
    }
    if (status == IOBM_OK && go_on_after(outcome))
        status = conclude_all(
            job, stop == REPEATS_GO_ON ? "all" : repeats_stop_name(stop),
            &last);
    if (outcome == IOBM_OK && status != IOBM_OK) {
        outcome = status;
        *err = last;
    }
    return outcome;
}
