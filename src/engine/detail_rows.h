/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_ENGINE_DETAIL_ROWS_H
#define IOBM_ENGINE_DETAIL_ROWS_H

/*
 * What all ranks together have of a phase over time and over latency, as
 * rows: series, seconds, classes, latency, changes; and the figures of the
 * phase's own row that are made from it.  No MPI, no clock.  How it gets to
 * rank 0 is engine/detail.c's.
 *
 * All return false when memory is short.  'detail' is NULL (no rows are
 * wanted) or has none of the kind yet; 'row' tells phase and repeat.
 */

#include <stdbool.h>
#include <stdint.h>

#include "engine/phase.h"
#include "iobm/result.h"

/* Bins of all ranks together, and of each rank; the latter span whole ones of
 * the former.  The origin is S0. */
#define DETAIL_BINS      600
#define DETAIL_PART_BINS 120

struct detail_grid {
    int64_t origin_ns;
    int64_t width_ns, part_width_ns;
    size_t bins, part_bins;
};

/* For a phase of 'span_ns' > 0. */
void detail_grid_init(struct detail_grid *grid, int64_t origin_ns,
                      int64_t span_ns);

/* 'total' [bins]; 'parts' [ranks * part_bins], rank by rank.  Above
 * SERIES_RANKS_MAX ranks there are rows of nodes in place of ranks. */
bool detail_series_rows(const struct detail_grid *grid, const int64_t *total,
                        const int64_t *parts, int ranks, const int *node_of,
                        int nodes, const struct iobm_phase_row *row,
                        struct iobm_detail *detail);

bool detail_second_rows(const struct slots *slots,
                        const struct iobm_phase_row *row,
                        struct iobm_detail *detail);

/* Classes of 'hist' [PHASE_CLASSES] that have operations, and latency_* of
 * 'row'; the transfers' class is called "write" or "read". */
bool detail_class_rows(const struct hist *hist, enum iobm_op_kind kind,
                       struct iobm_phase_row *row, struct iobm_detail *detail);

/*
 * Time structure of the whole bins within [from_ns, to_ns], from when all
 * ranks are active to when the first has done its last transfer: while a sync
 * runs no bytes move, which says nothing of the rate.  A sync that takes more
 * than a tenth of the phase means that the rate of the last transfers was not
 * the storage's: then there is no sustained one.  Times and bytes of the rows
 * count from S0.
 */
bool detail_structure(const struct detail_grid *grid, const int64_t *total,
                      int64_t from_ns, int64_t to_ns, enum iobm_op_kind kind,
                      struct iobm_phase_row *row, struct iobm_detail *detail);

#endif
