/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Small steps over HDF5: see h5.h.  Only functions that mean the same in 1.10
 * and in every later version are used.
 */

#include "store/h5.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* An attribute must fit, with its name and type, into one message of 64 KiB
 * in an object header. */
#define ATTRIBUTE_MAX 32000

void h5_start(void)
{
    /* Best effort by HDF5's own account, and refused on Lustre and NFS
     * without lock daemons: the lock file does what they should. */
    setenv("HDF5_USE_FILE_LOCKING", "FALSE", 0);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

/* The first entry on the way up is the most specific one. */
static herr_t keep_innermost(unsigned n, const H5E_error2_t *entry, void *arg)
{
    struct str *text = arg;

    if (n == 0 && entry->desc)
        str_add(text, entry->desc);
    return 0;
}

/* HDF5's file drivers put strerror's text between quotes. */
static const char *system_reason(char *text)
{
    static const char mark[] = "error message = '";
    char *reason = strstr(text, mark);
    char *end;

    if (!reason)
        return text;
    reason += sizeof(mark) - 1;
    end = strchr(reason, '\'');
    if (end)
        *end = '\0';
    return reason;
}

enum iobm_status h5_fail(struct iobm_error *err, const char *fmt, ...)
{
    struct str message = {0}, reason = {0};
    char text[600];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &reason);
    str_add(&message, text);
    if (reason.length > 0 && !reason.failed) {
        str_add(&message, ": ");
        str_add(&message, system_reason(reason.text));
    }
    iobm_fail(err, IOBM_EIO, "%s", str_text(&message));
    str_release(&reason);
    str_release(&message);
    return IOBM_EIO;
}

void h5_release(hid_t id)
{
    if (id >= 0)
        H5Idec_ref(id);
}

hid_t h5_access(void)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);

    if (access < 0)
        return access;
    if (H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18) < 0 ||
        H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) < 0) {
        H5Pclose(access);
        return -1;
    }
    return access;
}

hid_t h5_text_type(size_t size)
{
    hid_t type = H5Tcopy(H5T_C_S1);

    if (type < 0)
        return type;
    if (H5Tset_size(type, size) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0 ||
        H5Tset_strpad(type, H5T_STR_NULLTERM) < 0) {
        H5Tclose(type);
        return -1;
    }
    return type;
}

/* Length of the character at 's', 0 when it is not valid UTF-8, and -1 when
 * the text ends inside of it. */
static int utf8_length(const unsigned char *s)
{
    unsigned char least = 0x80, most = 0xbf;
    int n;

    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (s[0] == 0xe0)
        least = 0xa0; /* overlong */
    else if (s[0] == 0xed)
        most = 0x9f; /* surrogates */
    else if (s[0] == 0xf0)
        least = 0x90; /* overlong */
    else if (s[0] == 0xf4)
        most = 0x8f; /* above U+10FFFF */
    for (int i = 1; i < n; i++) {
        if (s[i] == '\0')
            return -1;
        if (s[i] < least || s[i] > most)
            return 0;
        least = 0x80;
        most = 0xbf;
    }
    return n;
}

void h5_clean_text(char *text)
{
    while (*text) {
        int n = utf8_length((const unsigned char *)text);

        if (n < 0) {
            *text = '\0';
            return;
        }
        if (n == 0)
            *text = '?';
        text += n > 0 ? n : 1;
    }
}

static char *clean_copy(const char *value)
{
    static const char mark[] = " [cut]";
    size_t length = strlen(value);
    bool long_one = length > ATTRIBUTE_MAX;
    char *text = malloc((long_one ? ATTRIBUTE_MAX : length) + sizeof(mark));

    if (!text)
        return NULL;
    if (long_one)
        length = ATTRIBUTE_MAX;
    memcpy(text, value, length);
    text[length] = '\0';
    h5_clean_text(text);
    if (long_one)
        memcpy(text + strlen(text), mark, sizeof(mark));
    return text;
}

/* Replace the attribute by a scalar of 'type'. */
static enum iobm_status put(hid_t object, const char *name, hid_t type,
                            const void *value, struct iobm_error *err)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = -1;
    enum iobm_status status = IOBM_OK;

    if (H5Aexists(object, name) > 0)
        H5Adelete(object, name);
    if (type >= 0 && space >= 0)
        attribute =
            H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0 || H5Awrite(attribute, type, value) < 0)
        status = h5_fail(err, "cannot write attribute '%s'", name);
    h5_release(attribute);
    h5_release(space);
    return status;
}

enum iobm_status h5_put_text(hid_t object, const char *name, const char *value,
                             struct iobm_error *err)
{
    char *clean_name = clean_copy(name);
    char *text = clean_copy(value);
    enum iobm_status status;
    hid_t type;

    if (clean_name && text) {
        type = h5_text_type(strlen(text) + 1);
        status = put(object, clean_name, type, text, err);
        h5_release(type);
    } else {
        status =
            iobm_fail(err, IOBM_ENOMEM, "cannot write attribute '%s'", name);
    }
    free(text);
    free(clean_name);
    return status;
}

enum iobm_status h5_put_int(hid_t object, const char *name, int64_t value,
                            struct iobm_error *err)
{
    hid_t type = H5Tcopy(H5T_STD_I64LE);
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = -1;
    enum iobm_status status = IOBM_OK;

    if (H5Aexists(object, name) > 0)
        H5Adelete(object, name);
    if (type >= 0 && space >= 0)
        attribute =
            H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0 || H5Awrite(attribute, H5T_NATIVE_INT64, &value) < 0)
        status = h5_fail(err, "cannot write attribute '%s'", name);
    h5_release(attribute);
    h5_release(space);
    h5_release(type);
    return status;
}

/* Whether 'attribute' is one text of fixed length. */
static bool is_text(hid_t attribute, hid_t type)
{
    hid_t space = H5Aget_space(attribute);
    bool one = space >= 0 && H5Sget_simple_extent_npoints(space) == 1;

    h5_release(space);
    return one && type >= 0 && H5Tget_class(type) == H5T_STRING &&
           H5Tis_variable_str(type) == 0;
}

char *h5_get_new_text(hid_t object, const char *name)
{
    hid_t attribute = -1, type = -1;
    char *text = NULL;

    if (H5Aexists(object, name) <= 0)
        return NULL;
    attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute < 0)
        return NULL;
    type = H5Aget_type(attribute);
    if (is_text(attribute, type)) {
        text = calloc(1, H5Tget_size(type) + 1);
        if (text && H5Aread(attribute, type, text) < 0) {
            free(text);
            text = NULL;
        }
    }
    h5_release(type);
    h5_release(attribute);
    return text;
}

void h5_get_text(hid_t object, const char *name, char *text, size_t room)
{
    char *value = h5_get_new_text(object, name);

    text[0] = '\0';
    if (!value)
        return;
    snprintf(text, room, "%s", value);
    free(value);
}

int64_t h5_get_int(hid_t object, const char *name, int64_t otherwise)
{
    hid_t attribute, space;
    int64_t value = otherwise;

    if (H5Aexists(object, name) <= 0)
        return otherwise;
    attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute < 0)
        return otherwise;
    space = H5Aget_space(attribute);
    if (space < 0 || H5Sget_simple_extent_npoints(space) != 1 ||
        H5Aread(attribute, H5T_NATIVE_INT64, &value) < 0)
        value = otherwise;
    h5_release(space);
    h5_release(attribute);
    return value;
}

/* How many items before 'at' have its key. */
static size_t earlier(const struct kvlist *list, size_t at)
{
    size_t n = 0;

    for (size_t i = 0; i < at; i++)
        n += strcmp(list->items[i].key, list->items[at].key) == 0;
    return n;
}

enum iobm_status h5_put_list(hid_t object, const struct kvlist *list,
                             struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;

    for (size_t i = 0; i < list->count && status == IOBM_OK; i++) {
        size_t n = earlier(list, i);
        struct str name = {0};

        str_add(&name, list->items[i].key);
        if (n > 0)
            str_addf(&name, "#%zu", n + 1);
        status = name.failed
                     ? iobm_fail(err, IOBM_ENOMEM, "cannot write a list")
                     : h5_put_text(object, str_text(&name),
                                   list->items[i].value, err);
        str_release(&name);
    }
    return status;
}

struct getting {
    struct kvlist *list;
    struct iobm_error *err;
};

/* Take the "#2" of a key's second value away again. */
static void cut_number(const struct kvlist *list, char *key)
{
    char *mark = strrchr(key, '#');

    if (!mark || mark[1] == '\0' || mark[1 + strspn(mark + 1, "0123456789")])
        return;
    *mark = '\0';
    if (!kv_get(list, key))
        *mark = '#';
}

static herr_t get_item(hid_t object, const char *name, const H5A_info_t *info,
                       void *arg)
{
    struct getting *getting = arg;
    char *value = h5_get_new_text(object, name);
    char *key;
    enum iobm_status status = IOBM_OK;

    (void)info;
    if (!value)
        return 0;
    key = strdup(name);
    if (key) {
        cut_number(getting->list, key);
        status = kv_add(getting->list, key, value, getting->err);
    } else {
        status = iobm_fail(getting->err, IOBM_ENOMEM, "cannot read a list");
    }
    free(key);
    free(value);
    return status == IOBM_OK ? 0 : -1;
}

enum iobm_status h5_get_list(hid_t object, struct kvlist *list,
                             struct iobm_error *err)
{
    struct iobm_error cause = {0};
    struct getting getting = {list, &cause};
    hsize_t position = 0;

    if (H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, &position, get_item,
                    &getting) >= 0)
        return IOBM_OK;
    if (cause.status == IOBM_OK)
        return h5_fail(err, "cannot read attributes");
    if (err)
        *err = cause;
    return cause.status;
}

enum iobm_status h5_put_document(hid_t group, const char *name,
                                 const char *text, struct iobm_error *err)
{
    hid_t type = h5_text_type(strlen(text) + 1);
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t dataset = -1;
    enum iobm_status status = IOBM_OK;

    if (type >= 0 && space >= 0)
        dataset = H5Dcreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT,
                             H5P_DEFAULT);
    if (dataset < 0 ||
        H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) < 0)
        status = h5_fail(err, "cannot write '%s'", name);
    h5_release(dataset);
    h5_release(space);
    h5_release(type);
    return status;
}
