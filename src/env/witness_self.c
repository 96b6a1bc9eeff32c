/* SPDX-License-Identifier: BSD-3-Clause */

/* What the kernel counts for this process. */

#include <stdlib.h>
#include <sys/resource.h>

#include "env/procfile.h"
#include "env/witness_impl.h"

static void self_io(const struct witness_target *t, struct witness_sample *out)
{
    struct str text = {0};

    if (procfile_read(t->root, "/proc/self/io", &text)) {
        const char *all = str_text(&text);

        out->self_read_bytes = witness_field(all, "read_bytes");
        out->self_write_bytes = witness_field(all, "write_bytes");
        out->self_cancelled_bytes = witness_field(all, "cancelled_write_bytes");
        out->self_rchar = witness_field(all, "rchar");
        out->self_wchar = witness_field(all, "wchar");
    }
    str_release(&text);
}

static int64_t ns_of(const struct timeval *time)
{
    return (int64_t)time->tv_sec * 1000000000 + (int64_t)time->tv_usec * 1000;
}

void witness_self(const struct witness_target *t, struct witness_sample *out)
{
    char line[96], *end;
    struct rusage usage;

    self_io(t, out);
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        out->major_faults = usage.ru_majflt;
        out->cpu_ns = ns_of(&usage.ru_utime) + ns_of(&usage.ru_stime);
    }
    /* "ran waited slices": of the main thread, which does the work */
    if (procfile_line(t->root, "/proc/self/schedstat", line, sizeof(line))) {
        long long waited;

        (void)strtoll(line, &end, 10);
        waited = strtoll(end, &end, 10);
        if (*end == ' ' && waited >= 0)
            out->self_wait_ns = waited;
    }
}
