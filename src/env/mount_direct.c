/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What O_DIRECT needs at a path.  An answer of the kernel comes first; where
 * there is none it is tried, on a file of our own that is removed at once, or
 * by reading a file that is there.  Nothing of the user's is ever written.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/compat.h"
#include "base/rng.h"
#include "env/mount.h"

enum {
    DEFAULT_ALIGNMENT = 4096,
    TRY_BYTES = 1 << 16, /* of the file on which alignments are tried */
    MAX_ALIGNMENT = TRY_BYTES / 2,
};

/* 1: 'alignment' is set; 0: refused; -1: no answer. */
static int ask_statx(int fd, int64_t *alignment)
{
    int64_t memory = 0, offset = 0;
    struct statx stx;

    memset(&stx, 0, sizeof(stx));
    if (!COMPAT_STATX_DIOALIGN ||
        statx(fd, "", AT_EMPTY_PATH, COMPAT_STATX_DIOALIGN, &stx) != 0 ||
        !compat_dio_align(&stx, &memory, &offset))
        return -1;
    if (memory <= 0 || offset <= 0)
        return 0;
    *alignment = memory > offset ? memory : offset;
    return 1;
}

/* btrfs takes any alignment and quietly goes through the cache instead. */
static int64_t least_alignment(int fd)
{
    struct statfs fs;

    if (fstatfs(fd, &fs) == 0 && fs.f_type == BTRFS_SUPER_MAGIC)
        return fs.f_bsize;
    return 512;
}

/* Whether one transfer of 'bytes' at offset 'bytes' is taken. */
static bool try_transfer(int fd, bool write_it, char *buffer, int64_t bytes)
{
    ssize_t n = write_it ? pwrite(fd, buffer, (size_t)bytes, bytes)
                         : pread(fd, buffer, (size_t)bytes, bytes);

    return n >= 0;
}

/* The least of a few alignments that 'fd' (O_DIRECT) takes, or 0. */
static int64_t try_alignments(int fd, bool write_it)
{
    struct stat st;
    char *buffer;
    int64_t found = 0;

    if (fstat(fd, &st) != 0)
        return 0;
    const int64_t sizes[] = {512, 4096, st.st_blksize};
    if (posix_memalign((void **)&buffer, MAX_ALIGNMENT, MAX_ALIGNMENT) != 0)
        return 0;
    memset(buffer, 0, MAX_ALIGNMENT);
    for (size_t i = 0; i < 3 && !found; i++)
        if (sizes[i] >= least_alignment(fd) && sizes[i] <= MAX_ALIGNMENT &&
            try_transfer(fd, write_it, buffer, sizes[i]))
            found = sizes[i];
    free(buffer);
    return found;
}

static enum iobm_status refused(struct iobm_error *err, const char *path)
{
    return iobm_fail(err, IOBM_EUNSUPPORTED,
                     "the file system of '%s' has no O_DIRECT: leave -d out",
                     path);
}

static enum iobm_status conclude(int fd, const char *path, bool write_it,
                                 int64_t *alignment, struct iobm_error *err)
{
    int answer = ask_statx(fd, alignment);
    int64_t found;

    if (answer == 0)
        return refused(err, path);
    if (answer > 0)
        return IOBM_OK;
    found = try_alignments(fd, write_it);
    *alignment = found > 0 ? found : DEFAULT_ALIGNMENT;
    return IOBM_OK;
}

/* A file of our own in directory 'path'. */
static enum iobm_status probe_directory(const char *path, int64_t *alignment,
                                        struct iobm_error *err)
{
    char name[PATH_MAX], uuid[37];
    enum iobm_status status;
    int fd, direct;

    rng_uuid(uuid);
    if (snprintf(name, sizeof(name), "%s/.iobm-%s.probe", path, uuid) >=
        (int)sizeof(name))
        return iobm_fail_errno(err, ENAMETOOLONG, "cannot probe '%s'", path);
    fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return iobm_fail_errno(err, errno, "cannot create a file in '%s'",
                               path);
    direct = open(name, O_RDWR | O_DIRECT | O_NOFOLLOW | O_CLOEXEC);
    if (direct < 0)
        status = errno == EINVAL
                     ? refused(err, path)
                     : iobm_fail_errno(err, errno, "cannot open '%s'", name);
    else
        status = conclude(direct, path, true, alignment, err);
    if (direct >= 0)
        close(direct);
    close(fd);
    unlink(name);
    return status;
}

/* A file or device that is there; looked at and read, never written. */
static enum iobm_status ask_file(const char *path, const struct stat *st,
                                 int64_t *alignment, struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;
    int logical = 0;
    int fd = open(path, O_RDONLY | O_DIRECT | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return errno == EINVAL
                   ? refused(err, path)
                   : iobm_fail_errno(err, errno, "cannot open '%s'", path);
    if (S_ISBLK(st->st_mode) && ask_statx(fd, alignment) <= 0)
        *alignment = ioctl(fd, BLKSSZGET, &logical) == 0 && logical > 0
                         ? logical
                         : DEFAULT_ALIGNMENT;
    else if (!S_ISBLK(st->st_mode))
        status = conclude(fd, path, false, alignment, err);
    close(fd);
    return status;
}

enum iobm_status mount_direct_alignment(const char *path, bool probe,
                                        int64_t *alignment_bytes,
                                        struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;
    int64_t found = DEFAULT_ALIGNMENT;
    struct stat st;

    if (stat(path, &st) != 0)
        return iobm_fail_errno(err, errno, "cannot look at '%s'", path);
    if (S_ISDIR(st.st_mode)) {
        if (probe)
            status = probe_directory(path, &found, err);
    } else if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)) {
        status = ask_file(path, &st, &found, err);
    } else {
        status = iobm_fail(err, IOBM_EUSAGE,
                           "'%s' is neither a file, a block device nor a "
                           "directory",
                           path);
    }
    if (status == IOBM_OK)
        *alignment_bytes = found;
    return status;
}
