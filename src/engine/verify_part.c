/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading a part back.  Whatever goes wrong with a read, the next is tried,
 * within bounds, and where transfers are collective each rank makes as many
 * calls as every other.
 */

#include "engine/verify_part.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "engine/verify.h"

#define HEX_BYTES 16

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- which bytes ---- */

void verify_walk_init(struct verify_walk *walk, const struct iobm_open *how,
                      bool span)
{
    bool strided = how->stride_bytes > 0;

    *walk = (struct verify_walk){
        .offset = how->first_byte,
        .left = how->part_bytes,
        .most_bytes = how->transfer_bytes,
        .block_bytes = strided ? how->block_bytes : how->part_bytes,
        .stride_bytes = how->stride_bytes,
    };
    walk->block_left = walk->block_bytes;
    walk->span = span && strided && how->transfer_bytes >= 2 * how->block_bytes;
}

bool verify_walk_next(struct verify_walk *walk, struct iobm_op *op)
{
    int64_t most = walk->most_bytes;

    if (walk->left == 0)
        return false;
    op->kind = IOBM_OP_READ;
    op->offset = walk->offset;
    op->block_bytes = op->stride_bytes = 0;
    if (walk->span) {
        int64_t blocks = most / walk->block_bytes;

        op->size = least(walk->left, blocks * walk->block_bytes);
        if (op->size > walk->block_bytes) {
            op->block_bytes = walk->block_bytes;
            op->stride_bytes = walk->stride_bytes;
        }
        walk->left -= op->size;
        if (walk->left > 0)
            walk->offset += blocks * walk->stride_bytes;
        return true;
    }
    op->size =
        least(walk->left, least(walk->block_left, most - walk->offset % most));
    walk->left -= op->size;
    walk->offset += op->size;
    walk->block_left -= op->size;
    if (walk->block_left == 0 && walk->left > 0) {
        walk->offset += walk->stride_bytes - walk->block_bytes;
        walk->block_left = walk->block_bytes;
    }
    return true;
}

/* ---- what was found ---- */

static void hex(char *text, const unsigned char *bytes, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

/* The first of its kind: where, and what should be there.  'got' may be NULL:
 * nothing was read. */
static void describe(const struct verify_part *part,
                     struct iobm_finding_row *row, int64_t offset,
                     int64_t bytes, const unsigned char *got)
{
    unsigned char want[HEX_BYTES];
    int64_t n = least(bytes, HEX_BYTES);

    row->offset = offset;
    data_expect(&part->data, offset, n, want);
    hex(row->expected, want, n);
    if (got)
        hex(row->actual, got, n);
}

/* The row for what is wrong at 'offset'.  A block that was counted already,
 * for a piece of it that was read before, keeps its kind. */
static struct iobm_finding_row *row_of(struct verify_part *part,
                                       enum diagnose_kind kind, int64_t offset)
{
    int64_t block = offset / DATA_BLOCK_BYTES;

    if (block != part->last_block) {
        part->last_block = block;
        part->last_kind = kind;
        part->errors++;
        part->found[kind].blocks++;
    }
    return &part->found[part->last_kind];
}

static void note_wrong(struct verify_part *part, int64_t offset, int64_t bytes,
                       const unsigned char *got)
{
    struct iobm_finding_row *row;
    struct diagnosis d;

    diagnose_block(&part->diagnose, offset, bytes, got, &d);
    row = row_of(part, d.kind, offset);
    if (row->bytes == 0) {
        describe(part, row, offset + d.first, bytes - d.first, got + d.first);
        diagnose_whose(&d, row->whose, sizeof(row->whose));
    }
    row->bytes += d.bytes;
    if (row == &part->found[DIAGNOSE_FLIPPED])
        part->flipped_bits += d.bits;
}

/* What is behind "cannot read 'PATH' at 4096: ", as the row has the path and
 * the offset, and little room. */
static const char *cause(const struct verify_part *part,
                         const struct iobm_error *why)
{
    const char *path = strstr(why->text, part->how.path);
    const char *colon = path ? strstr(path + strlen(part->how.path), ": ") : "";

    return colon && *colon ? colon + 2 : why->text;
}

/* All of a range that could not be read. */
static void note_unreadable(struct verify_part *part, int64_t offset,
                            int64_t bytes, const struct iobm_error *why)
{
    for (int64_t done = 0, n; done < bytes; done += n) {
        int64_t at = offset + done;
        struct iobm_finding_row *row = row_of(part, DIAGNOSE_UNREADABLE, at);

        n = least(bytes - done, DATA_BLOCK_BYTES - at % DATA_BLOCK_BYTES);
        if (row->bytes == 0) {
            describe(part, row, at, bytes - done, NULL);
            str_copy(row->whose, sizeof(row->whose), cause(part, why));
        }
        row->bytes += n;
    }
}

/* ---- comparing ---- */

/* 'bytes' of the file at 'offset' have been read. */
static void compare(struct verify_part *part, int64_t offset, int64_t bytes,
                    const unsigned char *got)
{
    part->bytes += bytes;
    for (int64_t done = 0; done < bytes;) {
        int64_t wrong = data_first_wrong(&part->data, offset + done,
                                         bytes - done, got + done);
        int64_t from, to;

        if (wrong < 0)
            return;
        wrong += done;
        from = wrong - (offset + wrong) % DATA_BLOCK_BYTES;
        to = least(bytes, from + DATA_BLOCK_BYTES);
        if (from < 0)
            from = 0;
        note_wrong(part, offset + from, to - from, got + from);
        done = to;
    }
}

/* The first 'bytes' of an operation were read, the others were not. */
static void settle(struct verify_part *part, const struct iobm_op *op,
                   int64_t bytes, const struct iobm_error *why)
{
    const unsigned char *got = op->buffer;

    for (int64_t done = 0, n; done < op->size; done += n) {
        int64_t offset;

        n = iobm_op_piece(op, done, &offset);
        if (done < bytes) {
            n = least(n, bytes - done);
            compare(part, offset, n, got + done);
        } else {
            note_unreadable(part, offset, n, why);
        }
    }
}

/* ---- reading ---- */

/* Look for signals and other ranks' word. */
static void poll(struct verify_part *part)
{
    int64_t now_ns = clock_now_ns();
    int by = part->stop->flag;

    watch_beat(part->watch, now_ns, part->bytes);
    if (!by && now_ns < part->poll_ns)
        return;
    part->poll_ns = now_ns + STOP_POLL_NS;
    if (stop_poll(part->stop) && part->status == IOBM_OK)
        part->status =
            iobm_fail(&part->err, IOBM_ESTOPPED, "%s",
                      by ? watch_signal_name(by) : "another rank failed");
}

/* Success is when every byte came. */
static bool read_once(struct verify_part *part, struct iobm_op *op,
                      struct iobm_error *err)
{
    enum iobm_status status;

    op->buffer = part->buffer;
    op->done = 0;
    memset(op->buffer, DIAGNOSE_POISON, (size_t)op->size);
    status = part->backend->xfer(part->state, part->file, op, err);
    if (status == IOBM_OK && op->done < op->size)
        status = iobm_fail(err, IOBM_EIO,
                           "cannot read '%s' at %lld: %lld of %lld bytes came, "
                           "and no error",
                           part->how.path, (long long)op->offset,
                           (long long)op->done, (long long)op->size);
    poll(part);
    return status == IOBM_OK;
}

/*
 * An operation that failed, once more in the smallest reads that there are,
 * so that one bad block costs no other.  After too many of them what is left
 * is taken to be unreadable.
 */
static void read_again(struct verify_part *part, const struct iobm_op *op,
                       const struct iobm_error *why)
{
    int64_t before = part->errors, offset, n;
    struct iobm_error err;
    int failed = 0;

    for (int64_t done = 0; done < op->size; done += n) {
        struct iobm_op one = {.kind = IOBM_OP_READ};

        if (part->status != IOBM_OK)
            return;
        n = iobm_op_piece(op, done, &one.offset);
        if (failed < VERIFY_UNREADABLE_MAX) {
            n = least(n, part->unit_bytes - one.offset % part->unit_bytes);
            one.size = n;
            if (read_once(part, &one, &err)) {
                compare(part, one.offset, n, one.buffer);
                continue;
            }
            failed++;
        }
        note_unreadable(part, one.offset, n, &err);
    }
    /* It went well this time; that it did not at first is a finding too. */
    if (part->errors == before) {
        n = iobm_op_piece(op, least(op->done, op->size - 1), &offset);
        n = least(n, DATA_BLOCK_BYTES - offset % DATA_BLOCK_BYTES);
        note_unreadable(part, offset, n, why);
    }
}

static void read_op(struct verify_part *part, struct iobm_op *op)
{
    struct iobm_error err;

    if (read_once(part, op, &err)) {
        settle(part, op, op->size, NULL);
        return;
    }
    part->unreadable++;
    if (part->turns < 0)
        read_again(part, op, &err);
    else
        settle(part, op, op->done, &err);
}

/* A turn without bytes of this rank's. */
static void idle(struct verify_part *part)
{
    struct iobm_op op = {
        .kind = IOBM_OP_READ,
        .offset = part->how.first_byte,
        .buffer = part->buffer,
    };
    struct iobm_error err;

    (void)part->backend->xfer(part->state, part->file, &op, &err);
    poll(part);
}

static void read_all(struct verify_part *part)
{
    const struct iobm_error given_up = {.text = "given up"};
    struct iobm_op op = {.buffer = part->buffer};

    for (int64_t turn = 0; part->turns < 0 || turn < part->turns; turn++) {
        bool mine =
            part->status == IOBM_OK && verify_walk_next(&part->walk, &op);

        if (mine && part->unreadable < VERIFY_UNREADABLE_MAX) {
            read_op(part, &op);
            continue;
        }
        if (mine)
            settle(part, &op, 0, &given_up);
        if (part->turns >= 0)
            idle(part);
        else if (!mine)
            return;
    }
}

/* Nothing of the part can be read. */
static void read_none(struct verify_part *part, const struct iobm_error *why)
{
    struct iobm_op op = {.buffer = part->buffer};

    if (why->status != IOBM_EIO) {
        part->status = why->status;
        part->err = *why;
        stop_tell(part->stop);
        return;
    }
    while (verify_walk_next(&part->walk, &op))
        settle(part, &op, 0, why);
}

void verify_part_run(struct verify_part *part)
{
    struct iobm_finding_row *flipped = &part->found[DIAGNOSE_FLIPPED];
    struct iobm_error err;
    enum iobm_status status;

    part->last_block = -1;
    part->poll_ns = clock_now_ns() + STOP_POLL_NS;
    verify_walk_init(&part->walk, &part->how,
                     part->backend->caps & IOBM_CAP_SPAN);
    watch_enter(part->watch, WATCH_OPEN);
    status = part->backend->open(part->state, &part->how, part->file, &err);
    if (status != IOBM_OK) {
        read_none(part, &err);
        watch_enter(part->watch, WATCH_IDLE);
    } else {
        watch_enter(part->watch, WATCH_TRANSFER);
        read_all(part);
        watch_enter(part->watch, WATCH_CLOSE);
        status = part->backend->close(part->state, part->file, &err);
        if (status != IOBM_OK && part->status == IOBM_OK) {
            part->status = status;
            part->err = err;
        }
        watch_enter(part->watch, WATCH_IDLE);
    }
    if (flipped->blocks > 0)
        snprintf(flipped->whose, sizeof(flipped->whose), "%lld bit%s",
                 (long long)part->flipped_bits,
                 part->flipped_bits == 1 ? " differs" : "s differ");
}
