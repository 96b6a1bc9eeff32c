/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arrays of struct iobm_detail: grown and freed.  What their rows mean is
 * in iobm/result.h.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "iobm/result.h"

/* DO(array, how many rows) for each array of the struct. */
#define EACH_ARRAY(DO)                                                         \
    DO(series, series_count)                                                   \
    DO(seconds, second_count)                                                  \
    DO(classes, class_count)                                                   \
    DO(latency, latency_count)                                                 \
    DO(changes, change_count)                                                  \
    DO(evidence, evidence_count)                                               \
    DO(findings, finding_count)                                                \
    DO(checks, check_count)                                                    \
    DO(summaries, summary_count)

void iobm_detail_release(struct iobm_detail *detail)
{
#define RELEASE(array, number) free(detail->array);
    EACH_ARRAY(RELEASE)
#undef RELEASE
    memset(detail, 0, sizeof(*detail));
}

/* Room for 'n' > 0 rows more; NULL when memory is short. */
static void *grow(void *rows, size_t count, size_t n, size_t size)
{
    if (n > SIZE_MAX / size - count)
        return NULL;
    return realloc(rows, (count + n) * size);
}

/* All arrays have room before the first row is copied: all of the rows are
 * added, or none. */
bool iobm_detail_append(struct iobm_detail *into,
                        const struct iobm_detail *from)
{
    void *bigger;

#define GROW(array, number)                                                    \
    if (from->number > 0) {                                                    \
        bigger = grow(into->array, into->number, from->number,                 \
                      sizeof(*into->array));                                   \
        if (!bigger)                                                           \
            return false;                                                      \
        into->array = bigger;                                                  \
    }
    EACH_ARRAY(GROW)
#undef GROW

#define COPY(array, number)                                                    \
    if (from->number > 0)                                                      \
        memcpy(into->array + into->number, from->array,                        \
               from->number * sizeof(*from->array));                           \
    into->number += from->number;
    EACH_ARRAY(COPY)
#undef COPY
    return true;
}
