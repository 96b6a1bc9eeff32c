/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_ENGINE_DIAGNOSE_H
#define IOBM_ENGINE_DIAGNOSE_H

/*
 * What became of a block that is not as it should be: is it lost, does it
 * hold older data or that of another place, have bits flipped?  A judgement
 * on bytes; nothing here reads a file.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/data.h"

/* What a buffer is filled with before it is read into. */
#define DIAGNOSE_POISON 0xb7

enum diagnose_kind {
    DIAGNOSE_LOST,       /* zeros: never written, or a hole */
    DIAGNOSE_STALE,      /* of an older write */
    DIAGNOSE_SWAPPED,    /* of this write, but of another place */
    DIAGNOSE_FLIPPED,    /* a few bits */
    DIAGNOSE_UNKNOWN,    /* anything else */
    DIAGNOSE_UNREADABLE, /* nothing came: the poison is still there */
    DIAGNOSE_KINDS,
};

/*
 * Who may be to blame.  The owner sets the members up to 'files', and the
 * rest by diagnose_init().  A search in other files or in the pool is made
 * for the first wrong blocks only, one in all files for fewer still: with 10^5
 * files and a part that is all wrong there would be no end.
 */
struct diagnose {
    const struct data *data;
    const uint64_t *seed; /* [writes]: of the last write, of the one before */
    size_t writes;        /* > 0 */
    int file, files;      /* of the layout */

    int searches, scans; /* that are left */
    int suspect;         /* file where the last one was found */
};

struct diagnosis {
    enum diagnose_kind kind;
    int64_t first;     /* wrong byte, index in what was looked at */
    int64_t bytes;     /* that are wrong */
    int64_t bits;      /* likewise */
    size_t writes_ago; /* stale, swapped: whose it is; 0 for swapped */
    int file;          /* likewise; -1: not known */
    int64_t offset;    /* of that block in its file; -1: not known */
    bool same_place;   /* stale: it was here before */
};

void diagnose_init(struct diagnose *d);

/* 'bytes' of the file at 'offset', all in one block of DATA_BLOCK_BYTES, and
 * at least one of them wrong. */
void diagnose_block(struct diagnose *d, int64_t offset, int64_t bytes,
                    const unsigned char *got, struct diagnosis *out);

/* "lost", "stale" ... */
const char *diagnose_name(enum diagnose_kind kind);

/* Whose data it is: "file 3, offset 1048576"; "2 writes ago"; or "". */
void diagnose_whose(const struct diagnosis *diagnosis, char *text, size_t room);

#endif
