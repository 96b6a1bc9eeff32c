/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A back end for tests: posix, with one failure in it.  It goes into test
 * programs alone.  What fails is told by the environment:
 *
 *   IOBM_FAULT_STAGE  start open write read sync close
 *   IOBM_FAULT_DO     error (the default); short: done but half moved; lie:
 *                     success with half moved; lost: success, nothing done;
 *                     hang; kill (SIGKILL)
 *   IOBM_FAULT_RANK   the rank of env->comm that fails; default: every one
 *   IOBM_FAULT_OP     from the n-th operation (or sync) on, counted from 1
 *   IOBM_FAULT_TEXT   the cause in the message; default "injected failure"
 */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "iobm/backend.h"
#include "par/comm.h"

extern const struct iobm_backend iobm_backend_fault, iobm_backend_posix;

struct fault_state {
    int rank; /* -1: not known, no communicator */
    long long calls;
};

struct fault_file {
    const char *path;
    void *posix;
};

static const char *text_of(const char *name, const char *otherwise)
{
    const char *text = getenv(name);

    return text && *text ? text : otherwise;
}

/* Whether 'stage' fails now, and how. */
static const char *fault(struct fault_state *s, const char *stage)
{
    long long rank = atoll(text_of("IOBM_FAULT_RANK", "-1"));
    const char *what = text_of("IOBM_FAULT_DO", "error");

    if (strcmp(text_of("IOBM_FAULT_STAGE", ""), stage) != 0)
        return NULL;
    if (rank >= 0 && s->rank >= 0 && rank != s->rank)
        return NULL;
    if (++s->calls < atoll(text_of("IOBM_FAULT_OP", "1")))
        return NULL;
    if (strcmp(what, "kill") == 0)
        raise(SIGKILL);
    while (strcmp(what, "hang") == 0)
        pause();
    return what;
}

static enum iobm_status fail(struct iobm_error *err, const char *what,
                             const char *path)
{
    return iobm_fail(err, IOBM_EIO, "cannot %s '%s': %s", what, path,
                     text_of("IOBM_FAULT_TEXT", "injected failure"));
}

static enum iobm_status fault_start(void *state,
                                    const struct iobm_backend_env *env,
                                    struct iobm_error *err)
{
    struct fault_state *s = state;

    s->rank = env->comm ? env->comm->rank : -1;
    s->calls = 0;
    return fault(s, "start") ? fail(err, "start", "fault") : IOBM_OK;
}

static enum iobm_status fault_open(void *state, const struct iobm_open *how,
                                   void *file, struct iobm_error *err)
{
    struct fault_file *f = file;
    enum iobm_status status;

    if (fault(state, "open"))
        return fail(err, "open", how->path);
    f->path = how->path;
    f->posix = calloc(1, iobm_backend_posix.file_size);
    if (!f->posix)
        return iobm_fail(err, IOBM_ENOMEM, "cannot allocate a file");
    status = iobm_backend_posix.open(NULL, how, f->posix, err);
    if (status != IOBM_OK)
        free(f->posix);
    return status;
}

static enum iobm_status fault_close(void *state, void *file,
                                    struct iobm_error *err)
{
    struct fault_file *f = file;
    const char *what = fault(state, "close");
    enum iobm_status status = iobm_backend_posix.close(NULL, f->posix, err);

    free(f->posix);
    return what ? fail(err, "close", f->path) : status;
}

static enum iobm_status fault_xfer(void *state, void *file, struct iobm_op *op,
                                   struct iobm_error *err)
{
    struct fault_file *f = file;
    const char *what =
        fault(state, op->kind == IOBM_OP_WRITE ? "write" : "read");
    struct iobm_op half = *op;
    enum iobm_status status;

    op->done = 0;
    if (!what)
        return iobm_backend_posix.xfer(NULL, f->posix, op, err);
    if (strcmp(what, "lost") == 0) {
        op->done = op->size;
        return IOBM_OK;
    }
    if (strcmp(what, "short") == 0 || strcmp(what, "lie") == 0) {
        half.size /= 2;
        status = iobm_backend_posix.xfer(NULL, f->posix, &half, err);
        op->done = half.done;
        if (status != IOBM_OK || strcmp(what, "lie") == 0)
            return status;
    }
    return iobm_fail(err, IOBM_EIO,
                     "cannot %s '%s' at %lld: %s (%lld of %lld bytes done)",
                     op->kind == IOBM_OP_WRITE ? "write" : "read", f->path,
                     (long long)(op->offset + op->done),
                     text_of("IOBM_FAULT_TEXT", "injected failure"),
                     (long long)op->done, (long long)op->size);
}

static enum iobm_status fault_sync(void *state, void *file,
                                   struct iobm_error *err)
{
    struct fault_file *f = file;

    if (fault(state, "sync"))
        return fail(err, "sync", f->path);
    return iobm_backend_posix.sync(NULL, f->posix, err);
}

const struct iobm_backend iobm_backend_fault = {
    .name = "fault",
    .summary = "posix that fails where IOBM_FAULT_* say, for tests",
    .abi = IOBM_BACKEND_ABI,
    .caps = IOBM_CAP_SHARED_FILE | IOBM_CAP_DIRECT | IOBM_CAP_PERSISTENT |
            IOBM_CAP_DSYNC | IOBM_CAP_SPAN,
    .state_size = sizeof(struct fault_state),
    .file_size = sizeof(struct fault_file),
    .start = fault_start,
    .open = fault_open,
    .close = fault_close,
    .xfer = fault_xfer,
    .sync = fault_sync,
};
