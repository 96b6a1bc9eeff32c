/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_BASE_CLOCK_H
#define IOBM_BASE_CLOCK_H

/*
 * The clock of this process: CLOCK_MONOTONIC_RAW in ns.  Tests link another
 * object in its place, with offsets and drift per rank; nothing else in iobm
 * reads a clock.
 */

#include <stddef.h>
#include <stdint.h>

int64_t clock_now_ns(void);

/* Wall-clock time, for labels only: ns since 1970. */
int64_t clock_utc_ns(void);

/* Sleep for about this long; returns early on a signal. */
void clock_sleep_ns(int64_t ns);

/* Name the clock domain: boot_id and time-namespace inode.  Two processes
 * with the same text read the same clock.  Returns 'text'. */
const char *clock_domain(char *text, size_t room);

/* "2026-11-30T20:06:21.123456Z".  Returns 'text'. */
const char *clock_iso8601(char *text, size_t room, int64_t utc_ns);

#endif
