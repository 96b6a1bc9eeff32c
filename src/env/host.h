/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_ENV_HOST_H
#define IOBM_ENV_HOST_H

/* What a result must say about where it was made.  Reads /proc and /sys. */

#include "base/kv.h"
#include "iobm/result.h"

/* Everything of the row except 'node' and 'ranks'; what cannot be read is ""
 * or -1.  'root' is prefixed to /proc and /sys ("" but in tests). */
void host_describe(const char *root, struct iobm_node_row *row);

/* MemAvailable of this node, bytes; -1 unknown. */
int64_t host_memory_available(const char *root);

/* Environment variables from the allow-list (SLURM_*, PBS_*, LSB_*, OMPI_*,
 * ROMIO_*, HDF5_* ... by name, never secrets) as "env.NAME". */
enum iobm_status host_environment(char *const *environ_list, struct kvlist *out,
                                  struct iobm_error *err) IOBM_CHECK;

/* "job.scheduler" = slurm|pbs|lsf, "job.id", "job.name", "job.nodes"; nothing
 * outside of a job. */
enum iobm_status host_job(const char *(*env)(const char *), struct kvlist *out,
                          struct iobm_error *err) IOBM_CHECK;

#endif
