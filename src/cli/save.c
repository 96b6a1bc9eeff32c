/* SPDX-License-Identifier: BSD-3-Clause */

/* Keeping what was measured: see save.h. */

#include "cli/save.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

static void copy_text(char *to, size_t room, const char *from)
{
    size_t n = strnlen(from, room - 1);

    memcpy(to, from, n);
    to[n] = '\0';
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

enum iobm_status save_begin(struct save *save, const char *target,
                            struct iobm_error *err)
{
    struct run_record *record = &save->record;
    enum iobm_status status = IOBM_OK;

    pthread_mutex_lock(&save->lock);
    save->target = target;
    copy_text(record->status, sizeof(record->status), "running");
    clock_iso8601(record->started_utc, sizeof(record->started_utc),
                  clock_utc_ns());
    if (strcmp(target, "none") != 0)
        status = store_begin(target, record, &save->store, err);
    pthread_mutex_unlock(&save->lock);
    return status;
}

void save_release(struct save *save)
{
    store_abandon(save->store);
    save->store = NULL;
    run_record_release(&save->record);
}

enum iobm_status save_phase(struct save *save,
                            const struct iobm_phase_row *phase,
                            const struct iobm_rank_row *ranks, size_t n,
                            struct iobm_error *err)
{
    struct run_record *record = &save->record;
    enum iobm_status status;

    pthread_mutex_lock(&save->lock);
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

enum iobm_status save_clocks(struct save *save,
                             const struct iobm_clock_row *rows, size_t n,
                             struct iobm_error *err)
{
    struct run_record *record = &save->record;
    enum iobm_status status;

    pthread_mutex_lock(&save->lock);
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

    pthread_mutex_lock(&save->lock);
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

    copy_text(row.level, sizeof(row.level), level);
    va_start(args, fmt);
    vsnprintf(row.text, sizeof(row.text), fmt, args);
    va_end(args);
    pthread_mutex_lock(&save->lock);
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
    copy_text(record->status, sizeof(record->status), status);
    copy_text(record->reason, sizeof(record->reason), reason);
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

    pthread_mutex_lock(&save->lock);
    if (!save->finished)
        outcome = finish(save, status, reason, err);
    pthread_mutex_unlock(&save->lock);
    return outcome;
}

bool save_finish_early(struct save *save, const char *status,
                       const char *reason, struct iobm_error *err)
{
    int64_t until_ns = clock_utc_ns() + 1000000000;
    struct timespec until = {.tv_sec = until_ns / 1000000000,
                             .tv_nsec = until_ns % 1000000000};
    bool saved = false;

    if (pthread_mutex_timedlock(&save->lock, &until) != 0)
        return false;
    if (!save->finished && save->store)
        saved = finish(save, status, reason, err) == IOBM_OK;
    /* Keep the lock: this thread ends the program, and the first one must not
     * touch the file again. */
    return saved;
}
