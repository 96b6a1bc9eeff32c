/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The second thread: signals with their grace times, the watchdog, the end.
 * The clock is the test's, so that 20 s go by at once; the thread looks at it
 * at least every 100 ms.  A question by SIGUSR1 that was answered proves that
 * it has been round, where nothing else is to be seen.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "engine/watch.h"

#define MS     INT64_C(1000000)
#define SECOND (1000 * MS)

/* ---- the clock ---- */

static _Atomic int64_t the_time_ns = 5000 * SECOND;

int64_t clock_now_ns(void)
{
    return atomic_load(&the_time_ns);
}

int64_t clock_utc_ns(void)
{
    return atomic_load(&the_time_ns);
}

void clock_sleep_ns(int64_t ns)
{
    atomic_fetch_add(&the_time_ns, ns);
}

const char *clock_domain(char *text, size_t room)
{
    snprintf(text, room, "test");
    return text;
}

const char *clock_iso8601(char *text, size_t room, int64_t utc_ns)
{
    snprintf(text, room, "%lld", (long long)utc_ns);
    return text;
}

/* ---- what the thread says ---- */

struct heard {
    _Atomic int overdue, overdue_signal;
    _Atomic int stuck, stuck_stage;
    _Atomic int64_t stuck_ns;
    _Atomic int status;
};

static void on_overdue(void *arg, int signal_number)
{
    struct heard *h = arg;

    atomic_store(&h->overdue_signal, signal_number);
    atomic_fetch_add(&h->overdue, 1);
}

static void on_stuck(void *arg, enum watch_stage stage, int64_t ns)
{
    struct heard *h = arg;

    atomic_store(&h->stuck_stage, stage);
    atomic_store(&h->stuck_ns, ns);
    atomic_fetch_add(&h->stuck, 1);
}

static void on_status(void *arg)
{
    struct heard *h = arg;

    atomic_fetch_add(&h->status, 1);
}

struct rig {
    struct heard heard;
    struct stop stop;
    struct watch watch;
};

static void start(struct rig *rig, int64_t patience_ns)
{
    const struct watch_calls calls = {on_overdue, on_stuck, on_status,
                                      &rig->heard};
    struct iobm_error err;

    memset(rig, 0, sizeof(*rig));
    assert_int_equal(watch_start(&rig->watch, &calls, patience_ns, &err),
                     IOBM_OK);
}

/* Wait for a counter; 10 s are given to a machine under load. */
static void await(_Atomic int *counter, int wanted)
{
    const struct timespec nap = {.tv_nsec = 200000};

    for (int i = 0; i < 50000 && atomic_load(counter) < wanted; i++)
        nanosleep(&nap, NULL);
    assert_true(atomic_load(counter) >= wanted);
}

/* The thread has gone round at least once from here. */
static void turn_round(struct rig *rig)
{
    for (int i = 0; i < 2; i++) {
        int before = atomic_load(&rig->heard.status);

        kill(getpid(), SIGUSR1);
        await(&rig->heard.status, before + 1);
    }
}

static void send_signal(struct rig *rig, int signal_number)
{
    kill(getpid(), signal_number);
    for (int i = 0; i < 50 && atomic_load(&rig->watch.signal) != signal_number;
         i++)
        turn_round(rig);
    assert_int_equal(atomic_load(&rig->watch.signal), signal_number);
}

static void pass(struct rig *rig, int64_t ns)
{
    atomic_fetch_add(&the_time_ns, ns);
    turn_round(rig);
}

/* ---- signals ---- */

static const struct {
    int number;
    const char *name;
    int64_t grace_ns;
} signals[] = {
    {SIGINT, "SIGINT", 100 * MS},      {SIGTERM, "SIGTERM", 100 * MS},
    {SIGHUP, "SIGHUP", 100 * MS},      {SIGUSR2, "SIGUSR2", 20 * SECOND},
    {SIGXCPU, "SIGXCPU", 20 * SECOND},
};

#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

static void sets_the_flag_and_gives_time(void **state)
{
    static struct rig rig;

    (void)state;
    for (size_t i = 0; i < SIGNALS; i++) {
        start(&rig, 0);
        watch_attach(&rig.watch, &rig.stop, 0);
        assert_int_equal(rig.stop.flag, 0);
        send_signal(&rig, signals[i].number);
        assert_int_equal(rig.stop.flag, signals[i].number);
        pass(&rig, signals[i].grace_ns - 1);
        assert_int_equal(rig.heard.overdue, 0);
        pass(&rig, 1);
        assert_int_equal(rig.heard.overdue, 1);
        assert_int_equal(rig.heard.overdue_signal, signals[i].number);
        pass(&rig, 100 * SECOND);
        assert_int_equal(rig.heard.overdue, 1);
        watch_end(&rig.watch);
        assert_string_equal(watch_signal_name(signals[i].number),
                            signals[i].name);
    }
    assert_string_equal(watch_signal_name(SIGSEGV), "a signal");
}

static void is_patient_when_asked(void **state)
{
    static struct rig rig;

    (void)state;
    start(&rig, 3 * SECOND);
    send_signal(&rig, SIGTERM);
    pass(&rig, 3100 * MS - 1);
    assert_int_equal(rig.heard.overdue, 0);
    pass(&rig, 1);
    assert_int_equal(rig.heard.overdue, 1);
    watch_end(&rig.watch);
}

/* A warning, then the end itself: the shorter time counts, either way. */
static void the_more_urgent_counts(void **state)
{
    static const int pairs[][2] = {{SIGUSR2, SIGTERM}, {SIGTERM, SIGUSR2}};
    static struct rig rig;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        start(&rig, 0);
        send_signal(&rig, pairs[i][0]);
        pass(&rig, 50 * MS);
        assert_int_equal(rig.heard.overdue, 0);
        send_signal(&rig, pairs[i][1]);
        pass(&rig, 100 * MS);
        assert_int_equal(rig.heard.overdue, 1);
        assert_int_equal(rig.heard.overdue_signal, SIGTERM);
        watch_end(&rig.watch);
    }
}

/* Before MPI and its messages are up. */
static void a_signal_that_came_early_is_passed_on(void **state)
{
    static struct rig rig;

    (void)state;
    start(&rig, 0);
    send_signal(&rig, SIGUSR2);
    watch_attach(&rig.watch, &rig.stop, 0);
    assert_int_equal(rig.stop.flag, SIGUSR2);
    watch_end(&rig.watch);
}

/* What wakes the thread is none of them; nor are those that are ignored. */
static void other_signals_do_nothing(void **state)
{
    static const int numbers[] = {SIGPIPE, SIGXFSZ, 0};
    static struct rig rig;

    (void)state;
    start(&rig, 0);
    watch_attach(&rig.watch, &rig.stop, 0);
    kill(getpid(), SIGRTMIN);
    for (size_t i = 0; numbers[i]; i++)
        kill(getpid(), numbers[i]);
    pass(&rig, 100 * SECOND);
    assert_int_equal(rig.stop.flag, 0);
    assert_int_equal(rig.heard.overdue, 0);
    watch_end(&rig.watch);
}

/* ---- the watchdog ---- */

static const struct {
    const char *name;
    enum watch_stage stage;
    int64_t timeout_ns, quiet_ns;
    bool stuck;
} stages[] = {
    {"idle", WATCH_IDLE, 2 * SECOND, 1000 * SECOND, false},
    {"open", WATCH_OPEN, 2 * SECOND, 2 * SECOND, false},
    {"open", WATCH_OPEN, 2 * SECOND, 2 * SECOND + 1, true},
    {"transfer", WATCH_TRANSFER, 2 * SECOND, 3 * SECOND, true},
    {"sync", WATCH_SYNC, 2 * SECOND, 3 * SECOND, true},
    {"close", WATCH_CLOSE, 2 * SECOND, 3 * SECOND, true},
    {"transfer", WATCH_TRANSFER, 0, 1000 * SECOND, false},
};

#define STAGES (sizeof(stages) / sizeof(stages[0]))

static void names_the_stage_that_is_stuck(void **state)
{
    static struct rig rig;

    (void)state;
    for (size_t i = 0; i < STAGES; i++) {
        start(&rig, 0);
        watch_attach(&rig.watch, &rig.stop, stages[i].timeout_ns);
        watch_enter(&rig.watch, stages[i].stage);
        pass(&rig, stages[i].quiet_ns);
        assert_int_equal(rig.heard.stuck > 0, stages[i].stuck);
        if (stages[i].stuck) {
            assert_int_equal(rig.heard.stuck_stage, stages[i].stage);
            assert_int_equal(rig.heard.stuck_ns, stages[i].quiet_ns);
        }
        assert_string_equal(watch_stage_name(stages[i].stage), stages[i].name);
        watch_end(&rig.watch);
    }
}

static void progress_keeps_it_quiet(void **state)
{
    static struct rig rig;

    (void)state;
    start(&rig, 0);
    watch_attach(&rig.watch, &rig.stop, 2 * SECOND);
    watch_enter(&rig.watch, WATCH_OPEN);
    pass(&rig, 1500 * MS);
    watch_enter(&rig.watch, WATCH_TRANSFER);
    pass(&rig, 1500 * MS);
    watch_beat(&rig.watch, clock_now_ns(), 77);
    pass(&rig, 1500 * MS);
    assert_int_equal(rig.heard.stuck, 0);
    assert_int_equal(rig.watch.bytes, 77);
    watch_enter(&rig.watch, WATCH_SYNC);
    assert_int_equal(rig.watch.bytes, 77);
    watch_enter(&rig.watch, WATCH_IDLE);
    watch_enter(&rig.watch, WATCH_OPEN); /* the next phase */
    assert_int_equal(rig.watch.bytes, 0);
    pass(&rig, 2001 * MS);
    assert_true(rig.heard.stuck > 0);
    watch_end(&rig.watch);
}

/* Then the grace time decides, and one line is said. */
static void a_signal_ends_the_watch(void **state)
{
    static struct rig rig;

    (void)state;
    start(&rig, 0);
    watch_attach(&rig.watch, &rig.stop, 2 * SECOND);
    watch_enter(&rig.watch, WATCH_TRANSFER);
    send_signal(&rig, SIGUSR2);
    pass(&rig, 10 * SECOND);
    assert_int_equal(rig.heard.stuck, 0);
    pass(&rig, 10 * SECOND);
    assert_int_equal(rig.heard.stuck, 0);
    assert_int_equal(rig.heard.overdue, 1);
    watch_end(&rig.watch);
}

/* ---- the end ---- */

static void says_nothing_after_the_end(void **state)
{
    static struct rig rig;

    (void)state;
    start(&rig, 0);
    watch_attach(&rig.watch, &rig.stop, 2 * SECOND);
    watch_enter(&rig.watch, WATCH_TRANSFER);
    send_signal(&rig, SIGTERM);
    watch_end(&rig.watch);
    atomic_fetch_add(&the_time_ns, 100 * SECOND);
    assert_int_equal(rig.heard.overdue + rig.heard.stuck, 0);
    watch_end(&rig.watch); /* once more does nothing */
    memset(&rig, 0, sizeof(rig));
    watch_end(&rig.watch); /* nor without a start */
}

/* Ends at once, not after the next look at the clock. */
static void ends_and_starts_again(void **state)
{
    static struct rig rig;

    (void)state;
    for (int i = 0; i < 20; i++) {
        start(&rig, 0);
        turn_round(&rig);
        watch_end(&rig.watch);
    }
}

static int block(void **state)
{
    (void)state;
    watch_block_signals();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_the_flag_and_gives_time),
        cmocka_unit_test(is_patient_when_asked),
        cmocka_unit_test(the_more_urgent_counts),
        cmocka_unit_test(a_signal_that_came_early_is_passed_on),
        cmocka_unit_test(other_signals_do_nothing),
        cmocka_unit_test(names_the_stage_that_is_stuck),
        cmocka_unit_test(progress_keeps_it_quiet),
        cmocka_unit_test(a_signal_ends_the_watch),
        cmocka_unit_test(says_nothing_after_the_end),
        cmocka_unit_test(ends_and_starts_again),
    };

    return cmocka_run_group_tests(tests, block, NULL);
}
