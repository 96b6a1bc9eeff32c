/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI behind error values: start and end, agreement on outcomes, and the few
 * collective calls that iobm makes outside of the MPI back ends.  What the
 * launcher meant is told from the environment alone.
 */
#include "par/comm.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

/* A collective call takes several turns of all ranks; they are over sooner
 * than a nap would be, even with 32 ranks to a core. */
#define PATIENT_LOOKS      400
#define PATIENT_NAP_MIN_NS INT64_C(20000)
#define PATIENT_NAP_MAX_NS INT64_C(500000)

#define CHUNK_BYTES ((size_t)1 << 30) /* counts in MPI 3 are int */

static enum iobm_status fail_mpi(struct iobm_error *err, int code,
                                 const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "unknown MPI error";
    int length;

    MPI_Error_string(code, text, &length);
    return iobm_fail(err, IOBM_EIO, "%s: %s", what, text);
}

static enum iobm_status check(int code, const char *what,
                              struct iobm_error *err)
{
    return code == MPI_SUCCESS ? IOBM_OK : fail_mpi(err, code, what);
}

/* The value of an environment variable that is a number >= 0, else -1. */
static long number(const char *text)
{
    char *end;
    long value;

    if (!text || text[0] < '0' || text[0] > '9')
        return -1;
    value = strtol(text, &end, 10);
    return *end || value > INT_MAX ? -1 : value;
}

/* Slurm's batch and interactive steps have a SLURM_PROCID too; only a step
 * that srun made has a small step id (the others count down from 2^32). */
static const char *slurm_rank(void)
{
    return number(getenv("SLURM_STEP_ID")) >= 0 ? getenv("SLURM_PROCID") : NULL;
}

static const char *launcher_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                        "PMI_RANK"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (number(getenv(names[i])) >= 0)
            return getenv(names[i]);
    return slurm_rank();
}

int par_launcher_rank(void)
{
    long rank = number(launcher_rank());

    return rank < 0 ? 0 : (int)rank;
}

int par_launched(void)
{
    return number(getenv("OMPI_COMM_WORLD_SIZE")) > 0 ||
           number(launcher_rank()) >= 0;
}

enum iobm_status par_init(int *argc, char ***argv, struct iobm_comm *comm,
                          struct iobm_error *err)
{
    int provided;
    int rc;

    /* These two components of ompio, which iobm has no use for, make files
     * beside the test file (NAME.data.RANK, NAME.locktest.0 and others) while
     * it is opened, and lockedfile can hang there.  'sm' may stay: it makes
     * none, and does nothing on more than one node; without any component no
     * file can be opened. */
    if (setenv("OMPI_MCA_sharedfp", "^individual,lockedfile", 0) != 0)
        return iobm_fail(err, IOBM_ENOMEM, "cannot set OMPI_MCA_sharedfp");
    rc = MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
    if (rc != MPI_SUCCESS)
        return fail_mpi(err, rc, "cannot start MPI");
    return par_comm_init(comm, MPI_COMM_WORLD, err);
}

void par_finalize(struct iobm_comm *comm)
{
    par_comm_release(comm);
    MPI_Finalize();
}

void par_abort(int exit_code)
{
    int up = 0, down = 0;

    MPI_Initialized(&up);
    MPI_Finalized(&down);
    if (up && !down)
        MPI_Abort(MPI_COMM_WORLD, exit_code);
    _exit(exit_code);
}

enum iobm_status par_check_world(int size, const char *(*env)(const char *),
                                 struct iobm_error *err)
{
    static const char *const names[] = {"PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
    long meant = number(env("OMPI_COMM_WORLD_SIZE"));

    /* mpirun's own word comes first: below it, Slurm's variables are those
     * of the daemons that mpirun started through srun. */
    if (meant > 0 && size != 1 && meant != size)
        return iobm_fail(err, IOBM_EUSAGE,
                         "mpirun started %ld ranks, but MPI has %d: the "
                         "program and mpirun are of different MPI libraries?",
                         meant, size);
    for (size_t i = 0; i < 2 && meant <= 0 && size == 1; i++)
        meant = number(env(names[i]));
    if (meant > 1 && size == 1)
        return iobm_fail(err, IOBM_EUSAGE,
                         "%ld tasks were started, but each is an MPI world "
                         "of its own: use the mpirun of the MPI library that "
                         "iobm was built with, or 'srun --mpi=pmix'",
                         meant);
    return IOBM_OK;
}

enum iobm_status par_comm_init(struct iobm_comm *comm, MPI_Comm mpi,
                               struct iobm_error *err)
{
    int rc = MPI_Comm_dup(mpi, &comm->mpi);

    if (rc != MPI_SUCCESS)
        return fail_mpi(err, rc, "cannot duplicate an MPI communicator");
    MPI_Comm_set_errhandler(comm->mpi, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm->mpi, &comm->rank);
    MPI_Comm_size(comm->mpi, &comm->size);
    return IOBM_OK;
}

enum iobm_status par_comm_split_all(const struct iobm_comm *comm, int colour,
                                    struct iobm_comm *part,
                                    struct iobm_error *err)
{
    int rc = MPI_Comm_split(comm->mpi, colour, comm->rank, &part->mpi);

    if (rc != MPI_SUCCESS)
        return fail_mpi(err, rc, "cannot split an MPI communicator");
    MPI_Comm_set_errhandler(part->mpi, MPI_ERRORS_RETURN);
    MPI_Comm_rank(part->mpi, &part->rank);
    MPI_Comm_size(part->mpi, &part->size);
    return IOBM_OK;
}

void par_comm_release(struct iobm_comm *comm)
{
    if (comm->mpi != MPI_COMM_NULL)
        MPI_Comm_free(&comm->mpi);
}

/* Make 'err' say 'status' even if whoever failed left it unfilled.  A rank
 * that it names already stays: it was agreed on before. */
static void complete(struct iobm_error *err, enum iobm_status status, int rank)
{
    if (err->status != status || err->text[0] == '\0')
        iobm_fail(err, status, "%s", iobm_status_name(status));
    if (err->rank < 0)
        err->rank = rank;
}

/* The smallest key wins: failures by rank, then those that were only stopped
 * by rank, then success. */
static int64_t outcome_key(const struct iobm_comm *comm,
                           enum iobm_status status)
{
    if (status == IOBM_OK)
        return INT64_MAX;
    return status == IOBM_ESTOPPED ? (int64_t)comm->size + comm->rank
                                   : comm->rank;
}

/*
 * Wait for a collective call as one who may have to wait long: rank 0 alone
 * reads the environment or the result file, and where ranks outnumber cores,
 * 63 of them that spin would leave it a sixty-fourth of the machine.  Nothing
 * that is timed goes through here.
 */
static int patient(int rc, MPI_Request *request)
{
    int64_t nap_ns = 0;
    int done = 0;

    for (int looks = 0; rc == MPI_SUCCESS; looks++) {
        rc = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (done)
            break;
        if (looks < PATIENT_LOOKS)
            continue;
        clock_sleep_ns(nap_ns);
        nap_ns = nap_ns * 2 + PATIENT_NAP_MIN_NS;
        if (nap_ns > PATIENT_NAP_MAX_NS)
            nap_ns = PATIENT_NAP_MAX_NS;
    }
    return rc;
}

enum iobm_status par_agree_all(const struct iobm_comm *comm,
                               enum iobm_status status, int *failures,
                               struct iobm_error *err)
{
    struct iobm_error local = {0};
    int64_t key = outcome_key(comm, status);
    MPI_Request request;
    int failed = status != IOBM_OK && status != IOBM_ESTOPPED;
    int root;
    int rc;

    rc = patient(MPI_Iallreduce(MPI_IN_PLACE, &key, 1, MPI_INT64_T, MPI_MIN,
                                comm->mpi, &request),
                 &request);
    if (rc != MPI_SUCCESS)
        return fail_mpi(err, rc, "cannot agree on an outcome");
    if (failures)
        *failures = 0;
    if (key == INT64_MAX)
        return IOBM_OK;

    rc = patient(MPI_Iallreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM,
                                comm->mpi, &request),
                 &request);
    if (rc != MPI_SUCCESS)
        return fail_mpi(err, rc, "cannot count failures");
    if (failures)
        *failures = failed;

    if (!err)
        err = &local;
    root = (int)(key % comm->size);
    if (comm->rank == root)
        complete(err, status, comm->rank);
    rc = patient(
        MPI_Ibcast(err, sizeof(*err), MPI_BYTE, root, comm->mpi, &request),
        &request);
    if (rc != MPI_SUCCESS)
        return fail_mpi(err, rc, "cannot share an error");
    return err->status;
}

enum iobm_status par_barrier_all(const struct iobm_comm *comm,
                                 struct iobm_error *err)
{
    return check(MPI_Barrier(comm->mpi), "cannot wait for the other ranks",
                 err);
}

enum iobm_status par_bcast_all(const struct iobm_comm *comm, void *data,
                               size_t bytes, int root, struct iobm_error *err)
{
    for (size_t at = 0; at < bytes; at += CHUNK_BYTES) {
        size_t n = bytes - at < CHUNK_BYTES ? bytes - at : CHUNK_BYTES;
        MPI_Request request;
        int rc = patient(MPI_Ibcast((char *)data + at, (int)n, MPI_BYTE, root,
                                    comm->mpi, &request),
                         &request);

        if (rc != MPI_SUCCESS)
            return fail_mpi(err, rc, "cannot broadcast");
    }
    return IOBM_OK;
}

/* The same on every rank, so that all give up together. */
static enum iobm_status check_count(size_t bytes, struct iobm_error *err)
{
    if (bytes <= CHUNK_BYTES)
        return IOBM_OK;
    return iobm_fail(err, IOBM_EBUG, "cannot gather %zu bytes per rank", bytes);
}

enum iobm_status par_gather_all(const struct iobm_comm *comm, const void *mine,
                                size_t bytes, void *all, struct iobm_error *err)
{
    enum iobm_status status = check_count(bytes, err);
    MPI_Request request;

    if (status != IOBM_OK)
        return status;
    return check(
        patient(MPI_Igather(mine, (int)bytes, MPI_BYTE, all, (int)bytes,
                            MPI_BYTE, 0, comm->mpi, &request),
                &request),
        "cannot gather", err);
}

/* By way of rank 0: that takes 2 N messages, where each rank's own to all
 * others would take N^2, and as many connections. */
enum iobm_status par_allgather_all(const struct iobm_comm *comm,
                                   const void *mine, size_t bytes, void *all,
                                   struct iobm_error *err)
{
    enum iobm_status status = par_gather_all(comm, mine, bytes, all, err);

    if (status != IOBM_OK)
        return status;
    return par_bcast_all(comm, all, bytes * (size_t)comm->size, 0, err);
}

enum iobm_status par_min_all(const struct iobm_comm *comm, int64_t *values,
                             int n, struct iobm_error *err)
{
    MPI_Request request;

    return check(patient(MPI_Iallreduce(MPI_IN_PLACE, values, n, MPI_INT64_T,
                                        MPI_MIN, comm->mpi, &request),
                         &request),
                 "cannot find a minimum over the ranks", err);
}

enum iobm_status par_max_all(const struct iobm_comm *comm, int64_t *values,
                             int n, struct iobm_error *err)
{
    MPI_Request request;

    return check(patient(MPI_Iallreduce(MPI_IN_PLACE, values, n, MPI_INT64_T,
                                        MPI_MAX, comm->mpi, &request),
                         &request),
                 "cannot find a maximum over the ranks", err);
}

enum iobm_status par_sum_all(const struct iobm_comm *comm, double *values,
                             int n, struct iobm_error *err)
{
    MPI_Request request;

    return check(patient(MPI_Iallreduce(MPI_IN_PLACE, values, n, MPI_DOUBLE,
                                        MPI_SUM, comm->mpi, &request),
                         &request),
                 "cannot sum over the ranks", err);
}

enum iobm_status par_sum_int_all(const struct iobm_comm *comm, int64_t *values,
                                 int n, struct iobm_error *err)
{
    bool root = comm->rank == 0;
    MPI_Request request;

    return check(
        patient(MPI_Ireduce(root ? MPI_IN_PLACE : values, values, n,
                            MPI_INT64_T, MPI_SUM, 0, comm->mpi, &request),
                &request),
        "cannot sum over the ranks", err);
}

enum iobm_status par_bcast_text_all(const struct iobm_comm *comm, char **text,
                                    struct iobm_error *err)
{
    enum iobm_status status;
    int64_t bytes = comm->rank == 0 ? (int64_t)strlen(*text) + 1 : 0;
    char *copy = NULL;

    status = par_bcast_all(comm, &bytes, sizeof(bytes), 0, err);
    if (status != IOBM_OK)
        return status;
    if (comm->rank != 0) {
        copy = malloc((size_t)bytes);
        if (!copy)
            status = iobm_fail(err, IOBM_ENOMEM,
                               "cannot receive a text of %lld bytes: out of "
                               "memory",
                               (long long)bytes);
    }
    status = par_agree_all(comm, status, NULL, err);
    if (status == IOBM_OK)
        status = par_bcast_all(comm, comm->rank == 0 ? *text : copy,
                               (size_t)bytes, 0, err);
    if (status != IOBM_OK)
        free(copy);
    else if (comm->rank != 0)
        *text = copy;
    return status;
}

/* The tool interface, which would tell more, is left alone: its start loads
 * every component of the library, which takes a quarter of a second. */
enum iobm_status par_facts(struct kvlist *out, struct iobm_error *err)
{
    static const char *const levels[] = {"single", "funneled", "serialized",
                                         "multiple"};
    static const int codes[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED,
                                MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    const char *level = "unknown";
    enum iobm_status status;
    int major = 0, minor = 0, length, provided = -1;

    MPI_Get_library_version(text, &length);
    text[strcspn(text, "\r\n")] = '\0';
    MPI_Get_version(&major, &minor);
    MPI_Query_thread(&provided);
    for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
        if (provided == codes[i])
            level = levels[i];

    status = kv_set(out, "mpi.library", text, err);
    if (status == IOBM_OK)
        status = kv_setf(out, err, "mpi.standard", "%d.%d", major, minor);
    if (status == IOBM_OK)
        status = kv_set(out, "mpi.thread_level", level, err);
    return status;
}
