/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Processes by boot, pid namespace, pid and start time: a pid alone is used
 * again, and says nothing on another host.  A zombie counts as gone.
 */

#include "guard/alive.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "env/procfile.h"

/* State letter and start time from /proc/PID/stat.  The name, in brackets,
 * may hold anything: look behind the last one. */
static bool read_stat(int64_t pid, char *state, int64_t *start)
{
    char path[64];
    struct str text = {0};
    const char *at = NULL;
    bool found = false;

    snprintf(path, sizeof(path), "/proc/%" PRId64 "/stat", pid);
    if (procfile_read("", path, &text))
        at = strrchr(str_text(&text), ')');
    if (at && at[1] == ' ' && at[2]) {
        *state = at[2];
        at += 3;
        /* Field 22; the state is field 3. */
        for (int field = 4; at && field <= 22; field++) {
            at = strchr(at, ' ');
            at = at ? at + 1 : NULL;
        }
        if (at) {
            *start = strtoll(at, NULL, 10);
            found = true;
        }
    }
    str_release(&text);
    return found;
}

void alive_self(struct alive *self)
{
    char boot_id[40], space[40] = "";
    char state;
    ssize_t n;

    memset(self, 0, sizeof(*self));
    procfile_line("", "/proc/sys/kernel/hostname", self->host,
                  sizeof(self->host));
    procfile_line("", "/proc/sys/kernel/random/boot_id", boot_id,
                  sizeof(boot_id));
    n = readlink("/proc/self/ns/pid", space, sizeof(space) - 1);
    space[n > 0 ? n : 0] = '\0';
    if (boot_id[0])
        snprintf(self->place, sizeof(self->place), "%s/%s", boot_id, space);
    self->pid = getpid();
    if (!read_stat(self->pid, &state, &self->start))
        self->place[0] = '\0';
}

enum alive_state alive_look(const struct alive *process)
{
    struct alive self;
    int64_t start = 0;
    char state = 'Z';

    alive_self(&self);
    if (!self.place[0] || strcmp(self.place, process->place) != 0)
        return ALIVE_UNKNOWN;
    if (self.pid == process->pid && self.start == process->start)
        return ALIVE_SELF;
    if (!read_stat(process->pid, &state, &start) || start != process->start ||
        state == 'Z' || state == 'X')
        return ALIVE_NO;
    return ALIVE_YES;
}
