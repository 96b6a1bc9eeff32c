/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_STORE_DETAIL_TABLES_H
#define IOBM_STORE_DETAIL_TABLES_H

/* The tables of struct iobm_detail in the group of a run.  A table is there
 * once it has rows. */

#include <hdf5.h>

#include "iobm/error.h"
#include "iobm/result.h"
#include "store/schema.h"

/* "series", "seconds", "latency_summary" (classes), "latency" (buckets),
 * "changes", "evidence", "verify" (findings), "checks" and "repeats"
 * (summaries), in the order of the struct's arrays. */
#define DETAIL_TABLES 9
extern const struct table detail_tables[DETAIL_TABLES];

/* Append the rows. */
enum iobm_status detail_append(hid_t run, const struct iobm_detail *detail,
                               struct iobm_error *err) IOBM_CHECK;

/* All rows into an empty 'detail'; of the series those of all ranks together.
 * After a failure it is to be released all the same. */
enum iobm_status detail_read(hid_t run, struct iobm_detail *detail,
                             struct iobm_error *err) IOBM_CHECK;

/* Every row of the series. */
enum iobm_status detail_read_series(hid_t run, struct iobm_series_row **rows,
                                    size_t *count,
                                    struct iobm_error *err) IOBM_CHECK;

#endif
