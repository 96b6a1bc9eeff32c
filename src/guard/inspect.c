/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What stands at a path, and whether a read of it would measure storage: a
 * file with holes or with extents that were never written is read from
 * memory, at many times the device's speed.  Block devices are in
 * inspect_device.c.  Nothing here writes.
 */

#include "guard/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"

enum { EXTENTS_AT_ONCE = 256 };

static enum inspect_kind kind_of(mode_t mode)
{
    if (S_ISREG(mode))
        return INSPECT_REGULAR;
    if (S_ISLNK(mode))
        return INSPECT_LINK;
    return S_ISBLK(mode) ? INSPECT_BLOCK : INSPECT_OTHER;
}

/* Bytes in [0, size) that SEEK_HOLE calls holes.  File systems that do not
 * know of holes see one at the very end only. */
static int64_t count_holes(int fd, int64_t size)
{
    int64_t holes = 0;

    for (off_t at = 0; at < size;) {
        off_t hole = lseek(fd, at, SEEK_HOLE);
        off_t data;

        if (hole < 0 || hole >= size)
            break;
        data = lseek(fd, hole, SEEK_DATA);
        if (data < 0 || data > size)
            data = size; /* ENXIO: nothing but a hole from there on */
        holes += data - hole;
        if (data <= at)
            break;
        at = data;
    }
    return holes;
}

static int64_t overlap(const struct fiemap_extent *extent, int64_t size)
{
    uint64_t end = extent->fe_logical + extent->fe_length;

    if (extent->fe_logical >= (uint64_t)size)
        return 0;
    if (end > (uint64_t)size)
        end = (uint64_t)size;
    return (int64_t)(end - extent->fe_logical);
}

/* Bytes in [0, size) that are allocated but unwritten; -1 when the file
 * system does not tell. */
static int64_t count_unwritten(int fd, int64_t size, uint32_t flags)
{
    size_t room =
        sizeof(struct fiemap) + EXTENTS_AT_ONCE * sizeof(struct fiemap_extent);
    struct fiemap *map = malloc(room);
    uint64_t at = 0;
    int64_t unwritten = 0;
    bool last = false;

    if (!map)
        return -1;
    while (!last && at < (uint64_t)size) {
        memset(map, 0, room);
        map->fm_start = at;
        map->fm_length = (uint64_t)size - at;
        map->fm_flags = flags;
        map->fm_extent_count = EXTENTS_AT_ONCE;
        if (ioctl(fd, FS_IOC_FIEMAP, map) != 0) {
            unwritten = -1;
            break;
        }
        last = map->fm_mapped_extents == 0;
        for (uint32_t i = 0; i < map->fm_mapped_extents; i++) {
            const struct fiemap_extent *e = &map->fm_extents[i];

            if (e->fe_flags & FIEMAP_EXTENT_UNWRITTEN)
                unwritten += overlap(e, size);
            last =
                last || (e->fe_flags & FIEMAP_EXTENT_LAST) || e->fe_length == 0;
            at = e->fe_logical + e->fe_length;
        }
    }
    free(map);
    return unwritten;
}

static void look_at_extents(int fd, struct inspect *out)
{
    int64_t unwritten;

    out->hole_bytes = count_holes(fd, out->bytes);
    unwritten = count_unwritten(fd, out->bytes, 0);
    /* Data on its way from the cache to the device can look unwritten until
     * it has arrived. */
    if (unwritten > 0)
        unwritten = count_unwritten(fd, out->bytes, FIEMAP_FLAG_SYNC);
    out->extents_known = unwritten >= 0;
    out->unwritten_bytes = unwritten > 0 ? unwritten : 0;
}

static enum iobm_status open_and_look(const char *path, bool extents,
                                      struct inspect *out,
                                      struct iobm_error *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return iobm_fail_errno(err, errno, "cannot open '%s'", path);
    /* What was opened counts, not what lstat() saw. */
    if (fstat(fd, &st) != 0) {
        int why = errno;

        close(fd);
        return iobm_fail_errno(err, why, "cannot look at '%s'", path);
    }
    out->kind = kind_of(st.st_mode);
    if (out->kind == INSPECT_REGULAR) {
        out->bytes = st.st_size;
        out->links = (int64_t)st.st_nlink;
        if (extents)
            look_at_extents(fd, out);
    } else if (out->kind == INSPECT_BLOCK) {
        uint64_t bytes = 0;

        if (ioctl(fd, BLKGETSIZE64, &bytes) == 0 && bytes <= INT64_MAX)
            out->bytes = (int64_t)bytes;
    }
    close(fd);
    return IOBM_OK;
}

enum iobm_status inspect_file(const char *path, bool extents,
                              struct inspect *out, struct iobm_error *err)
{
    struct inspect found = {.kind = INSPECT_MISSING};
    enum iobm_status status = IOBM_OK;
    struct stat st;

    if (lstat(path, &st) == 0) {
        found.kind = kind_of(st.st_mode);
        found.bytes = st.st_size;
        found.links = (int64_t)st.st_nlink;
        if (found.kind == INSPECT_BLOCK ||
            (found.kind == INSPECT_REGULAR && extents))
            status = open_and_look(path, extents, &found, err);
    } else if (errno != ENOENT) {
        return iobm_fail_errno(err, errno, "cannot look at '%s'", path);
    }
    if (status == IOBM_OK)
        *out = found;
    return status;
}

static enum iobm_status refuse(struct iobm_error *err, const char *path,
                               const char *reason)
{
    return iobm_fail(err, IOBM_EUSAGE, "cannot read '%s': %s", path, reason);
}

enum iobm_status inspect_readable(const char *path, int64_t expected_bytes,
                                  struct iobm_error *err)
{
    struct inspect file;
    char is[40], expected[40];
    enum iobm_status status = inspect_file(path, true, &file, err);

    if (status != IOBM_OK)
        return status;
    switch (file.kind) {
    case INSPECT_REGULAR:
        break;
    case INSPECT_MISSING:
        return refuse(err, path, "it does not exist: write it first with -w");
    case INSPECT_LINK:
        return refuse(err, path, "it is a symbolic link: give the file itself");
    default:
        return refuse(err, path, "it is no regular file");
    }
    if (file.bytes != expected_bytes)
        return iobm_fail(
            err, IOBM_EUSAGE,
            "cannot read '%s': it is too %s, %s in place of %s: "
            "write it again with -w",
            path, file.bytes < expected_bytes ? "short" : "long",
            units_size_exact(is, sizeof(is), file.bytes),
            units_size_exact(expected, sizeof(expected), expected_bytes));
    units_size(is, sizeof(is),
               file.hole_bytes > 0 ? file.hole_bytes : file.unwritten_bytes);
    if (file.hole_bytes > 0 || file.unwritten_bytes > 0)
        return iobm_fail(err, IOBM_EUSAGE,
                         "cannot read '%s': %s of it %s, which is read from "
                         "memory, not from storage: write it again with -w",
                         path, is,
                         file.unwritten_bytes > 0
                             ? "are allocated but were never written"
                             : "are holes (the file is sparse)");
    return IOBM_OK;
}
