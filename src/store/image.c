/* SPDX-License-Identifier: BSD-3-Clause */

/* HDF5 files in memory, saved as a whole: see image.h. */

#include "store/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/h5.h"

#define GROW_BYTES (1 << 18)

enum iobm_status image_create(const char *name, hid_t *file,
                              struct iobm_error *err)
{
    hid_t access = h5_access();
    hid_t created = -1;

    if (access >= 0 && H5Pset_fapl_core(access, GROW_BYTES, 0) >= 0)
        created = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    if (created < 0)
        h5_fail(err, "cannot create an HDF5 file in memory");
    h5_release(access);
    if (created < 0)
        return IOBM_EIO;
    *file = created;
    return IOBM_OK;
}

static int write_all(int file, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t done = write(file, bytes, n);

        if (done < 0 && errno != EINTR)
            return errno;
        if (done > 0) {
            bytes += done;
            n -= (size_t)done;
        }
    }
    return 0;
}

/* The bytes of the file as they would be on disk. */
static enum iobm_status take(hid_t file, char **bytes, size_t *n,
                             struct iobm_error *err)
{
    ssize_t size = -1;
    char *all;

    if (H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0)
        size = H5Fget_file_image(file, NULL, 0);
    if (size < 0)
        return h5_fail(err, "cannot build the HDF5 file");
    all = malloc((size_t)size);
    if (!all)
        return iobm_fail(err, IOBM_ENOMEM, "cannot build the HDF5 file");
    if (H5Fget_file_image(file, all, (size_t)size) != size) {
        free(all);
        return h5_fail(err, "cannot build the HDF5 file");
    }
    *bytes = all;
    *n = (size_t)size;
    return IOBM_OK;
}

enum iobm_status image_save(hid_t file, const char *fresh, const char *path,
                            struct iobm_error *err)
{
    char *bytes = NULL;
    size_t n = 0;
    enum iobm_status status = take(file, &bytes, &n, err);
    int to, error;

    if (status)
        return status;
    unlink(fresh); /* a leftover; and O_EXCL follows no link */
    to = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    error = to < 0 ? errno : write_all(to, bytes, n);
    free(bytes);
    if (to >= 0 && close(to) != 0 && error == 0)
        error = errno;
    if (error == 0 && path && rename(fresh, path) != 0)
        error = errno;
    if (error == 0)
        return IOBM_OK;
    if (to >= 0)
        unlink(fresh);
    return iobm_fail_errno(err, error, "cannot write '%s'", fresh);
}
