/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_ENV_CACHE_H
#define IOBM_ENV_CACHE_H

/* What of a file is in this node's page cache, and how to get it out. */

#include <stdint.h>

#include "iobm/error.h"

/*
 * Share 0..1 of the pages of [offset, offset + bytes) of a file that are in
 * memory: by cachestat(2); where that is missing or does not know (overlayfs)
 * by mincore(2), which tells the truth to those who own the file or may write
 * to it.  NaN when neither tells.  '*how' gets "cachestat", "mincore" or "".
 */
double cache_residency(const char *path, int64_t offset, int64_t bytes,
                       const char **how);

/*
 * Make the range clean (fsync) and drop its pages, up to three times while
 * some are left and that helps; clean pages beside it may go as well.
 * '*left': the share that stays, 1 in a memory file system, NaN where it
 * cannot be told.  Fails when the file cannot be opened or synced.
 */
enum iobm_status cache_drop(const char *path, int64_t offset, int64_t bytes,
                            double *left, struct iobm_error *err) IOBM_CHECK;

/* Write out the file system that holds 'path', then drop all clean caches of
 * this node.  Needs root: IOBM_EUNSUPPORTED otherwise. */
enum iobm_status cache_drop_all(const char *path,
                                struct iobm_error *err) IOBM_CHECK;

/* The two ways of cache_residency() on an open file, NaN where one does not
 * tell; for tests. */
double cache_by_cachestat(int fd, int64_t offset, int64_t bytes);
double cache_by_mincore(int fd, int64_t offset, int64_t bytes);

#endif
