/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_REPORT_PARTS_H
#define IOBM_REPORT_PARTS_H

/* What the renderers share with each other and with nobody else. */

#include <stdbool.h>

#include "base/str.h"
#include "store/store.h"

/* Median, least and most of bw_wall over the complete phases of one kind. */
struct part_rates {
    size_t complete, all;
    double median_Bps, least_Bps, most_Bps; /* NaN: none is complete */
};

/* False when memory is short. */
bool part_rates(const struct run_record *run, const char *op,
                struct part_rates *out);

#endif
