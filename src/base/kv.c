/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of key and value texts: hints, tags, facts.  Short, so a search is a
 * walk.  What the keys mean is known to those who add them.
 */

#include "base/kv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void kv_release(struct kvlist *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].key);
        free(list->items[i].value);
    }
    free(list->items);
    *list = (struct kvlist){0};
}

static enum iobm_status no_memory(struct iobm_error *err)
{
    return iobm_fail(err, IOBM_ENOMEM, "cannot keep a setting: out of memory");
}

static enum iobm_status make_room(struct kvlist *list, struct iobm_error *err)
{
    if (list->count < list->room)
        return IOBM_OK;

    size_t room = list->room ? 2 * list->room : 8;
    struct kv *items = realloc(list->items, room * sizeof(*items));
    if (!items)
        return no_memory(err);
    list->items = items;
    list->room = room;
    return IOBM_OK;
}

static enum iobm_status add_span(struct kvlist *list, const char *key,
                                 size_t key_length, const char *value,
                                 struct iobm_error *err)
{
    /* Before the room is made: both may point into the list's own items. */
    struct kv item = {strndup(key, key_length), strdup(value)};

    if (item.key && item.value && make_room(list, err) == IOBM_OK) {
        list->items[list->count++] = item;
        return IOBM_OK;
    }
    free(item.key);
    free(item.value);
    return no_memory(err);
}

enum iobm_status kv_add(struct kvlist *list, const char *key, const char *value,
                        struct iobm_error *err)
{
    return add_span(list, key, strlen(key), value, err);
}

static struct kv *find(const struct kvlist *list, const char *key)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].key, key) == 0)
            return &list->items[i];
    return NULL;
}

enum iobm_status kv_set(struct kvlist *list, const char *key, const char *value,
                        struct iobm_error *err)
{
    struct kv *item = find(list, key);

    if (!item)
        return kv_add(list, key, value, err);
    char *copy = strdup(value);
    if (!copy)
        return no_memory(err);
    free(item->value);
    item->value = copy;
    return IOBM_OK;
}

enum iobm_status kv_setf(struct kvlist *list, struct iobm_error *err,
                         const char *key, const char *fmt, ...)
{
    char *value = NULL;
    va_list args;

    va_start(args, fmt);
    int n = vasprintf(&value, fmt, args);
    va_end(args);
    if (n < 0)
        return no_memory(err);
    enum iobm_status status = kv_set(list, key, value, err);
    free(value);
    return status;
}

const char *kv_get(const struct kvlist *list, const char *key)
{
    const struct kv *item = find(list, key);

    return item ? item->value : NULL;
}

enum iobm_status kv_append(struct kvlist *into, const struct kvlist *from,
                           struct iobm_error *err)
{
    size_t before = into->count;
    size_t n = from->count; /* 'from' may be 'into' */

    for (size_t i = 0; i < n; i++) {
        enum iobm_status status =
            kv_add(into, from->items[i].key, from->items[i].value, err);
        if (status == IOBM_OK)
            continue;
        while (into->count > before) {
            into->count--;
            free(into->items[into->count].key);
            free(into->items[into->count].value);
        }
        return status;
    }
    return IOBM_OK;
}

enum iobm_status kv_parse(struct kvlist *list, const char *text,
                          struct iobm_error *err)
{
    const char *equals = strchr(text, '=');

    if (!equals)
        return iobm_fail(err, IOBM_EUSAGE,
                         "cannot use '%s': no '=' in it, write KEY=VALUE",
                         text);
    if (equals == text)
        return iobm_fail(err, IOBM_EUSAGE,
                         "cannot use '%s': no key before the '='", text);
    return add_span(list, text, (size_t)(equals - text), equals + 1, err);
}
