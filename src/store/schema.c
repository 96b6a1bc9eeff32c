/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Result rows as HDF5 tables: see schema.h.  In files: int64 and float64,
 * little endian, packed; shuffle and deflate.  Widening an older file's table
 * is in widen.c.
 */

#include "store/schema.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/h5.h"
#include "store/schema_impl.h"

#define CHUNK_BYTES   65536
#define DEFLATE_LEVEL 4
/* Deflate cannot shrink anything by more than this: tells a damaged extent
 * from a large table. */
#define DEFLATE_MOST 1100
#define READ_ROWS    16384 /* at once, where few are wanted */

const struct table table_results = {
    "results", "iobm results: a row for each run, phase and repeat",
    iobm_phase_columns, sizeof(struct iobm_phase_row), true};
const struct table table_phases = {
    "phases", "phases: a row for each phase and repeat", iobm_phase_columns,
    sizeof(struct iobm_phase_row), false};
const struct table table_ranks = {
    "ranks", "ranks: a row for each phase, repeat and rank", iobm_rank_columns,
    sizeof(struct iobm_rank_row), false};
const struct table table_clock = {
    "clock", "clock: a row for each synchronisation point and clock domain",
    iobm_clock_columns, sizeof(struct iobm_clock_row), false};
const struct table table_nodes = {"nodes", "nodes: a row for each node",
                                  iobm_node_columns,
                                  sizeof(struct iobm_node_row), false};
const struct table table_log = {"log", "log: notes, warnings and errors",
                                iobm_log_columns, sizeof(struct iobm_log_row),
                                false};

static bool is_end(const struct iobm_column *column)
{
    return column->type == IOBM_COL_END;
}

hid_t column_type(const struct iobm_column *column)
{
    switch (column->type) {
    case IOBM_COL_I64:
        return H5Tcopy(H5T_STD_I64LE);
    case IOBM_COL_F64:
        return H5Tcopy(H5T_IEEE_F64LE);
    default:
        return h5_text_type(column->size);
    }
}

/* The type of the struct in memory; HDF5 swaps bytes where the machine
 * does not have the file's order. */
static hid_t memory_type(const struct table *table)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, table->row_bytes);

    for (const struct iobm_column *c = table->columns; type >= 0 && !is_end(c);
         c++) {
        hid_t member = c->type == IOBM_COL_I64   ? H5Tcopy(H5T_NATIVE_INT64)
                       : c->type == IOBM_COL_F64 ? H5Tcopy(H5T_NATIVE_DOUBLE)
                                                 : column_type(c);
        bool failed =
            member < 0 || H5Tinsert(type, c->name, c->offset, member) < 0;

        h5_release(member);
        if (failed) {
            h5_release(type);
            return -1;
        }
    }
    return type;
}

static hid_t file_type(const struct table *table)
{
    size_t bytes = 0, offset = 0;
    hid_t type;

    for (const struct iobm_column *c = table->columns; !is_end(c); c++)
        bytes += c->size;
    type = H5Tcreate(H5T_COMPOUND, bytes);
    for (const struct iobm_column *c = table->columns; type >= 0 && !is_end(c);
         c++) {
        hid_t member = column_type(c);
        bool failed =
            member < 0 || H5Tinsert(type, c->name, offset, member) < 0;

        h5_release(member);
        if (failed) {
            h5_release(type);
            return -1;
        }
        offset += c->size;
    }
    return type;
}

hid_t table_dataset(hid_t group, const char *name, hid_t type, hsize_t rows)
{
    hsize_t most = H5S_UNLIMITED;
    size_t row_bytes = type >= 0 ? H5Tget_size(type) : 0;
    hsize_t chunk =
        row_bytes && row_bytes < CHUNK_BYTES / 4 ? CHUNK_BYTES / row_bytes : 4;
    hid_t space = H5Screate_simple(1, &rows, &most);
    hid_t create = H5Pcreate(H5P_DATASET_CREATE);
    hid_t dataset = -1;

    if (type >= 0 && space >= 0 && create >= 0 &&
        H5Pset_chunk(create, 1, &chunk) >= 0 && H5Pset_shuffle(create) >= 0 &&
        H5Pset_deflate(create, DEFLATE_LEVEL) >= 0)
        dataset = H5Dcreate2(group, name, type, space, H5P_DEFAULT, create,
                             H5P_DEFAULT);
    h5_release(create);
    h5_release(space);
    return dataset;
}

enum iobm_status table_describe(hid_t dataset, const char *title,
                                struct iobm_error *err)
{
    enum iobm_status status = h5_put_text(dataset, "CLASS", "TABLE", err);

    if (status == IOBM_OK)
        status = h5_put_text(dataset, "VERSION", "3.0", err);
    if (status == IOBM_OK)
        status = h5_put_text(dataset, "TITLE", title, err);
    return status;
}

enum iobm_status table_describe_field(hid_t dataset, int at, const char *what,
                                      const char *text, struct iobm_error *err)
{
    char name[40];

    snprintf(name, sizeof(name), "FIELD_%d_%s", at, what);
    return h5_put_text(dataset, name, text, err);
}

static enum iobm_status describe_fields(hid_t dataset,
                                        const struct table *table,
                                        struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;
    const struct iobm_column *c = table->columns;

    for (int i = 0; status == IOBM_OK && !is_end(c); i++, c++) {
        status = table_describe_field(dataset, i, "NAME", c->name, err);
        if (status == IOBM_OK)
            status = table_describe_field(dataset, i, "UNITS", c->unit, err);
        if (status == IOBM_OK && table->explained)
            status = table_describe_field(dataset, i, "HELP", c->help, err);
    }
    return status;
}

enum iobm_status table_create(hid_t group, const struct table *table,
                              struct iobm_error *err)
{
    hid_t type = file_type(table);
    hid_t dataset = table_dataset(group, table->name, type, 0);
    enum iobm_status status;

    if (dataset < 0)
        status = h5_fail(err, "cannot create table '%s'", table->name);
    else
        status = table_describe(dataset, table->title, err);
    if (status == IOBM_OK)
        status = describe_fields(dataset, table, err);
    h5_release(dataset);
    h5_release(type);
    return status;
}

/* Whether every member lies within the row: HDF5 copies to and from wherever
 * a damaged file tells it to. */
static bool is_sound(hid_t type)
{
    int members = H5Tget_nmembers(type);
    size_t row_bytes = H5Tget_size(type);

    for (int i = 0; i < members; i++) {
        hid_t member = H5Tget_member_type(type, (unsigned)i);
        size_t bytes = member >= 0 ? H5Tget_size(member) : 0;
        size_t offset = H5Tget_member_offset(type, (unsigned)i);

        h5_release(member);
        if (bytes == 0 || bytes > row_bytes || offset > row_bytes - bytes)
            return false;
    }
    return members > 0;
}

hid_t table_open(hid_t group, const struct table *table, hsize_t *rows,
                 struct iobm_error *err)
{
    hid_t dataset = H5Dopen2(group, table->name, H5P_DEFAULT);
    hid_t type = dataset >= 0 ? H5Dget_type(dataset) : -1;
    hid_t space = dataset >= 0 ? H5Dget_space(dataset) : -1;
    bool fits = false;

    if (type < 0 || space < 0) {
        h5_fail(err, "cannot open table '%s'", table->name);
    } else if (H5Tget_class(type) != H5T_COMPOUND ||
               H5Sget_simple_extent_ndims(space) != 1 ||
               H5Sget_simple_extent_dims(space, rows, NULL) != 1) {
        iobm_fail(err, IOBM_EIO, "'%s' is not a table", table->name);
    } else if (!is_sound(type) ||
               *rows / DEFLATE_MOST >
                   (H5Dget_storage_size(dataset) + CHUNK_BYTES) /
                       H5Tget_size(type)) {
        iobm_fail(err, IOBM_EIO, "table '%s' is damaged", table->name);
    } else {
        fits = true;
    }
    h5_release(space);
    h5_release(type);
    if (fits)
        return dataset;
    h5_release(dataset);
    return -1;
}

/* A copy of the rows whose texts are valid UTF-8. */
static char *clean_rows(const struct table *table, const void *rows, size_t n)
{
    char *copy = malloc(n * table->row_bytes);

    if (!copy)
        return NULL;
    memcpy(copy, rows, n * table->row_bytes);
    for (size_t i = 0; i < n; i++)
        for (const struct iobm_column *c = table->columns; !is_end(c); c++) {
            char *text = copy + i * table->row_bytes + c->offset;

            if (c->type != IOBM_COL_TEXT)
                continue;
            text[c->size - 1] = '\0';
            h5_clean_text(text);
        }
    return copy;
}

static enum iobm_status write_rows(hid_t dataset, const struct table *table,
                                   hsize_t first, hsize_t n, const void *rows,
                                   struct iobm_error *err)
{
    hid_t type = memory_type(table);
    hsize_t end = first + n;
    hid_t memory = H5Screate_simple(1, &n, NULL);
    hid_t space = -1;
    enum iobm_status status = IOBM_OK;

    if (H5Dset_extent(dataset, &end) >= 0)
        space = H5Dget_space(dataset);
    if (type < 0 || memory < 0 || space < 0 ||
        H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &n, NULL) <
            0 ||
        H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, rows) < 0)
        status = h5_fail(err, "cannot append to table '%s'", table->name);
    h5_release(space);
    h5_release(memory);
    h5_release(type);
    return status;
}

enum iobm_status table_append(hid_t group, const struct table *table,
                              const void *rows, size_t n,
                              struct iobm_error *err)
{
    enum iobm_status status;
    hsize_t first = 0;
    hid_t dataset;
    char *copy;

    if (n == 0)
        return IOBM_OK;
    dataset = table_open(group, table, &first, err);
    if (dataset < 0)
        return IOBM_EIO;
    copy = clean_rows(table, rows, n);
    if (copy)
        status = write_rows(dataset, table, first, n, copy, err);
    else
        status = iobm_fail(err, IOBM_ENOMEM, "cannot append to table '%s'",
                           table->name);
    free(copy);
    h5_release(dataset);
    return status;
}

void column_blank(const struct iobm_column *column, void *value)
{
    const int64_t no_int = -1;
    const double no_double = NAN;

    if (column->type == IOBM_COL_I64)
        memcpy(value, &no_int, sizeof(no_int));
    else if (column->type == IOBM_COL_F64)
        memcpy(value, &no_double, sizeof(no_double));
    else
        memset(value, 0, column->size);
}

/* Rows in memory that grow. */
struct rows {
    char *all;
    size_t count, room;
};

/* Room for 'n' rows more, with n/a in them. */
static enum iobm_status reserve(const struct table *table, size_t n,
                                struct rows *rows, struct iobm_error *err)
{
    size_t room = rows->count + n;
    char *bigger;

    if (room > rows->room) {
        if (room < 2 * rows->room)
            room = 2 * rows->room;
        bigger = realloc(rows->all, room * table->row_bytes);
        if (!bigger)
            return iobm_fail(err, IOBM_ENOMEM, "cannot read table '%s'",
                             table->name);
        rows->all = bigger;
        rows->room = room;
    }
    /* Also what is between the members. */
    memset(rows->all + rows->count * table->row_bytes, 0, n * table->row_bytes);
    for (size_t i = rows->count; i < rows->count + n; i++)
        for (const struct iobm_column *c = table->columns; !is_end(c); c++)
            column_blank(c, rows->all + i * table->row_bytes + c->offset);
    return IOBM_OK;
}

/* Append 'n' of the dataset's rows. */
static enum iobm_status read_block(hid_t dataset, const struct table *table,
                                   hsize_t first, hsize_t n, struct rows *rows,
                                   struct iobm_error *err)
{
    enum iobm_status status = reserve(table, n, rows, err);
    hid_t type, memory, space;

    if (status)
        return status;
    type = memory_type(table);
    memory = H5Screate_simple(1, &n, NULL);
    space = H5Dget_space(dataset);
    if (type < 0 || memory < 0 || space < 0 ||
        H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &n, NULL) <
            0 ||
        H5Dread(dataset, type, memory, space, H5P_DEFAULT,
                rows->all + rows->count * table->row_bytes) < 0)
        status = h5_fail(err, "cannot read table '%s'", table->name);
    else
        rows->count += n;
    h5_release(space);
    h5_release(memory);
    h5_release(type);
    return status;
}

/* Of the rows from 'first' on, keep those that are wanted. */
static void keep_wanted(const struct table *table,
                        bool (*wanted)(const void *row), size_t first,
                        struct rows *rows)
{
    size_t kept = first;

    for (size_t i = first; i < rows->count; i++) {
        const char *row = rows->all + i * table->row_bytes;

        if (!wanted(row))
            continue;
        if (kept < i)
            memcpy(rows->all + kept * table->row_bytes, row, table->row_bytes);
        kept++;
    }
    rows->count = kept;
}

/* All at once, or, where not all are wanted, in blocks. */
static enum iobm_status read_rows(hid_t dataset, const struct table *table,
                                  hsize_t n, bool (*wanted)(const void *row),
                                  struct rows *rows, struct iobm_error *err)
{
    hsize_t most = wanted ? READ_ROWS : n;
    enum iobm_status status = IOBM_OK;

    for (hsize_t at = 0; at < n && status == IOBM_OK; at += most) {
        size_t first = rows->count;

        status = read_block(dataset, table, at, n - at < most ? n - at : most,
                            rows, err);
        if (status == IOBM_OK && wanted)
            keep_wanted(table, wanted, first, rows);
    }
    return status;
}

enum iobm_status table_read_some(hid_t group, const struct table *table,
                                 bool (*wanted)(const void *row), void **rows,
                                 size_t *count, struct iobm_error *err)
{
    struct rows got = {0};
    enum iobm_status status;
    hsize_t n = 0;
    hid_t dataset;

    *rows = NULL;
    *count = 0;
    if (H5Lexists(group, table->name, H5P_DEFAULT) <= 0)
        return IOBM_OK;
    dataset = table_open(group, table, &n, err);
    if (dataset < 0)
        return IOBM_EIO;
    status = read_rows(dataset, table, n, wanted, &got, err);
    h5_release(dataset);
    if (status || got.count == 0) {
        free(got.all);
        return status;
    }
    *rows = got.all;
    *count = got.count;
    return IOBM_OK;
}

enum iobm_status table_read(hid_t group, const struct table *table, void **rows,
                            size_t *count, struct iobm_error *err)
{
    return table_read_some(group, table, NULL, rows, count, err);
}

enum iobm_status table_set_int(hid_t group, const struct table *table,
                               const char *column, int64_t value,
                               struct iobm_error *err)
{
    hsize_t n = 0;
    hid_t dataset = table_open(group, table, &n, err);
    hid_t type;
    int64_t *values;
    enum iobm_status status = IOBM_OK;

    if (dataset < 0)
        return IOBM_EIO;
    /* Of a compound type only what the memory type names is written. */
    type = H5Tcreate(H5T_COMPOUND, sizeof(value));
    values = malloc((n + 1) * sizeof(value));
    for (hsize_t i = 0; values && i < n; i++)
        values[i] = value;
    if (!values)
        status = iobm_fail(err, IOBM_ENOMEM, "cannot change table '%s'",
                           table->name);
    else if (type < 0 || H5Tinsert(type, column, 0, H5T_NATIVE_INT64) < 0 ||
             (n > 0 && H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                                values) < 0))
        status = h5_fail(err, "cannot change table '%s'", table->name);
    free(values);
    h5_release(type);
    h5_release(dataset);
    return status;
}
