/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Writes runs with made-up rows through the store, and checks what it reads
 * back, for the shell tests.  Says what it has done on standard output, a
 * line at once, so that a test can kill it anywhere.
 *
 *     store_driver run TARGET PHASES RANKS LABEL   a run, merged
 *     store_driver endless TARGET RANKS            phases until it is killed
 *     store_driver merges TARGET                   runs until it is killed
 *     store_driver pause TARGET                    begins, a phase, waits
 *     store_driver hold TARGET                     takes the lock, waits
 *     store_driver wait TARGET MS                  a run that waits MS for it
 *     store_driver contend LOCK ROUNDS COUNTER     adds 1 to a file under the
 *                                                  lock; dies with it at last
 *     store_driver dump FILE                       a line for each run
 */

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "store/h5.h"
#include "store/lock.h"
#include "store/merge.h"
#include "store/store.h"

static void say(const char *fmt, ...) IOBM_PRINTF(1, 2);

static void say(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    fflush(stdout);
}

static int complain(const struct iobm_error *err)
{
    fprintf(stderr, "store_driver: %s\n", err->text);
    return 1;
}

static void make_phase(struct iobm_phase_row *row, const char *run_id,
                       int64_t phase)
{
    memset(row, 0, sizeof(*row));
    row->phase = row->repeat = phase;
    snprintf(row->run_id, sizeof(row->run_id), "%s", run_id);
    strcpy(row->op, "write");
    strcpy(row->status, "complete");
    strcpy(row->path, "/big/test");
    row->bytes = 1000003 * phase + 7;
    row->bw_wall_Bps = (double)row->bytes / 3;
}

static void make_ranks(struct iobm_rank_row *rows, int64_t phase, size_t n)
{
    memset(rows, 0, n * sizeof(*rows));
    for (size_t i = 0; i < n; i++) {
        rows[i].phase = phase;
        rows[i].rank = (int64_t)i;
        strcpy(rows[i].op, "write");
        snprintf(rows[i].node, sizeof(rows[i].node), "node%03zu", i / 4);
        rows[i].bytes = (int64_t)rng_at((uint64_t)phase, i) >> 1;
    }
}

struct work {
    struct store *store;
    char run_id[40];
    int64_t phases;
    size_t ranks;
};

static enum iobm_status begin(struct work *work, const char *target,
                              const char *label, struct iobm_error *err)
{
    struct run_record record = {.status = "running", .version = "test"};
    struct kv config[] = {{(char[]){"api"}, (char[]){"posix"}}};

    rng_uuid(record.run_id);
    memcpy(work->run_id, record.run_id, sizeof(work->run_id));
    snprintf(record.label, sizeof(record.label), "%s", label);
    clock_iso8601(record.started_utc, sizeof(record.started_utc),
                  clock_utc_ns());
    record.config.items = config;
    record.config.count = 1;
    work->phases = 0;
    return store_begin(target, &record, &work->store, err);
}

static enum iobm_status add_phase(struct work *work, struct iobm_error *err)
{
    struct iobm_phase_row phase;
    struct iobm_rank_row *ranks = calloc(work->ranks + 1, sizeof(*ranks));
    enum iobm_status status;

    if (!ranks)
        return iobm_fail(err, IOBM_ENOMEM, "no memory");
    make_phase(&phase, work->run_id, work->phases);
    make_ranks(ranks, work->phases, work->ranks);
    status = store_phase(work->store, &phase, ranks, work->ranks, err);
    free(ranks);
    if (status == IOBM_OK)
        say("phase %" PRId64 " %s\n", ++work->phases, work->run_id);
    return status;
}

static int run(const char *target, int64_t phases, size_t ranks,
               const char *label)
{
    struct work work = {.ranks = ranks};
    struct iobm_error err;
    int64_t number = 0;
    enum iobm_status status = begin(&work, target, label, &err);

    if (status != IOBM_OK)
        return complain(&err);
    while (status == IOBM_OK && work.phases < phases)
        status = add_phase(&work, &err);
    if (status != IOBM_OK)
        complain(&err);
    if (store_finish(work.store, status ? "failed" : "complete", "", &number,
                     &err) != IOBM_OK)
        return complain(&err);
    say("number %" PRId64 " %s\n", number, work.run_id);
    return status ? 1 : 0;
}

static int endless(const char *target, size_t ranks)
{
    struct work work = {.ranks = ranks};
    struct iobm_error err;
    enum iobm_status status = begin(&work, target, "endless", &err);

    while (status == IOBM_OK)
        status = add_phase(&work, &err);
    return complain(&err);
}

static int pause_run(const char *target)
{
    struct work work = {.ranks = 2};
    struct iobm_error err;

    if (begin(&work, target, "paused", &err) != IOBM_OK ||
        add_phase(&work, &err) != IOBM_OK)
        return complain(&err);
    for (;;)
        pause();
}

static int hold(const char *target)
{
    static const struct lock_how how = {LOCK_WAIT_NS, LOCK_FOREIGN_NS};
    char *path = merge_lock_path(target);
    struct iobm_error err;
    struct lock lock;

    if (!path || lock_take(path, &how, &lock, &err) != IOBM_OK)
        return complain(&err);
    say("held\n");
    for (;;)
        pause();
}

/* Not atomic: only the lock makes it right.  False when another process is at
 * it as well. */
static bool add_one(const char *counter)
{
    char inside[256];
    long value = 0;
    FILE *file;
    int entered;

    snprintf(inside, sizeof(inside), "%s.inside", counter);
    entered = open(inside, O_CREAT | O_EXCL | O_WRONLY, 0666);
    if (entered < 0)
        return false;
    close(entered);
    file = fopen(counter, "r");
    if (file) {
        if (fscanf(file, "%ld", &value) != 1)
            value = -1000000;
        fclose(file);
    }
    file = fopen(counter, "w");
    if (!file)
        return false;
    fprintf(file, "%ld\n", value + 1);
    fclose(file);
    unlink(inside);
    return true;
}

static int contend(const char *path, int64_t rounds, const char *counter)
{
    static const struct lock_how how = {LOCK_WAIT_NS, LOCK_FOREIGN_NS};

    for (int64_t i = 0; i < rounds; i++) {
        struct iobm_error err;
        struct lock lock;

        if (lock_take(path, &how, &lock, &err) != IOBM_OK)
            return complain(&err);
        if (!add_one(counter)) {
            say("not alone\n");
            return 1;
        }
        if (i + 1 < rounds)
            lock_release(&lock);
    }
    raise(SIGKILL); /* and leave the lock */
    return 1;
}

static int wait_lock(const char *target, int64_t ms)
{
    const struct lock_how how = {ms * 1000000, LOCK_FOREIGN_NS};
    struct work work = {.ranks = 2};
    struct iobm_error err;
    int64_t number = 0;
    enum iobm_status status = begin(&work, target, "waits", &err);
    char *partial;

    if (status == IOBM_OK)
        status = add_phase(&work, &err);
    if (status != IOBM_OK)
        return complain(&err);
    partial = strdup(store_partial_path(work.store));
    store_abandon(work.store);
    if (!partial)
        return 1;
    status = merge_partial(target, partial, &how, &number, &err);
    free(partial);
    if (status != IOBM_OK)
        return complain(&err);
    say("number %" PRId64 "\n", number);
    return 0;
}

/* Whether all rows are as they were made. */
static bool is_right(const struct run_record *run)
{
    struct iobm_phase_row phase;
    size_t each = run->phase_count ? run->rank_count / run->phase_count : 0;
    struct iobm_rank_row *ranks = calloc(each + 1, sizeof(*ranks));
    bool right = ranks && each * run->phase_count == run->rank_count;

    for (size_t p = 0; right && p < run->phase_count; p++) {
        make_phase(&phase, run->run_id, (int64_t)p);
        phase.run = run->number;
        make_ranks(ranks, (int64_t)p, each);
        right =
            memcmp(&phase, &run->phases[p], sizeof(phase)) == 0 &&
            memcmp(ranks, run->ranks + p * each, each * sizeof(*ranks)) == 0;
    }
    free(ranks);
    return right;
}

static int dump(const char *path)
{
    struct run_record *runs = NULL;
    struct iobm_error err;
    size_t count = 0;
    int status = 0;

    if (store_list(path, &runs, &count, &err) != IOBM_OK)
        return complain(&err);
    for (size_t i = 0; i < count; i++) {
        struct run_record run;

        if (store_read(path, runs[i].number ? runs[i].number : 0, &run, &err) !=
            IOBM_OK) {
            status = complain(&err);
        } else {
            say("%" PRId64 " %s %s %zu %zu %s\n", run.number, run.run_id,
                run.status, run.phase_count, run.rank_count,
                is_right(&run) ? "right" : "WRONG");
            run_record_release(&run);
        }
        run_record_release(&runs[i]);
    }
    free(runs);
    return status;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 2 ? argv[1] : "";

    h5_start();
    if (strcmp(verb, "run") == 0 && argc == 6)
        return run(argv[2], atoll(argv[3]), (size_t)atoll(argv[4]), argv[5]);
    if (strcmp(verb, "endless") == 0 && argc == 4)
        return endless(argv[2], (size_t)atoll(argv[3]));
    if (strcmp(verb, "merges") == 0 && argc == 3)
        while (run(argv[2], 2, 3, "merges") == 0)
            continue;
    if (strcmp(verb, "pause") == 0 && argc == 3)
        return pause_run(argv[2]);
    if (strcmp(verb, "hold") == 0 && argc == 3)
        return hold(argv[2]);
    if (strcmp(verb, "wait") == 0 && argc == 4)
        return wait_lock(argv[2], atoll(argv[3]));
    if (strcmp(verb, "contend") == 0 && argc == 5)
        return contend(argv[2], atoll(argv[3]), argv[4]);
    if (strcmp(verb, "dump") == 0 && argc == 3)
        return dump(argv[2]);
    fprintf(stderr, "store_driver: see its source\n");
    return 2;
}
