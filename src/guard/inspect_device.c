/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Whether a block device may be used: not mounted, not claimed by anything
 * else, large enough, and for a write with the user's explicit word.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/units.h"
#include "env/mount.h"
#include "env/procfile.h"
#include "guard/inspect.h"

enum { EXCLUSIVE_TRIES = 10 };
#define EXCLUSIVE_PAUSE_NS INT64_C(20000000)

/* Where the device is mounted, by number (a name may be one of many). */
static bool mounted_at(dev_t device, char *where, size_t room)
{
    struct str text = {0};
    bool found = false;

    (void)procfile_read("", "/proc/self/mountinfo", &text);
    for (const char *line = str_text(&text); *line && !found;) {
        uint64_t id;
        struct mount_facts facts;

        if (sscanf(line, "%" SCNu64 " ", &id) == 1 &&
            mount_parse(line, id, &facts) &&
            facts.device_major == major(device) &&
            facts.device_minor == minor(device)) {
            procfile_copy(where, room, facts.mount_point);
            found = true;
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    str_release(&text);
    return found;
}

/* O_EXCL is refused by the kernel while the device, or a partition of it, is
 * mounted, swap, or part of a RAID.  A short claim by another rank's check or
 * by udev is waited for. */
static int open_exclusive(const char *path, bool write_it)
{
    int fd = -1;

    for (int i = 0; i < EXCLUSIVE_TRIES; i++) {
        fd = open(path, (write_it ? O_RDWR : O_RDONLY) | O_EXCL | O_CLOEXEC |
                            O_NONBLOCK);
        if (fd >= 0 || errno != EBUSY)
            break;
        clock_sleep_ns(EXCLUSIVE_PAUSE_NS);
        errno = EBUSY;
    }
    return fd;
}

static enum iobm_status check_capacity(int fd, const char *path,
                                       int64_t needed_bytes,
                                       struct iobm_error *err)
{
    char needed[40], capacity[40];
    uint64_t bytes = 0;
    struct stat st;

    if (fstat(fd, &st) != 0 || !S_ISBLK(st.st_mode))
        return iobm_fail(err, IOBM_EUSAGE, "'%s' is no block device", path);
    if (ioctl(fd, BLKGETSIZE64, &bytes) != 0)
        return iobm_fail_errno(err, errno, "cannot tell the size of '%s'",
                               path);
    if (needed_bytes >= 0 && (uint64_t)needed_bytes <= bytes)
        return IOBM_OK;
    return iobm_fail(
        err, IOBM_EUSAGE, "device '%s' has %s, %s are needed: use a smaller -n",
        path, units_size(capacity, sizeof(capacity), (int64_t)bytes),
        units_size(needed, sizeof(needed), needed_bytes));
}

enum iobm_status inspect_device(const char *path, bool write, bool destroy,
                                int64_t needed_bytes, struct iobm_error *err)
{
    enum iobm_status status;
    char where[512];
    struct stat st;
    int fd;

    if (stat(path, &st) != 0)
        return iobm_fail_errno(err, errno, "cannot look at '%s'", path);
    if (!S_ISBLK(st.st_mode))
        return iobm_fail(err, IOBM_EUSAGE, "'%s' is no block device", path);
    if (mounted_at(st.st_rdev, where, sizeof(where)))
        return iobm_fail(err, IOBM_EUSAGE,
                         "device '%s' is mounted at '%s': give a file in it, "
                         "or unmount it",
                         path, where);
    if (write && !destroy)
        return iobm_fail(err, IOBM_EUSAGE,
                         "'%s' is a block device: all data on it would be "
                         "lost; say --destroy-data to do that",
                         path);
    fd = open_exclusive(path, write);
    if (fd < 0 && errno == EBUSY)
        return iobm_fail(err, IOBM_EUSAGE,
                         "device '%s' is in use (a file system, swap, RAID or "
                         "another program has it)",
                         path);
    if (fd < 0)
        return iobm_fail_errno(err, errno, "cannot open device '%s'", path);
    status = check_capacity(fd, path, needed_bytes, err);
    close(fd);
    return status;
}
