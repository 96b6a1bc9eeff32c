/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Facts of a host from made-up /proc and /sys trees, and which environment
 * variables go into a result.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "env/host.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char root[64]; /* of the made-up trees */

static int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "/tmp/iobm-host.XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    return system(command);
}

/* Make the file and the folders above it. */
static void put(const char *path, const char *text)
{
    char full[512];
    FILE *file;

    snprintf(full, sizeof(full), "%s%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/'));
         slash++) {
        *slash = '\0';
        mkdir(full, 0755);
        *slash = '/';
    }
    file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void node_is_described(void **state)
{
    struct iobm_node_row row;

    (void)state;
    put("/proc/sys/kernel/hostname", "node03\n");
    put("/proc/sys/kernel/ostype", "Linux\n");
    put("/proc/sys/kernel/osrelease", "5.14.0-427.el9\n");
    put("/proc/sys/kernel/random/boot_id",
        "8294307c-7cfe-413f-9a84-d516d25882bd\n");
    put("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\n"
                         "model name\t: Made Up CPU @ 2.00GHz\n");
    put("/proc/meminfo", "MemTotal:       1000 kB\nMemFree: 1 kB\n"
                         "MemAvailable:    600 kB\n");
    put("/proc/self/status", "Name:\tx\nCpus_allowed:\tff\n"
                             "Cpus_allowed_list:\t0-3,8\n");
    put("/sys/devices/system/cpu/online", "0-3,8,10-11\n");
    put("/sys/class/net/lo/operstate", "up\n");
    put("/sys/class/net/lo/speed", "999999\n");
    put("/sys/class/net/eth0/operstate", "up\n");
    put("/sys/class/net/eth0/speed", "25000\n");
    put("/sys/class/net/eth1/operstate", "down\n");
    put("/sys/class/net/eth1/speed", "400000\n");
    put("/sys/class/net/tun0/operstate", "up\n");
    put("/sys/class/net/tun0/speed", "-1\n");
    put("/sys/class/net/br0/operstate", "up\n");
    put("/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
    put("/sys/class/infiniband/mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)\n");
    put("/sys/class/infiniband/mlx5_1/ports/1/state", "1: DOWN\n");
    put("/sys/class/infiniband/mlx5_1/ports/1/rate", "400 Gb/sec (4X NDR)\n");

    host_describe(root, &row);
    assert_string_equal(row.host, "node03");
    assert_string_equal(row.boot_id, "8294307c-7cfe-413f-9a84-d516d25882bd");
    assert_ptr_equal(strstr(row.kernel, "Linux 5.14.0-427.el9 "), row.kernel);
    assert_string_equal(row.cpu, "Made Up CPU @ 2.00GHz");
    assert_int_equal(row.cores, 7);
    assert_int_equal(row.memory_bytes, 1024000);
    assert_int_equal(row.memory_free_bytes, 614400);
    assert_string_equal(row.link, "mlx5_0/1");
    assert_int_equal(row.link_bits_per_s, INT64_C(200000000000));
    assert_string_equal(row.binding, "0-3,8");
}

static void nothing_is_made_up(void **state)
{
    struct iobm_node_row row;

    (void)state;
    memset(&row, 'x', sizeof(row));
    host_describe("/nonexistent", &row);
    assert_string_equal(row.host, "");
    assert_string_equal(row.boot_id, "");
    assert_string_equal(row.kernel, "");
    assert_string_equal(row.cpu, "");
    assert_string_equal(row.link, "");
    assert_string_equal(row.binding, "");
    assert_int_equal(row.cores, -1);
    assert_int_equal(row.memory_bytes, -1);
    assert_int_equal(row.memory_free_bytes, -1);
    assert_int_equal(row.link_bits_per_s, -1);
}

static void odd_files_do_no_harm(void **state)
{
    static const struct {
        const char *path, *text;
    } files[] = {
        {"/proc/sys/kernel/hostname",
         "a-name-of-more-than-sixty-three-characters-which-no-host-should-"
         "have-but-some-do\n"},
        {"/proc/cpuinfo", "model name"},
        {"/proc/meminfo", "MemTotal: -5 kB\nMemAvailable: lots\n"},
        {"/sys/devices/system/cpu/online", "0-99999999999\n"},
        {"/sys/class/net/eth0/operstate", "up\n"},
        {"/sys/class/net/eth0/speed", "4294967295\n"},
        {"/sys/class/infiniband/a/ports/1/state", "4: ACTIVE\n"},
        {"/sys/class/infiniband/a/ports/1/rate", "inf Gb/sec\n"},
        {"/sys/class/infiniband/b/ports/1/state", "4: ACTIVE\n"},
        {"/sys/class/infiniband/b/ports/1/rate", "100 Mb/sec\n"},
        {"/proc/self/status", "Cpus_allowed_list:\t\n"},
    };
    struct iobm_node_row row;

    (void)state;
    for (size_t i = 0; i < COUNT(files); i++)
        put(files[i].path, files[i].text);
    host_describe(root, &row);
    assert_int_equal(strlen(row.host), 63);
    assert_string_equal(row.cpu, "");
    assert_int_equal(row.memory_bytes, -1);
    assert_int_equal(row.memory_free_bytes, -1);
    assert_int_equal(row.cores, -1);
    assert_int_equal(row.link_bits_per_s, -1);
    assert_string_equal(row.binding, "");
}

static void processors_of_other_kinds(void **state)
{
    static const struct {
        const char *cpuinfo, *cpu;
    } cases[] = {
        {"processor : 0\ncpu : POWER9, altivec supported\n",
         "POWER9, altivec supported"},
        {"CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
         "Arm implementer 0x41 part 0xd0c"},
        {"vendor_id       : IBM/S390\n# processors    : 4\n", "IBM/S390"},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct iobm_node_row row;

        put("/proc/cpuinfo", cases[i].cpuinfo);
        host_describe(root, &row);
        assert_string_equal(row.cpu, cases[i].cpu);
    }
}

static void this_host(void **state)
{
    struct iobm_node_row row;

    (void)state;
    host_describe("", &row);
    assert_true(row.host[0] && row.kernel[0] && row.boot_id[0]);
    assert_true(row.cores > 0 && row.memory_bytes > row.memory_free_bytes);
    assert_true(host_memory_available("") > 0);
}

static void environment_is_picked(void **state)
{
    char *const list[] = {
        (char *)"SLURM_JOB_ID=4711",
        (char *)"SLURM_JWT=secret",
        (char *)"SLURM_JOB_ID_OTHER=1",
        (char *)"MY_SLURM_NTASKS=1",
        (char *)"SLURM_NTASKS=",
        (char *)"OMPI_MCA_io=romio321",
        (char *)"OMPI_MCA_orte_hnp_uri=1;tcp://10.0.0.1:1",
        (char *)"PMIX_SECURITY_TOKEN=secret",
        (char *)"AWS_SECRET_ACCESS_KEY=secret",
        (char *)"HDF5_USE_FILE_LOCKING=FALSE=1",
        (char *)"PBS_JOBCOOKIE=secret",
        (char *)"NOEQUALS",
        (char *)"",
        NULL,
    };
    struct kvlist out = {0};

    (void)state;
    assert_int_equal(host_environment(list, &out, NULL), IOBM_OK);
    assert_int_equal(out.count, 4);
    assert_string_equal(kv_get(&out, "env.SLURM_JOB_ID"), "4711");
    assert_string_equal(kv_get(&out, "env.SLURM_NTASKS"), "");
    assert_string_equal(kv_get(&out, "env.OMPI_MCA_io"), "romio321");
    assert_string_equal(kv_get(&out, "env.HDF5_USE_FILE_LOCKING"), "FALSE=1");
    kv_release(&out);
}

static void long_values_are_cut(void **state)
{
    static char variable[20000] = "SLURM_JOB_NODELIST=";
    char *const list[] = {variable, NULL};
    struct kvlist out = {0};

    (void)state;
    memset(variable + strlen(variable), 'n', 19000);
    assert_int_equal(host_environment(list, &out, NULL), IOBM_OK);
    assert_int_equal(strlen(kv_get(&out, "env.SLURM_JOB_NODELIST")), 2048);
    kv_release(&out);
}

static const char *const *job; /* name, value, name, value ... NULL */

static const char *job_env(const char *name)
{
    for (size_t i = 0; job[i]; i += 2)
        if (strcmp(job[i], name) == 0)
            return job[i + 1];
    return NULL;
}

static void job_is_told(void **state)
{
    static const struct {
        const char *env[9];
        const char *scheduler, *id, *name, *nodes;
    } cases[] = {
        {{NULL}, NULL, NULL, NULL, NULL},
        {{"SLURM_JOB_ID", "", NULL}, NULL, NULL, NULL, NULL},
        {{"SLURM_JOB_ID", "7", "SLURM_JOB_NAME", "io", "SLURM_JOB_NUM_NODES",
          "3", NULL},
         "slurm",
         "7",
         "io",
         "3"},
        {{"PBS_JOBID", "8.srv", NULL}, "pbs", "8.srv", NULL, NULL},
        {{"PBS_JOBID", "9", "SLURM_JOB_ID", "9", NULL},
         "slurm",
         "9",
         NULL,
         NULL},
        {{"LSB_JOBID", "10", "LSB_JOBNAME", "x", "LSB_MCPU_HOSTS", "a 4 b 4",
          NULL},
         "lsf",
         "10",
         "x",
         "a 4 b 4"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *const expected[][2] = {
            {"job.scheduler", cases[i].scheduler},
            {"job.id", cases[i].id},
            {"job.name", cases[i].name},
            {"job.nodes", cases[i].nodes},
        };
        struct kvlist out = {0};

        job = cases[i].env;
        assert_int_equal(host_job(job_env, &out, NULL), IOBM_OK);
        for (size_t k = 0; k < COUNT(expected); k++) {
            const char *value = kv_get(&out, expected[k][0]);

            if (expected[k][1])
                assert_string_equal(value, expected[k][1]);
            else
                assert_null(value);
        }
        kv_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(node_is_described, make_root,
                                        remove_root),
        cmocka_unit_test(nothing_is_made_up),
        cmocka_unit_test_setup_teardown(odd_files_do_no_harm, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(processors_of_other_kinds, make_root,
                                        remove_root),
        cmocka_unit_test(this_host),
        cmocka_unit_test(environment_is_picked),
        cmocka_unit_test(long_values_are_cut),
        cmocka_unit_test(job_is_told),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
