/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Partial files that no run will merge any more: find them, see that their
 * writers are gone, merge them oldest first, and sweep up what processes that
 * were killed left beside the target.
 */

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/h5.h"
#include "store/lock.h"
#include "store/merge.h"
#include "store/owner.h"
#include "store/run_group.h"
#include "store/schema.h"
#include "store/store.h"
#include "store/target.h"

/* What lies beside a target, by its suffix. */
enum kind { OTHER, PART, FRESH, MERGE };

struct partial {
    char *path;
    struct owner owner;
    int64_t changed_ns;
    char started_utc[32];
    char status[16];
    size_t phases;
    struct iobm_error err; /* why it cannot be read */
};

/* Which kind 'name' is beside the target called 'base': BASE.xxxxxxxx.part,
 * with eight hexadecimal digits. */
static enum kind kind_of(const char *name, const char *base)
{
    size_t length = strlen(base);

    if (strncmp(name, base, length) != 0 || name[length] != '.' ||
        strspn(name + length + 1, "0123456789abcdefABCDEF") != 8)
        return OTHER;
    name += length + 9;
    return strcmp(name, PART_SUFFIX) == 0    ? PART
           : strcmp(name, FRESH_SUFFIX) == 0 ? FRESH
           : strcmp(name, MERGE_SUFFIX) == 0 ? MERGE
                                             : OTHER;
}

static int64_t changed_ns(const char *path)
{
    struct stat facts;

    if (stat(path, &facts) != 0)
        return 0;
    return (int64_t)facts.st_mtim.tv_sec * 1000000000 + facts.st_mtim.tv_nsec;
}

struct found {
    char **paths;
    size_t count;
};

static void release_found(struct found *found)
{
    for (size_t i = 0; i < found->count; i++)
        free(found->paths[i]);
    free(found->paths);
}

/* 'name' beside 'target'. */
static bool add_found(struct found *found, const char *target, const char *name)
{
    char **more =
        realloc(found->paths, (found->count + 1) * sizeof(*found->paths));
    struct str path = {0};

    if (!more)
        return false;
    found->paths = more;
    str_addn(&path, target, (size_t)(target_name(target) - target));
    str_add(&path, name);
    if (path.failed) {
        str_release(&path);
        return false;
    }
    found->paths[found->count++] = path.text;
    return true;
}

/* All files of a kind beside 'target', a resolved path. */
static enum iobm_status find(const char *target, enum kind kind,
                             struct found *found, struct iobm_error *err)
{
    char *folder = target_folder(target);
    DIR *dir = folder ? opendir(folder) : NULL;
    const struct dirent *entry;
    bool fine = true;

    if (!dir) {
        int error = folder ? errno : ENOMEM;

        free(folder);
        return iobm_fail_errno(err, error, "cannot list the folder of '%s'",
                               target);
    }
    while (fine && (entry = readdir(dir)))
        if (kind_of(entry->d_name, target_name(target)) == kind)
            fine = add_found(found, target, entry->d_name);
    closedir(dir);
    free(folder);
    return fine ? IOBM_OK
                : iobm_fail(err, IOBM_ENOMEM, "cannot list the folder of '%s'",
                            target);
}

/* Read what decides over a partial file. */
static enum iobm_status examine(struct partial *partial)
{
    struct iobm_error *err = &partial->err;
    struct owner *owner = &partial->owner;
    struct run_name *names = NULL;
    hid_t file = -1, run = -1;
    void *phases = NULL;
    size_t count = 0;
    enum iobm_status status;

    partial->changed_ns = changed_ns(partial->path);
    status = target_open(partial->path, false, &file, err);
    if (status)
        return status;
    h5_get_text(file, "writer_host", owner->host, sizeof(owner->host));
    h5_get_text(file, "writer_place", owner->place, sizeof(owner->place));
    owner->pid = h5_get_int(file, "writer_pid", -1);
    owner->start = h5_get_int(file, "writer_start", -1);
    status = run_names(file, &names, &count, err);
    if (status == IOBM_OK && count != 1)
        status = iobm_fail(err, IOBM_EIO, "it is not a run's partial file");
    if (status == IOBM_OK)
        status = run_open(file, names[0].text, &run, err);
    if (status == IOBM_OK) {
        h5_get_text(run, "started_utc", partial->started_utc,
                    sizeof(partial->started_utc));
        h5_get_text(run, "status", partial->status, sizeof(partial->status));
        status = table_read(run, &table_phases, &phases, &partial->phases, err);
    }
    free(phases);
    free(names);
    h5_release(run);
    h5_release(file);
    return status;
}

static int by_start(const void *a, const void *b)
{
    const struct partial *x = a, *y = b;
    int order = strcmp(x->started_utc, y->started_utc);

    return order ? order : strcmp(x->path, y->path);
}

/* Whether the run may still go on; says so when it may. */
static bool is_alive(const struct partial *partial, int64_t now_ns, bool force,
                     struct str *report)
{
    const struct owner *owner = &partial->owner;
    int64_t age_ns = now_ns - partial->changed_ns;

    switch (owner_ask(owner)) {
    case OWNER_GONE:
        return false;
    case OWNER_ALIVE:
        str_addf(report,
                 "left '%s': its run goes on, process %" PRId64 " on %s\n",
                 partial->path, owner->pid, owner->host);
        return true;
    default:
        break;
    }
    if (force || age_ns > LOCK_FOREIGN_NS)
        return false;
    str_addf(report,
             "left '%s': process %" PRId64 " on %s wrote it %.0f s ago and "
             "may go on; --force adds it all the same\n",
             partial->path, owner->pid, owner->host,
             age_ns > 0 ? (double)age_ns / 1e9 : 0.0);
    return true;
}

static void report_merged(const struct partial *partial, int64_t number,
                          struct str *report)
{
    bool cut = strcmp(partial->status, "running") == 0;

    str_addf(report, "added '%s' as run %" PRId64 ": %s", partial->path, number,
             cut ? "interrupted" : partial->status);
    if (cut && partial->phases == 0)
        str_add(report, " before its first phase ended");
    else if (cut)
        str_addf(report, " after %zu phase%s", partial->phases,
                 partial->phases == 1 ? "" : "s");
    str_add(report, "\n");
}

static void recover_one(const char *target, struct partial *partial,
                        const struct lock *lock, bool force,
                        struct store_recovery *counts, struct str *report)
{
    int64_t number = 0;

    if (partial->err.status == IOBM_OK &&
        is_alive(partial, lock->made_ns, force, report)) {
        counts->alive++;
        return;
    }
    if (partial->err.status == IOBM_OK &&
        merge_held(target, partial->path, lock, &number, &partial->err) ==
            IOBM_OK) {
        counts->merged++;
        report_merged(partial, number, report);
        return;
    }
    if (access(partial->path, F_OK) != 0)
        return; /* its own run has merged it in the meantime */
    counts->damaged++;
    str_addf(report, "left '%s': %s\n", partial->path, partial->err.text);
}

/* Half-written versions: of partial files whose run is gone too, or old. */
static void sweep_fresh(const char *target, int64_t now_ns, bool force)
{
    struct found found = {0};

    if (find(target, FRESH, &found, NULL) == IOBM_OK)
        for (size_t i = 0; i < found.count; i++)
            if (force || now_ns - changed_ns(found.paths[i]) > LOCK_FOREIGN_NS)
                unlink(found.paths[i]);
    release_found(&found);
}

/* Nobody but who holds the lock makes these. */
static void sweep_merges(const char *target)
{
    struct found found = {0};

    if (find(target, MERGE, &found, NULL) == IOBM_OK)
        for (size_t i = 0; i < found.count; i++)
            unlink(found.paths[i]);
    release_found(&found);
}

static enum iobm_status recover_held(const char *target, bool force,
                                     const struct lock *lock,
                                     struct store_recovery *counts,
                                     struct str *report, struct iobm_error *err)
{
    struct found found = {0};
    struct partial *partials = NULL;
    enum iobm_status status = find(target, PART, &found, err);

    if (status == IOBM_OK) {
        partials = calloc(found.count + 1, sizeof(*partials));
        if (!partials)
            status = iobm_fail(err, IOBM_ENOMEM, "no memory for '%s'", target);
    }
    for (size_t i = 0; partials && i < found.count; i++) {
        partials[i].path = found.paths[i];
        partials[i].err.status = examine(&partials[i]);
    }
    if (partials)
        qsort(partials, found.count, sizeof(*partials), by_start);
    for (size_t i = 0; partials && i < found.count; i++)
        recover_one(target, &partials[i], lock, force, counts, report);
    sweep_merges(target);
    sweep_fresh(target, lock->made_ns, force);
    lock_sweep(lock->path);
    free(partials);
    release_found(&found);
    return status;
}

/* A name that was mistyped must not pass for "nothing to do". */
static enum iobm_status check_there(const char *target, struct iobm_error *err)
{
    if (access(target, F_OK) == 0 || store_count_partials(target) > 0)
        return IOBM_OK;
    return iobm_fail(err, IOBM_EIO,
                     "cannot recover '%s': neither it nor a partial file of it "
                     "is there",
                     target);
}

enum iobm_status store_recover(const char *target, bool force,
                               struct store_recovery *counts,
                               struct str *report, struct iobm_error *err)
{
    const struct lock_how how = {LOCK_WAIT_NS, force ? 0 : LOCK_FOREIGN_NS};
    struct lock lock = {0};
    char *real = NULL, *path = NULL;
    enum iobm_status status;

    memset(counts, 0, sizeof(*counts));
    h5_start();
    status = target_resolve(target, &real, err);
    if (status == IOBM_OK)
        status = check_there(real, err);
    if (status == IOBM_OK)
        status = target_check(real, err);
    if (status == IOBM_OK) {
        path = merge_lock_path(real);
        status =
            path ? lock_take(path, &how, &lock, err)
                 : iobm_fail(err, IOBM_ENOMEM, "no memory for '%s'", target);
    }
    if (status == IOBM_OK)
        status = recover_held(real, force, &lock, counts, report, err);
    lock_release(&lock);
    free(path);
    free(real);
    return status;
}

int64_t store_count_partials(const char *target)
{
    struct found found = {0};
    char *real = NULL;
    int64_t count = 0;

    if (target_resolve(target, &real, NULL) == IOBM_OK &&
        find(real, PART, &found, NULL) == IOBM_OK)
        count = (int64_t)found.count;
    release_found(&found);
    free(real);
    return count;
}
