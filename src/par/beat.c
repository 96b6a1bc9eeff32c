/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signs of life, sent and missed: see beat.h.  What is done about a rank that
 * gives none is the caller's.
 */
#include "par/beat.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { TAG_BEAT = 3 };

/* Open MPI looks at its sockets in every eighth look only. */
#define LOOKS 16

enum iobm_status beat_init(struct beat *beat, const struct iobm_comm *comm,
                           int second, int64_t timeout_ns,
                           struct iobm_error *err)
{
    memset(beat, 0, sizeof(*beat));
    beat->comm = comm;
    beat->second = second;
    if (timeout_ns <= 0 || comm->size < 2)
        return IOBM_OK;
    if (comm->rank == 0 || comm->rank == second) {
        beat->heard_ns = calloc((size_t)comm->size, sizeof(*beat->heard_ns));
        if (!beat->heard_ns)
            return iobm_fail(err, IOBM_ENOMEM,
                             "cannot watch over %d ranks: out of memory",
                             comm->size);
    }
    beat->every_ns = timeout_ns / 4;
    beat->limit_ns = timeout_ns < INT64_MAX / 2 ? 2 * timeout_ns : INT64_MAX;
    return IOBM_OK;
}

void beat_release(struct beat *beat)
{
    free(beat->heard_ns);
    memset(beat, 0, sizeof(*beat));
}

void beat_begin(struct beat *beat)
{
    int64_t now_ns;

    if (beat->every_ns == 0)
        return;
    now_ns = clock_now_ns();
    beat->sent_ns = now_ns;
    for (int r = 0; beat->heard_ns && r < beat->comm->size; r++)
        beat->heard_ns[r] = now_ns;
}

/* A message that cannot be sent is missed by the one who waits for it. */
static void give_sign(struct beat *beat, int64_t now_ns)
{
    MPI_Request request;
    int to = beat->comm->rank == 0 ? beat->second : 0;

    if (now_ns - beat->sent_ns < beat->every_ns)
        return;
    beat->sent_ns = now_ns;
    if (MPI_Isend(NULL, 0, MPI_BYTE, to, TAG_BEAT, beat->comm->mpi, &request) ==
        MPI_SUCCESS)
        MPI_Request_free(&request);
}

static void take_signs(struct beat *beat, int64_t now_ns)
{
    int misses = 0;

    while (misses < LOOKS) {
        MPI_Status status;
        int there = 0;

        if (MPI_Iprobe(MPI_ANY_SOURCE, TAG_BEAT, beat->comm->mpi, &there,
                       &status) != MPI_SUCCESS)
            return;
        if (!there) {
            misses++;
            continue;
        }
        if (MPI_Recv(NULL, 0, MPI_BYTE, status.MPI_SOURCE, TAG_BEAT,
                     beat->comm->mpi, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return;
        beat->heard_ns[status.MPI_SOURCE] = now_ns;
    }
}

/* Rank 0 watches over all others, the second one over rank 0. */
static void find_silent(struct beat *beat, int64_t now_ns)
{
    int first = beat->comm->rank == 0 ? 1 : 0;
    int last = beat->comm->rank == 0 ? beat->comm->size - 1 : 0;

    for (int r = first; r <= last; r++) {
        int64_t ns = now_ns - beat->heard_ns[r];

        if (ns > beat->limit_ns) {
            beat->heard_ns[r] = now_ns; /* say it once */
            beat->silent(beat->arg, r, ns);
        }
    }
}

void beat_poll(struct beat *beat)
{
    int64_t now_ns;

    if (beat->every_ns == 0)
        return;
    now_ns = clock_now_ns();
    give_sign(beat, now_ns);
    if (!beat->heard_ns)
        return;
    take_signs(beat, now_ns);
    if (beat->silent)
        find_silent(beat, now_ns);
}
