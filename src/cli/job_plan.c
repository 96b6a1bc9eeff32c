/* SPDX-License-Identifier: BSD-3-Clause */

/* --dry-run: what a run would do, and how long it may take. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/job.h"
#include "report/lines.h"

/* The wall bandwidth of the newest complete phase of the same kind, at the
 * same place, in the result file; 0 when there is none. */
static double earlier_rate(const struct job *job, const char *op, int64_t *run)
{
    struct run_record *runs = NULL;
    struct iobm_error err;
    size_t count = 0;
    double rate = 0;

    if (store_list(job->options->output, &runs, &count, &err) != IOBM_OK)
        return 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < runs[i].phase_count; k++) {
            const struct iobm_phase_row *p = &runs[i].phases[k];

            if (strcmp(p->op, op) == 0 && p->bw_wall_Bps > 0 &&
                strcmp(p->status, "complete") == 0 &&
                strcmp(p->api, job->measure.backend->name) == 0 &&
                p->direct == job->options->direct &&
                strcmp(p->access,
                       job->layout.shared ? "shared" : "file-per-rank") == 0 &&
                strcmp(p->path, job->options->file) == 0) {
                rate = p->bw_wall_Bps;
                *run = runs[i].number;
            }
        }
        run_record_release(&runs[i]);
    }
    free(runs);
    return rate;
}

/* "48 s", "12.5 min", "3.2 h", "9 days". */
static const char *duration(char *text, size_t room, double seconds)
{
    if (seconds < 0.95)
        snprintf(text, room, "less than 1 s");
    else if (seconds < 120)
        snprintf(text, room, "%.0f s", seconds);
    else if (seconds < 7200)
        snprintf(text, room, "%.1f min", seconds / 60);
    else if (seconds < 172800)
        snprintf(text, room, "%.1f h", seconds / 3600);
    else
        snprintf(text, room, "%.0f days", seconds / 86400);
    return text;
}

static void add_time(const struct job *job, const char *op, struct str *out)
{
    double bytes =
        (double)job->layout.total_bytes * (double)job->options->repeats;
    char first[64], second[64];
    int64_t run = 0;
    double rate = earlier_rate(job, op, &run);

    if (rate > 0)
        str_addf(out, "%-9s %s at %.1f MiB/s, as run %lld had it\n", op,
                 duration(first, sizeof(first), bytes / rate), rate / 1048576.0,
                 (long long)run);
    else
        str_addf(out, "%-9s %s at 1 GiB/s, %s at 100 MiB/s\n", op,
                 duration(first, sizeof(first), bytes / 1073741824.0),
                 duration(second, sizeof(second), bytes / 104857600.0));
}

static void add_path(const char *what, const char *path, const char *behind,
                     struct str *out)
{
    size_t column = 10, end = strlen(behind);

    str_addf(out, "%-9s ", what);
    line_short(out, path, strlen(path) + 1, LINE_COLUMNS - column - end);
    str_addf(out, "%s\n", behind);
}

static void add_files(const struct job *job, struct str *out)
{
    const struct layout *layout = &job->layout;
    int files = layout_files(layout);
    char text[64];

    str_addf(out, "ranks     %d on %d node%s\n", job->comm->size,
             job->map.nodes, job->map.nodes == 1 ? "" : "s");
    str_addf(out, "total     %s\n",
             units_size_exact(text, sizeof(text), layout->total_bytes));
    str_addf(
        out, "per rank  %s\n",
        units_size_exact(text, sizeof(text), layout_part_bytes(layout, 0)));
    str_addf(out, "transfer  %s, %lld per rank\n",
             units_size_exact(text, sizeof(text), layout->transfer_bytes),
             (long long)layout_max_ops(layout));
    if (!job->files)
        return;
    if (layout->shared)
        add_path("file", job->options->file, "", out);
    else if (files == 1)
        add_path("file", job->options->file, ".0", out);
    else {
        snprintf(text, sizeof(text), ".0 ... .%d", files - 1);
        add_path("files", job->options->file, text, out);
    }
    if (job->pre.free_bytes >= 0 && job->options->write && !job->pre.device)
        str_addf(out, "free      %s\n",
                 units_size_exact(text, sizeof(text), job->pre.free_bytes));
}

enum iobm_status job_print_plan(const struct job *job, struct iobm_error *err)
{
    const struct run_options *o = job->options;
    struct str text = {0};
    enum iobm_status status;

    str_addf(&text, "dry run: nothing is written\n");
    str_addf(&text, "does      %s%s%s, %lld time%s, with %s%s\n",
             o->write ? "write" : "", o->write && o->read ? ", then " : "",
             o->read ? "read" : "", (long long)o->repeats,
             o->repeats == 1 ? "" : "s", job->measure.backend->name,
             o->direct ? " and O_DIRECT" : "");
    add_files(job, &text);
    if (o->write)
        add_time(job, "write", &text);
    if (o->read)
        add_time(job, "read", &text);
    add_path("result", o->output, "", &text);
    str_addf(&text, "checks passed on every rank\n");
    status = cli_print(&text, err);
    str_release(&text);
    return status;
}
