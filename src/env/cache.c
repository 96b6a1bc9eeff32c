/* SPDX-License-Identifier: BSD-3-Clause */

/* The page cache of one file: see cache.h. */

#include "env/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compat.h"

#define ROUNDS        3
#define MINCORE_BYTES (INT64_C(64) << 20) /* mapped at once */
#define FOLIO_BYTES   (INT64_C(2) << 20)  /* the largest of most machines */

static int64_t page_bytes(void)
{
    return sysconf(_SC_PAGESIZE);
}

/* The pages that a range touches. */
static int64_t pages_of(int64_t offset, int64_t bytes)
{
    int64_t page = page_bytes();

    return (offset + bytes + page - 1) / page - offset / page;
}

double cache_by_cachestat(int fd, int64_t offset, int64_t bytes)
{
    struct compat_cachestat stat;
    double pages = (double)pages_of(offset, bytes);

    if (bytes <= 0 ||
        compat_cachestat(fd, (uint64_t)offset, (uint64_t)bytes, &stat) != 0)
        return NAN;
    /* A large folio may stick out of the range. */
    return (double)stat.cached < pages ? (double)stat.cached / pages : 1;
}

/* Pages of a range of at most MINCORE_BYTES that are in memory; -1: cannot be
 * told. */
static int64_t resident_pages(int fd, int64_t offset, int64_t bytes,
                              unsigned char *flags)
{
    int64_t first = offset / page_bytes() * page_bytes();
    size_t length = (size_t)(offset + bytes - first);
    /* Never touched, so that the question does not change the answer. */
    void *map = mmap(NULL, length, PROT_NONE, MAP_SHARED, fd, first);
    int64_t found = 0;

    if (map == MAP_FAILED)
        return -1;
    if (mincore(map, length, flags) != 0)
        found = -1;
    else
        for (int64_t i = 0; i < pages_of(offset, bytes); i++)
            found += flags[i] & 1;
    (void)munmap(map, length);
    return found;
}

/* To those who neither own a file nor could write to it, mincore says that
 * every page is there. */
static bool may_ask(int fd)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return geteuid() == 0 || (fstat(fd, &st) == 0 && st.st_uid == geteuid()) ||
           faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

double cache_by_mincore(int fd, int64_t offset, int64_t bytes)
{
    unsigned char *flags;
    int64_t found = 0;

    if (bytes <= 0 || !may_ask(fd))
        return NAN;
    flags = malloc((size_t)(MINCORE_BYTES / page_bytes()) + 2);
    if (!flags)
        return NAN;
    for (int64_t at = offset; at < offset + bytes && found >= 0;) {
        int64_t n = MINCORE_BYTES - at % page_bytes();
        int64_t here;

        if (n > offset + bytes - at)
            n = offset + bytes - at;
        here = resident_pages(fd, at, n, flags);
        found = here < 0 ? -1 : found + here;
        at += n;
    }
    free(flags);
    return found < 0 ? NAN : (double)found / (double)pages_of(offset, bytes);
}

static double ask(int fd, int64_t offset, int64_t bytes, const char **how)
{
    double share = cache_by_cachestat(fd, offset, bytes);

    *how = "cachestat";
    if (!isnan(share))
        return share;
    *how = "mincore";
    share = cache_by_mincore(fd, offset, bytes);
    if (isnan(share))
        *how = "";
    return share;
}

double cache_residency(const char *path, int64_t offset, int64_t bytes,
                       const char **how)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    double share;

    *how = "";
    if (fd < 0)
        return NAN;
    share = ask(fd, offset, bytes, how);
    close(fd);
    return share;
}

/* Pages that lie in the range only in part stay, and so do the large folios of
 * the page cache: what is beside the range goes too, more each time. */
static void drop(int fd, int64_t offset, int64_t bytes, int round)
{
    int64_t beside = round == 0 ? page_bytes() : FOLIO_BYTES << 5 * (round - 1);
    int64_t from = offset / beside * beside;
    int64_t end = offset + bytes;

    if (round > 0)
        from -= from < beside ? from : beside;
    end = end > INT64_MAX - 2 * beside
              ? INT64_MAX
              : (end + beside - 1) / beside * beside + (round > 0 ? beside : 0);
    (void)posix_fadvise(fd, from, end - from, POSIX_FADV_DONTNEED);
}

enum iobm_status cache_drop(const char *path, int64_t offset, int64_t bytes,
                            double *left, struct iobm_error *err)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    double before = 2;
    const char *how;

    *left = NAN;
    if (fd < 0)
        return iobm_fail_errno(err, errno, "cannot open '%s'", path);
    /* Dirty pages do not go. */
    if (fsync(fd) != 0) {
        int why = errno;

        close(fd);
        return iobm_fail_errno(err, why, "cannot sync '%s'", path);
    }
    for (int i = 0; i < ROUNDS && bytes > 0; i++) {
        drop(fd, offset, bytes, i);
        *left = ask(fd, offset, bytes, &how);
        if (!(*left > 0 && *left < before))
            break;
        before = *left;
    }
    close(fd);
    return IOBM_OK;
}

enum iobm_status cache_drop_all(const char *path, struct iobm_error *err)
{
    static const char control[] = "/proc/sys/vm/drop_caches";
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int why = 0;

    if (fd < 0)
        return iobm_fail_errno(err, errno, "cannot open '%s'", path);
    /* Dirty pages do not go.  Of one file system only: sync(2) would wait for
     * all the others as well. */
    if (syncfs(fd) != 0)
        why = errno;
    close(fd);
    if (why)
        return iobm_fail_errno(err, why, "cannot sync what holds '%s'", path);
    fd = open(control, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return iobm_fail(err, IOBM_EUNSUPPORTED,
                         "--cache drop-all needs root on every node: '%s': %s",
                         control, strerror(errno));
    if (write(fd, "3\n", 2) != 2)
        why = errno;
    close(fd);
    if (why)
        return iobm_fail_errno(err, why, "cannot write to '%s'", control);
    return IOBM_OK;
}
