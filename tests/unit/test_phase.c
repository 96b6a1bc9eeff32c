/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timed loop of one rank, with a back end and a workload that exist in
 * this file alone and a clock that moves only when they say so: which calls
 * are made in which order, what the stamps add up to, what ends it.  A world
 * of one rank: how ranks stop each other is tests/ranks'.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "engine/phase.h"

#define MS INT64_C(1000000)

/* What each takes; no two sums of them are alike. */
#define OPEN_NS  (1 * MS)
#define NEXT_NS  (10 * MS)
#define XFER_NS  (60 * MS)
#define SYNC_NS  (1000 * MS)
#define CLOSE_NS (100000 * MS)

#define OP_BYTES 100

/* ---- the clock ---- */

static int64_t the_time_ns = 5000 * MS;

int64_t clock_now_ns(void)
{
    return the_time_ns;
}

int64_t clock_utc_ns(void)
{
    return the_time_ns;
}

void clock_sleep_ns(int64_t ns)
{
    the_time_ns += ns;
}

const char *clock_domain(char *text, size_t room)
{
    snprintf(text, room, "test");
    return text;
}

const char *clock_iso8601(char *text, size_t room, int64_t utc_ns)
{
    snprintf(text, room, "%lld", (long long)utc_ns);
    return text;
}

/* ---- the back end: notes its calls in a text ----
 *
 * o open  x transfer  - idle turn  s sync  c close
 */

struct fake {
    char calls[64];
    int ops;         /* turns so far */
    char fail;       /* which kind of call fails, or 0 */
    int fail_at;     /* 'x' and 's': the how manieth of its kind, from 1 */
    int signal_at;   /* a signal comes during this turn; 0: none */
    int message_at;  /* likewise word from another rank */
    int syncs, next; /* so far */
    struct stop *stop;
    struct watch *watch;
    struct data *data; /* written bytes are checked against it; or NULL */
    bool wrong_data, wrong_stage;
};

/* Note the call; false: it is to fail.  'stage' is what the watchdog would
 * say of it. */
static bool call(struct fake *f, char kind, int64_t ns, enum watch_stage stage)
{
    size_t n = strlen(f->calls);

    assert_true(n + 1 < sizeof(f->calls));
    f->calls[n] = kind;
    if (atomic_load(&f->watch->stage) != (int)stage)
        f->wrong_stage = true;
    the_time_ns += ns;
    return f->fail != kind;
}

static enum iobm_status fake_open(void *state, const struct iobm_open *how,
                                  void *file, struct iobm_error *err)
{
    (void)file;
    if (!call(state, 'o', OPEN_NS, WATCH_OPEN))
        return iobm_fail(err, IOBM_EIO, "cannot open '%s'", how->path);
    return IOBM_OK;
}

static enum iobm_status fake_xfer(void *state, void *file, struct iobm_op *op,
                                  struct iobm_error *err)
{
    struct fake *f = state;
    bool well = call(f, op->size > 0 ? 'x' : '-', XFER_NS, WATCH_TRANSFER) ||
                f->fail_at != f->next + 1;

    (void)file;
    assert_non_null(op->buffer);
    f->ops++;
    f->next += op->size > 0;
    if (op->size > 0 && f->data && data_check(f->data, op) >= 0)
        f->wrong_data = true;
    if (f->signal_at == f->ops)
        f->stop->flag = SIGTERM;
    if (f->message_at == f->ops)
        MPI_Send(NULL, 0, MPI_BYTE, 0, 1, f->stop->comm.mpi);
    op->done = well ? op->size : op->size / 2;
    if (!well)
        return iobm_fail(err, IOBM_EIO, "cannot move at %lld",
                         (long long)op->offset);
    return IOBM_OK;
}

static enum iobm_status fake_sync(void *state, void *file,
                                  struct iobm_error *err)
{
    struct fake *f = state;
    enum watch_stage stage = atomic_load(&f->watch->stage) == WATCH_SYNC
                                 ? WATCH_SYNC
                                 : WATCH_TRANSFER;

    (void)file;
    f->syncs++;
    if (!call(f, 's', SYNC_NS, stage) && f->fail_at == f->syncs)
        return iobm_fail(err, IOBM_EIO, "cannot sync");
    return IOBM_OK;
}

static enum iobm_status fake_close(void *state, void *file,
                                   struct iobm_error *err)
{
    (void)file;
    if (!call(state, 'c', CLOSE_NS, WATCH_CLOSE))
        return iobm_fail(err, IOBM_EIO, "cannot close");
    return IOBM_OK;
}

static const struct iobm_backend fake_backend = {
    .name = "fake",
    .open = fake_open,
    .xfer = fake_xfer,
    .sync = fake_sync,
    .close = fake_close,
};

/* ---- the workload ---- */

struct plan {
    int64_t made, ops;
};

static bool fake_next(void *state, struct iobm_op *op)
{
    struct plan *plan = state;

    if (plan->made == plan->ops)
        return false;
    the_time_ns += NEXT_NS;
    op->offset = plan->made++ * OP_BYTES;
    op->size = OP_BYTES;
    op->block_bytes = op->stride_bytes = 0;
    return true;
}

static const struct iobm_workload fake_workload = {.next = fake_next};

/* ---- phases ---- */

#define IDLE -1 /* not in lockstep */

static const struct phase_case {
    const char *name;
    int64_t ops;   /* that the plan has */
    int64_t turns; /* of all ranks */
    bool collective, sync_each, sync_end, sync_always;
    struct fake fake;
    const char *calls;
    const char *text; /* of the error; NULL: succeeds */
    enum iobm_status status;
    int64_t bytes, done; /* done: operations */
    int64_t errors;
} phases[] = {
    {.name = "no sync",
     .ops = 3,
     .turns = IDLE,
     .calls = "oxxxc",
     .bytes = 300,
     .done = 3},
    {.name = "sync at the end",
     .ops = 2,
     .turns = IDLE,
     .sync_end = true,
     .calls = "oxxsc",
     .bytes = 200,
     .done = 2},
    {.name = "sync after every operation",
     .ops = 2,
     .turns = IDLE,
     .sync_each = true,
     .calls = "oxsxsc",
     .bytes = 200,
     .done = 2},
    {.name = "nothing to do", .turns = IDLE, .calls = "oc"},
    {.name = "nothing to do but a sync",
     .turns = IDLE,
     .sync_end = true,
     .calls = "osc"},
    /* Other ranks have more to do. */
    {.name = "idle turns of collective transfers",
     .ops = 2,
     .turns = 4,
     .collective = true,
     .sync_end = true,
     .sync_always = true,
     .calls = "oxx--sc",
     .bytes = 200,
     .done = 2},
    {.name = "idle turns of collective syncs",
     .ops = 1,
     .turns = 3,
     .sync_each = true,
     .sync_always = true,
     .calls = "oxsssc",
     .bytes = 100,
     .done = 1},
    {.name = "nothing but idle turns",
     .turns = 2,
     .collective = true,
     .calls = "o--c"},

    /* Failures; the case's own error comes first. */
    {.name = "open fails",
     .ops = 3,
     .turns = IDLE,
     .sync_end = true,
     .fake = {.fail = 'o'},
     .calls = "o",
     .text = "cannot open 'F'",
     .status = IOBM_EIO,
     .errors = 1},
    {.name = "the first transfer fails",
     .ops = 3,
     .turns = IDLE,
     .sync_end = true,
     .fake = {.fail = 'x', .fail_at = 1},
     .calls = "oxc",
     .text = "cannot move at 0",
     .status = IOBM_EIO,
     .bytes = 50,
     .errors = 1},
    {.name = "the last transfer fails",
     .ops = 3,
     .turns = IDLE,
     .sync_each = true,
     .fake = {.fail = 'x', .fail_at = 3},
     .calls = "oxsxsxc",
     .text = "cannot move at 200",
     .status = IOBM_EIO,
     .bytes = 250,
     .done = 2,
     .errors = 1},
    {.name = "a collective transfer fails: all turns are made",
     .ops = 3,
     .turns = 4,
     .collective = true,
     .sync_end = true,
     .sync_always = true,
     .fake = {.fail = 'x', .fail_at = 2},
     .calls = "oxx--sc",
     .text = "cannot move at 100",
     .status = IOBM_EIO,
     .bytes = 150,
     .done = 1,
     .errors = 1},
    {.name = "a transfer fails before collective syncs",
     .ops = 3,
     .turns = 3,
     .sync_each = true,
     .sync_always = true,
     .fake = {.fail = 'x', .fail_at = 1},
     .calls = "oxsssc",
     .text = "cannot move at 0",
     .status = IOBM_EIO,
     .bytes = 50,
     .errors = 1},
    {.name = "a sync in between fails",
     .ops = 3,
     .turns = IDLE,
     .sync_each = true,
     .fake = {.fail = 's', .fail_at = 2},
     .calls = "oxsxsc",
     .text = "cannot sync",
     .status = IOBM_EIO,
     .bytes = 200,
     .done = 1,
     .errors = 1},
    {.name = "the sync at the end fails",
     .ops = 2,
     .turns = IDLE,
     .sync_end = true,
     .fake = {.fail = 's', .fail_at = 1},
     .calls = "oxxsc",
     .text = "cannot sync",
     .status = IOBM_EIO,
     .bytes = 200,
     .done = 2,
     .errors = 1},
    {.name = "close fails",
     .ops = 2,
     .turns = IDLE,
     .sync_end = true,
     .fake = {.fail = 'c'},
     .calls = "oxxsc",
     .text = "cannot close",
     .status = IOBM_EIO,
     .bytes = 200,
     .done = 2,
     .errors = 1},

    /* Ends. */
    {.name = "a signal",
     .ops = 4,
     .turns = IDLE,
     .sync_end = true,
     .fake = {.signal_at = 1},
     .calls = "oxc",
     .text = "SIGTERM",
     .status = IOBM_ESTOPPED,
     .bytes = 100,
     .done = 1},
    {.name = "a signal, and then close fails",
     .ops = 4,
     .turns = IDLE,
     .fake = {.signal_at = 2, .fail = 'c'},
     .calls = "oxxc",
     .text = "cannot close",
     .status = IOBM_EIO,
     .bytes = 200,
     .done = 2,
     .errors = 1},
    {.name = "a transfer fails, and then a signal",
     .ops = 4,
     .turns = 4,
     .collective = true,
     .fake = {.fail = 'x', .fail_at = 1, .signal_at = 2},
     .calls = "ox---c",
     .text = "cannot move at 0",
     .status = IOBM_EIO,
     .bytes = 50,
     .errors = 1},
    {.name = "a signal in lockstep",
     .ops = 4,
     .turns = 4,
     .collective = true,
     .sync_end = true,
     .sync_always = true,
     .fake = {.signal_at = 2},
     .calls = "oxx--sc",
     .text = "SIGTERM",
     .status = IOBM_ESTOPPED,
     .bytes = 200,
     .done = 2},
    /* Looked for after 100 ms, that is after every second operation. */
    {.name = "word from another rank",
     .ops = 4,
     .turns = IDLE,
     .sync_end = true,
     .fake = {.message_at = 1},
     .calls = "oxxc",
     .text = "another rank failed",
     .status = IOBM_ESTOPPED,
     .bytes = 200,
     .done = 2},
    {.name = "word after the last operation but one",
     .ops = 4,
     .turns = IDLE,
     .fake = {.message_at = 4},
     .calls = "oxxxxc",
     .text = "another rank failed",
     .status = IOBM_ESTOPPED,
     .bytes = 400,
     .done = 4},
    {.name = "word that comes too late to be looked for",
     .ops = 3,
     .turns = IDLE,
     .fake = {.message_at = 3},
     .calls = "oxxxc",
     .bytes = 300,
     .done = 3},
};

#define CASES (sizeof(phases) / sizeof(phases[0]))

struct rig {
    struct iobm_comm comm;
    struct stop stop;
    struct watch watch;
    struct marks marks;
    int64_t room[8][2];
    char buffer[4096];
};

static int count(const char *text, const char *any)
{
    int n = 0;

    for (; *text; text++)
        n += strchr(any, *text) != NULL;
    return n;
}

static void run_case(struct rig *rig, const struct phase_case *p,
                     struct fake *fake, enum iobm_op_kind kind,
                     struct data *data, struct phase_output *out)
{
    struct plan plan = {0, p->ops};
    const struct phase_input in = {
        .backend = &fake_backend,
        .state = fake,
        .how = {.path = "F"},
        .kind = kind,
        .workload = &fake_workload,
        .plan = &plan,
        .turns = p->turns,
        .collective = p->collective,
        .sync_each = p->sync_each,
        .sync_end = p->sync_end,
        .sync_always = p->sync_always,
        .data = data,
        .buffer = data ? NULL : rig->buffer,
        .stop = &rig->stop,
        .watch = &rig->watch,
        .marks = &rig->marks,
    };

    memset(out, 0xa5, sizeof(*out));
    memset(&rig->watch, 0, sizeof(rig->watch));
    rig->marks = (struct marks){.at = rig->room, .room = 8};
    *fake = p->fake;
    fake->stop = &rig->stop;
    fake->watch = &rig->watch;
    fake->data = data;
    phase_run(&in, out);
}

/* The stamps: disjoint, and adding up to the time that went by. */
static void check_times(const struct phase_case *p,
                        const struct phase_output *o, int64_t from_ns,
                        int64_t to_ns)
{
    int transfers = count(p->calls, "x-");
    int syncs = count(p->calls, "s");
    bool end = p->sync_end && strstr(p->calls, "sc");
    int64_t inside = transfers * XFER_NS + (syncs - end) * SYNC_NS;
    /* Operations that were asked for, the failed one included. */
    int64_t between = count(p->calls, "x") * NEXT_NS;

    assert_int_equal(o->open_start_ns, from_ns);
    assert_int_equal(o->start_ns - o->open_start_ns, OPEN_NS);
    assert_int_equal(o->io_end_ns - o->start_ns, inside + between);
    assert_int_equal(o->sync_end_ns - o->io_end_ns, end * SYNC_NS);
    assert_int_equal(o->close_end_ns - o->sync_end_ns,
                     count(p->calls, "c") * CLOSE_NS);
    assert_int_equal(o->close_end_ns, to_ns);
    assert_int_equal(o->latency_sum_ns, inside + end * SYNC_NS);
    assert_int_equal(o->prepare_ns, between);
    if (transfers == 0)
        assert_int_equal(o->latency_max_ns, 0);
    else if (!p->sync_each)
        assert_int_equal(o->latency_max_ns, XFER_NS);
}

static void check_case(struct rig *rig, const struct phase_case *p)
{
    int64_t from_ns = the_time_ns;
    struct phase_output out;
    struct fake fake;
    struct iobm_error err;

    run_case(rig, p, &fake, IOBM_OP_READ, NULL, &out);
    assert_string_equal(fake.calls, p->calls);
    assert_int_equal(out.status, p->status);
    if (p->text)
        assert_non_null(strstr(out.err.text, p->text));
    assert_int_equal(out.bytes, p->bytes);
    assert_int_equal(out.ops, p->done);
    assert_int_equal(out.errors, p->errors);
    assert_false(fake.wrong_stage);
    check_times(p, &out, from_ns, the_time_ns);

    assert_int_equal(rig->marks.last_bytes, p->bytes);
    assert_int_equal((int64_t)marks_bytes_at(&rig->marks, the_time_ns),
                     p->bytes);
    assert_int_equal(marks_bytes_at(&rig->marks, out.start_ns), 0);
    assert_int_equal(atomic_load(&rig->watch.stage), WATCH_IDLE);
    assert_int_equal(atomic_load(&rig->watch.bytes), p->bytes);
    assert_int_equal(atomic_load(&rig->watch.beat_ns), the_time_ns);

    /* Word that was not looked for, of which no rank has told. */
    if (p->fake.message_at && p->status == IOBM_OK)
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, rig->stop.comm.mpi,
                 MPI_STATUS_IGNORE);
    /* Who failed has told; the next phase begins afresh. */
    assert_true(rig->stop.stopped || p->status == IOBM_OK ||
                strchr("sc", p->fake.fail));
    rig->stop.flag = 0;
    assert_int_equal(stop_settle_all(&rig->stop, &err), IOBM_OK);
    assert_false(rig->stop.stopped);
}

static void makes_the_calls_and_stamps_them(void **state)
{
    for (size_t i = 0; i < CASES; i++) {
        print_message("# %s\n", phases[i].name);
        check_case(*state, &phases[i]);
    }
}

/* What is written is the data of the offset, stamped before each call. */
static void writes_its_data(void **state)
{
    static const struct phase_case p = {
        .ops = 4, .turns = 5, .collective = true};
    struct rig *rig = *state;
    struct iobm_error err;
    struct data data = {0};
    struct phase_output out;
    struct fake fake;

    assert_int_equal(data_init(&data, 7, 0, 400, 100, &err), IOBM_OK);
    run_case(rig, &p, &fake, IOBM_OP_WRITE, &data, &out);
    assert_string_equal(fake.calls, "oxxxx-c");
    assert_int_equal(out.status, IOBM_OK);
    assert_false(fake.wrong_data);
    data_release(&data);
}

/* The marks tell how far the phase was at any time. */
static void marks_its_progress(void **state)
{
    static const struct phase_case p = {.ops = 4, .turns = IDLE};
    struct rig *rig = *state;
    struct phase_output out;
    struct fake fake;

    run_case(rig, &p, &fake, IOBM_OP_READ, NULL, &out);
    for (int done = 0; done <= 4; done++) {
        int64_t at_ns = out.start_ns + done * (NEXT_NS + XFER_NS);

        assert_int_equal(marks_bytes_at(&rig->marks, at_ns), done * OP_BYTES);
    }
    assert_int_equal(rig->marks.count, 5);
}

static int start_mpi(void **state)
{
    static struct rig rig;
    struct iobm_error err;
    int argc = 0;
    char **argv = NULL;

    *state = &rig;
    return par_init(&argc, &argv, &rig.comm, &err) != IOBM_OK ||
           stop_init_all(&rig.stop, &rig.comm, &err) != IOBM_OK;
}

static int end_mpi(void **state)
{
    struct rig *rig = *state;

    stop_release(&rig->stop);
    par_finalize(&rig->comm);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_the_calls_and_stamps_them),
        cmocka_unit_test(writes_its_data),
        cmocka_unit_test(marks_its_progress),
    };

    int failed = cmocka_run_group_tests(tests, start_mpi, end_mpi);

    /* Parts of Open MPI that are unloaded by now keep memory, which a leak
     * checker could not tell from ours. */
    fflush(stdout);
    _exit(failed);
}
