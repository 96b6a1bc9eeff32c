/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_GUARD_SPACE_H
#define IOBM_GUARD_SPACE_H

/* Whether what is to be written fits: free space, inodes, quota, limits. */

#include <stdbool.h>
#include <stdint.h>

#include "guard/place.h"

/* Of one directory, over all ranks that write there. */
struct space_plan {
    int64_t bytes;       /* of the files to come */
    int64_t files;       /* how many */
    int64_t freed_bytes; /* by removing older test files */
    int64_t freed_files;
};

/* What the file system offers; a test makes one up. */
struct space_offer {
    int64_t free_bytes;    /* -1 unknown */
    int64_t reserve_bytes; /* more, but kept for root: not for benchmarks */
    int64_t free_files;    /* -1 unknown */
    int64_t quota_bytes;   /* that a quota leaves; -1 none known */
    char quota[32];        /* "user 1000" */
};

/* Ask the file system of 'place'.  What it does not tell stays unknown. */
void space_ask(const struct place *place, struct space_offer *offer);

/* IOBM_EIO: "cannot write 10 GiB to '/big': 3.2 GiB free on node03: use a
 * smaller -n".  Pure. */
enum iobm_status space_check(const struct space_plan *plan,
                             const struct space_offer *offer,
                             const char *directory, const char *host,
                             struct iobm_error *err) IOBM_CHECK;

/* 'bytes' in whole blocks of the file system. */
int64_t space_rounded(const struct place *place, int64_t bytes);

/* The limit of the shell (ulimit -f), which would kill the process. */
enum iobm_status space_check_limit(int64_t file_bytes,
                                   struct iobm_error *err) IOBM_CHECK;

#endif
