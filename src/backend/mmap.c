/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * memcpy() into and out of a shared mapping of the file, a window at a time.
 * The kernel reports trouble with the pages (no space, truncated by someone,
 * an I/O error) as SIGBUS: here it becomes an error of the operation.
 */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/fd.h"
#include "iobm/backend.h"

/* How much is mapped at once, at multiples of itself, so that a file of any
 * size fits into the address space and the limits on it. */
#define WINDOW_BYTES (INT64_C(64) << 20)

/* Copied at once: what is known to have moved when a SIGBUS comes in between
 * is a multiple of this.  Small enough to stay in the second-level cache. */
#define CHUNK_BYTES (INT64_C(256) << 10)

struct mmap_file {
    const char *path; /* the caller's */
    int fd;
    int protection;
    bool written;
    char *window; /* NULL: nothing is mapped */
    int64_t window_offset, window_bytes;
    int64_t written_end; /* of what was written, to see a truncation */
};

/*
 * Where to go on a SIGBUS.  A signal handler has no argument of ours, so this
 * cannot live in the file's struct; it is per thread because the kernel
 * delivers a fault to the thread that made it, and another thread's fault
 * must not jump on this one's stack.
 */
struct fault_catch {
    sigjmp_buf jump;
    const char *from, *to; /* the mapping that may fault */
};
static _Thread_local struct fault_catch *volatile fault_catch;

static void on_sigbus(int number, siginfo_t *info, void *context)
{
    struct fault_catch *mine = fault_catch;
    const char *at = info->si_addr;
    struct sigaction die = {.sa_handler = SIG_DFL};

    (void)context;
    if (mine && at >= mine->from && at < mine->to)
        siglongjmp(mine->jump, 1);
    /* Not ours: return to the instruction, which faults again and now ends
     * the process as it would have without us. */
    sigaction(number, &die, NULL);
}

static void copy(const struct iobm_op *op, char *mapped, int64_t done,
                 int64_t bytes)
{
    char *buffer = (char *)op->buffer + op->done + done;

    if (op->kind == IOBM_OP_WRITE)
        memcpy(mapped + done, buffer, (size_t)bytes);
    else
        memcpy(buffer, mapped + done, (size_t)bytes);
}

/* Copy 'bytes' at 'mapped'; returns how many before the first fault. */
static int64_t copy_guarded(const struct iobm_op *op, char *mapped,
                            int64_t bytes)
{
    struct sigaction ours = {.sa_sigaction = on_sigbus,
                             .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct sigaction theirs;
    struct fault_catch here = {.from = mapped, .to = mapped + bytes};
    volatile int64_t done = 0;

    sigemptyset(&ours.sa_mask);
    if (sigaction(SIGBUS, &ours, &theirs) != 0)
        return 0;
    if (sigsetjmp(here.jump, 0) == 0) {
        fault_catch = &here;
        while (done < bytes) {
            int64_t n = bytes - done;

            if (n > CHUNK_BYTES)
                n = CHUNK_BYTES;
            copy(op, mapped, done, n);
            done += n;
        }
    }
    fault_catch = NULL;
    sigaction(SIGBUS, &theirs, NULL);
    return done;
}

static enum iobm_status unmap(struct mmap_file *f, struct iobm_error *err)
{
    char *window = f->window;

    f->window = NULL;
    if (window && munmap(window, (size_t)f->window_bytes) != 0)
        return iobm_fail_errno(err, errno, "cannot unmap '%s'", f->path);
    return IOBM_OK;
}

/* Have the window mapped that 'offset' lies in. */
static enum iobm_status map(struct mmap_file *f, int64_t offset,
                            struct iobm_error *err)
{
    int64_t start = offset - offset % WINDOW_BYTES;
    enum iobm_status status;
    void *window;

    if (f->window && f->window_offset == start)
        return IOBM_OK;
    status = unmap(f, err);
    if (status != IOBM_OK)
        return status;
    window = mmap(NULL, (size_t)WINDOW_BYTES, f->protection, MAP_SHARED, f->fd,
                  start);
    if (window == MAP_FAILED)
        return iobm_fail_errno(err, errno, "cannot map '%s' at %lld", f->path,
                               (long long)start);
    assert(window); /* only MAP_FIXED maps at 0 */
    f->window = window;
    f->window_offset = start;
    f->window_bytes = WINDOW_BYTES;
    return IOBM_OK;
}

static enum iobm_status allocate(const struct iobm_open *how, int fd,
                                 int64_t offset, int64_t bytes,
                                 struct iobm_error *err)
{
    int rc = 0;

    if (bytes == 0)
        return IOBM_OK;
    do
        rc = fallocate(fd, 0, offset, bytes);
    while (rc != 0 && errno == EINTR);
    if (rc == 0 || errno == EOPNOTSUPP || errno == ENOSYS)
        return IOBM_OK;
    return iobm_fail_errno(err, errno, "cannot allocate %lld bytes of '%s'",
                           (long long)bytes, how->path);
}

/*
 * Bring the file to its size and ask for its blocks, so that a full disk
 * shows now.  Every rank sets the same size and only ever a larger one, so
 * ranks that share a file do not cut off each other's parts.  A contiguous
 * part is allocated by its rank; the blocks of a strided file lie too far
 * scattered for that, the rank that has the first one allocates them all.
 */
static enum iobm_status grow(const struct iobm_open *how, int fd,
                             int64_t size_bytes, struct iobm_error *err)
{
    int rc = 0;

    if (size_bytes < how->file_bytes)
        do
            rc = ftruncate(fd, how->file_bytes);
        while (rc != 0 && errno == EINTR);
    if (rc != 0)
        return iobm_fail_errno(err, errno, "cannot extend '%s' to %lld bytes",
                               how->path, (long long)how->file_bytes);
    if (how->stride_bytes == 0)
        return allocate(how, fd, how->first_byte, how->part_bytes, err);
    if (how->first_byte == 0)
        return allocate(how, fd, 0, how->file_bytes, err);
    return IOBM_OK;
}

static enum iobm_status mmap_open(void *state, const struct iobm_open *how,
                                  void *file, struct iobm_error *err)
{
    struct mmap_file *f = file;
    bool write = how->mode & IOBM_OPEN_WRITE;
    enum iobm_status status;
    int64_t size_bytes;

    (void)state;
    *f = (struct mmap_file){
        .path = how->path,
        .protection = write ? PROT_READ | PROT_WRITE : PROT_READ,
        .written = write,
    };
    if (how->mode & (IOBM_OPEN_DIRECT | IOBM_OPEN_DSYNC))
        return iobm_fail(err, IOBM_EUNSUPPORTED,
                         "cannot open '%s': a mapping has neither O_DIRECT "
                         "nor O_DSYNC",
                         how->path);
    status = fd_open(how, write ? O_RDWR : O_RDONLY, &f->fd, &size_bytes, err);
    if (status != IOBM_OK || !write || how->mode & IOBM_OPEN_DEVICE)
        return status;
    status = grow(how, f->fd, size_bytes, err);
    if (status == IOBM_OK)
        return IOBM_OK;
    close(f->fd);
    if (how->mode & IOBM_OPEN_CREATE)
        unlink(how->path);
    return status;
}

/* How many bytes there are from 'offset' on; a mapping would show zeros
 * behind the end of the file, up to the end of its page. */
static int64_t bytes_from(const struct mmap_file *f, int64_t offset)
{
    struct stat st;

    if (fstat(f->fd, &st) != 0)
        return 0;
    if (S_ISBLK(st.st_mode))
        st.st_size = lseek(f->fd, 0, SEEK_END);
    return st.st_size > offset ? st.st_size - offset : 0;
}

/* Move what of 'bytes' at 'offset' lies in one window. */
static enum iobm_status move(struct mmap_file *f, struct iobm_op *op,
                             int64_t offset, int64_t bytes,
                             struct iobm_error *err)
{
    enum iobm_status status = map(f, offset, err);
    int64_t there, n, moved;

    if (status != IOBM_OK)
        return status;
    n = f->window_offset + WINDOW_BYTES - offset;
    if (n > bytes)
        n = bytes;
    there = bytes_from(f, offset);
    moved = copy_guarded(op, f->window + (offset - f->window_offset),
                         n < there ? n : there);
    op->done += moved;
    if (op->kind == IOBM_OP_WRITE && offset + moved > f->written_end)
        f->written_end = offset + moved;
    if (moved == n)
        return IOBM_OK;
    if (moved == there || bytes_from(f, offset + moved) == 0)
        return fd_fail_op(err, op, f->path,
                          op->kind == IOBM_OP_READ ? "end of file"
                                                   : "the file was truncated");
    return fd_fail_op(err, op, f->path,
                      fd_cause(f->fd, op, "the mapping failed (SIGBUS)"));
}

static enum iobm_status mmap_xfer(void *state, void *file, struct iobm_op *op,
                                  struct iobm_error *err)
{
    struct mmap_file *f = file;
    enum iobm_status status = IOBM_OK;

    (void)state;
    op->done = 0;
    while (status == IOBM_OK && op->done < op->size) {
        int64_t offset;
        int64_t bytes = iobm_op_piece(op, op->done, &offset);

        status = move(f, op, offset, bytes, err);
    }
    return status;
}

/* What was copied into pages behind the end of the file is lost in silence. */
static enum iobm_status check_size(const struct mmap_file *f,
                                   struct iobm_error *err)
{
    if (f->written_end == 0 || bytes_from(f, f->written_end - 1) > 0)
        return IOBM_OK;
    return iobm_fail(err, IOBM_EIO,
                     "cannot keep '%s': the file was truncated below %lld "
                     "after it was written",
                     f->path, (long long)f->written_end);
}

static enum iobm_status mmap_sync(void *state, void *file,
                                  struct iobm_error *err)
{
    struct mmap_file *f = file;
    enum iobm_status status = check_size(f, err);
    int rc = 0;

    (void)state;
    if (status != IOBM_OK)
        return status;
    if (f->window)
        do
            rc = msync(f->window, (size_t)f->window_bytes, MS_SYNC);
        while (rc != 0 && errno == EINTR);
    if (rc != 0)
        return iobm_fail_errno(err, errno, "cannot sync '%s'", f->path);
    return fd_sync(f->fd, f->path, err);
}

static enum iobm_status mmap_close(void *state, void *file,
                                   struct iobm_error *err)
{
    struct mmap_file *f = file;
    enum iobm_status status = unmap(f, err);
    enum iobm_status closed;

    (void)state;
    if (status == IOBM_OK)
        status = check_size(f, err);
    closed =
        fd_close(f->fd, f->path, f->written, status == IOBM_OK ? err : NULL);
    return status != IOBM_OK ? status : closed;
}

const struct iobm_backend iobm_backend_mmap = {
    .name = "mmap",
    .summary = "memcpy into and out of a shared mapping, msync and fsync",
    .abi = IOBM_BACKEND_ABI,
    .caps = IOBM_CAP_SHARED_FILE | IOBM_CAP_PERSISTENT | IOBM_CAP_SPAN |
            IOBM_CAP_DEVICE | IOBM_CAP_MAPPED,
    .file_size = sizeof(struct mmap_file),
    .open = mmap_open,
    .close = mmap_close,
    .xfer = mmap_xfer,
    .sync = mmap_sync,
};
