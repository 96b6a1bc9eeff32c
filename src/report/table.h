/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_REPORT_TABLE_H
#define IOBM_REPORT_TABLE_H

/* The ranks of one phase as a table, or, when they are many, as their
 * distribution and the slowest of them. */

#include <stdbool.h>

#include "base/str.h"
#include "iobm/result.h"

/* More ranks than this are summed up. */
#define TABLE_RANKS   16
#define TABLE_SLOWEST 5

void table_of_ranks(const struct iobm_phase_row *phase,
                    const struct iobm_rank_row *ranks, size_t n, bool all,
                    struct str *out);

#endif
