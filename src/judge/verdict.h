/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_JUDGE_VERDICT_H
#define IOBM_JUDGE_VERDICT_H

/*
 * Where the bytes of a read came from, from what the witnesses counted
 * (docs/method.md section 6).  Pure.
 *
 * The first witness that is valid decides:
 *   memory file system             all of it is cached
 *   nfs, lustre                    1 - from the servers / to the applications
 *   self_io   block-backed file systems: 1 - read_bytes / V
 *   cachestat what of the files was resident before a buffered read
 *   link      faster than the links can carry: what they cannot was cached,
 *             also where cachestat saw less of it: a cache that is not the
 *             kernel's answered
 * Else nobody can tell.
 */

#include <stdbool.h>
#include <stdint.h>

/* Sums over all ranks or nodes during the phase; -1: not available. */
struct verdict_input {
    bool write, direct;
    int64_t bytes; /* V */
    bool block_backed, network, nfs, lustre, memory, page_cache;
    bool hidden_cache; /* may cache where nobody can look: what is not in the
                          page cache need not come from the storage */
    bool other_node;   /* each rank read what another node wrote */
    int64_t self_read_bytes, device_read_bytes;
    int64_t nfs_client_read, nfs_server_read;
    int64_t lustre_client_read, lustre_osc_read;
    int64_t link_rx_bytes;
    double resident_share; /* before the read; NaN: not known */
    double direct_share;   /* of what O_DIRECT moved, what it left in the page
                              cache; NaN or 0: nothing is known */
    int64_t nodes;
    double link_Bps; /* of all nodes together; NaN: not known */
    double seconds;
};

enum verdict_cache {
    VERDICT_NONE, /* a write */
    VERDICT_COLD,
    VERDICT_MOSTLY_COLD,
    VERDICT_MIXED,
    VERDICT_CACHED,
    VERDICT_UNKNOWN,
};

struct verdict {
    enum verdict_cache cache;
    double cached_share; /* 0..1; NaN: not known */
    char witness[24];    /* "self_io" ...; "" unknown */
    bool direct_not_honoured;
    bool faster_than_link;
    char why[200]; /* one sentence with numbers, "" for an ordinary write */
};

/* Pure; never fails. */
void verdict_judge(const struct verdict_input *in, struct verdict *out);

/* "none", "cold", "mostly-cold", "mixed", "cached", "unknown". */
const char *verdict_cache_name(enum verdict_cache cache);

#endif
