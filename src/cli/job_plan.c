/* SPDX-License-Identifier: BSD-3-Clause */

/* --dry-run: what a run would do, and how long it may take. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/job.h"

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

static void add_time(const struct job *job, const char *op, struct str *out)
{
    double bytes =
        (double)job->layout.total_bytes * (double)job->options->repeats;
    int64_t run = 0;
    double rate = earlier_rate(job, op, &run);

    if (rate > 0)
        str_addf(out, "%-6s about %.0f s at %.1f MiB/s, as run %lld had it\n",
                 op, bytes / rate, rate / 1048576.0, (long long)run);
    else
        str_addf(out, "%-6s about %.0f s at 1 GiB/s, %.0f s at 100 MiB/s\n", op,
                 bytes / 1073741824.0, bytes / 104857600.0);
}

static void add_files(const struct job *job, struct str *out)
{
    const struct layout *layout = &job->layout;
    int files = layout_files(layout);
    char total[64], each[64], transfer[64];

    units_size_exact(total, sizeof(total), layout->total_bytes);
    units_size_exact(each, sizeof(each), layout_part_bytes(layout, 0));
    units_size_exact(transfer, sizeof(transfer), layout->transfer_bytes);
    str_addf(out, "ranks  %d on %d node%s\n", job->comm->size, job->map.nodes,
             job->map.nodes == 1 ? "" : "s");
    str_addf(out, "total  %s\nrank   %s\neach   %s, %lld at most per rank\n",
             total, each, transfer, (long long)layout_max_ops(layout));
    if (files == 1)
        str_addf(out, "file   %s\n", job->options->file);
    else
        str_addf(out, "files  %d: %s.0 ... .%d\n", files, job->options->file,
                 files - 1);
    if (job->files && !job->pre.device) {
        char room[64];

        str_addf(out, "free   %s\n",
                 units_size_exact(room, sizeof(room), job->pre.free_bytes));
    }
}

enum iobm_status job_print_plan(const struct job *job, struct iobm_error *err)
{
    const struct run_options *o = job->options;
    struct str text = {0};
    enum iobm_status status;

    str_addf(&text, "dry run: nothing is written\n");
    str_addf(&text, "does   %s%s%s, %lld time%s, with %s%s\n",
             o->write ? "write" : "", o->write && o->read ? ", then " : "",
             o->read ? "read" : "", (long long)o->repeats,
             o->repeats == 1 ? "" : "s", job->measure.backend->name,
             o->direct ? " and O_DIRECT" : "");
    add_files(job, &text);
    if (o->write)
        add_time(job, "write", &text);
    if (o->read)
        add_time(job, "read", &text);
    str_addf(&text, "result %s\n", o->output);
    str_addf(&text, "checks passed on every rank\n");
    status = cli_print(&text, err);
    str_release(&text);
    return status;
}
