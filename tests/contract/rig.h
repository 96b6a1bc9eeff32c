/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_CONTRACT_RIG_H
#define TESTS_CONTRACT_RIG_H

/*
 * A small engine for the tests of the back ends: one part of one phase, as
 * the layout and the sequential workload say, with data that is checked.
 */

#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "engine/data.h"
#include "iobm/backend.h"
#include "iobm/workload.h"
#include "par/comm.h"

#define RIG_SEED 11

struct rig {
    const struct iobm_backend *backend;
    struct iobm_backend_env env;
    void *state, *file;
    bool no_sync;
};

/* What a phase came to: the first failure, and how much moved. */
struct rig_result {
    enum iobm_status status;
    const char *stage; /* "open" "xfer" "data" "sync" "close"; NULL: none */
    struct iobm_error err;
    int64_t bytes, ops;
};

static inline enum iobm_status rig_start(struct rig *rig,
                                         const struct iobm_backend *backend,
                                         const struct iobm_comm *comm,
                                         bool shared, bool collective,
                                         struct iobm_error *err)
{
    *rig = (struct rig){
        .backend = backend,
        .env = {.comm = comm, .shared = shared, .collective = collective},
        .state = calloc(1, backend->state_size + 1),
        .file = calloc(1, backend->file_size + 1),
    };
    return backend->start ? backend->start(rig->state, &rig->env, err)
                          : IOBM_OK;
}

static inline void rig_stop(struct rig *rig)
{
    if (rig->backend->stop)
        rig->backend->stop(rig->state);
    free(rig->state);
    free(rig->file);
}

static inline struct iobm_open rig_how(const struct layout *layout, int part,
                                       const char *path, unsigned mode)
{
    int64_t block = layout->strided ? layout->block_bytes : 0;

    return (struct iobm_open){
        .path = path,
        .mode = mode,
        .file_bytes = layout_file_bytes(layout, layout->shared ? 0 : part),
        .alignment_bytes = layout->grain_bytes,
        .transfer_bytes = layout->transfer_bytes,
        .first_byte = layout_part_offset(layout, part),
        .part_bytes = layout_part_bytes(layout, part),
        .block_bytes = block,
        .stride_bytes = block * layout->parts,
    };
}

static inline void rig_fail(struct rig_result *out, const char *stage,
                            enum iobm_status status,
                            const struct iobm_error *err)
{
    if (status == IOBM_OK || out->status != IOBM_OK)
        return;
    out->status = status;
    out->stage = stage;
    out->err = *err;
}

static inline void rig_op(struct rig *rig, struct data *data, void *buffer,
                          struct iobm_op *op, struct rig_result *out)
{
    struct iobm_error err = {0};
    enum iobm_status status;

    op->buffer = buffer;
    if (op->kind == IOBM_OP_WRITE && op->size > 0)
        data_prepare(data, op);
    else
        memset(buffer, 0xee, (size_t)op->size);
    op->done = -1;
    status = rig->backend->xfer(rig->state, rig->file, op, &err);
    rig_fail(out, "xfer", status, &err);
    out->bytes += op->done;
    out->ops += status == IOBM_OK && op->size > 0;
    if (status == IOBM_OK ? op->done != op->size
                          : op->done < 0 || op->done > op->size)
        rig_fail(out, "data",
                 iobm_fail(&err, IOBM_EBUG, "done %lld of %lld with status %d",
                           (long long)op->done, (long long)op->size, status),
                 &err);
    if (op->kind == IOBM_OP_READ && status == IOBM_OK && op->size > 0 &&
        rig->backend->caps & IOBM_CAP_PERSISTENT && data_check(data, op) >= 0)
        rig_fail(out, "data",
                 iobm_fail(&err, IOBM_ECORRUPT, "wrong at %lld",
                           (long long)data_check(data, op)),
                 &err);
}

/* Every operation of the part; with a collective back end, as many turns as
 * the part with the most has, also after a failure. */
static inline void rig_ops(struct rig *rig, const struct layout *layout,
                           int part, enum iobm_op_kind kind,
                           struct rig_result *out)
{
    const struct iobm_workload *workload = iobm_workload_find("sequential");
    const struct iobm_workload_input in = {layout, part, kind, RIG_SEED};
    int64_t turns = layout_max_ops(layout);
    int64_t transfer = layout->transfer_bytes;
    void *plan = calloc(1, workload->state_size);
    struct iobm_error err;
    struct data data;
    void *buffer = NULL;

    rig_fail(out, "plan", workload->plan(plan, &in, &err), &err);
    rig_fail(out, "plan",
             data_init(&data, RIG_SEED, layout->shared ? 0 : part,
                       layout_part_bytes(layout, part), transfer, &err),
             &err);
    if (posix_memalign(&buffer, 4096,
                       (size_t)((transfer + 4095) / 4096 * 4096)) != 0)
        abort();
    for (int64_t turn = 0; turn < turns; turn++) {
        struct iobm_op op = {.kind = kind};

        if (out->status != IOBM_OK || !workload->next(plan, &op))
            op = (struct iobm_op){.kind = kind,
                                  .offset = layout_part_offset(layout, part)};
        if (op.size > 0 || rig->env.collective)
            rig_op(rig, &data, buffer, &op, out);
    }
    free(buffer);
    free(plan);
    data_release(&data);
}

/* Open, all operations, sync (of a write), close. */
static inline struct rig_result rig_phase(struct rig *rig,
                                          const struct layout *layout, int part,
                                          const char *path, unsigned mode)
{
    bool write = mode & IOBM_OPEN_WRITE;
    bool group = rig->env.shared && rig->backend->caps & IOBM_CAP_MPI_OPEN;
    const struct iobm_open how = rig_how(layout, part, path, mode);
    struct rig_result out = {.status = IOBM_OK};
    struct iobm_error err = {0};

    rig_fail(&out, "open",
             rig->backend->open(rig->state, &how, rig->file, &err), &err);
    if (out.status != IOBM_OK)
        return out;
    rig_ops(rig, layout, part, write ? IOBM_OP_WRITE : IOBM_OP_READ, &out);
    if (write && !rig->no_sync && (out.status == IOBM_OK || group))
        rig_fail(&out, "sync", rig->backend->sync(rig->state, rig->file, &err),
                 &err);
    rig_fail(&out, "close", rig->backend->close(rig->state, rig->file, &err),
             &err);
    return out;
}

#endif
