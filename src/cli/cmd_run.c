/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * "iobm run": the command line, MPI's beginning and end, and who says what
 * went wrong.  All ranks parse the same words and come to the same outcome;
 * rank 0 alone speaks.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/job.h"
#include "conf/parse.h"
#include "iobm-config.h"

struct request {
    struct run_options options;
    bool given[RUN_OPTIONS_MAX];
    bool begun; /* options hold something to release */
};

static const char *get_env(const char *name)
{
    return getenv(name);
}

static int print_version(void)
{
    struct str text = {0};
    struct iobm_error err;
    int status = EXIT_OK;

    str_addf(&text,
             "iobm %s\n"
             "compiler   %s\n"
             "flags      %s\n"
             "MPI        %s\n"
             "HDF5       %s\n"
             "back ends  %s\n",
             IOBM_VERSION, IOBM_BUILD_CC, IOBM_BUILD_CFLAGS, IOBM_BUILD_MPI,
             IOBM_BUILD_HDF5, IOBM_BUILD_BACKENDS);
    if (*IOBM_BUILD_DATE)
        str_addf(&text, "built      %s\n", IOBM_BUILD_DATE);
    if (cli_print(&text, &err) != IOBM_OK)
        status = cli_fail(&err);
    str_release(&text);
    return status;
}

/* What --help, --version and the man page's options print. */
static int print_help(const char *how)
{
    struct str text = {0};
    struct iobm_error err;
    int status = EXIT_OK;

    if (!how)
        run_help_short(&text);
    else if (strcmp(how, "man") == 0)
        opt_man(run_option_table, &text);
    else
        opt_help(run_option_table, &text);
    if (cli_print(&text, &err) != IOBM_OK)
        status = cli_fail(&err);
    str_release(&text);
    return status;
}

/*
 * Asked for help or the version, these come before anything else, on rank 0
 * alone and without MPI.  -1: not asked for.
 */
static int answer_question(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *word = argv[i];
        bool help = strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
        bool all = strcmp(word, "--help=all") == 0;
        bool man = strcmp(word, "--help=man") == 0;

        if (!help && !all && !man && strcmp(word, "--version") != 0)
            continue;
        if (par_launcher_rank() != 0)
            return EXIT_OK;
        if (help || all || man)
            return print_help(help ? NULL : all ? "all" : "man");
        return print_version();
    }
    return -1;
}

static enum iobm_status understand(struct request *request, int argc,
                                   char **argv, struct iobm_error *err)
{
    enum iobm_status status;

    status = opt_init(run_option_table, &request->options, err);
    if (status != IOBM_OK)
        return status;
    request->begun = true;
    if (argc < 2)
        return iobm_fail(err, IOBM_EUSAGE,
                         "nothing to do: try 'mpirun -np 4 iobm -n 10 -f "
                         "/big/test -w', or iobm --help");
    status = opt_parse(run_option_table, argc - 1, argv + 1, &request->options,
                       request->given, NULL, NULL, err);
    if (status == IOBM_OK)
        status = run_options_check(&request->options, request->given, err);
    return status;
}

/* From the checks to the last phase; '*err' says why when not IOBM_OK. */
static enum iobm_status run_all(struct job *job, int argc, char **argv,
                                struct iobm_error *err)
{
    struct iobm_error late;
    enum iobm_status status = job_check_all(job, err);
    enum iobm_status ended;

    if (status != IOBM_OK)
        return status;
    if (job->options->dry_run)
        return job->comm->rank == 0 ? job_print_plan(job, err) : IOBM_OK;
    status = job_begin_all(job, argc, argv, err);
    if (status == IOBM_OK)
        status = job_phases_all(job, err);
    else if (!job->recording)
        return status;
    if (status != IOBM_OK)
        job_name_rank(job, err);
    ended = job_end_all(job, status, err, &late);
    if (status == IOBM_OK && ended != IOBM_OK) {
        *err = late;
        status = ended;
    } else if (ended != IOBM_OK && job->comm->rank == 0) {
        (void)cli_fail(&late);
    }
    return status;
}

/* All ranks are there; '*err' says why when 'status' is not IOBM_OK. */
static enum iobm_status run_ranks_all(struct job *job,
                                      const struct request *request,
                                      const struct iobm_comm *comm,
                                      enum iobm_status status, int argc,
                                      char **argv, struct iobm_error *err)
{
    bool alone = false;

    if (status == IOBM_OK) {
        status = par_check_world(comm->size, get_env, err);
        alone = status != IOBM_OK;
    }
    status = par_agree_all(comm, status, NULL, err);
    if (status == IOBM_OK)
        status = job_init_all(job, &request->options, comm, err);
    if (status == IOBM_OK)
        status = run_all(job, argc, argv, err);
    /* In worlds of their own all are rank 0: let one speak. */
    if (status != IOBM_OK && comm->rank == 0 &&
        (!alone || job->launcher_rank == 0)) {
        job_name_rank(job, err);
        (void)cli_fail(err);
    }
    return status;
}

static int run_with_mpi(const struct request *request, enum iobm_status status,
                        int argc, char **argv, struct iobm_error *err)
{
    struct iobm_error failed = *err;
    struct iobm_comm comm;
    struct job *job = calloc(1, sizeof(*job));

    if (!job) {
        (void)iobm_fail(err, IOBM_ENOMEM, "cannot allocate the run");
        return cli_fail(err);
    }
    if (job_start(job, err) != IOBM_OK && status == IOBM_OK) {
        failed = *err;
        status = failed.status;
    }
    if (par_init(&argc, &argv, &comm, err) != IOBM_OK) {
        status = err->status;
        (void)cli_fail(err);
        job_release(job);
    } else {
        status =
            run_ranks_all(job, request, &comm, status, argc, argv, &failed);
        job_release(job);
        par_finalize(&comm);
    }
    free(job);
    return cli_exit_status(status);
}

int cmd_run(int argc, char **argv)
{
    struct request request = {0};
    struct iobm_error err = {.rank = -1};
    enum iobm_status status;
    int answer = answer_question(argc, argv);

    if (answer >= 0)
        return answer;
    status = understand(&request, argc, argv, &err);
    if (status != IOBM_OK && !par_launched()) {
        answer = cli_fail(&err);
    } else {
        watch_block_signals();
        answer = run_with_mpi(&request, status, argc, argv, &err);
    }
    if (request.begun)
        opt_release(run_option_table, &request.options);
    return answer;
}
