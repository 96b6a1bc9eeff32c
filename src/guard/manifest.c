/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The manifest as a file: read without following links, written beside and
 * renamed; and the removal of what it lists.  Its text is in manifest_text.c.
 */

#include "guard/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "guard/place.h"

/* 2^24 parts with long host names. */
#define MANIFEST_MAX_BYTES ((size_t)2 << 30)

char *manifest_path(const char *path)
{
    char *text;

    return asprintf(&text, "%s.iobm", path) < 0 ? NULL : text;
}

char *manifest_file_path(const char *path, const struct layout *layout, int p)
{
    char *text;

    if (layout->shared)
        return strdup(path);
    return asprintf(&text, "%s.%d", path, p) < 0 ? NULL : text;
}

void manifest_release(struct manifest *manifest)
{
    free(manifest->host);
    free(manifest->file);
    manifest->host = NULL;
    manifest->file = NULL;
}

bool manifest_lists(const struct manifest *manifest,
                    const struct layout *layout, int p)
{
    return manifest->layout.shared == layout->shared && p >= 0 &&
           p < layout_files(&manifest->layout);
}

void manifest_new_seed(struct manifest *manifest, uint64_t seed)
{
    int keep = manifest->older_count < MANIFEST_OLDER ? manifest->older_count
                                                      : MANIFEST_OLDER - 1;

    memmove(manifest->older_seed + 1, manifest->older_seed,
            (size_t)keep * sizeof(manifest->older_seed[0]));
    manifest->older_seed[0] = manifest->seed;
    manifest->older_count = keep + 1;
    manifest->seed = seed;
}

void manifest_inherit_seeds(struct manifest *manifest,
                            const struct manifest *old)
{
    uint64_t seed = manifest->seed;

    manifest->seed = old->seed;
    manifest->older_count = old->older_count;
    memcpy(manifest->older_seed, old->older_seed, sizeof(manifest->older_seed));
    if (seed != old->seed)
        manifest_new_seed(manifest, seed);
}

bool manifest_complete(const struct manifest *manifest)
{
    return strcmp(manifest->state, "complete") == 0;
}

/* Add all of 'fd' to 'text'. */
static int read_all(int fd, struct str *text)
{
    char buffer[1 << 14];

    while (text->length < MANIFEST_MAX_BYTES && !text->failed) {
        ssize_t n = read(fd, buffer, sizeof(buffer));

        if (n == 0)
            return 0;
        if (n > 0)
            str_addn(text, buffer, (size_t)n);
        else if (errno != EINTR)
            return errno;
    }
    return text->failed ? ENOMEM : EFBIG;
}

/* Read 'fd', which is open on the manifest of 'place'. */
static enum iobm_status load(const struct place *place, int fd,
                             struct manifest *manifest, bool *foreign,
                             struct iobm_error *err)
{
    struct str text = {0};
    struct stat st;
    int why = fstat(fd, &st) == 0 ? 0 : errno;
    enum iobm_status status;

    if (!why && !S_ISREG(st.st_mode))
        return iobm_fail(err, IOBM_ECORRUPT,
                         "'%s/%s.iobm' is no regular file: remove it",
                         place->directory, place->name);
    if (!why)
        why = read_all(fd, &text);
    if (why) {
        status = iobm_fail_errno(err, why, "cannot read '%s/%s.iobm'",
                                 place->directory, place->name);
    } else {
        *foreign = strncmp(str_text(&text), "iobm-manifest ", 14) != 0;
        status = manifest_parse(str_text(&text), text.length, manifest, err);
        if (status == IOBM_OK) {
            manifest->owner_uid = st.st_uid;
            manifest->mtime_ns = place_mtime_ns(&st);
        } else {
            status = iobm_context(err, status, "cannot use '%s/%s.iobm'",
                                  place->directory, place->name);
        }
    }
    str_release(&text);
    return status;
}

enum iobm_status manifest_load(const struct place *place,
                               struct manifest *manifest, bool *found,
                               bool *foreign, struct iobm_error *err)
{
    char name[PLACE_NAME_ROOM];
    enum iobm_status status;
    bool is_foreign = false;
    int fd;

    place_manifest_name(place, name);
    fd = openat(place->dir, name,
                O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        *found = false;
        return IOBM_OK;
    }
    if (fd < 0 && errno == ELOOP)
        return iobm_fail(err, IOBM_ECORRUPT,
                         "'%s/%s' is a symbolic link: remove it",
                         place->directory, name);
    if (fd < 0)
        return iobm_fail_errno(err, errno, "cannot open '%s/%s'",
                               place->directory, name);
    status = load(place, fd, manifest, &is_foreign, err);
    close(fd);
    if (status == IOBM_OK)
        *found = true;
    if (foreign && status == IOBM_ECORRUPT)
        *foreign = is_foreign;
    return status;
}

enum iobm_status manifest_read(const char *path, struct manifest *manifest,
                               bool *found, struct iobm_error *err)
{
    struct place place;
    enum iobm_status status = place_open(path, &place, err);

    if (status != IOBM_OK)
        return status;
    status = manifest_load(&place, manifest, found, NULL, err);
    place_close(&place);
    return status;
}

static int write_all(int fd, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, text, length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : ENOSPC;
        text += n;
        length -= (size_t)n;
    }
    return fsync(fd) == 0 ? 0 : errno;
}

enum iobm_status manifest_store(const struct place *place,
                                const struct manifest *manifest,
                                struct iobm_error *err)
{
    char beside[PLACE_NAME_ROOM], name[PLACE_NAME_ROOM];
    struct str text = {0};
    enum iobm_status status = IOBM_OK;
    int fd = -1, why = 0;

    place_manifest_name(place, name);
    manifest_format(manifest, &text);
    if (text.failed)
        why = ENOMEM;
    else if ((fd = place_create(place, "tmp", beside)) < 0)
        why = errno;
    if (fd >= 0) {
        why = write_all(fd, text.text, text.length);
        if (close(fd) != 0 && !why)
            why = errno;
        /* A link or a foreign file at the name is replaced, not followed. */
        if (!why && renameat(place->dir, beside, place->dir, name) != 0)
            why = errno;
        if (why)
            (void)unlinkat(place->dir, beside, 0);
        else
            place_sync(place);
    }
    if (why)
        status = iobm_fail_errno(err, why, "cannot write '%s/%s'",
                                 place->directory, name);
    str_release(&text);
    return status;
}

enum iobm_status manifest_write(const char *path,
                                const struct manifest *manifest,
                                struct iobm_error *err)
{
    struct place place;
    enum iobm_status status = place_open(path, &place, err);

    if (status != IOBM_OK)
        return status;
    status = manifest_store(&place, manifest, err);
    place_close(&place);
    return status;
}

/* ---- clean */

/* Look at all files first: all are ours, or nothing is removed. */
static enum iobm_status check_clean(const struct place *place,
                                    const struct manifest *m, int64_t now_ns,
                                    int64_t *files, int64_t *bytes,
                                    struct iobm_error *err)
{
    char name[PLACE_NAME_ROOM];
    struct place_file file;
    int64_t newest_ns = m->mtime_ns;
    int n = layout_files(&m->layout);

    *files = *bytes = 0;
    for (int p = 0; p < n; p++) {
        enum iobm_status status =
            place_look(place, m, &m->layout, p, &file, err);

        if (status != IOBM_OK)
            return status;
        if (file.owner == PLACE_MISSING)
            continue;
        place_file_name(place, &m->layout, p, name);
        if (file.owner != PLACE_OURS)
            return iobm_fail(err, IOBM_EUSAGE,
                             "nothing removed: '%s/%s' is listed, but %s: "
                             "move it away, then clean again",
                             place->directory, name, file.why);
        *files += 1;
        *bytes += file.bytes;
        if (file.mtime_ns > newest_ns)
            newest_ns = file.mtime_ns;
    }
    if (place_busy(m, newest_ns, now_ns))
        return iobm_fail(err, IOBM_EUSAGE,
                         "nothing removed: a run (process %" PRId64
                         " on %s) seems to be writing to '%s/%s': wait 30 s, "
                         "then clean again",
                         m->writer.pid, m->writer.host, place->directory,
                         place->name);
    return IOBM_OK;
}

static enum iobm_status remove_all(const struct place *place,
                                   const struct manifest *m, int64_t *files,
                                   int64_t *bytes, struct iobm_error *err)
{
    char name[PLACE_NAME_ROOM];
    int n = layout_files(&m->layout);

    *files = *bytes = 0;
    for (int p = 0; p < n; p++) {
        int64_t removed;
        enum iobm_status status =
            place_remove(place, m, &m->layout, p, false, &removed, err);

        if (status != IOBM_OK)
            return status;
        if (removed >= 0) {
            *files += 1;
            *bytes += removed;
        }
    }
    place_manifest_name(place, name);
    if (unlinkat(place->dir, name, 0) != 0 && errno != ENOENT)
        return iobm_fail_errno(err, errno, "cannot remove '%s/%s'",
                               place->directory, name);
    place_sync(place);
    return IOBM_OK;
}

static enum iobm_status clean(const struct place *place, const char *path,
                              bool dry_run, int64_t now_ns, int64_t *files,
                              int64_t *bytes, struct iobm_error *err)
{
    struct manifest m = {0};
    bool found = false;
    enum iobm_status status = manifest_load(place, &m, &found, NULL, err);

    if (status != IOBM_OK)
        return status;
    if (!found)
        return iobm_fail(err, IOBM_EUSAGE,
                         "there is no '%s.iobm': no files of iobm are known "
                         "at '%s'",
                         path, path);
    status = check_clean(place, &m, now_ns, files, bytes, err);
    if (status == IOBM_OK && !dry_run)
        status = remove_all(place, &m, files, bytes, err);
    manifest_release(&m);
    return status;
}

enum iobm_status manifest_clean(const char *path, bool dry_run, int64_t *files,
                                int64_t *bytes, struct iobm_error *err)
{
    struct place place;
    int64_t now_ns = clock_utc_ns();
    enum iobm_status status = place_open(path, &place, err);

    *files = *bytes = 0;
    if (status != IOBM_OK)
        return status;
    if (!dry_run)
        status = place_lock(&place, &now_ns, err);
    if (status == IOBM_OK) {
        status = clean(&place, path, dry_run, now_ns, files, bytes, err);
        if (!dry_run)
            place_unlock(&place);
    }
    place_close(&place);
    return status;
}
