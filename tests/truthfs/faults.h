/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRUTHFS_FAULTS_H
#define TRUTHFS_FAULTS_H

/*
 * What goes wrong, for which files: rules with a pattern.  A pattern is one
 * of the shell and is compared with the whole path below the mount point and
 * with the last part of it.
 *
 * Wrong contents are put over what is read: it does not matter whether the
 * rule or the file was there first, and writing anew does not heal.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "truthfs/store.h"

enum op {
    OP_CREATE,
    OP_OPEN,
    OP_READ,
    OP_WRITE,
    OP_SYNC,
    OP_CLOSE,
    OP_STAT,
    OP_TRUNCATE,
    OP_UNLINK,
    OP_RENAME,
    OP_MKDIR,
    OP_RMDIR,
    OP_LIST,
    OP_COUNT
};
extern const char *const op_name[OP_COUNT];

enum fault_kind {
    FAULT_FAIL,  /* the operation fails with 'error' */
    FAULT_HANG,  /* it does not end */
    FAULT_SHORT, /* a transfer moves at most 'length' bytes */
    FAULT_FLIP,  /* bit 'bit' of the byte at 'offset' is the other one */
    FAULT_LOST,  /* [offset, offset + length) reads as zeros */
    FAULT_STALE, /* ... as what was there first */
    FAULT_SWAP,  /* ... as the block of 'other', and the other way round */
    FAULT_DELAY, /* opening takes 'delay_ns' more */
    FAULT_RATE   /* a rate of the file's own */
};

struct fault {
    struct fault *next;
    enum fault_kind kind;
    enum op op;
    char pattern[256];
    int error;
    int64_t offset; /* fail, hang: only what covers this byte; -1: any */
    int64_t count;  /* fail, delay: so often; -1: always */
    int64_t length;
    int bit;
    char other[256];
    int64_t other_offset;
    int64_t delay_ns;
    double rate;
    struct kept *kept; /* stale: contents by path */
};

struct faults {
    pthread_mutex_t lock;
    pthread_cond_t released;
    struct fault *first, **last;
    int64_t space_bytes; /* so much can be written; -1: no limit */
    int64_t hanging;     /* operations that hang now */
    int64_t struck;      /* how often a fault did something */
    unsigned releases;
    struct store *store;
};

void faults_init(struct faults *faults, struct store *store);
/* Takes a copy.  False: out of memory. */
bool faults_add(struct faults *faults, const struct fault *fault);
void faults_clear(struct faults *faults);
/* Let go what hangs, and hang no more. */
void faults_release(struct faults *faults);

/* A file with this name is there: a stale block may want what it holds. */
void faults_see(struct faults *faults, const char *path);

/* Before an operation: waits while it hangs; 0 or -errno.  'size' and
 * 'offset' are for transfers. */
int faults_strike(struct faults *faults, enum op op, const char *path,
                  int64_t offset, int64_t size);
/* How many of 'size' bytes a transfer moves, or -ENOSPC. */
int64_t faults_limit(struct faults *faults, enum op op, const char *path,
                     int64_t size);
int64_t faults_open_delay_ns(struct faults *faults, const char *path);
/* 0: none of its own */
double faults_rate(struct faults *faults, const char *path);
/* After the store was written to. */
void faults_written(struct faults *faults, const char *path, int64_t offset,
                    int64_t size);
/* Spoil what was read. */
void faults_spoil(struct faults *faults, const char *path, uint8_t *data,
                  int64_t offset, int64_t size);

#endif
