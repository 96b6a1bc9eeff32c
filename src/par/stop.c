/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank's failure reaches the others by empty messages: rank to rank 0,
 * rank 0 to all.  Empty ones go out at once whatever the receiver does, so
 * that none of the senders waits in the middle of a phase.
 */
#include "par/stop.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum stop_tag { TAG_TELL = 1, TAG_RELAY = 2 };

/* A transport may need several looks before it sees what has arrived: Open
 * MPI looks at its sockets in every eighth only. */
#define LOOKS 16

/* How long a rank that waits for the others sleeps between two looks: a rank
 * that spins would take the processor from those that still work. */
#define NAP_MIN_NS INT64_C(20000)
#define NAP_MAX_NS INT64_C(1000000)

enum iobm_status stop_init_all(struct stop *stop, const struct iobm_comm *comm,
                               struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;

    memset(stop, 0, sizeof(*stop));
    stop->comm.mpi = MPI_COMM_NULL;
    /* Rank 0 sends to all others, another rank to rank 0. */
    stop->sends = calloc((size_t)comm->size, sizeof(MPI_Request));
    if (!stop->sends)
        status = iobm_fail(err, IOBM_ENOMEM,
                           "cannot keep %d stop messages: out of memory",
                           comm->size);
    status = par_agree_all(comm, status, NULL, err);
    if (status == IOBM_OK)
        status = par_comm_init(&stop->comm, comm->mpi, err);
    if (status != IOBM_OK)
        stop_release(stop);
    return status;
}

void stop_release(struct stop *stop)
{
    beat_release(&stop->beat);
    free(stop->sends);
    stop->sends = NULL;
    par_comm_release(&stop->comm);
}

/* A message that cannot be sent is not reported: this rank has failed anyway,
 * and the others find out at the end of the phase. */
static bool post(struct stop *stop, int rank, enum stop_tag tag)
{
    if (MPI_Isend(NULL, 0, MPI_BYTE, rank, tag, stop->comm.mpi,
                  &stop->sends[stop->sent]) != MPI_SUCCESS)
        return false;
    stop->sent++;
    return true;
}

static void relay(struct stop *stop)
{
    if (stop->relayed)
        return;
    stop->relayed = true;
    for (int rank = 1; rank < stop->comm.size; rank++)
        post(stop, rank, TAG_RELAY);
}

void stop_tell(struct stop *stop)
{
    stop->stopped = true;
    if (stop->comm.rank == 0)
        relay(stop);
    else if (stop->told_root == 0 && post(stop, 0, TAG_TELL))
        stop->told_root = 1;
}

/* What this rank may be sent. */
static enum stop_tag tag_of(const struct stop *stop)
{
    return stop->comm.rank == 0 ? TAG_TELL : TAG_RELAY;
}

/* Receive what has arrived. */
static void hear(struct stop *stop)
{
    const int tag = tag_of(stop);

    for (int i = 0; i < LOOKS; i++) {
        int there = 0;

        if (MPI_Iprobe(MPI_ANY_SOURCE, tag, stop->comm.mpi, &there,
                       MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return;
        if (!there)
            continue;
        if (MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, tag, stop->comm.mpi,
                     MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return;
        stop->heard++;
        stop->stopped = true;
    }
    if (stop->comm.rank == 0 && stop->heard > 0)
        relay(stop);
}

bool stop_poll(struct stop *stop)
{
    if (stop->flag)
        stop_tell(stop);
    if (stop->comm.size > 0) /* a stop of no ranks hears nothing */
        hear(stop);
    beat_poll(&stop->beat);
    return stop->stopped;
}

static enum iobm_status fail(struct iobm_error *err, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "unknown MPI error";
    int length;

    MPI_Error_string(code, text, &length);
    return iobm_fail(err, IOBM_EIO, "cannot wait for the other ranks: %s",
                     text);
}

enum iobm_status stop_barrier_all(struct stop *stop, struct iobm_error *err)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int64_t nap_ns = NAP_MIN_NS;
    int done = 0;
    int rc;

    /* A rank that has come here will tell no more, so the sum is final. */
    stop->telling = stop->told_root;
    rc = MPI_Iallreduce(&stop->telling, &stop->told, 1, MPI_INT, MPI_SUM,
                        stop->comm.mpi, &request);
    while (rc == MPI_SUCCESS) {
        rc = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done)
            break;
        if (stop->comm.rank == 0)
            stop_poll(stop);
        else
            beat_poll(&stop->beat);
        clock_sleep_ns(nap_ns);
        nap_ns = nap_ns * 2 < NAP_MAX_NS ? nap_ns * 2 : NAP_MAX_NS;
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* there is none any more */
    stop->barred = true;
    return rc == MPI_SUCCESS ? IOBM_OK : fail(err, rc);
}

enum iobm_status stop_settle_all(struct stop *stop, struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;
    int due;
    int rc;

    if (!stop->barred)
        status = stop_barrier_all(stop, err);
    if (status != IOBM_OK)
        return status;

    /* Only now is it known whether rank 0 relayed: it may have done so while
     * it waited. */
    due = stop->relayed;
    rc = MPI_Bcast(&due, 1, MPI_INT, 0, stop->comm.mpi);
    if (stop->comm.rank == 0)
        due = stop->told;
    for (; rc == MPI_SUCCESS && stop->heard < due; stop->heard++)
        rc = MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, tag_of(stop),
                      stop->comm.mpi, MPI_STATUS_IGNORE);
    if (rc == MPI_SUCCESS)
        rc = MPI_Waitall(stop->sent, stop->sends, MPI_STATUSES_IGNORE);
    if (rc != MPI_SUCCESS)
        return fail(err, rc);
    stop->sent = 0;
    stop->told_root = 0;
    stop->told = 0;
    stop->heard = 0;
    stop->barred = false;
    stop->relayed = false;
    stop->stopped = false;
    return IOBM_OK;
}
