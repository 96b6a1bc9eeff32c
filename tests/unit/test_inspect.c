/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a file really is: on the disk of /tmp and on tmpfs always, on ext4
 * and xfs images where loop mounts are possible.  The mounts are in a mount
 * namespace of this process, so that they end with it.
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "guard/inspect.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { MIB = 1 << 20 };

static char folder[64]; /* of this run of the test */

static int run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int run(const char *fmt, ...)
{
    char command[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(command, sizeof(command), fmt, args);
    va_end(args);
    return system(command);
}

static const char *in(const char *where, const char *name)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/%s", where, name);
    return path;
}

static int open_new(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);

    assert_true(fd >= 0);
    return fd;
}

static void write_mib(int fd, int first, int count)
{
    static char block[MIB];

    memset(block, 'x', sizeof(block));
    for (int i = first; i < first + count; i++)
        assert_int_equal(pwrite(fd, block, MIB, (off_t)i * MIB), MIB);
}

/* ---- what one file system must tell */

static void make_whole(int fd)
{
    write_mib(fd, 0, 4);
}

static void make_whole_synced(int fd)
{
    write_mib(fd, 0, 4);
    assert_int_equal(fsync(fd), 0);
}

/* Written over what fallocate() gave: data, at the latest once it is on the
 * device. */
static void make_filled(int fd)
{
    if (posix_fallocate(fd, 0, 4 * MIB) != 0)
        return;
    write_mib(fd, 0, 4);
}

static void make_sparse(int fd)
{
    assert_int_equal(ftruncate(fd, 4 * MIB), 0);
}

static void make_hole_inside(int fd)
{
    write_mib(fd, 0, 1);
    write_mib(fd, 3, 1);
}

static void make_hole_at_end(int fd)
{
    write_mib(fd, 0, 3);
    assert_int_equal(ftruncate(fd, 4 * MIB), 0);
}

static void make_unwritten(int fd)
{
    assert_int_equal(fallocate(fd, 0, 0, 4 * MIB), 0);
}

static void make_half_written(int fd)
{
    assert_int_equal(fallocate(fd, 0, 0, 4 * MIB), 0);
    write_mib(fd, 0, 2);
    assert_int_equal(fsync(fd), 0);
}

/* As above, and read: the zeros of the rest are in the cache now. */
static void make_half_cached(int fd)
{
    static char block[4 * MIB];

    make_half_written(fd);
    assert_int_equal(pread(fd, block, sizeof(block), 0), 4 * MIB);
}

static void make_short(int fd)
{
    write_mib(fd, 0, 3);
}

static void make_long(int fd)
{
    write_mib(fd, 0, 5);
}

static void make_empty(int fd)
{
    (void)fd;
}

static const struct {
    const char *name;
    void (*make)(int fd);
    const char *refused;
} makes[] = {
    {"whole", make_whole, NULL},
    {"whole, synced", make_whole_synced, NULL},
    {"filled", make_filled, NULL},
    {"sparse", make_sparse, "4 MiB of it"},
    {"hole inside", make_hole_inside, "2 MiB of it are holes"},
    {"hole at end", make_hole_at_end, "1 MiB of it"},
    {"unwritten", make_unwritten, "4 MiB of it"},
    {"half written", make_half_written, "2 MiB of it"},
    {"half written, cached", make_half_cached, "2 MiB of it"},
    {"short", make_short, "too short, 3 MiB (3145728 bytes) in place of 4 MiB"},
    {"long", make_long, "too long, 5 MiB"},
    {"empty", make_empty, "too short"},
};

static void check_file_system(const char *where)
{
    for (size_t i = 0; i < COUNT(makes); i++) {
        const char *path = in(where, "file");
        struct iobm_error err = {0};
        enum iobm_status status;
        int fd = open_new(path);

        makes[i].make(fd);
        close(fd);
        status = inspect_readable(path, 4 * MIB, &err);
        if (makes[i].refused ? status != IOBM_EUSAGE ||
                                   !strstr(err.text, makes[i].refused) ||
                                   !strstr(err.text, "with -w")
                             : status != IOBM_OK)
            fail_msg("%s in %s: status %d, '%s'", makes[i].name, where, status,
                     err.text);
        unlink(path);
    }
}

static void on_the_disk(void **state)
{
    (void)state;
    check_file_system(folder);
}

/* No FIEMAP there: what was allocated and never written counts as a hole. */
static void on_tmpfs(void **state)
{
    char where[] = "/dev/shm/iobm-inspect.XXXXXX";

    (void)state;
    if (!mkdtemp(where)) {
        print_message("# SKIP no /dev/shm\n");
        skip();
    }
    check_file_system(where);
    rmdir(where);
}

/* Mounts of our own; false with a reason when that is not possible. */
static bool mount_image(const char *type, const char *size, const char *where)
{
    if (geteuid() != 0 || run("command -v mkfs.%s >/dev/null", type) != 0)
        return false;
    return run("truncate -s %s '%s.img' && mkfs.%s -q '%s.img' >/dev/null "
               "2>&1 && mkdir '%s' && mount -o loop '%s.img' '%s' 2>/dev/null",
               size, where, type, where, where, where, where) == 0;
}

static void on_image(const char *type, const char *size)
{
    char where[128];

    snprintf(where, sizeof(where), "%s/%s", folder, type);
    if (!mount_image(type, size, where)) {
        print_message("# SKIP cannot mount an image of %s\n", type);
        skip();
    }
    check_file_system(where);
    assert_int_equal(umount(where), 0);
}

static void on_ext4(void **state)
{
    (void)state;
    on_image("ext4", "64M");
}

static void on_xfs(void **state)
{
    (void)state;
    on_image("xfs", "320M");
}

/* ---- other kinds */

static void kinds_are_told(void **state)
{
    static const struct {
        const char *command;
        enum inspect_kind kind;
        const char *refused;
    } cases[] = {
        {"true", INSPECT_MISSING, "does not exist: write it first"},
        {"ln -s /etc/passwd x", INSPECT_LINK, "symbolic link"},
        {"ln -s nowhere x", INSPECT_LINK, "symbolic link"},
        {"mkdir x", INSPECT_OTHER, "no regular file"},
        {"mkfifo x", INSPECT_OTHER, "no regular file"},
        {": > x", INSPECT_REGULAR, "too short"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *path = in(folder, "x");
        struct iobm_error err = {0};
        struct inspect found;

        assert_int_equal(
            run("cd '%s' && rm -rf x && %s", folder, cases[i].command), 0);
        assert_int_equal(inspect_file(path, true, &found, NULL), IOBM_OK);
        assert_int_equal(found.kind, cases[i].kind);
        assert_int_equal(inspect_readable(path, 4, &err), IOBM_EUSAGE);
        if (!strstr(err.text, cases[i].refused))
            fail_msg("%s: '%s'", cases[i].command, err.text);
    }
    assert_int_equal(run("rm -rf '%s/x'", folder), 0);
    assert_int_equal(
        inspect_file("/etc/passwd/x", false, &(struct inspect){0}, NULL),
        IOBM_EIO);
}

static void links_are_counted(void **state)
{
    struct inspect found;

    (void)state;
    assert_int_equal(run("cd '%s' && echo 1 > x && ln x y", folder), 0);
    assert_int_equal(inspect_file(in(folder, "x"), false, &found, NULL),
                     IOBM_OK);
    assert_int_equal(found.links, 2);
    assert_int_equal(found.bytes, 2);
    assert_int_equal(run("rm '%s/x' '%s/y'", folder, folder), 0);
}

/* ---- devices */

static bool first_line(const char *command, char *line, int room)
{
    FILE *pipe = popen(command, "r");
    bool got = pipe && fgets(line, room, pipe);

    if (pipe && pclose(pipe) != 0)
        got = false;
    line[got ? strcspn(line, "\n") : 0] = '\0';
    return got && line[0];
}

static void devices_are_guarded(void **state)
{
    char command[256], device[64], where[128];
    struct iobm_error err = {0};

    (void)state;
    snprintf(command, sizeof(command),
             "truncate -s 16M '%s/disk' && losetup -f --show '%s/disk' "
             "2>/dev/null",
             folder, folder);
    if (geteuid() != 0 || !first_line(command, device, sizeof(device))) {
        print_message("# SKIP cannot make a loop device\n");
        skip();
    }
    static const struct {
        bool write, destroy;
        int64_t bytes;
        const char *refused;
    } cases[] = {
        {false, false, 16 * MIB, NULL},
        {false, false, 16 * MIB + 1, "16 MiB"},
        {true, false, 1, "--destroy-data"},
        {true, true, 16 * MIB, NULL},
        {true, true, 17 * MIB, "use a smaller -n"},
    };
    char message[800] = "";
    for (size_t i = 0; i < COUNT(cases) && !message[0]; i++) {
        enum iobm_status status = inspect_device(
            device, cases[i].write, cases[i].destroy, cases[i].bytes, &err);

        if (cases[i].refused
                ? status != IOBM_EUSAGE || !strstr(err.text, cases[i].refused)
                : status != IOBM_OK)
            snprintf(message, sizeof(message), "case %zu: %s", i, err.text);
    }
    /* Claimed, then mounted. */
    int fd = open(device, O_RDONLY | O_EXCL);
    enum iobm_status claimed = inspect_device(device, true, true, 1, NULL);
    close(fd);
    snprintf(where, sizeof(where), "%s/mnt", folder);
    int rc = run("mkfs.ext4 -q '%s' >/dev/null 2>&1 && mkdir -p '%s' && "
                 "mount '%s' '%s'",
                 device, where, device, where);
    enum iobm_status mounted = inspect_device(device, false, true, 1, &err);
    if (rc == 0)
        umount(where);
    run("losetup -d '%s'", device);
    if (message[0])
        fail_msg("%s", message);
    assert_int_equal(claimed, IOBM_EUSAGE);
    assert_int_equal(rc, 0);
    assert_int_equal(mounted, IOBM_EUSAGE);
    assert_non_null(strstr(err.text, "is mounted at"));
    assert_int_equal(inspect_device("/dev/null", false, false, 0, NULL),
                     IOBM_EUSAGE);
    assert_int_equal(inspect_device("/none", false, false, 0, NULL), IOBM_EIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_the_disk),
        cmocka_unit_test(on_tmpfs),
        cmocka_unit_test(on_ext4),
        cmocka_unit_test(on_xfs),
        cmocka_unit_test(kinds_are_told),
        cmocka_unit_test(links_are_counted),
        cmocka_unit_test(devices_are_guarded),
    };
    int rc;

    snprintf(folder, sizeof(folder), "/tmp/iobm-inspect.XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    /* Without it the mounts are skipped or cleaned up by the tests. */
    if (geteuid() == 0 && unshare(CLONE_NEWNS) == 0)
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    rc = cmocka_run_group_tests_name("inspect", tests, NULL, NULL);
    run("umount '%s'/* 2>/dev/null; rm -rf '%s'", folder, folder);
    return rc;
}
