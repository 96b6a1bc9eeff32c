/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A phase around its timed loop: what is made ready before the clock starts,
 * the sync points, the outcome that all ranks agree on.  The figures are
 * engine/reduce.c's.
 */

#include "engine/measure.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "engine/phase.h"
#include "engine/reduce.h"

#define SLOTS_LEAST 32
#define MARKS_ROOM  4096

struct work {
    void *file, *plan;
    struct data data;
    void *buffer;
    struct phase_log *log; /* NULL: keep nothing */
    int64_t (*mark_room)[2];
    void *slot_room;
    struct phase_input in;
    struct phase_output out;
    int64_t outer_from_ns, outer_to_ns; /* this rank's clock */
    int64_t late_ns;
    int64_t start_utc_ns;
    double cpu_s;
};

static int64_t part_bytes(const struct measure_phase *phase)
{
    return layout_part_bytes(phase->layout, phase->part);
}

/* Bytes of the largest single operation of this rank. */
static int64_t largest_op(const struct measure_phase *phase)
{
    int64_t part = part_bytes(phase);
    int64_t most = phase->layout->transfer_bytes;

    return part < most ? part : most;
}

static void work_release(struct work *work)
{
    data_release(&work->data);
    free(work->buffer);
    free(work->log);
    free(work->mark_room);
    free(work->slot_room);
    free(work->plan);
    free(work->file);
}

static enum iobm_status make_buffer(struct work *work, int64_t bytes,
                                    struct iobm_error *err)
{
    size_t room = ((size_t)bytes / DATA_BLOCK_BYTES + 2) * DATA_BLOCK_BYTES;

    work->buffer = data_pages(room);
    if (!work->buffer)
        return iobm_fail(err, IOBM_ENOMEM,
                         "cannot allocate a transfer buffer of %zu bytes",
                         room);
    memset(work->buffer, 0x5a, room); /* fault the pages in, untimed */
    return IOBM_OK;
}

static void describe_open(const struct measure_phase *phase,
                          struct iobm_open *how)
{
    const struct layout *layout = phase->layout;
    bool write = phase->kind == IOBM_OP_WRITE;

    *how = (struct iobm_open){
        .path = phase->path,
        .mode = write ? IOBM_OPEN_WRITE : IOBM_OPEN_READ,
        .file_bytes =
            layout_file_bytes(layout, layout->shared ? 0 : phase->part),
        .alignment_bytes = phase->alignment_bytes,
        .first_byte = layout_part_offset(layout, phase->part),
        .part_bytes = part_bytes(phase),
        .transfer_bytes = layout->transfer_bytes,
    };
    if (phase->create)
        how->mode |= IOBM_OPEN_CREATE;
    if (phase->direct)
        how->mode |= IOBM_OPEN_DIRECT;
    if (phase->dsync && write)
        how->mode |= IOBM_OPEN_DSYNC;
    if (phase->device)
        how->mode |= IOBM_OPEN_DEVICE;
    if (layout->strided) {
        how->block_bytes = layout->block_bytes;
        how->stride_bytes = layout->block_bytes * layout->parts;
    }
}

/* Make the bytes of a small part, and fault in what the first operation
 * needs: neither is part of a write.  Uses up the plan. */
static void warm(const struct measure *measure,
                 const struct measure_phase *phase, struct work *work)
{
    bool small = part_bytes(phase) < DATA_POOL_BYTES;
    struct iobm_op op = {.kind = phase->kind};

    while (measure->workload->next(work->plan, &op)) {
        data_warm(&work->data, &op);
        if (!small)
            return;
    }
}

/* Slots of a second for a rank that moves 1 MiB/s, the same on all ranks: a
 * small part has no use for 2.4 MB of them. */
static size_t slots_room(const struct layout *layout)
{
    int64_t room = layout->total_bytes / layout->parts >> 20;

    return room < SLOTS_LEAST  ? SLOTS_LEAST
           : room > SLOTS_ROOM ? SLOTS_ROOM
                               : (size_t)room;
}

/* Memory for what is kept of the operations, all of it touched. */
static enum iobm_status make_log(const struct layout *layout, struct work *work,
                                 struct iobm_error *err)
{
    size_t room = slots_room(layout);

    work->log = calloc(1, sizeof(*work->log));
    work->mark_room = malloc(MARKS_ROOM * sizeof(*work->mark_room));
    work->slot_room = malloc(slots_bytes(room));
    if (!work->log || !work->mark_room || !work->slot_room)
        return iobm_fail(err, IOBM_ENOMEM,
                         "cannot allocate histograms and marks");
    for (int c = 0; c < PHASE_CLASSES; c++)
        hist_init(&work->log->hist[c]);
    slots_init(&work->log->slots, work->slot_room, room, 0, SLOTS_WIDTH_NS);
    memset(work->mark_room, 0, MARKS_ROOM * sizeof(*work->mark_room));
    work->log->marks.at = work->mark_room;
    work->log->marks.room = MARKS_ROOM;
    return IOBM_OK;
}

/* Everything that can be done before the clock starts. */
static enum iobm_status prepare(const struct measure *measure,
                                const struct measure_phase *phase,
                                struct work *work, struct iobm_error *err)
{
    const struct iobm_backend *backend = measure->backend;
    const struct iobm_workload_input plan = {
        .layout = phase->layout,
        .part = phase->part,
        .kind = phase->kind,
        .seed = phase->data_seed,
    };
    enum iobm_status status;

    work->file = calloc(1, backend->file_size ? backend->file_size : 1);
    work->plan = calloc(1, measure->workload->state_size);
    if (!work->file || !work->plan)
        return iobm_fail(err, IOBM_ENOMEM, "cannot allocate a phase");
    status = measure->bare ? IOBM_OK : make_log(phase->layout, work, err);
    if (status != IOBM_OK)
        return status;
    status = measure->workload->plan(work->plan, &plan, err);
    if (status != IOBM_OK)
        return status;
    if (phase->kind == IOBM_OP_READ)
        return make_buffer(work, largest_op(phase), err);
    status = data_init(&work->data, phase->data_seed,
                       phase->layout->shared ? 0 : phase->part,
                       part_bytes(phase), largest_op(phase), err);
    if (status != IOBM_OK)
        return status;
    warm(measure, phase, work);
    return measure->workload->plan(work->plan, &plan, err);
}

static void fill_input(const struct measure *measure,
                       const struct measure_phase *phase, struct work *work)
{
    bool write = phase->kind == IOBM_OP_WRITE;
    bool each = write && phase->sync == MEASURE_SYNC_EVERY;
    bool group =
        phase->layout->shared && (measure->backend->caps & IOBM_CAP_MPI_OPEN);
    bool lockstep = phase->collective || (each && group);

    work->in = (struct phase_input){
        .backend = measure->backend,
        .state = measure->state,
        .file = work->file,
        .kind = phase->kind,
        .workload = measure->workload,
        .plan = work->plan,
        .turns = lockstep ? layout_max_ops(phase->layout) : -1,
        .collective = phase->collective,
        .sync_each = each,
        .sync_end = write && phase->sync == MEASURE_SYNC_END,
        .sync_always = group,
        .ask_dirty = write && !phase->device && !phase->layout->strided &&
                     measure->backend->descriptor &&
                     !(measure->backend->caps & IOBM_CAP_MAPPED),
        .data = write ? &work->data : NULL,
        .buffer = work->buffer,
        .stop = measure->stop,
        .watch = measure->watch,
        .log = work->log,
    };
    describe_open(phase, &work->in.how);
}

static double cpu_seconds(void)
{
    struct rusage used;

    if (getrusage(RUSAGE_SELF, &used) != 0)
        return NAN;
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

/* The timed part.  Slots of time begin at 'start_ns' of this rank's clock. */
static void run_timed(struct work *work, int64_t start_ns)
{
    double before_s;

    if (work->log)
        work->log->slots.origin_ns = work->log->slots.from_ns = start_ns;
    before_s = cpu_seconds();
    phase_run(&work->in, &work->out);
    work->cpu_s = cpu_seconds() - before_s;
}

/* From the common start to the end barrier. */
static enum iobm_status run_timed_all(const struct measure *measure,
                                      const struct measure_phase *phase,
                                      struct work *work, struct iobm_error *err)
{
    enum iobm_status status;
    int64_t start_ns;

    work->outer_from_ns = clock_now_ns();
    if (phase->barrier_start) {
        status = par_barrier_all(measure->comm, err);
        start_ns = clock_now_ns();
        work->start_utc_ns = clock_utc_ns();
        if (status != IOBM_OK)
            return status;
    } else {
        status = timeline_start_all(measure->timeline, &start_ns,
                                    &work->start_utc_ns, err);
        if (status != IOBM_OK)
            return status;
        work->late_ns = timeline_wait(start_ns);
    }
    beat_begin(&measure->stop->beat);
    run_timed(work, start_ns);
    status = stop_barrier_all(measure->stop, err);
    work->outer_to_ns = clock_now_ns();
    watch_enter(measure->watch, WATCH_AROUND);
    return status;
}

/*
 * What was written must be there: the size it should have, and no hole, as a
 * file has that was cut off while it was written.  Opening it makes a network
 * file system ask the server.
 */
static enum iobm_status check_file(const char *path, int64_t bytes,
                                   struct iobm_error *err)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    enum iobm_status status = IOBM_OK;
    struct stat st;
    off_t hole;

    if (fd < 0)
        return iobm_fail_errno(err, errno, "cannot find '%s' after writing it",
                               path);
    hole = bytes > 0 ? lseek(fd, 0, SEEK_HOLE) : -1;
    if (fstat(fd, &st) != 0)
        status = iobm_fail_errno(err, errno, "cannot inspect '%s'", path);
    else if (st.st_size != bytes)
        status =
            iobm_fail(err, IOBM_EIO, "'%s' has %lld bytes after writing %lld",
                      path, (long long)st.st_size, (long long)bytes);
    else if (hole >= 0 && hole < bytes)
        status = iobm_fail(err, IOBM_EIO,
                           "'%s' has a hole at %lld after writing %lld bytes: "
                           "was it changed meanwhile?",
                           path, (long long)hole, (long long)bytes);
    close(fd);
    return status;
}

static enum iobm_status check_written(const struct measure *measure,
                                      const struct measure_phase *phase,
                                      const struct iobm_open *how,
                                      struct iobm_error *err)
{
    if (phase->kind != IOBM_OP_WRITE || phase->device ||
        !(measure->backend->caps & IOBM_CAP_PERSISTENT))
        return IOBM_OK;
    if (phase->layout->shared && measure->comm->rank != 0)
        return IOBM_OK;
    return check_file(phase->path, how->file_bytes, err);
}

/* The outcome of a rank: what the back end said, and what the bytes say. */
static enum iobm_status judge(const struct measure *measure,
                              const struct measure_phase *phase,
                              struct work *work, struct iobm_error *err)
{
    struct phase_output *out = &work->out;

    if (out->status != IOBM_OK) {
        *err = out->err;
        return out->status;
    }
    if (out->bytes != part_bytes(phase))
        return iobm_fail(err, IOBM_EIO, "moved %lld of %lld bytes of '%s'",
                         (long long)out->bytes, (long long)part_bytes(phase),
                         phase->path);
    return check_written(measure, phase, &work->in.how, err);
}

/* Rank 0: what became of the phase. */
static void fill_status(enum iobm_status status, const struct iobm_error *err,
                        struct iobm_phase_row *row)
{
    const char *text = "failed";

    if (status == IOBM_OK)
        text = "complete";
    else if (status == IOBM_ESTOPPED)
        text = "interrupted";
    else if (status == IOBM_EINVALID)
        text = "invalid";
    str_copy(row->status, sizeof(row->status), text);
    str_copy(row->reason, sizeof(row->reason),
             status == IOBM_OK ? "" : err->text);
}

/* An interruption is told by the signal, whichever rank it came to. */
static enum iobm_status name_signal_all(const struct measure *measure,
                                        struct iobm_error *err)
{
    int64_t by = measure->stop->flag;
    struct iobm_error other;

    if (par_max_all(measure->comm, &by, 1, &other) == IOBM_OK && by > 0)
        return iobm_fail(err, IOBM_ESTOPPED, "stopped by %s",
                         watch_signal_name((int)by));
    return IOBM_ESTOPPED;
}

/* One line stands for all ranks that failed. */
static void count_others(int others, struct iobm_error *err)
{
    int rank = err->rank;

    (void)iobm_fail(err, err->status, "%.700s (%d more rank%s failed)",
                    err->text, others, others == 1 ? "" : "s");
    err->rank = rank;
}

/* The phase has been run: settle, agree and reduce. */
static enum iobm_status conclude_all(
    const struct measure *measure, const struct measure_phase *phase,
    struct work *work, struct iobm_phase_row *row, struct iobm_rank_row *ranks,
    struct iobm_detail *detail, struct iobm_error *err)
{
    struct iobm_error local = {.rank = -1};
    struct iobm_error other;
    const struct reduce_input reduce = {
        .out = &work->out,
        .log = work->log,
        .outer_ns = work->outer_to_ns - work->outer_from_ns,
        .late_ns = work->late_ns,
        .cpu_s = work->cpu_s,
        .part = phase->part,
        .kind = phase->kind,
        .transfer_bytes = phase->layout->transfer_bytes,
        .seed = phase->data_seed,
    };
    enum iobm_status outcome = judge(measure, phase, work, &local);
    enum iobm_status status;
    int failures = 0;

    outcome = par_agree_all(measure->comm, outcome, &failures, &local);
    status = stop_settle_all(measure->stop, &other);
    if (status == IOBM_OK) {
        status = timeline_point_all(measure->timeline, &other);
        status = par_agree_all(measure->comm, status, NULL, &other);
    }
    /* An error of ours hides none of the phase's own. */
    if (status != IOBM_OK && outcome == IOBM_OK) {
        outcome = status;
        local = other;
    }
    if (status != IOBM_OK) {
        *err = local;
        return outcome;
    }
    if (outcome == IOBM_ESTOPPED)
        outcome = name_signal_all(measure, &local);
    status =
        reduce_phase_all(measure, &reduce, outcome, row, ranks, detail, &other);
    if (outcome == IOBM_OK && status != IOBM_OK) {
        outcome = status;
        local = other;
    }
    if (failures > 1)
        count_others(failures - 1, &local);
    if (outcome != IOBM_OK)
        *err = local;
    return outcome;
}

enum iobm_status measure_phase_all(const struct measure *measure,
                                   const struct measure_phase *phase,
                                   struct iobm_phase_row *row,
                                   struct iobm_rank_row *ranks,
                                   struct iobm_detail *detail,
                                   struct iobm_error *err)
{
    struct work work = {0};
    enum iobm_status status;

    reduce_begin(measure, row, ranks);
    status = prepare(measure, phase, &work, err);
    status = par_agree_all(measure->comm, status, NULL, err);
    if (status == IOBM_OK) {
        status = timeline_point_all(measure->timeline, err);
        status = par_agree_all(measure->comm, status, NULL, err);
    }
    if (status == IOBM_OK) {
        fill_input(measure, phase, &work);
        status = run_timed_all(measure, phase, &work, err);
    }
    if (row && status == IOBM_OK)
        clock_iso8601(row->started_utc, sizeof(row->started_utc),
                      work.start_utc_ns);
    if (status == IOBM_OK)
        status = conclude_all(measure, phase, &work, row, ranks, detail, err);
    if (row)
        fill_status(status, err, row);
    work_release(&work);
    return status;
}
