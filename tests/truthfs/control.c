/* SPDX-License-Identifier: BSD-3-Clause */

/* The files in the folder .truth: see truth.h. */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "truthfs/moment.h"
#include "truthfs/truth.h"

static const char *const names[CONTROL_END] = {
    [CONTROL_NONE] = "",           [CONTROL_FOLDER] = ".truth",
    [CONTROL_CONTROL] = "control", [CONTROL_STATS] = "stats",
    [CONTROL_RELEASE] = "release",
};

const char *control_name(enum control control)
{
    return names[control];
}

enum control control_of(const char *path)
{
    if (!path || strncmp(path, "/.truth", 7) != 0)
        return CONTROL_NONE;
    if (!path[7])
        return CONTROL_FOLDER;
    for (int c = CONTROL_CONTROL; c < CONTROL_END && path[7] == '/'; c++) {
        if (strcmp(path + 8, names[c]) == 0)
            return (enum control)c;
    }
    return CONTROL_NONE;
}

void control_stat(enum control control, struct stat *st)
{
    memset(st, 0, sizeof(*st));
    st->st_ino = 0x7ffffff0u + (unsigned)control;
    st->st_mode = control == CONTROL_FOLDER ? S_IFDIR | 0755 : S_IFREG | 0644;
    st->st_nlink = 1;
    st->st_uid = getuid();
    st->st_gid = getgid();
}

static void print_stats(struct truth *t, FILE *to)
{
    int64_t now = moment_now_ns();

    fprintf(to, "pid %d\nnow_ns %" PRId64 "\ndirty_bytes %" PRId64 "\n",
            (int)getpid(), now, pace_dirty(&t->pace, now));
    pthread_mutex_lock(&t->faults.lock);
    fprintf(to, "hanging %" PRId64 "\nstruck %" PRId64 "\n", t->faults.hanging,
            t->faults.struck);
    pthread_mutex_unlock(&t->faults.lock);
    trace_print(&t->trace, to);
}

int control_open(struct truth *t, enum control control, struct handle *handle)
{
    FILE *to = open_memstream(&handle->text, &handle->size);

    if (!to)
        return -ENOMEM;
    handle->control = control;
    if (control == CONTROL_STATS) {
        print_stats(t, to);
    } else if (control == CONTROL_CONTROL) {
        pthread_mutex_lock(&t->lock);
        fputs(t->refused, to);
        pthread_mutex_unlock(&t->lock);
    }
    return fclose(to) == 0 ? 0 : -ENOMEM;
}

int control_read(const struct handle *handle, char *to, size_t size,
                 int64_t offset)
{
    if (offset < 0 || (uint64_t)offset >= handle->size)
        return 0;
    if (size > handle->size - (size_t)offset)
        size = handle->size - (size_t)offset;
    memcpy(to, handle->text + offset, size);
    return (int)size;
}

static bool do_line(struct truth *t, const char *line)
{
    struct settings_target target = {.pace = &t->pace, .faults = &t->faults};

    if (strcmp(line, "clear") == 0) {
        faults_clear(&t->faults);
    } else if (strcmp(line, "release") == 0) {
        faults_release(&t->faults);
    } else if (strcmp(line, "reset") == 0) {
        trace_reset(&t->trace);
        pace_reset(&t->pace);
    } else if (!settings_apply(&target, line, t->refused,
                               sizeof(t->refused) - 1)) {
        strcat(t->refused, "\n");
        return false;
    }
    /* What is to be stale may be there already. */
    for (const struct trace_file *f = t->trace.first; f; f = f->next)
        faults_see(&t->faults, f->path);
    return true;
}

/* Lines, each a setting or a word. */
static int do_lines(struct truth *t, const char *text, size_t size)
{
    char *copy = strndup(text, size);
    char *rest = copy, *line;
    int status = (int)size;

    if (!copy)
        return -ENOMEM;
    pthread_mutex_lock(&t->lock);
    t->refused[0] = '\0';
    while (status >= 0 && (line = strsep(&rest, "\n"))) {
        if (line[0] && !do_line(t, line))
            status = -EINVAL;
    }
    pthread_mutex_unlock(&t->lock);
    free(copy);
    return status;
}

int control_write(struct truth *t, const struct handle *handle,
                  const char *text, size_t size)
{
    if (handle->control == CONTROL_CONTROL)
        return do_lines(t, text, size);
    if (handle->control != CONTROL_RELEASE)
        return -EACCES;
    faults_release(&t->faults);
    return (int)size;
}
