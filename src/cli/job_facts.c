/* SPDX-License-Identifier: BSD-3-Clause */

/* The environment of a run: hosts, mount, libraries, job, data. */

#include "cli/job_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/parse.h"
#include "engine/data.h"
#include "env/host.h"
#include "env/mount.h"
#include "iobm-config.h"

#define DATA_SAMPLE_BYTES (INT64_C(1) << 20)

static const char *get_env(const char *name)
{
    return getenv(name);
}

/* The command as it could be typed again; words with odd characters are put
 * in single quotes. */
static void quote_word(struct str *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "%+,-./:=@_";

    if (*word && strspn(word, plain) == strlen(word)) {
        str_add(out, word);
        return;
    }
    str_add(out, "'");
    for (; *word; word++) {
        if (*word == '\'')
            str_add(out, "'\\''");
        else
            str_addn(out, word, 1);
    }
    str_add(out, "'");
}

static void record_argv(struct run_record *record, int argc, char **argv)
{
    struct str text = {0};

    /* The command was taken off in front of the verb. */
    if (argc > 0 && strcmp(argv[0], "run") == 0)
        str_add(&text, "iobm ");
    for (int i = 0; i < argc; i++) {
        if (i > 0)
            str_add(&text, " ");
        quote_word(&text, argv[i]);
    }
    snprintf(record->argv, sizeof(record->argv), "%s", str_text(&text));
    str_release(&text);
}

/* Rank 0: how incompressible the data are that this run would write. */
static enum iobm_status record_data(struct job *job, struct kvlist *out,
                                    struct iobm_error *err)
{
    struct data data = {0};
    double ratio = 0, duplicates = 0;
    int64_t part = layout_part_bytes(&job->layout, 0);
    enum iobm_status status;

    if (!job->options->write || part <= 0)
        return IOBM_OK;
    if (part > DATA_SAMPLE_BYTES)
        part = DATA_SAMPLE_BYTES;
    status = data_init(&data, job->seed, 0, part, part, err);
    if (status == IOBM_OK) {
        data_measure(&data, part, &ratio, &duplicates);
        status = kv_setf(out, err, "data.zlib1_ratio", "%.4f", ratio);
    }
    if (status == IOBM_OK)
        status = kv_setf(out, err, "data.duplicate_share", "%.4f", duplicates);
    if (status == IOBM_OK)
        status = kv_setf(out, err, "data.seed", "%llu",
                         (unsigned long long)job->seed);
    data_release(&data);
    return status;
}

static enum iobm_status record_mount(struct job *job, struct kvlist *out,
                                     struct iobm_error *err)
{
    const char *path =
        job->pre.device ? job->options->file : job->pre.directory;
    struct mount_facts facts;
    enum iobm_status status;

    if (!job->files)
        return IOBM_OK;
    status = mount_describe(path, &facts, err);
    if (status != IOBM_OK)
        return status;
    memcpy(job->fs_type, facts.fs_type, sizeof(job->fs_type));
    job->memory = facts.memory;
    if (facts.memory)
        save_log(&job->save, "warn",
                 "'%s' is %s: memory was measured, not storage", path,
                 facts.fs_type);
    return mount_record(path, &facts, out, err);
}

/* Rank 0. */
static enum iobm_status record_environment(struct job *job,
                                           struct iobm_error *err)
{
    struct kvlist *out = &job->save.record.environment;
    enum iobm_status status = record_mount(job, out, err);

    if (status == IOBM_OK)
        status = par_facts(out, err);
    if (status == IOBM_OK)
        status = store_library_facts(out, err);
    if (status == IOBM_OK)
        status = host_job(get_env, out, err);
    if (status == IOBM_OK)
        status = host_environment(environ, out, err);
    if (status == IOBM_OK)
        status = record_data(job, out, err);
    if (status == IOBM_OK)
        status = kv_setf(out, err, "build.cc", "%s", IOBM_BUILD_CC);
    if (status == IOBM_OK)
        status = kv_setf(out, err, "build.cflags", "%s", IOBM_BUILD_CFLAGS);
    return status;
}

/* The nodes' rows, from each node's first rank. */
static enum iobm_status gather_nodes_all(struct job *job,
                                         struct iobm_error *err)
{
    struct iobm_node_row mine;
    struct iobm_node_row *all = NULL;
    struct run_record *record = &job->save.record;
    int rank = job->comm->rank;
    enum iobm_status status = IOBM_OK;

    memset(&mine, 0, sizeof(mine));
    if (job->map.leads_node)
        host_describe("", &mine);
    mine.node = job->map.node_of[rank];
    mine.ranks = job->map.node_ranks[mine.node];
    if (rank == 0) {
        all = calloc((size_t)job->comm->size, sizeof(*all));
        record->nodes = calloc((size_t)job->map.nodes, sizeof(*all));
        if (!all || !record->nodes)
            status = iobm_fail(err, IOBM_ENOMEM, "cannot list the nodes");
    }
    status = par_agree_all(job->comm, status, NULL, err);
    if (status == IOBM_OK)
        status = par_gather_all(job->comm, &mine, sizeof(mine), all, err);
    if (status == IOBM_OK && rank == 0) {
        for (int n = 0; n < job->map.nodes; n++)
            record->nodes[n] = all[job->map.node_leader[n]];
        record->node_count = (size_t)job->map.nodes;
    }
    free(all);
    return status;
}

/* How many ranks read what another node wrote; all ranks learn it. */
static enum iobm_status count_moved_all(struct job *job, struct iobm_error *err)
{
    const struct manifest *m =
        job->options->write ? &job->manifest : &job->pre.manifest;
    int rank = job->comm->rank;
    const char *here = job->map.host[job->map.node_of[rank]];
    double moved = 0;
    enum iobm_status status;

    if (m->host && job->part_of[rank] < m->layout.parts)
        moved =
            strncmp(m->host[job->part_of[rank]], here, sizeof(m->host[0])) != 0;
    status = par_sum_all(job->comm, &moved, 1, err);
    job->moved_files = (int64_t)moved;
    return status;
}

/* Rank 0: what the run is, as told. */
static enum iobm_status record_options(struct job *job, int argc, char **argv,
                                       struct iobm_error *err)
{
    const struct run_options *o = job->options;
    struct run_record *record = &job->save.record;
    enum iobm_status status;

    memcpy(record->run_id, job->manifest.run_id, sizeof(record->run_id));
    snprintf(record->label, sizeof(record->label), "%s",
             o->label ? o->label : "");
    snprintf(record->version, sizeof(record->version), "%s", IOBM_VERSION);
    record_argv(record, argc, argv);
    status = kv_append(&record->tags, &o->tags, err);
    if (status == IOBM_OK)
        status = opt_record(run_option_table, o, &record->config, err);
    if (status == IOBM_OK)
        status = kv_setf(&record->config, err, "ranks", "%d", job->comm->size);
    return status;
}

enum iobm_status facts_gather_all(struct job *job, int argc, char **argv,
                                  struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;

    if (job->comm->rank == 0) {
        status = record_options(job, argc, argv, err);
        if (status == IOBM_OK)
            status = record_environment(job, err);
    }
    status = par_agree_all(job->comm, status, NULL, err);
    if (status == IOBM_OK)
        status = gather_nodes_all(job, err);
    if (status == IOBM_OK)
        status = count_moved_all(job, err);
    return status;
}

struct put_arg {
    struct kvlist *out;
    struct iobm_error *err;
    enum iobm_status status;
};

static void put_fact(void *arg, const char *key, const char *value)
{
    struct put_arg *put = arg;

    if (put->status == IOBM_OK)
        put->status = kv_set(put->out, key, value, put->err);
}

enum iobm_status facts_backend(struct job *job, struct iobm_error *err)
{
    const struct iobm_backend *backend = job->measure.backend;
    struct kvlist facts = {0};
    struct put_arg put = {&facts, err, IOBM_OK};

    if (job->facts_known || !backend->facts)
        return IOBM_OK;
    job->facts_known = true;
    backend->facts(job->measure.state, put_fact, &put);
    if (put.status == IOBM_OK)
        put.status = kv_append(&job->save.record.environment, &facts, err);
    if (put.status == IOBM_OK)
        put.status = save_facts(&job->save, &facts, err);
    kv_release(&facts);
    return put.status;
}
