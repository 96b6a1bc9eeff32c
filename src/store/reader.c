/* SPDX-License-Identifier: BSD-3-Clause */

/* Runs out of result files and partial files; nothing is written. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/detail_tables.h"
#include "store/h5.h"
#include "store/run_group.h"
#include "store/schema.h"
#include "store/store.h"
#include "store/target.h"

void run_record_release(struct run_record *record)
{
    kv_release(&record->config);
    kv_release(&record->tags);
    kv_release(&record->environment);
    free(record->nodes);
    free(record->phases);
    free(record->ranks);
    free(record->clocks);
    free(record->log);
    iobm_detail_release(&record->detail);
    memset(record, 0, sizeof(*record));
}

/* The attributes of a group that may be missing. */
static enum iobm_status read_list(hid_t run, const char *name,
                                  struct kvlist *list, struct iobm_error *err)
{
    enum iobm_status status;
    hid_t group;

    if (H5Lexists(run, name, H5P_DEFAULT) <= 0)
        return IOBM_OK;
    group = H5Gopen2(run, name, H5P_DEFAULT);
    if (group < 0)
        return h5_fail(err, "cannot open group '%s'", name);
    status = h5_get_list(group, list, err);
    h5_release(group);
    return status;
}

static enum iobm_status read_nodes(hid_t run, struct run_record *record,
                                   struct iobm_error *err)
{
    enum iobm_status status;
    hid_t group;

    if (H5Lexists(run, "environment", H5P_DEFAULT) <= 0)
        return IOBM_OK;
    group = H5Gopen2(run, "environment", H5P_DEFAULT);
    if (group < 0)
        return h5_fail(err, "cannot open group 'environment'");
    status = table_read(group, &table_nodes, (void **)&record->nodes,
                        &record->node_count, err);
    h5_release(group);
    return status;
}

/* What store_list() gives of a run. */
static enum iobm_status read_head(hid_t run, struct run_record *record,
                                  struct iobm_error *err)
{
    enum iobm_status status;

    run_get_attributes(run, record);
    status = read_list(run, "config", &record->config, err);
    if (status == IOBM_OK)
        status = read_list(run, "tags", &record->tags, err);
    if (status == IOBM_OK)
        status = read_list(run, "environment", &record->environment, err);
    if (status == IOBM_OK)
        status = read_nodes(run, record, err);
    if (status == IOBM_OK)
        status = table_read(run, &table_phases, (void **)&record->phases,
                            &record->phase_count, err);
    return status;
}

static enum iobm_status read_rest(hid_t run, struct run_record *record,
                                  struct iobm_error *err)
{
    enum iobm_status status = table_read(
        run, &table_ranks, (void **)&record->ranks, &record->rank_count, err);

    if (status == IOBM_OK)
        status = table_read(run, &table_clock, (void **)&record->clocks,
                            &record->clock_count, err);
    if (status == IOBM_OK)
        status = table_read(run, &table_log, (void **)&record->log,
                            &record->log_count, err);
    if (status == IOBM_OK)
        status = detail_read(run, &record->detail, err);
    return status;
}

static enum iobm_status read_run(hid_t file, const struct run_name *name,
                                 bool whole, struct run_record *record,
                                 struct iobm_error *err)
{
    hid_t run = -1;
    enum iobm_status status = run_open(file, name->text, &run, err);

    memset(record, 0, sizeof(*record));
    if (status)
        return status;
    status = read_head(run, record, err);
    if (status == IOBM_OK && whole)
        status = read_rest(run, record, err);
    h5_release(run);
    if (status) {
        run_record_release(record);
        return iobm_context(err, status, "run '%s'", name->text);
    }
    memcpy(record->name, name->text, sizeof(name->text));
    return IOBM_OK;
}

/* Open a file and list its runs. */
static enum iobm_status open_runs(const char *path, hid_t *file,
                                  struct run_name **names, size_t *count,
                                  struct iobm_error *err)
{
    enum iobm_status status;

    h5_start();
    *file = -1;
    *names = NULL;
    *count = 0;
    status = target_open(path, false, file, err);
    if (status)
        return status;
    status = run_names(*file, names, count, err);
    return status ? iobm_context(err, status, "cannot read '%s'", path)
                  : IOBM_OK;
}

enum iobm_status store_list(const char *path, struct run_record **runs,
                            size_t *count, struct iobm_error *err)
{
    struct run_record *all = NULL;
    struct run_name *names;
    size_t n, got = 0;
    hid_t file;
    enum iobm_status status = open_runs(path, &file, &names, &n, err);

    if (status == IOBM_OK) {
        all = calloc(n + 1, sizeof(*all));
        if (!all)
            status = iobm_fail(err, IOBM_ENOMEM, "cannot list '%s'", path);
    }
    while (all && status == IOBM_OK && got < n) {
        status = read_run(file, &names[got], false, &all[got], err);
        if (status == IOBM_OK)
            got++;
        else
            status = iobm_context(err, status, "cannot read '%s'", path);
    }
    h5_release(file);
    free(names);
    if (status) {
        while (got > 0)
            run_record_release(&all[--got]);
        free(all);
        return status;
    }
    *runs = all;
    *count = n;
    return IOBM_OK;
}

/* Which of the names has 'number'. */
static enum iobm_status choose(const char *path, const struct run_name *names,
                               size_t count, int64_t number,
                               const struct run_name **chosen,
                               struct iobm_error *err)
{
    if (count == 0)
        return iobm_fail(err, IOBM_EIO, "'%s' holds no run", path);
    if (number <= 0) {
        if (number <= -(int64_t)count)
            return iobm_fail(err, IOBM_EIO,
                             "'%s' has no run %" PRId64
                             " before the last: it holds %zu",
                             path, -number, count);
        *chosen = &names[(int64_t)count - 1 + number];
        return IOBM_OK;
    }
    for (size_t i = 0; i < count; i++)
        if (names[i].number == number) {
            *chosen = &names[i];
            return IOBM_OK;
        }
    return iobm_fail(err, IOBM_EIO,
                     "'%s' has no run %" PRId64 ": its runs are %" PRId64
                     " to %" PRId64,
                     path, number, names[0].number, names[count - 1].number);
}

/* Open run 'number' of a file. */
static enum iobm_status open_run(const char *path, int64_t number, hid_t *file,
                                 struct run_name *name, struct iobm_error *err)
{
    const struct run_name *chosen = NULL;
    struct run_name *names;
    size_t count;
    enum iobm_status status = open_runs(path, file, &names, &count, err);

    if (status == IOBM_OK)
        status = choose(path, names, count, number, &chosen, err);
    if (status == IOBM_OK && chosen)
        *name = *chosen;
    free(names);
    return status;
}

enum iobm_status store_read(const char *path, int64_t number,
                            struct run_record *record, struct iobm_error *err)
{
    struct run_name name;
    hid_t file;
    enum iobm_status status = open_run(path, number, &file, &name, err);

    if (status == IOBM_OK) {
        status = read_run(file, &name, true, record, err);
        if (status)
            status = iobm_context(err, status, "cannot read '%s'", path);
    }
    h5_release(file);
    return status;
}

enum iobm_status store_read_series(const char *path, int64_t number,
                                   struct iobm_series_row **rows, size_t *count,
                                   struct iobm_error *err)
{
    struct run_name name;
    hid_t file, run = -1;
    enum iobm_status status = open_run(path, number, &file, &name, err);

    if (status)
        goto out;
    status = run_open(file, name.text, &run, err);
    if (status == IOBM_OK)
        status = detail_read_series(run, rows, count, err);
    if (status)
        status = iobm_context(err, status, "cannot read '%s': run '%s'", path,
                              name.text);
out:
    h5_release(run);
    h5_release(file);
    return status;
}
