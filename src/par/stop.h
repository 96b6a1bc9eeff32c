/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_PAR_STOP_H
#define IOBM_PAR_STOP_H

/*
 * How one rank's failure reaches the others in the middle of a phase, without
 * a collective call and without a thread in MPI: the rank that fails tells
 * rank 0, rank 0 tells all; everyone looks for a message at most every
 * 100 ms, between two operations.
 */

#include <stdbool.h>

#include "par/beat.h"
#include "par/comm.h"

#define STOP_POLL_NS INT64_C(100000000)

struct stop {
    struct iobm_comm comm; /* its own duplicate */
    _Atomic int flag;      /* set by a signal, on this rank alone */
    MPI_Request *sends;    /* [size]: messages under way, 'sent' of them */
    int sent;
    int told_root;     /* messages this rank sent to rank 0 */
    int telling, told; /* the same at the barrier; over all ranks */
    bool barred;       /* the barrier of this phase is behind us */
    int heard;         /* messages received */
    bool relayed;      /* rank 0 has told everyone */
    bool stopped;      /* this rank knows it must stop */
    struct beat beat;  /* signs of life; off until beat_init() */
};

enum iobm_status stop_init_all(struct stop *stop, const struct iobm_comm *comm,
                               struct iobm_error *err) IOBM_CHECK;
void stop_release(struct stop *stop);

/* This rank failed: let the others know.  Local; at most one message. */
void stop_tell(struct stop *stop);

/* Look for messages (and relay on rank 0); true: stop now.  Local. */
bool stop_poll(struct stop *stop);

/*
 * The end barrier of a phase.  While rank 0 waits in it, it goes on relaying
 * (a rank that fails then could otherwise not stop those that still work),
 * and no rank takes the processor from those.  A rank that has come here must
 * tell no more in this phase.  Collective.
 */
enum iobm_status stop_barrier_all(struct stop *stop,
                                  struct iobm_error *err) IOBM_CHECK;

/* After the phase: the barrier, unless it is behind us, and receive what is
 * still under way, so that the next phase starts clean.  Collective. */
enum iobm_status stop_settle_all(struct stop *stop,
                                 struct iobm_error *err) IOBM_CHECK;

#endif
