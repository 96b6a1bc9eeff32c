/* SPDX-License-Identifier: BSD-3-Clause */

/* The log and the counts of what the device did; see trace.h. */

#include "truthfs/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "truthfs/moment.h"

void trace_init(struct trace *trace, FILE *log)
{
    memset(trace, 0, sizeof(*trace));
    pthread_mutex_init(&trace->lock, NULL);
    trace->last = &trace->first;
    trace->log = log;
}

struct trace_file *trace_find(struct trace *trace, const char *path)
{
    struct trace_file *file;

    pthread_mutex_lock(&trace->lock);
    file = trace->first;
    while (file && strcmp(file->path, path) != 0)
        file = file->next;
    if (!file && (file = calloc(1, sizeof(*file)))) {
        file->path = strdup(path);
        if (file->path) {
            *trace->last = file;
            trace->last = &file->next;
        } else {
            free(file);
            file = NULL;
        }
    }
    pthread_mutex_unlock(&trace->lock);
    return file;
}

void trace_reset(struct trace *trace)
{
    pthread_mutex_lock(&trace->lock);
    memset(trace->count, 0, sizeof(trace->count));
    for (struct trace_file *f = trace->first; f; f = f->next) {
        memset(f->count, 0, sizeof(f->count));
        memset(&f->pace, 0, sizeof(f->pace));
    }
    pthread_mutex_unlock(&trace->lock);
}

static void add(struct trace_count *count, int64_t start_ns, int64_t end_ns,
                int64_t result)
{
    count->ops++;
    if (result < 0)
        count->errors++;
    else
        count->bytes += result;
    if (count->ops == 1 || start_ns < count->first_ns)
        count->first_ns = start_ns;
    if (end_ns > count->last_ns)
        count->last_ns = end_ns;
}

void trace_note(struct trace *trace, struct trace_file *file, enum op op,
                const char *path, int64_t offset, int64_t size,
                int64_t start_ns, int64_t result)
{
    int64_t end_ns = moment_now_ns();

    pthread_mutex_lock(&trace->lock);
    add(&trace->count[op], start_ns, end_ns, result);
    if (file)
        add(&file->count[op], start_ns, end_ns, result);
    if (trace->log)
        fprintf(trace->log,
                "%" PRId64 " %" PRId64 " %s %" PRId64 " %" PRId64 " %" PRId64
                " %s\n",
                start_ns, end_ns, op_name[op], offset, size, result, path);
    pthread_mutex_unlock(&trace->lock);
}

static void print_counts(const struct trace_count count[OP_COUNT],
                         const char *whose, const char *path, FILE *to)
{
    for (int op = 0; op < OP_COUNT; op++) {
        const struct trace_count *c = &count[op];

        if (c->ops > 0)
            fprintf(to,
                    "%s%s %s %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
                    " %" PRId64 "\n",
                    whose, path, op_name[op], c->ops, c->bytes, c->first_ns,
                    c->last_ns, c->errors);
    }
}

void trace_print(struct trace *trace, FILE *to)
{
    pthread_mutex_lock(&trace->lock);
    print_counts(trace->count, "all", "", to);
    for (const struct trace_file *f = trace->first; f; f = f->next)
        print_counts(f->count, "file ", f->path, to);
    pthread_mutex_unlock(&trace->lock);
}
