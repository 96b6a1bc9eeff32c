/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The witnesses on files as kernels and file systems write them: each sample
 * of tests/samples/env is unpacked to a tree of its own, which stands for the
 * root.  What this machine says is in test_witness_live.c.
 */

#include <errno.h>
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

#include "base/rng.h"
#include "env/procfile.h"
#include "env/witness_impl.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define GIGA         INT64_C(1000000000)

struct tree {
    struct witness_target target;
    struct witness_sample sample;
};

static int make_tree(void **state)
{
    struct tree *tree = calloc(1, sizeof(*tree));
    const char *folder = getenv("TMPDIR");

    assert_non_null(tree);
    snprintf(tree->target.root, sizeof(tree->target.root),
             "%s/iobm-witness.XXXXXX", folder && *folder ? folder : "/tmp");
    assert_non_null(mkdtemp(tree->target.root));
    memset(&tree->sample, 0xff, sizeof(tree->sample));
    *state = tree;
    return 0;
}

static int remove_tree(void **state)
{
    struct tree *tree = *state;
    char command[600];

    snprintf(command, sizeof(command), "rm -rf '%s'", tree->target.root);
    assert_int_equal(system(command), 0);
    free(tree);
    return 0;
}

/* ROOT/PATH with all folders above it. */
static FILE *create(const struct tree *tree, const char *path)
{
    char full[1024];
    FILE *file;

    snprintf(full, sizeof(full), "%s%s", tree->target.root, path);
    for (char *at = full + strlen(tree->target.root) + 1;
         (at = strchr(at, '/')); *at++ = '/') {
        *at = '\0';
        if (mkdir(full, 0777) != 0)
            assert_int_equal(errno, EEXIST);
    }
    file = fopen(full, "w");
    assert_non_null(file);
    return file;
}

static void put(const struct tree *tree, const char *path, const char *text)
{
    FILE *file = create(tree, path);

    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Files follow each other, each behind "==> PATH <==". */
static void unpack(const struct tree *tree, const char *name)
{
    const char *source = getenv("IOBM_SRC");
    char path[1024], line[4096];
    FILE *in, *out = NULL;

    snprintf(path, sizeof(path), "%s/tests/samples/env/%s.txt",
             source ? source : ".", name);
    in = fopen(path, "r");
    if (!in)
        fail_msg("cannot open '%s': %s", path, strerror(errno));
    while (fgets(line, sizeof(line), in)) {
        if (sscanf(line, "==> %1000s <==", path) == 1) {
            if (out)
                assert_int_equal(fclose(out), 0);
            out = create(tree, path);
        } else if (out) {
            assert_true(fputs(line, out) >= 0);
        }
    }
    fclose(in);
    assert_non_null(out);
    assert_int_equal(fclose(out), 0);
}

static void nothing_is_minus_one(void **state)
{
    struct tree *tree = *state;
    struct witness_sample *s = &tree->sample;
    const int64_t *member = (const int64_t *)s;

    tree->target.nfs = tree->target.lustre = true;
    witness_read(&tree->target, true, s);
    assert_true(s->time_ns > 0 && s->page_bytes >= 4096);
    assert_true(s->cpu_ns > 0 && s->major_faults >= 0);
    s->time_ns = s->page_bytes = s->cpu_ns = s->major_faults = -1;
    for (size_t i = 0; i < sizeof(*s) / sizeof(*member); i++)
        assert_int_equal(member[i], -1);
}

static void nfs(void **state)
{
    static const struct {
        const char *sample, *point;
        int64_t bytes[6]; /* normal, direct, server; reads, then writes */
    } table[] = {
        {"nfs-client",
         "/scratch",
         {4294967296, 1048576, 4323840000, 2147483648, 2097152, 2149580800}},
        {"nfs-client", "/scratch2", {111, 333, 555, 222, 444, 666}},
        {"nfs-client", "/scratch/sub", {9, 9, 9, 9, 9, 9}},
        {"nfs-client", "/mnt/my data\\x", {1000, 30, 500, 2000, 40, 2040}},
        {"nfs-client", "/mnt/my data", {-1, -1, -1, -1, -1, -1}},
        {"nfs-client", "/run", {-1, -1, -1, -1, -1, -1}},
        {"nfs-client", "/", {-1, -1, -1, -1, -1, -1}},
        {"nfs-client-odd", "/a", {-1, -1, -1, -1, -1, -1}},
        {"nfs-client-odd", "/b", {-1, -1, -1, -1, -1, -1}},
        {"nfs-client-odd", "/c", {-1, -1, -1, -1, -1, -1}},
    };
    struct tree *tree = *state;
    struct witness_sample *s = &tree->sample;

    for (size_t i = 0; i < COUNT(table); i++) {
        const int64_t *want = table[i].bytes;

        unpack(tree, table[i].sample);
        strcpy(tree->target.mount_point, table[i].point);
        memset(s, 0xff, sizeof(*s));
        witness_nfs(&tree->target, s);
        if (s->nfs_normal_read != want[0] || s->nfs_direct_read != want[1] ||
            s->nfs_server_read != want[2] || s->nfs_normal_write != want[3] ||
            s->nfs_direct_write != want[4] || s->nfs_server_write != want[5])
            fail_msg("'%s' of %s: %lld %lld %lld", table[i].point,
                     table[i].sample, (long long)s->nfs_normal_read,
                     (long long)s->nfs_direct_read,
                     (long long)s->nfs_server_read);
    }
}

static void lustre(void **state)
{
    static const struct {
        const char *sample, *name;
        int64_t client_read, client_write, osc_read, osc_write;
    } table[] = {
        {"lustre-old", "scratch", 4294967296, 2147483648, 1500000000,
         2147483648},
        {"lustre-old", "scratch-ab", 5, 0, 9, 0},
        {"lustre-old", "home", 7, 0, 3, 0},
        {"lustre-old", "scr", -1, -1, -1, -1},
        {"lustre-new", "scratch", 4294967296, 2147483648, 0, 2147483648},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        void *fresh = NULL;
        struct witness_sample *s;

        make_tree(&fresh);
        struct tree *tree = fresh;
        s = &tree->sample;
        unpack(tree, table[i].sample);
        strcpy(tree->target.lustre_name, table[i].name);
        witness_lustre(&tree->target, s);
        if (s->lustre_client_read != table[i].client_read ||
            s->lustre_client_write != table[i].client_write ||
            s->lustre_osc_read != table[i].osc_read ||
            s->lustre_osc_write != table[i].osc_write)
            fail_msg("%s of %s: %lld %lld %lld %lld", table[i].name,
                     table[i].sample, (long long)s->lustre_client_read,
                     (long long)s->lustre_client_write,
                     (long long)s->lustre_osc_read,
                     (long long)s->lustre_osc_write);
        remove_tree(&fresh);
    }
}

static void broken_lustre_lines_are_nothing(void **state)
{
    struct tree *tree = *state;

    strcpy(tree->target.lustre_name, "w");
    put(tree, "/proc/fs/lustre/osc/w-OST0000-osc-ffff/stats",
        "read_bytes 3 samples [bytes] 1 2\n"
        "write_bytes 3 samples [pages] 1 2 3\n");
    witness_lustre(&tree->target, &tree->sample);
    assert_int_equal(tree->sample.lustre_osc_read, -1);
    assert_int_equal(tree->sample.lustre_osc_write, -1);
}

static void links(void **state)
{
    static const struct {
        const char *sample;
        int64_t rx, tx, bits_per_s;
    } table[] = {
        /* eno1, eno2, ens5, usb0; not what stands on them */
        {"links-ethernet", 303040, 30340, 11100 * INT64_C(1000000)},
        /* the card of the host below that of the hypervisor */
        {"links-cloud", 70000, 7000, 50000 * INT64_C(1000000)},
        {"links-mystery", 200000, 20000, -1},
        {"links-container", 5000, 600, -1},
        /* eno1 and two ports, in words; RoCE has no card here */
        {"links-infiniband", 1000 + 1000000 + 4000, 100 + 100000 + 40,
         203500 * INT64_C(1000000)},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        void *fresh = NULL;
        struct witness_sample *s;

        make_tree(&fresh);
        struct tree *tree = fresh;
        s = &tree->sample;
        unpack(tree, table[i].sample);
        witness_link(&tree->target, s);
        if (s->link_rx_bytes != table[i].rx ||
            s->link_tx_bytes != table[i].tx ||
            s->link_bits_per_s != table[i].bits_per_s)
            fail_msg("%s: %lld %lld, %lld bit/s", table[i].sample,
                     (long long)s->link_rx_bytes, (long long)s->link_tx_bytes,
                     (long long)s->link_bits_per_s);
        remove_tree(&fresh);
    }
}

static void own(void **state)
{
    struct tree *tree = *state;
    struct witness_sample *s = &tree->sample;

    unpack(tree, "client-v2");
    witness_self(&tree->target, s);
    assert_int_equal(s->self_rchar, 3237481);
    assert_int_equal(s->self_wchar, 1048733);
    assert_int_equal(s->self_read_bytes, 2105344);
    assert_int_equal(s->self_write_bytes, 1052672);
    assert_int_equal(s->self_cancelled_bytes, 4096);
    assert_int_equal(s->self_wait_ns, 7890123);
}

static void disk(void **state)
{
    static const struct {
        uint64_t device_major, device_minor;
        int64_t read, write, busy_ns;
    } table[] = {
        {259, 3, 204800 * 512, 102400 * 512, 30012 * INT64_C(1000000)},
        {259, 0, 512, 512, 1000000}, /* eleven fields, as once */
        {8, 1, -1, -1, -1},          /* a short line is none */
        {8, 2, -1, -1, -1},
    };
    struct tree *tree = *state;

    unpack(tree, "client-v2");
    for (size_t i = 0; i < COUNT(table); i++) {
        tree->target.device_major = table[i].device_major;
        tree->target.device_minor = table[i].device_minor;
        memset(&tree->sample, 0xff, sizeof(tree->sample));
        witness_disk(&tree->target, &tree->sample);
        assert_true(tree->sample.device_read_bytes == table[i].read);
        assert_true(tree->sample.device_write_bytes == table[i].write);
        assert_true(tree->sample.device_busy_ns == table[i].busy_ns);
    }
}

static void client(void **state)
{
    struct tree *tree = *state;
    struct witness_sample *s = &tree->sample;
    int64_t tick = GIGA / sysconf(_SC_CLK_TCK);

    unpack(tree, "client-v2");
    witness_client(&tree->target, s);
    assert_int_equal(s->swap_in_pages, 120);
    assert_int_equal(s->swap_out_pages, 3400);
    assert_int_equal(s->memory_stall_ns, 1234567000);
    assert_true(s->cpu_total_ns ==
                (4705 + 150 + 1120 + 1644000 + 1520 + 35 + 90 + 12) * tick);
    assert_true(s->cpu_busy_ns == (4705 + 150 + 1120 + 35 + 90 + 12) * tick);
    assert_true(s->cpu_steal_ns == 12 * tick);
    assert_true(s->memory_bytes == INT64_C(263772668) * 1024);
    assert_true(s->memory_available_bytes == INT64_C(250123456) * 1024);
    assert_int_equal(s->memory_dirty_bytes, 20 << 20);
}

static void memory_limits(void **state)
{
    static const struct {
        const char *sample;
        int64_t limit, hits;
    } table[] = {
        {"client-v2", INT64_C(8) << 30, 43}, /* of the job, not of the step */
        {"client-v1", INT64_C(4) << 30, 31}, /* equal ones: of the step */
        {"client-container", INT64_C(1) << 30, 12}, /* memory.high */
        {"links-container", -1, -1}, /* which has cgroup v1, and no limit */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        void *fresh = NULL;

        make_tree(&fresh);
        struct tree *tree = fresh;
        unpack(tree, table[i].sample);
        witness_client(&tree->target, &tree->sample);
        if (tree->sample.cgroup_limit_bytes != table[i].limit ||
            tree->sample.cgroup_events_max != table[i].hits)
            fail_msg("%s: %lld, hit %lld times", table[i].sample,
                     (long long)tree->sample.cgroup_limit_bytes,
                     (long long)tree->sample.cgroup_events_max);
        if (i == 2) /* its pressure file begins with the wrong line */
            assert_int_equal(tree->sample.memory_stall_ns, -1);
        remove_tree(&fresh);
    }
}

static void file_systems(void **state)
{
    static const struct {
        const char *type, *options, *source;
        bool memory, network;                             /* given */
        bool block_backed, page_cache, is_nfs, is_lustre; /* expected */
        const char *lustre_name;
    } table[] = {
        {"ext4", "rw,relatime", "/dev/sda1", 0, 0, 1, 1, 0, 0, ""},
        {"xfs", "rw,noatime", "/dev/nvme0n1", 0, 0, 1, 1, 0, 0, ""},
        {"btrfs", "rw", "/dev/sda2", 0, 0, 1, 1, 0, 0, ""},
        {"block device", "", "", 0, 0, 1, 1, 0, 0, ""},
        {"xfs", "rw,dax=always", "/dev/pmem0", 0, 0, 0, 0, 0, 0, ""},
        {"ext4", "rw,dax", "/dev/pmem0", 0, 0, 0, 0, 0, 0, ""},
        {"xfs", "rw,dax=inode,daxes", "/dev/pmem0", 0, 0, 1, 1, 0, 0, ""},
        {"tmpfs", "rw,size=1k", "tmpfs", 1, 0, 0, 1, 0, 0, ""},
        {"overlay", "rw", "overlay", 0, 0, 0, 1, 0, 0, ""},
        {"zfs", "rw,xattr", "tank", 0, 0, 0, 0, 0, 0, ""},
        {"gpfs", "rw", "gpfs0", 0, 1, 0, 0, 0, 0, ""},
        {"nfs", "rw", "nas:/a", 0, 1, 0, 1, 1, 0, ""},
        {"nfs4", "rw", "nas:/a", 0, 1, 0, 1, 1, 0, ""},
        {"fuse.sshfs", "rw", "u@h:", 0, 1, 0, 1, 0, 0, ""},
        {"lustre", "rw,flock", "10.0.0.1@tcp:10.0.0.2@tcp:/scratch/sub", 0, 1,
         0, 0, 0, 1, "scratch"},
        {"lustre", "rw", "odd", 0, 1, 0, 0, 0, 1, ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        struct mount_facts facts = {.memory = table[i].memory,
                                    .network = table[i].network};
        struct witness_target target = {0};

        strcpy(facts.fs_type, table[i].type);
        strcpy(facts.options, table[i].options);
        strcpy(facts.source, table[i].source);
        witness_target_classify(&facts, &target);
        if (target.block_backed != table[i].block_backed ||
            target.page_cache != table[i].page_cache ||
            target.nfs != table[i].is_nfs ||
            target.lustre != table[i].is_lustre ||
            target.memory != table[i].memory ||
            target.network != table[i].network ||
            strcmp(target.lustre_name, table[i].lustre_name) != 0)
            fail_msg("%s (%s): %d %d '%s'", table[i].type, table[i].options,
                     target.block_backed, target.page_cache,
                     target.lustre_name);
    }
}

static void fields(void **state)
{
    static const char text[] = "ab 1\na 2\n  a_b: 3\nneg -4\nword x\nlast: 5";
    static const struct {
        const char *key;
        int64_t value;
    } table[] = {{"a", 2},     {"ab", 1},   {"a_b", 3},  {"neg", -1},
                 {"word", -1}, {"last", 5}, {"none", -1}};

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++)
        assert_int_equal(witness_field(text, table[i].key), table[i].value);
    assert_int_equal(witness_field("", "a"), -1);
}

/* Cut off anywhere, or with bytes changed: nothing breaks, and no counter is
 * below -1. */
static void damage_does_no_harm(void **state)
{
    static const char path[] = "/proc/self/mountstats";
    struct tree *tree = *state;
    struct str whole = {0};
    char *text;

    unpack(tree, "nfs-client");
    strcpy(tree->target.mount_point, "/scratch");
    assert_true(procfile_read(tree->target.root, path, &whole));
    text = malloc(whole.length + 1);
    assert_non_null(text);
    for (uint64_t round = 0; round < 300; round++) {
        memcpy(text, whole.text, whole.length + 1);
        text[rng_below(round, 0, whole.length)] = '\0';
        for (uint64_t k = 1; k < 12; k++)
            text[rng_below(round, 2 * k, whole.length)] =
                "\\ \n-:9\t\001"[rng_below(round, 2 * k + 1, 8)];
        put(tree, path, text);
        memset(&tree->sample, 0xff, sizeof(tree->sample));
        witness_nfs(&tree->target, &tree->sample);
        assert_true(tree->sample.nfs_normal_read >= -1 &&
                    tree->sample.nfs_server_write >= -1);
    }
    free(text);
    str_release(&whole);
}

#define T(name) cmocka_unit_test_setup_teardown(name, make_tree, remove_tree)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(nothing_is_minus_one),
        T(nfs),
        cmocka_unit_test(lustre),
        T(broken_lustre_lines_are_nothing),
        cmocka_unit_test(links),
        T(own),
        T(disk),
        T(client),
        cmocka_unit_test(memory_limits),
        cmocka_unit_test(file_systems),
        cmocka_unit_test(fields),
        T(damage_does_no_harm),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
