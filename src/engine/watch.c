/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Signals and the watchdog, on a thread of their own.  What is to be done
 * about them is the caller's (struct watch_calls): nothing here prints or
 * exits.
 */

#include "engine/watch.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"

/* Removing large files and waiting for the result file's lock takes time. */
#define AROUND_MIN_NS INT64_C(300000000000)

#define TICK_NS INT64_C(100000000)

/* mpirun kills a second after its SIGTERM; a scheduler's warning comes much
 * earlier, and a flush may be worth waiting for. */
#define GRACE_URGENT_NS  INT64_C(100000000)
#define GRACE_WARNING_NS INT64_C(20000000000)

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR2, SIGXCPU};

static void signal_set(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
        sigaddset(set, ending[i]);
    sigaddset(set, SIGUSR1);
    sigaddset(set, SIGRTMIN); /* wakes the thread up to quit */
}

void watch_block_signals(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t set;

    signal_set(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    /* A closed pipe and a file size limit are errors of the call. */
    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGXFSZ, &ignore, NULL);
}

const char *watch_signal_name(int signal_number)
{
    switch (signal_number) {
    case SIGINT:
        return "SIGINT";
    case SIGTERM:
        return "SIGTERM";
    case SIGHUP:
        return "SIGHUP";
    case SIGUSR2:
        return "SIGUSR2";
    case SIGXCPU:
        return "SIGXCPU";
    default:
        return "a signal";
    }
}

const char *watch_stage_name(enum watch_stage stage)
{
    static const char *const names[] = {"idle",     "around", "open",
                                        "transfer", "sync",   "close"};

    return names[stage];
}

static int64_t grace_ns(int signal_number)
{
    return signal_number == SIGUSR2 || signal_number == SIGXCPU
               ? GRACE_WARNING_NS
               : GRACE_URGENT_NS;
}

static void look(struct watch *watch)
{
    int64_t timeout = atomic_load(&watch->timeout_ns);
    int stage = atomic_load(&watch->stage);
    int64_t idle = clock_now_ns() - atomic_load(&watch->beat_ns);

    if (timeout > 0 && stage == WATCH_AROUND && timeout < AROUND_MIN_NS)
        timeout = AROUND_MIN_NS;

    if (timeout > 0 && stage != WATCH_IDLE && idle > timeout)
        watch->calls.stuck(watch->calls.arg, (enum watch_stage)stage, idle);
}

/* The one of watch_attach() and this that comes last sets the flag. */
static void pass_on(struct watch *watch, int signal_number)
{
    struct stop *stop;

    atomic_store(&watch->signal, signal_number);
    stop = atomic_load(&watch->stop);
    if (stop)
        stop->flag = signal_number;
}

static void *watch_main(void *arg)
{
    struct watch *watch = arg;
    const struct timespec tick = {.tv_nsec = TICK_NS};
    int64_t due_ns = 0;
    int ended_by = 0;
    sigset_t set;

    signal_set(&set);
    while (!atomic_load(&watch->quit)) {
        int got = sigtimedwait(&set, NULL, &tick);

        if (got == SIGUSR1) {
            watch->calls.status(watch->calls.arg);
        } else if (got > 0 && got != SIGRTMIN) {
            int64_t due = clock_now_ns() + grace_ns(got) + watch->patience_ns;

            pass_on(watch, got);
            /* A second, more urgent signal shortens the grace time. */
            if (!ended_by || due < due_ns) {
                due_ns = due;
                ended_by = got;
            }
        }
        if (atomic_load(&watch->quit))
            break;
        if (ended_by && clock_now_ns() >= due_ns) {
            watch->calls.overdue(watch->calls.arg, ended_by);
            ended_by = 0;
        }
        if (!atomic_load(&watch->signal))
            look(watch);
    }
    return NULL;
}

enum iobm_status watch_start(struct watch *watch,
                             const struct watch_calls *calls,
                             int64_t patience_ns, struct iobm_error *err)
{
    int rc;

    memset(watch, 0, sizeof(*watch));
    watch->calls = *calls;
    watch->patience_ns = patience_ns;
    watch_enter(watch, WATCH_IDLE);
    rc = pthread_create(&watch->thread, NULL, watch_main, watch);
    if (rc != 0)
        return iobm_fail_errno(err, rc, "cannot start the watchdog thread");
    watch->started = 1;
    return IOBM_OK;
}

void watch_attach(struct watch *watch, struct stop *stop, int64_t timeout_ns)
{
    int already;

    atomic_store(&watch->timeout_ns, timeout_ns);
    atomic_store(&watch->stop, stop);
    already = atomic_load(&watch->signal);
    if (already)
        stop->flag = already;
}

void watch_end(struct watch *watch)
{
    if (!watch->started)
        return;
    atomic_store(&watch->quit, 1);
    pthread_kill(watch->thread, SIGRTMIN);
    pthread_join(watch->thread, NULL);
    watch->started = 0;
}

void watch_enter(struct watch *watch, enum watch_stage stage)
{
    if (stage == WATCH_OPEN)
        atomic_store(&watch->bytes, 0);
    atomic_store(&watch->beat_ns, clock_now_ns());
    atomic_store(&watch->stage, stage);
}
