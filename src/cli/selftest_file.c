/* SPDX-License-Identifier: BSD-3-Clause */

/* The test file of 'iobm self-test'; how it is used is selftest_measure.c's. */

#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "cli/selftest.h"
#include "env/mount.h"

static bool is_folder(const char *path)
{
    struct stat st;

    return path && path[0] && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static const char *default_folder(void)
{
    const char *wanted = getenv("TMPDIR");

    if (is_folder(wanted))
        return wanted;
    return is_folder("/dev/shm") ? "/dev/shm" : "/tmp";
}

/* The path, to be freed; NULL when memory is short. */
static char *choose_path(const char *path)
{
    char id[37];
    char *chosen;

    if (!path)
        path = default_folder();
    if (!is_folder(path))
        return strdup(path);
    rng_uuid(id);
    return asprintf(&chosen, "%s/iobm-self-test.%.8s", path, id) < 0 ? NULL
                                                                     : chosen;
}

static enum iobm_status name_file(struct selftest_file *file, const char *path,
                                  struct selftest *test, struct iobm_error *err)
{
    char *copy; /* dirname() changes it */

    file->path = choose_path(path);
    copy = file->path ? strdup(file->path) : NULL;
    if (!copy)
        return iobm_fail(err, IOBM_ENOMEM, "cannot name the test file");
    str_copy(test->folder, sizeof(test->folder), dirname(copy));
    free(copy);
    return IOBM_OK;
}

static void name_file_system(struct selftest *test)
{
    struct mount_facts facts;
    struct iobm_error ignored;

    str_copy(test->fs_type, sizeof(test->fs_type), "file");
    if (mount_describe(test->folder, &facts, &ignored) == IOBM_OK)
        str_copy(test->fs_type, sizeof(test->fs_type), facts.fs_type);
}

/* No signal ends the process between the two. */
static enum iobm_status open_and_unlink(struct selftest_file *file,
                                        struct iobm_error *err)
{
    const struct iobm_open how = {
        .path = file->path,
        .mode = IOBM_OPEN_READ | IOBM_OPEN_WRITE | IOBM_OPEN_CREATE,
        .alignment_bytes = 1,
    };
    sigset_t all, before;
    enum iobm_status status;
    int rc = 0, errnum = 0;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    status = file->backend.open(file->state, &how, file->file, err);
    file->open = status == IOBM_OK;
    if (file->open) {
        rc = unlink(file->path);
        errnum = errno;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        status = iobm_fail_errno(err, errnum, "cannot remove '%s'", file->path);
    return status;
}

static enum iobm_status stay_open(void *state, const struct iobm_open *how,
                                  void *file, struct iobm_error *err)
{
    (void)state, (void)how, (void)file, (void)err;
    return IOBM_OK;
}

static enum iobm_status not_closed(void *state, void *file,
                                   struct iobm_error *err)
{
    (void)state, (void)file, (void)err;
    return IOBM_OK;
}

enum iobm_status selftest_file_open(struct selftest_file *file,
                                    const char *path, struct selftest *test,
                                    struct iobm_error *err)
{
    const struct iobm_backend *posix = iobm_backend_find("posix");
    enum iobm_status status;

    *file = (struct selftest_file){.path = NULL};
    if (!posix)
        return iobm_fail(err, IOBM_EUNSUPPORTED,
                         "this build has no back end 'posix'");
    file->backend = *posix;
    file->state = calloc(1, posix->state_size + 1);
    file->file = calloc(1, posix->file_size + 1);
    if (!file->state || !file->file)
        return iobm_fail(err, IOBM_ENOMEM, "cannot make a test file");
    status = name_file(file, path, test, err);
    if (status != IOBM_OK)
        return status;
    name_file_system(test);
    status = open_and_unlink(file, err);
    file->backend.open = stay_open;
    file->backend.close = not_closed;
    return status;
}

void selftest_file_close(struct selftest_file *file)
{
    const struct iobm_backend *posix = iobm_backend_find("posix");
    struct iobm_error ignored; /* what was written is gone anyway */

    if (file->open)
        (void)!posix->close(file->state, file->file, &ignored);
    free(file->state);
    free(file->file);
    free(file->path);
}
