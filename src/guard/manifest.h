/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_GUARD_MANIFEST_H
#define IOBM_GUARD_MANIFEST_H

/*
 * The manifest says which test files are ours: PATH.iobm beside them, a text
 * file with one "key value" per line and a checksum, replaced by rename.  It
 * holds numbers, never file names: those are always derived from PATH, so
 * that no manifest can make iobm touch anything else.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/layout.h"
#include "guard/alive.h"
#include "iobm/error.h"

struct place;

/* What tells a test file from one that took its place. */
struct manifest_file {
    uint64_t inode;
    int64_t mtime_ns;
};

/* Writes of before whose data can still be told from those of today. */
#define MANIFEST_OLDER 8

struct manifest {
    char run_id[40];
    uint64_t seed; /* of the data */
    int older_count;
    uint64_t older_seed[MANIFEST_OLDER]; /* of what these files held before,
                                            the newest first */
    char state[16];                      /* "writing", "complete" */
    char written_utc[32];
    struct layout layout; /* transfer and grain included */
    char (*host)[64];     /* [parts]: who wrote each part; may be NULL */
    /* The guard fills these in. */
    int site;            /* the node whose directory this one describes: 0
                            unless nodes have directories of their own */
    struct alive writer; /* the process that wrote the manifest */
    struct manifest_file *file; /* [files] once complete; may be NULL */
    int64_t owner_uid;          /* of the manifest as a file; not in its text */
    int64_t mtime_ns;           /* likewise */
};

/* "PATH.iobm" and the test file of part 'p' ("PATH.p", shared: PATH).  A new
 * allocation, or NULL when memory is short. */
char *manifest_path(const char *path);
char *manifest_file_path(const char *path, const struct layout *layout, int p);

/* IOBM_OK with '*found' false when there is none; IOBM_ECORRUPT when it is
 * not one of ours, damaged or of a newer format.  A symbolic link is not
 * followed. */
enum iobm_status manifest_read(const char *path, struct manifest *manifest,
                               bool *found, struct iobm_error *err) IOBM_CHECK;

/* Write beside, fsync, rename, fsync the directory. */
enum iobm_status manifest_write(const char *path,
                                const struct manifest *manifest,
                                struct iobm_error *err) IOBM_CHECK;
void manifest_release(struct manifest *manifest);

/* The same in an open place (guard/place.h).  A file at the manifest's name
 * that is a foreign one: IOBM_ECORRUPT with '*foreign' true (may be NULL). */
enum iobm_status manifest_load(const struct place *place,
                               struct manifest *manifest, bool *found,
                               bool *foreign,
                               struct iobm_error *err) IOBM_CHECK;
enum iobm_status manifest_store(const struct place *place,
                                const struct manifest *manifest,
                                struct iobm_error *err) IOBM_CHECK;

/* Whether the manifest lists the file that is part 'p' of 'layout'. */
bool manifest_lists(const struct manifest *manifest,
                    const struct layout *layout, int p);

/* 'seed' is that of the next write; that of the last one becomes older. */
void manifest_new_seed(struct manifest *manifest, uint64_t seed);

/* What files held whose older manifest is 'old', so far as it is known. */
void manifest_inherit_seeds(struct manifest *manifest,
                            const struct manifest *old);

bool manifest_complete(const struct manifest *manifest);

/* The text form, both ways, without a disk (for tests and fuzzing). */
struct str;
void manifest_format(const struct manifest *manifest, struct str *out);
enum iobm_status manifest_parse(const char *text, size_t length,
                                struct manifest *manifest,
                                struct iobm_error *err) IOBM_CHECK;

/*
 * Remove exactly what the manifest of PATH lists, then the manifest; counts
 * what was removed, or would be.  Files that are not there are passed over.
 * A listed name that is not a regular file of ours (a symbolic link, a
 * directory, a file that took its place) is an error, and so is a run that is
 * still writing: then nothing at all is removed.
 */
enum iobm_status manifest_clean(const char *path, bool dry_run, int64_t *files,
                                int64_t *bytes,
                                struct iobm_error *err) IOBM_CHECK;

#endif
