/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The clock, and sleeping until an instant of it.  Sleeps are to an absolute
 * time and with no timer slack, so that what one oversleeps the next one does
 * not add to.
 */

#include "truthfs/moment.h"

#include <errno.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <time.h>

/* How long a wait may go on after the file system is to leave. */
#define SLICE_NS (NS_PER_S / 10)

static bool (*is_leaving)(void *context);
static void *is_leaving_context;

int64_t moment_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void sleep_until(int64_t ns)
{
    const struct timespec t = {.tv_sec = (time_t)(ns / NS_PER_S),
                               .tv_nsec = (long)(ns % NS_PER_S)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

void moment_wait(int64_t until_ns)
{
    static _Thread_local bool sharp;
    int64_t now = moment_now_ns();

    if (until_ns <= now)
        return;
    if (!sharp) {
        prctl(PR_SET_TIMERSLACK, 1UL);
        sharp = true;
    }
    while (until_ns - now > SLICE_NS) {
        sleep_until(now + SLICE_NS);
        now = moment_now_ns();
        if (moment_leaving())
            return;
    }
    sleep_until(until_ns);
}

void moment_init(bool (*leaving)(void *context), void *context)
{
    is_leaving_context = context;
    is_leaving = leaving;
}

bool moment_leaving(void)
{
    return is_leaving && is_leaving(is_leaving_context);
}
