/* SPDX-License-Identifier: BSD-3-Clause */

/* The dirty share by cachestat(2): see dirty.h. */

#include "engine/dirty.h"

#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include "base/compat.h"

#define SAMPLES      64
#define SAMPLE_BYTES (INT64_C(1) << 20)

/* Dirty pages of a range, -1 when the kernel does not tell. */
static double dirty_pages(int fd, int64_t offset, int64_t bytes)
{
    struct compat_cachestat stat;

    if (compat_cachestat(fd, (uint64_t)offset, (uint64_t)bytes, &stat) != 0)
        return -1;
    return (double)(stat.dirty + stat.writeback);
}

double dirty_share_of(int fd, int64_t offset, int64_t bytes)
{
    int64_t page = sysconf(_SC_PAGESIZE);
    int64_t step = bytes / SAMPLES / page * page;
    double dirty = 0, pages = 0;

    if (bytes <= 0)
        return NAN;
    if (bytes <= SAMPLES * SAMPLE_BYTES)
        step = 0;
    for (int64_t i = 0; i < (step ? SAMPLES : 1); i++) {
        int64_t from = (offset + i * step) / page * page;
        int64_t end = step ? from + SAMPLE_BYTES : offset + bytes;
        double found = dirty_pages(fd, from, end - from);

        if (found < 0)
            return NAN;
        dirty += found;
        pages += (double)((end - from + page - 1) / page);
    }
    /* A large folio may stick out of the range. */
    return dirty < pages ? dirty / pages : 1;
}

double dirty_share(const char *path, int64_t offset, int64_t bytes)
{
    double share = NAN;
    int fd;

    if (bytes <= 0)
        return NAN;
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return NAN;
    share = dirty_share_of(fd, offset, bytes);
    close(fd);
    return share;
}
