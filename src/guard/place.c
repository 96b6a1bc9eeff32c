/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Names in the directory of the test files: split, looked at, removed.  The
 * lock is in place_lock.c; what a manifest says in manifest.c.
 */

#include "guard/place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/units.h"
#include "guard/manifest.h"

static const char manifest_suffix[] = ".iobm";

#define QUIET_NS INT64_C(30000000000)

static bool ends_in(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);

    return n >= m && strcmp(name + n - m, suffix) == 0;
}

static enum iobm_status check_last(const char *path, const char *name,
                                   struct iobm_error *err)
{
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return iobm_fail(err, IOBM_EUSAGE,
                         "'%s' names a directory: -f needs a file name, for "
                         "example '%s%stest'",
                         path, path, *name ? "/" : "");
    if (ends_in(name, manifest_suffix))
        return iobm_fail(err, IOBM_EUSAGE,
                         "'%s' is the name of a manifest: give the name of "
                         "the test files, without '%s'",
                         path, manifest_suffix);
    if (strlen(name) > NAME_MAX)
        return iobm_fail(err, IOBM_EUSAGE,
                         "the file name in '%.200s...' has %zu bytes: %d are "
                         "allowed",
                         path, strlen(name), NAME_MAX);
    return IOBM_OK;
}

enum iobm_status place_split(const char *path, struct place *place,
                             struct iobm_error *err)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t length = slash ? (size_t)(slash - path) : 0;
    enum iobm_status status;

    place->dir = -1;
    if (!*path)
        return iobm_fail(err, IOBM_EUSAGE, "-f needs a file name");
    status = check_last(path, name, err);
    if (status != IOBM_OK)
        return status;
    /* Room for suffixes in the paths that are made from it. */
    if (strlen(path) > PATH_MAX - 32)
        return iobm_fail(err, IOBM_EUSAGE,
                         "the path '%.200s...' has %zu bytes: %d are allowed",
                         path, strlen(path), PATH_MAX - 32);
    if (length > 0)
        memcpy(place->directory, path, length);
    else
        place->directory[length++] = slash ? '/' : '.';
    place->directory[length] = '\0';
    strcpy(place->name, name);
    return IOBM_OK;
}

enum iobm_status place_open(const char *path, struct place *place,
                            struct iobm_error *err)
{
    enum iobm_status status = place_split(path, place, err);

    if (status != IOBM_OK)
        return status;
    place->dir = open(place->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (place->dir >= 0)
        return IOBM_OK;
    if (errno == ENOENT)
        return iobm_fail(err, IOBM_EUSAGE,
                         "there is no directory '%s' for '%s'",
                         place->directory, path);
    if (errno == ENOTDIR)
        return iobm_fail(err, IOBM_EUSAGE, "'%s' is not a directory",
                         place->directory);
    return iobm_fail_errno(err, errno, "cannot reach directory '%s'",
                           place->directory);
}

void place_close(struct place *place)
{
    if (place->dir >= 0)
        close(place->dir);
    place->dir = -1;
}

enum iobm_status place_check_names(const struct place *place,
                                   const struct layout *layout,
                                   struct iobm_error *err)
{
    char name[PLACE_NAME_ROOM], manifest[PLACE_NAME_ROOM];
    long limit = place->dir >= 0 ? fpathconf(place->dir, _PC_NAME_MAX) : -1;
    size_t length;

    /* O_PATH descriptors may not answer. */
    if (limit <= 0)
        limit = pathconf(place->directory, _PC_NAME_MAX);
    if (limit <= 0)
        limit = NAME_MAX;
    place_file_name(place, layout, layout->parts - 1, name);
    place_manifest_name(place, manifest);
    length = strlen(name) > strlen(manifest) ? strlen(name) : strlen(manifest);
    if (length <= (size_t)limit)
        return IOBM_OK;
    return iobm_fail(err, IOBM_EUSAGE,
                     "the file name '%.60s...' gets too long with its suffix: "
                     "%zu bytes, '%s' allows %ld",
                     place->name, length, place->directory, limit);
}

void place_file_name(const struct place *place, const struct layout *layout,
                     int p, char name[PLACE_NAME_ROOM])
{
    if (layout->shared)
        snprintf(name, PLACE_NAME_ROOM, "%s", place->name);
    else
        snprintf(name, PLACE_NAME_ROOM, "%s.%d", place->name, p);
}

void place_manifest_name(const struct place *place, char name[PLACE_NAME_ROOM])
{
    snprintf(name, PLACE_NAME_ROOM, "%s%s", place->name, manifest_suffix);
}

/* 'name' as a file name of this place. */
static bool is_ours_by_name(const struct place *place,
                            const struct layout *layout, const char *name)
{
    size_t length = strlen(place->name);
    const char *rest = name + length;

    if (strncmp(name, place->name, length) != 0)
        return false;
    if (!*rest)
        return layout->shared;
    if (strcmp(rest, manifest_suffix) == 0)
        return true;
    return !layout->shared && *rest == '.' && rest[1] &&
           rest[1 + strspn(rest + 1, "0123456789")] == '\0';
}

bool place_claims(const struct place *place, const struct layout *layout,
                  const char *other)
{
    char *real = realpath(other, NULL);
    const char *path = real ? real : other; /* it may not be there yet */
    const char *slash = strrchr(path, '/');
    char *folder =
        slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    struct stat theirs, ours;
    bool claims = false;

    if (folder && stat(folder, &theirs) == 0 && fstat(place->dir, &ours) == 0 &&
        theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino)
        claims = is_ours_by_name(place, layout, slash ? slash + 1 : path);
    free(folder);
    free(real);
    return claims;
}

int place_create(const struct place *place, const char *suffix,
                 char name[PLACE_NAME_ROOM])
{
    char uuid[37];

    rng_uuid(uuid);
    snprintf(name, PLACE_NAME_ROOM, ".iobm-%s.%s", uuid, suffix);
    return openat(place->dir, name,
                  O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

void place_sync(const struct place *place)
{
    int fd = openat(place->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return;
    (void)fsync(fd);
    close(fd);
}

int64_t place_mtime_ns(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static const char *type_name(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFLNK:
        return "a symbolic link";
    case S_IFDIR:
        return "a directory";
    case S_IFBLK:
    case S_IFCHR:
        return "a device";
    case S_IFIFO:
        return "a pipe";
    case S_IFSOCK:
        return "a socket";
    default:
        return "no regular file";
    }
}

/* Whether the regular file is the one that the manifest lists as part 'p'. */
static bool vouched(const struct manifest *m, int p, const struct stat *st,
                    struct place_file *out)
{
    int64_t expected = layout_file_bytes(&m->layout, p);
    char was[40], is[40];

    if (st->st_uid != m->owner_uid) {
        snprintf(out->why, sizeof(out->why),
                 "it belongs to another user than the manifest");
        return false;
    }
    if (manifest_complete(m) ? st->st_size != expected
                             : st->st_size > expected) {
        snprintf(out->why, sizeof(out->why), "it holds %s where iobm wrote %s",
                 units_size(is, sizeof(is), st->st_size),
                 units_size(was, sizeof(was), expected));
        return false;
    }
    if (manifest_complete(m) && m->file && m->file[p].inode != st->st_ino &&
        m->file[p].mtime_ns != place_mtime_ns(st)) {
        snprintf(out->why, sizeof(out->why),
                 "it is not the file that iobm wrote on %s", m->written_utc);
        return false;
    }
    return true;
}

static void judge(const struct manifest *m, const struct layout *layout, int p,
                  const struct stat *st, struct place_file *out)
{
    if (!S_ISREG(st->st_mode)) {
        out->owner = PLACE_OTHER;
        snprintf(out->why, sizeof(out->why), "it is %s",
                 type_name(st->st_mode));
        return;
    }
    out->bytes = st->st_size;
    out->inode = st->st_ino;
    out->mtime_ns = place_mtime_ns(st);
    out->freed_bytes = st->st_nlink == 1 ? (int64_t)st->st_blocks * 512 : 0;
    out->owner = PLACE_FOREIGN;
    if (!m || !manifest_lists(m, layout, p)) {
        snprintf(out->why, sizeof(out->why), "iobm did not make it");
    } else if (vouched(m, p, st, out)) {
        out->owner = st->st_nlink == 1 ? PLACE_OURS : PLACE_LINKED;
        if (out->owner == PLACE_LINKED)
            snprintf(out->why, sizeof(out->why), "it has %ju hard links",
                     (uintmax_t)st->st_nlink);
    }
}

enum iobm_status place_look(const struct place *place,
                            const struct manifest *manifest,
                            const struct layout *layout, int p,
                            struct place_file *out, struct iobm_error *err)
{
    char name[PLACE_NAME_ROOM];
    struct stat st;

    memset(out, 0, sizeof(*out));
    out->owner = PLACE_MISSING;
    place_file_name(place, layout, p, name);
    if (fstatat(place->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        judge(manifest, layout, p, &st, out);
    else if (errno != ENOENT)
        return iobm_fail_errno(err, errno, "cannot look at '%s/%s'",
                               place->directory, name);
    return IOBM_OK;
}

bool place_busy(const struct manifest *manifest, int64_t mtime_ns,
                int64_t now_ns)
{
    if (manifest_complete(manifest))
        return false;
    switch (alive_look(&manifest->writer)) {
    case ALIVE_YES:
        return true;
    case ALIVE_UNKNOWN:
        return mtime_ns > now_ns - QUIET_NS;
    default:
        return false;
    }
}

enum iobm_status place_remove(const struct place *place,
                              const struct manifest *manifest,
                              const struct layout *layout, int p, bool force,
                              int64_t *bytes, struct iobm_error *err)
{
    char name[PLACE_NAME_ROOM];
    struct place_file file;
    enum iobm_status status =
        place_look(place, manifest, layout, p, &file, err);

    *bytes = -1;
    if (status != IOBM_OK || file.owner == PLACE_MISSING)
        return status;
    place_file_name(place, layout, p, name);
    if (file.owner == PLACE_OTHER || (file.owner != PLACE_OURS && !force))
        return iobm_fail(err, IOBM_EUSAGE, "cannot remove '%s/%s': %s",
                         place->directory, name, file.why);
    if (unlinkat(place->dir, name, 0) != 0 && errno != ENOENT)
        return iobm_fail_errno(err, errno, "cannot remove '%s/%s'",
                               place->directory, name);
    *bytes = file.bytes;
    return IOBM_OK;
}
