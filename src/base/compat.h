/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_BASE_COMPAT_H
#define IOBM_BASE_COMPAT_H

/*
 * What older headers lack.  Every #ifdef on a platform lives here; the rest
 * of iobm calls these and copes with "cannot tell".
 */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* statx mask bit for stx_dio_*; 0 where the headers do not know it. */
#ifdef STATX_DIOALIGN
#define COMPAT_STATX_DIOALIGN STATX_DIOALIGN
#else
#define COMPAT_STATX_DIOALIGN 0u
#endif

/* What O_DIRECT asks of memory and of offsets, from a statx() with
 * COMPAT_STATX_DIOALIGN; false when kernel, headers or file system do not
 * say.  Zero for both means that the file cannot do O_DIRECT. */
static inline bool compat_dio_align(const struct statx *stx,
                                    int64_t *memory_bytes,
                                    int64_t *offset_bytes)
{
#ifdef STATX_DIOALIGN
    if (!(stx->stx_mask & STATX_DIOALIGN))
        return false;
    *memory_bytes = stx->stx_dio_mem_align;
    *offset_bytes = stx->stx_dio_offset_align;
    return true;
#else
    (void)stx;
    (void)memory_bytes;
    (void)offset_bytes;
    return false;
#endif
}

/* statx mask bit for stx_mnt_id; 0 where the headers do not know it. */
#ifdef STATX_MNT_ID
#define COMPAT_STATX_MNT_ID STATX_MNT_ID
#else
#define COMPAT_STATX_MNT_ID 0u
#endif

/* The mount's number in mountinfo, from a statx() with COMPAT_STATX_MNT_ID;
 * false when kernel or headers do not say. */
static inline bool compat_mount_id(const struct statx *stx, uint64_t *id)
{
#ifdef STATX_MNT_ID
    if (!(stx->stx_mask & STATX_MNT_ID))
        return false;
    *id = stx->stx_mnt_id;
    return true;
#else
    (void)stx;
    (void)id;
    return false;
#endif
}

/* quotactl_fd(2), Linux 5.14, likewise. */
#ifdef SYS_quotactl_fd
#define COMPAT_SYS_QUOTACTL_FD SYS_quotactl_fd
#elif defined(__alpha__)
#define COMPAT_SYS_QUOTACTL_FD 553
#else
#define COMPAT_SYS_QUOTACTL_FD 443
#endif

/* cachestat(2), Linux 6.5, has the same number on every architecture but
 * alpha. */
#ifdef SYS_cachestat
#define COMPAT_SYS_CACHESTAT SYS_cachestat
#elif defined(__alpha__)
#define COMPAT_SYS_CACHESTAT (-1)
#else
#define COMPAT_SYS_CACHESTAT 451
#endif

#define COMPAT_OVERLAYFS 0x794c7630u /* f_type of statfs(2) */

struct compat_cachestat {
    uint64_t cached, dirty, writeback, evicted, recently_evicted; /* pages */
};

/* Pages of [offset, offset + bytes) of 'fd' in the page cache; 0 bytes means
 * to the end.  Returns 0, or -1 with errno: ENOSYS on an older kernel, EPERM
 * for a file that the caller neither owns nor may write, EOPNOTSUPP on
 * overlayfs, whose pages belong to the files below: the system call would say
 * that there are none. */
static inline int compat_cachestat(int fd, uint64_t offset, uint64_t bytes,
                                   struct compat_cachestat *out)
{
    const struct {
        uint64_t offset, bytes;
    } range = {offset, bytes};
    struct statfs fs;

    if (fstatfs(fd, &fs) == 0 && (uint32_t)fs.f_type == COMPAT_OVERLAYFS) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(COMPAT_SYS_CACHESTAT, fd, &range, out, 0u);
}

#endif
