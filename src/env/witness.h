/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_ENV_WITNESS_H
#define IOBM_ENV_WITNESS_H

/*
 * What the system counts beside a phase: the witnesses of docs/method.md
 * section 6, and the state of the client.  Counters only rise; what they say
 * is the difference of two samples, and judged in src/judge.
 */

#include <stdbool.h>
#include <stdint.h>

#include "iobm/error.h"

/* What is looked at, found once for the files under test. */
struct witness_target {
    char root[512]; /* prefixed to /proc and /sys; "" but in tests */
    char mount_point[512];
    char fs_type[32];
    char lustre_name[32]; /* "scratch" of "mgs@o2ib:/scratch" */
    uint64_t device_major, device_minor;
    /*
     * Reads that a device answers are in read_bytes of the process that wants
     * them: local file systems, block devices, and overlayfs when what is
     * below its upper layer can be seen.  Not so: FUSE and network file
     * systems, tmpfs, ZFS (threads of its own read), DAX (nobody counts).
     */
    bool block_backed;
    /*
     * What of a file is in memory can be asked.  Not so: GPFS and ZFS, which
     * have caches of their own; Lustre, whose pages its locks may take away
     * and whose counters know better; DAX, which has no pages.  A FUSE
     * daemon's own cache is not seen either: no page of the kernel's, as with
     * direct_io, is no proof.
     */
    bool page_cache;
    bool hidden_cache; /* FUSE: its daemon may have a cache of its own */
    bool network, memory, nfs, lustre;
};

/*
 * One sample; -1: not available.  No pointers: it goes over MPI as it is.
 * 'self' is this process, or, where the kernel says so, its threads as well.
 */
struct witness_sample {
    int64_t time_ns; /* local clock */
    int64_t self_read_bytes, self_write_bytes, self_cancelled_bytes;
    int64_t self_rchar, self_wchar;
    int64_t major_faults, cpu_ns; /* of all threads */
    int64_t self_wait_ns;         /* ready to run, waiting for a processor */

    /* of the node */
    int64_t device_read_bytes, device_write_bytes, device_busy_ns;
    int64_t nfs_normal_read, nfs_direct_read, nfs_server_read;
    int64_t nfs_normal_write, nfs_direct_write, nfs_server_write;
    int64_t lustre_client_read, lustre_client_write;
    int64_t lustre_osc_read, lustre_osc_write;
    int64_t link_rx_bytes, link_tx_bytes;
    int64_t link_bits_per_s; /* all links that are up together */
    int64_t swap_in_pages, swap_out_pages, page_bytes;
    int64_t memory_stall_ns; /* PSI "some": someone waited for memory */
    int64_t cpu_busy_ns, cpu_total_ns, cpu_steal_ns;
    int64_t cgroup_limit_bytes, cgroup_events_max; /* how often it was hit */
    int64_t memory_bytes, memory_available_bytes, memory_dirty_bytes;
};

/* Of the file system that holds 'path', which must exist. */
enum iobm_status witness_target_init(const char *path,
                                     struct witness_target *target,
                                     struct iobm_error *err) IOBM_CHECK;

/* Under a millisecond.  'node': the node's counters too, else those are -1. */
void witness_read(const struct witness_target *target, bool node,
                  struct witness_sample *out);

#endif
