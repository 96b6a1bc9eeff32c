/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Free space as this user has it.  An answer of "enough" promises nothing
 * (others write too, and a parallel file system fills one target first), but
 * "not enough" is certain.
 */

#include "guard/space.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/quota.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/compat.h"
#include "base/units.h"
#include "env/mount.h"

static int64_t times(uint64_t count, uint64_t size)
{
    uint64_t product;

    if (__builtin_mul_overflow(count, size, &product) || product > INT64_MAX)
        return INT64_MAX;
    return (int64_t)product;
}

/* What the hard limit of one quota leaves; -1 when there is none. */
static int64_t quota_left(const struct place *place, const char *source,
                          int type, int id)
{
    struct dqblk quota;
    /* QCMD() shifts into the sign bit. */
    int command = (int)((unsigned)Q_GETQUOTA << SUBCMDSHIFT | (unsigned)type);
    int64_t limit, used;

    memset(&quota, 0, sizeof(quota));
    if (syscall(COMPAT_SYS_QUOTACTL_FD, place->dir, command, id, &quota) != 0 &&
        (source[0] != '/' ||
         quotactl(command, source, id, (caddr_t)&quota) != 0))
        return -1;
    if (!(quota.dqb_valid & QIF_BLIMITS) || quota.dqb_bhardlimit == 0)
        return -1;
    limit = times(quota.dqb_bhardlimit, 1024);
    used = times(quota.dqb_curspace, 1);
    return used < limit ? limit - used : 0;
}

static void ask_quota(const struct place *place, const char *source,
                      struct space_offer *offer)
{
    const struct {
        const char *what;
        int type;
        unsigned id;
    } quotas[] = {{"user", USRQUOTA, geteuid()},
                  {"group", GRPQUOTA, getegid()}};

    for (size_t i = 0; i < 2; i++) {
        int64_t left =
            quota_left(place, source, quotas[i].type, (int)quotas[i].id);

        if (left < 0 || (offer->quota_bytes >= 0 && offer->quota_bytes <= left))
            continue;
        offer->quota_bytes = left;
        snprintf(offer->quota, sizeof(offer->quota), "%s %u", quotas[i].what,
                 quotas[i].id);
    }
}

void space_ask(const struct place *place, struct space_offer *offer)
{
    struct mount_facts facts = {0};
    struct statvfs fs;

    memset(offer, 0, sizeof(*offer));
    offer->free_bytes = offer->free_files = offer->quota_bytes = -1;
    if (mount_describe(place->directory, &facts, NULL) == IOBM_OK) {
        offer->free_bytes = facts.free_bytes;
        offer->free_files = facts.free_files;
    }
    if (fstatvfs(place->dir, &fs) == 0 && fs.f_blocks > 0) {
        int64_t all = times(fs.f_bfree, fs.f_frsize);

        if (all > offer->free_bytes && offer->free_bytes >= 0)
            offer->reserve_bytes = all - offer->free_bytes;
    }
    ask_quota(place, facts.source, offer);
}

/* a + b for values >= 0, at most INT64_MAX. */
static int64_t sum(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static enum iobm_status refuse(const struct space_plan *plan,
                               const struct space_offer *offer,
                               const char *directory, const char *host,
                               int64_t free_bytes, struct iobm_error *err)
{
    char needed[40], left[40], reserve[40], more[96] = "";
    const char *freed =
        plan->freed_bytes > 0 ? " without the older test files" : "";

    if (offer->reserve_bytes > 0 &&
        plan->bytes <= sum(free_bytes, offer->reserve_bytes))
        snprintf(more, sizeof(more), " (%s more are reserved for root)",
                 units_size(reserve, sizeof(reserve), offer->reserve_bytes));
    return iobm_fail(err, IOBM_EIO,
                     "cannot write %s to '%s': %s free on %s%s%s: use a "
                     "smaller -n",
                     units_size(needed, sizeof(needed), plan->bytes), directory,
                     units_size(left, sizeof(left), free_bytes), host, freed,
                     more);
}

enum iobm_status space_check(const struct space_plan *plan,
                             const struct space_offer *offer,
                             const char *directory, const char *host,
                             struct iobm_error *err)
{
    char needed[40], left[40];

    if (offer->free_bytes >= 0) {
        int64_t free_bytes = sum(offer->free_bytes, plan->freed_bytes);

        if (plan->bytes > free_bytes)
            return refuse(plan, offer, directory, host, free_bytes, err);
    }
    if (offer->quota_bytes >= 0) {
        int64_t quota_bytes = sum(offer->quota_bytes, plan->freed_bytes);

        if (plan->bytes > quota_bytes)
            return iobm_fail(err, IOBM_EIO,
                             "cannot write %s to '%s': the quota of %s leaves "
                             "%s on %s: use a smaller -n",
                             units_size(needed, sizeof(needed), plan->bytes),
                             directory, offer->quota,
                             units_size(left, sizeof(left), quota_bytes), host);
    }
    /* The manifest is one more. */
    if (offer->free_files >= 0 &&
        plan->files + 1 > sum(offer->free_files, plan->freed_files))
        return iobm_fail(err, IOBM_EIO,
                         "cannot create %" PRId64 " files in '%s': %" PRId64
                         " more are possible on %s (inodes): use fewer ranks, "
                         "or -s",
                         plan->files + 1, directory, offer->free_files, host);
    return IOBM_OK;
}

int64_t space_rounded(const struct place *place, int64_t bytes)
{
    struct statvfs fs;
    int64_t block, rest;

    if (fstatvfs(place->dir, &fs) != 0 || fs.f_frsize == 0 ||
        fs.f_frsize > 1 << 30)
        return bytes;
    block = (int64_t)fs.f_frsize;
    rest = bytes % block;
    return rest == 0 ? bytes : sum(bytes, block - rest);
}

enum iobm_status space_check_limit(int64_t file_bytes, struct iobm_error *err)
{
    char needed[40], limit[40];
    struct rlimit rlimit;

    if (getrlimit(RLIMIT_FSIZE, &rlimit) != 0 ||
        rlimit.rlim_cur == RLIM_INFINITY ||
        (uint64_t)file_bytes <= rlimit.rlim_cur)
        return IOBM_OK;
    return iobm_fail(
        err, IOBM_EIO,
        "cannot write a file of %s: the file size limit of this "
        "process is %s (ulimit -f)",
        units_size(needed, sizeof(needed), file_bytes),
        units_size(limit, sizeof(limit), (int64_t)rlimit.rlim_cur));
}
