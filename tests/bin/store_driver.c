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

/* Made-up values in every column; 'phase' in the first. */
static void fill(const struct iobm_column *columns, void *row, int64_t phase,
                 uint64_t seed)
{
    for (const struct iobm_column *c = columns; c->type != IOBM_COL_END; c++) {
        int64_t number =
            c == columns
                ? phase
                : (int64_t)(rng_at(seed, (uint64_t)(c - columns)) >> 20);
        double real = (double)number / 7;
        char *at = (char *)row + c->offset;

        if (c->type == IOBM_COL_I64)
            memcpy(at, &number, sizeof(number));
        else if (c->type == IOBM_COL_F64)
            memcpy(at, &real, sizeof(real));
        else
            snprintf(at, c->size, "%.4s %d", c->name, (int)(number % 97));
    }
}

/* What is kept beside a phase, or, with phase -1, of the run. */
struct made {
    struct iobm_series_row series[9]; /* of all ranks, then of one each */
    struct iobm_second_row seconds[3];
    struct iobm_class_row classes[2];
    struct iobm_latency_row latency[5];
    struct iobm_change_row changes[1];
    struct iobm_evidence_row evidence[2];
    struct iobm_finding_row findings[2];
    struct iobm_check_row checks[4];
    struct iobm_summary_row summaries[2];
};

static void make_detail(struct made *made, int64_t phase,
                        struct iobm_detail *detail)
{
    memset(made, 0, sizeof(*made));
    memset(detail, 0, sizeof(*detail));
#define FILL(array, number, columns)                                           \
    for (size_t i = 0; i < sizeof(made->array) / sizeof(*made->array); i++)    \
        fill(columns, &made->array[i], phase, (uint64_t)(phase + 2) * 64 + i); \
    detail->array = made->array;                                               \
    detail->number = sizeof(made->array) / sizeof(*made->array);
    FILL(checks, check_count, iobm_check_columns)
    if (phase < 0) {
        FILL(summaries, summary_count, iobm_summary_columns)
        return;
    }
    FILL(series, series_count, iobm_series_columns)
    FILL(seconds, second_count, iobm_second_columns)
    FILL(classes, class_count, iobm_class_columns)
    FILL(latency, latency_count, iobm_latency_columns)
    FILL(changes, change_count, iobm_change_columns)
    FILL(evidence, evidence_count, iobm_evidence_columns)
    FILL(findings, finding_count, iobm_finding_columns)
#undef FILL
    made->series[0].rank = made->series[0].node = -1;
}

static enum iobm_status add_detail(struct store *store, int64_t phase,
                                   struct iobm_error *err)
{
    struct iobm_detail detail;
    struct made made;

    make_detail(&made, phase, &detail);
    return store_detail(store, &detail, err);
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
    status = add_detail(work->store, work->phases, err);
    if (status == IOBM_OK)
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
    if (status == IOBM_OK)
        status = add_detail(work.store, -1, &err);
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

/* The rows beside the first 'phases' phases, and, where it came to its end,
 * of the run; with 'all' those of single ranks, too. */
static bool make_details(size_t phases, bool ended, bool all,
                         struct iobm_detail *out)
{
    bool made_all = true;

    memset(out, 0, sizeof(*out));
    for (size_t p = 0; made_all && p < phases + ended; p++) {
        struct iobm_detail detail;
        struct made made;

        make_detail(&made, p < phases ? (int64_t)p : -1, &detail);
        if (!all && detail.series_count > 1)
            detail.series_count = 1;
        made_all = iobm_detail_append(out, &detail);
    }
    return made_all;
}

static bool is_right_detail(const struct run_record *run, const char *path)
{
    bool ended = strcmp(run->status, "complete") == 0;
    struct iobm_detail wanted, whole;
    struct iobm_series_row *series = NULL;
    struct iobm_error err;
    size_t n = 0;
    bool right = make_details(run->phase_count, ended, false, &wanted);

    memset(&whole, 0, sizeof(whole));

#define COMPARE(array, number)                                                 \
    right = right && run->detail.number == wanted.number &&                    \
            (wanted.number == 0 ||                                             \
             memcmp(run->detail.array, wanted.array,                           \
                    wanted.number * sizeof(*wanted.array)) == 0);
    COMPARE(series, series_count)
    COMPARE(seconds, second_count)
    COMPARE(classes, class_count)
    COMPARE(latency, latency_count)
    COMPARE(changes, change_count)
    COMPARE(evidence, evidence_count)
    COMPARE(findings, finding_count)
    COMPARE(checks, check_count)
    COMPARE(summaries, summary_count)
#undef COMPARE
    right =
        right && make_details(run->phase_count, ended, true, &whole) &&
        store_read_series(path, run->number, &series, &n, &err) == IOBM_OK &&
        n == whole.series_count &&
        (n == 0 || memcmp(series, whole.series, n * sizeof(*series)) == 0);
    free(series);
    iobm_detail_release(&whole);
    iobm_detail_release(&wanted);
    return right;
}

/* Whether all rows are as they were made. */
static bool is_right(const struct run_record *run, const char *path)
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
    return right && is_right_detail(run, path);
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
                is_right(&run, path) ? "right" : "WRONG");
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
