/* SPDX-License-Identifier: BSD-3-Clause */

/* The state of the client: whether it pages, swaps, waits for memory, meets
 * the memory limit of its job, or is out of processor. */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "env/procfile.h"
#include "env/witness_impl.h"

static void swap(const struct witness_target *t, struct witness_sample *out)
{
    struct str text = {0};

    if (procfile_read(t->root, "/proc/vmstat", &text)) {
        out->swap_in_pages = witness_field(str_text(&text), "pswpin");
        out->swap_out_pages = witness_field(str_text(&text), "pswpout");
    }
    str_release(&text);
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234" in microseconds */
static void pressure(const struct witness_target *t, struct witness_sample *out)
{
    char line[128];
    const char *total;

    if (!procfile_line(t->root, "/proc/pressure/memory", line, sizeof(line)) ||
        strncmp(line, "some ", 5) != 0)
        return;
    total = strstr(line, "total=");
    if (total)
        out->memory_stall_ns = strtoll(total + 6, NULL, 10) * 1000;
}

/* "cpu user nice system idle iowait irq softirq steal guest guest_nice", in
 * ticks; the guests are in user and nice already. */
static void processors(const struct witness_target *t,
                       struct witness_sample *out)
{
    enum { IDLE = 3, IOWAIT = 4, STEAL = 7, FIELDS = 8 };
    char line[256], *at = line + 3;
    int64_t tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
    int64_t total = 0, value[FIELDS] = {0};

    if (!procfile_line(t->root, "/proc/stat", line, sizeof(line)) ||
        strncmp(line, "cpu ", 4) != 0)
        return;
    for (int i = 0; i < FIELDS; i++) {
        value[i] = strtoll(at, &at, 10);
        total += value[i];
    }
    out->cpu_total_ns = total * tick_ns;
    out->cpu_busy_ns = (total - value[IDLE] - value[IOWAIT]) * tick_ns;
    out->cpu_steal_ns = value[STEAL] * tick_ns;
}

static int64_t kib_field(const char *text, const char *key)
{
    int64_t kib = witness_field(text, key);

    return kib < 0 || kib > INT64_MAX / 1024 ? -1 : kib * 1024;
}

static void memory(const struct witness_target *t, struct witness_sample *out)
{
    struct str text = {0};

    if (procfile_read(t->root, "/proc/meminfo", &text)) {
        const char *all = str_text(&text);

        out->memory_bytes = kib_field(all, "MemTotal");
        out->memory_available_bytes = kib_field(all, "MemAvailable");
        out->memory_dirty_bytes = kib_field(all, "Dirty");
    }
    str_release(&text);
}

/* The path behind "PREFIX" in /proc/self/cgroup, cut at the line's end. */
static bool cgroup_path(const char *text, const char *controllers, char *path,
                        size_t room)
{
    for (const char *line = text; line && *line;) {
        const char *end = strchr(line, '\n');
        const char *colon = strchr(line, ':');
        const char *name = colon ? colon + 1 : NULL;
        size_t length = strlen(controllers);

        if (name && (!end || name < end) &&
            strncmp(name, controllers, length) == 0 && name[length] == ':') {
            const char *from = name + length + 1;
            size_t n = end ? (size_t)(end - from) : strlen(from);

            if (n >= room)
                return false;
            memcpy(path, from, n);
            path[n] = '\0';
            return true;
        }
        line = end ? end + 1 : NULL;
    }
    return false;
}

#define NO_LIMIT (INT64_C(1) << 60) /* version 1 says it so, about */

/* The file NAME of a group; -1 where there is none or it says "max". */
static int64_t group_number(const char *root, const char *group,
                            const char *name)
{
    char path[PATH_MAX + 32];
    int64_t value;

    snprintf(path, sizeof(path), "%s/%s", group, name);
    return procfile_int(root, path, &value) && value >= 0 && value < NO_LIMIT
               ? value
               : -1;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* Version 2: memory.max stops, memory.high slows down. */
static int64_t limit_2(const char *root, const char *group)
{
    return least(group_number(root, group, "memory.max"),
                 group_number(root, group, "memory.high"));
}

static int64_t hits_2(const char *root, const char *group)
{
    char path[PATH_MAX + 32];
    struct str text = {0};
    int64_t hits = -1;

    snprintf(path, sizeof(path), "%s/memory.events", group);
    if (procfile_read(root, path, &text)) {
        witness_add(&hits, witness_field(str_text(&text), "max"));
        witness_add(&hits, witness_field(str_text(&text), "high"));
    }
    str_release(&text);
    return hits;
}

static int64_t limit_1(const char *root, const char *group)
{
    return group_number(root, group, "memory.limit_in_bytes");
}

static int64_t hits_1(const char *root, const char *group)
{
    return group_number(root, group, "memory.failcnt");
}

/* The least limit from the process's group upwards counts; of equal ones the
 * nearest, which is met first. */
static void climb(const struct witness_target *t, const char *base,
                  const char *group, bool version_1, struct witness_sample *out)
{
    char at[PATH_MAX];
    size_t keep = strlen(base);
    int n = snprintf(at, sizeof(at), "%s%s", base, group);

    if (n < 0 || (size_t)n >= sizeof(at))
        return;
    for (char *end = at + n; end; end = strrchr(at + keep, '/')) {
        int64_t limit;

        *end = '\0';
        limit = version_1 ? limit_1(t->root, at) : limit_2(t->root, at);
        if (limit < 0 ||
            (out->cgroup_limit_bytes >= 0 && limit >= out->cgroup_limit_bytes))
            continue;
        out->cgroup_limit_bytes = limit;
        out->cgroup_events_max =
            version_1 ? hits_1(t->root, at) : hits_2(t->root, at);
    }
}

static void cgroup(const struct witness_target *t, struct witness_sample *out)
{
    char group[PATH_MAX - 128];
    struct str text = {0};

    if (procfile_read(t->root, "/proc/self/cgroup", &text)) {
        if (cgroup_path(str_text(&text), "", group, sizeof(group)))
            climb(t, "/sys/fs/cgroup", group, false, out);
        if (out->cgroup_limit_bytes < 0 &&
            cgroup_path(str_text(&text), "memory", group, sizeof(group)))
            climb(t, "/sys/fs/cgroup/memory", group, true, out);
    }
    str_release(&text);
}

void witness_client(const struct witness_target *t, struct witness_sample *out)
{
    swap(t, out);
    pressure(t, out);
    processors(t, out);
    memory(t, out);
    cgroup(t, out);
}
