/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_ENV_MOUNT_H
#define IOBM_ENV_MOUNT_H

/* The file system and the device under a path. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/kv.h"
#include "iobm/error.h"

struct mount_facts {
    char fs_type[32]; /* "ext4", "fuse.truthfs" */
    char mount_point[512];
    char source[256];
    char options[512]; /* of the mount, then of the file system */
    uint64_t device_major, device_minor;
    int64_t free_bytes;  /* without root's reserve; -1 unknown */
    int64_t free_files;  /* inodes; -1 unknown */
    int64_t block_bytes; /* f_frsize */
    int64_t io_bytes;    /* st_blksize: preferred transfer */
    bool read_only;
    bool network; /* NFS, Lustre, GPFS, FUSE ... */
    bool memory;  /* tmpfs, ramfs */
};

/* Of the directory or file 'path', which must exist.  Uses statx's mount id
 * and /proc/self/mountinfo. */
enum iobm_status mount_describe(const char *path, struct mount_facts *facts,
                                struct iobm_error *err) IOBM_CHECK;

/* The pure part: find mount 'id' in the text of mountinfo (octal escapes
 * undone); false when it is not there. */
bool mount_parse(const char *mountinfo, uint64_t id, struct mount_facts *facts);

/* The block device M:m as "device.*"; nothing where /sys does not know it.
 * 'root' is prefixed to /sys ("" but in tests). */
enum iobm_status mount_device_facts(const char *root, uint64_t device_major,
                                    uint64_t device_minor, struct kvlist *out,
                                    struct iobm_error *err) IOBM_CHECK;

/* What a "lustre.lov" attribute of a file or directory says: plain layouts
 * (V1, V3) and the last component of a composite one. */
struct mount_stripes {
    int64_t bytes; /* 0: the file system's default */
    int64_t count; /* -1: all targets; 0: the default */
    int64_t components;
};
bool mount_parse_stripes(const void *attribute, size_t bytes,
                         struct mount_stripes *out);

/* "mount.type", "mount.point", "mount.source", "mount.options",
 * "mount.block_bytes", "mount.io_bytes", "device.*" (queue scheduler,
 * rotational, optimal and minimum io size where /sys tells),
 * "lustre.stripe_count", "lustre.stripe_bytes" where readable. */
enum iobm_status mount_record(const char *path, const struct mount_facts *facts,
                              struct kvlist *out,
                              struct iobm_error *err) IOBM_CHECK;

/*
 * What O_DIRECT needs of offset, size and memory at 'path' (an existing file,
 * device or directory): statx DIOALIGN where known; else for a block device
 * its logical block size; else by trying it on a file that is removed again
 * (512, 4096, st_blksize) when 'probe' and 'path' is a directory; else 4096.
 * IOBM_EUNSUPPORTED when the file system refuses O_DIRECT.
 */
enum iobm_status mount_direct_alignment(const char *path, bool probe,
                                        int64_t *alignment_bytes,
                                        struct iobm_error *err) IOBM_CHECK;

#endif
