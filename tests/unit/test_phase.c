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
static int64_t the_tick_ns; /* what a reading takes */
static int the_readings;

int64_t clock_now_ns(void)
{
    the_time_ns += the_tick_ns;
    the_readings++;
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
    int64_t xfer_ns; /* what a transfer takes; 0: XFER_NS, and calls are
                        noted */
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

    if (f->xfer_ns > 0) {
        the_time_ns += f->xfer_ns;
        op->done = op->size;
        return IOBM_OK;
    }

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
    int64_t next_ns;
};

static bool fake_next(void *state, struct iobm_op *op)
{
    struct plan *plan = state;

    if (plan->made == plan->ops)
        return false;
    the_time_ns += plan->next_ns;
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

#define SLOTS 256

struct rig {
    struct iobm_comm comm;
    struct stop stop;
    struct watch watch;
    struct phase_log log;
    int64_t room[8][2];
    void *slot_room;
    int64_t slot_ns;
    char buffer[4096];
};

/* The ways in which a phase may be run. */
static const struct mode {
    const char *name;
    enum iobm_op_kind kind;
    int64_t transfer_bytes; /* the most, as the phase is told */
    bool shares;            /* readings of the clock, but for sync_each */
    bool bare;
} modes[] = {
    {"read", IOBM_OP_READ, 1 << 20, true, false},
    {"write of a block", IOBM_OP_WRITE, 4096, true, false},
    {"write of more", IOBM_OP_WRITE, 4097, false, false},
    {"read, bare", IOBM_OP_READ, 4096, true, true},
    {"write, bare", IOBM_OP_WRITE, 8192, false, true},
};

#define MODES (sizeof(modes) / sizeof(modes[0]))

static int count(const char *text, const char *any)
{
    int n = 0;

    for (; *text; text++)
        n += strchr(any, *text) != NULL;
    return n;
}

static void begin_log(struct rig *rig)
{
    for (int c = 0; c < PHASE_CLASSES; c++)
        hist_init(&rig->log.hist[c]);
    slots_init(&rig->log.slots, rig->slot_room, SLOTS, the_time_ns,
               rig->slot_ns);
    rig->log.marks = (struct marks){.at = rig->room, .room = 8};
}

static void run_plan(struct rig *rig, const struct phase_case *p,
                     struct plan *plan, struct fake *fake,
                     const struct mode *mode, struct data *data,
                     struct phase_output *out)
{
    const struct phase_input in = {
        .backend = &fake_backend,
        .state = fake,
        .how = {.path = "F", .transfer_bytes = mode->transfer_bytes},
        .kind = mode->kind,
        .workload = &fake_workload,
        .plan = plan,
        .turns = p->turns,
        .collective = p->collective,
        .sync_each = p->sync_each,
        .sync_end = p->sync_end,
        .sync_always = p->sync_always,
        .data = mode->kind == IOBM_OP_WRITE ? data : NULL,
        .buffer = mode->kind == IOBM_OP_WRITE ? NULL : rig->buffer,
        .stop = &rig->stop,
        .watch = &rig->watch,
        .log = mode->bare ? NULL : &rig->log,
    };

    assert_int_equal(phase_shares_stamps(&in), mode->shares && !p->sync_each);
    memset(out, 0xa5, sizeof(*out));
    memset(&rig->watch, 0, sizeof(rig->watch));
    begin_log(rig);
    fake->stop = &rig->stop;
    fake->watch = &rig->watch;
    fake->data = mode->kind == IOBM_OP_WRITE ? data : NULL;
    phase_run(&in, out);
}

static void run_case(struct rig *rig, const struct phase_case *p,
                     struct fake *fake, const struct mode *mode,
                     struct phase_output *out)
{
    struct plan plan = {0, p->ops, NEXT_NS};
    struct iobm_error err;
    struct data data = {0};

    assert_int_equal(data_init(&data, 7, 0, 8 * OP_BYTES, OP_BYTES, &err),
                     IOBM_OK);
    *fake = p->fake;
    run_plan(rig, p, &plan, fake, mode, &data, out);
    data_release(&data);
}

/* The stamps: disjoint, and adding up to the time that went by.  'between' is
 * what went by between the operations and is theirs, or is not. */
static void check_times(const struct phase_case *p,
                        const struct phase_output *o, bool shares,
                        int64_t from_ns, int64_t to_ns)
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
    assert_int_equal(o->latency_sum_ns,
                     inside + end * SYNC_NS + (shares ? between : 0));
    assert_int_equal(o->prepare_ns, shares ? 0 : between);
    if (transfers == 0)
        assert_int_equal(o->latency_max_ns, 0);
    else if (!p->sync_each)
        assert_int_equal(o->latency_max_ns,
                         XFER_NS + (shares && between ? NEXT_NS : 0));
}

/* One class: 'n' operations, each of 'ns'. */
static void check_class(const struct hist *hist, int64_t n, int64_t ns)
{
    assert_int_equal(hist->n, n);
    assert_int_equal(hist->sum_ns, n * ns);
    if (n > 0) {
        assert_int_equal(hist->min_ns, ns);
        assert_int_equal(hist->max_ns, ns);
    }
}

/* Only what succeeded counts, by class. */
static void check_log(const struct rig *rig, const struct phase_case *p,
                      const struct phase_output *o, bool shares)
{
    const struct phase_log *log = &rig->log;
    int64_t ops = 0, bytes = 0;

    check_class(&log->hist[PHASE_OPEN], p->fake.fail != 'o', OPEN_NS);
    check_class(&log->hist[PHASE_TRANSFER], p->done,
                XFER_NS + (shares ? NEXT_NS : 0));
    check_class(&log->hist[PHASE_SYNC],
                count(p->calls, "s") - (p->fake.fail == 's'), SYNC_NS);
    check_class(&log->hist[PHASE_CLOSE],
                count(p->calls, "c") - (p->fake.fail == 'c'), CLOSE_NS);
    for (size_t i = 0; i < log->slots.used; i++) {
        ops += log->slots.slot[i].ops;
        bytes += log->slots.slot[i].bytes;
    }
    assert_int_equal(ops, p->done);
    assert_int_equal(bytes, p->done * OP_BYTES);

    assert_int_equal(log->marks.last_bytes, p->bytes);
    assert_int_equal((int64_t)marks_bytes_at(&log->marks, the_time_ns),
                     p->bytes);
    assert_int_equal(marks_bytes_at(&log->marks, o->start_ns), 0);
}

/* A phase that is not to keep anything does not. */
static void check_nothing_kept(const struct rig *rig)
{
    for (int c = 0; c < PHASE_CLASSES; c++)
        assert_int_equal(rig->log.hist[c].n, 0);
    assert_int_equal(rig->log.slots.slot[0].ops, 0);
    assert_int_equal(rig->log.marks.count, 0);
}

static void check_case(struct rig *rig, const struct phase_case *p,
                       const struct mode *mode)
{
    bool shares = mode->shares && !p->sync_each;
    int64_t from_ns = the_time_ns;
    struct phase_output out;
    struct fake fake;
    struct iobm_error err;

    run_case(rig, p, &fake, mode, &out);
    assert_string_equal(fake.calls, p->calls);
    assert_int_equal(out.status, p->status);
    if (p->text)
        assert_non_null(strstr(out.err.text, p->text));
    assert_int_equal(out.bytes, p->bytes);
    assert_int_equal(out.ops, p->done);
    assert_int_equal(out.errors, p->errors);
    assert_false(fake.wrong_stage);
    assert_false(fake.wrong_data);
    check_times(p, &out, shares, from_ns, the_time_ns);
    if (mode->bare)
        check_nothing_kept(rig);
    else
        check_log(rig, p, &out, shares);
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
    for (size_t m = 0; m < MODES; m++)
        for (size_t i = 0; i < CASES; i++) {
            print_message("# %s: %s\n", modes[m].name, phases[i].name);
            check_case(*state, &phases[i], &modes[m]);
        }
}

/* Short operations, a reading of the clock that takes time, and nothing else
 * that does: what the loop does for itself is read off. */
static void reads_the_clock_seldom(void **state)
{
    static const struct phase_case p = {.turns = IDLE};
    const int64_t ops = 5000;
    struct rig *rig = *state;
    struct iobm_error err;

    the_tick_ns = 10;
    rig->slot_ns = 20 * MS;
    for (size_t m = 0; m < MODES; m++) {
        struct plan plan = {.ops = ops};
        struct fake fake = {.xfer_ns = MS};
        struct data data = {0};
        struct phase_output out;
        int readings, seldom;

        assert_int_equal(data_init(&data, 7, 0, ops * OP_BYTES, OP_BYTES, &err),
                         IOBM_OK);
        the_readings = 0;
        run_plan(rig, &p, &plan, &fake, &modes[m], &data, &out);
        readings = the_readings;
        print_message("# %s: %d readings\n", modes[m].name, readings);
        assert_int_equal(out.ops, ops);

        /* Every 100 ms to look for word; and for each slot and mark. */
        seldom = (int)(out.prepare_ns / the_tick_ns) - 2;
        if (modes[m].shares) {
            assert_true(readings - ops - seldom < 16);
            if (modes[m].bare)
                assert_in_range(seldom, 48, 52);
            else
                assert_in_range(seldom, 240, 350);
        } else {
            assert_in_range(readings - 2 * ops, 0, 15);
            assert_int_equal(seldom, ops);
        }
        /* Never in the latency of the next one. */
        assert_int_equal(out.latency_max_ns, MS + the_tick_ns);
        assert_int_equal(out.latency_sum_ns,
                         ops * (MS + the_tick_ns) + the_tick_ns);
        data_release(&data);
    }
    the_tick_ns = 0;
    rig->slot_ns = SLOTS_WIDTH_NS;
}

/* The marks tell how far the phase was at any time. */
static void marks_its_progress(void **state)
{
    static const struct phase_case p = {.ops = 4, .turns = IDLE};
    struct rig *rig = *state;
    struct phase_output out;
    struct fake fake;

    run_case(rig, &p, &fake, &modes[0], &out);
    for (int done = 0; done <= 4; done++) {
        int64_t at_ns = out.start_ns + done * (NEXT_NS + XFER_NS);

        assert_int_equal(marks_bytes_at(&rig->log.marks, at_ns),
                         done * OP_BYTES);
    }
    assert_int_equal(rig->log.marks.count, 5);
}

static int start_mpi(void **state)
{
    static struct rig rig;
    struct iobm_error err;
    int argc = 0;
    char **argv = NULL;

    *state = &rig;
    rig.slot_ns = SLOTS_WIDTH_NS;
    rig.slot_room = malloc(slots_bytes(SLOTS));
    return !rig.slot_room ||
           par_init(&argc, &argv, &rig.comm, &err) != IOBM_OK ||
           stop_init_all(&rig.stop, &rig.comm, &err) != IOBM_OK;
}

static int end_mpi(void **state)
{
    struct rig *rig = *state;

    stop_release(&rig->stop);
    par_finalize(&rig->comm);
    free(rig->slot_room);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_the_calls_and_stamps_them),
        cmocka_unit_test(reads_the_clock_seldom),
        cmocka_unit_test(marks_its_progress),
    };

    int failed = cmocka_run_group_tests(tests, start_mpi, end_mpi);

    /* Parts of Open MPI that are unloaded by now keep memory, which a leak
     * checker could not tell from ours. */
    fflush(stdout);
    _exit(failed);
}
