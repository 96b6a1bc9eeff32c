/* SPDX-License-Identifier: BSD-3-Clause */

/* Keeping what was measured: see save.h. */

#include "cli/save.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/str.h"

/* How long the end may wait for the first thread: mpirun kills a second after
 * its SIGTERM, of which the grace time is gone. */
#define LOCK_WAIT_NS INT64_C(500000000)
#define LOCK_NAP_NS  INT64_C(2000000)

/* The first thread comes for the record: not any more once the other one
 * wants it, or that might never get it. */
static void enter(struct save *save)
{
    while (atomic_load(&save->closing))
        clock_sleep_ns(LOCK_NAP_NS);
    pthread_mutex_lock(&save->lock);
}

/* Append 'n' items of 'size' bytes to a growing array. */
static enum iobm_status grow(void **array, size_t *count, const void *items,
                             size_t n, size_t size, struct iobm_error *err)
{
    char *bigger = realloc(*array, (*count + n + 1) * size);

    if (!bigger)
        return iobm_fail(err, IOBM_ENOMEM, "cannot keep the results");
    *array = bigger;
    if (n > 0)
        memcpy(bigger + *count * size, items, n * size);
    *count += n;
    return IOBM_OK;
}

void save_init(struct save *save)
{
    memset(save, 0, sizeof(*save));
    pthread_mutex_init(&save->lock, NULL);
}

enum iobm_status save_begin(struct save *save, const char *target,
                            struct iobm_error *err)
{
    struct run_record *record = &save->record;
    enum iobm_status status = IOBM_OK;

    enter(save);
    save->target = target;
    str_copy(record->status, sizeof(record->status), "running");
    clock_iso8601(record->started_utc, sizeof(record->started_utc),
                  clock_utc_ns());
    if (strcmp(target, "none") != 0)
        status = store_begin(target, record, &save->store, err);
    atomic_store(&save->begun, save->store != NULL);
    pthread_mutex_unlock(&save->lock);
    return status;
}

void save_release(struct save *save)
{
    store_abandon(save->store);
    save->store = NULL;
    run_record_release(&save->record);
    pthread_mutex_destroy(&save->lock);
}

void save_pending(struct save *save, const struct iobm_phase_row *phase)
{
    enter(save);
    save->next = *phase;
    save->pending = true;
    pthread_mutex_unlock(&save->lock);
}

enum iobm_status save_phase(struct save *save,
                            const struct iobm_phase_row *phase,
                            const struct iobm_rank_row *ranks, size_t n,
                            struct iobm_error *err)
{
    struct run_record *record = &save->record;
    enum iobm_status status;

    enter(save);
    save->pending = false;
    status = grow((void **)&record->phases, &record->phase_count, phase, 1,
                  sizeof(*phase), err);
    if (status == IOBM_OK)
        status = grow((void **)&record->ranks, &record->rank_count, ranks, n,
                      sizeof(*ranks), err);
    if (status == IOBM_OK && save->store)
        status = store_phase(save->store, phase, ranks, n, err);
    pthread_mutex_unlock(&save->lock);
    return status;
}

/* The rows that the record keeps: series of single ranks and nodes are in the
 * file alone. */
static enum iobm_status keep_detail(struct iobm_detail *record,
                                    const struct iobm_detail *detail,
                                    struct iobm_error *err)
{
    struct iobm_detail kept = *detail;
    enum iobm_status status = IOBM_OK;

    kept.series = calloc(detail->series_count + 1, sizeof(*kept.series));
    kept.series_count = 0;
    for (size_t i = 0; kept.series && i < detail->series_count; i++)
        if (detail->series[i].rank < 0 && detail->series[i].node < 0)
            kept.series[kept.series_count++] = detail->series[i];
    if (!kept.series || !iobm_detail_append(record, &kept))
        status = iobm_fail(err, IOBM_ENOMEM, "cannot keep the results");
    free(kept.series);
    return status;
}

enum iobm_status save_detail(struct save *save,
                             const struct iobm_detail *detail,
                             struct iobm_error *err)
{
    enum iobm_status status;

    enter(save);
    status = keep_detail(&save->record.detail, detail, err);
    if (status == IOBM_OK && save->store)
        status = store_detail(save->store, detail, err);
    pthread_mutex_unlock(&save->lock);
    return status;
}

enum iobm_status save_clocks(struct save *save,
                             const struct iobm_clock_row *rows, size_t n,
                             struct iobm_error *err)
{
    struct run_record *record = &save->record;
    enum iobm_status status;

    enter(save);
    status = grow((void **)&record->clocks, &record->clock_count, rows, n,
                  sizeof(*rows), err);
    if (status == IOBM_OK && save->store)
        status = store_clocks(save->store, rows, n, err);
    pthread_mutex_unlock(&save->lock);
    return status;
}

enum iobm_status save_facts(struct save *save, const struct kvlist *facts,
                            struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;

    enter(save);
    if (save->store)
        status = store_facts(save->store, facts, err);
    pthread_mutex_unlock(&save->lock);
    return status;
}

void save_log(struct save *save, const char *level, const char *fmt, ...)
{
    struct iobm_log_row row = {.time_utc_ns = clock_utc_ns()};
    struct run_record *record = &save->record;
    struct iobm_error err;
    enum iobm_status status;
    va_list args;

    str_copy(row.level, sizeof(row.level), level);
    va_start(args, fmt);
    vsnprintf(row.text, sizeof(row.text), fmt, args);
    va_end(args);
    enter(save);
    status = grow((void **)&record->log, &record->log_count, &row, 1,
                  sizeof(row), &err);
    if (status == IOBM_OK && save->store)
        status = store_log(save->store, &row, &err);
    if (status != IOBM_OK && save->log_error.status == IOBM_OK)
        save->log_error = err;
    pthread_mutex_unlock(&save->lock);
}

/* The lock is held. */
static enum iobm_status finish(struct save *save, const char *status,
                               const char *reason, struct iobm_error *err)
{
    struct run_record *record = &save->record;
    enum iobm_status outcome = IOBM_OK;

    save->finished = true;
    str_copy(record->status, sizeof(record->status), status);
    str_copy(record->reason, sizeof(record->reason), reason);
    clock_iso8601(record->finished_utc, sizeof(record->finished_utc),
                  clock_utc_ns());
    if (save->store)
        outcome =
            store_finish(save->store, status, reason, &record->number, err);
    save->store = NULL;
    for (size_t i = 0; i < record->phase_count; i++)
        record->phases[i].run = record->number;
    if (outcome == IOBM_OK && save->log_error.status != IOBM_OK) {
        *err = save->log_error;
        outcome = err->status;
    }
    return outcome;
}

enum iobm_status save_finish(struct save *save, const char *status,
                             const char *reason, struct iobm_error *err)
{
    enum iobm_status outcome = IOBM_OK;

    enter(save);
    if (!save->finished)
        outcome = finish(save, status, reason, err);
    pthread_mutex_unlock(&save->lock);
    return outcome;
}

/* The phase that was cut short: how much of it was done nobody knows. */
static void keep_pending(struct save *save, const char *status,
                         const char *reason)
{
    struct iobm_phase_row *row = &save->next;
    struct iobm_error err;

    if (!save->pending || !save->store)
        return;
    str_copy(row->status, sizeof(row->status), status);
    str_copy(row->reason, sizeof(row->reason), reason);
    row->bytes = row->ops = row->errors = -1;
    if (store_phase(save->store, row, NULL, 0, &err) != IOBM_OK &&
        save->log_error.status == IOBM_OK)
        save->log_error = err;
}

/* pthread_mutex_timedlock() goes by the wall clock, which may be set. */
static bool lock_within(pthread_mutex_t *lock, int64_t ns)
{
    int64_t until_ns = clock_now_ns() + ns;

    while (pthread_mutex_trylock(lock) != 0) {
        if (clock_now_ns() >= until_ns)
            return false;
        clock_sleep_ns(LOCK_NAP_NS);
    }
    return true;
}

void save_finish_early(struct save *save, const char *status,
                       const char *reason, char *what, size_t room)
{
    struct iobm_error err;

    what[0] = '\0';
    if (!atomic_load(&save->begun))
        return;
    atomic_store(&save->closing, true);
    if (!lock_within(&save->lock, LOCK_WAIT_NS)) {
        snprintf(what, room, "'iobm file recover %s' adds what was measured",
                 save->target);
        return;
    }
    if (!save->finished)
        keep_pending(save, status, reason);
    if (!save->finished && finish(save, status, reason, &err) != IOBM_OK)
        snprintf(what, room, "%s", err.text);
    else if (save->record.number > 0)
        snprintf(what, room, "what was measured is run %lld in %s",
                 (long long)save->record.number, save->target);
    /* The lock is kept: the first thread must not touch the file again. */
}
