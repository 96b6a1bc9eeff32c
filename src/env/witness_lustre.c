/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Lustre: llite counts what applications read and wrote at this mount, osc
 * what went to the servers.  Both are "stats" files with lines such as
 *     read_bytes  3 samples [bytes] 4096 1048576 2101248
 * whose last number is the sum.  They lie below /proc/fs/lustre or, newer,
 * below /sys/kernel/debug/lustre, which root alone may read.
 */

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "env/procfile.h"
#include "env/witness_impl.h"

/* The sum in the line of 'key': the fourth number, as newer versions have a
 * sum of squares behind it.  A counter that is still 0 has no line. */
static int64_t sum_of(const char *text, const char *key)
{
    size_t length = strlen(key);

    for (const char *line = text; line && *line;) {
        long long samples, least, most, sum;

        if (strncmp(line, key, length) == 0 && line[length] == ' ')
            return sscanf(line + length, "%lld samples [bytes] %lld %lld %lld",
                          &samples, &least, &most, &sum) == 4 &&
                           sum >= 0
                       ? sum
                       : -1;
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return 0;
}

static void add_stats(const char *root, const char *path, int64_t *read,
                      int64_t *write)
{
    struct str text = {0};

    if (procfile_read(root, path, &text)) {
        witness_add(read, sum_of(str_text(&text), "read_bytes"));
        witness_add(write, sum_of(str_text(&text), "write_bytes"));
    }
    str_release(&text);
}

/* Whether 'device' is of the file system 'fs': "FS-ffff9e0b..." of llite,
 * "FS-OST0001-osc-ffff9e0b..." of osc.  Names may have hyphens. */
static bool is_of(const char *device, const char *fs, bool osc)
{
    size_t length = strlen(fs);

    return strncmp(device, fs, length) == 0 && device[length] == '-' &&
           (osc ? strncmp(device + length, "-OST", 4) == 0
                : !strchr(device + length + 1, '-'));
}

/* All devices of the file system below 'base'. */
static void add_all(const struct witness_target *t, const char *base, bool osc,
                    int64_t *read, int64_t *write)
{
    char path[PATH_MAX];
    DIR *dir;

    snprintf(path, sizeof(path), "%s%s", t->root, base);
    dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (!is_of(e->d_name, t->lustre_name, osc))
            continue;
        snprintf(path, sizeof(path), "%s/%s/stats", base, e->d_name);
        add_stats(t->root, path, read, write);
    }
    if (dir)
        closedir(dir);
}

void witness_lustre(const struct witness_target *t, struct witness_sample *out)
{
    static const char *const bases[] = {"/proc/fs/lustre",
                                        "/sys/kernel/debug/lustre"};
    char base[64];

    /* Each kind in one place: the same counters may be in both. */
    for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++) {
        snprintf(base, sizeof(base), "%s/llite", bases[i]);
        if (out->lustre_client_read < 0 && out->lustre_client_write < 0)
            add_all(t, base, false, &out->lustre_client_read,
                    &out->lustre_client_write);
        snprintf(base, sizeof(base), "%s/osc", bases[i]);
        if (out->lustre_osc_read < 0 && out->lustre_osc_write < 0)
            add_all(t, base, true, &out->lustre_osc_read,
                    &out->lustre_osc_write);
    }
}
