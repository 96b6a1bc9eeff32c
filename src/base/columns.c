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

    /* who cost the ramp and the tail */
    C(ramp_ranks, "1", "ranks that were not yet active in the ramp [1]"),
    C(ramp_nodes, "1", "nodes that they ran on [1]"),
    C(tail_ranks, "1", "ranks that were still active in the tail [1]"),
    C(tail_nodes, "1", "nodes that they ran on [1]"),
    C(ramp_s, "s", "how long after S0 they were not active [1]"),
    C(tail_s, "s", "how long before E1 they alone were active [1]"),

    /* latency of the transfers */
    C(latency_min_s, "s", "shortest transfer of a rank [8]"),
    C(latency_mean_s, "s", "mean time of a transfer [8]"),
    C(latency_p50_s, "s",
      "half of the transfers took at most this; NaN: too few [8]"),
    C(latency_p90_s, "s", "90 % took at most this; NaN: fewer than 100 [8]"),
    C(latency_p99_s, "s", "99 % took at most this; NaN: fewer than 1000 [8]"),
    C(latency_p999_s, "s",
      "99.9 % took at most this; NaN: fewer than 10000 [8]"),

    /* time structure */
    C(shape, "",
      "flat, warm-up, slow-down, unsteady or too-short; empty: not known [3]"),
    C(warmup_s, "s", "the start that was slower than the rest; 0: none [3]"),
    C(changes, "1", "lasting changes of the rate [3]"),
    C(cliff_bytes, "B",
      "bytes written before the rate fell for good; -1: it did not [3]"),
    C(cliff_before_Bps, "B/s", "rate before it fell; NaN: it did not [3]"),
    C(cliff_after_Bps, "B/s", "rate after it fell; NaN: it did not [3]"),
    C(sustained_Bps, "B/s",
      "rate after warm-up and fall; NaN: too short or not steady [3]"),

    /* evidence */
    C(cache_verdict, "",
      "cold, mostly-cold, mixed, cached or unknown; none: a write [6]"),
    C(cached_pct, "%",
      "share that the client's memory answered; NaN: not known [6]"),
    C(cache_witness, "", "what the verdict rests on [6]"),
    C(cache_method, "",
      "how the cache was kept out: direct, other-node, dropped, drop-all, "
      "kept or none [6]"),
    C(resident_pct, "%",
      "share in the page cache before the read; NaN: not known [6]"),
    C(dirty_left_pct, "%",
      "share not yet on the storage after the write; NaN: not known [6]"),
    C(direct_not_honoured, "1",
      "1: the file system took O_DIRECT and cached all the same [6]"),
    C(faster_than_link, "1",
      "1: more bytes than the nodes' links can carry in that time [6]"),
    C(link_Bps, "B/s", "what the nodes' links carry together [6]"),
    C(link_moved_bytes, "B", "what they carried meanwhile, all users [6]"),
    C(device_bytes, "B",
      "what the block devices moved meanwhile, all users [6]"),
    C(working_set_pct, "%",
      "bytes of a node's ranks / its memory, the largest [6]"),

    /* the client */
    C(major_faults, "1", "page faults that waited for a disk, all ranks [6]"),
    C(swapped_bytes, "B", "bytes swapped in and out, all nodes [6]"),
    C(memory_stall_pct, "%",
      "time in which a task waited for memory, worst node [6]"),
    C(cpu_busy_pct, "%", "processor time in use, busiest node [6]"),
    C(cpu_wait_pct, "%",
      "time in which ranks were ready and had no processor, worst node [6]"),
    C(cpu_steal_pct, "%",
      "processor time that other virtual machines took, worst node [6]"),
    C(memory_limit_hits, "1",
      "times that the memory limit of a group was met, all nodes [6]"),
    C(cpu_s, "s", "processor time of all ranks [6]"),

    /* our own cost */
    C(timer_ns, "ns", "one reading of the clock [9]"),
    C(op_cost_ns, "ns", "what iobm itself takes for an operation [9]"),
    C(memcpy_Bps, "B/s", "how fast one rank copies memory [9]"),
    C(overhead_pct, "%",
      "op_cost_ns * ops / (ranks * mean d_i): share of iobm itself [9]"),

    /* verification */
    C(verify_bytes, "B", "bytes read back and compared; -1: not asked for [7]"),
    C(verify_errors, "1",
      "4 KiB blocks that are wrong or unreadable; -1: not asked for [7]"),

    /* certificate */
    C(trust, "", "the worst check: OK, NOTE, WARN or INVALID [11]"),
    C(checks, "", "checks that are not OK, worst first [11]"),
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

#define TABLE iobm_series_row
const struct iobm_column iobm_series_columns[] = {
    C(phase, "1", "index of the phase in the run, from 0"),
    C(repeat, "1", "which repeat of the phase, from 0"),
    C(rank, "1", "rank in the run; -1: all of the node, or all [1]"),
    C(node, "1", "number of the node; -1: all ranks together [1]"),
    C(start_ns, "ns", "when the bin begins [1]"),
    C(width_ns, "ns", "how long it is [1]"),
    C(bytes, "B", "bytes moved in it [1]"),
    END,
};
#undef TABLE

#define TABLE iobm_second_row
const struct iobm_column iobm_second_columns[] = {
    C(phase, "1", "index of the phase in the run, from 0"),
    C(repeat, "1", "which repeat of the phase, from 0"),
    C(start_s, "s", "when the slot begins, since the common start [8]"),
    C(width_s, "s", "how long it is: 1, 2, 4 ... seconds [8]"),
    C(ops, "1", "transfers that ended in it, all ranks [8]"),
    C(bytes, "B", "their bytes [8]"),
    C(p50_s, "s", "half of them took at most this; NaN: too few [8]"),
    C(p99_s, "s", "99 % of them took at most this; NaN: too few [8]"),
    C(max_s, "s", "the longest; NaN: none [8]"),
    END,
};
#undef TABLE

#define TABLE iobm_class_row
const struct iobm_column iobm_class_columns[] = {
    C(phase, "1", "index of the phase in the run, from 0"),
    C(repeat, "1", "which repeat of the phase, from 0"),
    C(op_class, "", "open, write, read, sync or close [8]"),
    C(ops, "1", "how many, all ranks [8]"),
    C(min_s, "s", "the shortest [8]"),
    C(mean_s, "s", "the mean [8]"),
    C(p50_s, "s", "half took at most this; NaN: too few [8]"),
    C(p90_s, "s", "90 % took at most this; NaN: fewer than 100 [8]"),
    C(p99_s, "s", "99 % took at most this; NaN: fewer than 1000 [8]"),
    C(p999_s, "s", "99.9 % took at most this; NaN: fewer than 10000 [8]"),
    C(p9999_s, "s", "99.99 % took at most this; NaN: fewer than 100000 [8]"),
    C(max_s, "s", "the longest [8]"),
    END,
};
#undef TABLE

#define TABLE iobm_latency_row
const struct iobm_column iobm_latency_columns[] = {
    C(phase, "1", "index of the phase in the run, from 0"),
    C(repeat, "1", "which repeat of the phase, from 0"),
    C(op_class, "", "open, write, read, sync or close [8]"),
    C(low_ns, "ns", "operations of at least this, [8]"),
    C(high_ns, "ns", "and of less than this [8]"),
    C(ops, "1", "how many, all ranks; never 0 [8]"),
    END,
};
#undef TABLE

#define TABLE iobm_change_row
const struct iobm_column iobm_change_columns[] = {
    C(phase, "1", "index of the phase in the run, from 0"),
    C(repeat, "1", "which repeat of the phase, from 0"),
    C(at_s, "s", "when the rate changed, since S0 [3]"),
    C(at_bytes, "B", "bytes moved by then, all ranks [3]"),
    C(before_Bps, "B/s", "rate since the change before [3]"),
    C(after_Bps, "B/s", "rate until the next change [3]"),
    END,
};
#undef TABLE

#define TABLE iobm_evidence_row
const struct iobm_column iobm_evidence_columns[] = {
    C(phase, "1", "index of the phase in the run, from 0"),
    C(repeat, "1", "which repeat of the phase, from 0"),
    C(node, "1", "number of the node, by its lowest rank"),
    C(host, "", "host name"),
    C(bytes, "B", "bytes that the node's ranks moved [6]"),
    C(self_read_bytes, "B", "read from block devices, by its ranks [6]"),
    C(self_write_bytes, "B", "made dirty for block devices, by its ranks [6]"),
    C(device_read_bytes, "B", "read by the block device, for all users [6]"),
    C(device_write_bytes, "B",
      "written by the block device, for all users [6]"),
    C(device_busy_pct, "%", "time in which the block device was busy [6]"),
    C(nfs_client_read_bytes, "B", "NFS: read by applications [6]"),
    C(nfs_server_read_bytes, "B", "NFS: read from the server [6]"),
    C(nfs_client_write_bytes, "B", "NFS: written by applications [6]"),
    C(nfs_server_write_bytes, "B", "NFS: written to the server [6]"),
    C(lustre_client_read_bytes, "B", "Lustre: read by applications [6]"),
    C(lustre_osc_read_bytes, "B", "Lustre: read from the servers [6]"),
    C(lustre_client_write_bytes, "B", "Lustre: written by applications [6]"),
    C(lustre_osc_write_bytes, "B", "Lustre: written to the servers [6]"),
    C(link_rx_bytes, "B", "received by the network links, all users [6]"),
    C(link_tx_bytes, "B", "sent by the network links, all users [6]"),
    C(link_bits_per_s, "bit/s", "rate of the links that are up [6]"),
    C(resident_pct, "%",
      "share in the page cache before the read; NaN: not known [6]"),
    C(dirty_pct, "%",
      "share not yet on the storage after the write; NaN: not known [6]"),
    C(major_faults, "1", "page faults that waited for a disk [6]"),
    C(swap_in_bytes, "B", "swapped in [6]"),
    C(swap_out_bytes, "B", "swapped out [6]"),
    C(memory_stall_pct, "%", "time in which a task waited for memory [6]"),
    C(cpu_busy_pct, "%", "processor time in use [6]"),
    C(cpu_wait_pct, "%",
      "time in which its ranks were ready and had no processor [6]"),
    C(cpu_steal_pct, "%",
      "processor time that other virtual machines took [6]"),
    C(memory_limit_bytes, "B", "memory limit of the ranks' group [6]"),
    C(memory_limit_hits, "1", "times that it was met [6]"),
    C(memory_bytes, "B", "main memory [6]"),
    C(memory_available_bytes, "B", "of it available after the phase [6]"),
    C(working_set_pct, "%", "bytes / main memory [6]"),
    END,
};
#undef TABLE

#define TABLE iobm_finding_row
const struct iobm_column iobm_finding_columns[] = {
    C(phase, "1", "index of the phase in the run, from 0"),
    C(repeat, "1", "which repeat of the phase, from 0"),
    C(rank, "1", "rank that read the part [7]"),
    C(part, "1", "whose part it is [7]"),
    C(path, "", "the file [7]"),
    C(kind, "", "lost, stale, swapped, flipped, unknown or unreadable [7]"),
    C(offset, "B", "of the first wrong byte in the file [7]"),
    C(bytes, "B", "wrong bytes of this kind in the part [7]"),
    C(blocks, "1", "blocks of 4 KiB that hold them [7]"),
    C(expected, "", "16 bytes from there on, hexadecimal [7]"),
    C(actual, "", "what was read instead [7]"),
    C(whose, "", "swapped: whose data it is; stale: of when [7]"),
    END,
};
#undef TABLE

#define TABLE iobm_check_row
const struct iobm_column iobm_check_columns[] = {
    C(phase, "1", "index of the phase in the run; -1: of the run [11]"),
    C(repeat, "1", "which repeat of the phase; -1: of the run [11]"),
    C(op, "", "what the phase did: write or read"),
    C(name, "", "name of the check [11]"),
    C(result, "", "OK, NOTE, WARN or INVALID [11]"),
    C(value, "1", "what was found, in 'unit' [11]"),
    C(limit, "1", "where it is not OK any more, in 'unit' [11]"),
    C(unit, "", "unit of value and limit"),
    C(text, "", "what was found, in words; may be empty when OK [11]"),
    C(advice, "", "what to do about it [11]"),
    END,
};
#undef TABLE

#define TABLE iobm_summary_row
const struct iobm_column iobm_summary_columns[] = {
    C(op, "", "what the phases did: write or read"),
    C(repeats, "1", "how many there were [4]"),
    C(left_out, "1", "of them not complete, and in no figure here [4]"),
    C(median_Bps, "B/s", "median of bw_wall [4]"),
    C(low_Bps, "B/s", "lower end of the median's interval [4]"),
    C(high_Bps, "B/s", "upper end of the median's interval [4]"),
    C(confidence_pct, "%", "confidence that the interval really has [4]"),
    C(half_width_pct, "%", "half of the interval / median [4]"),
    C(mean_Bps, "B/s", "sum of bytes / sum of seconds [4]"),
    C(best_Bps, "B/s", "the fastest repeat [4]"),
    C(worst_Bps, "B/s", "the slowest repeat [4]"),
    C(cov_pct, "%", "standard deviation / mean [4]"),
    C(first_run, "1", "1: the first repeat differs from the others [4]"),
    C(first_run_pct, "%", "first repeat / median of the others - 1 [4]"),
    C(trend, "1", "1: the repeats become faster, or slower [4]"),
    C(trend_p, "1", "Mann-Kendall p of the trend [4]"),
    C(trend_pct, "%", "change from the first repeat to the last [4]"),
    C(two_modes, "1", "1: the repeats fall into two groups [4]"),
    C(mode_low_Bps, "B/s", "median of the slower group [4]"),
    C(mode_high_Bps, "B/s", "median of the faster group [4]"),
    C(outliers, "1", "repeats far off; they count all the same [4]"),
    C(outlier_repeats, "", "which ones, counted from 1 [4]"),
    C(stopped, "", "why no more: all, precise, cap or time budget [4]"),
    END,
};
#undef TABLE
