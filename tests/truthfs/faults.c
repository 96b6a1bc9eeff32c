/* SPDX-License-Identifier: BSD-3-Clause */

/* The rules of what goes wrong, and doing it; see faults.h. */

#include "truthfs/faults.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "truthfs/moment.h"

#define HANG_LOOK_NS (NS_PER_S / 50)

/* The first contents of a block that is to be stale, of one file. */
struct kept {
    struct kept *next;
    char *path;
    uint8_t data[];
};

const char *const op_name[OP_COUNT] = {
    [OP_CREATE] = "create", [OP_OPEN] = "open",         [OP_READ] = "read",
    [OP_WRITE] = "write",   [OP_SYNC] = "fsync",        [OP_CLOSE] = "close",
    [OP_STAT] = "stat",     [OP_TRUNCATE] = "truncate", [OP_UNLINK] = "unlink",
    [OP_RENAME] = "rename", [OP_MKDIR] = "mkdir",       [OP_RMDIR] = "rmdir",
    [OP_LIST] = "list",
};

void faults_init(struct faults *faults, struct store *store)
{
    pthread_condattr_t monotonic;

    memset(faults, 0, sizeof(*faults));
    pthread_mutex_init(&faults->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&faults->released, &monotonic);
    faults->last = &faults->first;
    faults->space_bytes = -1;
    faults->store = store;
}

bool faults_add(struct faults *faults, const struct fault *fault)
{
    struct fault *own = malloc(sizeof(*own));

    if (!own)
        return false;
    *own = *fault;
    own->next = NULL;
    own->kept = NULL;
    pthread_mutex_lock(&faults->lock);
    *faults->last = own;
    faults->last = &own->next;
    pthread_mutex_unlock(&faults->lock);
    return true;
}

static void free_fault(struct fault *fault)
{
    while (fault->kept) {
        struct kept *next = fault->kept->next;

        free(fault->kept->path);
        free(fault->kept);
        fault->kept = next;
    }
    free(fault);
}

/* Removes those of one kind, or all (-1). */
static void drop(struct faults *faults, int kind)
{
    struct fault **at = &faults->first;

    while (*at) {
        struct fault *fault = *at;

        if (kind >= 0 && (int)fault->kind != kind) {
            at = &fault->next;
            continue;
        }
        *at = fault->next;
        free_fault(fault);
    }
    faults->last = at;
}

void faults_release(struct faults *faults)
{
    pthread_mutex_lock(&faults->lock);
    drop(faults, FAULT_HANG);
    faults->releases++;
    pthread_cond_broadcast(&faults->released);
    pthread_mutex_unlock(&faults->lock);
}

void faults_clear(struct faults *faults)
{
    faults_release(faults);
    pthread_mutex_lock(&faults->lock);
    drop(faults, -1);
    faults->space_bytes = -1;
    pthread_mutex_unlock(&faults->lock);
}

static bool concerns(const struct fault *fault, const char *path)
{
    const char *slash = strrchr(path, '/');

    return fnmatch(fault->pattern, path, 0) == 0 ||
           (slash && fnmatch(fault->pattern, slash + 1, 0) == 0);
}

static bool meets(const struct fault *fault, int64_t offset, int64_t size)
{
    return fault->offset < 0 ||
           (fault->offset >= offset && fault->offset < offset + size);
}

/* The first fault of a kind for it, with the lock held. */
static struct fault *find(struct faults *faults, enum fault_kind kind,
                          enum op op, const char *path, int64_t offset,
                          int64_t size)
{
    for (struct fault *f = faults->first; f; f = f->next) {
        if (f->kind == kind && f->op == op && f->count != 0 &&
            meets(f, offset, size) && concerns(f, path))
            return f;
    }
    return NULL;
}

static void hang(struct faults *faults)
{
    unsigned before = faults->releases;

    faults->hanging++;
    faults->struck++;
    while (faults->releases == before && !moment_leaving()) {
        int64_t ns = moment_now_ns() + HANG_LOOK_NS;
        const struct timespec t = {.tv_sec = (time_t)(ns / NS_PER_S),
                                   .tv_nsec = (long)(ns % NS_PER_S)};

        pthread_cond_timedwait(&faults->released, &faults->lock, &t);
    }
    faults->hanging--;
}

int faults_strike(struct faults *faults, enum op op, const char *path,
                  int64_t offset, int64_t size)
{
    struct fault *fault;
    int error = 0;

    pthread_mutex_lock(&faults->lock);
    if (find(faults, FAULT_HANG, op, path, offset, size))
        hang(faults);
    fault = find(faults, FAULT_FAIL, op, path, offset, size);
    if (fault) {
        error = fault->error;
        fault->count -= fault->count > 0;
        faults->struck++;
    }
    pthread_mutex_unlock(&faults->lock);
    return -error;
}

int64_t faults_limit(struct faults *faults, enum op op, const char *path,
                     int64_t size)
{
    const struct fault *fault;

    pthread_mutex_lock(&faults->lock);
    fault = find(faults, FAULT_SHORT, op, path, 0, size);
    if (fault && size > fault->length) {
        size = fault->length;
        faults->struck++;
    }
    if (op == OP_WRITE && faults->space_bytes >= 0 && size > 0) {
        if (size > faults->space_bytes) {
            size = faults->space_bytes;
            faults->struck++;
        }
        faults->space_bytes -= size;
        if (size == 0)
            size = -ENOSPC;
    }
    pthread_mutex_unlock(&faults->lock);
    return size;
}

int64_t faults_open_delay_ns(struct faults *faults, const char *path)
{
    struct fault *fault;
    int64_t delay_ns = 0;

    pthread_mutex_lock(&faults->lock);
    fault = find(faults, FAULT_DELAY, OP_OPEN, path, 0, 0);
    if (fault) {
        delay_ns = fault->delay_ns;
        fault->count -= fault->count > 0;
    }
    pthread_mutex_unlock(&faults->lock);
    return delay_ns;
}

double faults_rate(struct faults *faults, const char *path)
{
    const struct fault *fault;
    double rate;

    pthread_mutex_lock(&faults->lock);
    fault = find(faults, FAULT_RATE, OP_OPEN, path, 0, 0);
    rate = fault ? fault->rate : 0;
    pthread_mutex_unlock(&faults->lock);
    return rate;
}

static struct kept *kept_of(const struct fault *fault, const char *path)
{
    struct kept *kept = fault->kept;

    while (kept && strcmp(kept->path, path) != 0)
        kept = kept->next;
    return kept;
}

/* Keep the block as it is now, if the file has all of it. */
static void keep(struct faults *faults, struct fault *fault, const char *path)
{
    struct kept *kept = malloc(sizeof(*kept) + (size_t)fault->length);

    if (!kept)
        return;
    kept->path = strdup(path);
    if (!kept->path ||
        store_peek(faults->store, path, kept->data, (size_t)fault->length,
                   fault->offset) != fault->length) {
        free(kept->path);
        free(kept);
        return;
    }
    kept->next = fault->kept;
    fault->kept = kept;
}

void faults_see(struct faults *faults, const char *path)
{
    pthread_mutex_lock(&faults->lock);
    for (struct fault *f = faults->first; f; f = f->next) {
        if (f->kind == FAULT_STALE && concerns(f, path) && !kept_of(f, path))
            keep(faults, f, path);
    }
    pthread_mutex_unlock(&faults->lock);
}

void faults_written(struct faults *faults, const char *path, int64_t offset,
                    int64_t size)
{
    bool stale = false;

    pthread_mutex_lock(&faults->lock);
    for (const struct fault *f = faults->first; f; f = f->next) {
        stale = stale || (f->kind == FAULT_STALE &&
                          offset + size >= f->offset + f->length);
    }
    pthread_mutex_unlock(&faults->lock);
    if (stale)
        faults_see(faults, path);
}

/* Put a block that belongs at 'at' over what was read. */
static bool lay(uint8_t *data, int64_t offset, int64_t size, int64_t at,
                int64_t length, const uint8_t *block)
{
    int64_t from = at > offset ? at : offset;
    int64_t to = at + length < offset + size ? at + length : offset + size;

    if (from >= to)
        return false;
    if (block)
        memcpy(data + (from - offset), block + (from - at),
               (size_t)(to - from));
    else
        memset(data + (from - offset), 0, (size_t)(to - from));
    return true;
}

static bool swap(struct faults *faults, const struct fault *f, const char *path,
                 uint8_t *data, int64_t offset, int64_t size)
{
    uint8_t *block = malloc((size_t)f->length);
    bool done = false;

    if (!block)
        return false;
    if (strcmp(path, f->pattern) == 0 &&
        store_peek(faults->store, f->other, block, (size_t)f->length,
                   f->other_offset) >= 0)
        done = lay(data, offset, size, f->offset, f->length, block);
    if (strcmp(path, f->other) == 0 &&
        store_peek(faults->store, f->pattern, block, (size_t)f->length,
                   f->offset) >= 0)
        done =
            lay(data, offset, size, f->other_offset, f->length, block) || done;
    free(block);
    return done;
}

static bool spoil_by(struct faults *faults, const struct fault *f,
                     const char *path, uint8_t *data, int64_t offset,
                     int64_t size)
{
    const struct kept *kept;

    if (f->kind == FAULT_SWAP)
        return swap(faults, f, path, data, offset, size);
    if (!concerns(f, path))
        return false;
    switch (f->kind) {
    case FAULT_FLIP:
        if (!meets(f, offset, size))
            return false;
        data[f->offset - offset] ^= (uint8_t)(1 << f->bit);
        return true;
    case FAULT_LOST:
        return lay(data, offset, size, f->offset, f->length, NULL);
    case FAULT_STALE:
        kept = kept_of(f, path);
        return kept &&
               lay(data, offset, size, f->offset, f->length, kept->data);
    default:
        return false;
    }
}

void faults_spoil(struct faults *faults, const char *path, uint8_t *data,
                  int64_t offset, int64_t size)
{
    pthread_mutex_lock(&faults->lock);
    for (const struct fault *f = faults->first; f; f = f->next) {
        if (spoil_by(faults, f, path, data, offset, size))
            faults->struck++;
    }
    pthread_mutex_unlock(&faults->lock);
}
