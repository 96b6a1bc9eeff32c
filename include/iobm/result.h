/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_RESULT_H
#define IOBM_RESULT_H

#include <stddef.h>
#include <stdint.h>

/*
 * What a phase yielded, as flat rows, and the tables that declare each
 * member once: the HDF5 compound type, the CSV header, the JSON key and
 * their explanation are all made from them.  Rows are only ever added; a name
 * never changes its meaning.  Times are int64 ns on the run's global timeline
 * (zero: the first synchronisation point); n/a is NaN or -1.
 */

enum iobm_column_type {
    IOBM_COL_END = 0,
    IOBM_COL_I64,
    IOBM_COL_F64,
    IOBM_COL_TEXT, /* char[], NUL-terminated UTF-8 */
};

struct iobm_column {
    const char *name; /* "bw_wall_Bps" */
    const char *unit; /* "B/s", "s", "ns", "B", "1", "" for text */
    enum iobm_column_type type;
    size_t offset;
    size_t size;      /* bytes of the member */
    const char *help; /* what it is, and over which ranks */
};

/* One row per (run, phase, repeat).  Section numbers are docs/method.md's. */
struct iobm_phase_row {
    /* which */
    int64_t run;     /* sequence number in the result file, from 1 */
    char run_id[40]; /* UUID */
    char label[128];
    int64_t phase;        /* index in the run, from 0 */
    char op[16];          /* "write", "read" */
    int64_t repeat;       /* from 0 */
    char status[16];      /* "complete", "failed", "interrupted", "invalid" */
    char reason[256];     /* why not complete; "" */
    char started_utc[32]; /* ISO 8601 of the common start */

    /* parameters */
    char api[16];       /* back end */
    char access[16];    /* "file-per-rank", "shared" */
    char layout[16];    /* "segmented", "strided" */
    char sync[8];       /* "end", "every", "none", "dsync" */
    char order[16];     /* "same", "shift", "random" */
    int64_t direct;     /* 1: O_DIRECT */
    int64_t collective; /* 1: collective MPI-IO calls */
    int64_t ranks, nodes, files;
    int64_t transfer_bytes, block_bytes, alignment_bytes;
    char path[512];
    char fs_type[32];

    /* what moved */
    int64_t bytes_expected, bytes, ops, errors;

    /* the timeline (method 1) */
    int64_t first_start_ns, last_start_ns, first_end_ns, last_end_ns;
    double seconds;       /* T = E1 - S0 */
    double seconds_outer; /* T_outer on rank 0's clock */

    /* bandwidth (method 1) */
    double bw_naive_Bps, bw_slowest_Bps, bw_wall_Bps;
    double bw_wall_low_Bps, bw_wall_high_Bps;
    double bw_steady_Bps, bw_steady_edge_pct, bw_q90_Bps;
    double bw_open_close_Bps, bw_cache_Bps;
    double bw_stone_10s_Bps, bw_stone_30s_Bps, bw_stone_60s_Bps;
    double bw_stone_300s_Bps;
    double dirty_pct; /* not yet on the storage when the sync began */
    double inflation_ranks, inflation_start; /* F_imb, F_skew */
    double loss_ramp_pct, loss_tail_pct;

    /* spread over the ranks (method 1) */
    double imbalance, rate_cov, rate_jain;
    int64_t stragglers;
    double node_eta2, node_p;
    double rank_min_Bps, rank_max_Bps;
    double duty_pct, prepare_pct;
    double open_max_s, sync_max_s, close_max_s;
    double latency_max_s;

    /* clock (method 2) */
    double clock_bound_s; /* largest e_i */
    int64_t clock_domains, clock_anomaly, clock_failed, too_short, late_ranks;
    double start_skew_s; /* S1 - S0 */

    int64_t moved_files; /* read from a rank on another node */
};

/* One row per (phase, repeat, rank). */
struct iobm_rank_row {
    int64_t phase;
    char op[16];
    int64_t repeat, rank;
    char node[64];
    int64_t part; /* whose file or region it worked on */
    int64_t start_ns, end_ns, clock_bound_ns;  /* S_i, E_i, e_i */
    int64_t open_ns, io_ns, sync_ns, close_ns; /* disjoint, adding up */
    int64_t bytes, ops, errors;
    int64_t late_ns; /* after the common start; 0: in time */
    int64_t latency_sum_ns, latency_max_ns, prepare_ns;
    double rate_Bps; /* bytes / (end - start) */
    int64_t straggler;
};

/* One row per synchronisation point and clock domain. */
struct iobm_clock_row {
    int64_t point;
    int64_t domain, leader_rank, ranks;
    int64_t local_ns, offset_ns, bound_ns, rtt_min_ns;
    double skew_ppm;
    int64_t exchanges, anomaly, check_failed;
};

/* One row per node. */
struct iobm_node_row {
    int64_t node;
    char host[64];
    char boot_id[40];
    char kernel[96];
    char cpu[96];
    int64_t cores, ranks;
    int64_t memory_bytes, memory_free_bytes;
    char link[32];
    int64_t link_bits_per_s; /* fastest link that is up; -1 unknown */
    char binding[96];        /* cpus allowed, of the node's first rank */
};

struct iobm_log_row {
    int64_t time_utc_ns;
    char level[8]; /* "note", "warn", "error" */
    char text[1024];
};

extern const struct iobm_column iobm_phase_columns[];
extern const struct iobm_column iobm_rank_columns[];
extern const struct iobm_column iobm_clock_columns[];
extern const struct iobm_column iobm_node_columns[];
extern const struct iobm_column iobm_log_columns[];

#endif
