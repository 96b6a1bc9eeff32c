/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRUTHFS_STORE_H
#define TRUTHFS_STORE_H

/*
 * What a file system keeps: names, sizes, contents.  Two kinds: in memory, and
 * in a folder.  Paths are relative, "" is the root.
 * Everything returns >= 0 or -errno, and knows neither speed nor faults.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

struct store;
struct store_file;

typedef int (*store_list_fn)(void *context, const char *name);

struct store_kind {
    int (*get)(struct store *s, const char *path, struct stat *st);
    int (*open)(struct store *s, const char *path, int flags, mode_t mode,
                uid_t uid, gid_t gid, struct store_file **file);
    void (*close)(struct store *s, struct store_file *file);
    int (*get_open)(struct store *s, struct store_file *file, struct stat *st);
    ssize_t (*read)(struct store *s, struct store_file *file, void *to,
                    size_t n, int64_t offset);
    ssize_t (*write)(struct store *s, struct store_file *file, const void *from,
                     size_t n, int64_t offset);
    int (*resize)(struct store *s, struct store_file *file, int64_t size);
    int (*allocate)(struct store *s, struct store_file *file, int mode,
                    int64_t offset, int64_t size);
    int (*make_folder)(struct store *s, const char *path, mode_t mode,
                       uid_t uid, gid_t gid);
    int (*remove)(struct store *s, const char *path, bool folder);
    int (*rename)(struct store *s, const char *from, const char *to,
                  unsigned flags);
    int (*set_mode)(struct store *s, const char *path, mode_t mode);
    int (*set_owner)(struct store *s, const char *path, uid_t uid, gid_t gid);
    int (*set_times)(struct store *s, const char *path,
                     const struct timespec times[2]);
    int (*list)(struct store *s, const char *path, store_list_fn found,
                void *context);
};

struct store {
    const struct store_kind *kind;
};

/* 'data' false: of each file the size and the first 64 KiB, the rest reads as
 * zeros.  NULL: no memory. */
struct store *store_in_memory(bool data);
/* NULL with errno set. */
struct store *store_in_folder(const char *folder);

/* The bytes at 'offset' of a file by its name; those missing are zeros.
 * Returns how many there are, or -errno. */
ssize_t store_peek(struct store *s, const char *path, void *to, size_t n,
                   int64_t offset);

#endif
