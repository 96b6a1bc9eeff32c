/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mounts from made-up mountinfo, devices from a made-up /sys, Lustre stripes
 * from made-up attributes, and what the real file systems here say.
 */

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "env/mount.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char mountinfo[] =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n"
    "23 22 0:5 / /proc rw - proc proc rw\n"
    "2 22 0:30 / /short rw - tmpfs tmpfs rw,size=1k\n"
    "36 22 0:40 /a /with\\040space\\011tab\\134 rw,noatime master:1 "
    "propagate_from:2 - nfs4 srv:/ex\\040port ro,vers=4.2,addr=10.0.0.1\n"
    "37 22 0:41 / /empty rw - tmpfs  rw\n"
    "38 22 0:42 / /l rw - lustre 10.0.0.1@tcp:/scratch rw,flock\n"
    "39 22 0:43 / /f ro,nosuid - fuse.sshfs u@h: rw,user_id=0\n"
    "40 22 0:44 / /n rw - fuseblk /dev/sdb1 rw\n"
    "41 22 0:45 / /c rw - cifs //srv/x rw,username=u,password=p4ss,uid=0\n"
    "42 22 0:46 / /bad rw -\n"
    "43 22 x:y / /bad rw - ext4 /dev/x rw\n"
    "44 22 0:47 / /g rw - gpfs gpfs0 rw";

static void mounts_are_found(void **state)
{
    static const struct {
        uint64_t id;
        const char *type, *point, *source, *options;
        bool read_only, network, memory;
    } cases[] = {
        {22, "ext4", "/", "/dev/sda1", "rw,relatime,errors=remount-ro", false,
         false, false},
        {2, "tmpfs", "/short", "tmpfs", "rw,size=1k", false, false, true},
        {36, "nfs4", "/with space\ttab\\", "srv:/ex port",
         "rw,noatime,ro,vers=4.2,addr=10.0.0.1", true, true, false},
        {37, "tmpfs", "/empty", "", "rw", false, false, true},
        {38, "lustre", "/l", "10.0.0.1@tcp:/scratch", "rw,flock", false, true,
         false},
        {39, "fuse.sshfs", "/f", "u@h:", "ro,nosuid,rw,user_id=0", true, true,
         false},
        {40, "fuseblk", "/n", "/dev/sdb1", "rw", false, false, false},
        {41, "cifs", "/c", "//srv/x", "rw,username=u,password,uid=0", false,
         true, false},
        {44, "gpfs", "/g", "gpfs0", "rw", false, true, false},
        {3, NULL, NULL, NULL, NULL, false, false, false},
        {4, NULL, NULL, NULL, NULL, false, false, false},
        {42, NULL, NULL, NULL, NULL, false, false, false},
        {43, NULL, NULL, NULL, NULL, false, false, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct mount_facts facts = {0};
        bool found = mount_parse(mountinfo, cases[i].id, &facts);

        assert_int_equal(found, cases[i].type != NULL);
        if (!found)
            continue;
        assert_string_equal(facts.fs_type, cases[i].type);
        assert_string_equal(facts.mount_point, cases[i].point);
        assert_string_equal(facts.source, cases[i].source);
        assert_string_equal(facts.options, cases[i].options);
        assert_int_equal(facts.read_only, cases[i].read_only);
        assert_int_equal(facts.network, cases[i].network);
        assert_int_equal(facts.memory, cases[i].memory);
    }
}

static void damaged_mountinfo_does_no_harm(void **state)
{
    struct mount_facts facts;
    char text[sizeof(mountinfo)];

    (void)state;
    assert_false(mount_parse("", 22, &facts));
    for (size_t cut = 0; cut < sizeof(text); cut++) {
        memcpy(text, mountinfo, sizeof(text));
        text[cut] = '\0';
        for (uint64_t id = 20; id < 50; id++)
            (void)mount_parse(text, id, &facts);
    }
    for (uint64_t round = 0; round < 2000; round++) {
        memcpy(text, mountinfo, sizeof(text));
        for (uint64_t k = 0; k < 8; k++)
            text[rng_below(round, 2 * k, sizeof(text) - 1)] =
                (char)("\\ \n-,=7\001"[rng_below(round, 2 * k + 1, 8)]);
        for (uint64_t id = 20; id < 50; id++)
            (void)mount_parse(text, id, &facts);
    }
}

static void long_options_are_cut_whole(void **state)
{
    static char line[4096] = "5 1 0:9 / /o rw - overlay overlay rw,lowerdir=";
    struct mount_facts facts;

    (void)state;
    memset(line + strlen(line), 'd', 2000);
    strcat(line, ",upperdir=/u");
    assert_true(mount_parse(line, 5, &facts));
    assert_string_equal(facts.options, "rw,upperdir=/u");
}

static void real_mounts(void **state)
{
    static const char *const paths[] = {"/", "/tmp", "/proc/self", ".",
                                        "/dev/shm"};
    struct mount_facts facts;

    (void)state;
    for (size_t i = 0; i < COUNT(paths); i++) {
        struct kvlist out = {0};

        if (access(paths[i], F_OK) != 0)
            continue;
        assert_int_equal(mount_describe(paths[i], &facts, NULL), IOBM_OK);
        assert_true(facts.fs_type[0] && facts.fs_type[0] != '0');
        assert_int_equal(facts.mount_point[0], '/');
        assert_true(facts.block_bytes > 0 && facts.io_bytes > 0);
        assert_int_equal(mount_record(paths[i], &facts, &out, NULL), IOBM_OK);
        assert_string_equal(kv_get(&out, "mount.type"), facts.fs_type);
        kv_release(&out);
    }
    assert_int_equal(mount_describe("/nonexistent", &facts, NULL), IOBM_EIO);
    assert_int_equal(mount_describe("/proc/self", &facts, NULL), IOBM_OK);
    assert_string_equal(facts.fs_type, "proc");
}

/* ---- devices */

static char root[64]; /* of the made-up /sys */

static int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "/tmp/iobm-mount.XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    return system(command);
}

/* Run in the made-up root. */
static void shell(const char *command)
{
    char *line;

    assert_true(asprintf(&line, "cd '%s' && %s", root, command) > 0);
    assert_int_equal(system(line), 0);
    free(line);
}

static void partition_has_its_disks_queue(void **state)
{
    struct kvlist out = {0};

    (void)state;
    shell("mkdir -p sys/block/sda/sda1 sys/block/sda/queue sys/dev/block "
          "sys/block/sda/device && cd sys && "
          "ln -s ../../block/sda dev/block/8:0 && "
          "ln -s ../../block/sda/sda1 dev/block/8:1 && "
          "echo 1 > block/sda/sda1/partition && "
          "echo DEVNAME=sda1 > block/sda/sda1/uevent && "
          "printf 'MAJOR=8\\nDEVNAME=sda\\nX=1\\n' > block/sda/uevent && "
          "echo 'Disk 9000 ' > block/sda/device/model && "
          "echo 'none [mq-deadline]' > block/sda/queue/scheduler && "
          "echo 0 > block/sda/queue/rotational && "
          "echo 65536 > block/sda/queue/optimal_io_size");
    assert_int_equal(mount_device_facts(root, 8, 1, &out, NULL), IOBM_OK);
    assert_string_equal(kv_get(&out, "device.name"), "sda1");
    assert_string_equal(kv_get(&out, "device.model"), "Disk 9000");
    assert_string_equal(kv_get(&out, "device.scheduler"), "none [mq-deadline]");
    assert_string_equal(kv_get(&out, "device.rotational"), "0");
    assert_string_equal(kv_get(&out, "device.optimal_io_bytes"), "65536");
    assert_null(kv_get(&out, "device.requests"));
    kv_release(&out);
    assert_int_equal(mount_device_facts(root, 8, 0, &out, NULL), IOBM_OK);
    assert_string_equal(kv_get(&out, "device.name"), "sda");
    assert_string_equal(kv_get(&out, "device.rotational"), "0");
    kv_release(&out);
    assert_int_equal(mount_device_facts(root, 0, 40, &out, NULL), IOBM_OK);
    assert_int_equal(out.count, 0);
}

/* ---- Lustre */

static void u16(unsigned char *at, uint16_t value)
{
    memcpy(at, &value, sizeof(value));
}

static void u32(unsigned char *at, uint32_t value)
{
    memcpy(at, &value, sizeof(value));
}

static void plain(unsigned char *at, uint32_t magic, uint32_t size,
                  uint16_t count)
{
    u32(at, magic);
    u32(at + 24, size);
    u16(at + 28, count);
}

/* Two components, described in a header of 32 bytes and entries of 48. */
static void composite(unsigned char *at)
{
    u32(at, 0x0BD60BD0);
    u16(at + 14, 2);
    u32(at + 32 + 24, 128);
    u32(at + 32 + 28, 32);
    u32(at + 80 + 24, 160);
    u32(at + 80 + 28, 32);
    plain(at + 128, 0x0BD10BD0, 1 << 20, 1);
    plain(at + 160, 0x0BD30BD0, 4 << 20, 0xffff);
}

static void stripes_are_read(void **state)
{
    unsigned char lov[192] = {0};
    struct mount_stripes s;

    (void)state;
    plain(lov, 0x0BD10BD0, 1 << 20, 4);
    assert_true(mount_parse_stripes(lov, 56, &s));
    assert_true(s.bytes == 1 << 20 && s.count == 4 && s.components == 1);
    assert_false(mount_parse_stripes(lov, 31, &s));
    assert_false(mount_parse_stripes(lov, 0, &s));
    memset(lov, 0, sizeof(lov));
    composite(lov);
    assert_true(mount_parse_stripes(lov, sizeof(lov), &s));
    assert_true(s.bytes == 4 << 20 && s.count == -1 && s.components == 2);
}

static void damaged_stripes_do_no_harm(void **state)
{
    static const struct {
        size_t at;
        uint32_t value;
    } cases[] = {
        {0, 0xD00BD60B},   {0, 0},         {12, 0},
        {12, UINT32_MAX},  {80 + 24, 191}, {80 + 24, UINT32_MAX},
        {80 + 28, 31},     {80 + 28, 33},  {80 + 28, UINT32_MAX},
        {160, 0x0BD60BD0},
    };
    struct mount_stripes s;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        unsigned char *lov = calloc(1, 192); /* so that ASan sees its end */

        composite(lov);
        u32(lov + cases[i].at, cases[i].value);
        if (mount_parse_stripes(lov, 192, &s))
            fail_msg("case %zu was taken", i);
        free(lov);
    }
    for (size_t bytes = 0; bytes < 192; bytes++) {
        unsigned char *lov = malloc(bytes + 1), whole[192] = {0};

        composite(whole);
        memcpy(lov, whole, bytes);
        assert_false(mount_parse_stripes(lov, bytes, &s));
        free(lov);
    }
}

/* ---- O_DIRECT */

static void alignment_is_found(void **state)
{
    static const char *const folders[] = {"/tmp", "/dev/shm", "."};
    char path[64];

    (void)state;
    for (size_t i = 0; i < COUNT(folders); i++) {
        int64_t alignment = 0, again = 0;
        enum iobm_status status;
        int fd;

        if (access(folders[i], W_OK) != 0)
            continue;
        status = mount_direct_alignment(folders[i], true, &alignment, NULL);
        if (status == IOBM_EUNSUPPORTED)
            continue; /* tmpfs before Linux 6.6 */
        assert_int_equal(status, IOBM_OK);
        assert_true(alignment >= 1 && alignment <= 65536);
        assert_int_equal(alignment & (alignment - 1), 0);
        /* The same of a file that is there, which stays as it is. */
        snprintf(path, sizeof(path), "%s/iobm-mount.XXXXXX", folders[i]);
        fd = mkstemp(path);
        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, 1 << 20), 0);
        assert_int_equal(mount_direct_alignment(path, true, &again, NULL),
                         IOBM_OK);
        assert_int_equal(again, alignment);
        close(fd);
        unlink(path);
    }
}

static void alignment_without_probe(void **state)
{
    int64_t alignment = 0;
    struct iobm_error err;

    (void)state;
    assert_int_equal(mount_direct_alignment("/tmp", false, &alignment, NULL),
                     IOBM_OK);
    assert_int_equal(alignment, 4096);
    assert_int_equal(
        mount_direct_alignment("/dev/null", true, &alignment, NULL),
        IOBM_EUSAGE);
    assert_int_equal(mount_direct_alignment("/none", true, &alignment, NULL),
                     IOBM_EIO);
    assert_int_equal(
        mount_direct_alignment("/proc/self/status", true, &alignment, &err),
        IOBM_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "leave -d out"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mounts_are_found),
        cmocka_unit_test(damaged_mountinfo_does_no_harm),
        cmocka_unit_test(long_options_are_cut_whole),
        cmocka_unit_test(real_mounts),
        cmocka_unit_test_setup_teardown(partition_has_its_disks_queue,
                                        make_root, remove_root),
        cmocka_unit_test(stripes_are_read),
        cmocka_unit_test(damaged_stripes_do_no_harm),
        cmocka_unit_test(alignment_is_found),
        cmocka_unit_test(alignment_without_probe),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("mount", tests, NULL, NULL);
}
