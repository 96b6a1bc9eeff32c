/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_TESTS_CLOCK_FAKE_H
#define IOBM_TESTS_CLOCK_FAKE_H

/*
 * A clock per rank that is wrong by a known amount.  IOBM_FAKE_CLOCK lists
 * RANK:OFFSET_NS:PPM, separated by commas: at the true time t (this kernel's
 * CLOCK_MONOTONIC_RAW) that rank's clock shows t + OFFSET_NS + t * PPM / 1e6.
 * Each listed rank is a clock domain of its own; ranks that are not listed
 * have the real clock.  IOBM_FAKE_STEP=SECONDS@DELAY_NS steps the wall clock,
 * and nothing else, that long after the process first read it.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct clock_fault {
    bool listed;
    int64_t offset_ns, ppm;
};

/* What the list 'spec' (may be NULL) says of 'rank'. */
static inline struct clock_fault clock_fault_of(const char *spec, int rank)
{
    struct clock_fault fault = {0};

    while (spec && *spec) {
        char *end;
        long listed = strtol(spec, &end, 10);
        int64_t offset_ns = *end == ':' ? strtoll(end + 1, &end, 10) : 0;
        int64_t ppm = *end == ':' ? strtoll(end + 1, &end, 10) : 0;

        if (listed == rank)
            fault = (struct clock_fault){true, offset_ns, ppm};
        spec = *end == ',' ? end + 1 : NULL;
    }
    return fault;
}

/* What a clock with this fault shows at the true time. */
static inline int64_t clock_fault_apply(const struct clock_fault *fault,
                                        int64_t true_ns)
{
    return true_ns + fault->offset_ns + true_ns / 1000000 * fault->ppm +
           true_ns % 1000000 * fault->ppm / 1000000;
}

#endif
