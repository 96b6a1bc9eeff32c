/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_ENGINE_WATCH_H
#define IOBM_ENGINE_WATCH_H

/*
 * The second thread of a rank: it waits for signals and looks whether the
 * first one still makes progress.  It makes no MPI call and sleeps in the
 * kernel in between; the timed loop pays one store per operation.
 */

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>

#include "iobm/error.h"
#include "par/stop.h"

enum watch_stage {
    WATCH_IDLE,   /* waiting for ranks that work, or as the user asked */
    WATCH_AROUND, /* set-up, and what comes between phases and after them */
    WATCH_OPEN,
    WATCH_TRANSFER,
    WATCH_SYNC,
    WATCH_CLOSE,
};

/* What the second thread may ask of the program; called on that thread. */
struct watch_calls {
    /* A signal asked for the end and the first thread has not come to it
     * within the grace time: save what there is and exit.  No call of stuck
     * follows a signal. */
    void (*overdue)(void *arg, int signal_number);
    /* No progress for 'ns' in 'stage': say so, save and exit. */
    void (*stuck)(void *arg, enum watch_stage stage, int64_t ns);
    /* SIGUSR1: say how far the run is. */
    void (*status)(void *arg);
    void *arg;
};

struct watch {
    _Atomic int64_t beat_ns; /* last progress, local clock */
    _Atomic int stage;       /* enum watch_stage */
    _Atomic int64_t bytes;   /* moved in this phase */
    _Atomic int quit;
    _Atomic int signal;         /* that asked for the end; 0: none yet */
    struct stop *_Atomic stop;  /* whose flag it sets; NULL: none yet */
    _Atomic int64_t timeout_ns; /* 0: no watchdog */
    int64_t patience_ns;        /* added to every grace time */
    struct watch_calls calls;
    pthread_t thread;
    int started;
};

/* Block the signals that the second thread will wait for; before MPI_Init,
 * so that no other thread gets them. */
void watch_block_signals(void);

/* From here on signals are heard, also before MPI_Init. */
enum iobm_status watch_start(struct watch *watch,
                             const struct watch_calls *calls,
                             int64_t patience_ns,
                             struct iobm_error *err) IOBM_CHECK;

/* From here on a signal, one that has come already too, sets the flag of
 * 'stop', and the watchdog looks. */
void watch_attach(struct watch *watch, struct stop *stop, int64_t timeout_ns);

/* Afterwards no call is made; nothing happens when it was not started. */
void watch_end(struct watch *watch);

/* Enter a stage; counts as progress, and WATCH_OPEN begins to count bytes. */
void watch_enter(struct watch *watch, enum watch_stage stage);

static inline void watch_beat(struct watch *watch, int64_t now_ns,
                              int64_t bytes)
{
    atomic_store_explicit(&watch->beat_ns, now_ns, memory_order_relaxed);
    atomic_store_explicit(&watch->bytes, bytes, memory_order_relaxed);
}

const char *watch_stage_name(enum watch_stage stage);

/* "SIGTERM"; "a signal" for one that is not waited for. */
const char *watch_signal_name(int signal_number);

#endif
