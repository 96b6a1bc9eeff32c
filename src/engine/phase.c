/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The timed loop.  Everything that can be done before or after it is done
 * elsewhere: between the first and the last stamp there is the back end, the
 * stamping of the data, and two readings of the clock per operation.
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

static enum iobm_status one_op(const struct phase_input *in, struct iobm_op *op,
                               struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;

    op->done = 0;
    if (op->size > 0 || in->collective)
        status = in->backend->xfer(in->state, in->file, op, err);
    if (in->sync_each && (status == IOBM_OK || in->sync_always)) {
        struct iobm_error late;
        enum iobm_status synced = in->backend->sync(in->state, in->file, &late);

        if (status == IOBM_OK && synced != IOBM_OK) {
            status = synced;
            *err = late;
        }
    }
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

static void transfer(const struct phase_input *in, struct phase_output *out)
{
    struct iobm_op op = {.kind = in->kind};
    int64_t previous_ns = out->start_ns;
    int64_t poll_ns = out->start_ns + STOP_POLL_NS;
    bool going = true;

    for (int64_t turn = 0; next_op(in, going, turn, &op); turn++) {
        struct iobm_error err;
        enum iobm_status status;
        int64_t spent;

        if (op.size > 0 && in->kind == IOBM_OP_WRITE)
            data_prepare(in->data, &op);
        else if (op.size > 0)
            op.buffer = in->buffer;
        op.start_ns = clock_now_ns();
        status = one_op(in, &op, &err);
        op.end_ns = clock_now_ns();

        out->prepare_ns += op.start_ns - previous_ns;
        previous_ns = op.end_ns;
        spent = op.end_ns - op.start_ns;
        out->latency_sum_ns += spent;
        if (spent > out->latency_max_ns)
            out->latency_max_ns = spent;
        out->bytes += op.done;
        out->ops += op.size > 0 && status == IOBM_OK;
        marks_add(in->marks, op.end_ns, out->bytes);
        watch_beat(in->watch, op.end_ns, out->bytes);

        if (status != IOBM_OK) {
            fail(out, status, &err);
            stop_tell(in->stop);
            going = false;
        } else if (going && (in->stop->flag || op.end_ns >= poll_ns)) {
            going = !must_stop(in, out);
            poll_ns = op.end_ns + STOP_POLL_NS;
        }
    }
}

static void sync_file(const struct phase_input *in, struct phase_output *out)
{
    struct iobm_error err;
    enum iobm_status status;

    if (!in->sync_end || (out->status != IOBM_OK && !in->sync_always))
        return;
    watch_enter(in->watch, WATCH_SYNC);
    status = in->backend->sync(in->state, in->file, &err);
    if (status != IOBM_OK)
        fail(out, status, &err);
}

static void close_file(const struct phase_input *in, struct phase_output *out)
{
    struct iobm_error err;
    enum iobm_status status;

    watch_enter(in->watch, WATCH_CLOSE);
    status = in->backend->close(in->state, in->file, &err);
    if (status != IOBM_OK)
        fail(out, status, &err);
}

void phase_run(const struct phase_input *in, struct phase_output *out)
{
    struct iobm_error err;
    enum iobm_status status;

    *out = (struct phase_output){.status = IOBM_OK, .dirty_share = NAN};
    watch_enter(in->watch, WATCH_OPEN);
    out->open_start_ns = clock_now_ns();
    status = in->backend->open(in->state, &in->how, in->file, &err);
    out->start_ns = clock_now_ns();
    marks_init(in->marks, in->marks->at, in->marks->room, out->start_ns);
    if (status != IOBM_OK) {
        fail(out, status, &err);
        stop_tell(in->stop);
        out->io_end_ns = out->sync_end_ns = out->close_end_ns = out->start_ns;
        watch_enter(in->watch, WATCH_IDLE);
        return;
    }

    watch_enter(in->watch, WATCH_TRANSFER);
    transfer(in, out);
    out->io_end_ns = clock_now_ns();
    if (in->ask_dirty && out->status == IOBM_OK)
        out->dirty_share =
            dirty_share(in->how.path, in->how.first_byte, in->how.part_bytes);
    sync_file(in, out);
    out->sync_end_ns = clock_now_ns();
    out->latency_sum_ns += out->sync_end_ns - out->io_end_ns;
    beat_poll(&in->stop->beat); /* sync and close may each take long */
    close_file(in, out);
    out->close_end_ns = clock_now_ns();
    watch_enter(in->watch, WATCH_IDLE);
}
