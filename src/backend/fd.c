/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Opening, syncing and closing the file descriptor of a test file, and the
 * wording of what goes wrong.  Transfers are the back ends' own.
 */

#include "backend/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROBE_BYTES (1 << 20)

static int open_retry(const char *path, int flags)
{
    int fd;

    do
        fd = open(path, flags | O_CLOEXEC, 0666);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* An NFS client may remember for half a minute that a file was not there,
 * which another node has made since.  Opening the directory makes it ask. */
static void refresh_parent(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *parent = slash ? strndup(path, (size_t)(slash - path) + 1) : NULL;
    int fd = -1;

    if (parent || !slash)
        fd = open_retry(parent ? parent : ".", O_RDONLY | O_DIRECTORY);
    if (fd >= 0)
        close(fd);
    free(parent);
}

/* The flags of open() besides those of the access mode. */
static int mode_flags(unsigned mode)
{
    int flags = 0;

    if (!(mode & IOBM_OPEN_DEVICE))
        flags |= O_NOFOLLOW;
    if (mode & IOBM_OPEN_CREATE)
        flags |= O_CREAT | O_EXCL;
    if (mode & IOBM_OPEN_DIRECT)
        flags |= O_DIRECT;
    if (mode & IOBM_OPEN_DSYNC)
        flags |= O_DSYNC;
    return flags;
}

static enum iobm_status fail_open(const struct iobm_open *how, int errnum,
                                  struct iobm_error *err)
{
    const char *verb = how->mode & IOBM_OPEN_CREATE ? "create" : "open";
    struct stat st;

    if (errnum == ELOOP && lstat(how->path, &st) == 0 && S_ISLNK(st.st_mode))
        return iobm_fail(err, IOBM_EIO,
                         "cannot %s '%s': it is a symbolic link, which is "
                         "not followed",
                         verb, how->path);
    if (errnum == EINVAL && how->mode & IOBM_OPEN_DIRECT)
        return iobm_fail(err, IOBM_EIO,
                         "cannot %s '%s': its file system does not take "
                         "O_DIRECT",
                         verb, how->path);
    return iobm_fail_errno(err, errnum, "cannot %s '%s'", verb, how->path);
}

/* Whether 'fd' is what may be tested, and how much it holds. */
static enum iobm_status inspect(const struct iobm_open *how, int fd,
                                int64_t *size_bytes, struct iobm_error *err)
{
    bool device = how->mode & IOBM_OPEN_DEVICE;
    struct stat st;
    off_t size;

    if (fstat(fd, &st) != 0)
        return iobm_fail_errno(err, errno, "cannot inspect '%s'", how->path);
    if (S_ISDIR(st.st_mode))
        return iobm_fail_errno(err, EISDIR, "cannot open '%s'", how->path);
    if (!device && !S_ISREG(st.st_mode))
        return iobm_fail(err, IOBM_EIO, "cannot open '%s': not a regular file",
                         how->path);
    if (device && !S_ISBLK(st.st_mode))
        return iobm_fail(err, IOBM_EIO, "cannot open '%s': not a block device",
                         how->path);
    size = device ? lseek(fd, 0, SEEK_END) : st.st_size;
    if (size < 0)
        return iobm_fail_errno(err, errno, "cannot tell the size of '%s'",
                               how->path);
    if (size_bytes)
        *size_bytes = size;
    return IOBM_OK;
}

/* O_DIRECT may be refused when the file has been made already: had it been
 * there before, the refusal would have been EEXIST. */
static void remove_refused(const struct iobm_open *how)
{
    unsigned made = IOBM_OPEN_CREATE | IOBM_OPEN_DIRECT;
    struct stat st;

    if ((how->mode & made) == made && lstat(how->path, &st) == 0 &&
        S_ISREG(st.st_mode) && st.st_size == 0)
        unlink(how->path);
}

enum iobm_status fd_open(const struct iobm_open *how, int flags, int *fd,
                         int64_t *size_bytes, struct iobm_error *err)
{
    int opened = open_retry(how->path, flags | mode_flags(how->mode));
    enum iobm_status status;

    if (opened < 0 && errno == ENOENT && !(how->mode & IOBM_OPEN_CREATE)) {
        refresh_parent(how->path);
        opened = open_retry(how->path, flags | mode_flags(how->mode));
    }
    if (opened < 0) {
        int errnum = errno;

        status = fail_open(how, errnum, err);
        if (errnum == EINVAL)
            remove_refused(how);
        return status;
    }
    status = inspect(how, opened, size_bytes, err);
    if (status != IOBM_OK) {
        close(opened);
        if (how->mode & IOBM_OPEN_CREATE)
            unlink(how->path);
        return status;
    }
    *fd = opened;
    return IOBM_OK;
}

enum iobm_status fd_sync(int fd, const char *path, struct iobm_error *err)
{
    int rc;

    do
        rc = fsync(fd);
    while (rc != 0 && errno == EINTR);
    if (rc != 0)
        return iobm_fail_errno(err, errno, "cannot sync '%s'", path);
    return IOBM_OK;
}

enum iobm_status fd_close(int fd, const char *path, bool written,
                          struct iobm_error *err)
{
    /* Never again after EINTR: Linux has closed the descriptor then, but what
     * a network file system sends at the close may have been cut short. */
    if (close(fd) != 0 && written)
        return iobm_fail_errno(err, errno, "cannot close '%s'", path);
    return IOBM_OK;
}

enum iobm_status fd_fail_op(struct iobm_error *err, const struct iobm_op *op,
                            const char *path, const char *cause)
{
    int64_t offset;

    iobm_op_piece(op, op->done, &offset);
    return iobm_fail(
        err, IOBM_EIO, "cannot %s '%s' at %lld: %s (%lld of %lld bytes done)",
        op->kind == IOBM_OP_WRITE ? "write" : "read", path, (long long)offset,
        cause, (long long)op->done, (long long)op->size);
}

/* Move up to a MiB behind op->done; 0 at the end of the file, or -1. */
static ssize_t probe(int fd, const struct iobm_op *op)
{
    char *buffer = (char *)op->buffer + op->done;
    int64_t offset;
    int64_t left = iobm_op_piece(op, op->done, &offset);
    size_t n = left < PROBE_BYTES ? (size_t)left : PROBE_BYTES;
    ssize_t moved;

    do
        moved = op->kind == IOBM_OP_WRITE ? pwrite(fd, buffer, n, offset)
                                          : pread(fd, buffer, n, offset);
    while (moved < 0 && errno == EINTR);
    return moved;
}

const char *fd_cause(int fd, const struct iobm_op *op, const char *otherwise)
{
    struct iobm_op rest = *op;

    while (rest.done < rest.size) {
        ssize_t moved = probe(fd, &rest);

        if (moved < 0)
            return strerror(errno);
        if (moved == 0)
            return op->kind == IOBM_OP_READ ? "end of file" : otherwise;
        rest.done += moved;
    }
    return otherwise;
}
