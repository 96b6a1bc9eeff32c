/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A partial file becomes a run of the target: see merge.h.  The target is
 * never changed: a copy gets the run and takes its place, so that whoever is
 * killed here leaves the target as it was or as it is to be.
 */

#include "store/merge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "store/h5.h"
#include "store/image.h"
#include "store/run_group.h"
#include "store/schema.h"
#include "store/target.h"

/* What a run adds beside its own bytes, with much to spare. */
#define SPARE_BYTES (1 << 20)

/* The run that is merged. */
struct source {
    hid_t file;
    struct run_name name;
    struct run_record record; /* attributes and phases */
    int64_t bytes;            /* of the partial file */
};

char *merge_lock_path(const char *target)
{
    struct str text = {0};

    str_addf(&text, "%s" LOCK_SUFFIX, target);
    if (text.failed)
        str_release(&text);
    return text.text;
}

static void close_source(struct source *source)
{
    h5_release(source->file);
    run_record_release(&source->record);
}

static enum iobm_status open_source(const char *partial, struct source *source,
                                    struct iobm_error *err)
{
    struct run_record *record = &source->record;
    struct run_name *names = NULL;
    struct stat facts;
    size_t count = 0;
    hid_t run = -1;
    enum iobm_status status;

    if (stat(partial, &facts) == 0)
        source->bytes = facts.st_size;
    status = target_open(partial, false, &source->file, err);
    if (status == IOBM_OK)
        status = run_names(source->file, &names, &count, err);
    if (status == IOBM_OK && count != 1)
        status = iobm_fail(err, IOBM_EIO,
                           "'%s' is not the partial file of a run", partial);
    if (status == IOBM_OK) {
        source->name = names[0];
        status = run_open(source->file, names[0].text, &run, err);
    }
    if (status == IOBM_OK) {
        run_get_attributes(run, record);
        status = table_read(run, &table_phases, (void **)&record->phases,
                            &record->phase_count, err);
    }
    h5_release(run);
    free(names);
    return status;
}

static enum iobm_status count_phases(hid_t run, size_t *count,
                                     struct iobm_error *err)
{
    void *rows = NULL;
    enum iobm_status status = table_read(run, &table_phases, &rows, count, err);

    free(rows);
    return status;
}

/* The number that the target has for the run, when it has all of it: whoever
 * merged it was killed before he could remove the partial file. */
static enum iobm_status find_merged(hid_t file, const struct source *source,
                                    int64_t *number, int64_t *last,
                                    struct iobm_error *err)
{
    struct run_name *names = NULL;
    size_t count = 0;
    enum iobm_status status = run_names(file, &names, &count, err);

    *number = 0;
    *last = status == IOBM_OK && count > 0 ? names[count - 1].number : 0;
    for (size_t i = 0; status == IOBM_OK && i < count; i++) {
        char run_id[sizeof(source->record.run_id)];
        size_t phases = 0;
        hid_t run = -1;

        if (!run_name_is_of(&names[i], source->record.run_id))
            continue;
        status = run_open(file, names[i].text, &run, err);
        if (status == IOBM_OK) {
            h5_get_text(run, "run_id", run_id, sizeof(run_id));
            status = count_phases(run, &phases, err);
        }
        h5_release(run);
        if (status == IOBM_OK && strcmp(run_id, source->record.run_id) == 0 &&
            phases >= source->record.phase_count)
            *number = names[i].number;
    }
    free(names);
    return status;
}

static enum iobm_status look_up(const char *target, const struct source *source,
                                int64_t *number, int64_t *last,
                                struct iobm_error *err)
{
    enum iobm_status status;
    hid_t file = -1;

    *number = *last = 0;
    if (target_is_vacant(target))
        return IOBM_OK;
    status = target_open(target, false, &file, err);
    if (status == IOBM_OK)
        status = find_merged(file, source, number, last, err);
    h5_release(file);
    return status;
}

/* Copy the group, and set what only now is known. */
static enum iobm_status add_group(hid_t file, struct source *source,
                                  struct iobm_error *err)
{
    struct run_record *record = &source->record;
    struct run_name name;
    char from[128], to[128];
    hid_t run = -1;
    enum iobm_status status;

    run_name_format(&name, record->number, record->started_utc, record->run_id);
    snprintf(from, sizeof(from), "runs/%s", source->name.text);
    snprintf(to, sizeof(to), "runs/%s", name.text);
    if (H5Ocopy(source->file, from, file, to, H5P_DEFAULT, H5P_DEFAULT) < 0)
        return h5_fail(err, "cannot copy run '%s'", name.text);
    status = run_open(file, name.text, &run, err);
    if (status == IOBM_OK)
        status = run_put_attributes(run, record, err);
    if (status == IOBM_OK && record->phase_count > 0)
        status = table_set_int(run, &table_phases, "run", record->number, err);
    h5_release(run);
    return status;
}

static enum iobm_status add_results(hid_t file, struct source *source,
                                    struct iobm_error *err)
{
    struct run_record *record = &source->record;
    enum iobm_status status;

    for (size_t i = 0; i < record->phase_count; i++)
        record->phases[i].run = record->number;
    status = H5Lexists(file, table_results.name, H5P_DEFAULT) > 0
                 ? table_widen(file, &table_results, err)
                 : table_create(file, &table_results, err);
    if (status == IOBM_OK)
        status = table_append(file, &table_results, record->phases,
                              record->phase_count, err);
    return status;
}

static enum iobm_status add_run(const char *path, struct source *source,
                                struct iobm_error *err)
{
    hid_t file = -1;
    enum iobm_status status = target_open(path, true, &file, err);

    if (status)
        return status;
    status = add_group(file, source, err);
    if (status == IOBM_OK)
        status = add_results(file, source, err);
    if (status == IOBM_OK && H5Fflush(file, H5F_SCOPE_GLOBAL) < 0)
        status = h5_fail(err, "cannot write '%s'", path);
    if (H5Fclose(file) < 0 && status == IOBM_OK)
        status = h5_fail(err, "cannot write '%s'", path);
    return status;
}

/* The file that is to be the target, without the run. */
static enum iobm_status prepare(const char *target, const char *merged,
                                const struct source *source,
                                struct iobm_error *err)
{
    int64_t room = source->bytes + SPARE_BYTES;
    hid_t file = -1;
    enum iobm_status status;

    if (!target_is_vacant(target))
        return target_copy(target, merged, room, err);
    status = image_create(merged, &file, err);
    if (status == IOBM_OK)
        status = target_init(file, err);
    if (status == IOBM_OK)
        status = image_save(file, merged, NULL, err);
    h5_release(file);
    if (status == IOBM_OK)
        status = target_reserve(merged, room, err);
    return status;
}

/* Look at the new file as a reader would, before it replaces the old one. */
static enum iobm_status inspect(const char *merged, const struct source *source,
                                struct iobm_error *err)
{
    int64_t number = 0, last;
    enum iobm_status status = look_up(merged, source, &number, &last, err);

    if (status == IOBM_OK && number != source->record.number)
        status = iobm_fail(err, IOBM_EIO, "'%s' was not written as it should",
                           merged);
    return status;
}

static enum iobm_status replace(const char *target, const char *merged,
                                const struct lock *lock, struct iobm_error *err)
{
    enum iobm_status status = target_sync(merged, err);

    if (status)
        return status;
    if (!lock_is_held(lock))
        return iobm_fail(err, IOBM_EIO,
                         "cannot replace '%s': another process broke the lock",
                         target);
    if (rename(merged, target) != 0)
        return iobm_fail_errno(err, errno, "cannot rename '%s' to '%s'", merged,
                               target);
    target_sync_folder(target);
    return IOBM_OK;
}

static enum iobm_status merge(const char *target, const char *merged,
                              struct source *source, const struct lock *lock,
                              struct iobm_error *err)
{
    enum iobm_status status = prepare(target, merged, source, err);

    if (status == IOBM_OK)
        status = add_run(merged, source, err);
    if (status == IOBM_OK)
        status = inspect(merged, source, err);
    if (status == IOBM_OK)
        status = replace(target, merged, lock, err);
    if (status)
        unlink(merged);
    return status;
}

/* A run that did not say how it ended. */
static void interrupt(struct run_record *record)
{
    if (strcmp(record->status, "running") != 0)
        return;
    strcpy(record->status, "interrupted");
    strcpy(record->reason, "the run ended without a word; recovered");
}

enum iobm_status merge_held(const char *target, const char *partial,
                            const struct lock *lock, int64_t *number,
                            struct iobm_error *err)
{
    struct source source = {.file = -1};
    int64_t found = 0, last = 0;
    char *merged = NULL;
    enum iobm_status status = open_source(partial, &source, err);

    if (status == IOBM_OK)
        status = look_up(target, &source, &found, &last, err);
    if (status == IOBM_OK && found == 0) {
        found = source.record.number = last + 1;
        interrupt(&source.record);
        merged = target_beside(target, source.record.run_id, MERGE_SUFFIX);
        status =
            merged ? merge(target, merged, &source, lock, err)
                   : iobm_fail(err, IOBM_ENOMEM, "no memory for '%s'", target);
    }
    close_source(&source);
    free(merged);
    if (status)
        return status;
    unlink(partial);
    *number = found;
    return IOBM_OK;
}

enum iobm_status merge_partial(const char *target, const char *partial,
                               const struct lock_how *how, int64_t *number,
                               struct iobm_error *err)
{
    char *path = merge_lock_path(target);
    struct lock lock = {0};
    enum iobm_status status;

    if (!path)
        return iobm_fail(err, IOBM_ENOMEM, "no memory for '%s'", target);
    status = lock_take(path, how, &lock, err);
    if (status == IOBM_OK)
        status = merge_held(target, partial, &lock, number, err);
    lock_release(&lock);
    free(path);
    return status;
}
