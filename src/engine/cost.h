/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_ENGINE_COST_H
#define IOBM_ENGINE_COST_H

/*
 * What iobm itself costs on this machine (docs/method.md section 9), measured
 * in every job in well under 0.1 s: one reading of the clock, one operation
 * of the null back end with marks and histograms on, and how fast memory is
 * copied, which no buffered transfer can beat.
 */

#include <stdint.h>

#include "iobm/error.h"

struct cost {
    double timer_ns;   /* one clock reading */
    double op_ns;      /* one 4 KiB write of the null back end */
    double memcpy_Bps; /* between buffers of 16 MiB, more than a core's own
                          caches hold; best of 3.  Where a shared cache is
                          larger it is above the rate of the memory, so that
                          it remains a ceiling. */
};

/* On the calling thread alone; no MPI.  NaN for what could not be measured. */
enum iobm_status cost_measure(struct cost *cost,
                              struct iobm_error *err) IOBM_CHECK;

/* The least time between two different readings of the clock. */
double cost_clock_step_ns(void);

/* What it costs to count one latency in a histogram; NaN when memory is
 * short. */
double cost_hist_ns(void);

#endif
