/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_ENGINE_DATA_H
#define IOBM_ENGINE_DATA_H

/*
 * The bytes that are written (docs/method.md section 7): incompressible, and
 * no two 4 KiB blocks alike.  They are those of a random pool made from the
 * seed, over and over, with an 8-byte stamp of (seed, file, offset) at the
 * start of each 4 KiB block of the file.  The pool has an odd number of
 * blocks, so that it falls differently on each following 4 MiB, stripe or
 * chunk, and each file begins elsewhere in it.  What a block holds depends on
 * (seed, file, offset) alone, so that any rank can check what any other
 * wrote, whatever the transfer size and the layout.  Each repeat of a write
 * has a seed of its own, so that what an overwrite left behind shows.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iobm/error.h"
#include "iobm/op.h"

#define DATA_BLOCK_BYTES INT64_C(4096)
/* A prime, the first above 4 MiB. */
#define DATA_POOL_BLOCKS INT64_C(1031)
#define DATA_POOL_BYTES  (DATA_POOL_BLOCKS * DATA_BLOCK_BYTES)

struct data {
    uint64_t seed;
    uint64_t key;        /* of the stamps: from seed and file */
    int64_t first_block; /* where in the pool the file begins */
    unsigned char *pool; /* the pool, as often as a transfer needs it */
    size_t pool_bytes;
    unsigned char *scratch; /* for operations with a stride */
    size_t scratch_bytes;
    unsigned char *made; /* per block of 'pool'; NULL: all are */
};

/* Memory for transfers, page aligned, to be freed; NULL when there is none.
 * In huge pages where the system has them: a stamp every 4 KiB, and the copy
 * that a call makes, would else wait for the address of each page. */
void *data_pages(size_t bytes);

/*
 * Set up for operations of up to 'transfer_bytes' on a part of 'part_bytes'
 * of file number 'file'.  The whole pool is filled, but for a part smaller
 * than the pool: then blocks are made when they are first used, see
 * data_warm().  IOBM_ENOMEM.
 */
enum iobm_status data_init(struct data *data, uint64_t seed, int file,
                           int64_t part_bytes, int64_t transfer_bytes,
                           struct iobm_error *err) IOBM_CHECK;
void data_release(struct data *data);

/* Do all of data_prepare() that is slow the first time.  Optional: with a
 * small part, call it for each operation before the timed region. */
void data_warm(struct data *data, const struct iobm_op *op);

/* Point op->buffer at the bytes to write: a window of the pool, stamped in
 * place, no allocation and no copy.  Operations with a stride are gathered in
 * a buffer of their own.  Good until the next call. */
void data_prepare(struct data *data, struct iobm_op *op);

/* The seed of a repeat's data: repeat 0 has the run's own. */
uint64_t data_repeat_seed(uint64_t seed, int64_t repeat);

/* The expected bytes of [offset, offset + size) of the file into 'out'. */
void data_expect(const struct data *data, int64_t offset, int64_t size,
                 unsigned char *out);

/* Index of the first byte of 'got' that is not that of the file at 'offset' +
 * index, or -1.  At the speed of memory while all is right. */
int64_t data_first_wrong(const struct data *data, int64_t offset, int64_t bytes,
                         const unsigned char *got);

/* First wrong byte of an operation's buffer (as a file offset), or -1. */
int64_t data_check(const struct data *data, const struct iobm_op *op);

/* zlib level 1 ratio (compressed / plain, about 1 when incompressible) and the
 * share of duplicate 4 KiB blocks in the first 'bytes' (at most 4 MiB) of the
 * file; NaN when there are none or memory is short.  For ranges that begin
 * elsewhere the answer is the same. */
void data_measure(const struct data *data, int64_t bytes, double *zlib_ratio,
                  double *duplicate_share);

/*
 * To find out whose a block is.  The stamp of block b of a file is
 * rng_mix(key + b), of the file's key; its other bytes are those of block
 * data_pool_place() of the pool of the seed.
 */
uint64_t data_key(uint64_t seed, int file);
int64_t data_pool_place(uint64_t key, int64_t block);

/* Eight bytes of a block of the pool, 0 <= word < DATA_BLOCK_BYTES / 8. */
uint64_t data_pool_word(uint64_t seed, int64_t place, int64_t word);

/* How many of 'got' are as in the pool block at 'place', from its byte 'from'
 * on, up to 'from' + 'bytes' <= DATA_BLOCK_BYTES. */
int64_t data_pool_alike(uint64_t seed, int64_t place, int64_t from,
                        int64_t bytes, const unsigned char *got);

#endif
