/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRUTHFS_MOMENT_H
#define TRUTHFS_MOMENT_H

/*
 * The clock of the device, CLOCK_MONOTONIC in ns, and waiting by it.  Every
 * wait ends early when the file system is being unmounted.
 */

#include <stdbool.h>
#include <stdint.h>

#define NS_PER_S INT64_C(1000000000)

int64_t moment_now_ns(void);
void moment_wait(int64_t until_ns);

/* Ask 'leaving(context)' whether the file system is on its way out. */
void moment_init(bool (*leaving)(void *context), void *context);
bool moment_leaving(void);

#endif
