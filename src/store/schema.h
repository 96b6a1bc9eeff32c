/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_STORE_SCHEMA_H
#define IOBM_STORE_SCHEMA_H

/*
 * The tables of a result file, made from the column tables of
 * iobm/result.h: one-dimensional compound datasets as the HDF5 Table
 * specification wants them (CLASS, VERSION, TITLE, FIELD_n_NAME), with
 * FIELD_n_UNITS beside.  Columns are matched by name, so that a file may have
 * fewer or more of them than we know.
 */

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iobm/error.h"
#include "iobm/result.h"

struct table {
    const char *name; /* of the dataset in its group */
    const char *title;
    const struct iobm_column *columns;
    size_t row_bytes; /* of the struct in memory */
    bool explained;   /* with FIELD_n_HELP */
};

extern const struct table table_results; /* in the root group */
extern const struct table table_phases, table_ranks, table_clock, table_log;
extern const struct table table_nodes; /* in "environment" */

/* An empty table. */
enum iobm_status table_create(hid_t group, const struct table *table,
                              struct iobm_error *err) IOBM_CHECK;

/* Append 'n' rows; columns that the file lacks are left out. */
enum iobm_status table_append(hid_t group, const struct table *table,
                              const void *rows, size_t n,
                              struct iobm_error *err) IOBM_CHECK;

/* All rows in a new allocation (NULL: none).  What the file lacks is n/a: -1,
 * NaN, "".  A table that is not there has no rows. */
enum iobm_status table_read(hid_t group, const struct table *table, void **rows,
                            size_t *count, struct iobm_error *err) IOBM_CHECK;

/* The same of those rows that 'wanted' says true of, so that memory need not
 * hold the others. */
enum iobm_status table_read_some(hid_t group, const struct table *table,
                                 bool (*wanted)(const void *row), void **rows,
                                 size_t *count,
                                 struct iobm_error *err) IOBM_CHECK;

/* Give the table the columns it lacks and texts the room they lack, n/a in
 * the rows that are there; columns that we do not know stay. */
enum iobm_status table_widen(hid_t group, const struct table *table,
                             struct iobm_error *err) IOBM_CHECK;

/* Set one int64 column of every row. */
enum iobm_status table_set_int(hid_t group, const struct table *table,
                               const char *column, int64_t value,
                               struct iobm_error *err) IOBM_CHECK;

#endif
