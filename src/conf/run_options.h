/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_CONF_RUN_OPTIONS_H
#define IOBM_CONF_RUN_OPTIONS_H

/*
 * What "iobm run" can be told, and what it comes to on so many ranks: which
 * combinations make no sense is decided here, without MPI or a disk.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/kv.h"
#include "base/layout.h"
#include "base/str.h"
#include "iobm/error.h"
#include "iobm/option.h"

enum run_sync { SYNC_END, SYNC_EVERY, SYNC_NONE, SYNC_DSYNC };
enum run_order { ORDER_AUTO, ORDER_SAME, ORDER_SHIFT, ORDER_RANDOM };
enum run_layout { LAYOUT_SEGMENTED, LAYOUT_STRIDED };
enum run_start { START_TIME, START_BARRIER };
enum run_cache { CACHE_KEEP, CACHE_DROP, CACHE_REQUIRE_COLD, CACHE_DROP_ALL };
enum run_help { HELP_SHORT, HELP_ALL };

struct run_options {
    /* what */
    int64_t size_bytes;                 /* -n; -1: not given */
    bool per_rank;                      /* -a */
    char *file;                         /* -f */
    bool write, read;                   /* -w -r */
    int64_t transfer_bytes;             /* -b */
    bool direct, shared, mmap, no_sync; /* -d -s -m -z */
    char *api; /* a back end's name; never NULL once checked */
    bool collective;
    struct kvlist hints;
    char *hints_file;
    int sync;            /* enum run_sync */
    int layout;          /* enum run_layout */
    int64_t block_bytes; /* -1: not given, the transfer size is meant */
    int order;           /* enum run_order */
    int64_t repeats;
    int64_t delay_ns;    /* between one phase and the next */
    int start;           /* enum run_start */
    int64_t watchdog_ns; /* 0: off */
    int64_t seed;        /* -1: a fresh one */
    int cache;           /* enum run_cache */
    bool verify;
    char *precision;        /* as typed: "5%", NULL: not asked for */
    double precision_pct;   /* made from it; 0: not asked for */
    int64_t time_budget_ns; /* of all repeats; 0: none */
    bool strict;
    /* results */
    char *output; /* -o; "none" */
    char *label;
    struct kvlist tags;
    bool json, csv, text;
    bool verbose;
    /* safety */
    bool dry_run, force, keep, clean, destroy_data;
    int help; /* enum run_help; meant only when "help" was given */
};

extern const struct iobm_option run_option_table[];

/* Flags of opt_parse, by row; enough room for the table. */
#define RUN_OPTIONS_MAX 64

/* --precision without -i: repeats at most; the fewest that can be enough. */
#define RUN_REPEATS_CAP   30
#define RUN_REPEATS_LEAST 6

/*
 * What can be said before the number of ranks is known: each combination that
 * makes no sense, and each value that cannot be used or kept with a result.
 * Fills in what is implied (-m: api mmap; -z: sync none; api posix; text when
 * no form was asked for).  Knows posix, mmap, mpiio and null by name; whether
 * another back end can do what is asked, the caller sees from its abilities.
 * IOBM_EUSAGE, one line: what was understood and what to do.
 */
enum iobm_status run_options_check(struct run_options *options,
                                   const bool *given,
                                   struct iobm_error *err) IOBM_CHECK;

/* The layout on 'ranks' ranks, with a grain of 1; overflow and impossible
 * sizes are refused.  options->size_bytes must be known. */
enum iobm_status run_options_layout(const struct run_options *options,
                                    int ranks, struct layout *layout,
                                    struct iobm_error *err) IOBM_CHECK;

/* Refuse a transfer size or block that O_DIRECT cannot do at 'alignment', and
 * name the nearest sizes below and above that it can. */
enum iobm_status run_options_direct(const struct layout *layout,
                                    int64_t alignment_bytes,
                                    struct iobm_error *err) IOBM_CHECK;

/* --help: what fits a small screen, with examples. */
void run_help_short(struct str *out);

#endif
