/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_STORE_LOCK_H
#define IOBM_STORE_LOCK_H

/*
 * A lock that is a file: made with link(2), which is atomic on NFS and Lustre
 * where file locks fail.  It says who holds it; the lock of a process that is
 * gone is broken, by one process at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "iobm/error.h"

struct lock {
    char *path;
    char token[20];  /* in the file, to tell it from another's */
    int64_t made_ns; /* when, by the file system's own clock */
};

struct lock_how {
    int64_t wait_ns; /* how long a living process's lock is waited for */
    /* A lock made in another place (see owner.h) this long ago is broken:
     * nothing that is done under a lock takes so long. */
    int64_t foreign_ns;
};

#define LOCK_WAIT_NS    INT64_C(60000000000)
#define LOCK_FOREIGN_NS INT64_C(600000000000)

/* IOBM_EIO, naming the holder, when it was not to be had. */
enum iobm_status lock_take(const char *path, const struct lock_how *how,
                           struct lock *lock,
                           struct iobm_error *err) IOBM_CHECK;

/* Whether nobody has broken it: asked right before what cannot be undone. */
bool lock_is_held(const struct lock *lock);

/* A lock that was never taken (all zero) is fine. */
void lock_release(struct lock *lock);

/* Remove what a process that was killed in lock_take left beside 'path'. */
void lock_sweep(const char *path);

#endif
