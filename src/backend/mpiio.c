/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * MPI-IO, independent and collective.  MPI libraries report trouble badly:
 * success with nothing moved, full counts for data that is lost, a hang where
 * a file cannot be opened.  So a POSIX descriptor of the same file is held on
 * every rank: it probes the open, names causes, syncs once more, and looks
 * whether the data is there.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "backend/fd.h"
#include "backend/mpiio_info.h"
#include "backend/stray.h"
#include "iobm/backend.h"
#include "par/comm.h"

struct mpiio_state {
    const struct iobm_comm *comm; /* NULL: only files of one rank's own */
    bool shared, collective;
    bool leads_node;     /* lowest rank of its node */
    MPI_Info info;       /* of the hints */
    struct kvlist given; /* the hints, as facts */
    struct kvlist echo;  /* what the first file showed of them */
};

struct mpiio_file {
    const char *path; /* the caller's */
    MPI_File mpi;
    int fd;
    bool written;
    int64_t file_bytes;                            /* once it is written */
    int64_t size_bytes;                            /* as opened */
    int64_t first_byte, block_bytes, stride_bytes; /* of the view */
    int64_t calls;       /* per collective operation */
    int64_t moved_bytes; /* by this rank */
    int64_t reached;     /* end of what this rank has read */
    bool broken;  /* a collective call has failed, on this rank at least */
    bool checked; /* the file has been looked at since it was complete */
    struct kvlist strays; /* that were there before */
};

static void mpiio_stop(void *state)
{
    struct mpiio_state *s = state;

    if (s->info != MPI_INFO_NULL)
        MPI_Info_free(&s->info);
    kv_release(&s->given);
    kv_release(&s->echo);
}

static enum iobm_status mpiio_start(void *state,
                                    const struct iobm_backend_env *env,
                                    struct iobm_error *err)
{
    struct mpiio_state *s = state;
    enum iobm_status status;
    MPI_Comm node;
    int rank = 0;

    s->comm = env->comm;
    s->shared = env->shared && env->comm;
    s->collective = env->collective;
    s->leads_node = true;
    s->info = MPI_INFO_NULL;
    if (s->shared) {
        int rc = MPI_Comm_split_type(s->comm->mpi, MPI_COMM_TYPE_SHARED, 0,
                                     MPI_INFO_NULL, &node);

        if (rc != MPI_SUCCESS)
            return mpiio_fail(err, rc, "cannot find the ranks of this node for",
                              "mpiio");
        MPI_Comm_rank(node, &rank);
        MPI_Comm_free(&node);
        s->leads_node = rank == 0;
    }
    status = mpiio_info_make(env->hints, &s->info, err);
    for (size_t i = 0; status == IOBM_OK && env->hints && i < env->hints->count;
         i++) {
        char key[MPI_MAX_INFO_KEY + 16];

        snprintf(key, sizeof(key), "mpiio.hint.%s", env->hints->items[i].key);
        status = kv_set(&s->given, key, env->hints->items[i].value, err);
    }
    if (status != IOBM_OK)
        mpiio_stop(s);
    return status;
}

/* With a file of this rank's own there is nobody to agree with. */
static enum iobm_status agree(const struct mpiio_state *s,
                              enum iobm_status status, struct iobm_error *err)
{
    return s->shared ? par_agree_all(s->comm, status, NULL, err) : status;
}

static bool is_first(const struct mpiio_state *s)
{
    return !s->shared || s->comm->rank == 0;
}

/*
 * Have the file open by way of POSIX on every rank before MPI sees it: Open
 * MPI's own component hangs when a rank cannot.  The first rank makes it.
 */
static enum iobm_status open_posix(const struct mpiio_state *s,
                                   const struct iobm_open *how,
                                   struct mpiio_file *f, struct iobm_error *err)
{
    struct iobm_open there = *how;
    int flags = f->written ? O_RDWR : O_RDONLY;
    enum iobm_status status = IOBM_OK;

    if (s->leads_node)
        stray_semaphore(how->path);
    if (is_first(s))
        status = fd_open(how, flags, &f->fd, &f->size_bytes, err);
    if (how->mode & IOBM_OPEN_CREATE) {
        status = agree(s, status, err);
        if (status != IOBM_OK)
            return status;
        there.mode &= ~(unsigned)IOBM_OPEN_CREATE;
    }
    if (!is_first(s))
        status = fd_open(&there, flags, &f->fd, &f->size_bytes, err);
    return agree(s, status, err);
}

/* A type for a block of any length: counts are ints in MPI. */
static int make_block(int64_t bytes, MPI_Datatype *type)
{
    int big = (int)(bytes / IOBM_CALL_MAX_BYTES);
    int lengths[2] = {big, (int)(bytes % IOBM_CALL_MAX_BYTES)};
    MPI_Aint offsets[2] = {0, (MPI_Aint)(big * IOBM_CALL_MAX_BYTES)};
    MPI_Datatype parts[2] = {MPI_BYTE, MPI_BYTE};
    int rc;

    if (big == 0)
        return MPI_Type_contiguous(lengths[1], MPI_BYTE, type);
    rc = MPI_Type_contiguous((int)IOBM_CALL_MAX_BYTES, MPI_BYTE, &parts[0]);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = MPI_Type_create_struct(2, lengths, offsets, parts, type);
    MPI_Type_free(&parts[0]);
    return rc;
}

/* Show this rank its own blocks only, as if they were contiguous. */
static enum iobm_status set_view(const struct mpiio_state *s,
                                 struct mpiio_file *f, struct iobm_error *err)
{
    MPI_Datatype block, view;
    int rc = make_block(f->block_bytes, &block);

    if (rc == MPI_SUCCESS) {
        rc =
            MPI_Type_create_resized(block, 0, (MPI_Aint)f->stride_bytes, &view);
        MPI_Type_free(&block);
    }
    if (rc == MPI_SUCCESS) {
        rc = MPI_Type_commit(&view);
        if (rc == MPI_SUCCESS)
            rc = MPI_File_set_view(f->mpi, f->first_byte, MPI_BYTE, view,
                                   "native", s->info);
        MPI_Type_free(&view);
    }
    if (rc != MPI_SUCCESS)
        return mpiio_fail(err, rc, "cannot set the view of", f->path);
    return IOBM_OK;
}

/* What comes after MPI has opened the file on every rank. */
static enum iobm_status prepare(const struct mpiio_state *s,
                                struct mpiio_file *f, struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;
    MPI_Offset size = 0;
    int rc;

    if (f->stride_bytes > 0)
        status = set_view(s, f, err);
    if (status != IOBM_OK || f->written)
        return status;
    rc = MPI_File_get_size(f->mpi, &size);
    if (rc != MPI_SUCCESS)
        return mpiio_fail(err, rc, "cannot tell the size of", f->path);
    if (size != f->size_bytes)
        return iobm_fail(err, IOBM_EIO,
                         "cannot open '%s': it has %lld bytes, through MPI-IO "
                         "%lld: not the same file",
                         f->path, (long long)f->size_bytes, (long long)size);
    return IOBM_OK;
}

/* Open MPI cannot open a file whose whole name is one letter. */
static enum iobm_status open_named(const struct mpiio_state *s,
                                   struct mpiio_file *f, struct iobm_error *err)
{
    MPI_Comm comm = s->shared ? s->comm->mpi : MPI_COMM_SELF;
    int mode = f->written ? MPI_MODE_RDWR : MPI_MODE_RDONLY;
    char name[PATH_MAX];
    int rc;

    snprintf(name, sizeof(name), "%s%s", strchr(f->path, '/') ? "" : "./",
             f->path);
    rc = MPI_File_open(comm, name, mode, s->info, &f->mpi);
    return rc == MPI_SUCCESS
               ? IOBM_OK
               : mpiio_fail(err, rc, "cannot open through MPI-IO", f->path);
}

static enum iobm_status open_mpi(const struct mpiio_state *s,
                                 struct mpiio_file *f, struct iobm_error *err)
{
    enum iobm_status status = open_named(s, f, err);

    /* Where only some ranks succeeded the file stays open on those: closing
     * it is collective. */
    status = agree(s, status, err);
    if (status != IOBM_OK)
        return status;
    MPI_File_set_errhandler(f->mpi, MPI_ERRORS_RETURN);
    status = agree(s, prepare(s, f, err), err);
    if (status != IOBM_OK)
        MPI_File_close(&f->mpi);
    return status;
}

static enum iobm_status mpiio_open(void *state, const struct iobm_open *how,
                                   void *file, struct iobm_error *err)
{
    struct mpiio_state *s = state;
    struct mpiio_file *f = file;
    enum iobm_status status;

    if (how->mode & (IOBM_OPEN_DIRECT | IOBM_OPEN_DSYNC | IOBM_OPEN_DEVICE))
        return iobm_fail(err, IOBM_EUNSUPPORTED,
                         "cannot open '%s': MPI-IO has neither O_DIRECT nor "
                         "O_DSYNC, nor takes devices",
                         how->path);
    *f = (struct mpiio_file){
        .path = how->path,
        .fd = -1,
        .written = how->mode & IOBM_OPEN_WRITE,
        .file_bytes = how->file_bytes,
        .first_byte = how->first_byte,
        .block_bytes = how->block_bytes,
        .stride_bytes = how->stride_bytes,
        .calls = how->transfer_bytes > IOBM_CALL_MAX_BYTES
                     ? (how->transfer_bytes - 1) / IOBM_CALL_MAX_BYTES + 1
                     : 1,
    };
    if (is_first(s))
        stray_note(how->path, s->shared, &f->strays);
    status = open_posix(s, how, f, err);
    if (status == IOBM_OK)
        status = open_mpi(s, f, err);
    if (status == IOBM_OK)
        return IOBM_OK;
    if (f->fd >= 0) {
        close(f->fd);
        if (is_first(s) && how->mode & IOBM_OPEN_CREATE)
            unlink(how->path);
    }
    kv_release(&f->strays);
    return status;
}

/* 'offset' in the file as an offset in this rank's view of it. */
static MPI_Offset in_view(const struct mpiio_file *f, int64_t offset)
{
    int64_t behind = offset - f->first_byte;

    if (f->stride_bytes == 0)
        return offset;
    return behind / f->stride_bytes * f->block_bytes + behind % f->stride_bytes;
}

/* One call for the next 'n' bytes of 'op'.  '*moved' is what surely did. */
static int call_mpi(const struct mpiio_file *f, const struct iobm_op *op,
                    bool collective, int n, int *moved)
{
    MPI_Offset at = in_view(f, op->offset) + op->done;
    char *buffer = (char *)op->buffer + op->done;
    MPI_Status st;
    int rc;

    /* Not every component fills it in when it fails. */
    memset(&st, 0, sizeof(st));
    if (op->kind == IOBM_OP_WRITE && collective)
        rc = MPI_File_write_at_all(f->mpi, at, buffer, n, MPI_BYTE, &st);
    else if (op->kind == IOBM_OP_WRITE)
        rc = MPI_File_write_at(f->mpi, at, buffer, n, MPI_BYTE, &st);
    else if (collective)
        rc = MPI_File_read_at_all(f->mpi, at, buffer, n, MPI_BYTE, &st);
    else
        rc = MPI_File_read_at(f->mpi, at, buffer, n, MPI_BYTE, &st);
    /* A count is worth nothing next to an error. */
    if (rc != MPI_SUCCESS ||
        MPI_Get_count(&st, MPI_BYTE, moved) != MPI_SUCCESS || *moved < 0)
        *moved = 0;
    if (*moved > n)
        *moved = n;
    return rc;
}

/*
 * Once more, on this rank alone, for the 'n' bytes that a call left undone.
 * Returns NULL when they moved now, else why not: success with a count of 0
 * is how Open MPI tells of a full disk.
 */
static const char *resume(const struct mpiio_file *f, struct iobm_op *op, int n,
                          char *text)
{
    int moved, length;
    int rc = call_mpi(f, op, false, n, &moved);

    op->done += moved;
    if (moved == n)
        return NULL;
    snprintf(text, MPI_MAX_ERROR_STRING, "short transfer");
    if (rc != MPI_SUCCESS)
        MPI_Error_string(rc, text, &length);
    return fd_cause(f->fd, op, text);
}

/* How much of 'op' lies before 'end'. */
static int64_t bytes_before(const struct iobm_op *op, int64_t end)
{
    int64_t done = 0;

    while (done < op->size) {
        int64_t offset;
        int64_t bytes = iobm_op_piece(op, done, &offset);

        if (offset + bytes > end)
            return offset < end ? done + end - offset : done;
        done += bytes;
    }
    return done;
}

static enum iobm_status mpiio_xfer(void *state, void *file, struct iobm_op *op,
                                   struct iobm_error *err)
{
    const struct mpiio_state *s = state;
    struct mpiio_file *f = file;
    char text[MPI_MAX_ERROR_STRING];
    const char *cause = NULL;
    /* Behind the end a collective read claims to have read all the same. */
    int64_t want =
        op->kind == IOBM_OP_READ ? bytes_before(op, f->size_bytes) : op->size;
    int64_t calls =
        s->collective ? f->calls
                      : (want + IOBM_CALL_MAX_BYTES - 1) / IOBM_CALL_MAX_BYTES;

    op->done = 0;
    for (int64_t i = 0; i < calls; i++) {
        /* A rank that has failed goes on with nothing: others wait for it. */
        int64_t left = cause ? 0 : want - op->done;
        int n = (int)(left < IOBM_CALL_MAX_BYTES ? left : IOBM_CALL_MAX_BYTES);
        int moved;

        call_mpi(f, op, s->collective, n, &moved);
        op->done += moved;
        if (moved < n)
            cause = resume(f, op, n - moved, text);
    }
    f->moved_bytes += op->done;
    f->broken |= s->collective && cause;
    if (op->kind == IOBM_OP_READ && op->done > 0) {
        int64_t last;

        iobm_op_piece(op, op->done - 1, &last);
        if (last >= f->reached)
            f->reached = last + 1;
    }
    if (!cause && op->done < want)
        return iobm_fail(err, IOBM_EBUG,
                         "an operation of %lld bytes on '%s' is larger than "
                         "the transfers that were announced",
                         (long long)op->size, f->path);
    if (!cause && want < op->size)
        cause = "end of file";
    return cause ? fd_fail_op(err, op, f->path, cause) : IOBM_OK;
}

/* Whether it is so on any rank; the ranks need not agree on anything where
 * transfers are not collective. */
static bool any_rank(const struct mpiio_state *s, bool mine)
{
    int any = mine;

    if (s->shared && s->collective)
        MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, s->comm->mpi);
    return any;
}

/* Whether all of the file is there, without a hole.  It is opened anew, as a
 * network file system looks at its server then. */
static enum iobm_status check_whole(const struct mpiio_file *f,
                                    struct iobm_error *err)
{
    const struct iobm_open how = {.path = f->path, .mode = IOBM_OPEN_READ};
    enum iobm_status status;
    struct statvfs vfs;
    int64_t there;
    off_t hole;
    int fd;

    status = fd_open(&how, O_RDONLY, &fd, &there, err);
    if (status != IOBM_OK)
        return status;
    hole = lseek(fd, 0, SEEK_HOLE);
    if (hole >= 0 && hole < there)
        there = hole;
    if (there < f->file_bytes)
        status = iobm_fail(err, IOBM_EIO,
                           "cannot write '%s' at %lld: %s, though the MPI "
                           "library reported success",
                           f->path, (long long)there,
                           fstatvfs(fd, &vfs) == 0 && vfs.f_bavail == 0
                               ? strerror(ENOSPC)
                               : "the data is not in the file");
    close(fd);
    return status;
}

/*
 * Collective writes can lose data in silence: an aggregator that fails need
 * not tell the ranks whose data it had.  When all ranks together claim to have
 * written the whole file, the first one looks whether it is there; should it
 * not be, once more after every node has sent what it holds back.
 */
static enum iobm_status check_written(const struct mpiio_state *s,
                                      struct mpiio_file *f,
                                      struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;
    int64_t total = f->moved_bytes;

    if (s->shared)
        MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_INT64_T, MPI_SUM,
                      s->comm->mpi);
    if (total != f->file_bytes || f->checked)
        return IOBM_OK;
    f->checked = true;
    for (int round = 0; round < 2; round++) {
        status = is_first(s) ? check_whole(f, err) : IOBM_OK;
        if (!any_rank(s, status != IOBM_OK))
            return IOBM_OK;
        if (s->leads_node && round == 0)
            fsync(f->fd);
        any_rank(s, false); /* as a barrier */
    }
    f->broken = true;
    return status;
}

/*
 * Our own descriptor learns of a failed write-back whatever the MPI library
 * makes of it, and says why; one rank per node knows all that its node does.
 * It goes first, so that the file can be looked at before MPI_File_sync(): in
 * there is a barrier, which never ends in Open MPI after a collective write
 * that failed on one rank, be it in silence.
 */
static enum iobm_status mpiio_sync(void *state, void *file,
                                   struct iobm_error *err)
{
    const struct mpiio_state *s = state;
    struct mpiio_file *f = file;
    enum iobm_status status = IOBM_OK, next;
    int rc;

    if (!f->written)
        return IOBM_OK;
    if (s->leads_node)
        status = fd_sync(f->fd, f->path, err);
    if (s->collective && !any_rank(s, f->broken)) {
        next = check_written(s, f, status == IOBM_OK ? err : NULL);
        status = status == IOBM_OK ? next : status;
    }
    if (any_rank(s, f->broken))
        return status;
    rc = MPI_File_sync(f->mpi);
    if (rc == MPI_SUCCESS || status != IOBM_OK)
        return status;
    status = fd_sync(f->fd, f->path, err);
    return status == IOBM_OK ? mpiio_fail(err, rc, "cannot sync", f->path)
                             : status;
}

/* What the file says at the end. */
static enum iobm_status check_file(const struct mpiio_state *s,
                                   struct mpiio_file *f, struct iobm_error *err)
{
    struct stat st;

    if (f->written)
        return s->collective ? check_written(s, f, err) : IOBM_OK;
    if (fstat(f->fd, &st) == 0 && st.st_size < f->reached)
        return iobm_fail(err, IOBM_EIO,
                         "cannot read '%s': it was cut to %lld bytes "
                         "meanwhile",
                         f->path, (long long)st.st_size);
    return IOBM_OK;
}

/*
 * Open MPI's component leaves a collective call early on a rank where it
 * fails.  From then on the ranks are out of step, and the barrier in its close
 * never ends: better an open file than that.
 */
static enum iobm_status mpiio_close(void *state, void *file,
                                    struct iobm_error *err)
{
    struct mpiio_state *s = state;
    struct mpiio_file *f = file;
    enum iobm_status status, next = IOBM_OK;
    int rc;

    if (s->echo.count == 0)
        mpiio_info_echo(f->mpi, &s->echo);
    status = check_file(s, f, err);
    if (!any_rank(s, f->broken)) {
        rc = MPI_File_close(&f->mpi);
        if (rc != MPI_SUCCESS)
            next = mpiio_fail(status == IOBM_OK ? err : NULL, rc,
                              "cannot close", f->path);
    }
    status = status == IOBM_OK ? next : status;
    next = fd_close(f->fd, f->path, f->written, status == IOBM_OK ? err : NULL);
    if (is_first(s))
        stray_remove(f->path, s->shared, &f->strays);
    kv_release(&f->strays);
    return status == IOBM_OK ? next : status;
}

static void mpiio_facts(void *state,
                        void (*put)(void *arg, const char *key,
                                    const char *value),
                        void *arg)
{
    const struct mpiio_state *s = state;
    struct kvlist facts = {0};
    const struct kvlist *const lists[] = {&facts, &s->given, &s->echo};

    mpiio_component(&facts);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        for (size_t j = 0; j < lists[i]->count; j++)
            put(arg, lists[i]->items[j].key, lists[i]->items[j].value);
    kv_release(&facts);
}

const struct iobm_backend iobm_backend_mpiio = {
    .name = "mpiio",
    .summary = "MPI-IO, independent or collective, with hints",
    .abi = IOBM_BACKEND_ABI,
    .caps = IOBM_CAP_SHARED_FILE | IOBM_CAP_COLLECTIVE | IOBM_CAP_PERSISTENT |
            IOBM_CAP_SPAN | IOBM_CAP_MPI_OPEN,
    .state_size = sizeof(struct mpiio_state),
    .file_size = sizeof(struct mpiio_file),
    .start = mpiio_start,
    .stop = mpiio_stop,
    .open = mpiio_open,
    .close = mpiio_close,
    .xfer = mpiio_xfer,
    .sync = mpiio_sync,
    .facts = mpiio_facts,
};
