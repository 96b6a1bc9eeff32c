/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Result files as files: see target.h.  What is wrong with a path is found
 * here, with the system's own reason, before HDF5 gets to see it.
 */

#include "store/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "store/h5.h"

#define COPY_BYTES (1 << 20)

const char *target_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

char *target_folder(const char *path)
{
    size_t length = (size_t)(target_name(path) - path);

    return length > 0 ? strndup(path, length) : strdup("./");
}

static enum iobm_status fail_memory(struct iobm_error *err, const char *path)
{
    return iobm_fail(err, IOBM_ENOMEM, "no memory for '%s'", path);
}

enum iobm_status target_resolve(const char *path, char **real,
                                struct iobm_error *err)
{
    struct stat facts;
    bool is_link = lstat(path, &facts) == 0 && S_ISLNK(facts.st_mode);

    if (!is_link && *target_name(path) == '\0' && access(path, F_OK) != 0)
        return iobm_fail(err, IOBM_EIO,
                         "cannot use result file '%s': it names no file", path);
    *real = is_link ? realpath(path, NULL) : strdup(path);
    if (*real)
        return IOBM_OK;
    if (errno == ENOENT)
        return iobm_fail(err, IOBM_EIO,
                         "cannot use result file '%s': the symbolic link "
                         "leads nowhere",
                         path);
    return iobm_fail_errno(err, errno, "cannot use result file '%s'", path);
}

char *target_beside(const char *target, const char *run_id, const char *suffix)
{
    struct str text = {0};

    str_addf(&text, "%s.%.8s%s", target, run_id, suffix);
    if (text.failed)
        str_release(&text);
    return text.text;
}

bool target_is_vacant(const char *path)
{
    struct stat facts;

    if (stat(path, &facts) != 0)
        return errno == ENOENT;
    return S_ISREG(facts.st_mode) && facts.st_size == 0;
}

/* What the system has to say against 'path' as a file to read. */
static enum iobm_status check_file(const char *path, struct iobm_error *err)
{
    struct stat facts;
    int file;

    if (stat(path, &facts) != 0)
        return iobm_fail_errno(err, errno, "cannot open '%s'", path);
    if (S_ISDIR(facts.st_mode))
        return iobm_fail(err, IOBM_EIO, "cannot open '%s': it is a directory",
                         path);
    if (!S_ISREG(facts.st_mode))
        return iobm_fail(err, IOBM_EIO,
                         "cannot open '%s': it is not a regular file", path);
    if (facts.st_size == 0)
        return iobm_fail(err, IOBM_EIO, "cannot open '%s': it is empty", path);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return iobm_fail_errno(err, errno, "cannot open '%s'", path);
    close(file);
    return IOBM_OK;
}

static enum iobm_status check_format(hid_t file, const char *path,
                                     struct iobm_error *err)
{
    char name[32], version[32];

    h5_get_text(file, "format", name, sizeof(name));
    h5_get_text(file, "format_version", version, sizeof(version));
    if (strcmp(name, FORMAT_NAME) != 0)
        return iobm_fail(err, IOBM_EIO,
                         "cannot use '%s': it is an HDF5 file, but not one of "
                         "iobm's results",
                         path);
    if (version[0] < '0' || version[0] > '9' || atoi(version) < 1)
        return iobm_fail(err, IOBM_EIO,
                         "cannot use '%s': it does not say in which format it "
                         "is",
                         path);
    if (atoi(version) > FORMAT_MAJOR)
        return iobm_fail(err, IOBM_EIO,
                         "cannot use '%s': its format %s is newer than what "
                         "this iobm knows, " FORMAT_VERSION,
                         path, version);
    return IOBM_OK;
}

enum iobm_status target_open(const char *path, bool writable, hid_t *file,
                             struct iobm_error *err)
{
    hid_t access, opened;
    enum iobm_status status = check_file(path, err);

    if (status)
        return status;
    if (H5Fis_hdf5(path) <= 0)
        return iobm_fail(err, IOBM_EIO,
                         "cannot open '%s': it is not an HDF5 file", path);
    access = h5_access();
    opened =
        access < 0
            ? -1
            : H5Fopen(path, writable ? H5F_ACC_RDWR : H5F_ACC_RDONLY, access);
    if (opened < 0)
        status = h5_fail(err, "cannot open '%s'", path);
    else
        status = check_format(opened, path, err);
    h5_release(access);
    if (status)
        h5_release(opened);
    else
        *file = opened;
    return status;
}

enum iobm_status target_init(hid_t file, struct iobm_error *err)
{
    enum iobm_status status = h5_put_text(file, "format", FORMAT_NAME, err);
    hid_t runs;

    if (status == IOBM_OK)
        status = h5_put_text(file, "format_version", FORMAT_VERSION, err);
    if (status)
        return status;
    runs = H5Gcreate2(file, "runs", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (runs < 0)
        return h5_fail(err, "cannot create group 'runs'");
    h5_release(runs);
    return IOBM_OK;
}

enum iobm_status target_check(const char *target, struct iobm_error *err)
{
    char *folder = target_folder(target);
    enum iobm_status status = IOBM_OK;
    hid_t file = -1;

    if (!folder)
        return fail_memory(err, target);
    if (!target_is_vacant(target))
        status = target_open(target, false, &file, err);
    if (status == IOBM_OK && access(target, W_OK) != 0 && errno != ENOENT)
        status = iobm_fail_errno(err, errno, "cannot write '%s'", target);
    /* It is replaced by a new file of the same name. */
    if (status == IOBM_OK && access(folder, W_OK | X_OK) != 0)
        status = iobm_fail_errno(err, errno,
                                 "cannot write '%s': cannot create files in "
                                 "'%s'",
                                 target, folder);
    h5_release(file);
    free(folder);
    return status;
}

/* All of 'from' into 'to'; an errno. */
static int copy_bytes(int from, int to)
{
    char *buffer = malloc(COPY_BYTES);
    int error = buffer ? 0 : ENOMEM;

    while (error == 0) {
        ssize_t got = read(from, buffer, COPY_BYTES);
        ssize_t put = 0;

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            error = errno;
        if (got <= 0)
            break;
        while (put < got && error == 0) {
            ssize_t n = write(to, buffer + put, (size_t)(got - put));

            if (n < 0 && errno != EINTR)
                error = errno;
            if (n > 0)
                put += n;
        }
    }
    free(buffer);
    return error;
}

static int reserve(int file, int64_t room)
{
    off_t end = lseek(file, 0, SEEK_END);

    return end < 0 ? errno : posix_fallocate(file, end, room);
}

static int create(const char *path, mode_t mode)
{
    unlink(path); /* a leftover of a process that was killed */
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
}

enum iobm_status target_copy(const char *from, const char *to, int64_t room,
                             struct iobm_error *err)
{
    int source = open(from, O_RDONLY | O_CLOEXEC);
    struct stat facts;
    int copy = -1, error = 0;

    if (source < 0)
        return iobm_fail_errno(err, errno, "cannot open '%s'", from);
    if (fstat(source, &facts) == 0)
        copy = create(to, 0600);
    if (copy < 0) {
        error = errno;
    } else {
        /* Who may not give the copy the owner keeps it for himself. */
        if (fchown(copy, facts.st_uid, facts.st_gid) != 0)
            error = 0;
        if (fchmod(copy, facts.st_mode & 07777) != 0)
            error = errno;
        if (error == 0)
            error = copy_bytes(source, copy);
        if (error == 0)
            error = reserve(copy, room);
        if (close(copy) != 0 && error == 0)
            error = errno;
    }
    close(source);
    if (error == 0)
        return IOBM_OK;
    unlink(to);
    return iobm_fail_errno(err, error, "cannot copy '%s' to '%s'", from, to);
}

enum iobm_status target_reserve(const char *path, int64_t room,
                                struct iobm_error *err)
{
    int file = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    int error;

    if (file < 0)
        return iobm_fail_errno(err, errno, "cannot open '%s'", path);
    error = reserve(file, room);
    if (close(file) != 0 && error == 0)
        error = errno;
    if (error == 0)
        return IOBM_OK;
    return iobm_fail_errno(err, error, "cannot make room in '%s'", path);
}

enum iobm_status target_sync(const char *path, struct iobm_error *err)
{
    int file = open(path, O_RDWR | O_CLOEXEC);
    int error = 0;

    if (file < 0)
        return iobm_fail_errno(err, errno, "cannot open '%s'", path);
    if (fsync(file) != 0)
        error = errno;
    if (close(file) != 0 && error == 0)
        error = errno;
    return error == 0 ? IOBM_OK
                      : iobm_fail_errno(err, error, "cannot sync '%s'", path);
}

void target_sync_folder(const char *path)
{
    char *folder = target_folder(path);
    int file = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (file >= 0) {
        fsync(file);
        close(file);
    }
    free(folder);
}
