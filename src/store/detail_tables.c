/* SPDX-License-Identifier: BSD-3-Clause */

/* The rows beside those of phases and ranks, to and from their tables: see
 * detail_tables.h. */

#include "store/detail_tables.h"

#include <stddef.h>
#include <string.h>

#define SERIES 0

const struct table detail_tables[DETAIL_TABLES] = {
    [SERIES] = {"series", "series: bytes moved in each bin of time",
                iobm_series_columns, sizeof(struct iobm_series_row), false},
    {"seconds", "seconds: the transfers by when they ended",
     iobm_second_columns, sizeof(struct iobm_second_row), false},
    {"latency_summary", "latency: a row for each class of operations",
     iobm_class_columns, sizeof(struct iobm_class_row), false},
    {"latency", "latency: histograms, a row for each bucket",
     iobm_latency_columns, sizeof(struct iobm_latency_row), false},
    {"changes", "changes: a row for each lasting change of the rate",
     iobm_change_columns, sizeof(struct iobm_change_row), false},
    {"evidence", "evidence: what each node counted over a phase",
     iobm_evidence_columns, sizeof(struct iobm_evidence_row), false},
    {"verify", "verify: a row for each kind of wrong data in a part",
     iobm_finding_columns, sizeof(struct iobm_finding_row), false},
    {"checks", "checks: a row for each check of a phase or of the run",
     iobm_check_columns, sizeof(struct iobm_check_row), false},
    {"repeats", "repeats: a row for each kind of phase, over its repeats",
     iobm_summary_columns, sizeof(struct iobm_summary_row), false},
};

/* Where the rows of each table are in the struct. */
static const struct {
    size_t rows, count;
} members[DETAIL_TABLES] = {
#define MEMBER(array, number)                                                  \
    {                                                                          \
        offsetof(struct iobm_detail, array),                                   \
            offsetof(struct iobm_detail, number)                               \
    }
    MEMBER(series, series_count),     MEMBER(seconds, second_count),
    MEMBER(classes, class_count),     MEMBER(latency, latency_count),
    MEMBER(changes, change_count),    MEMBER(evidence, evidence_count),
    MEMBER(findings, finding_count),  MEMBER(checks, check_count),
    MEMBER(summaries, summary_count),
#undef MEMBER
};

static enum iobm_status append(hid_t run, const struct table *table,
                               const void *rows, size_t n,
                               struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;

    if (n == 0)
        return IOBM_OK;
    if (H5Lexists(run, table->name, H5P_DEFAULT) <= 0)
        status = table_create(run, table, err);
    if (status == IOBM_OK)
        status = table_append(run, table, rows, n, err);
    return status;
}

enum iobm_status detail_append(hid_t run, const struct iobm_detail *detail,
                               struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;

    for (size_t i = 0; i < DETAIL_TABLES && status == IOBM_OK; i++) {
        const char *from = (const char *)detail;
        const void *rows;
        size_t n;

        memcpy(&rows, from + members[i].rows, sizeof(rows));
        memcpy(&n, from + members[i].count, sizeof(n));
        status = append(run, &detail_tables[i], rows, n, err);
    }
    return status;
}

static bool is_total(const void *row)
{
    const struct iobm_series_row *series = row;

    return series->rank < 0 && series->node < 0;
}

enum iobm_status detail_read(hid_t run, struct iobm_detail *detail,
                             struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;

    for (size_t i = 0; i < DETAIL_TABLES && status == IOBM_OK; i++) {
        char *to = (char *)detail;
        void *rows;
        size_t n;

        status = table_read_some(run, &detail_tables[i],
                                 i == SERIES ? is_total : NULL, &rows, &n, err);
        memcpy(to + members[i].rows, &rows, sizeof(rows));
        memcpy(to + members[i].count, &n, sizeof(n));
    }
    return status;
}

enum iobm_status detail_read_series(hid_t run, struct iobm_series_row **rows,
                                    size_t *count, struct iobm_error *err)
{
    void *all;
    enum iobm_status status =
        table_read(run, &detail_tables[SERIES], &all, count, err);

    *rows = all;
    return status;
}
