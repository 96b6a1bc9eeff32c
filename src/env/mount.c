/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The mount under a path and how much room it has.  The mount is found by its
 * number, not by comparing paths: bind mounts and mounts that hide others are
 * told apart.  The device below and stripes are in mount_device.c, O_DIRECT
 * in mount_direct.c.
 */

#include "env/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/compat.h"
#include "env/procfile.h"

/* FUSE is a network file system unless it is fuseblk: "fuse.NAME". */
static bool is_network(const char *type)
{
    static const char *const types[] = {
        "9p",    "afs",  "beegfs",   "ceph",     "cifs",   "coda",
        "fhgfs", "fuse", "gfs2",     "gpfs",     "lustre", "ncpfs",
        "nfs",   "nfs4", "ocfs2",    "orangefs", "panfs",  "pvfs2",
        "scfs",  "smb3", "virtiofs", "wekafs",
    };

    if (strncmp(type, "fuse.", 5) == 0)
        return true;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return false;
}

static bool is_memory(const char *type)
{
    return strcmp(type, "tmpfs") == 0 || strcmp(type, "ramfs") == 0 ||
           strcmp(type, "devtmpfs") == 0 || strcmp(type, "hugetlbfs") == 0;
}

static void set_type(struct mount_facts *facts, const char *type)
{
    procfile_copy(facts->fs_type, sizeof(facts->fs_type), type);
    facts->network = is_network(facts->fs_type);
    facts->memory = is_memory(facts->fs_type);
}

/* Whether 'options' has 'option' as a whole member. */
static bool has_option(const char *options, const char *option, size_t length)
{
    for (const char *at = options; *at;) {
        size_t n = strcspn(at, ",");

        if (n == length && strncmp(at, option, n) == 0)
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

/* How much of an option to keep: of one that may hold a password, the key. */
static size_t public_length(const char *option, size_t length)
{
    static const char *const words[] = {"pass", "secret", "key", "cred",
                                        "token"};
    const char *equals = memchr(option, '=', length);

    for (size_t i = 0; equals && i < sizeof(words) / sizeof(words[0]); i++)
        if (memmem(option, (size_t)(equals - option), words[i],
                   strlen(words[i])))
            return (size_t)(equals - option);
    return length;
}

/* Add the members of 'more' that are not there yet, whole ones only. */
static void merge_options(struct mount_facts *facts, const char *more)
{
    char *options = facts->options;

    while (*more) {
        size_t n = strcspn(more, ",");
        size_t keep = public_length(more, n);
        size_t used = strlen(options);

        if (keep > 0 && !has_option(options, more, keep) &&
            used + keep + 2 <= sizeof(facts->options))
            snprintf(options + used, sizeof(facts->options) - used, "%s%.*s",
                     used ? "," : "", (int)keep, more);
        if (n == 2 && strncmp(more, "ro", 2) == 0)
            facts->read_only = true;
        more += n + (more[n] == ',');
    }
}

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* Undo \040 and the like in place. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *from = text; *from; to++) {
        if (from[0] == '\\' && is_octal(from[1]) && is_octal(from[2]) &&
            is_octal(from[3])) {
            *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 +
                         (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* Cut the next blank-separated word off '*rest'; NULL at the end. */
static char *next_word(char **rest)
{
    char *word = *rest + strspn(*rest, " ");
    size_t n = strcspn(word, " ");

    if (n == 0)
        return NULL;
    *rest = word + n + (word[n] != '\0');
    word[n] = '\0';
    return word;
}

/*
 * "36 35 98:0 /root /mnt rw,noatime master:1 - ext4 /dev/sda1 rw,errors=..."
 * with any number of words before the dash.  The source may be empty.
 */
static bool parse_line(char *line, struct mount_facts *facts)
{
    char *words[6], *word, *type, *source, *super;
    char *rest = line;
    char *dash = strstr(line, " - ");
    unsigned int device_major, device_minor;

    if (!dash)
        return false;
    *dash = '\0';
    for (int i = 0; i < 6; i++)
        if (!(words[i] = next_word(&rest)))
            return false;
    if (sscanf(words[2], "%u:%u", &device_major, &device_minor) != 2)
        return false;
    rest = dash + 3;
    if (!(type = next_word(&rest)))
        return false;
    /* Two words follow, or one when the source is an empty text. */
    source = *rest == ' ' ? NULL : next_word(&rest);
    super = next_word(&rest);
    if (!super) {
        super = source;
        source = NULL;
    }

    facts->device_major = device_major;
    facts->device_minor = device_minor;
    set_type(facts, type);
    word = words[4];
    unescape(word);
    procfile_copy(facts->mount_point, sizeof(facts->mount_point), word);
    facts->source[0] = '\0';
    if (source) {
        unescape(source);
        procfile_copy(facts->source, sizeof(facts->source), source);
    }
    facts->options[0] = '\0';
    facts->read_only = false;
    merge_options(facts, words[5]);
    if (super)
        merge_options(facts, super);
    return true;
}

bool mount_parse(const char *mountinfo, uint64_t id, struct mount_facts *facts)
{
    while (*mountinfo) {
        size_t length = strcspn(mountinfo, "\n");
        char *end;
        unsigned long long number = strtoull(mountinfo, &end, 10);

        if (end != mountinfo && *end == ' ' && number == id) {
            char *line = strndup(mountinfo, length);
            bool parsed = line && parse_line(line, facts);

            free(line);
            return parsed;
        }
        mountinfo += length + (mountinfo[length] == '\n');
    }
    return false;
}

/* Linux 5.8 tells the mount's number by statx, any by fdinfo. */
static bool mount_number(int fd, uint64_t *id)
{
    struct str text = {0};
    struct statx stx;
    char path[64];
    const char *at;
    bool found = false;

    memset(&stx, 0, sizeof(stx));
    if (COMPAT_STATX_MNT_ID &&
        statx(fd, "", AT_EMPTY_PATH, COMPAT_STATX_MNT_ID, &stx) == 0 &&
        compat_mount_id(&stx, id))
        return true;
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    if (procfile_read("", path, &text) &&
        (at = strstr(str_text(&text), "mnt_id:")))
        found = sscanf(at, "mnt_id: %" SCNu64, id) == 1;
    str_release(&text);
    return found;
}

/* Without mountinfo (a chroot, no /proc): the type's magic number. */
static void describe_by_magic(int fd, struct mount_facts *facts)
{
    char type[32];
    struct statfs fs;

    if (fstatfs(fd, &fs) != 0)
        return;
    snprintf(type, sizeof(type), "0x%lx", (unsigned long)fs.f_type);
    set_type(facts, type);
}

static int64_t times(uint64_t count, uint64_t size)
{
    uint64_t product;

    if (__builtin_mul_overflow(count, size, &product) || product > INT64_MAX)
        return INT64_MAX;
    return (int64_t)product;
}

static void describe_room(const struct statvfs *fs, struct mount_facts *facts)
{
    facts->block_bytes = (int64_t)fs->f_frsize;
    facts->free_bytes = -1;
    facts->free_files = -1;
    if (fs->f_blocks > 0)
        facts->free_bytes = times(fs->f_bavail, fs->f_frsize);
    if (fs->f_files > 0)
        facts->free_files = times(fs->f_favail, 1);
    if (fs->f_flag & ST_RDONLY)
        facts->read_only = true;
}

enum iobm_status mount_describe(const char *path, struct mount_facts *facts,
                                struct iobm_error *err)
{
    struct mount_facts found = {0};
    struct str mountinfo = {0};
    struct statvfs fs;
    struct stat st;
    uint64_t id;
    int fd = open(path, O_PATH | O_CLOEXEC);

    if (fd < 0)
        return iobm_fail_errno(err, errno, "cannot look at '%s'", path);
    if (fstat(fd, &st) != 0 || fstatvfs(fd, &fs) != 0) {
        int why = errno;

        close(fd);
        return iobm_fail_errno(err, why, "cannot look at '%s'", path);
    }
    if (!mount_number(fd, &id) ||
        !procfile_read("", "/proc/self/mountinfo", &mountinfo) ||
        !mount_parse(str_text(&mountinfo), id, &found))
        describe_by_magic(fd, &found);
    str_release(&mountinfo);
    close(fd);
    /* Of a device node, the device; else what the file lies on. */
    dev_t device = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
    if (S_ISBLK(st.st_mode))
        set_type(&found, "block device"); /* whatever /dev is */
    found.device_major = major(device);
    found.device_minor = minor(device);
    found.io_bytes = (int64_t)st.st_blksize;
    describe_room(&fs, &found);
    *facts = found;
    return IOBM_OK;
}
