/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * NFS: the line "bytes:" of this mount in /proc/self/mountstats has what
 * applications read and wrote, through the cache and past it, and what went
 * over the wire: normal read, normal write, direct read, direct write, server
 * read, server write, and pages.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "env/procfile.h"
#include "env/witness_impl.h"

#define FIELDS 6

static void take_bytes(const char *line, struct witness_sample *out)
{
    int64_t *const where[FIELDS] = {
        &out->nfs_normal_read,  &out->nfs_normal_write, &out->nfs_direct_read,
        &out->nfs_direct_write, &out->nfs_server_read,  &out->nfs_server_write,
    };
    int64_t value[FIELDS];

    for (int i = 0; i < FIELDS; i++) {
        char *end;

        value[i] = strtoll(line, &end, 10);
        if (end == line || value[i] < 0)
            return;
        line = end;
    }
    for (int i = 0; i < FIELDS; i++)
        *where[i] = value[i];
}

/* What follows 'path' in 'text', which has blanks as \040 and the like; NULL
 * when it does not begin with it. */
static const char *skip_path(const char *text, const char *path)
{
    for (; *path; path++) {
        char escaped[16] = {*path};
        size_t n;

        if (strchr(" \t\n\\", *path))
            snprintf(escaped, sizeof(escaped), "\\%03o", (unsigned char)*path);
        n = strlen(escaped);
        if (strncmp(text, escaped, n) != 0)
            return NULL;
        text += n;
    }
    return text;
}

/* "device SERVER:/PATH mounted on POINT with fstype nfs4 statvers=1.1" */
static bool names_mount(const char *line, const char *point)
{
    static const char mounted[] = " mounted on ", type[] = " with fstype nfs";
    const char *at = strstr(line, mounted);
    const char *end = strchr(line, '\n');

    if (!at || (end && at > end))
        return false;
    at = skip_path(at + sizeof(mounted) - 1, point);
    return at && strncmp(at, type, sizeof(type) - 1) == 0;
}

void witness_nfs(const struct witness_target *t, struct witness_sample *out)
{
    struct str text = {0};
    bool ours = false;

    /* Of mounts at the same place, the last one is on top. */
    (void)procfile_read(t->root, "/proc/self/mountstats", &text);
    for (const char *line = str_text(&text); line && *line;) {
        if (strncmp(line, "device ", 7) == 0)
            ours = names_mount(line, t->mount_point);
        else if (ours) {
            line += strspn(line, " \t");
            if (strncmp(line, "bytes:", 6) == 0)
                take_bytes(line + 6, out);
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    str_release(&text);
}
