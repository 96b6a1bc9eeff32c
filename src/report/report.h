/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_REPORT_REPORT_H
#define IOBM_REPORT_REPORT_H

/*
 * One model, many renderers.  The model is the run record of the store, so
 * "iobm show" prints what "iobm run" printed.
 */

#include <stdbool.h>

#include "base/str.h"
#include "store/store.h"

/* One phase as people read it, at most 80 columns wide.  'version' is that of
 * the iobm that measured, 'ranks' are that phase's rows.  'verbose': the table
 * of all ranks whatever their number, and more figures.  A phase that is not
 * complete has no bandwidth. */
void report_phase_text(const char *version, const struct iobm_phase_row *phase,
                       const struct iobm_rank_row *ranks, size_t n,
                       const struct iobm_detail *detail, bool verbose,
                       struct str *out);

/* A whole run: every phase, a summary over repeats when there are several
 * (median, least and most of the wall bandwidth; never a mean of rates), the
 * notes of the log, where the result is ('file' may be NULL). */
void report_run_text(const struct run_record *run, const char *file,
                     bool verbose, struct str *out);

/* What follows the last phase in report_run_text. */
void report_end_text(const struct run_record *run, const char *file,
                     struct str *out);

/* One valid JSON document: iobm (version), run, config, tags, environment,
 * nodes, phases, repeats, checks (of the run), clock, log.  A phase has the
 * columns of iobm_phase_columns, "rank_rows", "series_rows" (of all ranks
 * together) and so on for the rows of struct iobm_detail but the buckets of
 * latencies.  Numbers as numbers, n/a null, units in the keys; config, tags
 * and environment are texts as they were given, an array of them where a key
 * came several times. */
void report_run_json(const struct run_record *run, const char *file,
                     struct str *out);

/* Header line and one line per phase, all columns of iobm_phase_columns; n/a
 * is empty. */
void report_csv_header(struct str *out);
void report_run_csv(const struct run_record *run, struct str *out);

/* "iobm list": one line per run, at most 80 columns. */
void report_list_text(const struct run_record *runs, size_t n, struct str *out);

#endif
