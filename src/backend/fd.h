/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_BACKEND_FD_H
#define IOBM_BACKEND_FD_H

/*
 * What the back ends on top of a file descriptor have in common: how a test
 * file is opened, and how an error of a transfer is worded.
 */

#include <stdbool.h>
#include <stdint.h>

#include "iobm/backend.h"

/*
 * Open how->path as how->mode says, with 'flags' (O_RDONLY, O_WRONLY or
 * O_RDWR, perhaps others) in place of the access mode.  Refuses what is not a
 * regular file (with IOBM_OPEN_DEVICE: not a block device).  '*size_bytes' is
 * what the file or device holds; it may be NULL.  A file that this call made
 * is removed again when the call fails.
 */
enum iobm_status fd_open(const struct iobm_open *how, int flags, int *fd,
                         int64_t *size_bytes,
                         struct iobm_error *err) IOBM_CHECK;

/* Wait until all of the file is on stable storage. */
enum iobm_status fd_sync(int fd, const char *path,
                         struct iobm_error *err) IOBM_CHECK;

/* 'written': whether a failure could have lost anything. */
enum iobm_status fd_close(int fd, const char *path, bool written,
                          struct iobm_error *err) IOBM_CHECK;

/* IOBM_EIO: "cannot write 'PATH' at OFFSET: CAUSE (DONE of SIZE bytes done)",
 * where OFFSET is that of the first byte of 'op' that did not move. */
enum iobm_status fd_fail_op(struct iobm_error *err, const struct iobm_op *op,
                            const char *path, const char *cause);

/*
 * Find out why 'op' stopped at op->done where the interface in use does not
 * say: move the rest with pread or pwrite, where it belongs.  Returns the text
 * of the errno that gave, "end of file", or 'otherwise' when all of it moved.
 */
const char *fd_cause(int fd, const struct iobm_op *op, const char *otherwise);

#endif
