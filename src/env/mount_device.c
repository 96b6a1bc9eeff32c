/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What lies below a file system, for the record: the block device's queue
 * from /sys, and Lustre stripes from an extended attribute that is parsed as
 * if anyone could have made it.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "env/mount.h"
#include "env/procfile.h"

static bool exists(const char *root, const char *path)
{
    char full[4096];

    snprintf(full, sizeof(full), "%s%s", root ? root : "", path);
    return access(full, F_OK) == 0;
}

/* The kernel's name of the device, "sda1". */
static void device_name(const char *root, const char *directory, char *name,
                        size_t room)
{
    char path[512], line[512];
    struct str text = {0};
    const char *at;

    name[0] = '\0';
    snprintf(path, sizeof(path), "%s/uevent", directory);
    if (procfile_read(root, path, &text) &&
        (at = strstr(str_text(&text), "DEVNAME=")) &&
        sscanf(at, "DEVNAME=%511[^\n]", line) == 1)
        procfile_copy(name, room, line);
    str_release(&text);
}

static enum iobm_status add_line(const char *root, const char *directory,
                                 const char *file, const char *key,
                                 struct kvlist *out, struct iobm_error *err)
{
    char path[512], line[256];

    snprintf(path, sizeof(path), "%s/%s", directory, file);
    if (!procfile_line(root, path, line, sizeof(line)))
        return IOBM_OK;
    return kv_set(out, key, line, err);
}

enum iobm_status mount_device_facts(const char *root, uint64_t device_major,
                                    uint64_t device_minor, struct kvlist *out,
                                    struct iobm_error *err)
{
    static const struct {
        const char *file, *key;
    } facts[] = {
        {"device/model", "device.model"},
        {"size", "device.sectors"},
        {"queue/scheduler", "device.scheduler"},
        {"queue/rotational", "device.rotational"},
        {"queue/write_cache", "device.write_cache"},
        {"queue/logical_block_size", "device.logical_block_bytes"},
        {"queue/physical_block_size", "device.physical_block_bytes"},
        {"queue/minimum_io_size", "device.minimum_io_bytes"},
        {"queue/optimal_io_size", "device.optimal_io_bytes"},
        {"queue/max_sectors_kb", "device.max_transfer_kib"},
        {"queue/read_ahead_kb", "device.read_ahead_kib"},
        {"queue/nr_requests", "device.requests"},
        {"loop/backing_file", "device.loop_file"},
        {"loop/dio", "device.loop_direct"},
    };
    enum iobm_status status = IOBM_OK;
    char directory[256], whole[272], name[128];

    snprintf(directory, sizeof(directory),
             "/sys/dev/block/%" PRIu64 ":%" PRIu64, device_major, device_minor);
    if (!exists(root, directory))
        return IOBM_OK;
    device_name(root, directory, name, sizeof(name));
    if (name[0])
        status = kv_set(out, "device.name", name, err);

    /* A partition has no queue of its own. */
    snprintf(whole, sizeof(whole), "%s/partition", directory);
    bool part = exists(root, whole);
    snprintf(whole, sizeof(whole), "%s%s", directory, part ? "/.." : "");
    for (size_t i = 0;
         i < sizeof(facts) / sizeof(facts[0]) && status == IOBM_OK; i++)
        status = add_line(root, whole, facts[i].file, facts[i].key, out, err);
    return status;
}

/* ---- Lustre, after the layouts that its user header documents */

enum {
    LOV_V1 = 0x0BD10BD0,
    LOV_V3 = 0x0BD30BD0,
    LOV_COMPOSITE = 0x0BD60BD0,
    LOV_BYTES = 32,       /* of the part that V1 and V3 have in common */
    COMPOSITE_BYTES = 32, /* header, before the entries */
    COMPONENT_BYTES = 48, /* one entry */
};

static uint32_t u32_at(const unsigned char *bytes, size_t at)
{
    uint32_t value;

    memcpy(&value, bytes + at, sizeof(value));
    return value;
}

static uint16_t u16_at(const unsigned char *bytes, size_t at)
{
    uint16_t value;

    memcpy(&value, bytes + at, sizeof(value));
    return value;
}

static bool plain_stripes(const unsigned char *lov, size_t bytes,
                          struct mount_stripes *out)
{
    if (bytes < LOV_BYTES ||
        (u32_at(lov, 0) != LOV_V1 && u32_at(lov, 0) != LOV_V3))
        return false;
    out->bytes = u32_at(lov, 24);
    out->count = u16_at(lov, 28) == UINT16_MAX ? -1 : u16_at(lov, 28);
    out->components = 1;
    return true;
}

bool mount_parse_stripes(const void *attribute, size_t bytes,
                         struct mount_stripes *out)
{
    const unsigned char *lov = attribute;
    struct mount_stripes found;
    size_t entries, at, offset, size;

    if (plain_stripes(lov, bytes, out))
        return true;
    if (bytes < COMPOSITE_BYTES || u32_at(lov, 0) != LOV_COMPOSITE)
        return false;
    entries = u16_at(lov, 14);
    if (entries == 0 || entries > (bytes - COMPOSITE_BYTES) / COMPONENT_BYTES)
        return false;
    at = COMPOSITE_BYTES + (entries - 1) * COMPONENT_BYTES;
    offset = u32_at(lov, at + 24);
    size = u32_at(lov, at + 28);
    if (offset > bytes || size > bytes - offset ||
        !plain_stripes(lov + offset, size, &found))
        return false;
    found.components = (int64_t)entries;
    *out = found;
    return true;
}

static enum iobm_status record_stripes(const char *path, struct kvlist *out,
                                       struct iobm_error *err)
{
    unsigned char attribute[16384];
    struct mount_stripes stripes;
    ssize_t n = getxattr(path, "lustre.lov", attribute, sizeof(attribute));
    enum iobm_status status;

    if (n <= 0 || !mount_parse_stripes(attribute, (size_t)n, &stripes))
        return IOBM_OK;
    status =
        kv_setf(out, err, "lustre.stripe_count", "%" PRId64, stripes.count);
    if (status == IOBM_OK)
        status =
            kv_setf(out, err, "lustre.stripe_bytes", "%" PRId64, stripes.bytes);
    if (status == IOBM_OK && stripes.components > 1)
        status = kv_setf(out, err, "lustre.components", "%" PRId64,
                         stripes.components);
    return status;
}

/* btrfs and others have a device number of their own: ask the source. */
static void block_device_of(const struct mount_facts *facts,
                            uint64_t *device_major, uint64_t *device_minor)
{
    struct stat st;

    *device_major = facts->device_major;
    *device_minor = facts->device_minor;
    if (*device_major == 0 && facts->source[0] == '/' &&
        stat(facts->source, &st) == 0 && S_ISBLK(st.st_mode)) {
        *device_major = major(st.st_rdev);
        *device_minor = minor(st.st_rdev);
    }
}

enum iobm_status mount_record(const char *path, const struct mount_facts *facts,
                              struct kvlist *out, struct iobm_error *err)
{
    const struct {
        const char *key, *value;
    } texts[] = {
        {"mount.type", facts->fs_type},
        {"mount.point", facts->mount_point},
        {"mount.source", facts->source},
        {"mount.options", facts->options},
    };
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {
        {"mount.free_bytes", facts->free_bytes},
        {"mount.free_files", facts->free_files},
        {"mount.block_bytes", facts->block_bytes},
        {"mount.io_bytes", facts->io_bytes},
    };
    enum iobm_status status = IOBM_OK;
    uint64_t device_major, device_minor;

    for (size_t i = 0; i < 4 && status == IOBM_OK; i++)
        if (texts[i].value[0])
            status = kv_set(out, texts[i].key, texts[i].value, err);
    for (size_t i = 0; i < 4 && status == IOBM_OK; i++)
        if (numbers[i].value >= 0)
            status =
                kv_setf(out, err, numbers[i].key, "%" PRId64, numbers[i].value);
    block_device_of(facts, &device_major, &device_minor);
    if (status == IOBM_OK)
        status = mount_device_facts("", device_major, device_minor, out, err);
    if (status == IOBM_OK)
        status = record_stripes(path, out, err);
    return status;
}
