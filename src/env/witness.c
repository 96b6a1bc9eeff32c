/* SPDX-License-Identifier: BSD-3-Clause */

/* A sample of all witnesses, and which of them the file system under test
 * has; the counters themselves are read in witness_*.c. */

#include "env/witness.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "env/mount.h"
#include "env/witness_impl.h"

static bool one_of(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(name, *list) == 0)
            return true;
    return false;
}

/* "mgs@o2ib:/scratch/sub" is the file system "scratch". */
static void name_lustre(const char *source, char *name, size_t room)
{
    const char *at = strstr(source, ":/");

    str_copy(name, room, at ? at + 2 : "");
    name[strcspn(name, "/")] = '\0';
}

/* Whether options of a mount or a file system have 'option' as a member. */
static const char *find_option(const char *options, const char *option)
{
    size_t length = strlen(option);

    for (const char *at = options; *at;) {
        size_t n = strcspn(at, ",");

        if (n >= length && strncmp(at, option, length) == 0 &&
            (n == length || option[length - 1] == '='))
            return at + length;
        at += n + (at[n] == ',');
    }
    return NULL;
}

/* Of an overlay, the file system that holds what was written, where it can be
 * seen: in a container it cannot. */
static void look_below(struct mount_facts *facts)
{
    struct mount_facts below;
    char path[sizeof(facts->options)];
    const char *upper;

    if (strcmp(facts->fs_type, "overlay") != 0)
        return;
    upper = find_option(facts->options, "upperdir=");
    if (!upper || *upper != '/')
        return;
    str_copy(path, sizeof(path), upper);
    path[strcspn(path, ",")] = '\0';
    if (mount_describe(path, &below, NULL) == IOBM_OK)
        *facts = below;
}

/* btrfs and others have a device number of their own: ask the source.  Of
 * several devices it is the first. */
static void find_device(const struct mount_facts *facts,
                        struct witness_target *target)
{
    struct stat st;

    target->device_major = facts->device_major;
    target->device_minor = facts->device_minor;
    if (facts->device_major == 0 && facts->source[0] == '/' &&
        stat(facts->source, &st) == 0 && S_ISBLK(st.st_mode)) {
        target->device_major = major(st.st_rdev);
        target->device_minor = minor(st.st_rdev);
    }
}

void witness_target_classify(const struct mount_facts *facts,
                             struct witness_target *target)
{
    /* Their pages are read by the process that wants them, from a device of
     * this node. */
    static const char *const local[] = {
        "ext2",   "ext3",  "ext4", "xfs",   "btrfs",        "f2fs", "jfs",
        "nilfs2", "ntfs3", "vfat", "exfat", "block device", NULL};
    static const char *const own_cache[] = {"gpfs", "zfs", "lustre", NULL};
    static const char *const nfs[] = {"nfs", "nfs4", NULL};
    bool dax = find_option(facts->options, "dax") ||
               find_option(facts->options, "dax=always");

    target->memory = facts->memory;
    target->network = facts->network;
    target->nfs = one_of(facts->fs_type, nfs);
    target->lustre = strcmp(facts->fs_type, "lustre") == 0;
    if (target->lustre)
        name_lustre(facts->source, target->lustre_name,
                    sizeof(target->lustre_name));
    target->block_backed = one_of(facts->fs_type, local) && !dax;
    target->page_cache = !one_of(facts->fs_type, own_cache) && !dax;
    target->hidden_cache = strncmp(facts->fs_type, "fuse", 4) == 0;
}

enum iobm_status witness_target_init(const char *path,
                                     struct witness_target *target,
                                     struct iobm_error *err)
{
    struct mount_facts facts;
    enum iobm_status status = mount_describe(path, &facts, err);

    memset(target, 0, sizeof(*target));
    if (status != IOBM_OK)
        return status;
    str_copy(target->mount_point, sizeof(target->mount_point),
             facts.mount_point);
    str_copy(target->fs_type, sizeof(target->fs_type), facts.fs_type);
    look_below(&facts);
    find_device(&facts, target);
    witness_target_classify(&facts, target);
    return IOBM_OK;
}

int64_t witness_field(const char *text, const char *key)
{
    size_t length = strlen(key);

    for (const char *line = text; line && *line;) {
        line += strspn(line, " \t");
        if (strncmp(line, key, length) == 0 &&
            (line[length] == ' ' || line[length] == ':' ||
             line[length] == '\t')) {
            const char *value = line + length + 1;
            char *end;
            long long number = strtoll(value, &end, 10);

            return end == value || number < 0 ? -1 : number;
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return -1;
}

void witness_add(int64_t *sum, int64_t value)
{
    if (value >= 0)
        *sum = *sum < 0 ? value : *sum + value;
}

void witness_read(const struct witness_target *target, bool node,
                  struct witness_sample *out)
{
    memset(out, 0xff, sizeof(*out)); /* -1 everywhere */
    out->page_bytes = sysconf(_SC_PAGESIZE);
    if (node) {
        witness_disk(target, out);
        if (target->nfs)
            witness_nfs(target, out);
        if (target->lustre)
            witness_lustre(target, out);
        witness_link(target, out);
        witness_client(target, out);
    }
    witness_self(target, out);
    out->time_ns = clock_now_ns();
}
