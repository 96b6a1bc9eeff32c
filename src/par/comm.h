/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_PAR_COMM_H
#define IOBM_PAR_COMM_H

/*
 * The only door to MPI outside of the MPI back ends.  A function that is
 * collective over its communicator has a name that ends in _all.
 */

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "base/kv.h"
#include "iobm/error.h"

struct iobm_comm {
    MPI_Comm mpi;
    int rank;
    int size;
};

/* Before MPI_Init: whether a launcher started this process, and its rank as
 * the launcher says (Open MPI, PMIx, PMI, Slurm), or 0. */
int par_launcher_rank(void);
int par_launched(void); /* 1: by mpirun or srun */

/* MPI_Init_thread(FUNNELED); sets MCA defaults in the environment first where
 * the user has set none (sharedfp: no files beside the test file). */
enum iobm_status par_init(int *argc, char ***argv, struct iobm_comm *comm,
                          struct iobm_error *err) IOBM_CHECK;
void par_finalize(struct iobm_comm *comm);
__attribute__((noreturn)) void par_abort(int exit_code); /* ends all ranks */

/*
 * World size against what the launcher meant: OMPI_COMM_WORLD_SIZE, and for a
 * singleton SLURM_STEP_NUM_TASKS and PMI_SIZE.  IOBM_EUSAGE: "4 tasks were
 * started, but each is an MPI world of its own: ...".  'env' is getenv, or a
 * test's.
 */
enum iobm_status par_check_world(int size, const char *(*env)(const char *),
                                 struct iobm_error *err) IOBM_CHECK;

/* A communicator around MPI_COMM_SELF or any other; release frees it. */
enum iobm_status par_comm_init(struct iobm_comm *comm, MPI_Comm mpi,
                               struct iobm_error *err) IOBM_CHECK;
void par_comm_release(struct iobm_comm *comm);

/* The ranks that pass the same 'colour' >= 0, in rank order.  Collective. */
enum iobm_status par_comm_split_all(const struct iobm_comm *comm, int colour,
                                    struct iobm_comm *part,
                                    struct iobm_error *err) IOBM_CHECK;

/*
 * Collective.  Agree on one outcome: IOBM_OK when every rank passes IOBM_OK,
 * else the status, rank and text of the lowest rank that failed, on every
 * rank; a rank that passed IOBM_ESTOPPED is named only when no rank has
 * anything worse.  'failures' (may be NULL) gets how many ranks failed; those
 * that were only stopped do not count.  Call it after a step that can fail on
 * one rank and before the next collective call.
 */
enum iobm_status par_agree_all(const struct iobm_comm *comm,
                               enum iobm_status status, int *failures,
                               struct iobm_error *err) IOBM_CHECK;

enum iobm_status par_barrier_all(const struct iobm_comm *comm,
                                 struct iobm_error *err) IOBM_CHECK;
enum iobm_status par_bcast_all(const struct iobm_comm *comm, void *data,
                               size_t bytes, int root,
                               struct iobm_error *err) IOBM_CHECK;
/* From every rank 'bytes' to rank 0's 'all' (size * bytes; else unused). */
enum iobm_status par_gather_all(const struct iobm_comm *comm, const void *mine,
                                size_t bytes, void *all,
                                struct iobm_error *err) IOBM_CHECK;
enum iobm_status par_allgather_all(const struct iobm_comm *comm,
                                   const void *mine, size_t bytes, void *all,
                                   struct iobm_error *err) IOBM_CHECK;
enum iobm_status par_min_all(const struct iobm_comm *comm, int64_t *values,
                             int n, struct iobm_error *err) IOBM_CHECK;
enum iobm_status par_max_all(const struct iobm_comm *comm, int64_t *values,
                             int n, struct iobm_error *err) IOBM_CHECK;
enum iobm_status par_sum_all(const struct iobm_comm *comm, double *values,
                             int n, struct iobm_error *err) IOBM_CHECK;
/* The sums on rank 0 alone, in place; other ranks keep their values. */
enum iobm_status par_sum_int_all(const struct iobm_comm *comm, int64_t *values,
                                 int n, struct iobm_error *err) IOBM_CHECK;

/* Broadcast a text of any length from rank 0; others get a new allocation in
 * '*text' (theirs to free). */
enum iobm_status par_bcast_text_all(const struct iobm_comm *comm, char **text,
                                    struct iobm_error *err) IOBM_CHECK;

/* What the library says of itself: "mpi.library" (its version),
 * "mpi.standard", "mpi.thread_level". */
enum iobm_status par_facts(struct kvlist *out,
                           struct iobm_error *err) IOBM_CHECK;

#endif
