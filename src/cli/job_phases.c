/* SPDX-License-Identifier: BSD-3-Clause */

/* The phases of a run, repeat by repeat. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/job.h"
#include "cli/job_facts.h"
#include "engine/reduce.h"
#include "report/report.h"

static const char *const sync_names[] = {"end", "every", "none", "dsync"};
static const char *const order_names[] = {"same", "shift", "random"};

/* Rank 0: the parameters of a phase. */
static void begin_row(const struct job *job, enum iobm_op_kind kind,
                      int64_t repeat, struct iobm_phase_row *row)
{
    const struct run_options *o = job->options;
    bool write = kind == IOBM_OP_WRITE;

    memset(row, 0, sizeof(*row));
    reduce_begin(&job->measure, row, NULL);
    str_copy(row->run_id, sizeof(row->run_id), job->save.record.run_id);
    str_copy(row->label, sizeof(row->label), job->save.record.label);
    row->phase = (int64_t)job->save.record.phase_count;
    str_copy(row->op, sizeof(row->op), write ? "write" : "read");
    row->repeat = repeat;
    str_copy(row->api, sizeof(row->api), job->measure.backend->name);
    str_copy(row->access, sizeof(row->access),
             job->layout.shared ? "shared" : "file-per-rank");
    str_copy(row->layout, sizeof(row->layout),
             job->layout.strided ? "strided" : "segmented");
    str_copy(row->sync, sizeof(row->sync),
             write ? sync_names[o->sync] : "none");
    str_copy(row->order, sizeof(row->order),
             write ? "same" : order_names[job->order]);
    row->direct = o->direct;
    row->collective = o->collective;
    row->ranks = job->comm->size;
    row->nodes = job->map.nodes;
    row->files = layout_files(&job->layout);
    row->transfer_bytes = job->layout.transfer_bytes;
    row->block_bytes = job->layout.strided ? job->layout.block_bytes : 0;
    row->alignment_bytes = job->alignment_bytes;
    str_copy(row->path, sizeof(row->path), o->file);
    str_copy(row->fs_type, sizeof(row->fs_type), job->fs_type);
    row->bytes_expected = job->layout.total_bytes;
    row->clock_domains = job->map.domains;
    row->moved_files = write ? 0 : job->moved_files;
}

/* Whether some part ends with less than O_DIRECT can move. */
static bool has_tail(const struct job *job)
{
    const struct layout *layout = &job->layout;

    for (int p = 0; p < layout->parts; p++)
        if (layout_part_bytes(layout, p) % job->alignment_bytes != 0)
            return true;
    return false;
}

/* Rank 0: what a reader of the figure should know. */
static void note_phase(struct job *job, const struct iobm_phase_row *row)
{
    bool write = strcmp(row->op, "write") == 0;

    if (row->late_ranks > 0)
        save_log(&job->save, "note",
                 "%s %lld: %lld ranks came late to the common start", row->op,
                 (long long)row->repeat + 1, (long long)row->late_ranks);
    if (row->too_short)
        save_log(&job->save, "warn",
                 "%s %lld: too short to trust: the clock bounds are above "
                 "1 %% of the time",
                 row->op, (long long)row->repeat + 1);
    if (row->repeat > 0)
        return;
    if (!write && job->files && !row->direct && !job->memory &&
        row->moved_files < row->ranks)
        save_log(&job->save, "note", "read: the page cache may have answered%s",
                 job->measure.backend->caps & IOBM_CAP_DIRECT
                     ? "; -d goes past it"
                     : "");
    if (row->direct && has_tail(job))
        save_log(&job->save, "note",
                 "%s: tails shorter than %lld bytes go through the page cache",
                 row->op, (long long)job->alignment_bytes);
}

/* Rank 0: a phase as text.  That it cannot be shown is said at the end. */
static void show(struct job *job, const struct iobm_phase_row *row,
                 const struct iobm_rank_row *ranks)
{
    struct iobm_error err;
    struct str text = {0};

    if (row->phase > 0)
        str_add(&text, "\n");
    report_phase_text(job->save.record.version, row, ranks,
                      (size_t)job->comm->size, job->options->verbose, &text);
    if (job->unprinted.status == IOBM_OK && cli_print(&text, &err) != IOBM_OK)
        job->unprinted = err;
    str_release(&text);
}

/* Rank 0: keep a phase and show it, kept or not. */
static enum iobm_status publish(struct job *job,
                                const struct iobm_phase_row *row,
                                const struct iobm_rank_row *ranks,
                                struct iobm_error *err)
{
    const struct run_options *o = job->options;
    size_t n = (size_t)job->comm->size;
    enum iobm_status status = save_phase(&job->save, row, ranks, n, err);

    if (status == IOBM_OK)
        status = save_clocks(&job->save, job->timeline.rows,
                             job->timeline.row_count, err);
    job->timeline.row_count = 0;
    if (status == IOBM_OK)
        status = facts_backend(job, err);
    if (status == IOBM_OK)
        note_phase(job, row);
    if (o->text)
        show(job, row, ranks);
    /* Without a result file the output is all there is. */
    if (status == IOBM_OK && job->unprinted.status != IOBM_OK &&
        strcmp(o->output, "none") == 0) {
        *err = job->unprinted;
        status = err->status;
    }
    return status;
}

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
                                       struct iobm_error *err)
{
    const struct manifest *old = NULL;
    enum iobm_status status;

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
        .data_seed = job->seed,
        .sync = o->sync == SYNC_END     ? MEASURE_SYNC_END
                : o->sync == SYNC_EVERY ? MEASURE_SYNC_EVERY
                                        : MEASURE_SYNC_NONE,
    };
}

static enum iobm_status measure_one_all(struct job *job,
                                        const struct measure_phase *phase,
                                        int64_t repeat, struct iobm_error *err)
{
    struct iobm_phase_row row;
    struct iobm_rank_row *ranks = NULL;
    struct iobm_error other;
    bool root = job->comm->rank == 0;
    enum iobm_status outcome = IOBM_OK;
    enum iobm_status status = IOBM_OK;

    if (root) {
        begin_row(job, phase->kind, repeat, &row);
        save_pending(&job->save, &row);
        ranks = calloc((size_t)job->comm->size, sizeof(*ranks));
        if (!ranks)
            status = iobm_fail(err, IOBM_ENOMEM, "cannot keep a phase");
    }
    status = par_agree_all(job->comm, status, NULL, err);
    if (status != IOBM_OK) {
        free(ranks);
        return status;
    }
    outcome =
        measure_phase_all(&job->measure, phase, root ? &row : NULL, ranks, err);
    if (root) {
        for (int r = 0; r < job->comm->size; r++) {
            ranks[r].phase = row.phase;
            ranks[r].repeat = repeat;
            str_copy(ranks[r].op, sizeof(ranks[r].op), row.op);
        }
        if (outcome != IOBM_OK) {
            other = *err;
            job_name_rank(job, &other);
            str_copy(row.reason, sizeof(row.reason), other.text);
        }
        status = publish(job, &row, ranks, &other);
    }
    free(ranks);
    status = par_agree_all(job->comm, status, NULL, &other);
    if (outcome != IOBM_OK)
        return outcome;
    if (status != IOBM_OK) {
        *err = other;
        err->rank = -1; /* only rank 0 could fail */
    }
    return status;
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

static enum iobm_status phase_all(struct job *job, enum iobm_op_kind kind,
                                  int64_t repeat, struct iobm_error *err)
{
    struct measure_phase phase;
    struct iobm_error other;
    enum iobm_status status = check_stopped_all(job, err);

    describe(job, kind, &phase);
    watch_enter(&job->watch, WATCH_AROUND);
    atomic_store(&job->doing, JOB_WRITE + (int)kind);
    if (status == IOBM_OK)
        status = make_ready_all(job, kind, err);
    if (status == IOBM_OK)
        status = check_readable_all(job, kind, &phase, err);
    if (status == IOBM_OK)
        status = measure_one_all(job, &phase, repeat, err);
    /* Every byte is there also when the clocks were not to be trusted. */
    if (status == IOBM_OK || status == IOBM_EINVALID) {
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

enum iobm_status job_phases_all(struct job *job, struct iobm_error *err)
{
    const struct run_options *o = job->options;
    enum iobm_status outcome = IOBM_OK;
    bool first = true;

    for (int64_t i = 0; i < o->repeats; i++) {
        for (int kind = IOBM_OP_WRITE; kind <= IOBM_OP_READ; kind++) {
            struct iobm_error one;
            enum iobm_status status = IOBM_OK;

            if (kind == IOBM_OP_WRITE ? !o->write : !o->read)
                continue;
            if (!first)
                status = pause_all(job, &one);
            first = false;
            if (status == IOBM_OK)
                status = phase_all(job, (enum iobm_op_kind)kind, i, &one);
            if (status != IOBM_OK) {
                *err = one;
                outcome = status;
            }
            if (status != IOBM_OK &&
                (status != IOBM_EINVALID || job->taken_over))
                return status;
        }
    }
    return outcome;
}
