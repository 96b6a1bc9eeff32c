/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_STORE_TARGET_H
#define IOBM_STORE_TARGET_H

/*
 * Result files as files: where the target really is, whether it is one of
 * ours, the names of what lies beside it for a while, copying and replacing.
 */

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "iobm/error.h"

/* Readers accept every minor format of this major one. */
#define FORMAT_NAME    "iobm-results"
#define FORMAT_VERSION "1.0"
#define FORMAT_MAJOR   1

/* What lies beside a target, behind its name. */
#define PART_SUFFIX  ".part"     /* ".<uuid8>.part": a run being written */
#define FRESH_SUFFIX ".part.new" /* the same while it is being replaced */
#define MERGE_SUFFIX ".merge"    /* ".<uuid8>.merge": the target to be */
#define LOCK_SUFFIX  ".lock"

/* 'path', or the file behind it when it is a symbolic link, so that the file
 * and not the link is replaced; it need not exist.  A new allocation. */
enum iobm_status target_resolve(const char *path, char **real,
                                struct iobm_error *err) IOBM_CHECK;

/* "TARGET.<uuid8><suffix>"; a new allocation or NULL. */
char *target_beside(const char *target, const char *run_id, const char *suffix);

/* Whether 'path' does not exist or is empty: then it may become ours. */
bool target_is_vacant(const char *path);

/* Open a file of ours; says in one line why not. */
enum iobm_status target_open(const char *path, bool writable, hid_t *file,
                             struct iobm_error *err) IOBM_CHECK;

/* The root attributes and groups of a new file. */
enum iobm_status target_init(hid_t file, struct iobm_error *err) IOBM_CHECK;

/* store_check() of a resolved path. */
enum iobm_status target_check(const char *target,
                              struct iobm_error *err) IOBM_CHECK;

/* Copy 'from' with its mode and, where allowed, owner; then reserve 'room'
 * bytes behind, so that a full disk shows here. */
enum iobm_status target_copy(const char *from, const char *to, int64_t room,
                             struct iobm_error *err) IOBM_CHECK;
/* Reserve 'room' bytes behind the end of a file. */
enum iobm_status target_reserve(const char *path, int64_t room,
                                struct iobm_error *err) IOBM_CHECK;

/* fsync a file; a folder that cannot be synced is none of our business. */
enum iobm_status target_sync(const char *path,
                             struct iobm_error *err) IOBM_CHECK;
void target_sync_folder(const char *path);

/* The folder of a resolved path, with the slash at its end, and the name in
 * it (a pointer into 'path').  NULL when memory is short. */
char *target_folder(const char *path);
const char *target_name(const char *path);

#endif
