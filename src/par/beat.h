/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_PAR_BEAT_H
#define IOBM_PAR_BEAT_H

/*
 * Signs of life during a phase.  A rank that is stuck in a call is found by
 * its own watchdog; one that is frozen, or whose node is gone without a word,
 * cannot be: the others would wait for it for ever.  So every rank sends rank
 * 0 an empty message now and then, and rank 0 sends one to a second rank.
 */

#include "par/comm.h"

struct beat {
    const struct iobm_comm *comm; /* nobody else uses TAG_BEAT on it */
    int second;                   /* watches over rank 0 */
    int64_t every_ns;             /* 0: off */
    int64_t limit_ns;             /* silent for longer: gone */
    int64_t sent_ns;              /* when this rank gave its last sign */
    int64_t *heard_ns; /* [size] on 0 and second: when each was heard */

    /* Called once a rank has been silent for 'ns' > limit_ns; may return. */
    void (*silent)(void *arg, int rank, int64_t ns);
    void *arg;
};

/*
 * Ranks whose own watchdog gives up after 'timeout_ns' give a sign four times
 * as often, between two operations, and are silent while one lasts: twice the
 * time is the limit.  0: off.  'second' is best not on rank 0's node, and the
 * same on all ranks.  Local; IOBM_ENOMEM.
 */
enum iobm_status beat_init(struct beat *beat, const struct iobm_comm *comm,
                           int second, int64_t timeout_ns,
                           struct iobm_error *err) IOBM_CHECK;
void beat_release(struct beat *beat);

/* A phase begins: everyone is taken to be alive now.  Local. */
void beat_begin(struct beat *beat);

/* Give a sign when it is time, and look for those of others.  Local. */
void beat_poll(struct beat *beat);

#endif
