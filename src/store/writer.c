/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A run on its way into a result file.  It is kept as an HDF5 file in memory;
 * after each step that counts it replaces the partial file on disk.  Nothing
 * is synced before the merge: a sync in the middle of a run would push out
 * the very data whose writing is being measured.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "store/detail_tables.h"
#include "store/h5.h"
#include "store/image.h"
#include "store/merge.h"
#include "store/owner.h"
#include "store/run_group.h"
#include "store/schema.h"
#include "store/store.h"
#include "store/target.h"

struct store {
    char *typed;   /* the target as the user named it */
    char *target;  /* where it really is */
    char *partial; /* what is on disk of this run */
    char *fresh;   /* its next version */
    hid_t file;    /* in memory */
    hid_t run;     /* its one group in /runs */
    size_t phases;
};

enum iobm_status store_check(const char *target, struct iobm_error *err)
{
    char *real = NULL;
    enum iobm_status status;

    h5_start();
    status = target_resolve(target, &real, err);
    if (status == IOBM_OK)
        status = target_check(real, err);
    free(real);
    return status;
}

static void release(struct store *store)
{
    h5_release(store->run);
    h5_release(store->file);
    free(store->typed);
    free(store->target);
    free(store->partial);
    free(store->fresh);
    free(store);
}

/* Who writes the partial file: store_recover() asks whether he lives. */
static enum iobm_status put_owner(hid_t file, struct iobm_error *err)
{
    struct owner owner;
    enum iobm_status status;

    owner_init(&owner);
    status = h5_put_text(file, "writer_host", owner.host, err);
    if (status == IOBM_OK)
        status = h5_put_text(file, "writer_place", owner.place, err);
    if (status == IOBM_OK)
        status = h5_put_int(file, "writer_pid", owner.pid, err);
    if (status == IOBM_OK)
        status = h5_put_int(file, "writer_start", owner.start, err);
    return status;
}

/* Make a group of attributes. */
static enum iobm_status put_group(hid_t run, const char *name,
                                  const struct kvlist *list, hid_t *group,
                                  struct iobm_error *err)
{
    *group = H5Gcreate2(run, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (*group < 0)
        return h5_fail(err, "cannot create group '%s'", name);
    return h5_put_list(*group, list, err);
}

static int by_key(const void *a, const void *b)
{
    const struct kv *const *x = a, *const *y = b;
    int order = strcmp((*x)->key, (*y)->key);

    /* The values of one key stay in their order. */
    return order ? order : (*x > *y) - (*x < *y);
}

/* One JSON object, keys sorted; a key that is there again has an array. */
static enum iobm_status format_json(const struct kvlist *list, struct str *json,
                                    struct iobm_error *err)
{
    const struct kv **sorted = calloc(list->count + 1, sizeof(*sorted));

    if (!sorted)
        return iobm_fail(err, IOBM_ENOMEM, "cannot store the parameters");
    for (size_t i = 0; i < list->count; i++)
        sorted[i] = &list->items[i];
    qsort(sorted, list->count, sizeof(*sorted), by_key);
    str_add(json, "{");
    for (size_t i = 0, n; i < list->count; i += n) {
        for (n = 1; i + n < list->count &&
                    strcmp(sorted[i + n]->key, sorted[i]->key) == 0;)
            n++;
        str_add(json, i > 0 ? "," : "");
        str_add_json(json, sorted[i]->key);
        str_add(json, n > 1 ? ":[" : ":");
        for (size_t k = 0; k < n; k++) {
            str_add(json, k > 0 ? "," : "");
            str_add_json(json, sorted[i + k]->value);
        }
        str_add(json, n > 1 ? "]" : "");
    }
    str_add(json, "}");
    free(sorted);
    return json->failed
               ? iobm_fail(err, IOBM_ENOMEM, "cannot store the parameters")
               : IOBM_OK;
}

static enum iobm_status put_config(hid_t run, const struct kvlist *config,
                                   struct iobm_error *err)
{
    struct str json = {0};
    hid_t group = -1;
    enum iobm_status status = put_group(run, "config", config, &group, err);

    if (status == IOBM_OK)
        status = format_json(config, &json, err);
    if (status == IOBM_OK)
        status = h5_put_document(group, "json", str_text(&json), err);
    str_release(&json);
    h5_release(group);
    return status;
}

static enum iobm_status put_environment(hid_t run,
                                        const struct run_record *record,
                                        struct iobm_error *err)
{
    hid_t group = -1;
    enum iobm_status status =
        put_group(run, "environment", &record->environment, &group, err);

    if (status == IOBM_OK)
        status = table_create(group, &table_nodes, err);
    if (status == IOBM_OK)
        status = table_append(group, &table_nodes, record->nodes,
                              record->node_count, err);
    h5_release(group);
    return status;
}

static enum iobm_status put_tables(hid_t run, const struct run_record *record,
                                   struct iobm_error *err)
{
    static const struct table *const tables[] = {&table_phases, &table_ranks,
                                                 &table_clock, &table_log};
    enum iobm_status status = IOBM_OK;

    for (size_t i = 0;
         i < sizeof(tables) / sizeof(tables[0]) && status == IOBM_OK; i++)
        status = table_create(run, tables[i], err);
    if (status == IOBM_OK)
        status = table_append(run, &table_clock, record->clocks,
                              record->clock_count, err);
    if (status == IOBM_OK)
        status =
            table_append(run, &table_log, record->log, record->log_count, err);
    if (status == IOBM_OK)
        status = detail_append(run, &record->detail, err);
    return status;
}

/* The run's group, with all that is known at the start. */
static enum iobm_status put_run(struct store *store,
                                const struct run_record *record,
                                struct iobm_error *err)
{
    struct run_name name;
    char path[128];
    hid_t tags = -1;
    enum iobm_status status;

    run_name_format(&name, 0, record->started_utc, record->run_id);
    snprintf(path, sizeof(path), "runs/%s", name.text);
    store->run =
        H5Gcreate2(store->file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (store->run < 0)
        return h5_fail(err, "cannot create group '%s'", path);
    status = run_put_attributes(store->run, record, err);
    if (status == IOBM_OK)
        status = put_config(store->run, &record->config, err);
    if (status == IOBM_OK)
        status = put_group(store->run, "tags", &record->tags, &tags, err);
    if (status == IOBM_OK)
        status = put_environment(store->run, record, err);
    if (status == IOBM_OK)
        status = put_tables(store->run, record, err);
    h5_release(tags);
    return status;
}

static enum iobm_status begin(struct store *store, const char *target,
                              const struct run_record *record,
                              struct iobm_error *err)
{
    enum iobm_status status = target_resolve(target, &store->target, err);

    if (status == IOBM_OK)
        status = target_check(store->target, err);
    if (status)
        return status;
    store->typed = strdup(target);
    store->partial = target_beside(store->target, record->run_id, PART_SUFFIX);
    store->fresh = target_beside(store->target, record->run_id, FRESH_SUFFIX);
    if (!store->typed || !store->partial || !store->fresh)
        return iobm_fail(err, IOBM_ENOMEM, "no memory for '%s'", target);
    if (access(store->partial, F_OK) == 0)
        return iobm_fail(err, IOBM_EIO, "cannot create '%s': it exists",
                         store->partial);
    status = image_create(store->fresh, &store->file, err);
    if (status == IOBM_OK)
        status = target_init(store->file, err);
    if (status == IOBM_OK)
        status = put_owner(store->file, err);
    if (status == IOBM_OK)
        status = put_run(store, record, err);
    if (status == IOBM_OK)
        status = image_save(store->file, store->fresh, store->partial, err);
    return status;
}

enum iobm_status store_begin(const char *target,
                             const struct run_record *record,
                             struct store **store, struct iobm_error *err)
{
    struct store *begun = calloc(1, sizeof(*begun));
    enum iobm_status status;

    if (!begun)
        return iobm_fail(err, IOBM_ENOMEM, "no memory for '%s'", target);
    begun->file = begun->run = -1;
    h5_start();
    status = begin(begun, target, record, err);
    if (status)
        release(begun);
    else
        *store = begun;
    return status;
}

/* What follows each step: on disk with it. */
static enum iobm_status save(struct store *store, enum iobm_status status,
                             struct iobm_error *err)
{
    return status ? status
                  : image_save(store->file, store->fresh, store->partial, err);
}

enum iobm_status store_detail(struct store *store,
                              const struct iobm_detail *detail,
                              struct iobm_error *err)
{
    return detail_append(store->run, detail, err);
}

enum iobm_status store_phase(struct store *store,
                             const struct iobm_phase_row *phase,
                             const struct iobm_rank_row *ranks, size_t n,
                             struct iobm_error *err)
{
    enum iobm_status status =
        table_append(store->run, &table_phases, phase, 1, err);

    if (status == IOBM_OK)
        status = table_append(store->run, &table_ranks, ranks, n, err);
    status = save(store, status, err);
    if (status == IOBM_OK)
        store->phases++;
    return status;
}

enum iobm_status store_clocks(struct store *store,
                              const struct iobm_clock_row *rows, size_t n,
                              struct iobm_error *err)
{
    return save(store, table_append(store->run, &table_clock, rows, n, err),
                err);
}

enum iobm_status store_log(struct store *store, const struct iobm_log_row *row,
                           struct iobm_error *err)
{
    return save(store, table_append(store->run, &table_log, row, 1, err), err);
}

enum iobm_status store_facts(struct store *store, const struct kvlist *facts,
                             struct iobm_error *err)
{
    hid_t group = H5Gopen2(store->run, "environment", H5P_DEFAULT);
    enum iobm_status status;

    if (group < 0)
        return h5_fail(err, "cannot open group 'environment'");
    status = h5_put_list(group, facts, err);
    h5_release(group);
    return save(store, status, err);
}

/* The last version of the partial file. */
static enum iobm_status finish(struct store *store, const char *status_text,
                               const char *reason, struct iobm_error *err)
{
    char now[32];
    enum iobm_status status;

    clock_iso8601(now, sizeof(now), clock_utc_ns());
    status = h5_put_text(store->run, "status", status_text, err);
    if (status == IOBM_OK)
        status = h5_put_text(store->run, "reason", reason, err);
    if (status == IOBM_OK)
        status = h5_put_text(store->run, "finished_utc", now, err);
    return save(store, status, err);
}

enum iobm_status store_finish(struct store *store, const char *status,
                              const char *reason, int64_t *number,
                              struct iobm_error *err)
{
    static const struct lock_how how = {LOCK_WAIT_NS, LOCK_FOREIGN_NS};
    enum iobm_status outcome = finish(store, status, reason, err);

    if (outcome == IOBM_OK)
        outcome =
            merge_partial(store->target, store->partial, &how, number, err);
    if (outcome != IOBM_OK)
        outcome = iobm_context(err, outcome,
                               "the run stays in '%s', 'iobm file recover "
                               "%s' adds it",
                               store->partial, store->typed);
    release(store);
    return outcome;
}

void store_abandon(struct store *store)
{
    if (!store)
        return;
    if (store->phases == 0)
        unlink(store->partial);
    release(store);
}

const char *store_partial_path(const struct store *store)
{
    return store->partial;
}

/* The macro is 1 or not defined, and then stays its own name. */
#define NAME_OF(macro) TEXT_OF(macro)
#define TEXT_OF(text)  #text

enum iobm_status store_library_facts(struct kvlist *out, struct iobm_error *err)
{
    static const char parallel[] = NAME_OF(H5_HAVE_PARALLEL);
    unsigned major = 0, minor = 0, patch = 0;
    enum iobm_status status;

    h5_start();
    if (H5get_libversion(&major, &minor, &patch) < 0)
        return h5_fail(err, "cannot ask HDF5 for its version");
    status = kv_setf(out, err, "hdf5.version", "%u.%u.%u", major, minor, patch);
    if (status == IOBM_OK)
        status = kv_setf(out, err, "hdf5.parallel", "%s",
                         parallel[0] == '1' ? "yes" : "no");
    return status;
}
