/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record of a run and its file: what two threads put in, an end that
 * comes early, no file at all.  In the current folder, which is private to
 * the test.  Sleeping moves the clock and takes no time.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "cli/save.h"

#define TARGET "r.h5"
#define RUN_ID "1a2b3c4d-0000-4000-8000-00000000000"

/* ---- the clock ---- */

static _Atomic int64_t slept_ns;

static int64_t read_ns(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t clock_now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC_RAW) + atomic_load(&slept_ns);
}

int64_t clock_utc_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

void clock_sleep_ns(int64_t ns)
{
    const struct timespec nap = {.tv_nsec = 10000};

    atomic_fetch_add(&slept_ns, ns);
    nanosleep(&nap, NULL);
}

const char *clock_domain(char *text, size_t room)
{
    snprintf(text, room, "test");
    return text;
}

const char *clock_iso8601(char *text, size_t room, int64_t utc_ns)
{
    (void)utc_ns;
    snprintf(text, room, "2026-11-30T20:06:21.123456Z");
    return text;
}

/* ---- runs ---- */

static int clean(void **state)
{
    (void)state;
    return system("rm -rf ./r.h5*") != 0;
}

/* The 'n'th run of the test, to be released. */
static void begin(struct save *save, const char *target, int n)
{
    struct iobm_error err;

    save_init(save);
    snprintf(save->record.run_id, sizeof(save->record.run_id), RUN_ID "%d", n);
    assert_int_equal(save_begin(save, target, &err), IOBM_OK);
}

#define RANKS 3

static enum iobm_status add_phase(struct save *save, int64_t bytes,
                                  struct iobm_error *err)
{
    struct iobm_phase_row phase = {.op = "write", .status = "complete"};
    struct iobm_rank_row ranks[RANKS] = {{.rank = 0}, {.rank = 1}, {.rank = 2}};

    phase.phase = (int64_t)save->record.phase_count;
    phase.bytes = bytes;
    for (int r = 0; r < RANKS; r++)
        ranks[r].bytes = bytes / RANKS;
    return save_phase(save, &phase, ranks, RANKS, err);
}

/* Rows of a phase: series of all, of a rank, and of a node. */
static enum iobm_status add_detail(struct save *save, int64_t phase,
                                   struct iobm_error *err)
{
    struct iobm_series_row series[] = {
        {.phase = phase, .rank = -1, .node = -1, .bytes = 30},
        {.phase = phase, .rank = 0, .node = 0, .bytes = 10},
        {.phase = phase, .rank = 1, .node = 0, .bytes = 20},
        {.phase = phase, .rank = -1, .node = 0, .bytes = 30},
        {.phase = phase, .rank = -1, .node = -1, .bytes = 31},
    };
    struct iobm_check_row checks[] = {{.phase = phase, .name = "short"},
                                      {.phase = phase, .name = "clock"}};
    struct iobm_summary_row summary = {.op = "write"};
    const struct iobm_detail detail = {
        .series = series,
        .series_count = 5,
        .checks = checks,
        .check_count = 2,
        .summaries = &summary,
        .summary_count = phase < 0,
    };

    return save_detail(save, &detail, err);
}

static void read_run(int64_t number, struct run_record *record)
{
    struct iobm_error err;

    memset(record, 0, sizeof(*record));
    assert_int_equal(store_read(TARGET, number, record, &err), IOBM_OK);
}

static int parts(void)
{
    return (int)store_count_partials(TARGET);
}

static void keeps_what_it_is_told(void **state)
{
    const struct iobm_clock_row clock = {.point = 1};
    struct kvlist facts = {0};
    struct run_record read;
    struct iobm_error err;
    struct save save;

    (void)state;
    begin(&save, TARGET, 1);
    assert_string_equal(save.record.status, "running");
    assert_int_equal(add_phase(&save, 300, &err), IOBM_OK);
    assert_int_equal(add_phase(&save, 600, &err), IOBM_OK);
    assert_int_equal(save_clocks(&save, &clock, 1, &err), IOBM_OK);
    assert_int_equal(save_clocks(&save, NULL, 0, &err), IOBM_OK);
    assert_int_equal(kv_set(&facts, "mpiio.component", "x", &err), IOBM_OK);
    assert_int_equal(save_facts(&save, &facts, &err), IOBM_OK);
    save_log(&save, "note", "%d of %s", 3, "them");
    assert_int_equal(save_finish(&save, "failed", "it broke", &err), IOBM_OK);
    assert_int_equal(save.record.number, 1);
    assert_int_equal(save.record.phases[1].run, 1);
    assert_int_equal(parts(), 0);

    read_run(1, &read);
    assert_string_equal(read.status, "failed");
    assert_string_equal(read.reason, "it broke");
    assert_int_equal(read.phase_count, 2);
    assert_int_equal(read.phases[1].bytes, 600);
    assert_int_equal(read.rank_count, 2 * RANKS);
    assert_int_equal(read.ranks[5].rank, 2);
    assert_int_equal(read.ranks[5].bytes, 200);
    assert_int_equal(read.clock_count, 1);
    assert_int_equal(read.log_count, 1);
    assert_string_equal(read.log[0].text, "3 of them");
    assert_string_equal(kv_get(&read.environment, "mpiio.component"), "x");
    run_record_release(&read);

    /* Once is enough. */
    assert_int_equal(save_finish(&save, "complete", "", &err), IOBM_OK);
    assert_string_equal(save.record.status, "failed");
    save_release(&save);
    kv_release(&facts);
}

static size_t series_rows(const char *path)
{
    struct iobm_series_row *rows;
    struct iobm_error err;
    size_t n;

    assert_int_equal(store_read_series(path, 0, &rows, &n, &err), IOBM_OK);
    free(rows);
    return n;
}

/* Rows of two phases and of the run; those of single ranks and nodes are in
 * the file alone. */
static void keeps_the_rows_beside(void **state)
{
    const struct iobm_detail empty = {0};
    struct run_record read;
    struct iobm_error err;
    struct save save;

    (void)state;
    begin(&save, TARGET, 1);
    for (int64_t phase = 0; phase < 2; phase++) {
        assert_int_equal(add_detail(&save, phase, &err), IOBM_OK);
        assert_int_equal(add_phase(&save, 300, &err), IOBM_OK);
    }
    assert_int_equal(series_rows(store_partial_path(save.store)), 10);
    assert_int_equal(save_detail(&save, &empty, &err), IOBM_OK);
    assert_int_equal(add_detail(&save, -1, &err), IOBM_OK);
    assert_int_equal(save_finish(&save, "complete", "", &err), IOBM_OK);

    read_run(1, &read);
    for (int k = 0; k < 2; k++) {
        const struct iobm_detail *d =
            k == 0 ? &save.record.detail : &read.detail;

        assert_int_equal(d->series_count, 6);
        for (size_t i = 0; i < 6; i++) {
            assert_int_equal(d->series[i].rank, -1);
            assert_int_equal(d->series[i].node, -1);
            assert_int_equal(d->series[i].bytes, i % 2 ? 31 : 30);
            assert_int_equal(d->series[i].phase, i < 4 ? (int)i / 2 : -1);
        }
        assert_int_equal(d->check_count, 6);
        assert_int_equal(d->checks[3].phase, 1);
        assert_string_equal(d->checks[3].name, "clock");
        assert_int_equal(d->summary_count, 1);
        assert_int_equal(d->second_count, 0);
    }
    assert_int_equal(series_rows(TARGET), 15);
    run_record_release(&read);
    save_release(&save);
    assert_int_equal(save.record.detail.series_count, 0);
}

static void none_is_no_file(void **state)
{
    struct iobm_error err;
    struct save save;
    char what[256];

    (void)state;
    for (int early = 0; early < 2; early++) {
        begin(&save, "none", 1);
        assert_int_equal(add_detail(&save, 0, &err), IOBM_OK);
        assert_int_equal(add_phase(&save, 300, &err), IOBM_OK);
        save_log(&save, "note", "said");
        if (early) {
            save_finish_early(&save, "interrupted", "why", what, sizeof(what));
            assert_string_equal(what, "");
        } else {
            assert_int_equal(save_finish(&save, "complete", "", &err), IOBM_OK);
            assert_string_equal(save.record.status, "complete");
        }
        assert_int_equal(save.record.number, 0);
        assert_int_equal(save.record.phase_count, 1);
        assert_int_equal(save.record.log_count, 1);
        assert_int_equal(save.record.detail.series_count, 2);
        assert_int_equal(save.record.detail.check_count, 2);
        save_release(&save);
        assert_int_not_equal(access("none", F_OK), 0);
    }
}

/* ---- two threads ---- */

#define ROUNDS 20

static void *write_log(void *arg)
{
    for (int i = 0; i < ROUNDS; i++)
        save_log(arg, "note", "line %d", i);
    return NULL;
}

static void two_threads_may_save(void **state)
{
    struct run_record read;
    struct iobm_error err;
    struct save save;
    pthread_t other;

    (void)state;
    begin(&save, TARGET, 1);
    assert_int_equal(pthread_create(&other, NULL, write_log, &save), 0);
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(add_detail(&save, i, &err), IOBM_OK);
        assert_int_equal(add_phase(&save, 3 * i, &err), IOBM_OK);
    }
    pthread_join(other, NULL);
    assert_int_equal(save_finish(&save, "complete", "", &err), IOBM_OK);
    save_release(&save);

    read_run(1, &read);
    assert_int_equal(read.phase_count, ROUNDS);
    assert_int_equal(read.log_count, ROUNDS);
    assert_int_equal(read.detail.check_count, 2 * ROUNDS);
    for (int i = 0; i < ROUNDS; i++) {
        char line[32];

        snprintf(line, sizeof(line), "line %d", i);
        assert_string_equal(read.log[i].text, line);
        assert_int_equal(read.phases[i].bytes, 3 * i);
        assert_int_equal(read.detail.checks[2 * i].phase, i);
    }
    run_record_release(&read);
}

/* The watchdog's thread of the child below. */
static void *end_early(void *arg)
{
    char what[256];

    save_finish_early(arg, "interrupted", "by a test", what, sizeof(what));
    _exit(strcmp(what, "what was measured is run 1 in " TARGET) == 0 ? 0 : 1);
    return NULL;
}

/* While the first thread goes on saving: it gets no further. */
static void the_early_end_keeps_whole_phases(void **state)
{
    struct run_record read;
    int status;
    pid_t pid;

    (void)state;
    pid = fork();
    if (pid == 0) {
        struct iobm_error err;
        struct save save;
        pthread_t other;

        save_init(&save);
        snprintf(save.record.run_id, sizeof(save.record.run_id), RUN_ID "1");
        if (save_begin(&save, TARGET, &err) != IOBM_OK ||
            add_phase(&save, 300, &err) != IOBM_OK ||
            pthread_create(&other, NULL, end_early, &save) != 0)
            _exit(2);
        for (int64_t i = 1; add_detail(&save, i, &err) == IOBM_OK &&
                            add_phase(&save, 300, &err) == IOBM_OK;)
            i++;
        _exit(3);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);

    read_run(1, &read);
    assert_string_equal(read.status, "interrupted");
    assert_string_equal(read.reason, "by a test");
    assert_true(read.phase_count >= 1);
    assert_int_equal(read.rank_count, RANKS * read.phase_count);
    /* of each phase but the first, perhaps of the next one already */
    assert_true(read.detail.check_count == 2 * (read.phase_count - 1) ||
                read.detail.check_count == 2 * read.phase_count);
    run_record_release(&read);
    assert_int_equal(parts(), 0);
}

/* ---- ends that come early ---- */

static void an_end_before_the_begin_says_nothing(void **state)
{
    struct save save;
    char what[256] = "x";

    (void)state;
    save_init(&save);
    save_finish_early(&save, "interrupted", "why", what, sizeof(what));
    assert_string_equal(what, "");
    save_release(&save);
}

static void an_end_after_the_end_changes_nothing(void **state)
{
    struct run_record read;
    struct iobm_error err;
    struct save save;
    char what[256];

    (void)state;
    begin(&save, TARGET, 1);
    assert_int_equal(add_phase(&save, 300, &err), IOBM_OK);
    assert_int_equal(save_finish(&save, "complete", "", &err), IOBM_OK);
    save_finish_early(&save, "interrupted", "why", what, sizeof(what));
    assert_string_equal(what, "what was measured is run 1 in " TARGET);
    read_run(1, &read);
    assert_string_equal(read.status, "complete");
    run_record_release(&read);
    pthread_mutex_unlock(&save.lock);
    save_release(&save);
}

/* The first thread hangs in the middle of saving. */
static void does_not_wait_for_ever(void **state)
{
    struct iobm_error err;
    struct save save;
    char what[256];
    int64_t before = clock_now_ns(), took;

    (void)state;
    begin(&save, TARGET, 1);
    assert_int_equal(add_phase(&save, 300, &err), IOBM_OK);
    pthread_mutex_lock(&save.lock);
    save_finish_early(&save, "interrupted", "why", what, sizeof(what));
    took = clock_now_ns() - before;
    assert_true(took >= 500000000 && took < 900000000);
    assert_string_equal(what, "'iobm file recover " TARGET
                              "' adds what was measured");
    pthread_mutex_unlock(&save.lock);
    assert_int_equal(parts(), 1);
    save_release(&save);
    assert_int_equal(parts(), 1); /* it holds a phase */
}

/* ---- failures ---- */

static void a_target_in_the_way_leaves_the_partial_file(void **state)
{
    struct iobm_error err;
    struct save save;
    char what[1024];

    (void)state;
    for (int early = 0; early < 2; early++) {
        clean(NULL);
        begin(&save, TARGET, 1);
        assert_int_equal(add_phase(&save, 300, &err), IOBM_OK);
        assert_int_equal(mkdir(TARGET, 0777), 0);
        if (early) {
            save_finish_early(&save, "failed", "why", what, sizeof(what));
            pthread_mutex_unlock(&save.lock);
        } else {
            assert_int_equal(save_finish(&save, "complete", "", &err),
                             IOBM_EIO);
            snprintf(what, sizeof(what), "%s", err.text);
        }
        assert_non_null(strstr(what, "iobm file recover " TARGET));
        assert_int_equal(save.record.number, 0);
        /* The record is whole all the same, for the output. */
        assert_string_equal(save.record.status, early ? "failed" : "complete");
        assert_int_equal(save.record.phase_count, 1);
        assert_string_not_equal(save.record.finished_utc, "");
        save_release(&save);
        assert_int_equal(rmdir(TARGET), 0);
        assert_int_equal(parts(), 1);
    }
}

static void a_begin_that_fails_leaves_nothing(void **state)
{
    struct iobm_error err;
    struct save save;
    char what[256];

    (void)state;
    save_init(&save);
    snprintf(save.record.run_id, sizeof(save.record.run_id), RUN_ID "1");
    assert_int_equal(save_begin(&save, "nowhere/r.h5", &err), IOBM_EIO);
    assert_null(save.store);
    save_finish_early(&save, "failed", "why", what, sizeof(what));
    assert_string_equal(what, "");
    save_release(&save);
}

/* A run that measured nothing is not kept. */
static void a_run_given_up_leaves_nothing(void **state)
{
    struct save save;

    (void)state;
    begin(&save, TARGET, 1);
    assert_int_equal(parts(), 1);
    save_release(&save);
    assert_int_equal(parts(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(keeps_what_it_is_told, clean),
        cmocka_unit_test_setup(keeps_the_rows_beside, clean),
        cmocka_unit_test_setup(none_is_no_file, clean),
        cmocka_unit_test_setup(two_threads_may_save, clean),
        cmocka_unit_test_setup(the_early_end_keeps_whole_phases, clean),
        cmocka_unit_test_setup(an_end_before_the_begin_says_nothing, clean),
        cmocka_unit_test_setup(an_end_after_the_end_changes_nothing, clean),
        cmocka_unit_test_setup(does_not_wait_for_ever, clean),
        cmocka_unit_test_setup(a_target_in_the_way_leaves_the_partial_file,
                               clean),
        cmocka_unit_test_setup(a_begin_that_fails_leaves_nothing, clean),
        cmocka_unit_test_setup(a_run_given_up_leaves_nothing, clean),
    };

    return cmocka_run_group_tests(tests, NULL, clean);
}
