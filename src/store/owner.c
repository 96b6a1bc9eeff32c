/* SPDX-License-Identifier: BSD-3-Clause */

/* Whether a process that left its name in a file still lives: see owner.h. */

#include "store/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

/* State and start time of a process; false when /proc does not tell. */
static bool read_stat(int64_t pid, char *state, int64_t *start)
{
    char path[64], text[1024];
    const char *at;
    ssize_t n;
    int file;

    snprintf(path, sizeof(path), "/proc/%" PRId64 "/stat", pid);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    n = read(file, text, sizeof(text) - 1);
    close(file);
    if (n <= 0)
        return false;
    text[n] = '\0';
    /* The name, in brackets, may hold anything; the state is field 3, the
     * start time field 22. */
    at = strrchr(text, ')');
    if (!at || at[1] != ' ')
        return false;
    *state = at[2];
    for (int field = 3; field <= 22 && at; field++)
        at = strchr(at + 1, ' ');
    if (!at)
        return false;
    return sscanf(at, "%" SCNd64, start) == 1;
}

static void describe_place(char *place, size_t room)
{
    char clock[128], pids[64];
    ssize_t n = readlink("/proc/self/ns/pid", pids, sizeof(pids) - 1);

    pids[n > 0 ? n : 0] = '\0';
    snprintf(place, room, "%s %s", clock_domain(clock, sizeof(clock)), pids);
    for (char *c = place; *c; c++)
        if (*c == '\n')
            *c = ' ';
}

void owner_init(struct owner *owner)
{
    char host[sizeof(owner->host)] = "";
    char state;

    memset(owner, 0, sizeof(*owner));
    /* A name that is cut may lack its end. */
    if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == '\0')
        strcpy(host, "?");
    memcpy(owner->host, host, sizeof(host));
    describe_place(owner->place, sizeof(owner->place));
    owner->pid = getpid();
    if (!read_stat(owner->pid, &state, &owner->start))
        owner->start = -1;
}

enum owner_state owner_ask(const struct owner *owner)
{
    char place[sizeof(owner->place)];
    int64_t start = -1;
    char state = '?';

    describe_place(place, sizeof(place));
    if (strcmp(place, owner->place) != 0)
        return OWNER_ELSEWHERE;
    if (owner->pid <= 0)
        return OWNER_GONE;
    if (kill((pid_t)owner->pid, 0) != 0 && errno == ESRCH)
        return OWNER_GONE;
    if (!read_stat(owner->pid, &state, &start))
        return OWNER_ALIVE;
    if (state == 'Z' || state == 'X')
        return OWNER_GONE; /* ended; only its parent has not noticed */
    if (owner->start >= 0 && start != owner->start)
        return OWNER_GONE; /* another process with its number */
    return OWNER_ALIVE;
}
