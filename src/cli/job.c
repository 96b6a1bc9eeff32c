/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The run on all ranks: set up, check, begin.  The phases are in
 * job_phases.c, the end in job_end.c, what the second thread does in
 * job_watch.c, the environment that goes into the result in job_facts.c.
 */

#include "cli/job.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/rng.h"
#include "base/str.h"
#include "cli/job_evidence.h"
#include "cli/job_facts.h"
#include "env/mount.h"

/* What saving may take rank 0 when the end comes early. */
#define SAVING_NS INT64_C(1000000000)

/* Ranks give up one after the other, so that the first one to do so ends the
 * others before they say the same. */
#define TURN_NS INT64_C(100000000)

static enum read_order pick_order(const struct run_options *options,
                                  const struct node_map *map)
{
    switch (options->order) {
    case ORDER_SAME:
        return READ_SAME;
    case ORDER_SHIFT:
        return READ_SHIFT;
    case ORDER_RANDOM:
        return READ_RANDOM;
    default:
        return map->nodes > 1 ? READ_SHIFT : READ_SAME;
    }
}

/* One seed and one identity for all ranks. */
static enum iobm_status share_identity_all(struct job *job,
                                           struct iobm_error *err)
{
    struct {
        uint64_t seed;
        char run_id[40];
    } shared = {0};
    enum iobm_status status;

    shared.seed =
        job->options->seed >= 0 ? (uint64_t)job->options->seed : rng_seed();
    rng_uuid(shared.run_id);
    status = par_bcast_all(job->comm, &shared, sizeof(shared), 0, err);
    job->seed = shared.seed;
    memcpy(job->manifest.run_id, shared.run_id, sizeof(shared.run_id));
    return status;
}

static enum iobm_status find_backend(struct job *job, struct iobm_error *err)
{
    const char *name = job->options->api ? job->options->api : "posix";
    const struct iobm_backend *backend = iobm_backend_find(name);

    if (!backend)
        return iobm_fail(err, IOBM_EUSAGE,
                         "this iobm has no back end '%s' (iobm --version "
                         "lists those it has)",
                         name);
    if (job->options->shared && !(backend->caps & IOBM_CAP_SHARED_FILE))
        return iobm_fail(err, IOBM_EUSAGE, "back end '%s' cannot share a file",
                         name);
    job->measure.backend = backend;
    job->files = (backend->caps & IOBM_CAP_PERSISTENT) != 0;
    return IOBM_OK;
}

/* Rank 0: the text of --hints-file, to be freed; NULL when not given. */
static enum iobm_status read_hints(const char *path, char **text,
                                   struct iobm_error *err)
{
    struct str out = {0};
    char line[1024];
    FILE *file;

    file = fopen(path, "r");
    if (!file)
        return iobm_fail_errno(err, errno, "cannot open '%s'", path);
    while (fgets(line, sizeof(line), file))
        str_add(&out, line);
    if (ferror(file) || out.failed) {
        int why = out.failed ? ENOMEM : errno;

        fclose(file);
        str_release(&out);
        return iobm_fail_errno(err, why, "cannot read '%s'", path);
    }
    fclose(file);
    *text = strdup(str_text(&out));
    str_release(&out);
    return *text ? IOBM_OK
                 : iobm_fail(err, IOBM_ENOMEM, "cannot read '%s'", path);
}

/* KEY=VALUE lines; empty ones and those that begin with # say nothing. */
static enum iobm_status parse_hints(const char *path, char *text,
                                    struct kvlist *hints,
                                    struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;
    char *rest = text;
    char *line;

    for (int n = 1; status == IOBM_OK && (line = strsep(&rest, "\n")); n++) {
        line[strcspn(line, "\r")] = '\0';
        line += strspn(line, " \t");
        if (*line == '\0' || *line == '#')
            continue;
        status = kv_parse(hints, line, err);
        if (status != IOBM_OK)
            (void)iobm_context(err, status, "'%s' line %d", path, n);
    }
    return status;
}

static enum iobm_status gather_hints_all(struct job *job,
                                         struct iobm_error *err)
{
    const char *path = job->options->hints_file;
    char *text = NULL;
    enum iobm_status status = kv_append(&job->hints, &job->options->hints, err);

    if (!path)
        return status;
    if (status == IOBM_OK && job->comm->rank == 0)
        status = read_hints(path, &text, err);
    status = par_agree_all(job->comm, status, NULL, err);
    if (status == IOBM_OK)
        status = par_bcast_text_all(job->comm, &text, err);
    if (status == IOBM_OK)
        status = parse_hints(path, text, &job->hints, err);
    free(text);
    return status;
}

static enum iobm_status order_reads(struct job *job, struct iobm_error *err)
{
    job->order = pick_order(job->options, &job->map);
    job->part_of = calloc((size_t)job->comm->size, sizeof(*job->part_of));
    if (!job->part_of)
        return iobm_fail(err, IOBM_ENOMEM, "cannot allocate the read order");
    nodes_read_order(&job->map, job->order, job->seed, job->part_of);
    return IOBM_OK;
}

/* The layout as asked for; a read may take its size from the manifest. */
static enum iobm_status ask_layout(struct job *job, struct iobm_error *err)
{
    const struct run_options *o = job->options;

    if (o->size_bytes >= 0)
        return run_options_layout(o, job->comm->size, &job->layout, err);
    job->layout.total_bytes = -1;
    job->layout.shared = o->shared;
    job->layout.strided = o->layout == LAYOUT_STRIDED;
    job->layout.parts = job->comm->size;
    job->layout.transfer_bytes = o->transfer_bytes;
    job->layout.block_bytes = o->block_bytes > 0 ? o->block_bytes : 0;
    job->layout.grain_bytes = 1;
    return IOBM_OK;
}

enum iobm_status job_start(struct job *job, struct iobm_error *err)
{
    const struct watch_calls calls = job_watch_calls(job);

    job->launcher_rank = par_launcher_rank();
    job->alignment_bytes = 1;
    save_init(&job->save);
    /* Rank 0 saves first; the others' leaving would end it. */
    return watch_start(&job->watch, &calls,
                       job->launcher_rank > 0 ? SAVING_NS : 0, err);
}

enum iobm_status job_init_all(struct job *job,
                              const struct run_options *options,
                              const struct iobm_comm *comm,
                              struct iobm_error *err)
{
    enum iobm_status status;

    job->options = options;
    job->comm = comm;
    status = find_backend(job, err);
    if (status == IOBM_OK)
        status = gather_hints_all(job, err);
    status = par_agree_all(comm, status, NULL, err);
    if (status == IOBM_OK)
        status = share_identity_all(job, err);
    if (status == IOBM_OK)
        status = nodes_init_all(comm, &job->map, err);
    if (status != IOBM_OK)
        return status;
    status = order_reads(job, err);
    if (status == IOBM_OK)
        status = ask_layout(job, err);
    return par_agree_all(comm, status, NULL, err);
}

void job_release(struct job *job)
{
    const struct iobm_backend *backend = job->measure.backend;

    watch_end(&job->watch); /* it reads what is freed below */
    if (job->measure.state && backend->stop)
        backend->stop(job->measure.state);
    free(job->measure.state);
    if (job->timeline.comm)
        timeline_release(&job->timeline);
    if (job->stop.comm.size > 0)
        stop_release(&job->stop);
    nodes_release(&job->map);
    manifest_release(&job->pre.manifest);
    manifest_release(&job->manifest);
    kv_release(&job->hints);
    free(job->part_of);
    free(job->phase_path[IOBM_OP_WRITE]);
    free(job->phase_path[IOBM_OP_READ]);
    save_release(&job->save);
    str_release(&job->objections);
}

void job_name_rank(const struct job *job, struct iobm_error *err)
{
    int rank = err->rank;

    err->rank = -1;
    if (rank < 0 || rank >= job->map.ranks || err->status == IOBM_EUSAGE ||
        err->status == IOBM_EINVALID)
        return;
    (void)iobm_context(err, err->status, "rank %d (%s)", rank,
                       job->map.host[job->map.node_of[rank]]);
}

/* A directory that is there: that of the test files. */
static const char *place(const struct job *job)
{
    return job->pre.device ? job->options->file : job->pre.directory;
}

/* Rank 0: what O_DIRECT needs, of a file that is read or where files are to
 * be. */
static enum iobm_status find_alignment(struct job *job, struct iobm_error *err)
{
    const struct run_options *o = job->options;
    enum iobm_status status;
    char *file;

    if (o->write || job->pre.device)
        return mount_direct_alignment(place(job), !o->dry_run,
                                      &job->alignment_bytes, err);
    file = manifest_file_path(o->file, &job->layout, 0);
    if (!file)
        return iobm_fail(err, IOBM_ENOMEM, "cannot name a test file");
    status = mount_direct_alignment(file, false, &job->alignment_bytes, err);
    free(file);
    return status;
}

/* The same for all ranks. */
static enum iobm_status check_direct_all(struct job *job,
                                         struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;

    if (!job->options->direct || !job->files)
        return IOBM_OK;
    if (job->comm->rank == 0)
        status = find_alignment(job, err);
    status = par_agree_all(job->comm, status, NULL, err);
    if (status == IOBM_OK)
        status = par_bcast_all(job->comm, &job->alignment_bytes,
                               sizeof(job->alignment_bytes), 0, err);
    if (status == IOBM_OK)
        status = run_options_direct(&job->layout, job->alignment_bytes, err);
    if (status == IOBM_OK && job->layout.shared && !job->layout.strided &&
        job->options->write) {
        job->layout.grain_bytes = job->alignment_bytes;
        status = layout_check(&job->layout, err);
    }
    return status;
}

/* A pure read: the manifest says what is there. */
static enum iobm_status adopt_manifest(struct job *job, struct iobm_error *err)
{
    int64_t transfer_bytes = job->layout.transfer_bytes;

    if (job->options->write || !job->pre.ours) {
        if (job->layout.total_bytes < 0)
            return iobm_fail(err, IOBM_EUSAGE,
                             "'%s' has no manifest: say with -n how much to "
                             "read",
                             job->options->file);
        if (job->options->verify && !job->options->write)
            return iobm_fail(err, IOBM_EUSAGE,
                             "'%s' has no manifest: --verify cannot know what "
                             "is in it",
                             job->options->file);
        return layout_check(&job->layout, err);
    }
    job->layout = job->pre.manifest.layout;
    job->layout.transfer_bytes = transfer_bytes;
    job->seed = job->pre.manifest.seed;
    return layout_check(&job->layout, err);
}

static enum iobm_status check_files_all(struct job *job, struct iobm_error *err)
{
    const struct run_options *o = job->options;
    const struct precheck_input in = {
        .path = o->file,
        .output = strcmp(o->output, "none") == 0 ? NULL : o->output,
        .layout = &job->layout,
        .write = o->write,
        .read = o->read,
        .force = o->force,
        .destroy_data = o->destroy_data,
        .dry_run = o->dry_run,
        .cross_node =
            o->read && (o->order == ORDER_SHIFT || o->order == ORDER_RANDOM),
        .repeats = (int)o->repeats,
    };
    enum iobm_status status =
        precheck_all(job->comm, &job->map, &in, &job->pre, err);

    if (status != IOBM_OK)
        return status;
    /* What another node wrote cannot be read where each has its own folder. */
    if (o->order == ORDER_AUTO && !job->pre.shared_directory) {
        job->order = READ_SAME;
        nodes_read_order(&job->map, job->order, job->seed, job->part_of);
    }
    if (job->pre.device && !(job->measure.backend->caps & IOBM_CAP_DEVICE))
        return iobm_fail(err, IOBM_EUSAGE,
                         "back end '%s' cannot use a block device",
                         job->measure.backend->name);
    return adopt_manifest(job, err);
}

enum iobm_status job_check_all(struct job *job, struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;

    if (job->files)
        status = check_files_all(job, err);
    else if (job->layout.total_bytes < 0)
        status = iobm_fail(err, IOBM_EUSAGE, "say with -n how much to read");
    if (status == IOBM_OK)
        status = check_direct_all(job, err);
    if (status == IOBM_OK && job->comm->rank == 0 &&
        strcmp(job->options->output, "none") != 0)
        status = store_check(job->options->output, err);
    return par_agree_all(job->comm, status, NULL, err);
}

/* The manifest that stands for what this run writes. */
static enum iobm_status begin_manifest(struct job *job, struct iobm_error *err)
{
    struct manifest *m = &job->manifest;

    m->seed = job->seed;
    m->layout = job->layout;
    snprintf(m->state, sizeof(m->state), "writing");
    clock_iso8601(m->written_utc, sizeof(m->written_utc), clock_utc_ns());
    m->host = calloc((size_t)job->comm->size, sizeof(*m->host));
    if (!m->host)
        return iobm_fail(err, IOBM_ENOMEM, "cannot allocate the manifest");
    for (int r = 0; r < job->comm->size; r++)
        memcpy(m->host[r], job->map.host[job->map.node_of[r]],
               sizeof(m->host[r]));
    if (job->pre.ours)
        manifest_inherit_seeds(m, &job->pre.manifest);
    return IOBM_OK;
}

static enum iobm_status begin_backend(struct job *job, struct iobm_error *err)
{
    const struct iobm_backend *backend = job->measure.backend;
    const struct iobm_backend_env env = {
        .comm = job->comm,
        .shared = job->layout.shared,
        .collective = job->options->collective,
        .hints = &job->hints,
    };

    enum iobm_status status = IOBM_OK;

    job->measure.state = calloc(1, backend->state_size + 1);
    if (!job->measure.state)
        return iobm_fail(err, IOBM_ENOMEM, "cannot allocate the back end");
    if (backend->start)
        status = backend->start(job->measure.state, &env, err);
    if (status != IOBM_OK) { /* then there is nothing to stop */
        free(job->measure.state);
        job->measure.state = NULL;
    }
    return status;
}

static enum iobm_status begin_engine_all(struct job *job,
                                         struct iobm_error *err)
{
    struct measure *m = &job->measure;
    int64_t timeout_ns = job->options->watchdog_ns;
    int64_t turn_ns = job->comm->rank * TURN_NS;
    enum iobm_status status = stop_init_all(&job->stop, job->comm, err);

    if (status == IOBM_OK)
        status = timeline_init_all(&job->timeline, job->comm, &job->map, err);
    if (status != IOBM_OK)
        return status;
    if (timeout_ns > 0)
        timeout_ns += turn_ns < timeout_ns / 2 ? turn_ns : timeout_ns / 2;
    watch_enter(&job->watch, WATCH_AROUND);
    watch_attach(&job->watch, &job->stop, timeout_ns);
    /* A node that is gone takes all of its ranks along. */
    status = beat_init(&job->stop.beat, &job->stop.comm,
                       job->map.nodes > 1 ? job->map.node_leader[1] : 1,
                       job->options->watchdog_ns, err);
    job->stop.beat.silent = job_on_silent;
    job->stop.beat.arg = job;
    status = par_agree_all(job->comm, status, NULL, err);
    if (status != IOBM_OK)
        return status;
    m->comm = job->comm;
    m->map = &job->map;
    m->timeline = &job->timeline;
    m->stop = &job->stop;
    m->watch = &job->watch;
    m->workload = iobm_workload_find("sequential");
    return IOBM_OK;
}

/* The file that this rank works on in a phase of 'kind'. */
static enum iobm_status name_file(struct job *job, enum iobm_op_kind kind,
                                  struct iobm_error *err)
{
    int rank = job->comm->rank;
    int part = kind == IOBM_OP_WRITE ? rank : job->part_of[rank];
    const char *file = job->options->file;
    char *path = job->files ? manifest_file_path(file, &job->layout, part)
                            : strdup(file);

    if (!path)
        return iobm_fail(err, IOBM_ENOMEM, "cannot name a test file");
    job->phase_path[kind] = path;
    return IOBM_OK;
}

/* What can fail on one rank alone and needs no other. */
static enum iobm_status begin_own(struct job *job, struct iobm_error *err)
{
    enum iobm_status status = begin_manifest(job, err);

    if (status == IOBM_OK)
        status = name_file(job, IOBM_OP_WRITE, err);
    if (status == IOBM_OK)
        status = name_file(job, IOBM_OP_READ, err);
    return status;
}

/* A cost as a whole number of 1/1000, which can be compared over the ranks;
 * INT64_MIN: not known. */
static int64_t pack_cost(double cost)
{
    return isfinite(cost) && fabs(cost) < 1e15 ? (int64_t)(cost * 1e3)
                                               : INT64_MIN;
}

static double unpack_cost(int64_t packed)
{
    return packed == INT64_MIN ? NAN : (double)packed / 1e3;
}

/* What iobm costs: the most of any node, as its first rank measures it. */
static enum iobm_status measure_cost_all(struct job *job,
                                         struct iobm_error *err)
{
    struct cost mine = {0};
    int64_t most[3] = {INT64_MIN, INT64_MIN, INT64_MIN};
    enum iobm_status status = IOBM_OK;

    if (job->map.leads_node)
        status = cost_measure(&mine, err);
    status = par_agree_all(job->comm, status, NULL, err);
    if (status != IOBM_OK)
        return status;
    if (job->map.leads_node) {
        most[0] = pack_cost(mine.timer_ns);
        most[1] = pack_cost(mine.op_ns);
        most[2] = pack_cost(-mine.memcpy_Bps); /* the least of these */
    }
    status = par_max_all(job->comm, most, 3, err);
    job->cost = (struct cost){unpack_cost(most[0]), unpack_cost(most[1]),
                              -unpack_cost(most[2])};
    return status;
}

/* Rank 0: whether writing the result disturbs what is measured. */
static bool results_beside(const struct job *job)
{
    char directory[PATH_MAX];
    struct stat results, files;

    if (!job->files || strcmp(job->options->output, "none") == 0 ||
        job->pre.device)
        return false;
    str_copy(directory, sizeof(directory), job->options->output);
    return stat(dirname(directory), &results) == 0 &&
           stat(job->pre.directory, &files) == 0 &&
           results.st_dev == files.st_dev;
}

enum iobm_status job_begin_all(struct job *job, int argc, char **argv,
                               struct iobm_error *err)
{
    enum iobm_status status = begin_own(job, err);

    if (status == IOBM_OK)
        status = evidence_init(job, err);
    status = par_agree_all(job->comm, status, NULL, err);
    if (status == IOBM_OK)
        status = measure_cost_all(job, err);
    if (status == IOBM_OK && job->comm->rank == 0)
        job->result_beside = results_beside(job);
    if (status == IOBM_OK)
        status = facts_gather_all(job, argc, argv, err);
    if (status != IOBM_OK)
        return status;
    if (job->comm->rank == 0)
        status = save_begin(&job->save, job->options->output, err);
    status = par_agree_all(job->comm, status, NULL, err);
    if (status != IOBM_OK)
        return status;
    job->recording = true;
    status = begin_engine_all(job, err);
    if (status != IOBM_OK)
        return status;
    status = begin_backend(job, err);
    return par_agree_all(job->comm, status, NULL, err);
}
