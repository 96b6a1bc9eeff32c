/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The real clock.  A test links another object with the same functions; how
 * clocks of several processes are brought together is in src/par/timeline.c.
 */

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)

static int64_t read_ns(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

int64_t clock_now_ns(void)
{
    /* RAW: a time daemon that slews CLOCK_MONOTONIC would bend a phase. */
    return read_ns(CLOCK_MONOTONIC_RAW);
}

int64_t clock_utc_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

void clock_sleep_ns(int64_t ns)
{
    if (ns <= 0)
        return;
    const struct timespec time = {ns / NS_PER_S, (long)(ns % NS_PER_S)};
    nanosleep(&time, NULL);
}

/* The boot's id; without one the host name, so that two hosts that hide
 * theirs are not taken for one. */
static void boot_id(char *text, size_t room)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    text[0] = '\0';
    if (file) {
        if (!fgets(text, (int)room, file))
            text[0] = '\0';
        fclose(file);
    }
    text[strcspn(text, "\r\n")] = '\0';
    if (text[0] == '\0' && gethostname(text, room) != 0)
        snprintf(text, room, "unknown");
    text[room - 1] = '\0';
}

const char *clock_domain(char *text, size_t room)
{
    char boot[128];
    struct stat ns;
    uint64_t inode = 0;

    boot_id(boot, sizeof(boot));
    if (stat("/proc/self/ns/time", &ns) == 0)
        inode = (uint64_t)ns.st_ino;
    snprintf(text, room, "%s:%" PRIu64, boot, inode);
    return text;
}

const char *clock_iso8601(char *text, size_t room, int64_t utc_ns)
{
    int64_t seconds = utc_ns / NS_PER_S;
    int64_t ns = utc_ns % NS_PER_S;

    if (ns < 0) { /* before 1970 */
        ns += NS_PER_S;
        seconds--;
    }
    time_t time = (time_t)seconds;
    struct tm tm;
    char date[32] = "";
    if (gmtime_r(&time, &tm))
        strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text, room, "%s.%06dZ", date, (int)(ns / 1000));
    return text;
}
