/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_STORE_H5_H
#define IOBM_STORE_H5_H

/*
 * What the store needs of HDF5 in small steps: errors as ours, texts and
 * integers as attributes, lists of them on a group.  Strings are of fixed
 * length and valid UTF-8; integers are int64.
 */

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/kv.h"
#include "iobm/error.h"

/* Before the first call of HDF5 by a public function: no messages of its own
 * on standard error, no file locks where the user has not asked for them. */
void h5_start(void);

/* Fill 'err' with IOBM_EIO, the message and HDF5's innermost reason. */
enum iobm_status h5_fail(struct iobm_error *err, const char *fmt, ...)
    IOBM_PRINTF(2, 3);

/* Close whatever 'id' is; a negative one is nothing. */
void h5_release(hid_t id);

/* How files are made and opened: format bounds up to 1.8, and a close that
 * closes everything.  Negative on failure. */
hid_t h5_access(void);

/* A string type of 'size' bytes, the NUL included.  Negative on failure. */
hid_t h5_text_type(size_t size);

/* Make the text in 'text' valid UTF-8 in place: bytes that are not become
 * '?'; a character that was cut at the end goes. */
void h5_clean_text(char *text);

/* Set an attribute, which may be there already.  A value longer than an
 * attribute can be is cut, and ends in " [cut]". */
enum iobm_status h5_put_text(hid_t object, const char *name, const char *value,
                             struct iobm_error *err) IOBM_CHECK;
enum iobm_status h5_put_int(hid_t object, const char *name, int64_t value,
                            struct iobm_error *err) IOBM_CHECK;

/* An attribute's text in a new allocation; NULL when it is not there or not a
 * text of fixed length. */
char *h5_get_new_text(hid_t object, const char *name);
/* The same into 'text'; "" when it is not there. */
void h5_get_text(hid_t object, const char *name, char *text, size_t room);
int64_t h5_get_int(hid_t object, const char *name, int64_t otherwise);

/*
 * A list as attributes, one per item.  Attributes have unique names: the
 * second value of a key is kept as "KEY#2".  Get appends, sorted by name.
 */
enum iobm_status h5_put_list(hid_t object, const struct kvlist *list,
                             struct iobm_error *err) IOBM_CHECK;
enum iobm_status h5_get_list(hid_t object, struct kvlist *list,
                             struct iobm_error *err) IOBM_CHECK;

/* A scalar dataset that holds one text of any length. */
enum iobm_status h5_put_document(hid_t group, const char *name,
                                 const char *text,
                                 struct iobm_error *err) IOBM_CHECK;

#endif
