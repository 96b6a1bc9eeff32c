/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Facts of a node for the result: kernel, processor, memory, fastest link,
 * and the environment variables that say how the job was started.  Variables
 * are taken by name from a list: others may hold passwords and tokens.
 */

#include "env/host.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "env/procfile.h"

/* Sorted in groups; a name that may carry a secret has no place here. */
static const char *const allowed[] = {
    "SLURM_JOB_ID",
    "SLURM_JOB_NAME",
    "SLURM_JOB_PARTITION",
    "SLURM_JOB_QOS",
    "SLURM_JOB_NUM_NODES",
    "SLURM_JOB_NODELIST",
    "SLURM_JOB_CPUS_PER_NODE",
    "SLURM_CLUSTER_NAME",
    "SLURM_ARRAY_JOB_ID",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_NTASKS",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_TASKS_PER_NODE",
    "SLURM_CPUS_PER_TASK",
    "SLURM_CPUS_ON_NODE",
    "SLURM_MEM_PER_NODE",
    "SLURM_MEM_PER_CPU",
    "SLURM_NNODES",
    "SLURM_STEP_ID",
    "SLURM_STEP_NUM_NODES",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_STEP_NODELIST",
    "SLURM_DISTRIBUTION",
    "SLURM_CPU_BIND",
    "SLURM_MPI_TYPE",
    "SLURM_RESTART_COUNT",
    "SLURM_TOPOLOGY_ADDR",
    /* PBS and Torque */
    "PBS_JOBID",
    "PBS_JOBNAME",
    "PBS_QUEUE",
    "PBS_NUM_NODES",
    "PBS_NUM_PPN",
    "PBS_NP",
    "PBS_NODEFILE",
    "PBS_ARRAY_INDEX",
    "PBS_ARRAYID",
    "PBS_ENVIRONMENT",
    "PBS_NCPUS",
    "NCPUS",
    /* LSF */
    "LSB_JOBID",
    "LSB_JOBNAME",
    "LSB_JOBINDEX",
    "LSB_QUEUE",
    "LSB_DJOB_NUMPROC",
    "LSB_MAX_NUM_PROCESSORS",
    "LSB_MCPU_HOSTS",
    "LSB_SUB_HOST",
    /* MPI */
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "OMPI_UNIVERSE_SIZE",
    "OMPI_NUM_APP_CTX",
    "OMPI_MCA_btl",
    "OMPI_MCA_pml",
    "OMPI_MCA_mtl",
    "OMPI_MCA_osc",
    "OMPI_MCA_coll",
    "OMPI_MCA_io",
    "OMPI_MCA_fs",
    "OMPI_MCA_fbtl",
    "OMPI_MCA_fcoll",
    "OMPI_MCA_sharedfp",
    "OMPI_MCA_io_ompio_bytes_per_agg",
    "OMPI_MCA_io_ompio_cycle_buffer_size",
    "OMPI_MCA_io_ompio_num_aggregators",
    "OMPI_MCA_io_ompio_grouping_option",
    "OMPI_MCA_fs_ufs_lock_algorithm",
    "OMPI_MCA_fs_lustre_stripe_size",
    "OMPI_MCA_fs_lustre_stripe_width",
    "OMPI_MCA_btl_tcp_if_include",
    "OMPI_MCA_btl_tcp_if_exclude",
    "OMPI_MCA_mpi_yield_when_idle",
    "OMPI_MCA_hwloc_base_binding_policy",
    "OMPI_MCA_rmaps_base_mapping_policy",
    "OMPI_MCA_rmaps_base_oversubscribe",
    "ROMIO_HINTS",
    "ROMIO_FSTYPE_FORCE",
    "ROMIO_PRINT_HINTS",
    "UCX_TLS",
    "UCX_NET_DEVICES",
    "FI_PROVIDER",
    /* HDF5, threads, allocator, what was preloaded */
    "HDF5_USE_FILE_LOCKING",
    "HDF5_DRIVER",
    "HDF5_DISABLE_VERSION_CHECK",
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "MALLOC_ARENA_MAX",
    "LD_PRELOAD",
};

enum {
    ALLOWED_COUNT = sizeof(allowed) / sizeof(allowed[0]),
    ENV_VALUE_BYTES = 2048,
};

/* "KEY : VALUE" of a file like cpuinfo: the first VALUE into 'value'. */
static bool find_field(const char *text, const char *key, char *value,
                       size_t room)
{
    size_t n = strlen(key);

    value[0] = '\0';
    for (const char *line = text; *line; line++) {
        const char *colon = strncmp(line, key, n) == 0 ? line + n : NULL;

        if (colon)
            colon += strspn(colon, " \t");
        if (colon && *colon == ':') {
            colon += 1 + strspn(colon + 1, " \t");
            snprintf(value, room, "%.*s", (int)strcspn(colon, "\n"), colon);
            return value[0] != '\0';
        }
        line += strcspn(line, "\n");
        if (!*line)
            break;
    }
    return false;
}

/* x86 has "model name", POWER "cpu", s390 "vendor_id", some Arm only what the
 * firmware says. */
static void describe_cpu(const char *root, char *cpu, size_t room)
{
    static const char *const keys[] = {"model name", "cpu model", "Model Name",
                                       "cpu",        "Hardware",  "vendor_id"};
    struct str text = {0};
    bool found = false;

    cpu[0] = '\0';
    (void)procfile_read(root, "/proc/cpuinfo", &text);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && !found; i++)
        found = find_field(str_text(&text), keys[i], cpu, room);
    if (!found) {
        char implementer[16], part[16];

        if (find_field(str_text(&text), "CPU implementer", implementer,
                       sizeof(implementer)) &&
            find_field(str_text(&text), "CPU part", part, sizeof(part)))
            snprintf(cpu, room, "Arm implementer %s part %s", implementer,
                     part);
    }
    str_release(&text);
}

/* How many numbers a list like "0-3,8,10-11" names; -1 when it is none. */
static int64_t count_list(const char *list)
{
    int64_t count = 0;

    while (*list) {
        char *end;
        long first = strtol(list, &end, 10), last = first;

        if (end == list || first < 0)
            return -1;
        if (*end == '-') {
            const char *from = end + 1;

            last = strtol(from, &end, 10);
            if (end == from || last < first || last > INT_MAX)
                return -1;
        }
        if (*end && *end != ',')
            return -1;
        count += last - first + 1;
        list = *end ? end + 1 : end;
    }
    return count > 0 ? count : -1;
}

/* "KEY:  123 kB" of meminfo in bytes; -1 when it is not there. */
static int64_t memory_field(const char *root, const char *key)
{
    struct str text = {0};
    char value[48], *end;
    int64_t bytes = -1;

    if (procfile_read(root, "/proc/meminfo", &text) &&
        find_field(str_text(&text), key, value, sizeof(value))) {
        long long kib = strtoll(value, &end, 10);

        if (end != value && kib >= 0 && kib <= INT64_MAX / 1024)
            bytes = kib * 1024;
    }
    str_release(&text);
    return bytes;
}

int64_t host_memory_available(const char *root)
{
    return memory_field(root, "MemAvailable");
}

static void offer_link(struct iobm_node_row *row, const char *name,
                       int64_t bits_per_s)
{
    if (bits_per_s <= row->link_bits_per_s)
        return;
    row->link_bits_per_s = bits_per_s;
    procfile_copy(row->link, sizeof(row->link), name);
}

static DIR *open_dir(const char *root, const char *path)
{
    char full[PATH_MAX];

    snprintf(full, sizeof(full), "%s%s", root ? root : "", path);
    return opendir(full);
}

/* Network cards: speed is in Mbit/s, and -1 or an error when it is down or
 * means nothing (bridges, tunnels). */
static void find_ethernet(const char *root, struct iobm_node_row *row)
{
    DIR *dir = open_dir(root, "/sys/class/net");

    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[NAME_MAX + 64], state[16];
        int64_t speed;

        if (e->d_name[0] == '.' || strcmp(e->d_name, "lo") == 0)
            continue;
        snprintf(path, sizeof(path), "/sys/class/net/%s/operstate", e->d_name);
        if (!procfile_line(root, path, state, sizeof(state)) ||
            strcmp(state, "up") != 0)
            continue;
        snprintf(path, sizeof(path), "/sys/class/net/%s/speed", e->d_name);
        if (procfile_int(root, path, &speed) && speed > 0 && speed < INT_MAX)
            offer_link(row, e->d_name, speed * 1000000);
    }
    if (dir)
        closedir(dir);
}

/* One port: "200 Gb/sec (4X HDR)" and "4: ACTIVE". */
static void find_infiniband_port(const char *root, const char *device,
                                 const char *port, struct iobm_node_row *row)
{
    char path[2 * NAME_MAX + 64], text[64], name[2 * NAME_MAX + 2], *end;
    double gigabits;

    snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%s/state",
             device, port);
    if (!procfile_line(root, path, text, sizeof(text)) ||
        !strstr(text, "ACTIVE"))
        return;
    snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%s/rate",
             device, port);
    if (!procfile_line(root, path, text, sizeof(text)))
        return;
    gigabits = strtod(text, &end);
    if (end == text || strncmp(end, " Gb/sec", 7) != 0 || !(gigabits > 0) ||
        gigabits > 1e6)
        return;
    snprintf(name, sizeof(name), "%s/%s", device, port);
    offer_link(row, name, (int64_t)(gigabits * 1e9 + 0.5));
}

static void find_infiniband(const char *root, struct iobm_node_row *row)
{
    DIR *devices = open_dir(root, "/sys/class/infiniband");

    for (struct dirent *d; devices && (d = readdir(devices));) {
        char path[NAME_MAX + 64];
        DIR *ports;

        if (d->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports",
                 d->d_name);
        ports = open_dir(root, path);
        for (struct dirent *p; ports && (p = readdir(ports));)
            if (p->d_name[0] != '.')
                find_infiniband_port(root, d->d_name, p->d_name, row);
        if (ports)
            closedir(ports);
    }
    if (devices)
        closedir(devices);
}

static void describe_kernel(const char *root, char *kernel, size_t room)
{
    char type[32] = "", release[64] = "";
    struct utsname name;

    (void)procfile_line(root, "/proc/sys/kernel/ostype", type, sizeof(type));
    (void)procfile_line(root, "/proc/sys/kernel/osrelease", release,
                        sizeof(release));
    kernel[0] = '\0';
    if (release[0])
        snprintf(kernel, room, "%s %s", type[0] ? type : "Linux", release);
    /* The machine type is the same for every root: that of this program. */
    if (release[0] && uname(&name) == 0) {
        size_t used = strlen(kernel);

        snprintf(kernel + used, room - used, " %.*s", 31, name.machine);
    }
}

void host_describe(const char *root, struct iobm_node_row *row)
{
    struct str status = {0};
    char online[256];

    procfile_line(root, "/proc/sys/kernel/hostname", row->host,
                  sizeof(row->host));
    procfile_line(root, "/proc/sys/kernel/random/boot_id", row->boot_id,
                  sizeof(row->boot_id));
    describe_kernel(root, row->kernel, sizeof(row->kernel));
    describe_cpu(root, row->cpu, sizeof(row->cpu));
    row->cores = procfile_line(root, "/sys/devices/system/cpu/online", online,
                               sizeof(online))
                     ? count_list(online)
                     : -1;
    row->memory_bytes = memory_field(root, "MemTotal");
    row->memory_free_bytes = host_memory_available(root);
    row->link[0] = '\0';
    row->link_bits_per_s = -1;
    find_ethernet(root, row);
    find_infiniband(root, row);
    row->binding[0] = '\0';
    if (procfile_read(root, "/proc/self/status", &status))
        find_field(str_text(&status), "Cpus_allowed_list", row->binding,
                   sizeof(row->binding));
    str_release(&status);
}

static enum iobm_status add_variable(char *const *list, const char *name,
                                     struct kvlist *out, struct iobm_error *err)
{
    size_t n = strlen(name);
    char key[64];

    for (; *list; list++) {
        if (strncmp(*list, name, n) != 0 || (*list)[n] != '=')
            continue;
        snprintf(key, sizeof(key), "env.%s", name);
        /* A list of thousands of nodes must not fill the result. */
        return kv_setf(out, err, key, "%.*s", ENV_VALUE_BYTES, *list + n + 1);
    }
    return IOBM_OK;
}

enum iobm_status host_environment(char *const *environ_list, struct kvlist *out,
                                  struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;

    for (size_t i = 0; i < ALLOWED_COUNT && status == IOBM_OK; i++)
        status = add_variable(environ_list, allowed[i], out, err);
    return status;
}

static enum iobm_status add_job_fact(const char *(*env)(const char *),
                                     const char *key, const char *variable,
                                     struct kvlist *out, struct iobm_error *err)
{
    const char *value = env(variable);

    return value && value[0] ? kv_set(out, key, value, err) : IOBM_OK;
}

enum iobm_status host_job(const char *(*env)(const char *), struct kvlist *out,
                          struct iobm_error *err)
{
    /* Slurm comes first: its PBS emulation sets PBS_JOBID too. */
    static const struct {
        const char *scheduler, *id, *name, *nodes;
    } known[] = {
        {"slurm", "SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_JOB_NUM_NODES"},
        {"pbs", "PBS_JOBID", "PBS_JOBNAME", "PBS_NUM_NODES"},
        {"lsf", "LSB_JOBID", "LSB_JOBNAME", "LSB_MCPU_HOSTS"},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const char *id = env(known[i].id);
        enum iobm_status status;

        if (!id || !id[0])
            continue;
        status = kv_set(out, "job.scheduler", known[i].scheduler, err);
        if (status == IOBM_OK)
            status = kv_set(out, "job.id", id, err);
        if (status == IOBM_OK)
            status = add_job_fact(env, "job.name", known[i].name, out, err);
        if (status == IOBM_OK)
            status = add_job_fact(env, "job.nodes", known[i].nodes, out, err);
        return status;
    }
    return IOBM_OK;
}
