/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The timed loop.  Everything that can be done before or after it is done
 * elsewhere: between the first and the last stamp there is the back end, the
 * stamping of the data, one or two readings of the clock per operation, and a
 * few additions to what is kept of it.
 */

#include "engine/phase.h"

#include <math.h>

#include "base/clock.h"
#include "engine/dirty.h"

static void fail(struct phase_output *out, enum iobm_status status,
                 const struct iobm_error *err)
{
    out->errors++;
    if (out->status == IOBM_OK || out->status == IOBM_ESTOPPED) {
        out->status = status;
        out->err = *err;
    }
}

/* Whether to stop now: a signal on this rank, or word from another. */
static bool must_stop(const struct phase_input *in, struct phase_output *out)
{
    int by = in->stop->flag;

    if (by)
        stop_tell(in->stop);
    if (!by && !stop_poll(in->stop))
        return false;
    if (out->status == IOBM_OK)
        out->status =
            iobm_fail(&out->err, IOBM_ESTOPPED, "%s",
                      by ? watch_signal_name(by) : "another rank failed");
    return true;
}

bool phase_shares_stamps(const struct phase_input *in)
{
    return !in->sync_each && (in->kind == IOBM_OP_READ ||
                              in->how.transfer_bytes <= DATA_BLOCK_BYTES);
}

static void log_class(const struct phase_input *in, enum phase_class class,
                      int64_t ns)
{
    if (in->log)
        hist_add(&in->log->hist[class], ns);
}

/* After a transfer at 'from_ns', if at all. */
static enum iobm_status sync_op(const struct phase_input *in, int64_t from_ns,
                                enum iobm_status status, struct iobm_error *err)
{
    struct iobm_error late;
    enum iobm_status synced;

    if (status != IOBM_OK && !in->sync_always)
        return status;
    synced = in->backend->sync(in->state, in->file, &late);
    if (synced == IOBM_OK)
        log_class(in, PHASE_SYNC, clock_now_ns() - from_ns);
    else if (status == IOBM_OK)
        *err = late;
    return status == IOBM_OK ? synced : status;
}

/* One turn, and when its transfer was over. */
static inline enum iobm_status one_op(const struct phase_input *in,
                                      struct iobm_op *op, int64_t *moved_ns,
                                      struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;

    op->done = 0;
    if (op->size > 0 || in->collective)
        status = in->backend->xfer(in->state, in->file, op, err);
    op->end_ns = *moved_ns = clock_now_ns();
    if (!in->sync_each)
        return status;
    status = sync_op(in, *moved_ns, status, err);
    op->end_ns = clock_now_ns();
    return status;
}

static void idle_op(const struct phase_input *in, struct iobm_op *op)
{
    op->offset = in->how.first_byte;
    op->size = 0;
    op->block_bytes = 0;
    op->stride_bytes = 0;
    op->buffer = in->buffer ? in->buffer : (in->data ? in->data->pool : NULL);
}

/* The next operation of this rank, or an idle turn; false at the end. */
static bool next_op(const struct phase_input *in, bool going, int64_t turn,
                    struct iobm_op *op)
{
    if (in->turns < 0)
        return going && in->workload->next(in->plan, op);
    if (turn >= in->turns)
        return false;
    if (!going || !in->workload->next(in->plan, op))
        idle_op(in, op);
    return true;
}

/* Keep a transfer that succeeded, from its start to 'moved_ns'.  Whether
 * this took longer than it mostly does. */
static inline bool keep(struct phase_log *log, const struct iobm_op *op,
                        int64_t moved_ns)
{
    size_t slot = log->slots.current;
    int64_t spent = moved_ns - op->start_ns;

    hist_add(&log->hist[PHASE_TRANSFER], spent);
    slots_add(&log->slots, op->end_ns, spent, op->done);
    return log->slots.current != slot;
}

static inline bool mark(struct marks *marks, int64_t now_ns, int64_t bytes)
{
    size_t count = marks->count;

    marks_add(marks, now_ns, bytes);
    return marks->count != count;
}

static inline void point_buffer(const struct phase_input *in,
                                struct iobm_op *op)
{
    if (op->size == 0)
        return;
    if (in->kind == IOBM_OP_WRITE)
        data_prepare(in->data, op);
    else
        op->buffer = in->buffer;
}

static void transfer(const struct phase_input *in, struct phase_output *out)
{
    struct iobm_op op = {.kind = in->kind};
    const bool shares = phase_shares_stamps(in);
    int64_t previous_ns = out->start_ns, free_ns = clock_now_ns();
    int64_t poll_ns = out->start_ns + STOP_POLL_NS;
    bool going = true;

    for (int64_t turn = 0; next_op(in, going, turn, &op); turn++) {
        struct iobm_error err;
        enum iobm_status status;
        int64_t moved_ns, spent;
        bool paused = false; /* something took time that is no operation's */

        point_buffer(in, &op);
        op.start_ns = shares ? free_ns : clock_now_ns();
        status = one_op(in, &op, &moved_ns, &err);

        out->prepare_ns += op.start_ns - previous_ns;
        previous_ns = op.end_ns;
        spent = op.end_ns - op.start_ns;
        out->latency_sum_ns += spent;
        if (spent > out->latency_max_ns)
            out->latency_max_ns = spent;
        out->bytes += op.done;
        if (op.size > 0 && status == IOBM_OK) {
            out->ops++;
            if (in->log)
                paused = keep(in->log, &op, moved_ns);
        }
        if (in->log)
            paused |= mark(&in->log->marks, op.end_ns, out->bytes);
        watch_beat(in->watch, op.end_ns, out->bytes);

        if (status != IOBM_OK) {
            fail(out, status, &err);
            stop_tell(in->stop);
            going = false;
        } else if (going && (in->stop->flag || op.end_ns >= poll_ns)) {
            going = !must_stop(in, out);
            poll_ns = op.end_ns + STOP_POLL_NS;
            paused = true;
        }
        free_ns = shares && paused ? clock_now_ns() : op.end_ns;
    }
}

static void sync_file(const struct phase_input *in, struct phase_output *out)
{
    struct iobm_error err;
    enum iobm_status status;
    int64_t from_ns;

    if (!in->sync_end || (out->status != IOBM_OK && !in->sync_always))
        return;
    watch_enter(in->watch, WATCH_SYNC);
    from_ns = clock_now_ns();
    status = in->backend->sync(in->state, in->file, &err);
    if (status != IOBM_OK)
        fail(out, status, &err);
    else
        log_class(in, PHASE_SYNC, clock_now_ns() - from_ns);
}

static void close_file(const struct phase_input *in, struct phase_output *out)
{
    struct iobm_error err;
    enum iobm_status status;

    watch_enter(in->watch, WATCH_CLOSE);
    status = in->backend->close(in->state, in->file, &err);
    out->close_end_ns = clock_now_ns();
    if (status != IOBM_OK)
        fail(out, status, &err);
    else
        log_class(in, PHASE_CLOSE, out->close_end_ns - out->sync_end_ns);
}

static enum iobm_status open_file(const struct phase_input *in,
                                  struct phase_output *out)
{
    struct iobm_error err;
    enum iobm_status status;

    watch_enter(in->watch, WATCH_OPEN);
    out->open_start_ns = clock_now_ns();
    status = in->backend->open(in->state, &in->how, in->file, &err);
    out->start_ns = clock_now_ns();
    if (in->log)
        marks_init(&in->log->marks, in->log->marks.at, in->log->marks.room,
                   out->start_ns);
    if (status == IOBM_OK) {
        log_class(in, PHASE_OPEN, out->start_ns - out->open_start_ns);
        return IOBM_OK;
    }
    fail(out, status, &err);
    stop_tell(in->stop);
    out->io_end_ns = out->sync_end_ns = out->close_end_ns = out->start_ns;
    watch_enter(in->watch, WATCH_IDLE);
    return status;
}

void phase_run(const struct phase_input *in, struct phase_output *out)
{
    *out = (struct phase_output){.status = IOBM_OK, .dirty_share = NAN};
    if (open_file(in, out) != IOBM_OK)
        return;
    watch_enter(in->watch, WATCH_TRANSFER);
    transfer(in, out);
    out->io_end_ns = clock_now_ns();
    if (in->ask_dirty && out->status == IOBM_OK)
        out->dirty_share =
            dirty_share_of(in->backend->descriptor(in->file),
                           in->how.first_byte, in->how.part_bytes);
    sync_file(in, out);
    out->sync_end_ns = clock_now_ns();
    out->latency_sum_ns += out->sync_end_ns - out->io_end_ns;
    beat_poll(&in->stop->beat); /* sync and close may each take long */
    close_file(in, out);
    watch_enter(in->watch, WATCH_IDLE);
}
