/* SPDX-License-Identifier: BSD-3-Clause */

/* Phases of one process without MPI: see trial.h. */

#include "engine/trial.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/layout.h"
#include "engine/phase.h"
#include "iobm/workload.h"

#define SEED       1
#define MARKS_ROOM 64
#define SLOT_ROOM  64

struct trial {
    struct phase_input in;
    struct layout layout;
    struct data data;
    struct watch watch; /* not started */
    struct stop stop;   /* of no ranks: hears nothing, tells nobody */
    void *plan, *buffer, *slots;
    struct phase_log log;
    int64_t marks[MARKS_ROOM][2];
};

void trial_free(struct trial *trial)
{
    if (!trial)
        return;
    data_release(&trial->data);
    free(trial->plan);
    free(trial->buffer);
    free(trial->slots);
    free(trial);
}

static void begin_log(struct trial *t)
{
    for (int c = 0; c < PHASE_CLASSES; c++)
        hist_init(&t->log.hist[c]);
    slots_init(&t->log.slots, t->slots, SLOT_ROOM, clock_now_ns(),
               SLOTS_WIDTH_NS);
    t->log.marks.at = t->marks;
    t->log.marks.room = MARKS_ROOM;
}

static void fill_input(struct trial *t, const struct trial_input *in,
                       const struct iobm_workload *workload)
{
    bool write = in->kind == IOBM_OP_WRITE;

    t->layout = (struct layout){
        .parts = 1, .transfer_bytes = in->transfer_bytes, .grain_bytes = 1};
    t->in = (struct phase_input){
        .backend = in->backend,
        .state = in->state,
        .file = in->file,
        .how = {.path = "none",
                .mode = write ? IOBM_OPEN_WRITE : IOBM_OPEN_READ,
                .alignment_bytes = 1,
                .transfer_bytes = in->transfer_bytes},
        .kind = in->kind,
        .workload = workload,
        .plan = t->plan,
        .turns = -1,
        .data = write ? &t->data : NULL,
        .buffer = t->buffer,
        .stop = &t->stop,
        .watch = &t->watch,
    };
}

static enum iobm_status make(struct trial *t, const struct trial_input *in,
                             struct iobm_error *err)
{
    const struct iobm_workload *workload = iobm_workload_find("sequential");
    bool write = in->kind == IOBM_OP_WRITE;
    size_t room =
        ((size_t)in->transfer_bytes / DATA_BLOCK_BYTES + 1) * DATA_BLOCK_BYTES;

    if (!workload)
        return iobm_fail(err, IOBM_EBUG, "there is no sequential workload");
    t->plan = calloc(1, workload->state_size + 1);
    t->slots = malloc(slots_bytes(SLOT_ROOM));
    t->buffer = write ? NULL : data_pages(room);
    if (!t->plan || !t->slots || (!write && !t->buffer))
        return iobm_fail(err, IOBM_ENOMEM, "no memory to measure iobm itself");
    if (t->buffer)
        memset(t->buffer, 0x5a, room);
    begin_log(t);
    fill_input(t, in, workload);
    if (!write)
        return IOBM_OK;
    return data_init(&t->data, SEED, 0, in->most_ops * in->transfer_bytes,
                     in->transfer_bytes, err);
}

enum iobm_status trial_create(const struct trial_input *in,
                              struct trial **trial, struct iobm_error *err)
{
    struct trial *t = calloc(1, sizeof(*t));
    enum iobm_status status;

    if (!t)
        return iobm_fail(err, IOBM_ENOMEM, "no memory to measure iobm itself");
    status = make(t, in, err);
    if (status == IOBM_OK)
        *trial = t;
    else
        trial_free(t);
    return status;
}

enum iobm_status trial_run(struct trial *trial, int64_t ops, bool keep,
                           double *ns, struct iobm_error *err)
{
    struct phase_input *in = &trial->in;
    const struct iobm_workload_input plan = {
        .layout = &trial->layout, .kind = in->kind, .seed = SEED};
    struct phase_output out;
    enum iobm_status status;

    trial->layout.total_bytes = ops * in->how.transfer_bytes;
    in->how.file_bytes = in->how.part_bytes = trial->layout.total_bytes;
    in->log = keep ? &trial->log : NULL;
    status = in->workload->plan(trial->plan, &plan, err);
    if (status != IOBM_OK)
        return status;
    phase_run(in, &out);
    if (out.status != IOBM_OK) {
        if (err)
            *err = out.err;
        return out.status;
    }
    if (out.ops != ops)
        return iobm_fail(err, IOBM_EBUG, "%lld of %lld operations were made",
                         (long long)out.ops, (long long)ops);
    *ns = (double)(out.io_end_ns - out.start_ns) / (double)ops;
    return IOBM_OK;
}
