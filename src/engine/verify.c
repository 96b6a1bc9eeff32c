/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A verification on all ranks: what is made ready, the outcome that all agree
 * on, and the findings brought to rank 0.  The reading is verify_part.c's.
 */

#include "engine/verify.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "engine/verify_part.h"

/* Transfers of a tiny size would take for ever, huge ones much memory. */
#define LEAST_BYTES (INT64_C(1) << 20)
#define MOST_BYTES  (INT64_C(16) << 20)

/* Sums go through doubles: in two halves they are exact. */
#define HALF_BITS 26
#define HALF_MASK ((INT64_C(1) << HALF_BITS) - 1)

struct job {
    struct verify_part part;
    uint64_t *seed; /* current and older */
};

static void job_release(struct job *job)
{
    data_release(&job->part.data);
    free(job->part.buffer);
    free(job->part.file);
    free(job->seed);
}

static int64_t round_up(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static void describe_open(const struct measure_phase *phase, int64_t unit,
                          struct iobm_open *how)
{
    const struct layout *layout = phase->layout;
    int64_t most = layout->transfer_bytes;

    if (most < LEAST_BYTES)
        most = LEAST_BYTES;
    if (most > MOST_BYTES)
        most = MOST_BYTES;
    *how = (struct iobm_open){
        .path = phase->path,
        .mode = IOBM_OPEN_READ,
        .file_bytes =
            layout_file_bytes(layout, layout->shared ? 0 : phase->part),
        .alignment_bytes = phase->alignment_bytes,
        .first_byte = layout_part_offset(layout, phase->part),
        .part_bytes = layout_part_bytes(layout, phase->part),
        .transfer_bytes = round_up(most, unit),
    };
    if (phase->direct)
        how->mode |= IOBM_OPEN_DIRECT;
    if (phase->device)
        how->mode |= IOBM_OPEN_DEVICE;
    if (layout->strided) {
        how->block_bytes = layout->block_bytes;
        how->stride_bytes = layout->block_bytes * layout->parts;
    }
}

/* One table of seeds for all that look for whose data a block holds. */
static enum iobm_status gather_seeds(struct job *job,
                                     const struct verify_seeds *seeds,
                                     struct iobm_error *err)
{
    struct diagnose *d = &job->part.diagnose;

    job->seed = calloc(seeds->older_count + 1, sizeof(*job->seed));
    if (!job->seed)
        return iobm_fail(err, IOBM_ENOMEM, "cannot allocate a verification");
    job->seed[0] = seeds->current;
    d->writes = 1;
    for (size_t i = 0; i < seeds->older_count; i++)
        if (seeds->older[i] != seeds->current)
            job->seed[d->writes++] = seeds->older[i];
    d->seed = job->seed;
    return IOBM_OK;
}

static int64_t count_ops(const struct verify_part *part)
{
    struct verify_walk walk;
    struct iobm_op op;
    int64_t ops = 0;

    verify_walk_init(&walk, &part->how, part->backend->caps & IOBM_CAP_SPAN);
    while (verify_walk_next(&walk, &op))
        ops++;
    return ops;
}

/* What each rank does for itself before the first read. */
static enum iobm_status prepare(const struct measure *measure,
                                const struct measure_phase *phase,
                                const struct verify_seeds *seeds,
                                struct job *job, struct iobm_error *err)
{
    struct verify_part *part = &job->part;
    size_t file_bytes = measure->backend->file_size;
    int file = phase->layout->shared ? 0 : phase->part;
    int64_t unit = DATA_BLOCK_BYTES;
    enum iobm_status status;

    if (phase->alignment_bytes > unit)
        unit = phase->alignment_bytes;
    part->backend = measure->backend;
    part->state = measure->state;
    part->stop = measure->stop;
    part->watch = measure->watch;
    part->unit_bytes = unit;
    part->turns = -1;
    describe_open(phase, unit, &part->how);
    part->file = calloc(1, file_bytes ? file_bytes : 1);
    part->buffer = data_pages((size_t)part->how.transfer_bytes);
    if (!part->file || !part->buffer)
        return iobm_fail(err, IOBM_ENOMEM, "cannot allocate a verification");
    status = gather_seeds(job, seeds, err);
    if (status == IOBM_OK)
        status = data_init(&part->data, seeds->current, file,
                           part->how.part_bytes, DATA_BLOCK_BYTES, err);
    part->diagnose.data = &part->data;
    part->diagnose.file = file;
    part->diagnose.files = layout_files(phase->layout);
    diagnose_init(&part->diagnose);
    return status;
}

/* Read, and agree on how that went. */
static enum iobm_status run_all(const struct measure *measure,
                                const struct measure_phase *phase,
                                struct verify_part *part,
                                struct iobm_error *err)
{
    enum iobm_status outcome, status = IOBM_OK;
    struct iobm_error other;

    if (phase->collective) {
        part->turns = count_ops(part);
        status = par_max_all(measure->comm, &part->turns, 1, err);
    }
    if (status != IOBM_OK)
        return status;
    beat_begin(&measure->stop->beat);
    verify_part_run(part);
    status = stop_barrier_all(measure->stop, err);
    watch_enter(measure->watch, WATCH_AROUND);
    if (status != IOBM_OK)
        return status;
    *err = part->err;
    outcome = par_agree_all(measure->comm, part->status, NULL, err);
    status = stop_settle_all(measure->stop, &other);
    if (status != IOBM_OK && outcome == IOBM_OK) {
        *err = other;
        outcome = status;
    }
    if (status == IOBM_OK && outcome == IOBM_ESTOPPED) {
        int64_t by = measure->stop->flag;

        if (par_max_all(measure->comm, &by, 1, &other) == IOBM_OK && by > 0)
            outcome = iobm_fail(err, IOBM_ESTOPPED, "stopped by %s",
                                watch_signal_name((int)by));
    }
    return outcome;
}

/* ---- what all ranks found ---- */

static enum iobm_status sum_all(const struct iobm_comm *comm,
                                const struct verify_part *part,
                                struct verify_result *sum,
                                struct iobm_error *err)
{
    double half[4] = {
        (double)(part->bytes >> HALF_BITS),
        (double)(part->bytes & HALF_MASK),
        (double)(part->errors >> HALF_BITS),
        (double)(part->errors & HALF_MASK),
    };
    enum iobm_status status = par_sum_all(comm, half, 4, err);

    sum->bytes = ((int64_t)half[0] << HALF_BITS) + (int64_t)half[1];
    sum->errors = ((int64_t)half[2] << HALF_BITS) + (int64_t)half[3];
    return status;
}

/* Append the rows that have something to say. */
static enum iobm_status append(struct iobm_detail *detail,
                               const struct iobm_finding_row *rows, int count,
                               struct iobm_error *err)
{
    struct iobm_finding_row *all;
    size_t more = 0;

    for (int i = 0; i < count; i++)
        more += rows[i].blocks > 0;
    if (more == 0)
        return IOBM_OK;
    all = realloc(detail->findings,
                  (detail->finding_count + more) * sizeof(*all));
    if (!all)
        return iobm_fail(err, IOBM_ENOMEM, "cannot keep %zu findings", more);
    detail->findings = all;
    for (int i = 0; i < count; i++)
        if (rows[i].blocks > 0)
            all[detail->finding_count++] = rows[i];
    return IOBM_OK;
}

/* The ranks' rows of one kind. */
static enum iobm_status gather_kind_all(const struct iobm_comm *comm,
                                        const struct iobm_finding_row *mine,
                                        struct iobm_detail *detail,
                                        struct iobm_error *err)
{
    struct iobm_finding_row *rows = NULL;
    enum iobm_status status = IOBM_OK;

    if (comm->rank == 0) {
        rows = calloc((size_t)comm->size, sizeof(*rows));
        if (!rows)
            status = iobm_fail(err, IOBM_ENOMEM, "cannot gather findings");
    }
    status = par_agree_all(comm, status, NULL, err);
    if (status == IOBM_OK)
        status = par_gather_all(comm, mine, sizeof(*mine), rows, err);
    if (status == IOBM_OK && rows && detail)
        status = append(detail, rows, comm->size, err);
    free(rows);
    return par_agree_all(comm, status, NULL, err);
}

static int by_rank(const void *a, const void *b)
{
    const struct iobm_finding_row *x = a, *y = b;

    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Only kinds that occur travel: with many ranks all rows are much. */
static enum iobm_status gather_all(const struct iobm_comm *comm,
                                   const struct verify_part *part,
                                   struct iobm_detail *detail,
                                   struct iobm_error *err)
{
    size_t before = detail ? detail->finding_count : 0;
    int64_t there[DIAGNOSE_KINDS];
    enum iobm_status status;

    for (int kind = 0; kind < DIAGNOSE_KINDS; kind++)
        there[kind] = part->found[kind].blocks > 0;
    status = par_max_all(comm, there, DIAGNOSE_KINDS, err);
    for (int kind = 0; kind < DIAGNOSE_KINDS && status == IOBM_OK; kind++)
        if (there[kind])
            status = gather_kind_all(comm, &part->found[kind], detail, err);
    if (status == IOBM_OK && detail && detail->finding_count > before)
        qsort(detail->findings + before, detail->finding_count - before,
              sizeof(*detail->findings), by_rank);
    return status;
}

enum iobm_status verify_phase_all(const struct measure *measure,
                                  const struct measure_phase *phase,
                                  const struct verify_seeds *seeds,
                                  int64_t phase_number, int64_t repeat,
                                  struct iobm_detail *detail,
                                  struct verify_result *out,
                                  struct iobm_error *err)
{
    const struct iobm_comm *comm = measure->comm;
    struct job job = {0};
    struct iobm_error other;
    struct verify_result sum;
    enum iobm_status outcome, status;

    for (int kind = 0; kind < DIAGNOSE_KINDS; kind++) {
        struct iobm_finding_row *row = &job.part.found[kind];

        row->phase = phase_number;
        row->repeat = repeat;
        row->rank = comm->rank;
        row->part = phase->part;
        str_copy(row->path, sizeof(row->path), phase->path);
        str_copy(row->kind, sizeof(row->kind),
                 diagnose_name((enum diagnose_kind)kind));
    }
    watch_enter(measure->watch, WATCH_AROUND);
    status = prepare(measure, phase, seeds, &job, err);
    outcome = par_agree_all(comm, status, NULL, err);
    if (outcome == IOBM_OK)
        outcome = run_all(measure, phase, &job.part, err);
    if (outcome == IOBM_OK || outcome == IOBM_ESTOPPED) {
        status = sum_all(comm, &job.part, &sum, &other);
        if (status == IOBM_OK)
            status = gather_all(comm, &job.part,
                                comm->rank == 0 ? detail : NULL, &other);
        if (status == IOBM_OK)
            *out = sum;
        if (status != IOBM_OK && outcome == IOBM_OK) {
            *err = other;
            outcome = status;
        }
    }
    job_release(&job);
    return outcome;
}
