/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_STORE_IMAGE_H
#define IOBM_STORE_IMAGE_H

/*
 * An HDF5 file that lives in memory and goes to disk as a whole: written
 * beside and renamed, so that what is on disk is at every instant a file that
 * HDF5 closed properly, and a full disk never meets HDF5 in the middle of an
 * update.
 */

#include <hdf5.h>

#include "iobm/error.h"

/* HDF5 wants a name that no other open file has. */
enum iobm_status image_create(const char *name, hid_t *file,
                              struct iobm_error *err) IOBM_CHECK;

/* Write all of it to 'fresh' (replacing what is there), then rename that to
 * 'path' unless 'path' is NULL.  Not synced: see writer.c. */
enum iobm_status image_save(hid_t file, const char *fresh, const char *path,
                            struct iobm_error *err) IOBM_CHECK;

#endif
