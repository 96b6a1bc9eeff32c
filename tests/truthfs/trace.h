/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRUTHFS_TRACE_H
#define TRUTHFS_TRACE_H

/*
 * What the device did: a line per operation in a log, and counts per file.
 * Times are those of the device: when an operation came, and when its answer
 * went out.
 */

#include <pthread.h>
#include <stdio.h>

#include "truthfs/faults.h"
#include "truthfs/pace.h"

struct trace_count {
    int64_t ops, bytes, errors;
    int64_t first_ns, last_ns;
};

/* A file by its name; lives as long as the file system. */
struct trace_file {
    struct trace_file *next;
    char *path;
    struct pace_file pace;
    struct trace_count count[OP_COUNT];
};

struct trace {
    pthread_mutex_t lock;
    FILE *log; /* NULL: none */
    struct trace_file *first, **last;
    struct trace_count count[OP_COUNT];
};

void trace_init(struct trace *trace, FILE *log);
/* Found, or made; NULL when memory is short. */
struct trace_file *trace_find(struct trace *trace, const char *path);
/* Forget the counts. */
void trace_reset(struct trace *trace);
/* 'result' is bytes or 0, or -errno; 'file' may be NULL. */
void trace_note(struct trace *trace, struct trace_file *file, enum op op,
                const char *path, int64_t offset, int64_t size,
                int64_t start_ns, int64_t result);
/* Lines "all OP OPS BYTES FIRST_NS LAST_NS ERRORS", "file PATH OP ...". */
void trace_print(struct trace *trace, FILE *to);

#endif
