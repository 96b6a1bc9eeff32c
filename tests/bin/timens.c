/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * timens NS COMMAND...: runs it in a new time namespace whose monotonic
 * clocks are NS nanoseconds ahead.  unshare(1) knows whole seconds only, and
 * the offsets cannot be changed any more once a program runs in there.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)

/* CLONE_NEWTIME of Linux 5.6; older headers lack it. */
enum { NEW_TIME = 0x80 };

static int fail(const char *what)
{
    fprintf(stderr, "timens: cannot %s: %s\n", what, strerror(errno));
    return 1;
}

int main(int argc, char **argv)
{
    int64_t ahead_ns, seconds;
    FILE *offsets;
    char *end;

    if (argc < 3) {
        fprintf(stderr, "usage: timens NS COMMAND [ARGUMENT ...]\n");
        return 2;
    }
    ahead_ns = strtoll(argv[1], &end, 10);
    if (*end || end == argv[1]) {
        fprintf(stderr, "timens: '%s' is not a number of ns\n", argv[1]);
        return 2;
    }
    /* The kernel wants 0 <= ns < 1 s, so seconds round down. */
    seconds = ahead_ns / NS_PER_S - (ahead_ns % NS_PER_S < 0);

    if (syscall(SYS_unshare, NEW_TIME) != 0)
        return fail("make a time namespace");
    offsets = fopen("/proc/self/timens_offsets", "we");
    if (!offsets)
        return fail("open /proc/self/timens_offsets");
    fprintf(offsets, "monotonic %" PRId64 " %" PRId64 "\n", seconds,
            ahead_ns - seconds * NS_PER_S);
    if (fclose(offsets) != 0)
        return fail("write /proc/self/timens_offsets");
    execvp(argv[2], argv + 2);
    fail("run the command");
    return 127;
}
