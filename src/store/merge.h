/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_STORE_MERGE_H
#define IOBM_STORE_MERGE_H

/* A partial file becomes a run of the target. */

#include <stdbool.h>
#include <stdint.h>

#include "iobm/error.h"
#include "store/lock.h"

/*
 * With the lock on 'target' (a resolved path) held: copy the target, add the
 * run of 'partial' under the next number, sync, rename, and remove the
 * partial file.  A run that is still "running" becomes interrupted.  A run
 * that the target already has whole is not added again.
 */
enum iobm_status merge_held(const char *target, const char *partial,
                            const struct lock *lock, int64_t *number,
                            struct iobm_error *err) IOBM_CHECK;

/* The same with taking the lock, as 'how' says. */
enum iobm_status merge_partial(const char *target, const char *partial,
                               const struct lock_how *how, int64_t *number,
                               struct iobm_error *err) IOBM_CHECK;

/* The lock that merges into 'target' take; a new allocation or NULL. */
char *merge_lock_path(const char *target);

#endif
