/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_STORE_STORE_H
#define IOBM_STORE_STORE_H

/*
 * The result file (docs/method.md section 12): one HDF5 file with many runs,
 * crash safe.  A run goes to a partial file of its own beside the target
 * (TARGET.<uuid8>.part), replaced as a whole after each repeat, and is merged
 * at the end: copy the target, append, fsync, rename, under a lock file that
 * works on NFS and Lustre (TARGET.lock, link(2); a stale one of a dead process
 * is broken).  Rank 0 only; no MPI; one thread at a time.  Readers work on a
 * target or a partial file.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/kv.h"
#include "base/str.h"
#include "iobm/error.h"
#include "iobm/result.h"

/* One run with all that is known of it.  The arrays belong to the struct. */
struct run_record {
    int64_t number; /* in the file, from 1; 0 while not merged */
    char name[96];  /* of its group: "000012_20261130T200621Z_1a2b3c4d" */
    char run_id[40];
    char status[16];   /* running, complete, failed, interrupted, invalid */
    char reason[1024]; /* why it ended so; "" */
    char label[128];
    char argv[4096];
    char version[64]; /* of iobm */
    char started_utc[32], finished_utc[32];
    struct kvlist config; /* every parameter, as typed */
    struct kvlist tags;
    struct kvlist environment; /* facts: mount.*, mpi.*, env.*, data.* */
    struct iobm_node_row *nodes;
    size_t node_count;
    struct iobm_phase_row *phases;
    size_t phase_count;
    struct iobm_rank_row *ranks;
    size_t rank_count;
    struct iobm_clock_row *clocks;
    size_t clock_count;
    struct iobm_log_row *log;
    size_t log_count;
    struct iobm_detail detail; /* of all phases, and of the run */
};
void run_record_release(struct run_record *record);

struct store; /* a run being written */

/*
 * Check the target (absent and creatable, or a result file of ours that opens
 * and is not of a newer format), then create the partial file with what is
 * known at the start: everything of 'record' but phases, ranks, finished.
 */
enum iobm_status store_begin(const char *target,
                             const struct run_record *record,
                             struct store **store,
                             struct iobm_error *err) IOBM_CHECK;

/* The checks of store_begin alone, nothing written (for --dry-run). */
enum iobm_status store_check(const char *target,
                             struct iobm_error *err) IOBM_CHECK;

/* Append the rows beside a phase or a run.  They are on disk with the next of
 * the steps below; before that the partial file is as it was. */
enum iobm_status store_detail(struct store *store,
                              const struct iobm_detail *detail,
                              struct iobm_error *err) IOBM_CHECK;

/* Append and flush: a phase and its ranks' rows. */
enum iobm_status store_phase(struct store *store,
                             const struct iobm_phase_row *phase,
                             const struct iobm_rank_row *ranks, size_t n,
                             struct iobm_error *err) IOBM_CHECK;
enum iobm_status store_clocks(struct store *store,
                              const struct iobm_clock_row *rows, size_t n,
                              struct iobm_error *err) IOBM_CHECK;
enum iobm_status store_log(struct store *store, const struct iobm_log_row *row,
                           struct iobm_error *err) IOBM_CHECK;
/* Add or replace environment facts learnt later. */
enum iobm_status store_facts(struct store *store, const struct kvlist *facts,
                             struct iobm_error *err) IOBM_CHECK;

/*
 * Set status, reason and finish time, close the partial file, merge it into
 * the target and free the store.  '*number' is the run's number.  When the
 * merge fails (lock held too long, no space) the partial file stays, the
 * error names it and "iobm file recover".
 */
enum iobm_status store_finish(struct store *store, const char *status,
                              const char *reason, int64_t *number,
                              struct iobm_error *err) IOBM_CHECK;

/* Free without merging; the partial file stays unless it holds no phase. */
void store_abandon(struct store *store);

const char *store_partial_path(const struct store *store);

/* Runs of a file, oldest first, each without ranks, clocks and log (phases
 * included). */
enum iobm_status store_list(const char *path, struct run_record **runs,
                            size_t *count, struct iobm_error *err) IOBM_CHECK;

/* One whole run by number (0 or less: counted from the last, 0 = last).  Of
 * the series only the rows of all ranks together: the others may be many. */
enum iobm_status store_read(const char *path, int64_t number,
                            struct run_record *record,
                            struct iobm_error *err) IOBM_CHECK;

/* Every row of the series of a run, in a new allocation (NULL: none). */
enum iobm_status store_read_series(const char *path, int64_t number,
                                   struct iobm_series_row **rows, size_t *count,
                                   struct iobm_error *err) IOBM_CHECK;

struct store_recovery {
    int64_t merged;
    int64_t alive;   /* left: its run goes on, or may go on elsewhere */
    int64_t damaged; /* left: it cannot be merged */
};

/*
 * Merge every partial file of TARGET whose run is no longer alive, status
 * "interrupted" where it was still "running".  A run of another host counts
 * as alive until its partial file has not changed for ten minutes, or with
 * 'force' not at all.  Says in 'report' what it did, a line each.
 */
enum iobm_status store_recover(const char *target, bool force,
                               struct store_recovery *counts,
                               struct str *report,
                               struct iobm_error *err) IOBM_CHECK;

/* How many partial files lie beside TARGET, alive or not; 0 when it cannot be
 * told. */
int64_t store_count_partials(const char *target);

/* HDF5 library version and whether it is parallel: "hdf5.version" ... */
enum iobm_status store_library_facts(struct kvlist *out,
                                     struct iobm_error *err) IOBM_CHECK;

#endif
