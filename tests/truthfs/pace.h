/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRUTHFS_PACE_H
#define TRUTHFS_PACE_H

/*
 * When a device of known speed answers.  It takes bytes / rate for a transfer,
 * one after the other.  The schedule is absolute: what arrives within
 * 'burst_ns' after the answer that its client had to wait for is served as if
 * it had come right then, so that neither oversleeping nor the time between
 * two requests is lost.  After a longer pause the schedule starts anew.  So a
 * file that is written without a longer pause takes bytes / rate, from the
 * first request to the last answer.
 *
 * No clock in here: times are given.  Rates are bytes per second; 0: no limit.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define PACE_OUTSTANDING 64

/* The answers on the schedule that a file's clients wait for. */
struct pace_client {
    int64_t answered_ns; /* the latest that is past */
    int64_t answer_ns[PACE_OUTSTANDING];
    int count;
};

/* What is kept per file. */
struct pace_file {
    struct pace_client device[2], own[2]; /* of reads, of writes */
    struct pace_client memory;
    int64_t own_free_ns; /* for a rate of its own */
    int64_t drained_ns;  /* when the cache has written all of it */
    int64_t dirty_bytes; /* in a lazy cache */
};

struct pace {
    pthread_mutex_t lock;
    /* settings */
    double rate, read_rate, write_rate; /* the latter two: -1 not set */
    int64_t burst_ns;
    int64_t latency_ns; /* added to every answer; overlaps */
    int64_t stall_every, stall_ns;
    int64_t cliff_bytes; /* 0: none; else so much at cliff_rate */
    double cliff_rate;
    bool cliff_drains;   /* at the write rate, when there is time */
    int64_t cache_bytes; /* 0: no write-back cache */
    double cache_rate;
    bool cache_lazy; /* writes nothing before it is told to sync */
    /* state */
    int64_t free_ns[2];     /* reads or all, writes: has done what was given */
    int64_t memory_free_ns; /* the write-back cache likewise */
    int64_t operations;
    double cliff_fill;
    int64_t cliff_ns;    /* when it was so full */
    int64_t dirty_bytes; /* in a lazy cache, all files */
};

void pace_init(struct pace *pace);
/* Forget the past, keep the settings. */
void pace_reset(struct pace *pace);

/* A transfer that arrives at 'now': when it is answered.  'file_rate': that
 * of the file alone. */
int64_t pace_transfer(struct pace *pace, struct pace_file *file,
                      double file_rate, bool write, int64_t bytes, int64_t now);
/* A sync of the file: what the cache still has of it is written. */
int64_t pace_sync(struct pace *pace, struct pace_file *file, int64_t now);
/* What is in the write-back cache only. */
int64_t pace_dirty(struct pace *pace, int64_t now);

#endif
