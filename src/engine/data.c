/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the bytes of the test files are, and how they get under an operation
 * without being copied: the pool is repeated in memory until every window of
 * a transfer's length is contiguous in it.  Nothing here touches a file.
 */

#include "engine/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

#include "base/rng.h"

#define WORDS_PER_BLOCK (DATA_BLOCK_BYTES / 8)
#define HUGE_BYTES      ((size_t)2 << 20)
#define MEASURE_BYTES   (INT64_C(4) << 20)

/* More than any memory, and far from where sums overflow. */
#define TRANSFER_MAX_BYTES (INT64_C(1) << 46)

/* Pool and stamps come from the same seed: keep their counters apart.  Those
 * of the repeats' seeds too. */
#define STAMP_STREAM  UINT64_C(0x5354414d50)
#define REPEAT_STREAM UINT64_C(0x524550454154)

static void *small_pages(size_t bytes)
{
    void *memory;

    return posix_memalign(&memory, DATA_BLOCK_BYTES, bytes) == 0 ? memory
                                                                 : NULL;
}

void *data_pages(size_t bytes)
{
    void *memory;

    if (bytes < HUGE_BYTES)
        return small_pages(bytes);
    if (posix_memalign(&memory, HUGE_BYTES, bytes) != 0)
        return NULL;
    /* Advice: small pages do as well. */
    (void)madvise(memory, bytes - bytes % HUGE_BYTES, MADV_HUGEPAGE);
    return memory;
}

/* All of the pool, then again and again what lies a pool further down. */
static void fill_pool(struct data *data)
{
    size_t have = DATA_POOL_BYTES;

    rng_fill(data->pool, have, data->seed, 0);
    while (have < data->pool_bytes) {
        size_t n = data->pool_bytes - have;

        if (n > have)
            n = have;
        memcpy(data->pool + have, data->pool, n);
        have += n;
    }
}

static void pool_block(uint64_t seed, int64_t place, unsigned char *out)
{
    rng_fill(out, DATA_BLOCK_BYTES, seed,
             (uint64_t)(place % DATA_POOL_BLOCKS * WORDS_PER_BLOCK));
}

uint64_t data_key(uint64_t seed, int file)
{
    return rng_at(seed ^ STAMP_STREAM, (uint64_t)file);
}

/* Where in the pool a file begins. */
static int64_t first_place(uint64_t key)
{
    return (int64_t)rng_below(key, 0, (uint64_t)DATA_POOL_BLOCKS);
}

int64_t data_pool_place(uint64_t key, int64_t block)
{
    return (first_place(key) + block) % DATA_POOL_BLOCKS;
}

uint64_t data_repeat_seed(uint64_t seed, int64_t repeat)
{
    return repeat == 0 ? seed : rng_at(seed ^ REPEAT_STREAM, (uint64_t)repeat);
}

enum iobm_status data_init(struct data *data, uint64_t seed, int file,
                           int64_t part_bytes, int64_t transfer_bytes,
                           struct iobm_error *err)
{
    int64_t most = part_bytes < transfer_bytes ? part_bytes : transfer_bytes;
    bool small = part_bytes < DATA_POOL_BYTES;
    /* An operation that begins and ends inside of blocks touches one more. */
    int64_t window = most / DATA_BLOCK_BYTES + 2;
    int64_t blocks = DATA_POOL_BLOCKS + window;

    *data = (struct data){.seed = seed};
    data->key = data_key(seed, file);
    data->first_block = first_place(data->key);
    if (most <= TRANSFER_MAX_BYTES) {
        data->pool_bytes = (size_t)(blocks * DATA_BLOCK_BYTES);
        data->scratch_bytes = (size_t)(window * DATA_BLOCK_BYTES);
        /* Of a small part's pool most is never touched. */
        data->pool = small ? small_pages(data->pool_bytes)
                           : data_pages(data->pool_bytes);
        data->scratch = data_pages(data->scratch_bytes);
        data->made = small ? calloc((size_t)blocks, 1) : NULL;
    }
    if (!data->pool || !data->scratch || (small && !data->made)) {
        data_release(data);
        return iobm_fail(err, IOBM_ENOMEM,
                         "cannot allocate memory for transfers of %lld bytes",
                         (long long)most);
    }
    if (!data->made)
        fill_pool(data);
    return IOBM_OK;
}

void data_release(struct data *data)
{
    free(data->pool);
    free(data->scratch);
    free(data->made);
    data->pool = data->scratch = data->made = NULL;
}

static uint64_t stamp(const struct data *data, int64_t block)
{
    return rng_mix(data->key + (uint64_t)block);
}

static void make_blocks(struct data *data, int64_t first, int64_t count)
{
    for (int64_t i = first; i < first + count; i++)
        if (!data->made[i]) {
            pool_block(data->seed, i, data->pool + i * DATA_BLOCK_BYTES);
            data->made[i] = 1;
        }
}

/* A window of the pool that holds [offset, offset + bytes) of the file. */
static unsigned char *window(struct data *data, int64_t offset, int64_t bytes)
{
    int64_t within = offset % DATA_BLOCK_BYTES;
    int64_t block = offset / DATA_BLOCK_BYTES;
    int64_t count = (within + bytes + DATA_BLOCK_BYTES - 1) / DATA_BLOCK_BYTES;
    int64_t at = (data->first_block + block) % DATA_POOL_BLOCKS;
    unsigned char *first = data->pool + at * DATA_BLOCK_BYTES;

    if (data->made)
        make_blocks(data, at, count);
    for (int64_t i = 0; i < count; i++) {
        uint64_t value = stamp(data, block + i);

        memcpy(first + i * DATA_BLOCK_BYTES, &value, sizeof(value));
    }
    return first + within;
}

void data_prepare(struct data *data, struct iobm_op *op)
{
    int64_t offset, bytes;

    if (op->stride_bytes == 0) {
        op->buffer = window(data, op->offset, op->size);
        return;
    }
    for (int64_t done = 0; done < op->size; done += bytes) {
        bytes = iobm_op_piece(op, done, &offset);
        memcpy(data->scratch + done, window(data, offset, bytes),
               (size_t)bytes);
    }
    op->buffer = data->scratch;
}

void data_warm(struct data *data, const struct iobm_op *op)
{
    struct iobm_op copy = *op;

    data_prepare(data, &copy);
}

/* What a block of the file holds behind its stamp: in the pool, or made in
 * 'room'. */
static const unsigned char *behind_stamp(const struct data *data, int64_t block,
                                         unsigned char *room)
{
    int64_t at = (data->first_block + block) % DATA_POOL_BLOCKS;

    if (!data->made || data->made[at])
        return data->pool + at * DATA_BLOCK_BYTES;
    pool_block(data->seed, at, room);
    return room;
}

/* One whole block of the file. */
static void expect_block(const struct data *data, int64_t block,
                         unsigned char *out)
{
    const unsigned char *all = behind_stamp(data, block, out);
    uint64_t value = stamp(data, block);

    if (all != out)
        memcpy(out, all, DATA_BLOCK_BYTES);
    memcpy(out, &value, sizeof(value));
}

void data_expect(const struct data *data, int64_t offset, int64_t size,
                 unsigned char *out)
{
    unsigned char block[DATA_BLOCK_BYTES];

    for (int64_t done = 0; done < size;) {
        int64_t within = (offset + done) % DATA_BLOCK_BYTES;
        int64_t n = DATA_BLOCK_BYTES - within;

        if (n > size - done)
            n = size - done;
        expect_block(data, (offset + done) / DATA_BLOCK_BYTES, block);
        memcpy(out + done, block + within, (size_t)n);
        done += n;
    }
}

/* Whether 'bytes' from byte 'within' of a block on are as they should be. */
static bool is_right(const struct data *data, int64_t block, int64_t within,
                     int64_t bytes, const unsigned char *got)
{
    unsigned char room[DATA_BLOCK_BYTES];
    const unsigned char *all = behind_stamp(data, block, room);
    uint64_t value = stamp(data, block);
    int64_t stamped = (int64_t)sizeof(value) - within;

    if (stamped < 0)
        stamped = 0;
    if (stamped > bytes)
        stamped = bytes;
    return (stamped == 0 || memcmp(got, (unsigned char *)&value + within,
                                   (size_t)stamped) == 0) &&
           memcmp(got + stamped, all + within + stamped,
                  (size_t)(bytes - stamped)) == 0;
}

static int64_t first_difference(const unsigned char *a, const unsigned char *b)
{
    int64_t i = 0;

    while (a[i] == b[i])
        i++;
    return i;
}

int64_t data_first_wrong(const struct data *data, int64_t offset, int64_t bytes,
                         const unsigned char *got)
{
    unsigned char want[DATA_BLOCK_BYTES];

    for (int64_t done = 0, n; done < bytes; done += n) {
        int64_t within = (offset + done) % DATA_BLOCK_BYTES;

        n = DATA_BLOCK_BYTES - within;
        if (n > bytes - done)
            n = bytes - done;
        if (is_right(data, (offset + done) / DATA_BLOCK_BYTES, within, n,
                     got + done))
            continue;
        data_expect(data, offset + done, n, want);
        return done + first_difference(got + done, want);
    }
    return -1;
}

int64_t data_check(const struct data *data, const struct iobm_op *op)
{
    const unsigned char *buffer = op->buffer;

    for (int64_t done = 0, bytes; done < op->size; done += bytes) {
        int64_t offset, wrong;

        bytes = iobm_op_piece(op, done, &offset);
        wrong = data_first_wrong(data, offset, bytes, buffer + done);
        if (wrong >= 0)
            return offset + wrong;
    }
    return -1;
}

uint64_t data_pool_word(uint64_t seed, int64_t place, int64_t word)
{
    return rng_at(seed, (uint64_t)(place * WORDS_PER_BLOCK + word));
}

int64_t data_pool_alike(uint64_t seed, int64_t place, int64_t from,
                        int64_t bytes, const unsigned char *got)
{
    unsigned char block[DATA_BLOCK_BYTES];
    int64_t alike = 0;

    pool_block(seed, place, block);
    for (int64_t i = 0; i < bytes; i++)
        alike += got[i] == block[from + i];
    return alike;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Two blocks with the same 64-bit hash are taken to be alike: among the 1024
 * blocks at hand, a chance of 1 in 10^13. */
static double duplicates(const unsigned char *plain, int64_t bytes)
{
    uint64_t hash[MEASURE_BYTES / DATA_BLOCK_BYTES];
    size_t n = (size_t)(bytes / DATA_BLOCK_BYTES), alike = 0;

    if (n == 0)
        return NAN;
    for (size_t i = 0; i < n; i++) {
        const unsigned char *block = plain + i * DATA_BLOCK_BYTES;

        hash[i] = 0;
        for (int64_t w = 0; w < WORDS_PER_BLOCK; w++) {
            uint64_t value;

            memcpy(&value, block + 8 * w, sizeof(value));
            hash[i] = rng_mix(hash[i] + value) + (uint64_t)w;
        }
    }
    qsort(hash, n, sizeof(hash[0]), by_value);
    for (size_t i = 1; i < n; i++)
        alike += hash[i] == hash[i - 1];
    return (double)alike / (double)n;
}

void data_measure(const struct data *data, int64_t bytes, double *zlib_ratio,
                  double *duplicate_share)
{
    int64_t n = bytes < MEASURE_BYTES ? bytes : MEASURE_BYTES;
    uLongf room;
    unsigned char *plain, *packed;

    *zlib_ratio = *duplicate_share = NAN;
    if (n <= 0)
        return;
    room = compressBound((uLong)n);
    plain = malloc((size_t)n);
    packed = malloc(room);
    if (plain && packed) {
        data_expect(data, 0, n, plain);
        *duplicate_share = duplicates(plain, n);
        if (compress2(packed, &room, plain, (uLong)n, 1) == Z_OK)
            *zlib_ratio = (double)room / (double)n;
    }
    free(plain);
    free(packed);
}
