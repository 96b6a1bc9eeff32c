/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_GUARD_ALIVE_H
#define IOBM_GUARD_ALIVE_H

/* Who wrote a manifest or a lock, and whether that process still runs. */

#include <stdint.h>

struct alive {
    char host[64];  /* "" when not known */
    char place[80]; /* boot_id and pid-namespace inode */
    int64_t pid;
    int64_t start; /* of the process, in ticks since boot */
};

enum alive_state {
    ALIVE_SELF,    /* it is this process */
    ALIVE_YES,     /* it runs, here */
    ALIVE_NO,      /* it ran here and is gone */
    ALIVE_UNKNOWN, /* another host or container */
};

void alive_self(struct alive *self);
enum alive_state alive_look(const struct alive *process);

#endif
