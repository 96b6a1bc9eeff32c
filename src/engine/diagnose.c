/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a wrong block holds.  The stamp of a block that came from elsewhere
 * tells its file and place, as the mixer behind it can be undone; where there
 * is no stamp, single words are looked for in the pools.  Either is believed
 * only when most of the other bytes are those of that block too.
 */

#include "engine/diagnose.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"

#define SEARCHES 1024
#define SCANS    16

/* So far from its own a file is looked for before all are. */
#define NEAR_FILES 8

/* A file of 2^50 bytes; a random stamp is below in one case of 2^26. */
#define BLOCKS_MAX (UINT64_C(1) << 38)

/* Fewer zeros, or bytes of poison, may as well be flipped bits. */
#define RUN_MIN_BYTES 4

/* Bits flip one by one, or one in each byte or two; of foreign bytes half the
 * bits differ. */
#define FLIPPED_BITS      8
#define FLIPPED_BITS_PART 16

#define PROBES 3

struct piece {
    const unsigned char *got;
    int64_t block, within; /* which, and where in it the piece begins */
    int64_t bytes;
    int64_t from, to;     /* in the piece: first wrong byte, behind the last */
    uint64_t unmixed;     /* the stamp undone, when there is one */
    int probes;           /* words of the block, all wrong */
    int64_t word[PROBES]; /* number of it in the block */
    uint64_t value[PROBES];
};

void diagnose_init(struct diagnose *d)
{
    d->searches = SEARCHES;
    d->scans = SCANS;
    d->suspect = -1;
}

static void find_wrong(struct piece *p, const unsigned char *want,
                       struct diagnosis *out)
{
    p->from = -1;
    for (int64_t i = 0; i < p->bytes; i++) {
        if (p->got[i] == want[i])
            continue;
        if (p->from < 0)
            p->from = i;
        p->to = i + 1;
        out->bytes++;
        out->bits += __builtin_popcount((unsigned)(p->got[i] ^ want[i]));
    }
    out->first = p->from;
}

/* Whether all that is wrong is of one value, and not by chance. */
static bool is_run(const struct piece *p, unsigned char value)
{
    int64_t bytes = p->to - p->from;

    if (bytes < RUN_MIN_BYTES && bytes < p->bytes)
        return false;
    for (int64_t i = p->from; i < p->to; i++)
        if (p->got[i] != value)
            return false;
    return true;
}

static bool is_flipped(const struct piece *p, int64_t bits)
{
    return bits <= FLIPPED_BITS ||
           bits * FLIPPED_BITS_PART <= 8 * (p->to - p->from);
}

/* ---- by the stamp ---- */

/* Whether the piece has a stamp, and a wrong one. */
static bool has_stamp(const struct piece *p)
{
    return p->within == 0 && p->bytes >= 8 && p->from < 8;
}

static void read_stamp(struct piece *p)
{
    uint64_t value;

    memcpy(&value, p->got, sizeof(value));
    p->unmixed = rng_unmix(value);
}

static bool is_of(struct diagnose *d, const struct piece *p, size_t write,
                  int file, struct diagnosis *out)
{
    uint64_t seed = d->seed[write];
    uint64_t key = data_key(seed, file);
    uint64_t block = p->unmixed - key;
    int64_t behind = p->to > 8 ? p->to - 8 : 0;

    if (block >= BLOCKS_MAX)
        return false;
    if (2 * data_pool_alike(seed, data_pool_place(key, (int64_t)block), 8,
                            behind, p->got + 8) <
        behind)
        return false;
    d->suspect = file;
    out->kind = write == 0 ? DIAGNOSE_SWAPPED : DIAGNOSE_STALE;
    out->writes_ago = write;
    out->file = file;
    out->offset = (int64_t)block * DATA_BLOCK_BYTES;
    out->same_place = file == d->file && (int64_t)block == p->block;
    return true;
}

static bool is_in(struct diagnose *d, const struct piece *p, int file,
                  struct diagnosis *out)
{
    if (file < 0)
        return false;
    for (size_t write = 0; write < d->writes; write++)
        if (is_of(d, p, write, file, out))
            return true;
    return false;
}

static bool search_files(struct diagnose *d, const struct piece *p,
                         struct diagnosis *out)
{
    for (int i = 1; i <= NEAR_FILES; i++)
        if (is_in(d, p, d->file + i, out) || is_in(d, p, d->file - i, out))
            return true;
    if (d->scans == 0)
        return false;
    d->scans--;
    for (int file = 0; file < d->files; file++)
        if (is_in(d, p, file, out))
            return true;
    return false;
}

/* ---- by what is behind the stamp ---- */

/* Words to look for: at a quarter, half and three quarters of what is wrong,
 * but none of the stamp. */
static void choose_probes(struct piece *p)
{
    int64_t from = p->within + p->from, to = p->within + p->to;

    p->probes = 0;
    for (int i = 1; i <= PROBES; i++) {
        int64_t word = (from + (to - from) * i / (PROBES + 1)) / 8;

        if (word < 1 || 8 * word < from || 8 * word + 8 > to)
            continue;
        p->word[p->probes] = word;
        memcpy(&p->value[p->probes], p->got + (8 * word - p->within), 8);
        p->probes++;
    }
}

/* Whether most of what is wrong is as in that block of the pool. */
static bool is_pool(const struct piece *p, uint64_t seed, int64_t place)
{
    int64_t from = p->from, bytes, alike;
    bool found = false;

    for (int i = 0; i < p->probes && !found; i++)
        found = data_pool_word(seed, place, p->word[i]) == p->value[i];
    if (!found)
        return false;
    if (p->within + from < 8)
        from = 8 - p->within;
    bytes = p->to - from;
    alike =
        data_pool_alike(seed, place, p->within + from, bytes, p->got + from);
    return 2 * alike >= bytes;
}

/* Whether it is what was here before. */
static bool is_older(const struct diagnose *d, const struct piece *p,
                     struct diagnosis *out)
{
    for (size_t write = 1; write < d->writes; write++) {
        uint64_t seed = d->seed[write];
        uint64_t key = data_key(seed, d->file);

        if (!is_pool(p, seed, data_pool_place(key, p->block)))
            continue;
        out->kind = DIAGNOSE_STALE;
        out->writes_ago = write;
        out->file = d->file;
        out->offset = p->block * DATA_BLOCK_BYTES;
        out->same_place = true;
        return true;
    }
    return false;
}

/* The pool tells the write, and no more: many a block has the same place in
 * it. */
static bool search_pools(const struct diagnose *d, const struct piece *p,
                         struct diagnosis *out)
{
    for (size_t write = 0; write < d->writes; write++)
        for (int64_t place = 0; place < DATA_POOL_BLOCKS; place++) {
            if (!is_pool(p, d->seed[write], place))
                continue;
            out->kind = write == 0 ? DIAGNOSE_SWAPPED : DIAGNOSE_STALE;
            out->writes_ago = write;
            return true;
        }
    return false;
}

static bool find_owner(struct diagnose *d, struct piece *p,
                       struct diagnosis *out)
{
    bool stamped = has_stamp(p);

    if (stamped)
        read_stamp(p);
    choose_probes(p);
    if (stamped && (is_in(d, p, d->file, out) || is_in(d, p, d->suspect, out)))
        return true;
    if (is_older(d, p, out))
        return true;
    if (d->searches == 0)
        return false;
    d->searches--;
    return (stamped && search_files(d, p, out)) || search_pools(d, p, out);
}

void diagnose_block(struct diagnose *d, int64_t offset, int64_t bytes,
                    const unsigned char *got, struct diagnosis *out)
{
    unsigned char want[DATA_BLOCK_BYTES];
    struct piece p = {
        .got = got,
        .block = offset / DATA_BLOCK_BYTES,
        .within = offset % DATA_BLOCK_BYTES,
        .bytes = bytes,
    };

    *out = (struct diagnosis){.file = -1, .offset = -1};
    data_expect(d->data, offset, bytes, want);
    find_wrong(&p, want, out);
    if (is_run(&p, 0))
        out->kind = DIAGNOSE_LOST;
    else if (is_run(&p, DIAGNOSE_POISON))
        out->kind = DIAGNOSE_UNREADABLE;
    else if (is_flipped(&p, out->bits))
        out->kind = DIAGNOSE_FLIPPED;
    else if (!find_owner(d, &p, out))
        out->kind = DIAGNOSE_UNKNOWN;
}

const char *diagnose_name(enum diagnose_kind kind)
{
    static const char *const names[DIAGNOSE_KINDS] = {
        "lost", "stale", "swapped", "flipped", "unknown", "unreadable"};

    return names[kind];
}

void diagnose_whose(const struct diagnosis *diagnosis, char *text, size_t room)
{
    const struct diagnosis *d = diagnosis;
    char when[48] = "", where[64] = "";

    if (room > 0)
        text[0] = '\0';
    if (d->kind == DIAGNOSE_UNREADABLE)
        snprintf(text, room,
                 "the read said all went well, but brought nothing");
    if (d->kind != DIAGNOSE_STALE && d->kind != DIAGNOSE_SWAPPED)
        return;
    if (d->kind == DIAGNOSE_STALE)
        snprintf(when, sizeof(when), "%zu write%s ago%s", d->writes_ago,
                 d->writes_ago == 1 ? "" : "s", d->same_place ? "" : ", ");
    if (d->file < 0)
        snprintf(where, sizeof(where), "not known of which place");
    else if (!d->same_place)
        snprintf(where, sizeof(where), "file %d, offset %lld", d->file,
                 (long long)d->offset);
    snprintf(text, room, "%s%s", when, where);
}
