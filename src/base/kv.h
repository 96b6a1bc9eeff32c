/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_BASE_KV_H
#define IOBM_BASE_KV_H

/* Lists of key and value texts, in the order in which they were added. */

#include <stddef.h>

#include "iobm/error.h"

struct kv {
    char *key;
    char *value;
};

struct kvlist {
    struct kv *items;
    size_t count, room;
};

void kv_release(struct kvlist *list);

/* Append a copy.  kv_set replaces the value of a key that is there. */
enum iobm_status kv_add(struct kvlist *list, const char *key, const char *value,
                        struct iobm_error *err) IOBM_CHECK;
enum iobm_status kv_set(struct kvlist *list, const char *key, const char *value,
                        struct iobm_error *err) IOBM_CHECK;
enum iobm_status kv_setf(struct kvlist *list, struct iobm_error *err,
                         const char *key, const char *fmt, ...)
    IOBM_PRINTF(4, 5) IOBM_CHECK;

/* The first value of 'key', or NULL. */
const char *kv_get(const struct kvlist *list, const char *key);

/* Copy all of 'from' behind 'into'. */
enum iobm_status kv_append(struct kvlist *into, const struct kvlist *from,
                           struct iobm_error *err) IOBM_CHECK;

/* "key=value" split at the first '='; IOBM_EUSAGE without one or without a
 * key. */
enum iobm_status kv_parse(struct kvlist *list, const char *text,
                          struct iobm_error *err) IOBM_CHECK;

#endif
