/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_RESULT_H
#define IOBM_RESULT_H

#include <stdbool.h>
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

    /* who cost the ramp and the tail (method 1) */
    int64_t ramp_ranks, ramp_nodes, tail_ranks, tail_nodes;
    double ramp_s, tail_s;

    /* latency of the transfers (method 8) */
    double latency_min_s, latency_mean_s;
    double latency_p50_s, latency_p90_s, latency_p99_s, latency_p999_s;

    /* time structure (method 3) */
    char shape[16];      /* "flat", "warm-up", "slow-down", "unsteady",
                            "too-short"; "" not known */
    double warmup_s;     /* cut from the steady window */
    int64_t changes;     /* change points */
    int64_t cliff_bytes; /* -1: none */
    double cliff_before_Bps, cliff_after_Bps, sustained_Bps;

    /* evidence (method 6) */
    char cache_verdict[16]; /* "cold", "mostly-cold", "mixed", "cached",
                               "unknown"; "none" for a write */
    double cached_pct;
    char cache_witness[24]; /* what the verdict rests on */
    char cache_method[16];  /* how the cache was defeated: "direct",
                               "other-node", "dropped", "drop-all", "kept",
                               "none" */
    double resident_pct;    /* in the page cache before the read */
    double dirty_left_pct;  /* of a write, not yet on the storage after it */
    int64_t direct_not_honoured, faster_than_link;
    double link_Bps;         /* what the nodes' links carry together */
    double link_moved_bytes; /* what they carried */
    double device_bytes;     /* what the device moved, of all nodes */
    double working_set_pct;  /* of the memory of its node, the largest */

    /* the client (method 6): largest over the nodes */
    int64_t major_faults, swapped_bytes; /* all ranks; all nodes */
    double memory_stall_pct, cpu_busy_pct, cpu_wait_pct, cpu_steal_pct;
    int64_t memory_limit_hits;
    double cpu_s; /* of all ranks */

    /* our own cost (method 9) */
    double timer_ns, op_cost_ns, memcpy_Bps, overhead_pct;

    /* verification; -1: not asked for */
    int64_t verify_bytes, verify_errors;

    /* certificate (method 11) */
    char trust[8];    /* the worst: "OK", "NOTE", "WARN", "INVALID" */
    char checks[256]; /* those that are not OK: "W:short N:late" */
};

/* Bytes per bin of the common time grid: all ranks together ('rank' and
 * 'node' -1), each rank alone, or, above SERIES_RANKS_MAX ranks, each node
 * alone ('rank' -1). */
#define SERIES_RANKS_MAX 1024
struct iobm_series_row {
    int64_t phase, repeat;
    int64_t rank, node;
    int64_t start_ns, width_ns; /* start_ns on the global timeline */
    int64_t bytes;
};

/* The transfers of all ranks by the second in which they ended. */
struct iobm_second_row {
    int64_t phase, repeat;
    double start_s, width_s; /* since the common start */
    int64_t ops, bytes;
    double p50_s, p99_s, max_s;
};

/* Latency of one class of operations, all ranks; a percentile needs ten
 * operations beyond it. */
struct iobm_class_row {
    int64_t phase, repeat;
    char op_class[16]; /* "open", "write", "read", "sync", "close" */
    int64_t ops;
    double min_s, mean_s, p50_s, p90_s, p99_s, p999_s, p9999_s, max_s;
};

/* A bucket of its histogram that is not empty: [low_ns, high_ns). */
struct iobm_latency_row {
    int64_t phase, repeat;
    char op_class[16];
    int64_t low_ns, high_ns, ops;
};

/* A lasting change of the rate within a phase. */
struct iobm_change_row {
    int64_t phase, repeat;
    double at_s; /* since S0 */
    int64_t at_bytes;
    double before_Bps, after_Bps;
};

/* What one node's witnesses counted over a phase; -1: not available.  'self'
 * is the sum over the node's ranks. */
struct iobm_evidence_row {
    int64_t phase, repeat, node;
    char host[64];
    int64_t bytes; /* moved by the node's ranks */
    int64_t self_read_bytes, self_write_bytes;
    int64_t device_read_bytes, device_write_bytes;
    double device_busy_pct;
    int64_t nfs_client_read_bytes, nfs_server_read_bytes;
    int64_t nfs_client_write_bytes, nfs_server_write_bytes;
    int64_t lustre_client_read_bytes, lustre_osc_read_bytes;
    int64_t lustre_client_write_bytes, lustre_osc_write_bytes;
    int64_t link_rx_bytes, link_tx_bytes, link_bits_per_s;
    double resident_pct, dirty_pct;
    int64_t major_faults, swap_in_bytes, swap_out_bytes;
    double memory_stall_pct, cpu_busy_pct, cpu_wait_pct, cpu_steal_pct;
    int64_t memory_limit_bytes, memory_limit_hits;
    int64_t memory_bytes, memory_available_bytes;
    double working_set_pct;
};

/* Wrong bytes that a verification found: the first of one kind in one
 * rank's part, and how many there are. */
struct iobm_finding_row {
    int64_t phase, repeat;
    int64_t rank, part; /* who read; whose part */
    char path[512];
    char kind[16];     /* "lost", "stale", "swapped", "flipped", "unknown",
                          "unreadable" */
    int64_t offset;    /* in the file, of the first wrong byte */
    int64_t bytes;     /* wrong bytes of this kind in the part */
    int64_t blocks;    /* 4 KiB blocks that hold them */
    char expected[36]; /* hex of 16 bytes from 'offset' on */
    char actual[36];
    char whose[128]; /* swapped: whose data it is; stale: of when */
};

/* One check of the certificate; phase and repeat -1: of the run. */
struct iobm_check_row {
    int64_t phase, repeat;
    char op[16];
    char name[24];  /* "cache", "clock", "short" ... */
    char result[8]; /* "OK", "NOTE", "WARN", "INVALID" */
    double value, limit;
    char unit[8];
    char text[200];   /* what was found; "" when OK needs no word */
    char advice[200]; /* the next step; "" */
};

/* The repeats of one kind of phase, summed up (method 4). */
struct iobm_summary_row {
    char op[16];
    int64_t repeats, left_out;
    double median_Bps, low_Bps, high_Bps, confidence_pct, half_width_pct;
    double mean_Bps; /* sum of bytes / sum of seconds */
    double best_Bps, worst_Bps, cov_pct;
    int64_t first_run; /* 1: the first repeat differs */
    double first_run_pct;
    int64_t trend;
    double trend_p, trend_pct;
    int64_t two_modes;
    double mode_low_Bps, mode_high_Bps;
    int64_t outliers;
    char outlier_repeats[64]; /* "3, 7" */
    char stopped[16];         /* "all", "precise", "cap", "time budget" */
};

/* The rows of one or more phases beside those of the phase and its ranks.
 * The arrays are allocated, to be freed by iobm_detail_release(). */
struct iobm_detail {
    struct iobm_series_row *series;
    size_t series_count;
    struct iobm_second_row *seconds;
    size_t second_count;
    struct iobm_class_row *classes;
    size_t class_count;
    struct iobm_latency_row *latency;
    size_t latency_count;
    struct iobm_change_row *changes;
    size_t change_count;
    struct iobm_evidence_row *evidence;
    size_t evidence_count;
    struct iobm_finding_row *findings;
    size_t finding_count;
    struct iobm_check_row *checks;
    size_t check_count;
    struct iobm_summary_row *summaries;
    size_t summary_count;
};

void iobm_detail_release(struct iobm_detail *detail);

/* Append copies of the rows of 'from'; false when memory is short. */
bool iobm_detail_append(struct iobm_detail *into,
                        const struct iobm_detail *from);

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
extern const struct iobm_column iobm_series_columns[];
extern const struct iobm_column iobm_second_columns[];
extern const struct iobm_column iobm_class_columns[];
extern const struct iobm_column iobm_latency_columns[];
extern const struct iobm_column iobm_change_columns[];
extern const struct iobm_column iobm_evidence_columns[];
extern const struct iobm_column iobm_finding_columns[];
extern const struct iobm_column iobm_check_columns[];
extern const struct iobm_column iobm_summary_columns[];

#endif
