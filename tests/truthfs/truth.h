/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRUTHFS_TRUTH_H
#define TRUTHFS_TRUTH_H

/*
 * The whole of a mounted file system, and the files in its folder .truth:
 * control (settings are written to it; reading tells why the last one was
 * refused), stats, and release (touched or written to, what hangs goes on).
 */

#include "truthfs/faults.h"
#include "truthfs/pace.h"
#include "truthfs/settings.h"
#include "truthfs/store.h"
#include "truthfs/trace.h"

struct truth {
    struct settings settings;
    struct pace pace;
    struct faults faults;
    struct trace trace;
    struct store *store;
    pthread_mutex_t lock; /* of the last refusal */
    char refused[512];
};

enum control {
    CONTROL_NONE, /* any other path */
    CONTROL_FOLDER,
    CONTROL_CONTROL,
    CONTROL_STATS,
    CONTROL_RELEASE,
    CONTROL_END
};

/* An open file; of a control file, its text. */
struct handle {
    struct store_file *file; /* NULL: a control file */
    struct trace_file *trace;
    enum control control;
    char *text;
    size_t size;
};

/* 'path' begins with a slash, or is NULL. */
enum control control_of(const char *path);
const char *control_name(enum control control);
void control_stat(enum control control, struct stat *st);
int control_open(struct truth *t, enum control control, struct handle *handle);
int control_read(const struct handle *handle, char *to, size_t size,
                 int64_t offset);
int control_write(struct truth *t, const struct handle *handle,
                  const char *text, size_t size);

#endif
