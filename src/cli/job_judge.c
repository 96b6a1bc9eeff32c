/* SPDX-License-Identifier: BSD-3-Clause */

/* The judgement of phases and repeats: see job_judge.h.  The rules are in
 * src/judge and src/stats. */

#include "cli/job_judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "judge/certificate.h"

static const char *const kinds[] = {"write", "read"};

/* ---- a phase */

/* The node with most ranks per core. */
static void find_crowd(const struct job *job, struct certificate_input *in)
{
    const struct run_record *record = &job->save.record;
    double worst = 0;

    for (size_t n = 0; n < record->node_count; n++) {
        const struct iobm_node_row *node = &record->nodes[n];
        double crowd = (double)node->ranks / (double)node->cores;

        if (node->cores <= 0 || crowd <= worst)
            continue;
        worst = crowd;
        in->crowded_ranks = node->ranks;
        in->crowded_cores = node->cores;
    }
}

/* What the run's exit status will be about. */
static void remember(struct job *job, const struct iobm_check_row *rows,
                     size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int level = certificate_rank(rows[i].result);
        char word[64];

        if (level < 2 || level < job->worst)
            continue;
        if (level > job->worst)
            str_release(&job->objections);
        job->worst = level;
        snprintf(word, sizeof(word), "%s %s", rows[i].op, rows[i].name);
        if (job->objections.text && strstr(job->objections.text, word))
            continue;
        str_addf(&job->objections, "%s%s", job->objections.length ? ", " : "",
                 word);
    }
}

enum iobm_status judge_phase(struct job *job, struct iobm_phase_row *row,
                             struct iobm_detail *detail, struct iobm_error *err)
{
    const struct run_options *o = job->options;
    struct iobm_check_row checks[CERTIFICATE_PHASE_MAX];
    struct certificate_input in = {
        .row = row,
        .storage = job->files,
        .mapped = job->measure.backend->caps & IOBM_CAP_MAPPED,
        .durable = o->sync != SYNC_NONE,
        .require_cold = o->cache == CACHE_REQUIRE_COLD,
        .result_beside = job->result_beside,
    };
    struct iobm_detail rows = {.checks = checks};

    find_crowd(job, &in);
    rows.check_count = certificate_phase(&in, checks);
    certificate_code(checks, rows.check_count, row->trust, row->checks,
                     sizeof(row->checks));
    remember(job, checks, rows.check_count);
    if (!iobm_detail_append(detail, &rows))
        return iobm_fail(err, IOBM_ENOMEM, "cannot keep the checks");
    return IOBM_OK;
}

/* ---- the repeats */

/* The complete and other phases of a kind, in order, as input; the arrays are
 * one allocation, to be freed by 'rate'. */
struct collected {
    double *rate, *bytes, *seconds;
    int64_t *repeat;
    size_t n;
};

static bool collect(const struct job *job, const char *op,
                    struct collected *out)
{
    const struct run_record *record = &job->save.record;
    size_t room = record->phase_count + 1;

    *out = (struct collected){0};
    out->rate = calloc(room, 3 * sizeof(*out->rate) + sizeof(*out->repeat));
    if (!out->rate)
        return false;
    out->bytes = out->rate + room;
    out->seconds = out->bytes + room;
    out->repeat = (int64_t *)(out->seconds + room);
    for (size_t i = 0; i < record->phase_count; i++) {
        const struct iobm_phase_row *p = &record->phases[i];

        if (strcmp(p->op, op) != 0)
            continue;
        out->rate[out->n] =
            strcmp(p->status, "complete") == 0 ? p->bw_wall_Bps : NAN;
        out->bytes[out->n] = (double)p->bytes;
        out->seconds[out->n] = p->seconds;
        out->repeat[out->n++] = p->repeat;
    }
    return true;
}

static void list_outliers(const struct collected *c, const bool *outlier,
                          char *text, size_t room)
{
    struct str list = {0};

    for (size_t i = 0; i < c->n; i++)
        if (outlier[i])
            str_addf(&list, "%s%lld", list.length ? ", " : "",
                     (long long)c->repeat[i] + 1);
    str_copy(text, room, str_text(&list));
    str_release(&list);
}

static void fill_summary(const char *op, const struct repeats *r,
                         const char *stopped, struct iobm_summary_row *row)
{
    *row = (struct iobm_summary_row){
        .repeats = (int64_t)(r->n + r->left_out),
        .left_out = (int64_t)r->left_out,
        .median_Bps = r->median,
        .low_Bps = r->low,
        .high_Bps = r->high,
        .confidence_pct = r->confidence_pct,
        .half_width_pct = r->half_width_pct,
        .mean_Bps = r->mean_rate,
        .best_Bps = r->best,
        .worst_Bps = r->worst,
        .cov_pct = r->cov_pct,
        .first_run = r->first_run,
        .first_run_pct = r->first_run_pct,
        .trend = r->trend,
        .trend_p = r->trend_p,
        .trend_pct = r->trend_pct,
        .two_modes = r->two_modes,
        .mode_low_Bps = r->mode_low,
        .mode_high_Bps = r->mode_high,
        .outliers = (int64_t)r->outliers,
    };
    str_copy(row->op, sizeof(row->op), op);
    str_copy(row->stopped, sizeof(row->stopped), stopped);
}

/* False when memory is short; '*there' false when no such phase was run. */
static bool sum_up(const struct job *job, const char *op, const char *stopped,
                   struct iobm_summary_row *row, bool *there)
{
    struct collected c;
    struct repeats repeats;
    bool *outlier;
    bool ok = collect(job, op, &c);

    *there = ok && c.n > 0;
    outlier = ok ? calloc(c.n + 1, sizeof(*outlier)) : NULL;
    if (outlier && *there) {
        const struct repeats_input in = {c.rate, c.bytes, c.seconds, c.n};

        ok = repeats_summarise(&in, outlier, &repeats);
        if (ok) {
            fill_summary(op, &repeats, stopped, row);
            list_outliers(&c, outlier, row->outlier_repeats,
                          sizeof(row->outlier_repeats));
        }
    }
    ok = ok && outlier;
    free(outlier);
    free(c.rate);
    return ok;
}

enum iobm_status judge_run(struct job *job, const char *stopped,
                           struct iobm_error *err)
{
    struct iobm_summary_row summaries[2];
    struct iobm_check_row checks[2 * CERTIFICATE_RUN_MAX];
    struct iobm_detail rows = {.summaries = summaries, .checks = checks};

    for (size_t k = 0; k < 2; k++) {
        struct iobm_summary_row *row = &summaries[rows.summary_count];
        bool there;

        if (!sum_up(job, kinds[k], stopped, row, &there))
            return iobm_fail(err, IOBM_ENOMEM, "cannot sum up the repeats");
        if (!there)
            continue;
        rows.summary_count++;
        rows.check_count += certificate_run(row, checks + rows.check_count);
    }
    remember(job, checks, rows.check_count);
    return save_detail(&job->save, &rows, err);
}

enum iobm_status judge_repeats(const struct job *job, int64_t spent_ns,
                               enum repeats_stop *stop, struct iobm_error *err)
{
    const struct run_options *o = job->options;

    *stop = REPEATS_PRECISE;
    for (size_t k = 0; k < 2; k++) {
        struct collected c;
        struct repeats repeats;
        struct repeats_input in;
        enum repeats_stop one = REPEATS_PRECISE;
        bool ok = collect(job, kinds[k], &c);

        in = (struct repeats_input){c.rate, c.bytes, c.seconds, c.n};
        if (ok && c.n > 0) {
            ok = repeats_summarise(&in, NULL, &repeats);
            one = ok ? repeats_decide(&repeats, o->precision_pct,
                                      (size_t)o->repeats, spent_ns,
                                      o->time_budget_ns)
                     : REPEATS_GO_ON;
        }
        free(c.rate);
        if (!ok)
            return iobm_fail(err, IOBM_ENOMEM, "cannot sum up the repeats");
        /* All must be precise; a limit ends them all. */
        if (one == REPEATS_CAP || one == REPEATS_BUDGET) {
            *stop = one;
            return IOBM_OK;
        }
        if (one == REPEATS_GO_ON)
            *stop = REPEATS_GO_ON;
    }
    return IOBM_OK;
}

enum iobm_status judge_outcome(const struct job *job, struct iobm_error *err)
{
    if (job->worst < (job->options->strict ? 2 : 3))
        return IOBM_OK;
    return iobm_fail(err, IOBM_EINVALID,
                     "not to be quoted: %s: %s (see the checks)",
                     job->worst == 3 ? "invalid" : "--strict, and a warning",
                     str_text(&job->objections));
}
