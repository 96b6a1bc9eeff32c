/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The witnesses on this machine, against what awk reads in /proc meanwhile:
 * counters rise, so that a reading in between lies in between.  Prints what a
 * sample costs.
 */

#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "env/witness.h"

/* The number that a shell command prints; -1 when it prints none. */
static int64_t ask(const char *command)
{
    FILE *out = popen(command, "r");
    long long number = -1;

    assert_non_null(out);
    if (fscanf(out, "%lld", &number) != 1)
        number = -1;
    pclose(out);
    return number;
}

static void between(const char *what, int64_t low, int64_t value, int64_t high)
{
    if (value < low || value > high)
        fail_msg("%s: %" PRId64 " is not in %" PRId64 " to %" PRId64, what,
                 value, low, high);
}

static struct witness_target target_of(const char *path)
{
    struct witness_target target;
    struct iobm_error err;

    if (witness_target_init(path, &target, &err) != IOBM_OK)
        fail_msg("%s", err.text);
    return target;
}

static void counters_agree_with_proc(void **state)
{
    static const struct {
        const char *what, *command;
        size_t member;
    } table[] = {
#define M(name) offsetof(struct witness_sample, name)
        {"rchar", "awk '/^rchar:/ { printf \"%.0f\\n\", $2 }' /proc/$PPID/io",
         M(self_rchar)},
        {"wchar", "awk '/^wchar:/ { printf \"%.0f\\n\", $2 }' /proc/$PPID/io",
         M(self_wchar)},
        {"read_bytes",
         "awk '/^read_bytes:/ { printf \"%.0f\\n\", $2 }' /proc/$PPID/io",
         M(self_read_bytes)},
        {"write_bytes",
         "awk '/^write_bytes:/ { printf \"%.0f\\n\", $2 }' /proc/$PPID/io",
         M(self_write_bytes)},
        {"wait", "awk '{ printf \"%.0f\\n\", $2 }' /proc/$PPID/schedstat",
         M(self_wait_ns)},
        {"faults", "awk '{ printf \"%.0f\\n\", $12 }' /proc/$PPID/stat",
         M(major_faults)},
        {"steal", "awk '/^cpu / { printf \"%.0f\\n\", $9 * 1e7 }' /proc/stat",
         M(cpu_steal_ns)},
        {"swapped in",
         "awk '/^pswpin / { printf \"%.0f\\n\", $2 }' /proc/vmstat",
         M(swap_in_pages)},
        {"swapped out",
         "awk '/^pswpout / { printf \"%.0f\\n\", $2 }' /proc/vmstat",
         M(swap_out_pages)},
        {"stall",
         "awk '/^some / { sub(\"total=\", \"\", $5); printf \"%.0f\\n\", $5 * "
         "1000 }' /proc/pressure/memory 2>/dev/null",
         M(memory_stall_ns)},
        {"memory",
         "awk '/^MemTotal:/ { printf \"%.0f\\n\", $2 * 1024 }' /proc/meminfo",
         M(memory_bytes)},
#undef M
    };
    struct witness_target target = target_of(".");
    struct witness_sample before, after;

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        int64_t here, low, high;

        witness_read(&target, true, &before);
        here = ask(table[i].command);
        witness_read(&target, true, &after);
        memcpy(&low, (char *)&before + table[i].member, sizeof(low));
        memcpy(&high, (char *)&after + table[i].member, sizeof(high));
        if (here < 0 && low < 0)
            print_message("# no %s here\n", table[i].what);
        else
            between(table[i].what, low, here, high);
    }
    assert_true(after.time_ns > before.time_ns);
    assert_true(after.cpu_ns > 0 && after.cpu_total_ns >= before.cpu_total_ns);
}

/* /proc/diskstats has the device in columns 1 and 2, sectors in 6 and 10. */
static void device_agrees_with_diskstats(void **state)
{
    struct witness_target target = target_of(".");
    struct witness_sample before, after;
    char command[256];
    int64_t read, write;

    (void)state;
    witness_read(&target, true, &before);
    if (before.device_read_bytes < 0) {
        print_message("'%s' has no device\n", target.fs_type);
        skip();
    }
    snprintf(command, sizeof(command),
             "awk '$1 == %" PRIu64 " && $2 == %" PRIu64
             " { printf \"%%.0f\\n\", $6 * 512 }' /proc/diskstats",
             target.device_major, target.device_minor);
    read = ask(command);
    snprintf(command, sizeof(command),
             "awk '$1 == %" PRIu64 " && $2 == %" PRIu64
             " { printf \"%%.0f\\n\", $10 * 512 }' /proc/diskstats",
             target.device_major, target.device_minor);
    write = ask(command);
    witness_read(&target, true, &after);
    between("read", before.device_read_bytes, read, after.device_read_bytes);
    between("write", before.device_write_bytes, write,
            after.device_write_bytes);
}

static void the_device_is_that_of_the_files(void **state)
{
    struct witness_target target = target_of(".");
    struct stat st;

    (void)state;
    assert_int_equal(stat(".", &st), 0);
    if (!target.block_backed || major(st.st_dev) == 0) {
        print_message("'%s' has no device\n", target.fs_type);
        skip();
    }
    assert_int_equal(target.device_major, major(st.st_dev));
    assert_int_equal(target.device_minor, minor(st.st_dev));
}

static void own_reading_is_seen(void **state)
{
    struct witness_target target = target_of("/proc/self/exe");
    struct witness_sample before, after;
    char buffer[65536];
    int fd = open("/proc/self/exe", O_RDONLY);
    int64_t n = 0;
    ssize_t got;

    (void)state;
    assert_true(fd >= 0);
    witness_read(&target, false, &before);
    assert_int_equal(before.cpu_total_ns, -1);
    assert_int_equal(before.memory_bytes, -1);
    if (before.self_rchar < 0) {
        print_message("this kernel does not count per process\n");
        skip();
    }
    while ((got = read(fd, buffer, sizeof(buffer))) > 0)
        n += got;
    close(fd);
    witness_read(&target, false, &after);
    assert_true(n > 0 && after.self_rchar - before.self_rchar >= n);
}

static void memory_file_systems_are_known(void **state)
{
    struct stat st;
    struct witness_target target;

    (void)state;
    if (stat("/dev/shm", &st) != 0)
        skip();
    target = target_of("/dev/shm");
    if (strcmp(target.fs_type, "tmpfs") != 0)
        skip();
    assert_true(target.memory && !target.block_backed && !target.network);
}

static void a_path_must_exist(void **state)
{
    struct witness_target target;
    struct iobm_error err;

    (void)state;
    assert_int_equal(witness_target_init("/nowhere/at/all", &target, &err),
                     IOBM_EIO);
    assert_non_null(strstr(err.text, "'/nowhere/at/all'"));
}

static void cost(void **state)
{
    enum { ROUNDS = 200 };
    struct witness_target target = target_of(".");
    struct witness_sample sample;

    (void)state;
    for (int node = 0; node < 2; node++) {
        int64_t start = clock_now_ns();

        for (int i = 0; i < ROUNDS; i++)
            witness_read(&target, node, &sample);
        print_message("# a sample of %s takes %" PRId64 " us\n",
                      node ? "the node" : "the process",
                      (clock_now_ns() - start) / ROUNDS / 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_agree_with_proc),
        cmocka_unit_test(device_agrees_with_diskstats),
        cmocka_unit_test(the_device_is_that_of_the_files),
        cmocka_unit_test(own_reading_is_seen),
        cmocka_unit_test(memory_file_systems_are_known),
        cmocka_unit_test(a_path_must_exist),
        cmocka_unit_test(cost),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
