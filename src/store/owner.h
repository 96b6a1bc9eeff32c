/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_STORE_OWNER_H
#define IOBM_STORE_OWNER_H

/*
 * Who holds a lock or writes a partial file, and whether that process still
 * lives.  A process is known by its number and the time at which it started,
 * so that a number that was given out again does not pass for it, within a
 * place: a booted kernel with a PID and a time namespace.
 */

#include <stdint.h>

struct owner {
    char host[64]; /* for people */
    char place[192];
    int64_t pid;
    int64_t start; /* clock ticks since boot; -1: not known */
};

enum owner_state {
    OWNER_GONE,
    OWNER_ALIVE,
    OWNER_ELSEWHERE, /* another place: cannot be told from here */
};

/* This process. */
void owner_init(struct owner *owner);

enum owner_state owner_ask(const struct owner *owner);

#endif
