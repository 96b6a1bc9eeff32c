/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the environment says of the launcher: whether there is one, which
 * rank this is, and how many there should be.  No MPI is started.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "par/comm.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* "NAME=value" texts, ended by NULL. */
#define VARIABLES_MAX 8
typedef const char *variables[VARIABLES_MAX];

/* par_check_world() asks without saying whose environment it means. */
static const char *const *the_environment;

static const char *look_up(const char *name)
{
    size_t length = strlen(name);

    for (int i = 0; the_environment[i]; i++)
        if (!strncmp(the_environment[i], name, length) &&
            the_environment[i][length] == '=')
            return the_environment[i] + length + 1;
    return NULL;
}

static const struct {
    const char *name;
    int size;
    variables env;
    const char *text; /* in the message; NULL: succeeds */
} worlds[] = {
    {"alone", 1, {NULL}, NULL},
    {"mpirun", 4, {"OMPI_COMM_WORLD_SIZE=4"}, NULL},
    {"mpirun -np 1", 1, {"OMPI_COMM_WORLD_SIZE=1"}, NULL},
    {"mpirun of another library",
     1,
     {"OMPI_COMM_WORLD_SIZE=4"},
     "4 tasks were started, but each is an MPI world of its own"},
    {"other MPI below mpirun",
     2,
     {"OMPI_COMM_WORLD_SIZE=4"},
     "mpirun started 4 ranks, but MPI has 2"},
    {"srun --mpi=none",
     1,
     {"SLURM_STEP_NUM_TASKS=16", "SLURM_PROCID=3"},
     "16 tasks were started"},
    {"srun --mpi=pmix", 16, {"SLURM_STEP_NUM_TASKS=16"}, NULL},
    {"srun -n 1", 1, {"SLURM_STEP_NUM_TASKS=1"}, NULL},
    {"batch script of 16 tasks", 1, {"SLURM_NTASKS=16"}, NULL},
    /* mpirun starts one daemon per node through srun. */
    {"mpirun -np 1 in an allocation",
     1,
     {"OMPI_COMM_WORLD_SIZE=1", "SLURM_STEP_NUM_TASKS=3"},
     NULL},
    {"mpirun over 3 nodes",
     12,
     {"OMPI_COMM_WORLD_SIZE=12", "SLURM_STEP_NUM_TASKS=3"},
     NULL},
    {"mpiexec of MPICH", 1, {"PMI_SIZE=8"}, "8 tasks were started"},
    {"PMI alone", 1, {"PMI_SIZE=1"}, NULL},
    {"PMI says one, Slurm more",
     1,
     {"PMI_SIZE=1", "SLURM_STEP_NUM_TASKS=2"},
     NULL},
    {"not numbers",
     1,
     {"OMPI_COMM_WORLD_SIZE=", "PMI_SIZE=x", "SLURM_STEP_NUM_TASKS=-3"},
     NULL},
    {"too large", 1, {"SLURM_STEP_NUM_TASKS=99999999999"}, NULL},
    {"trailing", 1, {"SLURM_STEP_NUM_TASKS=4(x2)"}, NULL},
};

static void test_check_world(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(worlds); i++) {
        struct iobm_error err = {.text = ""};
        enum iobm_status status;

        the_environment = worlds[i].env;
        status = par_check_world(worlds[i].size, look_up, &err);
        if (!worlds[i].text) {
            if (status != IOBM_OK)
                fail_msg("%s: %s", worlds[i].name, err.text);
            continue;
        }
        if (status != IOBM_EUSAGE || err.status != IOBM_EUSAGE ||
            !strstr(err.text, worlds[i].text))
            fail_msg("%s: got '%s'", worlds[i].name, err.text);
        assert_int_equal(par_check_world(worlds[i].size, look_up, NULL),
                         IOBM_EUSAGE);
    }
}

static const struct {
    const char *name;
    variables env;
    int launched, rank;
} launchers[] = {
    {"a shell", {NULL}, 0, 0},
    {"mpirun", {"OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=3"}, 1, 3},
    {"PMIx", {"PMIX_RANK=5"}, 1, 5},
    {"PMI", {"PMI_RANK=6"}, 1, 6},
    {"mpirun below srun",
     {"OMPI_COMM_WORLD_RANK=2", "PMIX_RANK=2", "SLURM_STEP_ID=0",
      "SLURM_PROCID=1"},
     1,
     2},
    {"srun", {"SLURM_STEP_ID=0", "SLURM_PROCID=7"}, 1, 7},
    {"a batch script", {"SLURM_PROCID=0", "SLURM_JOB_ID=7"}, 0, 0},
    {"a batch step with its id",
     {"SLURM_PROCID=0", "SLURM_STEP_ID=4294967291"},
     0,
     0},
    {"an interactive step",
     {"SLURM_PROCID=0", "SLURM_STEP_ID=4294967290"},
     0,
     0},
    {"nonsense", {"PMIX_RANK=", "OMPI_COMM_WORLD_SIZE=many"}, 0, 0},
};

static void clear(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE",
                                        "OMPI_COMM_WORLD_RANK",
                                        "PMIX_RANK",
                                        "PMI_RANK",
                                        "SLURM_STEP_ID",
                                        "SLURM_PROCID",
                                        "SLURM_JOB_ID"};

    for (size_t i = 0; i < COUNT(names); i++)
        unsetenv(names[i]);
}

static void test_launched(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(launchers); i++) {
        clear();
        for (int v = 0; launchers[i].env[v]; v++)
            putenv((char *)(uintptr_t)launchers[i].env[v]);
        if (par_launched() != launchers[i].launched ||
            par_launcher_rank() != launchers[i].rank)
            fail_msg("%s: launched %d, rank %d", launchers[i].name,
                     par_launched(), par_launcher_rank());
    }
    clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check_world),
        cmocka_unit_test(test_launched),
    };

    return cmocka_run_group_tests_name("world", tests, NULL, NULL);
}
