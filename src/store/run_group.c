/* SPDX-License-Identifier: BSD-3-Clause */

/* Names and attributes of the groups in /runs: see run_group.h. */

#include "store/run_group.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/h5.h"

/* The texts of a run that are attributes of its group. */
static const struct {
    const char *name;
    size_t offset, size;
} texts[] = {
#define TEXT(member)                                                           \
    {                                                                          \
#member, offsetof(struct run_record, member),                          \
            sizeof(((struct run_record *)NULL)->member)                        \
    }
    TEXT(run_id),  TEXT(status), TEXT(reason),      TEXT(label),
    TEXT(version), TEXT(argv),   TEXT(started_utc), TEXT(finished_utc),
#undef TEXT
};

void run_name_format(struct run_name *name, int64_t number,
                     const char *started_utc, const char *run_id)
{
    char when[24];
    size_t n = 0;

    /* "2026-11-30T20:06:21.123456Z" without marks and fraction */
    for (const char *c = started_utc; *c && *c != '.' && *c != 'Z'; c++)
        if (*c != '-' && *c != ':' && *c != '/' && n < sizeof(when) - 2)
            when[n++] = *c;
    when[n++] = 'Z';
    when[n] = '\0';
    name->number = number;
    snprintf(name->text, sizeof(name->text), "%06" PRId64 "_%s_%.8s", number,
             when, run_id);
}

bool run_name_is_of(const struct run_name *name, const char *run_id)
{
    size_t length = strlen(name->text);

    return length > 8 && strlen(run_id) >= 8 &&
           strncmp(name->text + length - 8, run_id, 8) == 0;
}

static int by_number(const void *a, const void *b)
{
    const struct run_name *x = a, *y = b;

    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return strcmp(x->text, y->text);
}

enum iobm_status run_names(hid_t file, struct run_name **names, size_t *count,
                           struct iobm_error *err)
{
    hid_t runs = H5Gopen2(file, "runs", H5P_DEFAULT);
    struct run_name *all = NULL;
    enum iobm_status status = IOBM_OK;
    H5G_info_t info = {0};

    if (runs < 0 || H5Gget_info(runs, &info) < 0) {
        status = h5_fail(err, "cannot open group 'runs'");
    } else {
        all = calloc(info.nlinks + 1, sizeof(*all));
        if (!all)
            status = iobm_fail(err, IOBM_ENOMEM, "cannot list the runs");
    }
    for (hsize_t i = 0; all && i < info.nlinks && status == IOBM_OK; i++) {
        ssize_t n =
            H5Lget_name_by_idx(runs, ".", H5_INDEX_NAME, H5_ITER_INC, i,
                               all[i].text, sizeof(all[i].text), H5P_DEFAULT);
        if (n < 0 || (size_t)n >= sizeof(all[i].text))
            status = h5_fail(err, "cannot list the runs");
        else
            all[i].number = strtoll(all[i].text, NULL, 10);
    }
    h5_release(runs);
    if (!all || status != IOBM_OK) {
        free(all);
        return status;
    }
    qsort(all, info.nlinks, sizeof(*all), by_number);
    *names = all;
    *count = info.nlinks;
    return IOBM_OK;
}

enum iobm_status run_open(hid_t file, const char *name, hid_t *run,
                          struct iobm_error *err)
{
    char path[128];

    snprintf(path, sizeof(path), "runs/%s", name);
    *run = H5Gopen2(file, path, H5P_DEFAULT);
    return *run >= 0 ? IOBM_OK : h5_fail(err, "cannot open run '%s'", name);
}

void run_get_attributes(hid_t run, struct run_record *record)
{
    record->number = h5_get_int(run, "number", 0);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        h5_get_text(run, texts[i].name, (char *)record + texts[i].offset,
                    texts[i].size);
}

enum iobm_status run_put_attributes(hid_t run, const struct run_record *record,
                                    struct iobm_error *err)
{
    enum iobm_status status = h5_put_int(run, "number", record->number, err);

    for (size_t i = 0;
         i < sizeof(texts) / sizeof(texts[0]) && status == IOBM_OK; i++)
        status = h5_put_text(run, texts[i].name,
                             (const char *)record + texts[i].offset, err);
    return status;
}
