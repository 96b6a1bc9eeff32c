/* SPDX-License-Identifier: BSD-3-Clause */

/* A file system whose names and contents are those of a folder. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "truthfs/store.h"

struct folder {
    struct store store;
    int dir;
};

static int dir_of(struct store *s)
{
    return ((struct folder *)s)->dir;
}

/* A file is its descriptor plus one, so that none is NULL. */
static int fd_of(struct store_file *file)
{
    return (int)((intptr_t)file - 1);
}

static const char *name_of(const char *path)
{
    return path[0] ? path : ".";
}

static int outcome(int result)
{
    return result < 0 ? -errno : result;
}

static int get(struct store *s, const char *path, struct stat *st)
{
    return outcome(fstatat(dir_of(s), name_of(path), st, AT_SYMLINK_NOFOLLOW));
}

/* For reading as well where that is allowed: faults need it. */
static int open_file(struct store *s, const char *path, int flags, mode_t mode,
                     uid_t uid, gid_t gid, struct store_file **file)
{
    int keep = flags & (O_CREAT | O_EXCL | O_TRUNC);
    int access = flags & O_ACCMODE;
    int more = O_NOFOLLOW | O_CLOEXEC | keep;
    int fd = openat(dir_of(s), path,
                    (access == O_WRONLY ? O_RDWR : access) | more, mode);

    if (fd < 0 && errno == EACCES)
        fd = openat(dir_of(s), path, access | more, mode);
    if (fd < 0)
        return -errno;
    if ((flags & O_CREAT) && getuid() == 0 && uid != 0 &&
        fchown(fd, uid, gid) != 0) {
        close(fd);
        return -EPERM;
    }
    *file = (struct store_file *)(intptr_t)(fd + 1);
    return 0;
}

static void close_file(struct store *s, struct store_file *file)
{
    (void)s;
    close(fd_of(file));
}

static int get_open(struct store *s, struct store_file *file, struct stat *st)
{
    (void)s;
    return outcome(fstat(fd_of(file), st));
}

static ssize_t read_file(struct store *s, struct store_file *file, void *to,
                         size_t n, int64_t offset)
{
    ssize_t done = pread(fd_of(file), to, n, offset);

    (void)s;
    return done < 0 ? -errno : done;
}

static ssize_t write_file(struct store *s, struct store_file *file,
                          const void *from, size_t n, int64_t offset)
{
    ssize_t done = pwrite(fd_of(file), from, n, offset);

    (void)s;
    return done < 0 ? -errno : done;
}

static int resize(struct store *s, struct store_file *file, int64_t size)
{
    (void)s;
    return outcome(ftruncate(fd_of(file), size));
}

static int allocate(struct store *s, struct store_file *file, int mode,
                    int64_t offset, int64_t size)
{
    (void)s;
    return outcome(fallocate(fd_of(file), mode, offset, size));
}

static int make_folder(struct store *s, const char *path, mode_t mode,
                       uid_t uid, gid_t gid)
{
    int status = outcome(mkdirat(dir_of(s), path, mode));

    if (status == 0 && getuid() == 0 && uid != 0)
        status =
            outcome(fchownat(dir_of(s), path, uid, gid, AT_SYMLINK_NOFOLLOW));
    return status;
}

static int remove_path(struct store *s, const char *path, bool folder)
{
    return outcome(unlinkat(dir_of(s), path, folder ? AT_REMOVEDIR : 0));
}

static int rename_path(struct store *s, const char *from, const char *to,
                       unsigned flags)
{
    return outcome(renameat2(dir_of(s), from, dir_of(s), to, flags));
}

static int set_mode(struct store *s, const char *path, mode_t mode)
{
    return outcome(fchmodat(dir_of(s), name_of(path), mode, 0));
}

static int set_owner(struct store *s, const char *path, uid_t uid, gid_t gid)
{
    return outcome(
        fchownat(dir_of(s), name_of(path), uid, gid, AT_SYMLINK_NOFOLLOW));
}

static int set_times(struct store *s, const char *path,
                     const struct timespec times[2])
{
    return outcome(
        utimensat(dir_of(s), name_of(path), times, AT_SYMLINK_NOFOLLOW));
}

static int list(struct store *s, const char *path, store_list_fn found,
                void *context)
{
    int fd =
        openat(dir_of(s), name_of(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    int status = 0;

    if (!dir) {
        status = -errno;
        if (fd >= 0)
            close(fd);
        return status;
    }
    while (status == 0 && (entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = found(context, entry->d_name);
    }
    closedir(dir);
    return status;
}

static const struct store_kind kind = {
    .get = get,
    .open = open_file,
    .close = close_file,
    .get_open = get_open,
    .read = read_file,
    .write = write_file,
    .resize = resize,
    .allocate = allocate,
    .make_folder = make_folder,
    .remove = remove_path,
    .rename = rename_path,
    .set_mode = set_mode,
    .set_owner = set_owner,
    .set_times = set_times,
    .list = list,
};

struct store *store_in_folder(const char *folder)
{
    struct folder *f = calloc(1, sizeof(*f));

    if (!f)
        return NULL;
    f->store.kind = &kind;
    f->dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->dir < 0) {
        free(f);
        return NULL;
    }
    return &f->store;
}

ssize_t store_peek(struct store *s, const char *path, void *to, size_t n,
                   int64_t offset)
{
    struct store_file *file;
    ssize_t done = s->kind->open(s, path, O_RDONLY, 0, 0, 0, &file);

    memset(to, 0, n);
    if (done < 0)
        return done;
    done = s->kind->read(s, file, to, n, offset);
    s->kind->close(s, file);
    return done;
}
