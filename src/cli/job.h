/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_CLI_JOB_H
#define IOBM_CLI_JOB_H

/*
 * One "iobm run" on all ranks, once its options are known: checks, phases,
 * results.  Everything here is collective unless it says "rank 0".
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/save.h"
#include "conf/run_options.h"
#include "engine/cost.h"
#include "engine/measure.h"
#include "env/witness.h"
#include "guard/inspect.h"
#include "guard/precheck.h"

struct job {
    const struct run_options *options;
    const struct iobm_comm *comm;
    struct node_map map;
    struct timeline timeline;
    struct stop stop;
    struct watch watch;
    struct measure measure;
    struct layout layout;
    struct precheck_result pre;
    struct manifest manifest; /* of what this run writes or reads */
    int64_t alignment_bytes;  /* 1 without O_DIRECT */
    enum read_order order;
    int *part_of;        /* whose part each rank reads */
    uint64_t seed;       /* of the data */
    struct kvlist hints; /* --hint and --hints-file together */
    bool files;          /* the back end has files: guard them */
    bool facts_known;    /* the back end has told what served it */
    bool memory;         /* the files are in memory: tmpfs */
    char fs_type[32];
    int64_t moved_files;
    struct save save; /* rank 0 */
    struct witness_target witness;
    struct cost cost;      /* of iobm itself: the most of all nodes */
    bool result_beside;    /* rank 0: -o is on the file system under test */
    int worst;             /* rank 0: the worst result of any check, 0 to 3 */
    struct str objections; /* rank 0: the checks that came out so */
    bool written;          /* 'manifest' is on disk */
    bool taken_over;       /* the files are another run's by now */
    bool recording;        /* rank 0 has begun its record */
    struct iobm_error unprinted; /* rank 0: why a phase was not shown */
    /* The second thread reads these and, once a phase has begun, what does
     * not change from then on: the map, the paths. */
    int launcher_rank;
    _Atomic int doing;   /* enum job_doing */
    char *phase_path[2]; /* this rank's file, by enum iobm_op_kind */
};

enum job_doing {
    JOB_SET_UP,
    JOB_WRITE, /* JOB_WRITE + enum iobm_op_kind */
    JOB_READ,
    JOB_END,
};

/* Before MPI_Init: what needs no option, and the second thread. */
enum iobm_status job_start(struct job *job, struct iobm_error *err) IOBM_CHECK;

/* Set up what needs no file: nodes, order, layout, seed. */
enum iobm_status job_init_all(struct job *job,
                              const struct run_options *options,
                              const struct iobm_comm *comm,
                              struct iobm_error *err) IOBM_CHECK;
void job_release(struct job *job);

/* All checks before the first byte; nothing is left behind. */
enum iobm_status job_check_all(struct job *job,
                               struct iobm_error *err) IOBM_CHECK;

/* Gather the environment, open the result file, start the back end. */
enum iobm_status job_begin_all(struct job *job, int argc, char **argv,
                               struct iobm_error *err) IOBM_CHECK;

/* Nothing has been heard of a rank for too long: say so, save and exit. */
void job_on_silent(void *arg, int rank, int64_t ns);

/* What the second thread calls. */
struct watch_calls job_watch_calls(struct job *job);

/* All repeats of all phases; results are printed and kept as they come. */
enum iobm_status job_phases_all(struct job *job,
                                struct iobm_error *err) IOBM_CHECK;

/* Finish the result file, print what follows the last phase, clean up when
 * asked.  'outcome' and 'why' are those of the run. */
enum iobm_status job_end_all(struct job *job, enum iobm_status outcome,
                             const struct iobm_error *why,
                             struct iobm_error *err) IOBM_CHECK;

/* Rank 0: what would be done, for --dry-run. */
enum iobm_status job_print_plan(const struct job *job,
                                struct iobm_error *err) IOBM_CHECK;

/* "rank 17 (node03): text", when the rank is known and it matters.  Takes the
 * rank from the error, so that it is named once; on rank 0, after the last
 * agreement on it. */
void job_name_rank(const struct job *job, struct iobm_error *err);

#endif
