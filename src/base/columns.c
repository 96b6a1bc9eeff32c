/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables that declare each member of the result rows once, in the order
 * of the struct.  Only data: who makes HDF5, CSV or JSON of them is in
 * src/store and src/report.  Numbers in brackets are sections of
 * docs/method.md.
 */

#include "iobm/result.h"

/* A row for 'member' of struct TABLE; its type comes from the member. */
/* clang-format off */
#define MEMBER(member) (((struct TABLE *)NULL)->member)
#define C(member, unit, help) \
    {#member, unit, \
     _Generic(MEMBER(member), int64_t: IOBM_COL_I64, \
              double: IOBM_COL_F64, char *: IOBM_COL_TEXT), \
     offsetof(struct TABLE, member), sizeof(MEMBER(member)), help}
#define END {NULL, NULL, IOBM_COL_END, 0, 0, NULL}
/* clang-format on */

#define TABLE iobm_phase_row
const struct iobm_column iobm_phase_columns[] = {
    /* which */
    C(run, "1", "number of the run in this file, from 1 [12]"),
    C(run_id, "", "UUID of the run [12]"),
    C(label, "", "what the user called the run"),
    C(phase, "1", "index of the phase in the run, from 0"),
    C(op, "", "what the phase did: write or read"),
    C(repeat, "1", "which repeat of the phase, from 0 [4]"),
    C(status, "", "complete, failed, interrupted or invalid [11]"),
    C(reason, "", "why it is not complete; empty when it is"),
    C(started_utc, "", "UTC of the common start, ISO 8601 [2]"),

    /* parameters */
    C(api, "", "back end that moved the bytes"),
    C(access, "", "file-per-rank or shared"),
    C(layout, "", "segmented: one region per rank; strided: blocks in turn"),
    C(sync, "", "end, every, none or dsync: when data were made durable"),
    C(order, "", "same, shift or random: whose part each rank read"),
    C(direct, "1", "1: with O_DIRECT [6]"),
    C(collective, "1", "1: collective MPI-IO calls"),
    C(ranks, "1", "ranks in the phase"),
    C(nodes, "1", "nodes that the ranks ran on"),
    C(files, "1", "files"),
    C(transfer_bytes, "B", "size of one operation"),
    C(block_bytes, "B", "block of a strided layout; 0: contiguous"),
    C(alignment_bytes, "B", "alignment that was kept; 1: none"),
    C(path, "", "path as given; file per rank: the rank is appended"),
    C(fs_type, "", "type of the file system that holds the path"),

    /* what moved */
    C(bytes_expected, "B", "bytes that were to be moved, all ranks"),
    C(bytes, "B", "V: bytes really moved, all ranks [1]"),
    C(ops, "1", "operations done, all ranks"),
    C(errors, "1", "operations, syncs and closes that failed, all ranks"),

    /* the timeline */
    C(first_start_ns, "ns", "S0: first start of a rank with bytes [1]"),
    C(last_start_ns, "ns", "S1: last start of a rank with bytes [1]"),
    C(first_end_ns, "ns", "E0: first end of a rank with bytes [1]"),
    C(last_end_ns, "ns", "E1: last end of a rank with bytes [1]"),
    C(seconds, "s", "T = E1 - S0: first start to last end [1]"),
    C(seconds_outer, "s",
      "T_outer: entering the start barrier to leaving the end barrier, on "
      "rank 0's clock [2]"),

    /* bandwidth */
    C(bw_naive_Bps, "B/s", "sum of the ranks' own rates V_i/d_i [1]"),
    C(bw_slowest_Bps, "B/s", "V / max d_i: ignores late starts [1]"),
    C(bw_wall_Bps, "B/s", "V / T: the headline, first start to last end [1]"),
    C(bw_wall_low_Bps, "B/s", "V / T+: proven lower bound of bw_wall [2]"),
    C(bw_wall_high_Bps, "B/s", "V / T-: proven upper bound of bw_wall [2]"),
    C(bw_steady_Bps, "B/s",
      "rate while all ranks were active, S1 to E0; NaN: never [1]"),
    C(bw_steady_edge_pct, "%",
      "largest error of bw_steady from operations across its edges [1]"),
    C(bw_q90_Bps, "B/s",
      "rate while at least 90 % of the ranks were active [1]"),
    C(bw_open_close_Bps, "B/s", "V / (last close end - first open start) [1]"),
    C(bw_cache_Bps, "B/s",
      "V / (last end of a transfer - S0): before the sync [1]"),
    C(bw_stone_10s_Bps, "B/s",
      "bytes of the first 10 s / 10 s: virtual stonewall; NaN: shorter [1]"),
    C(bw_stone_30s_Bps, "B/s",
      "bytes of the first 30 s / 30 s: virtual stonewall; NaN: shorter [1]"),
    C(bw_stone_60s_Bps, "B/s",
      "bytes of the first 60 s / 60 s: virtual stonewall; NaN: shorter [1]"),
    C(bw_stone_300s_Bps, "B/s",
      "bytes of the first 300 s / 300 s: virtual stonewall; NaN: shorter [1]"),
    C(dirty_pct, "%",
      "share not yet on the storage when the sync began; NaN: not known [1]"),
    C(inflation_ranks, "1",
      "F_imb = bw_naive / bw_slowest: from uneven ranks [1]"),
    C(inflation_start, "1", "F_skew = T / max d_i: from late starts [1]"),
    C(loss_ramp_pct, "%",
      "share of bw_steady lost before all ranks were active [1]"),
    C(loss_tail_pct, "%",
      "share of bw_steady lost after the first rank ended [1]"),

    /* spread over the ranks */
    C(imbalance, "1", "max d_i / mean d_i - 1 over ranks with bytes [1]"),
    C(rate_cov, "1", "coefficient of variation of the ranks' rates [1]"),
    C(rate_jain, "1", "Jain's fairness index of the ranks' rates [1]"),
    C(stragglers, "1",
      "ranks with d_i > median + 3.5 * 1.4826 * MAD and > 1.05 median [1]"),
    C(node_eta2, "1",
      "share of the rates' variance between nodes; NaN: too few nodes [1]"),
    C(node_p, "1", "permutation p of node_eta2 [1]"),
    C(rank_min_Bps, "B/s", "smallest rate of a rank with bytes [1]"),
    C(rank_max_Bps, "B/s", "largest rate of a rank with bytes [1]"),
    C(duty_pct, "%", "sum of op latencies / (ranks * mean d_i) [1]"),
    C(prepare_pct, "%",
      "preparing data in the timed region / (ranks * mean d_i) [7]"),
    C(open_max_s, "s", "longest open of a rank [1]"),
    C(sync_max_s, "s", "longest sync of a rank [1]"),
    C(close_max_s, "s", "longest close of a rank [1]"),
    C(latency_max_s, "s", "longest operation of a rank [8]"),

    /* clock */
    C(clock_bound_s, "s", "largest e_i: bound of the clock's error [2]"),
    C(clock_domains, "1", "clocks that the ranks read [2]"),
    C(clock_anomaly, "1", "1: exchanges of a sync point disagreed [2]"),
    C(clock_failed, "1",
      "1: self-check or sandwich failed, bw_wall is V / T_outer [2]"),
    C(too_short, "1", "1: the bounds are wider than 1 % of T [2]"),
    C(late_ranks, "1", "ranks that were past the common start [2]"),
    C(start_skew_s, "s", "S1 - S0 [1]"),

    C(moved_files, "1", "parts read by a rank on another node [6]"),
    END,
};
#undef TABLE

#define TABLE iobm_rank_row
const struct iobm_column iobm_rank_columns[] = {
    C(phase, "1", "index of the phase in the run, from 0"),
    C(op, "", "what the phase did: write or read"),
    C(repeat, "1", "which repeat of the phase, from 0"),
    C(rank, "1", "rank in the run"),
    C(node, "", "host name"),
    C(part, "1", "whose file or region the rank worked on"),
    C(start_ns, "ns", "S_i: first I/O issued [1]"),
    C(end_ns, "ns", "E_i: all that the phase counts as done is done [1]"),
    C(clock_bound_ns, "ns", "e_i: bound of the error of both times [2]"),
    C(open_ns, "ns", "time in open [1]"),
    C(io_ns, "ns", "time from the first to the last transfer [1]"),
    C(sync_ns, "ns", "time in sync after the last transfer [1]"),
    C(close_ns, "ns", "time in close [1]"),
    C(bytes, "B", "V_i: bytes really moved [1]"),
    C(ops, "1", "operations done"),
    C(errors, "1", "operations, syncs and closes that failed"),
    C(late_ns, "ns", "how late it was for the common start; 0: in time [2]"),
    C(latency_sum_ns, "ns", "sum of the operations' latencies [1]"),
    C(latency_max_ns, "ns", "longest operation [8]"),
    C(prepare_ns, "ns", "preparing data in the timed region [7]"),
    C(rate_Bps, "B/s", "r_i = bytes / (end - start) [1]"),
    C(straggler, "1", "1: much slower than the median rank [1]"),
    END,
};
#undef TABLE

#define TABLE iobm_clock_row
const struct iobm_column iobm_clock_columns[] = {
    C(point, "1", "number of the sync point, from 0 [2]"),
    C(domain, "1", "clock domain, by its lowest rank [2]"),
    C(leader_rank, "1", "rank that exchanged stamps for the domain [2]"),
    C(ranks, "1", "ranks that read this clock"),
    C(local_ns, "ns", "where the point lies on the domain's clock [2]"),
    C(offset_ns, "ns", "rank 0's clock minus this one, there [2]"),
    C(bound_ns, "ns", "the true offset is within this much [2]"),
    C(rtt_min_ns, "ns", "shortest round trip of an exchange [2]"),
    C(skew_ppm, "ppm",
      "rate of rank 0's clock against this one, less 1, since the point "
      "before [2]"),
    C(exchanges, "1", "exchanges of stamps [2]"),
    C(anomaly, "1", "1: the exchanges had no common offset [2]"),
    C(check_failed, "1", "1: fresh exchanges disagreed with the point [2]"),
    END,
};
#undef TABLE

#define TABLE iobm_node_row
const struct iobm_column iobm_node_columns[] = {
    C(node, "1", "number of the node, by its lowest rank"),
    C(host, "", "host name"),
    C(boot_id, "", "id of the kernel's boot [2]"),
    C(kernel, "", "kernel release and architecture"),
    C(cpu, "", "model of the first processor"),
    C(cores, "1", "processors on line"),
    C(ranks, "1", "ranks on the node"),
    C(memory_bytes, "B", "main memory"),
    C(memory_free_bytes, "B", "memory available at the start"),
    C(link, "", "name of the fastest network link that is up [6]"),
    C(link_bits_per_s, "bit/s", "its rate; -1: unknown [6]"),
    C(binding, "", "processors that the node's first rank may use"),
    END,
};
#undef TABLE

#define TABLE iobm_log_row
const struct iobm_column iobm_log_columns[] = {
    C(time_utc_ns, "ns", "when, since 1970 UTC"),
    C(level, "", "note, warn or error"),
    C(text, "", "the message"),
    END,
};
#undef TABLE
