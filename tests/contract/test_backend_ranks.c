/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every back end owes where several ranks use it: parts of a shared file
 * written by one rank and read by another, collective turns of unequal
 * numbers, and a failure on one rank that ends on all, is told, and hangs
 * nobody.  Each test starts this program again under mpirun.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "contract/rig.h"
#include "inject/inject.c"

#define NAME "ranks.x"

/* ---- on the ranks: no cmocka, a failure ends them all */

static struct iobm_comm world;

#define CHECK(condition, ...)                                                  \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "rank %d: line %d: ", world.rank, __LINE__);       \
            fprintf(stderr, __VA_ARGS__);                                      \
            fprintf(stderr, "\n");                                             \
            par_abort(1);                                                      \
        }                                                                      \
    } while (0)

static void barrier(void)
{
    MPI_Barrier(world.mpi);
}

static int64_t sum(int64_t value)
{
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, MPI_SUM, world.mpi);
    return value;
}

static unsigned new_mode(const struct iobm_backend *backend, bool shared,
                         const char *path)
{
    if (!shared || backend->caps & IOBM_CAP_MPI_OPEN)
        return IOBM_OPEN_WRITE | IOBM_OPEN_CREATE;
    if (world.rank == 0)
        close(open(path, O_WRONLY | O_CREAT | O_EXCL, 0666));
    barrier();
    return IOBM_OPEN_WRITE;
}

static struct rig start(const char *name, bool shared, bool collective)
{
    const struct iobm_backend *backend = iobm_backend_find(name);
    struct iobm_error err = {0};
    struct rig rig;

    CHECK(backend, "no back end %s", name);
    CHECK(rig_start(&rig, backend, &world, shared, collective, &err) == IOBM_OK,
          "%s", err.text);
    return rig;
}

/* Everything written once, then read where it is another rank's. */
static void there_and_back(const char *name, struct layout layout,
                           bool collective)
{
    struct rig rig = start(name, layout.shared, collective);
    int part = world.rank;
    char path[64] = NAME;
    struct rig_result out;
    struct stat st;

    layout.parts = world.size;
    if (!layout.shared)
        snprintf(path, sizeof(path), NAME ".%d", part);
    out = rig_phase(&rig, &layout, part, path,
                    new_mode(rig.backend, layout.shared, path));
    CHECK(out.status == IOBM_OK, "%s: %s: %s", name, out.stage, out.err.text);
    CHECK(out.bytes == layout_part_bytes(&layout, part), "%s: %lld", name,
          (long long)out.bytes);
    barrier();
    if (rig.backend->caps & IOBM_CAP_PERSISTENT) {
        part = (world.rank + 1) % world.size;
        if (!layout.shared)
            snprintf(path, sizeof(path), NAME ".%d", part);
        CHECK(stat(path, &st) == 0 &&
                  st.st_size ==
                      layout_file_bytes(&layout, layout.shared ? 0 : part),
              "%s: size %lld", name, (long long)st.st_size);
        out = rig_phase(&rig, &layout, part, path, IOBM_OPEN_READ);
        CHECK(out.status == IOBM_OK, "%s: %s: %s", name, out.stage,
              out.err.text);
        CHECK(out.bytes == layout_part_bytes(&layout, part), "%s: %lld", name,
              (long long)out.bytes);
    }
    rig_stop(&rig);
    barrier();
    unlink(path);
    barrier();
}

static const struct layout layouts[] = {
    /* shared, strided, parts, total, transfer, block, grain */
    {false, false, 0, 1000003, 65536, 0, 1},
    {false, false, 0, 1000003, 99991, 0, 1},
    {true, false, 0, 1000003, 65536, 0, 1},
    {true, false, 0, 1000003, 99991, 0, 1},
    {true, false, 0, 2, 4096, 0, 1}, /* fewer bytes than ranks */
    {true, false, 0, 1000003, 10000000, 0, 1},
    {true, true, 0, 1000003, 65536, 65536, 1},
    {true, true, 0, 1000003, 1000, 4096, 1},
    {true, true, 0, 1000003, 40960, 4096, 1},
    {true, true, 0, 50021, 70, 5000, 1},
    {true, true, 0, 1000003, 7000, 7, 1},
    {true, true, 0, 100, 4096, 4096, 1}, /* one block */
};

static void scenario_all(void)
{
    for (size_t b = 0; iobm_backends[b]; b++)
        for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
            unsigned caps = iobm_backends[b]->caps;

            if (layouts[i].shared && !(caps & IOBM_CAP_SHARED_FILE))
                continue;
            if (layouts[i].strided && !(caps & IOBM_CAP_SPAN))
                continue;
            there_and_back(iobm_backends[b]->name, layouts[i], false);
            if (layouts[i].shared && caps & IOBM_CAP_COLLECTIVE)
                there_and_back(iobm_backends[b]->name, layouts[i], true);
        }
}

static struct layout shared_layout(void)
{
    return (struct layout){.shared = true,
                           .parts = world.size,
                           .total_bytes = world.size * INT64_C(1000000),
                           .transfer_bytes = 100000,
                           .grain_bytes = 1};
}

/* The open must fail on every rank, and name the one that failed. */
static void scenario_open(void)
{
    struct layout layout = shared_layout();
    struct rig rig = start("mpiio", true, false);
    struct rig_result out = rig_phase(&rig, &layout, world.rank, NAME,
                                      IOBM_OPEN_WRITE | IOBM_OPEN_CREATE);

    CHECK(out.status == IOBM_EIO && strcmp(out.stage, "open") == 0, "status %d",
          out.status);
    CHECK(out.err.rank == atoi(getenv("RANK")) &&
              strstr(out.err.text, "'" NAME "'"),
          "rank %d: %s", out.err.rank, out.err.text);
    CHECK(access(NAME, F_OK) != 0 || world.rank != 0, "the file is left");
    rig_stop(&rig);
}

/* The file is there already: nobody may touch it. */
static void scenario_present(void)
{
    struct layout layout = shared_layout();
    struct rig rig = start("mpiio", true, false);
    struct rig_result out;

    if (world.rank == 0)
        close(open(NAME, O_WRONLY | O_CREAT | O_EXCL, 0666));
    barrier();
    out = rig_phase(&rig, &layout, world.rank, NAME,
                    IOBM_OPEN_WRITE | IOBM_OPEN_CREATE);
    CHECK(out.status == IOBM_EIO && out.err.rank == 0 &&
              strstr(out.err.text, "File exists"),
          "rank %d: %s", out.err.rank, out.err.text);
    rig_stop(&rig);
    barrier();
    CHECK(world.rank != 0 || unlink(NAME) == 0, "the file is gone");
}

/* Whatever stage shows it, some rank must fail and no rank may hang. */
static void must_fail(bool collective, unsigned mode, const char *path,
                      const char *text)
{
    struct layout layout = shared_layout();
    struct rig rig = start("mpiio", true, collective);
    struct rig_result out;
    int64_t failed, told, bytes;

    rig.no_sync = getenv("NO_SYNC");
    out = rig_phase(&rig, &layout, world.rank, path, mode);
    failed = sum(out.status != IOBM_OK);
    told = sum(out.status != IOBM_OK && strstr(out.err.text, text));
    bytes = sum(out.bytes);

    if (out.status != IOBM_OK)
        fprintf(stderr, "rank %d: %s: %s\n", world.rank, out.stage,
                out.err.text);
    CHECK(failed > 0, "nobody noticed; %lld bytes", (long long)bytes);
    CHECK(told > 0, "nobody said '%s'", text);
    rig_stop(&rig);
}

static void scenario_write(void)
{
    must_fail(getenv("COLLECTIVE"), IOBM_OPEN_WRITE | IOBM_OPEN_CREATE,
              getenv("TARGET"), getenv("TEXT"));
}

/* The file is written whole first. */
static void scenario_read(void)
{
    struct layout layout = shared_layout();
    struct rig rig;
    struct rig_result out;
    char what[32];

    snprintf(what, sizeof(what), "%s", getenv("IOBM_INJECT_DO"));
    unsetenv("IOBM_INJECT_DO");
    rig = start("mpiio", true, false);
    out = rig_phase(&rig, &layout, world.rank, NAME,
                    IOBM_OPEN_WRITE | IOBM_OPEN_CREATE);
    CHECK(out.status == IOBM_OK, "%s: %s", out.stage, out.err.text);
    rig_stop(&rig);
    barrier();
    setenv("IOBM_INJECT_DO", what, 1);
    must_fail(getenv("COLLECTIVE"), IOBM_OPEN_READ, NAME, getenv("TEXT"));
}

/* Half of it is missing. */
static void scenario_short(void)
{
    struct layout layout = shared_layout();
    struct rig rig;
    struct rig_result out;

    rig = start("mpiio", true, false);
    out = rig_phase(&rig, &layout, world.rank, NAME,
                    IOBM_OPEN_WRITE | IOBM_OPEN_CREATE);
    CHECK(out.status == IOBM_OK, "%s: %s", out.stage, out.err.text);
    rig_stop(&rig);
    barrier();
    if (world.rank == 0)
        CHECK(truncate(NAME, 950000) == 0, "truncate");
    barrier();
    must_fail(getenv("COLLECTIVE"), IOBM_OPEN_READ, NAME, "end of file");
}

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"all", scenario_all},         {"open", scenario_open},
    {"present", scenario_present}, {"write", scenario_write},
    {"read", scenario_read},       {"short", scenario_short},
};

static int run_scenario(int argc, char **argv)
{
    struct iobm_error err = {0};

    if (par_init(&argc, &argv, &world, &err) != IOBM_OK)
        return 1;
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
        if (strcmp(scenarios[i].name, argv[2]) == 0)
            scenarios[i].run();
    par_finalize(&world);
    return 0;
}

/* ---- the tests */

struct test_case {
    const char *name, *ranks, *scenario;
    const char *variables; /* "NAME=VALUE NAME=VALUE" */
};

#define INJECT(rank, call, what)                                               \
    "IOBM_INJECT_PATH=" NAME "$ IOBM_INJECT_RANK=" rank                        \
    " IOBM_INJECT_CALL=" call " IOBM_INJECT_DO=" what " "
#define ROMIO  "OMPI_MCA_io=romio321 "
#define FCOLL  "OMPI_MCA_fcoll="
#define NOSPC  "TEXT=No~space~left TARGET=disk/" NAME " "
#define EIO_IN "TEXT=Input/output~error TARGET=" NAME " "

static const struct test_case cases[] = {
    {"1 rank", "1", "all", ""},
    {"2 ranks", "2", "all", ""},
    {"3 ranks", "3", "all", ""},
    {"3 ranks, romio", "3", "all", ROMIO},
    {"3 ranks, dynamic_gen2", "3", "all", FCOLL "dynamic_gen2"},
    {"3 ranks, dynamic", "3", "all", FCOLL "dynamic"},
    {"3 ranks, two_phase", "3", "all", FCOLL "two_phase"},
    {"3 ranks, individual", "3", "all", FCOLL "individual"},
    {"open fails on a rank", "3", "open",
     "RANK=1 " INJECT("1", "open", "EACCES")},
    {"open fails on a rank, romio", "3", "open",
     ROMIO "RANK=1 " INJECT("1", "open", "EACCES")},
    {"the library's open fails on a rank, romio", "3", "open",
     ROMIO "RANK=0 " INJECT("1", "open", "EACCES") "IOBM_INJECT_OP=2"},
    {"the file is there", "2", "present", ""},
    {"full disk", "3", "write", NOSPC},
    {"full disk, romio", "3", "write", ROMIO NOSPC},
    {"full disk, collective", "3", "write", NOSPC "COLLECTIVE=1"},
    {"full disk, collective, romio", "3", "write", ROMIO NOSPC "COLLECTIVE=1"},
    {"full disk, collective, dynamic_gen2", "3", "write",
     NOSPC "COLLECTIVE=1 " FCOLL "dynamic_gen2"},
    {"full disk, collective, dynamic", "3", "write",
     NOSPC "COLLECTIVE=1 " FCOLL "dynamic"},
    {"full disk, collective, two_phase", "3", "write",
     NOSPC "COLLECTIVE=1 " FCOLL "two_phase"},
    {"full disk, collective, individual", "3", "write",
     NOSPC "COLLECTIVE=1 " FCOLL "individual"},
    {"EIO on rank 0", "3", "write", EIO_IN INJECT("0", "write", "EIO")},
    {"EIO on rank 2", "3", "write", EIO_IN INJECT("2", "write", "EIO")},
    {"EIO on rank 0, collective", "3", "write",
     "TEXT=the~data~is~not~in~the~file TARGET=" NAME
     " COLLECTIVE=1 " INJECT("0", "write", "EIO")},
    {"full disk, collective, no sync", "3", "write",
     NOSPC "COLLECTIVE=1 NO_SYNC=1"},
    {"sync fails", "3", "write", EIO_IN INJECT("0", "sync", "EIO")},
    {"sync fails, romio", "3", "write",
     ROMIO EIO_IN INJECT("0", "sync", "EIO")},
    {"close fails", "3", "write", EIO_IN INJECT("1", "close", "EIO")},
    {"read EIO on rank 1", "3", "read", EIO_IN INJECT("1", "read", "EIO")},
    {"read EIO on rank 1, romio", "3", "read",
     ROMIO EIO_IN INJECT("1", "read", "EIO")},
    {"read EIO on rank 0, collective, romio", "3", "read",
     ROMIO EIO_IN "COLLECTIVE=1 " INJECT("0", "read", "EIO")},
    {"short file", "3", "short", ""},
    {"short file, romio", "3", "short", ROMIO},
    {"short file, collective", "3", "short", "COLLECTIVE=1"},
    {"short file, collective, romio", "3", "short", ROMIO "COLLECTIVE=1"},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

/* A disk of 1 MiB, in name spaces of our own. */
static bool small_disk(void)
{
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return false;
    mkdir("disk", 0777);
    return mount("iobm-test", "disk", "tmpfs", 0, "size=1m") == 0;
}

static bool have_disk;

static void show(const char *path)
{
    FILE *in = fopen(path, "r");
    char line[512];

    while (in && fgets(line, sizeof(line), in))
        fprintf(stderr, "# %s", line);
    if (in)
        fclose(in);
}

static void runs(void **state)
{
    const struct test_case *test = *state;
    char command[PATH_MAX + 2048], variables[1024], program[PATH_MAX] = "";
    int status;

    if (strstr(test->variables, "TARGET=disk/") && !have_disk)
        skip();
    if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
        fail();
    /* A '~' in a value is a space. */
    snprintf(variables, sizeof(variables), "%s", test->variables);
    for (char *c = variables; *c; c++)
        if (*c == ' ')
            *c = '\n';
    unlink(NAME);
    unlink("disk/" NAME);
    snprintf(command, sizeof(command),
             "set -f; IFS='\n'; exec env $(printf %%s '%s' | tr '~' ' ') "
             "OMPI_MCA_rmaps_base_oversubscribe=1 ASAN_OPTIONS=detect_leaks=0 "
             "timeout -k 5 100 mpirun -np %s '%s' --rank %s >log 2>&1",
             variables, test->ranks, program, test->scenario);
    status = system(command);
    if (status != 0 || getenv("SHOW"))
        show("log");
    assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
    static struct CMUnitTest tests[CASES];
    size_t n = 0;

    if (argc > 2 && strcmp(argv[1], "--rank") == 0)
        return run_scenario(argc, argv);
    have_disk = small_disk();
    for (size_t i = 0; i < CASES; i++)
        if (argc < 2 || strstr(cases[i].name, argv[1]))
            tests[n++] = (struct CMUnitTest){cases[i].name, runs, NULL, NULL,
                                             (void *)&cases[i]};
    return _cmocka_run_group_tests("backend ranks", tests, n, NULL, NULL);
}
