/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes test files on several ranks, and verifies them, for verify.t, which
 * spoils them in between.
 *
 *     verify_driver write|verify [KEY=VALUE]...
 *
 *     path=F seed=1 older=3,2 api=posix size=8388608 (of all parts)
 *     transfer=1048576 block=BYTES (strided, shared) shared=0 collective=0
 *     direct=0 grain=1 shift=0 (read the part of the rank so far up)
 *     signal=RANK (gets a signal at its third transfer)
 *
 * verify prints the findings and the sums.  Exits with 1 and a message when it
 * could not be done; with 0 whatever was found, as mpirun takes its time when
 * a rank fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/data.h"
#include "engine/verify.h"
#include "iobm/workload.h"

#define OLDER_MAX 8

static struct {
    struct iobm_comm comm;
    const char *path, *api;
    uint64_t seed, older[OLDER_MAX];
    size_t older_count;
    struct layout layout;
    int shift, signal;
    bool collective, direct;

    struct iobm_backend backend; /* with a transfer of ours */
    const struct iobm_backend *real;
    void *state;
    struct stop stop;
    struct watch watch;
    int transfers;
} test;

/* ---- words ---- */

static bool take(const char *word)
{
    const char *value = strchr(word, '=');
    size_t n = value ? (size_t)(value - word) : 0;
    int64_t number = value ? strtoll(value + 1, NULL, 10) : 0;
    struct layout *l = &test.layout;
    char *next;

#define IS(name) (n == strlen(name) && strncmp(word, name, n) == 0)
    if (IS("path"))
        test.path = value + 1;
    else if (IS("api"))
        test.api = value + 1;
    else if (IS("seed"))
        test.seed = (uint64_t)number;
    else if (IS("size"))
        l->total_bytes = number;
    else if (IS("transfer"))
        l->transfer_bytes = number;
    else if (IS("grain"))
        l->grain_bytes = number;
    else if (IS("shared"))
        l->shared = number;
    else if (IS("collective"))
        test.collective = number;
    else if (IS("direct"))
        test.direct = number;
    else if (IS("shift"))
        test.shift = (int)number;
    else if (IS("signal"))
        test.signal = (int)number;
    else if (IS("block")) {
        l->block_bytes = number;
        l->strided = l->shared = true;
    } else if (IS("older")) {
        for (next = (char *)(uintptr_t)value;
             next && *next && test.older_count < OLDER_MAX;)
            test.older[test.older_count++] = strtoull(next + 1, &next, 10);
    } else {
        return false;
    }
#undef IS
    return true;
}

/* ---- the back end, with a signal in it ---- */

static enum iobm_status transfer(void *state, void *file, struct iobm_op *op,
                                 struct iobm_error *err)
{
    int64_t until_ns = clock_now_ns() + INT64_C(10000000000);

    if (++test.transfers == 3 && test.signal == test.comm.rank) {
        kill(getpid(), SIGUSR2);
        while (!test.stop.flag && clock_now_ns() < until_ns)
            clock_sleep_ns(1000000); /* the second thread takes it */
    }
    return test.real->xfer(state, file, op, err);
}

static enum iobm_status begin_backend(struct iobm_error *err)
{
    const struct iobm_backend_env env = {
        .comm = &test.comm,
        .shared = test.layout.shared,
        .collective = test.collective,
    };

    test.real = iobm_backend_find(test.api);
    if (!test.real)
        return iobm_fail(err, IOBM_EUSAGE, "no back end '%s'", test.api);
    test.backend = *test.real;
    test.backend.xfer = transfer;
    test.state = calloc(1, test.real->state_size + 1);
    if (!test.state)
        return iobm_fail(err, IOBM_ENOMEM, "no memory");
    return test.real->start ? test.real->start(test.state, &env, err) : IOBM_OK;
}

static const char *path_of(int part, char *text, size_t room)
{
    if (test.layout.shared)
        snprintf(text, room, "%s", test.path);
    else
        snprintf(text, room, "%s.%d", test.path, part);
    return text;
}

/* ---- write ---- */

static enum iobm_status make_shared_all(struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;

    if (test.layout.shared && test.comm.rank == 0) {
        int fd = open(test.path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

        if (fd < 0 || close(fd) != 0)
            status =
                iobm_fail_errno(err, errno, "cannot create '%s'", test.path);
    }
    return par_agree_all(&test.comm, status, NULL, err);
}

static enum iobm_status write_ops(void *file, struct data *data, void *plan,
                                  struct iobm_error *err)
{
    const struct iobm_workload *workload = iobm_workload_find("sequential");
    const struct iobm_workload_input in = {&test.layout, test.comm.rank,
                                           IOBM_OP_WRITE, test.seed};
    int64_t turns = layout_max_ops(&test.layout);
    enum iobm_status status = workload->plan(plan, &in, err);

    for (int64_t turn = 0; turn < turns && status == IOBM_OK; turn++) {
        struct iobm_op op = {.kind = IOBM_OP_WRITE};

        if (workload->next(plan, &op))
            data_prepare(data, &op);
        else
            op = (struct iobm_op){
                .kind = IOBM_OP_WRITE,
                .offset = layout_part_offset(&test.layout, test.comm.rank),
                .buffer = data->pool};
        if (op.size > 0 || test.collective)
            status = test.real->xfer(test.state, file, &op, err);
    }
    return status;
}

static enum iobm_status write_all(struct iobm_error *err)
{
    const struct layout *l = &test.layout;
    int rank = test.comm.rank, number = l->shared ? 0 : rank;
    char path[512];
    const struct iobm_open how = {
        .path = path_of(rank, path, sizeof(path)),
        .mode = IOBM_OPEN_WRITE |
                (l->shared ? 0U : (unsigned)IOBM_OPEN_CREATE) |
                (test.direct ? (unsigned)IOBM_OPEN_DIRECT : 0U),
        .file_bytes = layout_file_bytes(l, number),
        .alignment_bytes = l->grain_bytes,
        .transfer_bytes = l->transfer_bytes,
        .first_byte = layout_part_offset(l, rank),
        .part_bytes = layout_part_bytes(l, rank),
        .block_bytes = l->strided ? l->block_bytes : 0,
        .stride_bytes = l->strided ? l->block_bytes * l->parts : 0,
    };
    void *file = calloc(1, test.real->file_size + 1);
    void *plan = calloc(1, 4096);
    struct data data;
    enum iobm_status status, closed;

    if (!l->shared)
        unlink(how.path);
    status = make_shared_all(err);
    if (status == IOBM_OK)
        status = data_init(&data, test.seed, number, how.part_bytes,
                           l->transfer_bytes, err);
    if (status == IOBM_OK)
        status = test.real->open(test.state, &how, file, err);
    if (status == IOBM_OK) {
        status = write_ops(file, &data, plan, err);
        if (status == IOBM_OK)
            status = test.real->sync(test.state, file, err);
        closed =
            test.real->close(test.state, file, status == IOBM_OK ? err : NULL);
        status = status == IOBM_OK ? closed : status;
        data_release(&data);
    }
    free(file);
    free(plan);
    return par_agree_all(&test.comm, status, NULL, err);
}

/* ---- verify ---- */

static void no_signal(void *arg, int signal_number)
{
    (void)arg;
    (void)signal_number;
}

static void is_stuck(void *arg, enum watch_stage stage, int64_t ns)
{
    (void)arg;
    fprintf(stderr, "verify_driver: no progress for %lld ms in stage %s\n",
            (long long)ns / 1000000, watch_stage_name(stage));
    _exit(9);
}

static void no_status(void *arg)
{
    (void)arg;
}

static void print(const struct iobm_detail *detail,
                  const struct verify_result *sum)
{
    for (size_t i = 0; i < detail->finding_count; i++) {
        const struct iobm_finding_row *f = &detail->findings[i];

        printf("rank %lld part %lld %s: %s at %lld, %lld bytes in %lld blocks, "
               "%s not %s (%s)\n",
               (long long)f->rank, (long long)f->part, f->path, f->kind,
               (long long)f->offset, (long long)f->bytes, (long long)f->blocks,
               f->actual, f->expected, f->whose);
    }
    printf("checked %lld, wrong %lld\n", (long long)sum->bytes,
           (long long)sum->errors);
    fflush(stdout);
}

/* The sums must be the same on all ranks. */
static enum iobm_status compare_all(const struct verify_result *sum,
                                    struct iobm_error *err)
{
    int64_t most[2] = {sum->bytes, sum->errors};
    enum iobm_status status = par_max_all(&test.comm, most, 2, err);

    if (status == IOBM_OK && (most[0] != sum->bytes || most[1] != sum->errors))
        status = iobm_fail(err, IOBM_EBUG, "the sums differ");
    return par_agree_all(&test.comm, status, NULL, err);
}

static enum iobm_status verify_all(struct iobm_error *err)
{
    const struct watch_calls calls = {no_signal, is_stuck, no_status, NULL};
    struct measure measure = {
        .comm = &test.comm,
        .stop = &test.stop,
        .watch = &test.watch,
        .backend = &test.backend,
        .state = test.state,
    };
    char path[512];
    int part = (test.comm.rank + test.shift) % test.comm.size;
    const struct measure_phase phase = {
        .kind = IOBM_OP_READ,
        .layout = &test.layout,
        .part = part,
        .path = path_of(part, path, sizeof(path)),
        .alignment_bytes = test.layout.grain_bytes,
        .direct = test.direct,
        .collective = test.collective,
    };
    const struct verify_seeds seeds = {test.seed, test.older, test.older_count};
    struct iobm_detail detail = {0};
    struct verify_result sum = {-1, -1};
    struct iobm_error other;
    enum iobm_status status = stop_init_all(&test.stop, &test.comm, err), same;

    if (status == IOBM_OK)
        status = watch_start(&test.watch, &calls, 0, err);
    status = par_agree_all(&test.comm, status, NULL, err);
    if (status != IOBM_OK)
        return status;
    watch_attach(&test.watch, &test.stop, INT64_C(5000000000));
    status = verify_phase_all(&measure, &phase, &seeds, 0, 0,
                              test.comm.rank == 0 ? &detail : NULL, &sum, err);
    watch_end(&test.watch);
    same = compare_all(&sum, &other);
    if (same != IOBM_OK) {
        *err = other;
        status = same;
    }
    if (test.comm.rank == 0)
        print(&detail, &sum);
    stop_release(&test.stop);
    free(detail.findings);
    return status;
}

int main(int argc, char **argv)
{
    struct iobm_error err = {.rank = -1};
    enum iobm_status status;
    bool usage = argc < 2;

    watch_block_signals();
    if (par_init(&argc, &argv, &test.comm, &err) != IOBM_OK)
        return 1;
    test.path = "F";
    test.api = "posix";
    test.seed = 1;
    test.signal = -1;
    test.layout = (struct layout){
        .parts = test.comm.size,
        .total_bytes = 8 << 20,
        .transfer_bytes = 1 << 20,
        .grain_bytes = 1,
    };
    for (int i = 2; i < argc; i++)
        usage |= !take(argv[i]);
    status = usage ? iobm_fail(&err, IOBM_EUSAGE, "see the source")
                   : layout_check(&test.layout, &err);
    if (status == IOBM_OK)
        status = begin_backend(&err);
    status = par_agree_all(&test.comm, status, NULL, &err);
    if (status == IOBM_OK)
        status =
            strcmp(argv[1], "write") == 0 ? write_all(&err) : verify_all(&err);
    if (status != IOBM_OK && test.comm.rank == 0)
        fprintf(stderr, "verify_driver: rank %d: %s\n", err.rank, err.text);
    if (test.real && test.real->stop && test.state)
        test.real->stop(test.state);
    free(test.state);
    par_finalize(&test.comm);
    return status != IOBM_OK;
}
