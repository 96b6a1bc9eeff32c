/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verification without a file: a part is read back from memory that a test
 * has spoilt, by a back end that can also fail.  What is found is compared
 * with what a plain comparison of all bytes says.  A world of one rank: how
 * several work together is tests/ranks'.
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

#include "base/layout.h"
#include "base/rng.h"
#include "engine/verify.h"
#include "engine/verify_part.h"

#define KIB   INT64_C(1024)
#define MIB   (KIB * KIB)
#define BLOCK DATA_BLOCK_BYTES

#define SEED  UINT64_C(1000)
#define OLD_1 UINT64_C(77)
#define OLD_2 UINT64_C(78)

static const uint64_t older[] = {OLD_1, OLD_2};
static const uint64_t writes[] = {SEED, OLD_1, OLD_2};

/* 'bytes' at 'offset' of a file, as they were written with 'seed'. */
static void written(uint64_t seed, int file, int64_t offset, int64_t bytes,
                    unsigned char *out)
{
    struct iobm_error err;
    struct data data;

    assert_int_equal(data_init(&data, seed, file, 1, 1, &err), IOBM_OK);
    data_expect(&data, offset, bytes, out);
    data_release(&data);
}

/* ---- one block ---- */

/* What is done to [from, to) of the bytes that are looked at. */
enum deed { ZERO, POISON, COPY, FLIP, GARBAGE, SHIFT };

static const struct block_case {
    const char *name;
    int64_t offset, bytes; /* of file 5 */
    enum deed deed;
    int64_t from, to;
    uint64_t seed; /* copy: of whose block */
    int file;
    int64_t source; /* block of that file */
    int bits;       /* flip: how many, evenly over the range */
    enum diagnose_kind kind;
    const char *whose;
} blocks[] = {
    {"zeros", 8192, 4096, ZERO, 0, 4096, .kind = DIAGNOSE_LOST, .whose = ""},
    {"a sector of zeros", 8192, 4096, ZERO, 512, 1024, .kind = DIAGNOSE_LOST,
     .whose = ""},
    {"zeros at the end", 8192, 4096, ZERO, 4000, 4096, .kind = DIAGNOSE_LOST,
     .whose = ""},
    {"a short last block of zeros", 8192, 100, ZERO, 0, 100,
     .kind = DIAGNOSE_LOST, .whose = ""},
    {"a piece of two bytes of zeros", 8192, 2, ZERO, 0, 2,
     .kind = DIAGNOSE_LOST, .whose = ""},
    {"nothing was read", 8192, 4096, POISON, 0, 4096,
     .kind = DIAGNOSE_UNREADABLE,
     .whose = "the read said all went well, but brought nothing"},
    {"half was not read", 8192, 4096, POISON, 2048, 4096,
     .kind = DIAGNOSE_UNREADABLE,
     .whose = "the read said all went well, but brought nothing"},

    {"one bit", 8192, 4096, FLIP, 1000, 1001, .bits = 1,
     .kind = DIAGNOSE_FLIPPED, .whose = ""},
    {"a bit of the stamp", 8192, 4096, FLIP, 3, 4, .bits = 1,
     .kind = DIAGNOSE_FLIPPED, .whose = ""},
    {"two bits far from each other", 8192, 4096, FLIP, 0, 4096, .bits = 2,
     .kind = DIAGNOSE_FLIPPED, .whose = ""},
    {"a line that is stuck", 8192, 4096, FLIP, 0, 4096, .bits = 512,
     .kind = DIAGNOSE_FLIPPED, .whose = ""},

    {"the write before", 8192, 4096, COPY, 0, 4096, OLD_1, 5, 2,
     .kind = DIAGNOSE_STALE, .whose = "1 write ago"},
    {"the one before that", 8192, 4096, COPY, 0, 4096, OLD_2, 5, 2,
     .kind = DIAGNOSE_STALE, .whose = "2 writes ago"},
    {"a torn write", 8192, 4096, COPY, 1024, 4096, OLD_2, 5, 2,
     .kind = DIAGNOSE_STALE, .whose = "2 writes ago"},
    {"a sector of before", 8192, 4096, COPY, 0, 512, OLD_1, 5, 2,
     .kind = DIAGNOSE_STALE, .whose = "1 write ago"},
    {"a piece of before, without a stamp", 8292, 300, COPY, 0, 300, OLD_1, 5, 2,
     .kind = DIAGNOSE_STALE, .whose = "1 write ago"},
    {"of before and of another place", 8192, 4096, COPY, 0, 4096, OLD_1, 5, 70,
     .kind = DIAGNOSE_STALE, .whose = "1 write ago, file 5, offset 286720"},
    {"of before and of another file", 8192, 4096, COPY, 0, 4096, OLD_2, 9, 2,
     .kind = DIAGNOSE_STALE, .whose = "2 writes ago, file 9, offset 8192"},
    {"a sector of before and of another place", 8192, 4096, COPY, 512, 1024,
     OLD_2, 5, 70, .kind = DIAGNOSE_STALE,
     .whose = "2 writes ago, not known of which place"},

    {"another place", 8192, 4096, COPY, 0, 4096, SEED, 5, 256,
     .kind = DIAGNOSE_SWAPPED, .whose = "file 5, offset 1048576"},
    {"the same place in the pool", 8192, 4096, COPY, 0, 4096, SEED, 5,
     2 + DATA_POOL_BLOCKS, .kind = DIAGNOSE_SWAPPED,
     .whose = "file 5, offset 4231168"},
    {"a neighbour's", 8192, 4096, COPY, 0, 4096, SEED, 4, 0,
     .kind = DIAGNOSE_SWAPPED, .whose = "file 4, offset 0"},
    {"a file far away", 8192, 4096, COPY, 0, 4096, SEED, 99999,
     INT64_C(1) << 30, .kind = DIAGNOSE_SWAPPED,
     .whose = "file 99999, offset 4398046511104"},
    {"two sectors of another file", 8192, 4096, COPY, 0, 1024, SEED, 7, 1,
     .kind = DIAGNOSE_SWAPPED, .whose = "file 7, offset 4096"},
    {"a sector of another file, without a stamp", 8192, 4096, COPY, 512, 1024,
     SEED, 7, 1, .kind = DIAGNOSE_SWAPPED, .whose = "not known of which place"},
    {"a short last block of another file", 8192, 20, COPY, 0, 20, SEED, 7, 1,
     .kind = DIAGNOSE_SWAPPED, .whose = "file 7, offset 4096"},

    {"garbage", 8192, 4096, GARBAGE, 0, 4096, .kind = DIAGNOSE_UNKNOWN,
     .whose = ""},
    {"garbage at the end", 8192, 4096, GARBAGE, 4000, 4096,
     .kind = DIAGNOSE_UNKNOWN, .whose = ""},
    {"a write that is not known", 8192, 4096, COPY, 0, 4096, 79, 5, 2,
     .kind = DIAGNOSE_UNKNOWN, .whose = ""},
    {"a file that there is not", 8192, 4096, COPY, 0, 4096, SEED, 100000, 2,
     .kind = DIAGNOSE_SWAPPED, .whose = "not known of which place"},
    {"shifted by a byte", 8192, 4096, SHIFT, 0, 4095, .kind = DIAGNOSE_UNKNOWN,
     .whose = ""},
};

static void spoil(const struct block_case *c, unsigned char *got)
{
    unsigned char other[4096];
    int64_t bytes = c->to - c->from;
    int64_t within = c->offset % BLOCK;

    switch (c->deed) {
    case ZERO:
        memset(got + c->from, 0, (size_t)bytes);
        break;
    case POISON:
        memset(got + c->from, DIAGNOSE_POISON, (size_t)bytes);
        break;
    case COPY:
        written(c->seed, c->file, c->source * BLOCK + within, c->bytes, other);
        memcpy(got + c->from, other + c->from, (size_t)bytes);
        break;
    case FLIP:
        for (int i = 0; i < c->bits; i++)
            got[c->from + bytes * i / c->bits] ^= (unsigned char)(1 << i % 8);
        break;
    case GARBAGE:
        rng_fill(other, sizeof(other), 999, 0);
        memcpy(got + c->from, other, (size_t)bytes);
        break;
    case SHIFT:
        memmove(got + c->from, got + c->from + 1, (size_t)bytes);
        break;
    }
}

static void names_what_became_of_a_block(void **state)
{
    struct iobm_error err;
    struct data data;
    struct diagnose d = {
        .data = &data, .seed = writes, .writes = 3, .file = 5, .files = 100000};

    (void)state;
    assert_int_equal(data_init(&data, SEED, 5, 64 * MIB, BLOCK, &err), IOBM_OK);
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
        const struct block_case *c = &blocks[i];
        unsigned char want[4096] = {0}, got[4096];
        struct diagnosis out;
        char whose[128];
        int64_t first = -1, wrong = 0;

        diagnose_init(&d);
        data_expect(&data, c->offset, c->bytes, want);
        memcpy(got, want, sizeof(got));
        spoil(c, got);
        diagnose_block(&d, c->offset, c->bytes, got, &out);
        diagnose_whose(&out, whose, sizeof(whose));
        for (int64_t k = 0; k < c->bytes; k++)
            if (got[k] != want[k]) {
                first = first < 0 ? k : first;
                wrong++;
            }
        if (out.kind != c->kind || strcmp(whose, c->whose) != 0)
            fail_msg("%s: %s, '%s'", c->name, diagnose_name(out.kind), whose);
        assert_int_equal(out.first, first);
        assert_int_equal(out.bytes, wrong);
        if (c->deed == FLIP)
            assert_int_equal(out.bits, c->bits);
    }
    data_release(&data);
}

/* After so many searches none is made any more, but what was found goes on
 * being found: a file that is another's from end to end. */
static void searches_within_bounds(void **state)
{
    struct iobm_error err;
    struct data data;
    struct diagnose d = {
        .data = &data, .seed = writes, .writes = 3, .file = 5, .files = 100000};
    struct diagnosis out;
    unsigned char got[4096];

    (void)state;
    assert_int_equal(data_init(&data, SEED, 5, 64 * MIB, BLOCK, &err), IOBM_OK);
    diagnose_init(&d);
    for (int64_t b = 0; b < 3000; b++) {
        written(SEED, 77777, b * BLOCK, BLOCK, got);
        diagnose_block(&d, b * BLOCK, BLOCK, got, &out);
        assert_int_equal(out.kind, DIAGNOSE_SWAPPED);
        assert_int_equal(out.file, 77777);
        assert_true(out.offset == b * BLOCK);
    }
    /* Garbage uses them up. */
    for (int64_t b = 0; b < 3000; b++) {
        rng_fill(got, sizeof(got), 999, (uint64_t)b * 512);
        diagnose_block(&d, b * BLOCK, BLOCK, got, &out);
        assert_int_equal(out.kind, DIAGNOSE_UNKNOWN);
    }
    assert_int_equal(d.searches, 0);
    assert_int_equal(d.scans, 0);
    written(SEED, 77777, 0, BLOCK, got);
    diagnose_block(&d, 0, BLOCK, got, &out);
    assert_int_equal(out.kind, DIAGNOSE_SWAPPED);
    written(SEED, 6, 0, BLOCK, got);
    diagnose_block(&d, 0, BLOCK, got, &out);
    assert_int_equal(out.kind, DIAGNOSE_UNKNOWN);
    written(OLD_2, 5, 0, BLOCK, got);
    diagnose_block(&d, 0, BLOCK, got, &out);
    assert_int_equal(out.kind, DIAGNOSE_STALE);
    memset(got, 0, sizeof(got));
    diagnose_block(&d, 0, BLOCK, got, &out);
    assert_int_equal(out.kind, DIAGNOSE_LOST);
    data_release(&data);
}

/* ---- a back end in memory ---- */

struct bad_range {
    int64_t from, to;
};

struct memory {
    unsigned char *image; /* all of the file */
    int64_t bytes;
    struct bad_range bad; /* cannot be read */
    int fail_reads;       /* the first so many fail, for no lasting reason */
    int lie_from;         /* from this read on: success, nothing comes */
    int short_from;       /* from this read on: success, half comes */
    enum iobm_status open, close;
    int signal_at; /* a signal comes during this read; 0: none */
    struct stop *stop;

    int opens, reads, idles, failed, closes; /* calls */
    bool odd;                                /* against the contract */
    int64_t most_bytes, align, part_from;    /* of the open */
};

static enum iobm_status memory_open(void *state, const struct iobm_open *how,
                                    void *file, struct iobm_error *err)
{
    struct memory *m = state;

    (void)file;
    m->opens++;
    m->most_bytes = how->transfer_bytes;
    m->align = how->alignment_bytes;
    m->part_from = how->first_byte;
    m->odd |= how->mode & IOBM_OPEN_WRITE;
    return m->open == IOBM_OK
               ? IOBM_OK
               : iobm_fail(err, m->open, "cannot open '%s': no", how->path);
}

static enum iobm_status memory_close(void *state, void *file,
                                     struct iobm_error *err)
{
    struct memory *m = state;

    (void)file;
    m->closes++;
    return m->close == IOBM_OK ? IOBM_OK
                               : iobm_fail(err, m->close, "cannot close");
}

static enum iobm_status fail_read(struct memory *m, const struct iobm_op *op,
                                  struct iobm_error *err)
{
    m->failed++;
    return iobm_fail(err, IOBM_EIO,
                     "cannot read 'F' at %lld: medium error (%lld of %lld "
                     "bytes done)",
                     (long long)op->offset, (long long)op->done,
                     (long long)op->size);
}

static enum iobm_status memory_xfer(void *state, void *file, struct iobm_op *op,
                                    struct iobm_error *err)
{
    struct memory *m = state;
    unsigned char *to = op->buffer;
    int64_t offset, n;

    (void)file;
    op->done = 0;
    if (op->size == 0) {
        m->idles++;
        m->odd |= op->offset != m->part_from || !to;
        return IOBM_OK;
    }
    m->reads++;
    m->odd |= op->kind != IOBM_OP_READ || op->size > m->most_bytes ||
              (uintptr_t)to % 4096 != 0 || op->offset % m->align != 0;
    if (m->signal_at == m->reads)
        m->stop->flag = SIGTERM;
    if (m->reads <= m->fail_reads)
        return fail_read(m, op, err);
    if (m->lie_from && m->reads >= m->lie_from) {
        op->done = op->size;
        return IOBM_OK;
    }
    for (; op->done < op->size; op->done += n) {
        n = iobm_op_piece(op, op->done, &offset);
        if (m->short_from && m->reads >= m->short_from && op->done > 0)
            return IOBM_OK;
        if (m->short_from && m->reads >= m->short_from)
            n = (n + 1) / 2;
        if (offset >= m->bytes)
            return fail_read(m, op, err);
        if (offset + n > m->bytes)
            n = m->bytes - offset;
        if (offset < m->bad.to && offset + n > m->bad.from)
            n = offset < m->bad.from ? m->bad.from - offset : 0;
        memcpy(to + op->done, m->image + offset, (size_t)n);
        if (n == 0)
            return fail_read(m, op, err);
    }
    return IOBM_OK;
}

static const struct iobm_backend memory_backend = {
    .name = "memory",
    .caps = IOBM_CAP_SPAN | IOBM_CAP_PERSISTENT | IOBM_CAP_SHARED_FILE,
    .open = memory_open,
    .xfer = memory_xfer,
    .close = memory_close,
};

static const struct iobm_backend plain_backend = {
    .name = "plain",
    .open = memory_open,
    .xfer = memory_xfer,
    .close = memory_close,
};

/* ---- parts ---- */

struct rig {
    struct iobm_comm comm;
    struct stop stop;
    struct watch watch;
};

/* What a verification came to. */
struct outcome {
    enum iobm_status status;
    struct iobm_error err;
    struct verify_result sum;
    struct iobm_detail detail;
};

static void file_make(struct memory *m, const struct layout *layout, int part)
{
    int file = layout->shared ? 0 : part;

    *m = (struct memory){.bytes = layout_file_bytes(layout, file)};
    m->image = malloc((size_t)m->bytes + 1);
    written(SEED, file, 0, m->bytes, m->image);
}

static void verify(struct rig *rig, struct memory *m,
                   const struct iobm_backend *backend,
                   const struct layout *layout, int part, bool collective,
                   struct outcome *out)
{
    const struct measure measure = {
        .comm = &rig->comm,
        .stop = &rig->stop,
        .watch = &rig->watch,
        .backend = backend,
        .state = m,
    };
    const struct measure_phase phase = {
        .kind = IOBM_OP_READ,
        .layout = layout,
        .part = part,
        .path = "F",
        .alignment_bytes = layout->grain_bytes,
        .collective = collective,
    };
    const struct verify_seeds seeds = {SEED, older, 2};

    m->stop = &rig->stop;
    m->opens = m->reads = m->idles = m->failed = m->closes = 0;
    rig->stop.flag = 0;
    memset(out, 0, sizeof(*out));
    out->sum = (struct verify_result){-7, -7};
    out->status = verify_phase_all(&measure, &phase, &seeds, 3, 2, &out->detail,
                                   &out->sum, &out->err);
    assert_false(m->odd);
}

static void outcome_release(struct outcome *out)
{
    free(out->detail.findings);
    out->detail.findings = NULL;
}

/* The rows' totals. */
static void add_up(const struct outcome *out, int64_t *bytes, int64_t *count)
{
    *bytes = *count = 0;
    for (size_t i = 0; i < out->detail.finding_count; i++) {
        const struct iobm_finding_row *row = &out->detail.findings[i];

        *bytes += row->bytes;
        *count += row->blocks;
        assert_int_equal(row->phase, 3);
        assert_int_equal(row->repeat, 2);
        assert_string_equal(row->path, "F");
        assert_true(i == 0 || row[-1].offset <= row->offset);
    }
}

static const struct iobm_finding_row *find(const struct outcome *out,
                                           const char *kind)
{
    for (size_t i = 0; i < out->detail.finding_count; i++)
        if (strcmp(out->detail.findings[i].kind, kind) == 0)
            return &out->detail.findings[i];
    return NULL;
}

static const struct part_case {
    const char *name;
    struct layout layout;
    int part;
} parts[] = {
    {"a file", {false, false, 2, 20 * MIB, MIB, 0, 1}, 1},
    {"one byte", {false, false, 1, 1, MIB, 0, 1}, 0},
    {"no byte", {false, false, 2, 1, MIB, 0, 4096}, 0},
    {"a short last block", {false, false, 1, 3 * MIB + 5, 1000, 0, 1}, 0},
    {"tiny transfers", {false, false, 1, 100001, 1, 0, 1}, 0},
    {"odd transfers", {false, false, 3, 9 * MIB, 1000003, 0, 1}, 2},
    {"huge transfers", {false, false, 1, 40 * MIB, 1024 * MIB, 0, 4096}, 0},
    {"aligned to 64 KiB", {false, false, 1, 3 * MIB + 1, MIB, 0, 65536}, 0},
    {"a part that begins in a block",
     {true, false, 3, 10 * MIB + 1, MIB, 0, 1},
     1},
    {"the last part", {true, false, 3, 10 * MIB + 1, MIB, 0, 1}, 2},
    {"an aligned part", {true, false, 3, 10 * MIB, MIB, 0, 512}, 1},
    {"tiny parts", {true, false, 1000, 10000, 3, 0, 1}, 500},
    {"strided in blocks", {true, true, 3, 9 * MIB, 4096, 4096, 4096}, 1},
    {"strided in large blocks",
     {true, true, 2, 9 * MIB, 100000, 2 * MIB + 1, 1},
     1},
    {"strided in odd blocks", {true, true, 3, 3 * MIB, 1000, 1000, 1}, 2},
    {"strided, pieces shorter than blocks",
     {true, true, 3, 3 * MIB, 77, 1000, 1},
     0},
    {"strided, operations with a stride",
     {true, true, 4, 4 * MIB + 100, 30000, 3000, 1},
     3},
};

#define PARTS (sizeof(parts) / sizeof(parts[0]))

/* Whether a byte of the file is of that part. */
static bool belongs(const struct layout *layout, int part, int64_t offset)
{
    int64_t from = layout_part_offset(layout, part);

    if (layout->strided)
        return offset / layout->block_bytes % layout->parts == part;
    return offset >= from && offset < from + layout_part_bytes(layout, part);
}

/* By plain comparison: wrong bytes of the part, and blocks that hold them. */
static void compare(const struct part_case *c, const struct memory *m,
                    int64_t *bytes, int64_t *count, int64_t *first)
{
    unsigned char *want = malloc((size_t)m->bytes + 1);
    int64_t last = -1;

    written(SEED, c->layout.shared ? 0 : c->part, 0, m->bytes, want);
    *bytes = *count = 0;
    *first = -1;
    for (int64_t i = 0; i < m->bytes; i++) {
        if (m->image[i] == want[i] || !belongs(&c->layout, c->part, i))
            continue;
        if (*first < 0)
            *first = i;
        *bytes += 1;
        *count += i / BLOCK != last;
        last = i / BLOCK;
    }
    free(want);
}

/* Each byte of the part once, in order, and whole 4 KiB blocks. */
static void walks_over_the_part(void **state)
{
    (void)state;
    for (size_t i = 0; i < PARTS; i++)
        for (int span = 0; span < 2; span++) {
            const struct part_case *c = &parts[i];
            const struct layout *l = &c->layout;
            const struct iobm_open how = {
                .first_byte = layout_part_offset(l, c->part),
                .part_bytes = layout_part_bytes(l, c->part),
                .transfer_bytes = 64 * KIB,
                .block_bytes = l->strided ? l->block_bytes : 0,
                .stride_bytes = l->strided ? l->block_bytes * l->parts : 0,
            };
            struct verify_walk walk;
            struct iobm_op op = {.kind = IOBM_OP_WRITE};
            int64_t bytes = 0, next = 0, end;

            verify_walk_init(&walk, &how, span);
            while (verify_walk_next(&walk, &op)) {
                assert_int_equal(op.kind, IOBM_OP_READ);
                assert_in_range(op.size, 1, 64 * KIB);
                assert_true(op.offset >= next);
                for (int64_t done = 0, n, at; done < op.size; done += n) {
                    n = iobm_op_piece(&op, done, &at);
                    assert_true(belongs(l, c->part, at));
                    assert_true(belongs(l, c->part, at + n - 1));
                    next = at + n;
                }
                bytes += op.size;
                end = op.offset + op.size;
                if (bytes < how.part_bytes && !op.stride_bytes &&
                    belongs(l, c->part, end))
                    assert_int_equal(end % (64 * KIB), 0);
            }
            assert_int_equal(bytes, how.part_bytes);
        }
}

static void finds_nothing_in_good_files(void **state)
{
    for (size_t i = 0; i < PARTS; i++)
        for (int way = 0; way < 3; way++) {
            const struct part_case *c = &parts[i];
            struct outcome out;
            struct memory m;

            file_make(&m, &c->layout, c->part);
            verify(*state, &m, way == 0 ? &plain_backend : &memory_backend,
                   &c->layout, c->part, way == 2, &out);
            if (out.status != IOBM_OK || out.sum.errors != 0 ||
                out.detail.finding_count != 0)
                fail_msg("%s: status %d, %lld errors", c->name, out.status,
                         (long long)out.sum.errors);
            assert_int_equal(out.sum.bytes,
                             layout_part_bytes(&c->layout, c->part));
            assert_int_equal(m.opens, 1);
            assert_int_equal(m.closes, 1);
            outcome_release(&out);
            free(m.image);
        }
}

/* Damage of random kinds at random places; some of it is another part's. */
static void damage(struct memory *m, int file, uint64_t seed, int n)
{
    for (int i = 0; i < n; i++) {
        uint64_t k = 4 * (uint64_t)i;
        int64_t at = (int64_t)rng_below(seed, k, (uint64_t)m->bytes);
        int64_t bytes = 1 + (int64_t)rng_below(seed, k + 1, 3 * 4096);
        unsigned char other[3 * 4096];

        if (at + bytes > m->bytes)
            bytes = m->bytes - at;
        switch (rng_below(seed, k + 2, 6)) {
        case 0:
            memset(m->image + at, 0, (size_t)bytes);
            break;
        case 1:
            m->image[at] ^= 0x40;
            break;
        case 2:
            written(OLD_1, file, at, bytes, m->image + at);
            break;
        case 3:
            written(SEED, 3, at + 40960, bytes, m->image + at);
            break;
        case 4:
            written(SEED, file, at + 40960, bytes, m->image + at);
            break;
        default:
            rng_fill(other, sizeof(other), seed, k * 4096);
            memcpy(m->image + at, other, (size_t)bytes);
        }
    }
}

static void counts_as_a_plain_comparison_does(void **state)
{
    for (size_t i = 0; i < PARTS; i++)
        for (uint64_t seed = 1; seed <= 6; seed++) {
            const struct part_case *c = &parts[i];
            int64_t bytes, count, first, got_bytes, got_count;
            struct outcome out;
            struct memory m;

            file_make(&m, &c->layout, c->part);
            damage(&m, c->layout.shared ? 0 : c->part, seed,
                   m.bytes ? 4 * (int)seed : 0);
            compare(c, &m, &bytes, &count, &first);
            verify(*state, &m, seed % 2 ? &plain_backend : &memory_backend,
                   &c->layout, c->part, seed % 3 == 0, &out);
            add_up(&out, &got_bytes, &got_count);
            if (out.sum.errors != count || got_bytes != bytes ||
                got_count != count)
                fail_msg("%s: %lld of %lld blocks, %lld of %lld bytes", c->name,
                         (long long)got_count, (long long)count,
                         (long long)got_bytes, (long long)bytes);
            assert_int_equal(out.status, IOBM_OK);
            assert_int_equal(out.sum.bytes,
                             layout_part_bytes(&c->layout, c->part));
            if (count > 0)
                assert_int_equal(out.detail.findings[0].offset, first);
            outcome_release(&out);
            free(m.image);
        }
}

/* ---- what a finding says ---- */

static const struct layout four_mib = {false, false, 8, 32 * MIB, MIB, 0, 1};

static void a_finding_says_all(void **state)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char want[16];
    char hex[33] = "";
    struct outcome out;
    struct memory m;
    const struct iobm_finding_row *row;

    file_make(&m, &four_mib, 2);
    m.image[4096 + 50] ^= 0x02;
    m.image[3 * 4096] ^= 0x81;
    written(OLD_1, 2, 40 * BLOCK, 2 * BLOCK, m.image + 40 * BLOCK);
    written(SEED, 3, 256 * BLOCK, BLOCK, m.image + 50 * BLOCK);
    m.image[m.bytes - 1] ^= 0xff; /* eight bits: still few */
    verify(*state, &m, &memory_backend, &four_mib, 2, false, &out);
    assert_int_equal(out.sum.errors, 6);
    assert_int_equal(out.detail.finding_count, 3);
    row = &out.detail.findings[0];
    assert_string_equal(row->kind, "flipped");
    assert_int_equal(row->rank, 0);
    assert_int_equal(row->part, 2);
    assert_int_equal(row->offset, 4146);
    assert_int_equal(row->bytes, 3);
    assert_int_equal(row->blocks, 3);
    assert_string_equal(row->whose, "11 bits differ");
    written(SEED, 2, 4146, 16, want);
    for (int i = 0; i < 16; i++) {
        hex[2 * i] = digits[want[i] >> 4];
        hex[2 * i + 1] = digits[want[i] & 15];
    }
    assert_string_equal(row->expected, hex);
    hex[1] = digits[(want[0] & 15) ^ 2];
    assert_string_equal(row->actual, hex);
    row = &out.detail.findings[1];
    assert_string_equal(row->kind, "stale");
    assert_int_equal(row->offset, 40 * BLOCK);
    assert_int_equal(row->blocks, 2);
    assert_string_equal(row->whose, "1 write ago");
    row = &out.detail.findings[2];
    assert_string_equal(row->kind, "swapped");
    assert_string_equal(row->whose, "file 3, offset 1048576");
    outcome_release(&out);

    /* At the end there are fewer bytes to show. */
    free(m.image);
    file_make(&m, &four_mib, 2);
    m.image[m.bytes - 1] ^= 0x01;
    verify(*state, &m, &memory_backend, &four_mib, 2, false, &out);
    row = &out.detail.findings[0];
    assert_int_equal(row->offset, 4 * MIB - 1);
    assert_int_equal(strlen(row->expected), 2);
    assert_int_equal(strlen(row->actual), 2);
    assert_string_equal(row->whose, "1 bit differs");
    outcome_release(&out);
    free(m.image);
}

/* No count is cut off at a byte, as an exit code would be. */
static void counts_every_block(void **state)
{
    static const int64_t counts[] = {1, 255, 256, 257, 1024};

    for (size_t i = 0; i < 5; i++) {
        struct outcome out;
        struct memory m;

        file_make(&m, &four_mib, 1);
        memset(m.image, 0, (size_t)(counts[i] * BLOCK));
        verify(*state, &m, &memory_backend, &four_mib, 1, false, &out);
        assert_int_equal(out.sum.errors, counts[i]);
        assert_int_equal(out.detail.finding_count, 1);
        assert_int_equal(out.detail.findings[0].blocks, counts[i]);
        assert_string_equal(out.detail.findings[0].kind, "lost");
        outcome_release(&out);
        free(m.image);
    }
}

/* ---- reads that fail ---- */

static const struct read_case {
    const char *name;
    struct memory memory; /* how it fails */
    int64_t cut;          /* the file is so long only; 0: is whole */
    bool collective;
    enum iobm_status status;
    int64_t offset, blocks, bytes; /* of the unreadable; blocks 0: none */
    const char *whose;
    int most_failed; /* reads that failed, at most */
} reads[] = {
    {.name = "one bad block",
     .memory = {.bad = {40960, 40961}},
     .offset = 40960,
     .blocks = 1,
     .bytes = 4096,
     .whose = "medium error (0 of 4096 bytes done)",
     .most_failed = 2},
    {.name = "one bad block, the first",
     .memory = {.bad = {0, 100}},
     .offset = 0,
     .blocks = 1,
     .bytes = 4096,
     .whose = "medium error (0 of 4096 bytes done)",
     .most_failed = 2},
    {.name = "bad across two blocks",
     .memory = {.bad = {4095, 4097}},
     .offset = 0,
     .blocks = 2,
     .bytes = 8192,
     .whose = "medium error (4095 of 4096 bytes done)",
     .most_failed = 3},
    {.name = "a bad block in the last transfer",
     .memory = {.bad = {4 * MIB - 1, 4 * MIB}},
     .offset = 4 * MIB - 4096,
     .blocks = 1,
     .bytes = 4096,
     .whose = "medium error (4095 of 4096 bytes done)",
     .most_failed = 2},
    {.name = "a bad MiB: after 16 blocks it is given up",
     .memory = {.bad = {MIB, 2 * MIB}},
     .offset = MIB,
     .blocks = 256,
     .bytes = MIB,
     .whose = "medium error (0 of 4096 bytes done)",
     .most_failed = 17},
    {.name = "it goes well the second time",
     .memory = {.fail_reads = 1},
     .offset = 0,
     .blocks = 1,
     .bytes = 4096,
     .whose = "medium error (0 of 1048576 bytes done)",
     .most_failed = 1},
    {.name = "a collective transfer is not read again",
     .memory = {.bad = {MIB + 8192, MIB + 8193}},
     .collective = true,
     .offset = MIB + 8192,
     .blocks = 254,
     .bytes = MIB - 8192,
     .whose = "medium error (8192 of 1048576 bytes done)",
     .most_failed = 1},
    {.name = "the file is cut off",
     .cut = 3 * MIB + 100,
     .offset = 3 * MIB,
     .blocks = 256,
     .bytes = MIB,
     .whose = "medium error (100 of 4096 bytes done)",
     .most_failed = 17},
    {.name = "a read that brings nothing",
     .memory = {.lie_from = 4},
     .offset = 3 * MIB,
     .blocks = 256,
     .bytes = -1,
     .whose = "the read said all went well, but brought nothing"},
    {.name = "a read that brings half and does not say so",
     .memory = {.short_from = 4},
     .offset = 3 * MIB,
     .blocks = 256,
     .bytes = MIB,
     .whose = "2048 of 4096 bytes came, and no error"},
    {.name = "the file cannot be opened",
     .memory = {.open = IOBM_EIO},
     .offset = 0,
     .blocks = 1024,
     .bytes = 4 * MIB,
     .whose = "no"},
    {.name = "there is no memory to open it",
     .memory = {.open = IOBM_ENOMEM},
     .status = IOBM_ENOMEM},
    {.name = "close fails", .memory = {.close = IOBM_EIO}, .status = IOBM_EIO},
};

static void goes_on_after_reads_that_fail(void **state)
{
    for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
        const struct read_case *c = &reads[i];
        const struct iobm_finding_row *row;
        struct outcome out;
        struct memory m = c->memory, whole;

        file_make(&whole, &four_mib, 1);
        m.image = whole.image;
        m.bytes = c->cut ? c->cut : whole.bytes;
        verify(*state, &m, &memory_backend, &four_mib, 1, c->collective, &out);
        row = find(&out, "unreadable");
        if (out.status != c->status || (row ? row->blocks : 0) != c->blocks)
            fail_msg("%s: status %d, %lld blocks", c->name, out.status,
                     row ? (long long)row->blocks : 0);
        assert_int_equal(m.closes, m.opens - (c->memory.open != IOBM_OK));
        if (c->blocks > 0) {
            assert_int_equal(out.sum.errors, c->blocks);
            assert_int_equal(row->offset, c->offset);
            assert_string_equal(row->whose, c->whose);
            assert_int_equal(strlen(row->expected), 32);
            if (c->bytes >= 0)
                assert_int_equal(row->bytes, c->bytes);
            if (c->bytes >= 0 && !c->memory.fail_reads)
                assert_int_equal(out.sum.bytes, 4 * MIB - c->bytes);
        }
        if (m.failed > c->most_failed)
            fail_msg("%s: %d reads failed", c->name, m.failed);
        if (c->status != IOBM_OK)
            assert_int_equal(out.sum.errors, -7);
        outcome_release(&out);
        free(m.image);
    }
}

/* A part of which nothing can be read: bounded, and all of it counts. */
static void gives_up_in_time(void **state)
{
    static const struct layout large = {false, false, 1, 64 * MIB, MIB, 0, 1};

    for (int collective = 0; collective < 2; collective++) {
        struct outcome out;
        struct memory m;

        file_make(&m, &large, 0);
        m.bad = (struct bad_range){MIB, 64 * MIB};
        verify(*state, &m, &memory_backend, &large, 0, collective, &out);
        assert_int_equal(out.status, IOBM_OK);
        assert_int_equal(out.sum.errors, 63 * 256);
        assert_int_equal(out.sum.bytes, MIB);
        assert_int_equal(out.detail.finding_count, 1);
        assert_in_range(m.failed, 16, 16 * 17);
        if (collective) {
            /* As many calls as when all goes well. */
            assert_int_equal(m.reads, 17);
            assert_int_equal(m.reads + m.idles, 64);
        }
        outcome_release(&out);
        free(m.image);
    }
}

/* A signal ends it; a collective back end gets all of its calls. */
static void a_signal_ends_it(void **state)
{
    static const struct layout large = {false, false, 1, 64 * MIB, MIB, 0, 1};

    for (int collective = 0; collective < 2; collective++) {
        struct outcome out;
        struct memory m;

        file_make(&m, &large, 0);
        m.signal_at = 3;
        m.image[0] ^= 1;
        verify(*state, &m, &memory_backend, &large, 0, collective, &out);
        assert_int_equal(out.status, IOBM_ESTOPPED);
        assert_string_equal(out.err.text, "stopped by SIGTERM");
        assert_int_equal(m.reads, 3);
        assert_int_equal(m.idles, collective ? 61 : 0);
        assert_int_equal(m.closes, 1);
        /* What was found until then is told. */
        assert_int_equal(out.sum.bytes, 3 * MIB);
        assert_int_equal(out.sum.errors, 1);
        assert_int_equal(out.detail.finding_count, 1);
        outcome_release(&out);
        free(m.image);
    }
}

/* It adds to what is there already. */
static void keeps_earlier_findings(void **state)
{
    struct rig *rig = *state;
    struct outcome out;
    struct memory m;

    file_make(&m, &four_mib, 1);
    m.image[5] ^= 1;
    verify(rig, &m, &memory_backend, &four_mib, 1, false, &out);
    {
        const struct measure measure = {.comm = &rig->comm,
                                        .stop = &rig->stop,
                                        .watch = &rig->watch,
                                        .backend = &memory_backend,
                                        .state = &m};
        const struct measure_phase phase = {.kind = IOBM_OP_READ,
                                            .layout = &four_mib,
                                            .part = 1,
                                            .path = "G",
                                            .alignment_bytes = 1};
        const struct verify_seeds seeds = {SEED, NULL, 0};

        assert_int_equal(verify_phase_all(&measure, &phase, &seeds, 4, 0,
                                          &out.detail, &out.sum, &out.err),
                         IOBM_OK);
        assert_int_equal(out.detail.finding_count, 2);
        assert_string_equal(out.detail.findings[0].path, "F");
        assert_string_equal(out.detail.findings[1].path, "G");
        /* Nobody wants to know: it counts all the same. */
        assert_int_equal(verify_phase_all(&measure, &phase, &seeds, 4, 0, NULL,
                                          &out.sum, &out.err),
                         IOBM_OK);
        assert_int_equal(out.sum.errors, 1);
    }
    outcome_release(&out);
    free(m.image);
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
        cmocka_unit_test(names_what_became_of_a_block),
        cmocka_unit_test(searches_within_bounds),
        cmocka_unit_test(walks_over_the_part),
        cmocka_unit_test(finds_nothing_in_good_files),
        cmocka_unit_test(counts_as_a_plain_comparison_does),
        cmocka_unit_test(a_finding_says_all),
        cmocka_unit_test(counts_every_block),
        cmocka_unit_test(goes_on_after_reads_that_fail),
        cmocka_unit_test(gives_up_in_time),
        cmocka_unit_test(a_signal_ends_it),
        cmocka_unit_test(keeps_earlier_findings),
    };

    int failed = cmocka_run_group_tests(tests, start_mpi, end_mpi);

    /* Parts of Open MPI that are unloaded by now keep memory, which a leak
     * checker could not tell from ours. */
    fflush(stdout);
    _exit(failed);
}
