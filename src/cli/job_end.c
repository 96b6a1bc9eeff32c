/* SPDX-License-Identifier: BSD-3-Clause */

/* The end of a run: the result file, the last words, the cleaning up. */

#include <string.h>

#include "cli/cli.h"
#include "cli/job.h"
#include "report/report.h"

static const char *outcome_name(enum iobm_status outcome)
{
    switch (outcome) {
    case IOBM_OK:
        return "complete";
    case IOBM_ESTOPPED:
        return "interrupted";
    case IOBM_EINVALID:
        return "invalid";
    default:
        return "failed";
    }
}

/* Rank 0: the output forms that come at the end. */
static enum iobm_status print_end(const struct job *job, struct iobm_error *err)
{
    const struct run_options *o = job->options;
    const char *file =
        strcmp(o->output, "none") == 0 || job->save.record.number <= 0
            ? NULL
            : o->output;
    struct str text = {0};
    enum iobm_status status;

    if (o->json)
        report_run_json(&job->save.record, file, &text);
    if (o->csv) {
        report_csv_header(&text);
        report_run_csv(&job->save.record, &text);
    }
    if (o->text)
        report_end_text(&job->save.record, file, &text);
    status = cli_print(&text, err);
    str_release(&text);
    return status;
}

static enum iobm_status clean_up_all(struct job *job, struct iobm_error *err)
{
    int64_t files, bytes;

    if (!job->options->clean || !job->files || job->pre.device)
        return IOBM_OK;
    /* A write that never began has left an older run's files alone. */
    if (job->options->write && !job->written)
        return IOBM_OK;
    return guard_clean_all(job->comm, &job->map, job->options->file, &files,
                           &bytes, err);
}

/* The first thing that went wrong counts, but all of it is tried. */
static enum iobm_status finish_rank0(struct job *job, enum iobm_status outcome,
                                     const struct iobm_error *why,
                                     struct iobm_error *err)
{
    struct iobm_error other;
    enum iobm_status status =
        save_finish(&job->save, outcome_name(outcome),
                    outcome == IOBM_OK ? "" : why->text, err);
    enum iobm_status printed = IOBM_OK;

    if (job->unprinted.status == IOBM_OK) {
        printed = print_end(job, &other);
    } else if (outcome == IOBM_OK) {
        other = job->unprinted;
        printed = other.status;
    }
    if (status == IOBM_OK && printed != IOBM_OK) {
        status = printed;
        *err = other;
    }
    return status;
}

enum iobm_status job_end_all(struct job *job, enum iobm_status outcome,
                             const struct iobm_error *why,
                             struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;
    enum iobm_status cleaned;
    struct iobm_error other;

    atomic_store(&job->doing, JOB_END);
    watch_enter(&job->watch, WATCH_AROUND);
    if (job->comm->rank == 0)
        status = finish_rank0(job, outcome, why, err);
    status = par_agree_all(job->comm, status, NULL, err);
    watch_enter(&job->watch, WATCH_AROUND);
    if (status != IOBM_OK)
        err->rank = -1; /* only rank 0 could fail */
    cleaned = clean_up_all(job, &other);
    if (status == IOBM_OK && cleaned != IOBM_OK) {
        status = cleaned;
        *err = other;
    }
    return status;
}
