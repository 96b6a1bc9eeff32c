/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One phase of a run, from its parameters to what is kept and shown of it:
 * measured, examined, verified, judged.  Which phases there are, and what
 * happens to the files around them, is in job_phases.c.
 */

#include "cli/job_measure.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/cli.h"
#include "cli/job_evidence.h"
#include "cli/job_facts.h"
#include "cli/job_judge.h"
#include "engine/reduce.h"
#include "engine/verify.h"
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
    row->timer_ns = job->cost.timer_ns;
    row->op_cost_ns = job->cost.op_ns;
    row->memcpy_Bps = job->cost.memcpy_Bps;
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
    if (row->direct && has_tail(job))
        save_log(&job->save, "note",
                 "%s: tails shorter than %lld bytes go through the page cache",
                 row->op, (long long)job->alignment_bytes);
}

/* Rank 0: a phase as text.  That it cannot be shown is said at the end. */
static void show(struct job *job, const struct iobm_phase_row *row,
                 const struct iobm_rank_row *ranks,
                 const struct iobm_detail *detail)
{
    struct iobm_error err;
    struct str text = {0};

    if (row->phase > 0)
        str_add(&text, "\n");
    report_phase_text(job->save.record.version, row, ranks,
                      (size_t)job->comm->size, detail, job->options->verbose,
                      &text);
    if (job->unprinted.status == IOBM_OK && cli_print(&text, &err) != IOBM_OK)
        job->unprinted = err;
    str_release(&text);
}

/* Rank 0: keep a phase and show it, kept or not. */
static enum iobm_status publish(struct job *job,
                                const struct iobm_phase_row *row,
                                const struct iobm_rank_row *ranks,
                                const struct iobm_detail *detail,
                                struct iobm_error *err)
{
    const struct run_options *o = job->options;
    size_t n = (size_t)job->comm->size;
    enum iobm_status status = save_detail(&job->save, detail, err);

    if (status == IOBM_OK)
        status = save_phase(&job->save, row, ranks, n, err);
    if (status == IOBM_OK)
        status = save_clocks(&job->save, job->timeline.rows,
                             job->timeline.row_count, err);
    job->timeline.row_count = 0;
    if (status == IOBM_OK)
        status = facts_backend(job, err);
    if (status == IOBM_OK)
        note_phase(job, row);
    if (o->text)
        show(job, row, ranks, detail);
    /* Without a result file the output is all there is. */
    if (status == IOBM_OK && job->unprinted.status != IOBM_OK &&
        strcmp(o->output, "none") == 0) {
        *err = job->unprinted;
        status = err->status;
    }
    return status;
}

/* A phase on rank 0, with all that is known of it; others have the row. */
struct one {
    struct iobm_phase_row row;
    struct iobm_rank_row *ranks;
    struct iobm_detail detail;
    struct evidence evidence;
};

static void one_release(struct one *one)
{
    free(one->ranks);
    iobm_detail_release(&one->detail);
}

static enum iobm_status begin_one_all(struct job *job,
                                      const struct measure_phase *phase,
                                      int64_t repeat, struct one *one,
                                      struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;

    if (job->comm->rank == 0) {
        begin_row(job, phase->kind, repeat, &one->row);
        save_pending(&job->save, &one->row);
        one->ranks = calloc((size_t)job->comm->size, sizeof(*one->ranks));
        if (!one->ranks)
            status = iobm_fail(err, IOBM_ENOMEM, "cannot keep a phase");
    }
    status = par_agree_all(job->comm, status, NULL, err);
    if (status == IOBM_OK)
        status = evidence_before_all(job, phase, &one->evidence, err);
    return status;
}

/* Rank 0: the rows of the ranks belong to this phase. */
static void name_ranks(const struct job *job, struct one *one)
{
    for (int r = 0; r < job->comm->size; r++) {
        one->ranks[r].phase = one->row.phase;
        one->ranks[r].repeat = one->row.repeat;
        str_copy(one->ranks[r].op, sizeof(one->ranks[r].op), one->row.op);
    }
}

/* Rank 0: the first finding as the error of the run. */
static enum iobm_status tell_findings(const struct one *one,
                                      const struct verify_result *result,
                                      struct iobm_error *err)
{
    const struct iobm_finding_row *first = one->detail.findings;
    long long blocks = (long long)result->errors;

    if (one->detail.finding_count == 0)
        return iobm_fail(err, IOBM_ECORRUPT, "%lld blocks are wrong", blocks);
    (void)iobm_fail(err, IOBM_ECORRUPT,
                    "%lld block%s of 4 KiB %s not what was written; the first: "
                    "'%s' at %lld: %s%s%s",
                    blocks, blocks == 1 ? "" : "s", blocks == 1 ? "is" : "are",
                    first->path, (long long)first->offset, first->kind,
                    first->whose[0] ? ", " : "", first->whose);
    err->rank = (int)first->rank;
    return IOBM_ECORRUPT;
}

/* --verify: all that is there is read and compared, untimed. */
static enum iobm_status verify_one_all(struct job *job,
                                       const struct measure_phase *phase,
                                       struct one *one, struct iobm_error *err)
{
    const struct verify_seeds seeds = {job->manifest.seed,
                                       job->manifest.older_seed,
                                       (size_t)job->manifest.older_count};
    struct measure_phase again = *phase;
    struct verify_result result;
    enum iobm_status status;

    if (!job->options->verify || !job->files)
        return IOBM_OK;
    again.kind = IOBM_OP_READ;
    again.part = job->part_of[job->comm->rank];
    again.path = job->phase_path[IOBM_OP_READ];
    again.create = again.dsync = false;
    evidence_drop(job, &again);
    status = verify_phase_all(&job->measure, &again, &seeds, one->row.phase,
                              one->row.repeat, &one->detail, &result, err);
    if (status != IOBM_OK)
        return status;
    if (job->comm->rank == 0) {
        one->row.verify_bytes = result.bytes;
        one->row.verify_errors = result.errors;
        if (result.errors > 0)
            status = tell_findings(one, &result, err);
    }
    return par_agree_all(job->comm, status, NULL, err);
}

/* What is asked once the figures are there. */
static enum iobm_status examine_all(struct job *job,
                                    const struct measure_phase *phase,
                                    struct one *one, struct iobm_error *err)
{
    enum iobm_status status = evidence_after_all(
        job, phase, &one->evidence, &one->row, one->ranks, &one->detail, err);

    if (status == IOBM_OK)
        status = verify_one_all(job, phase, one, err);
    return status;
}

/* Rank 0: judge what there is, keep it and show it. */
static enum iobm_status settle_one(struct job *job, struct one *one,
                                   enum iobm_status outcome,
                                   const struct iobm_error *why,
                                   struct iobm_error *err)
{
    struct iobm_error named;
    enum iobm_status status;

    if (outcome != IOBM_OK) {
        named = *why;
        job_name_rank(job, &named);
        str_copy(one->row.reason, sizeof(one->row.reason), named.text);
    }
    status = judge_phase(job, &one->row, &one->detail, err);
    if (status == IOBM_OK)
        status = publish(job, &one->row, one->ranks, &one->detail, err);
    return status;
}

enum iobm_status job_measure_all(struct job *job,
                                 const struct measure_phase *phase,
                                 int64_t repeat, struct iobm_error *err)
{
    struct one one = {0};
    struct iobm_error other;
    bool root = job->comm->rank == 0;
    enum iobm_status outcome;
    enum iobm_status status = begin_one_all(job, phase, repeat, &one, err);

    if (status != IOBM_OK) {
        one_release(&one);
        return status;
    }
    outcome = measure_phase_all(&job->measure, phase, root ? &one.row : NULL,
                                one.ranks, root ? &one.detail : NULL, err);
    if (root)
        name_ranks(job, &one);
    if (outcome == IOBM_OK || outcome == IOBM_EINVALID) {
        status = examine_all(job, phase, &one, &other);
        if (status != IOBM_OK) { /* worse than clocks that disagree */
            outcome = status;
            *err = other;
        }
    }
    status = root ? settle_one(job, &one, outcome, err, &other) : IOBM_OK;
    one_release(&one);
    status = par_agree_all(job->comm, status, NULL, &other);
    if (outcome != IOBM_OK)
        return outcome;
    if (status != IOBM_OK) {
        *err = other;
        err->rank = -1; /* only rank 0 could fail */
    }
    return status;
}
