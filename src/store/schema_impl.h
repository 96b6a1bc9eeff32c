/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_STORE_SCHEMA_IMPL_H
#define IOBM_STORE_SCHEMA_IMPL_H

/* What schema.c and widen.c share, and nobody else needs. */

#include "store/schema.h"

/* The type of a column in files.  Negative on failure. */
hid_t column_type(const struct iobm_column *column);

/* Write the column's n/a. */
void column_blank(const struct iobm_column *column, void *value);

/* A dataset of 'rows' rows, chunked, shuffled, deflated.  Negative on
 * failure. */
hid_t table_dataset(hid_t group, const char *name, hid_t type, hsize_t rows);

/* The attributes of a table, and "FIELD_<at>_<what>". */
enum iobm_status table_describe(hid_t dataset, const char *title,
                                struct iobm_error *err) IOBM_CHECK;
enum iobm_status table_describe_field(hid_t dataset, int at, const char *what,
                                      const char *text,
                                      struct iobm_error *err) IOBM_CHECK;

/* Open a table and count its rows; negative, with 'err', when it is not there
 * or not a table. */
hid_t table_open(hid_t group, const struct table *table, hsize_t *rows,
                 struct iobm_error *err);

#endif
