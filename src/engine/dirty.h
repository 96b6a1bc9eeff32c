/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_ENGINE_DIRTY_H
#define IOBM_ENGINE_DIRTY_H

/*
 * How much of what was written is still in memory alone, asked of the page
 * cache between the last transfer and the sync.
 */

#include <stdint.h>

/*
 * Share 0..1 of the pages of [offset, offset + bytes) of a file that are dirty
 * or on their way to the storage.  A file larger than 64 MiB is sampled, 64
 * times 1 MiB at equal distances, so that asking takes well under a
 * millisecond.  NaN where the kernel does not tell (before Linux 6.5) or the
 * file cannot be opened.
 */
double dirty_share(const char *path, int64_t offset, int64_t bytes);

/* The same of an open file: no open that a server would have to answer. */
double dirty_share_of(int fd, int64_t offset, int64_t bytes);

#endif
