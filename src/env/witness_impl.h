/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_ENV_WITNESS_IMPL_H
#define IOBM_ENV_WITNESS_IMPL_H

/* The parts of a sample, each from files of its own; for witness.c and the
 * tests of the parsers.  All leave what they do not find at -1. */

#include "env/mount.h"
#include "env/witness.h"

/* Which witnesses a file system has, by its type and options. */
void witness_target_classify(const struct mount_facts *facts,
                             struct witness_target *target);

/* /proc/self/io, getrusage, /proc/self/schedstat */
void witness_self(const struct witness_target *t, struct witness_sample *out);

/* /sys/dev/block/M:m/stat */
void witness_disk(const struct witness_target *t, struct witness_sample *out);

/* /proc/self/mountstats */
void witness_nfs(const struct witness_target *t, struct witness_sample *out);

/* llite/NAME/stats of the mount, and all osc/NAME/stats of its file system */
void witness_lustre(const struct witness_target *t, struct witness_sample *out);

/* /sys/class/net and /sys/class/infiniband.  Cards and ports that are up; where
 * there is none, as in a container, the virtual links, whose speed is made up
 * and so left at -1.  It is -1 too when the speed of a link that has moved
 * more than 1 % of all bytes is not known. */
void witness_link(const struct witness_target *t, struct witness_sample *out);

/* /proc/vmstat, pressure/memory, stat, meminfo and the cgroup of this
 * process */
void witness_client(const struct witness_target *t, struct witness_sample *out);

/* The number behind 'key' at the start of a line ("pswpin 12", "read_bytes:
 * 4096"); -1 when there is none. */
int64_t witness_field(const char *text, const char *key);

/* Add to a counter that may not be there yet (-1). */
void witness_add(int64_t *sum, int64_t value);

#endif
