/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A table of an older file gets the columns of today: a new dataset with the
 * file's columns first and the missing ones behind takes the old one's place.
 * HDF5 itself cannot change the type of a dataset.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/h5.h"
#include "store/schema_impl.h"

#define NEW_NAME "iobm.widened"

static const struct iobm_column *find(const struct table *table,
                                      const char *name)
{
    for (const struct iobm_column *c = table->columns; c->type != IOBM_COL_END;
         c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

/* The member as the new table has it: a text that is shorter than ours gets
 * our room. */
static hid_t member_type(const struct table *table, hid_t type, unsigned at,
                         char **name)
{
    hid_t member = H5Tget_member_type(type, at);
    const struct iobm_column *column;

    *name = H5Tget_member_name(type, at);
    column = *name ? find(table, *name) : NULL;
    if (member >= 0 && column && column->type == IOBM_COL_TEXT &&
        H5Tget_class(member) == H5T_STRING && !H5Tis_variable_str(member) &&
        H5Tget_size(member) < column->size) {
        H5Tclose(member);
        member = column_type(column);
    }
    return member;
}

/* Add one member behind the others. */
static bool insert(hid_t wide, size_t *size, const char *name, hid_t member)
{
    size_t bytes = member >= 0 ? H5Tget_size(member) : 0;

    if (bytes == 0 || !name || H5Tset_size(wide, *size + bytes) < 0 ||
        H5Tinsert(wide, name, *size, member) < 0)
        return false;
    *size += bytes;
    return true;
}

/* The file's columns, then those of ours that it lacks. */
static hid_t wide_type(const struct table *table, hid_t type)
{
    hid_t wide = H5Tcreate(H5T_COMPOUND, 1);
    int members = H5Tget_nmembers(type);
    size_t size = 0;
    bool fine = wide >= 0 && members >= 0;

    for (int i = 0; fine && i < members; i++) {
        char *name;
        hid_t member = member_type(table, type, (unsigned)i, &name);

        fine = insert(wide, &size, name, member);
        h5_release(member);
        H5free_memory(name);
    }
    for (const struct iobm_column *c = table->columns;
         fine && c->type != IOBM_COL_END; c++) {
        hid_t member;

        if (H5Tget_member_index(type, c->name) >= 0)
            continue;
        member = column_type(c);
        fine = insert(wide, &size, c->name, member);
        h5_release(member);
    }
    if (fine)
        return wide;
    h5_release(wide);
    return -1;
}

/* n/a in every column of ours, for those that the file will not fill. */
static char *blank_rows(const struct table *table, hid_t wide, size_t n)
{
    size_t row_bytes = H5Tget_size(wide);
    char *rows = calloc(n + 1, row_bytes);

    for (const struct iobm_column *c = table->columns;
         rows && c->type != IOBM_COL_END; c++) {
        int at = H5Tget_member_index(wide, c->name);

        if (at < 0)
            continue;
        for (size_t i = 0; i < n; i++)
            column_blank(c, rows + i * row_bytes +
                                H5Tget_member_offset(wide, (unsigned)at));
    }
    return rows;
}

/* Attributes: the old dataset's where it had the field, else ours. */
static enum iobm_status describe(const struct table *table, hid_t from,
                                 hid_t to, hid_t wide, struct iobm_error *err)
{
    static const char *const whats[] = {"UNITS", "HELP"};
    enum iobm_status status = table_describe(to, table->title, err);
    int members = H5Tget_nmembers(wide);

    for (int i = 0; i < members && status == IOBM_OK; i++) {
        char *name = H5Tget_member_name(wide, (unsigned)i);
        const struct iobm_column *column = name ? find(table, name) : NULL;

        status = table_describe_field(to, i, "NAME", name ? name : "", err);
        for (size_t k = 0; k < 2 && status == IOBM_OK; k++) {
            char key[40];
            char *old;
            const char *ours = "";

            snprintf(key, sizeof(key), "FIELD_%d_%s", i, whats[k]);
            old = h5_get_new_text(from, key);
            if (column)
                ours = k == 0 ? column->unit : column->help;
            if (old || k == 0 || table->explained)
                status = table_describe_field(to, i, whats[k], old ? old : ours,
                                              err);
            free(old);
        }
        H5free_memory(name);
    }
    return status;
}

static enum iobm_status replace(hid_t group, const struct table *table,
                                hid_t from, hid_t wide, hsize_t n,
                                struct iobm_error *err)
{
    char *rows = blank_rows(table, wide, n);
    hid_t to = table_dataset(group, NEW_NAME, wide, n);
    enum iobm_status status = IOBM_OK;

    if (!rows)
        status =
            iobm_fail(err, IOBM_ENOMEM, "cannot widen table '%s'", table->name);
    else if (to < 0 ||
             (n > 0 &&
              (H5Dread(from, wide, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) < 0 ||
               H5Dwrite(to, wide, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) < 0)))
        status = h5_fail(err, "cannot widen table '%s'", table->name);
    if (status == IOBM_OK)
        status = describe(table, from, to, wide, err);
    if (status == IOBM_OK && (H5Ldelete(group, table->name, H5P_DEFAULT) < 0 ||
                              H5Lmove(group, NEW_NAME, group, table->name,
                                      H5P_DEFAULT, H5P_DEFAULT) < 0))
        status = h5_fail(err, "cannot widen table '%s'", table->name);
    h5_release(to);
    free(rows);
    return status;
}

enum iobm_status table_widen(hid_t group, const struct table *table,
                             struct iobm_error *err)
{
    hsize_t n = 0;
    hid_t from = table_open(group, table, &n, err);
    hid_t type, wide;
    enum iobm_status status = IOBM_OK;

    if (from < 0)
        return IOBM_EIO;
    type = H5Dget_type(from);
    wide = type >= 0 ? wide_type(table, type) : -1;
    if (wide < 0)
        status = h5_fail(err, "cannot widen table '%s'", table->name);
    else if (H5Tget_nmembers(wide) != H5Tget_nmembers(type) ||
             H5Tget_size(wide) != H5Tget_size(type))
        status = replace(group, table, from, wide, n, err);
    h5_release(wide);
    h5_release(type);
    h5_release(from);
    return status;
}
