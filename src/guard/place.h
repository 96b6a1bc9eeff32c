/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_GUARD_PLACE_H
#define IOBM_GUARD_PLACE_H

/*
 * The directory that holds the test files, held open, so that what was looked
 * at and what is removed are names in the same directory whatever happens to
 * the path; and the names that iobm uses in it.  Links are never followed.
 */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/layout.h"
#include "iobm/error.h"

struct manifest;

struct place {
    int dir;                  /* O_PATH, or -1 */
    char directory[PATH_MAX]; /* as in the path that was given, or "." */
    char name[NAME_MAX + 1];  /* its last component */
};

/* What is wrong with 'path' as text: empty, a trailing slash, too long, the
 * name of a manifest.  IOBM_EUSAGE. */
enum iobm_status place_split(const char *path, struct place *place,
                             struct iobm_error *err) IOBM_CHECK;

/* place_split() and open the directory. */
enum iobm_status place_open(const char *path, struct place *place,
                            struct iobm_error *err) IOBM_CHECK;
void place_close(struct place *place);

/* Names too long for the file system with the suffix of the last part. */
enum iobm_status place_check_names(const struct place *place,
                                   const struct layout *layout,
                                   struct iobm_error *err) IOBM_CHECK;

#define PLACE_NAME_ROOM (NAME_MAX + 32)

/* The name of part 'p' in the directory, and of the manifest. */
void place_file_name(const struct place *place, const struct layout *layout,
                     int p, char name[PLACE_NAME_ROOM]);
void place_manifest_name(const struct place *place, char name[PLACE_NAME_ROOM]);

/* Whether 'other' leads to a name that test files of any number of ranks, or
 * their manifest, have in this place.  A link at its end is followed. */
bool place_claims(const struct place *place, const struct layout *layout,
                  const char *other);

/* Create a new file in the directory: ".iobm-RANDOM.SUFFIX". */
int place_create(const struct place *place, const char *suffix,
                 char name[PLACE_NAME_ROOM]);

/* Make names that were added and removed last through a crash; best effort,
 * as some file systems cannot. */
void place_sync(const struct place *place);

int64_t place_mtime_ns(const struct stat *st);

/*
 * One run at a time prepares or removes files at a name.  A lock of a dead
 * process of this host is broken; another one is waited for up to 5 s and
 * then reported.  'now_ns' is the file system's own time.
 */
enum iobm_status place_lock(const struct place *place, int64_t *now_ns,
                            struct iobm_error *err) IOBM_CHECK;
void place_unlock(const struct place *place);

/* What stands at the name of a test file. */
enum place_owner {
    PLACE_MISSING,
    PLACE_OURS,
    PLACE_LINKED,  /* ours, but with more names */
    PLACE_FOREIGN, /* a regular file that no manifest vouches for */
    PLACE_OTHER,   /* a link, a directory, a device ...: never touched */
};

struct place_file {
    enum place_owner owner;
    int64_t bytes;       /* its size */
    int64_t freed_bytes; /* allocated, given back by removing the name */
    uint64_t inode;
    int64_t mtime_ns;
    char why[192]; /* "it is a symbolic link"; "" when ours */
};

/*
 * Look at part 'p' of 'layout'.  It is ours when 'manifest' (may be NULL)
 * lists it, when it belongs to the user that the manifest belongs to, and
 * when it has the size, and the inode or the modification time, that were
 * noted; of a run that did not end, any size up to the planned one.
 */
enum iobm_status place_look(const struct place *place,
                            const struct manifest *manifest,
                            const struct layout *layout, int p,
                            struct place_file *out,
                            struct iobm_error *err) IOBM_CHECK;

/*
 * Whether a run that has not ended may still be at work: its process runs on
 * this host, or on a host that cannot be asked and the file at 'mtime_ns' was
 * changed less than 30 s ago.
 */
bool place_busy(const struct manifest *manifest, int64_t mtime_ns,
                int64_t now_ns);

/* Look again and remove the name if it is ours ('force': or any regular
 * file).  '*bytes' gets its size, or -1 when nothing was removed. */
enum iobm_status place_remove(const struct place *place,
                              const struct manifest *manifest,
                              const struct layout *layout, int p, bool force,
                              int64_t *bytes,
                              struct iobm_error *err) IOBM_CHECK;

#endif
