/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Finding and removing what an MPI library leaves beside a test file.  Only
 * regular files whose names have the known forms are ever touched.
 */

#include "backend/stray.h"

#include <dirent.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static DIR *open_parent(const char *path)
{
    const char *base = base_name(path);
    struct str parent = {0};
    DIR *dir;

    str_addn(&parent, path, (size_t)(base - path));
    dir = parent.failed ? NULL : opendir(base > path ? str_text(&parent) : ".");
    str_release(&parent);
    return dir;
}

static bool is_stray(const char *base, const char *name)
{
    size_t n = strlen(base), length = strlen(name);
    const char *rest = name + n;

    if (strncmp(name, base, n) != 0)
        return false;
    if (strncmp(rest, ".locktest.", 10) == 0)
        return rest[10] && !rest[10 + strspn(rest + 10, "0123456789")];
    return length > n + 3 && strcmp(name + length - 3, ".sm") == 0;
}

static void look(int dir, const char *name,
                 void (*visit)(void *arg, int dir, const char *name), void *arg)
{
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(st.st_mode))
        visit(arg, dir, name);
}

/* Call 'visit' for each of the files. */
static void each_stray(const char *path, bool scan,
                       void (*visit)(void *arg, int dir, const char *name),
                       void *arg)
{
    const char *base = base_name(path);
    DIR *dir = open_parent(path);
    struct dirent *entry;
    struct str only = {0};

    if (!dir)
        return;
    if (scan)
        while ((entry = readdir(dir))) {
            if (is_stray(base, entry->d_name))
                look(dirfd(dir), entry->d_name, visit, arg);
        }
    else {
        str_addf(&only, "%s.locktest.0", base);
        if (!only.failed)
            look(dirfd(dir), str_text(&only), visit, arg);
        str_release(&only);
    }
    closedir(dir);
}

static void note(void *arg, int dir, const char *name)
{
    (void)dir;
    if (kv_add(arg, name, "", NULL) != IOBM_OK)
        return;
}

static void remove_new(void *arg, int dir, const char *name)
{
    if (!kv_get(arg, name))
        unlinkat(dir, name, 0);
}

void stray_note(const char *path, bool scan, struct kvlist *names)
{
    each_stray(path, scan, note, names);
}

void stray_remove(const char *path, bool scan, const struct kvlist *names)
{
    each_stray(path, scan, remove_new, (void *)names);
}

void stray_semaphore(const char *path)
{
    struct str name = {0};
    sem_t *semaphore;
    int value = 1;

    str_addf(&name, "/OMPIO_%s", base_name(path));
    if (!name.failed) {
        semaphore = sem_open(str_text(&name), 0);
        if (semaphore != SEM_FAILED) {
            if (sem_getvalue(semaphore, &value) == 0 && value <= 0)
                sem_unlink(str_text(&name));
            sem_close(semaphore);
        }
    }
    str_release(&name);
}
