/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checks before a run, on several ranks that play several nodes: with
 * "apart" each node works in a folder of its own.  Prints TAP on rank 0.
 *     precheck_driver nodes=N [apart] check
 *     precheck_driver nodes=N churn     until it is killed
 *     precheck_driver nodes=1 die=N [shared]   a run over an older one that
 *         dies before its Nth change to the folder; status 0: it made fewer
 *     precheck_driver nodes=N [apart] [limited] try MESSAGE
 *         one write check of 4 MiB ("limited": where files may have 1 MiB)
 */

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/rng.h"
#include "guard/precheck.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { PART = 1000 }; /* bytes per rank */

struct world {
    struct iobm_comm comm;
    struct node_map map;
    bool apart;
    int tests;
    bool failed;
};

/* ---- dying at a change to the folder: these stand in for the C library's */

static struct {
    bool armed;
    int changes; /* before it is killed */
} doom;

static void change(void)
{
    if (doom.armed && --doom.changes <= 0)
        raise(SIGKILL);
}

int unlinkat(int dir, const char *name, int flags)
{
    change();
    return (int)syscall(SYS_unlinkat, dir, name, flags);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    change();
    return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

int openat(int dir, const char *name, int flags, ...)
{
    va_list args;
    int mode;

    va_start(args, flags);
    mode = va_arg(args, int);
    va_end(args);
    if (flags & O_CREAT)
        change();
    return (int)syscall(SYS_openat, dir, name, flags, mode);
}

/* ---- TAP: true on all ranks, or not ok */

static void report(struct world *w, bool truth, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void report(struct world *w, bool truth, const char *fmt, ...)
{
    int64_t all = truth;
    char text[1024];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (par_min_all(&w->comm, &all, 1, NULL) != IOBM_OK)
        par_abort(1);
    w->tests++;
    w->failed = w->failed || !all;
    if (w->comm.rank == 0)
        printf("%sok %d - %s\n", all ? "" : "not ", w->tests, text);
    fflush(stdout);
}

/* Whether every rank has the same status and, on failure, text. */
static bool same_outcome(const struct world *w, enum iobm_status status,
                         const struct iobm_error *err)
{
    struct {
        int status;
        char text[sizeof(err->text)];
    } mine = {0}, first;

    mine.status = status;
    if (status != IOBM_OK)
        memcpy(mine.text, err->text, sizeof(mine.text));
    first = mine;
    if (par_bcast_all(&w->comm, &first, sizeof(first), 0, NULL) != IOBM_OK)
        par_abort(1);
    return first.status == mine.status && strcmp(first.text, mine.text) == 0;
}

static void meet(const struct world *w)
{
    if (par_barrier_all(&w->comm, NULL) != IOBM_OK)
        par_abort(1);
}

/* One rank of each folder, or of each node ("apart"), runs the command. */
static void shell(const struct world *w, const char *command)
{
    bool lead = w->apart ? w->map.leads_node : w->comm.rank == 0;

    meet(w);
    if (lead && system(command) != 0) {
        printf("# failed: %s\n", command);
        par_abort(1);
    }
    meet(w);
}

/* "a b c " */
static void list_folder(char *text, size_t room)
{
    FILE *pipe = popen("ls -A | tr '\\n' ' '", "r");
    size_t n = pipe ? fread(text, 1, room - 1, pipe) : 0;

    text[n] = '\0';
    if (pipe)
        pclose(pipe);
}

/* ---- what a run does */

static struct layout plan(const struct world *w, bool shared)
{
    return (struct layout){
        .shared = shared,
        .parts = w->comm.size,
        .total_bytes = (int64_t)PART * w->comm.size,
        .transfer_bytes = 100,
        .grain_bytes = 1,
    };
}

static struct manifest new_manifest(const struct world *w, bool shared)
{
    struct manifest m = {.seed = 1, .layout = plan(w, shared)};

    rng_uuid(m.run_id);
    strcpy(m.written_utc, "2026-11-30T20:06:21Z");
    if (par_bcast_all(&w->comm, m.run_id, sizeof(m.run_id), 0, NULL) != IOBM_OK)
        par_abort(1);
    return m;
}

static bool write_file(const struct world *w, const struct layout *layout)
{
    char name[64], bytes[PART];
    int64_t at = layout_part_offset(layout, w->comm.rank);
    int fd;

    snprintf(name, sizeof(name), layout->shared ? "test" : "test.%d",
             w->comm.rank);
    memset(bytes, 'x', sizeof(bytes));
    fd = openat(AT_FDCWD, name,
                O_WRONLY | O_CREAT | (layout->shared ? 0 : O_EXCL), 0644);
    if (fd < 0 || pwrite(fd, bytes, PART, at) != PART)
        return false;
    return close(fd) == 0;
}

/* A whole run; 'end': also mark it complete. */
static bool run(const struct world *w, bool shared, bool end)
{
    struct precheck_result pre = {0};
    struct manifest m = new_manifest(w, shared);
    struct layout layout = m.layout;
    const struct precheck_input in = {
        .path = "test", .layout = &layout, .write = true, .repeats = 1};
    struct iobm_error err = {0};
    int64_t written;
    enum iobm_status status = precheck_all(&w->comm, &w->map, &in, &pre, &err);

    if (status == IOBM_OK)
        status =
            guard_prepare_all(&w->comm, &w->map, "test",
                              pre.ours ? &pre.manifest : NULL, &m, false, &err);
    written = status == IOBM_OK && write_file(w, &layout);
    if (status == IOBM_OK &&
        par_min_all(&w->comm, &written, 1, NULL) != IOBM_OK)
        par_abort(1);
    if (status == IOBM_OK && written && end)
        status = guard_complete_all(&w->comm, &w->map, "test", &m, &err);
    if (status != IOBM_OK && w->comm.rank == 0)
        printf("# %s\n", err.text);
    manifest_release(&pre.manifest);
    manifest_release(&m);
    return status == IOBM_OK && written;
}

/* ---- scenarios */

struct scenario {
    const char *name;
    const char *setup; /* shell; %r the last rank, %m one more */
    bool write, read, shared, force, dry_run, cross_node;
    int64_t total; /* bytes; 0: as written; -1: not said */
    enum iobm_status status;
    const char *message; /* part of the text */
};

static const struct scenario fresh[] = {
    {.name = "nothing there", .setup = "true", .write = true},
    {.name = "nothing there, dry",
     .setup = "true",
     .write = true,
     .dry_run = true},
    {.name = "foreign file",
     .setup = "echo mine > test.%r",
     .write = true,
     .status = IOBM_EUSAGE,
     .message = "iobm did not make it"},
    {.name = "foreign file, dry",
     .setup = "echo mine > test.%r",
     .write = true,
     .dry_run = true,
     .status = IOBM_EUSAGE,
     .message = "--force"},
    {.name = "foreign file, force",
     .setup = "echo mine > test.%r",
     .write = true,
     .force = true},
    {.name = "link",
     .setup = "echo 1 > victim; ln -s victim test.%r",
     .write = true,
     .status = IOBM_EUSAGE,
     .message = "symbolic link"},
    {.name = "link, force",
     .setup = "ln -s nowhere test.%r",
     .write = true,
     .force = true,
     .status = IOBM_EUSAGE,
     .message = "symbolic link"},
    {.name = "directory, force",
     .setup = "mkdir test.%r",
     .write = true,
     .force = true,
     .status = IOBM_EUSAGE,
     .message = "a directory"},
    {.name = "pipe, force",
     .setup = "mkfifo test.%r",
     .write = true,
     .force = true,
     .status = IOBM_EUSAGE,
     .message = "a pipe"},
    {.name = "path is a directory",
     .setup = "mkdir test",
     .write = true,
     .status = IOBM_EUSAGE,
     .message = "for example 'test/test'"},
    {.name = "foreign manifest",
     .setup = "echo mine > test.iobm",
     .write = true,
     .status = IOBM_EUSAGE,
     .message = "no manifest of iobm"},
    {.name = "foreign manifest, force",
     .setup = "echo mine > test.iobm",
     .write = true,
     .force = true},
    {.name = "linked manifest, force",
     .setup = "echo 1 > victim; ln -s victim test.iobm",
     .write = true,
     .force = true,
     .status = IOBM_EUSAGE,
     .message = "symbolic link"},
    {.name = "damaged manifest, force",
     .setup = "echo iobm-manifest 1 > test.iobm",
     .write = true,
     .force = true,
     .status = IOBM_EUSAGE,
     .message = "end is missing"},
    {.name = "no space",
     .setup = "true",
     .write = true,
     .total = INT64_MAX / 2,
     .status = IOBM_EIO,
     .message = "PiB to '.'"},
    {.name = "read without manifest",
     .setup = "true",
     .read = true,
     .total = -1,
     .status = IOBM_EUSAGE,
     .message = "write 'test' first"},
    {.name = "read without manifest, force, no size",
     .setup = "true",
     .read = true,
     .force = true,
     .total = -1,
     .status = IOBM_EUSAGE,
     .message = "say with -n"},
    {.name = "read without manifest, force, no file",
     .setup = "true",
     .read = true,
     .force = true,
     .status = IOBM_EUSAGE,
     .message = "it does not exist"},
};

static const struct scenario after_run[] = {
    {.name = "ours again", .setup = "true", .write = true},
    {.name = "ours again, other layout", .setup = "true", .write = true},
    {.name = "read", .setup = "true", .read = true, .total = -1},
    {.name = "read the size", .setup = "true", .read = true},
    {.name = "read another size",
     .setup = "true",
     .read = true,
     .total = 77,
     .status = IOBM_EUSAGE,
     .message = "leave -n out"},
    {.name = "read as shared",
     .setup = "true",
     .read = true,
     .shared = true,
     .total = -1,
     .status = IOBM_EUSAGE,
     .message = "leave -s out"},
    {.name = "one missing",
     .setup = "rm -f test.%r",
     .read = true,
     .total = -1,
     .status = IOBM_EUSAGE,
     .message = "it does not exist"},
    {.name = "one short",
     .setup = "test ! -e test.%r || truncate -s -1 test.%r",
     .read = true,
     .total = -1,
     .status = IOBM_EUSAGE,
     .message = "too short"},
    {.name = "one long",
     .setup = "test ! -e test.%r || echo >> test.%r",
     .read = true,
     .total = -1,
     .status = IOBM_EUSAGE,
     .message = "too long"},
    {.name = "one sparse",
     .setup = "test ! -e test.%r || { rm test.%r; truncate -s 1000 test.%r; }",
     .read = true,
     .total = -1,
     .status = IOBM_EUSAGE,
     .message = "sparse"},
    {.name = "one replaced",
     .setup = "test ! -e test.%r || { cp test.%r n; mv n test.%r; }",
     .read = true,
     .total = -1,
     .status = IOBM_EUSAGE,
     .message = "not the file that iobm wrote"},
    {.name = "one a link",
     .setup = "test ! -e test.%r || { mv test.%r n; ln -s n test.%r; }",
     .read = true,
     .total = -1,
     .status = IOBM_EUSAGE,
     .message = "symbolic link"},
    {.name = "one replaced, write",
     .setup = "test ! -e test.%r || { cp test.%r n; mv n test.%r; }",
     .write = true,
     .status = IOBM_EUSAGE,
     .message = "not the file that iobm wrote"},
    {.name = "one linked twice, write",
     .setup = "test ! -e test.%r || ln test.%r n",
     .write = true,
     .status = IOBM_EUSAGE,
     .message = "2 hard links"},
    {.name = "one linked twice, write, force",
     .setup = "test ! -e test.%r || ln test.%r n",
     .write = true,
     .force = true},
    {.name = "one more than listed, write",
     .setup = "echo 1 > test.%m",
     .write = true},
    {.name = "edited manifest, write",
     .setup = "sed -i 's/^parts .*/parts 100/' test.iobm",
     .write = true,
     .status = IOBM_EUSAGE,
     .message = "checksum is wrong"},
    {.name = "edited manifest, write, force",
     .setup = "sed -i 's/^parts .*/parts 100/' test.iobm",
     .write = true,
     .force = true,
     .status = IOBM_EUSAGE,
     .message = "checksum is wrong"},
    {.name = "edited manifest, read",
     .setup = "sed -i 's/^parts .*/parts 100/' test.iobm",
     .read = true,
     .total = -1,
     .status = IOBM_EUSAGE,
     .message = "checksum is wrong"},
};

static const struct scenario after_half_run[] = {
    {.name = "half written, read",
     .setup = "true",
     .read = true,
     .total = -1,
     .status = IOBM_EUSAGE,
     .message = "half written"},
    {.name = "half written, write", .setup = "true", .write = true},
};

static void expand(const struct world *w, const char *from, char *to,
                   size_t room)
{
    to[0] = '\0';
    for (; *from; from++) {
        size_t n = strlen(to);

        if (from[0] == '%' && (from[1] == 'r' || from[1] == 'm'))
            snprintf(to + n, room - n, "%d", w->comm.size - (*++from == 'r'));
        else
            snprintf(to + n, room - n, "%c", *from);
    }
}

static void try_scenario(struct world *w, const struct scenario *s)
{
    struct layout layout = plan(w, s->shared);
    const struct precheck_input in = {
        .path = "test",
        .layout = &layout,
        .write = s->write,
        .read = s->read,
        .force = s->force,
        .dry_run = s->dry_run,
        .cross_node = s->cross_node,
        .repeats = 1,
    };
    struct precheck_result pre = {0};
    struct iobm_error err = {0};
    char command[512], before[4096], after[4096];
    enum iobm_status status;
    bool good;

    expand(w, s->setup, command, sizeof(command));
    shell(w, command);
    if (s->total != 0)
        layout.total_bytes = s->total;
    list_folder(before, sizeof(before));
    meet(w);
    status = precheck_all(&w->comm, &w->map, &in, &pre, &err);
    good = status == s->status && same_outcome(w, status, &err) &&
           (!s->message || strstr(err.text, s->message));
    report(w, good, "%s%s%s", s->name, status == IOBM_OK ? "" : ": ",
           status == IOBM_OK ? "" : err.text);
    meet(w);
    list_folder(after, sizeof(after));
    report(w, strcmp(before, after) == 0, "%s: leaves nothing", s->name);
    manifest_release(&pre.manifest);
}

static void wipe(const struct world *w)
{
    shell(w, "rm -rf test* victim n .iobm*");
}

static void check_scenarios(struct world *w)
{
    for (size_t i = 0; i < COUNT(fresh); i++) {
        wipe(w);
        try_scenario(w, &fresh[i]);
    }
    for (size_t i = 0; i < COUNT(after_run); i++) {
        wipe(w);
        report(w, run(w, false, true), "a run");
        try_scenario(w, &after_run[i]);
    }
    for (size_t i = 0; i < COUNT(after_half_run); i++) {
        wipe(w);
        report(w, run(w, false, false), "half a run");
        try_scenario(w, &after_half_run[i]);
    }
    wipe(w);
}

/* ---- what prepare and complete do to the files */

static void expect_files(struct world *w, const char *pattern, const char *what)
{
    char files[4096], expected[4096];

    meet(w);
    list_folder(files, sizeof(files));
    expand(w, pattern, expected, sizeof(expected));
    report(w, strcmp(files, expected) == 0, "%s: '%s'", what, files);
}

/* An older run of more ranks, in a folder that all share. */
static void check_older_run(struct world *w)
{
    struct manifest m = {.layout = plan(w, false)};
    char command[128];

    wipe(w);
    m.layout.parts = w->comm.size + 2;
    m.layout.total_bytes = (int64_t)PART * m.layout.parts;
    strcpy(m.state, "writing");
    strcpy(m.run_id, "older");
    alive_self(&m.writer);
    m.writer.start++; /* a process that is no more */
    if (w->comm.rank == 0 && manifest_write("test", &m, NULL) != IOBM_OK)
        par_abort(1);
    snprintf(command, sizeof(command),
             "i=0; while [ $i -lt %d ]; do echo $i > test.$i; i=$((i+1)); "
             "done; echo 1 > test.%d",
             m.layout.parts, m.layout.parts);
    shell(w, command);
    report(w, run(w, true, true), "shared file in place of more files");
    snprintf(command, sizeof(command), "test test.%d test.iobm ",
             m.layout.parts);
    expect_files(w, command, "only what is not ours stays");
    report(w, run(w, false, true), "files in place of the shared file");
    shell(w, "test ! -e test && test -e test.0");
    wipe(w);
}

static void check_taken_over(struct world *w)
{
    struct manifest m = new_manifest(w, false), other;
    struct iobm_error err = {0};
    enum iobm_status status;
    bool lead = w->apart ? w->map.leads_node : w->comm.rank == 0;

    wipe(w);
    status =
        guard_prepare_all(&w->comm, &w->map, "test", NULL, &m, false, &err);
    report(w, status == IOBM_OK && write_file(w, &m.layout), "prepared");
    other = m;
    strcpy(other.run_id, "other");
    if (lead && manifest_write("test", &other, NULL) != IOBM_OK)
        par_abort(1);
    meet(w);
    status = guard_complete_all(&w->comm, &w->map, "test", &m, &err);
    report(w,
           status == IOBM_EINVALID && same_outcome(w, status, &err) &&
               strcmp(m.state, "writing") == 0,
           "taken over: %s", err.text);
    manifest_release(&m);

    m = new_manifest(w, false);
    status =
        guard_prepare_all(&w->comm, &w->map, "test", NULL, &m, false, &err);
    report(w,
           (status == IOBM_EUSAGE || w->comm.size == 0) &&
               same_outcome(w, status, &err),
           "changed since it was checked: %s", err.text);
    manifest_release(&m);
    wipe(w);
}

static void check_short_file(struct world *w)
{
    struct manifest m = new_manifest(w, false);
    struct iobm_error err = {0};
    enum iobm_status status;

    wipe(w);
    status =
        guard_prepare_all(&w->comm, &w->map, "test", NULL, &m, false, &err);
    report(w, status == IOBM_OK && write_file(w, &m.layout), "prepared");
    if (w->comm.rank == w->comm.size - 1) {
        char name[32];

        snprintf(name, sizeof(name), "test.%d", w->comm.rank);
        if (truncate(name, PART - 1) != 0)
            par_abort(1);
    }
    status = guard_complete_all(&w->comm, &w->map, "test", &m, &err);
    report(w, status == IOBM_EIO && same_outcome(w, status, &err),
           "a short file is not complete: %s", err.text);
    manifest_release(&m);
    wipe(w);
}

/* The second and third repeat of one run, with and without what was found. */
static void check_repeats(struct world *w)
{
    struct manifest m = new_manifest(w, false);
    struct iobm_error err = {0};

    wipe(w);
    for (int i = 0; i < 3; i++) {
        enum iobm_status status =
            guard_prepare_all(&w->comm, &w->map, "test", NULL, &m, false, &err);
        bool wrote = status == IOBM_OK && write_file(w, &m.layout);

        if (status == IOBM_OK)
            status = guard_complete_all(&w->comm, &w->map, "test", &m, &err);
        report(w, wrote && status == IOBM_OK, "repeat %d %s", i, err.text);
    }
    manifest_release(&m);
    wipe(w);
}

static void check_clean(struct world *w)
{
    struct iobm_error err = {0};
    int64_t files = 0, bytes = 0;
    enum iobm_status status;

    wipe(w);
    report(w, run(w, false, true), "a run");
    meet(w);
    status = guard_clean_all(&w->comm, &w->map, "test", &files, &bytes, &err);
    report(w,
           status == IOBM_OK && files == w->comm.size &&
               bytes == (int64_t)PART * w->comm.size,
           "cleaned %" PRId64 " files %s", files, err.text);
    expect_files(w, "", "nothing is left");
}

static void check_shared_file(struct world *w)
{
    static const struct scenario shared[] = {
        {.name = "shared file", .setup = "true", .write = true, .shared = true},
        {.name = "shared file, dry",
         .setup = "true",
         .write = true,
         .shared = true,
         .dry_run = true},
        {.name = "shared, a link",
         .setup = "ln -s /etc/passwd test",
         .write = true,
         .shared = true,
         .force = true,
         .status = IOBM_EUSAGE,
         .message = "symbolic link"},
        {.name = "shared, foreign",
         .setup = "echo 1 > test",
         .write = true,
         .shared = true,
         .status = IOBM_EUSAGE,
         .message = "iobm did not make it"},
        {.name = "shared, foreign, force",
         .setup = "echo 1 > test",
         .write = true,
         .shared = true,
         .force = true},
    };
    static const struct scenario read[] = {
        {.name = "shared, read",
         .setup = "true",
         .read = true,
         .shared = true,
         .total = -1},
        {.name = "shared, read as files",
         .setup = "true",
         .read = true,
         .total = -1,
         .status = IOBM_EUSAGE,
         .message = "add -s"},
        {.name = "shared, across nodes",
         .setup = "true",
         .read = true,
         .shared = true,
         .total = -1,
         .cross_node = true},
    };

    for (size_t i = 0; i < COUNT(shared); i++) {
        wipe(w);
        try_scenario(w, &shared[i]);
    }
    wipe(w);
    report(w, run(w, true, true), "a run on a shared file");
    for (size_t i = 0; i < COUNT(read); i++)
        try_scenario(w, &read[i]);
    wipe(w);
}

static void check_apart(struct world *w)
{
    static const struct scenario apart[] = {
        {.name = "apart, shared file",
         .setup = "true",
         .write = true,
         .shared = true,
         .status = IOBM_EUSAGE,
         .message = "-s needs a shared file system"},
        {.name = "apart, across nodes",
         .setup = "true",
         .write = true,
         .cross_node = true,
         .status = IOBM_EUSAGE,
         .message = "--order same"},
    };

    for (size_t i = 0; i < COUNT(apart); i++) {
        wipe(w);
        try_scenario(w, &apart[i]);
    }
    wipe(w);
    report(w, run(w, false, true), "a run apart");
    report(w, access("test.iobm", F_OK) == 0, "a manifest on every node");
    report(w, run(w, false, true), "a run over it");
    wipe(w);
}

/* ---- modes */

static void check(struct world *w)
{
    check_scenarios(w);
    check_repeats(w);
    check_short_file(w);
    check_taken_over(w);
    check_clean(w);
    if (w->apart && w->map.nodes > 1) {
        check_apart(w);
    } else {
        check_shared_file(w);
        check_older_run(w);
    }
    if (w->comm.rank == 0)
        printf("1..%d\n", w->tests);
}

static void churn(struct world *w)
{
    if (w->comm.rank == 0)
        printf("# churning\n");
    fflush(stdout);
    for (int i = 0;; i++)
        if (!run(w, i % 2, i % 3))
            par_abort(1);
}

static void die(struct world *w, int changes, bool shared)
{
    if (!run(w, !shared, true))
        par_abort(1);
    doom.changes = changes;
    doom.armed = true;
    if (!run(w, shared, true))
        par_abort(1);
    doom.armed = false;
}

static void try_write(struct world *w, const char *message)
{
    struct layout layout = plan(w, false);
    const struct precheck_input in = {
        .path = "test", .layout = &layout, .write = true, .repeats = 1};
    struct precheck_result pre = {0};
    struct iobm_error err = {0};
    enum iobm_status status;

    layout.total_bytes = 4 << 20;
    status = precheck_all(&w->comm, &w->map, &in, &pre, &err);
    report(w,
           status == IOBM_EIO && same_outcome(w, status, &err) &&
               strstr(err.text, message),
           "%s", err.text);
    manifest_release(&pre.manifest);
    if (w->comm.rank == 0)
        printf("1..%d\n", w->tests);
}

/* ---- nodes that are none */

static void play_nodes(struct node_map *map, int rank, int nodes)
{
    int each = (map->ranks + nodes - 1) / nodes;

    map->nodes = (map->ranks + each - 1) / each;
    memset(map->node_ranks, 0, (size_t)map->ranks * sizeof(*map->node_ranks));
    for (int r = 0; r < map->ranks; r++) {
        int node = r / each;

        map->node_of[r] = node;
        if (map->node_ranks[node]++ == 0)
            map->node_leader[node] = r;
    }
    for (int n = 0; n < map->nodes; n++)
        snprintf(map->host[n], sizeof(map->host[n]), "node%d", n);
    map->leads_node = rank % each == 0;
}

static void enter_folder(const struct world *w)
{
    char name[32];

    snprintf(name, sizeof(name), "node%d", w->map.node_of[w->comm.rank]);
    if (w->map.leads_node)
        mkdir(name, 0755);
    meet(w);
    if (chdir(name) != 0)
        par_abort(1);
}

int main(int argc, char **argv)
{
    struct world w = {.comm = {.size = 0}};
    struct iobm_error err = {0};
    int nodes = 1, changes = 0, at = 1;

    if (par_init(&argc, &argv, &w.comm, &err) != IOBM_OK ||
        nodes_init_all(&w.comm, &w.map, &err) != IOBM_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    if (at < argc && sscanf(argv[at], "nodes=%d", &nodes) == 1)
        at++;
    w.apart = at < argc && strcmp(argv[at], "apart") == 0;
    at += w.apart;
    play_nodes(&w.map, w.comm.rank, nodes);
    if (w.apart)
        enter_folder(&w);
    if (at < argc && strcmp(argv[at], "limited") == 0) {
        at++;
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 20, 1 << 20});
    }
    if (at < argc && strcmp(argv[at], "churn") == 0)
        churn(&w);
    else if (at < argc && sscanf(argv[at], "die=%d", &changes) == 1)
        die(&w, changes, at + 1 < argc);
    else if (at + 1 < argc && strcmp(argv[at], "try") == 0)
        try_write(&w, argv[at + 1]);
    else
        check(&w);
    nodes_release(&w.map);
    par_finalize(&w.comm);
    return w.failed;
}
