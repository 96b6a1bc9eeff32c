/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_BACKEND_STRAY_H
#define IOBM_BACKEND_STRAY_H

/*
 * Files that an MPI library makes beside a file it opens, for shared file
 * pointers, and may leave behind: PATH.locktest.N and PATH*.sm.  To find the
 * latter the whole directory is read; without 'scan', as for one of many
 * files in a large directory, only PATH.locktest.0 is looked for.
 */

#include <stdbool.h>

#include "base/kv.h"

/* Note which of them there are (as keys; what memory is short for is taken
 * not to be there).  A directory that cannot be read has none. */
void stray_note(const char *path, bool scan, struct kvlist *names);

/* Remove those that are there and not among 'names'. */
void stray_remove(const char *path, bool scan, const struct kvlist *names);

/*
 * Remove the semaphore that Open MPI names after the last part of 'path' when
 * it is taken: a job that was killed has left it behind, and whoever opens a
 * file of that name on this node would wait for ever.  Should it be taken just
 * now by a living job, that one keeps it and the next makes a new one.
 */
void stray_semaphore(const char *path);

#endif
