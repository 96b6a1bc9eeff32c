/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_ENGINE_VERIFY_H
#define IOBM_ENGINE_VERIFY_H

/*
 * A pass of its own, untimed: each rank reads its part back and compares
 * every byte.  What is wrong is counted to the block, and named by its kind
 * (engine/diagnose.h).  It reads in transfers of its own, so that how the
 * data was written makes no difference.
 */

#include <stddef.h>
#include <stdint.h>

#include "engine/measure.h"
#include "iobm/result.h"

/* A rank gives up after so many transfers that could not be read, and one
 * such transfer after so many of its blocks. */
#define VERIFY_UNREADABLE_MAX 16

/* What the files should hold, and what they held before, the newest first. */
struct verify_seeds {
    uint64_t current;
    const uint64_t *older;
    size_t older_count;
};

struct verify_result {
    int64_t bytes;  /* that were read and compared */
    int64_t errors; /* 4 KiB blocks that are wrong or could not be read; one
                       that lies in the parts of two ranks counts in each */
};

/*
 * Collective.  'phase' is a read of these parts (its seed, sync and start do
 * not matter).  On rank 0 the rows of 'detail' (NULL: not wanted) get those of
 * all ranks' findings, one for each kind in each part that has any, by rank
 * and offset; '*out' is the same on all ranks.  Wrong data is no failure, nor
 * is a file that cannot be opened or read, be it in parts: all that was not
 * read counts as unreadable.
 *
 * IOBM_ESTOPPED: a signal ended it; what was found until then is told all the
 * same.  Other failures: it could not be done; outputs are left alone.
 */
enum iobm_status verify_phase_all(const struct measure *measure,
                                  const struct measure_phase *phase,
                                  const struct verify_seeds *seeds,
                                  int64_t phase_number, int64_t repeat,
                                  struct iobm_detail *detail,
                                  struct verify_result *out,
                                  struct iobm_error *err) IOBM_CHECK;

#endif
