/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * pread() and pwrite(), buffered or with O_DIRECT and O_DSYNC.  The default,
 * and what the other back ends are compared with.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "backend/fd.h"
#include "iobm/backend.h"

/* What op->buffer is rounded up to, for reading into. */
#define SLACK_BYTES 4096

struct posix_file {
    const char *path; /* the caller's */
    int fd;
    int direct_flags; /* of F_SETFL, with O_DIRECT; 0: buffered */
    int64_t alignment_bytes;
    bool written;
};

static enum iobm_status posix_open(void *state, const struct iobm_open *how,
                                   void *file, struct iobm_error *err)
{
    struct posix_file *f = file;
    int flags = O_RDONLY;
    enum iobm_status status;

    (void)state;
    f->path = how->path;
    f->direct_flags = 0;
    f->alignment_bytes = how->alignment_bytes > 0 ? how->alignment_bytes : 1;
    f->written = how->mode & IOBM_OPEN_WRITE;
    if (f->written)
        flags = how->mode & IOBM_OPEN_READ ? O_RDWR : O_WRONLY;
    status = fd_open(how, flags, &f->fd, NULL, err);
    if (status != IOBM_OK || !(how->mode & IOBM_OPEN_DIRECT))
        return status;

    f->direct_flags = fcntl(f->fd, F_GETFL);
    if (f->direct_flags < 0) {
        status = iobm_fail_errno(err, errno, "cannot ask for the flags of '%s'",
                                 how->path);
        close(f->fd);
        if (how->mode & IOBM_OPEN_CREATE)
            unlink(how->path);
    }
    return status;
}

static ssize_t move_once(const struct posix_file *f, const struct iobm_op *op,
                         int64_t offset, int64_t bytes)
{
    char *buffer = (char *)op->buffer + op->done;
    size_t n =
        (size_t)(bytes < IOBM_CALL_MAX_BYTES ? bytes : IOBM_CALL_MAX_BYTES);

    return op->kind == IOBM_OP_WRITE ? pwrite(f->fd, buffer, n, offset)
                                     : pread(f->fd, buffer, n, offset);
}

/* Like move_once() for what O_DIRECT cannot do, past the alignment. */
static ssize_t move_buffered(const struct posix_file *f,
                             const struct iobm_op *op, int64_t offset,
                             int64_t bytes)
{
    ssize_t moved;
    int errnum;

    if (fcntl(f->fd, F_SETFL, f->direct_flags & ~O_DIRECT) != 0)
        return -1;
    moved = move_once(f, op, offset, bytes);
    errnum = errno;
    if (fcntl(f->fd, F_SETFL, f->direct_flags) != 0)
        return -1;
    errno = errnum;
    return moved;
}

/*
 * With O_DIRECT.  Three cases go another way: a transfer resumed where a
 * short one left it off the alignment; the tail of a write; and the tail of a
 * read, which is asked for up to the alignment, into the buffer's slack, and
 * comes back short at the end of the file.
 */
static ssize_t move_direct(const struct posix_file *f, const struct iobm_op *op,
                           int64_t offset, int64_t bytes)
{
    int64_t align = f->alignment_bytes;
    int64_t off = op->done > 0 ? offset % align : 0;
    ssize_t moved;

    if (off > 0)
        return move_buffered(f, op, offset,
                             bytes < align - off ? bytes : align - off);
    if (bytes >= align)
        return move_once(f, op, offset, bytes - bytes % align);
    if (op->kind == IOBM_OP_WRITE || align > SLACK_BYTES ||
        op->done + bytes < op->size)
        return move_buffered(f, op, offset, bytes);
    moved = move_once(f, op, offset, align);
    return moved > bytes ? (ssize_t)bytes : moved;
}

static enum iobm_status posix_xfer(void *state, void *file, struct iobm_op *op,
                                   struct iobm_error *err)
{
    const struct posix_file *f = file;

    (void)state;
    op->done = 0;
    while (op->done < op->size) {
        int64_t offset;
        int64_t bytes = iobm_op_piece(op, op->done, &offset);
        ssize_t moved = f->direct_flags ? move_direct(f, op, offset, bytes)
                                        : move_once(f, op, offset, bytes);

        if (moved < 0 && errno == EINTR)
            continue;
        if (moved < 0)
            return fd_fail_op(err, op, f->path, strerror(errno));
        if (moved == 0)
            return fd_fail_op(err, op, f->path,
                              op->kind == IOBM_OP_WRITE
                                  ? "the system wrote nothing"
                                  : "end of file");
        op->done += moved;
    }
    return IOBM_OK;
}

static enum iobm_status posix_sync(void *state, void *file,
                                   struct iobm_error *err)
{
    const struct posix_file *f = file;

    (void)state;
    return fd_sync(f->fd, f->path, err);
}

static enum iobm_status posix_close(void *state, void *file,
                                    struct iobm_error *err)
{
    const struct posix_file *f = file;

    (void)state;
    return fd_close(f->fd, f->path, f->written, err);
}

static int posix_descriptor(const void *file)
{
    const struct posix_file *f = file;

    return f->fd;
}

const struct iobm_backend iobm_backend_posix = {
    .name = "posix",
    .summary = "pread and pwrite, buffered, O_DIRECT or O_DSYNC",
    .abi = IOBM_BACKEND_ABI,
    .caps = IOBM_CAP_SHARED_FILE | IOBM_CAP_DIRECT | IOBM_CAP_PERSISTENT |
            IOBM_CAP_DSYNC | IOBM_CAP_SPAN | IOBM_CAP_DEVICE,
    .file_size = sizeof(struct posix_file),
    .open = posix_open,
    .close = posix_close,
    .xfer = posix_xfer,
    .sync = posix_sync,
    .descriptor = posix_descriptor,
};
