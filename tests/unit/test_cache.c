/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The page cache of real files: what was just written is in it, and goes; and
 * what the kernel counts for this process when it is read again.  Older
 * kernels, other users and overlays are tried in child processes.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compat.h"
#include "env/cache.h"
#include "env/witness.h"

#define FILE_BYTES (INT64_C(16) << 20)
#define NOBODY     65534

struct file {
    char path[128];
    struct witness_target target;
};

/* A written file of FILE_BYTES. */
static bool fill(const char *path)
{
    char *bytes = calloc(1, (size_t)FILE_BYTES);
    int fd = open(path, O_WRONLY | O_CREAT, 0644);
    bool done =
        bytes && fd >= 0 && write(fd, bytes, (size_t)FILE_BYTES) == FILE_BYTES;

    if (fd >= 0)
        close(fd);
    free(bytes);
    return done;
}

static bool read_all(const char *path)
{
    char *bytes = malloc((size_t)FILE_BYTES);
    int fd = open(path, O_RDONLY);
    bool done =
        bytes && fd >= 0 && read(fd, bytes, (size_t)FILE_BYTES) == FILE_BYTES;

    if (fd >= 0)
        close(fd);
    free(bytes);
    return done;
}

static int make_file_in(const char *folder, void **state)
{
    struct file *file = calloc(1, sizeof(*file));
    int fd;

    assert_non_null(file);
    snprintf(file->path, sizeof(file->path), "%siobm-cache.XXXXXX", folder);
    fd = mkstemp(file->path);
    assert_true(fd >= 0 && fchmod(fd, 0644) == 0);
    close(fd);
    assert_true(fill(file->path));
    assert_int_equal(witness_target_init(file->path, &file->target, NULL),
                     IOBM_OK);
    *state = file;
    return 0;
}

static int make_file(void **state)
{
    /* By a relative name others find it too, whoever owns what is above. */
    return make_file_in("", state);
}

static int remove_file(void **state)
{
    struct file *file = *state;

    if (file)
        unlink(file->path);
    free(file);
    return 0;
}

/* Others have nowhere to put their pages, or are not told of them. */
static void need_device(const struct file *file)
{
    if (file->target.block_backed)
        return;
    print_message("'%s' is on %s, not on a block device\n", file->path,
                  file->target.fs_type);
    skip();
}

static void drop_file(const struct file *file)
{
    struct iobm_error err;
    double left = -1;

    if (cache_drop(file->path, 0, FILE_BYTES, &left, &err) != IOBM_OK)
        fail_msg("%s", err.text);
    assert_true(left == 0);
}

static void written_is_resident(void **state)
{
    struct file *file = *state;
    const char *how;

    need_device(file);
    assert_true(cache_residency(file->path, 0, FILE_BYTES, &how) == 1);
    assert_true(strcmp(how, "cachestat") == 0 || strcmp(how, "mincore") == 0);
    assert_true(cache_residency(file->path, 4096, 8192, &how) == 1);
    assert_true(cache_residency(file->path, 4097, 1, &how) == 1);
}

static void dropped_is_gone(void **state)
{
    struct file *file = *state;
    const char *how;

    need_device(file);
    drop_file(file);
    assert_true(cache_residency(file->path, 0, FILE_BYTES, &how) == 0);
}

/* The whole point: warm reads no byte from the device, cold reads them all. */
static void the_device_is_asked_when_cold(void **state)
{
    struct file *file = *state;
    struct witness_sample before, warm, dropped, cold;
    const char *how;

    need_device(file);
    drop_file(file); /* which syncs, so that nobody writes meanwhile */
    assert_true(read_all(file->path));
    assert_true(cache_residency(file->path, 0, FILE_BYTES, &how) == 1);
    witness_read(&file->target, true, &before);
    if (before.self_read_bytes < 0) {
        print_message("this kernel does not count per process\n");
        skip();
    }
    assert_true(read_all(file->path));
    witness_read(&file->target, true, &warm);
    drop_file(file);
    witness_read(&file->target, true, &dropped);
    assert_true(read_all(file->path));
    witness_read(&file->target, true, &cold);
    assert_int_equal(warm.self_read_bytes - before.self_read_bytes, 0);
    assert_int_equal(cold.self_read_bytes - dropped.self_read_bytes,
                     FILE_BYTES);
    /* Others may use it too. */
    if (dropped.device_read_bytes >= 0)
        assert_true(cold.device_read_bytes - dropped.device_read_bytes >=
                    FILE_BYTES);
}

/* A folio that lies on both sides stays, or goes whole. */
static void parts_are_told_apart(void **state)
{
    struct file *file = *state;
    int64_t half = FILE_BYTES / 2 + 12345, far = FILE_BYTES / 4;
    const char *how;
    double left = -1;

    need_device(file);
    assert_int_equal(cache_drop(file->path, 0, half, &left, NULL), IOBM_OK);
    assert_true(left == 0);
    assert_true(cache_residency(file->path, 0, half, &how) == 0);
    assert_true(cache_residency(file->path, FILE_BYTES - far, far, &how) == 1);
}

/* As two ranks do with their parts of one file. */
static void parts_make_a_whole(void **state)
{
    struct file *file = *state;
    const int64_t edge[] = {0, 5000, 3000001, 8 << 20, FILE_BYTES};
    const char *how;

    need_device(file);
    for (size_t i = 0; i + 1 < sizeof(edge) / sizeof(edge[0]); i++) {
        double left = -1;

        assert_int_equal(
            cache_drop(file->path, edge[i], edge[i + 1] - edge[i], &left, NULL),
            IOBM_OK);
        assert_true(left == 0);
    }
    assert_true(cache_residency(file->path, 0, FILE_BYTES, &how) == 0);
}

static void both_ways_agree(void **state)
{
    struct file *file = *state;
    int fd = open(file->path, O_RDONLY);
    double stat, core;

    need_device(file);
    stat = cache_by_cachestat(fd, 0, FILE_BYTES);
    core = cache_by_mincore(fd, 0, FILE_BYTES);
    assert_true(core == 1 && (isnan(stat) || stat == core));
    drop_file(file);
    /* One byte brings some pages around it. */
    assert_int_equal(pread(fd, &(char){0}, 1, FILE_BYTES / 2), 1);
    stat = cache_by_cachestat(fd, 5, FILE_BYTES - 5);
    core = cache_by_mincore(fd, 5, FILE_BYTES - 5);
    assert_true(core > 0 && core < 1 && (isnan(stat) || stat == core));
    close(fd);
}

/* What util-linux says, in bytes. */
static void fincore_agrees(void **state)
{
    struct file *file = *state;
    char command[256];
    long long said = -1;
    const char *how;
    FILE *out;
    int fd;

    need_device(file);
    drop_file(file);
    fd = open(file->path, O_RDONLY);
    assert_int_equal(pread(fd, &(char){0}, 1, FILE_BYTES / 2), 1);
    close(fd);
    snprintf(command, sizeof(command), "fincore -bnr -o RES '%s' 2>/dev/null",
             file->path);
    out = popen(command, "r");
    assert_non_null(out);
    if (fscanf(out, "%lld", &said) != 1)
        said = -1;
    pclose(out);
    if (said < 0) {
        print_message("no fincore here\n");
        skip();
    }
    assert_true(said > 0);
    assert_true(cache_residency(file->path, 0, FILE_BYTES, &how) *
                    (double)FILE_BYTES ==
                (double)said);
}

static void memory_keeps_all(void **state)
{
    struct witness_sample before, after;
    struct file *file;
    double left = 0;

    if (access("/dev/shm", W_OK) != 0)
        skip();
    make_file_in("/dev/shm/", state);
    file = *state;
    if (!file->target.memory)
        skip();
    assert_int_equal(cache_drop(file->path, 0, FILE_BYTES, &left, NULL),
                     IOBM_OK);
    assert_true(left == 1);
    witness_read(&file->target, false, &before);
    assert_true(read_all(file->path));
    witness_read(&file->target, false, &after);
    assert_true(before.self_read_bytes < 0 ||
                after.self_read_bytes == before.self_read_bytes);
}

static void nothing_to_ask(void **state)
{
    struct iobm_error err;
    const char *how = "x";
    double left = 0;

    (void)state;
    assert_true(isnan(cache_residency("/nowhere/at/all", 0, 1, &how)));
    assert_string_equal(how, "");
    assert_true(isnan(cache_residency("/proc/self/exe", 0, 0, &how)));
    assert_int_equal(cache_drop("/nowhere/at/all", 0, 1, &left, &err),
                     IOBM_EIO);
    assert_true(isnan(left));
    assert_non_null(strstr(err.text, "'/nowhere/at/all': No such file"));
    assert_int_equal(cache_drop_all("/nowhere/at/all", &err), IOBM_EIO);
}

/* A range of no bytes is not the rest of the file. */
static void no_bytes_are_no_bytes(void **state)
{
    struct file *file = *state;
    const char *how;
    double left = 0;

    need_device(file);
    assert_int_equal(cache_drop(file->path, 0, 0, &left, NULL), IOBM_OK);
    assert_true(isnan(left));
    assert_true(cache_residency(file->path, 0, FILE_BYTES, &how) == 1);
}

/* ---- in child processes */

enum { PASSED = 0, SKIPPED = 77 };

#define SURE(truth)                                                            \
    do {                                                                       \
        if (!(truth))                                                          \
            return __LINE__ & 0xff ? __LINE__ & 0xff : 1;                      \
    } while (0)

static void in_child(int (*test)(const struct file *), const struct file *file)
{
    int status = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        _exit(test(file));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == SKIPPED)
        skip();
    if (WEXITSTATUS(status) != PASSED)
        fail_msg("line %d mod 256", WEXITSTATUS(status));
}

/* From now on cachestat answers as a kernel before 6.5 would. */
static bool forget_cachestat(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, COMPAT_SYS_CACHESTAT, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, code};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int without_cachestat(const struct file *file)
{
    const char *how;
    double left = -1;

    if (!forget_cachestat())
        return SKIPPED;
    SURE(cache_residency(file->path, 0, FILE_BYTES, &how) == 1);
    SURE(strcmp(how, "mincore") == 0);
    SURE(cache_drop(file->path, 0, FILE_BYTES, &left, NULL) == IOBM_OK);
    SURE(left == 0);
    SURE(cache_residency(file->path, 0, FILE_BYTES, &how) == 0);
    return PASSED;
}

static void older_kernels_have_mincore(void **state)
{
    struct file *file = *state;

    need_device(file);
    in_child(without_cachestat, file);
}

/* Without a right to know, mincore would say that all of it is there. */
static int as_nobody(const struct file *file)
{
    const char *how = "x";
    double left = -1;

    if (geteuid() != 0 || !forget_cachestat() || setgid(NOBODY) != 0 ||
        setuid(NOBODY) != 0)
        return SKIPPED;
    if (access(file->path, R_OK) != 0)
        return SKIPPED;
    SURE(isnan(cache_residency(file->path, 0, FILE_BYTES, &how)));
    SURE(strcmp(how, "") == 0);
    SURE(cache_drop(file->path, 0, FILE_BYTES, &left, NULL) == IOBM_OK);
    SURE(isnan(left));
    return PASSED;
}

static int as_owner(const struct file *file)
{
    const char *how;

    if (chown(file->path, NOBODY, NOBODY) != 0 ||
        chmod(file->path, 0400) != 0 || !forget_cachestat() ||
        setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        return SKIPPED;
    if (access(file->path, R_OK) != 0)
        return SKIPPED;
    SURE(cache_residency(file->path, 0, FILE_BYTES, &how) == 1);
    SURE(strcmp(how, "mincore") == 0);
    return PASSED;
}

static void others_are_not_told(void **state)
{
    struct file *file = *state;
    const char *how;

    need_device(file);
    in_child(as_nobody, file);
    drop_file(file);
    assert_true(cache_residency(file->path, 0, FILE_BYTES, &how) == 0);
    assert_true(fill(file->path));
    in_child(as_owner, file);
}

/* Dropping everything is for root.  (Root would empty the caches of the whole
 * machine here.) */
static int drop_all_as_nobody(const struct file *file)
{
    struct iobm_error err;

    (void)file;
    if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
        return SKIPPED;
    SURE(cache_drop_all("/", &err) == IOBM_EUNSUPPORTED);
    SURE(strstr(err.text, "needs root"));
    SURE(!strchr(err.text, '\n'));
    return PASSED;
}

static void dropping_all_needs_root(void **state)
{
    (void)state;
    in_child(drop_all_as_nobody, NULL);
}

/* An overlay's own inodes have no pages: cachestat finds nothing, whatever is
 * in memory.  In a mount namespace of its own, which takes the mount along. */
static int on_overlay(const struct file *file)
{
    struct witness_target target, below;
    char name[512], options[4096];
    const char *folders[] = {"low", "up", "work", "all"};
    const char *how;
    double left = -1;
    int fd;

    (void)file;
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0 ||
        !getcwd(name, sizeof(name)) ||
        witness_target_init(".", &below, NULL) != IOBM_OK)
        return SKIPPED;
    for (size_t i = 0; i < 4; i++)
        if (mkdir(folders[i], 0755) != 0 && errno != EEXIST)
            return SKIPPED;
    snprintf(options, sizeof(options),
             "lowerdir=%s/low,upperdir=%s/up,workdir=%s/work", name, name,
             name);
    if (mount("overlay", "all", "overlay", 0, options) != 0)
        return SKIPPED;
    SURE(fill("all/file"));
    fd = open("all/file", O_RDONLY);
    SURE(isnan(cache_by_cachestat(fd, 0, FILE_BYTES)));
    close(fd);
    SURE(cache_residency("all/file", 0, FILE_BYTES, &how) == 1);
    SURE(strcmp(how, "mincore") == 0);
    SURE(witness_target_init("all/file", &target, NULL) == IOBM_OK);
    SURE(strcmp(target.fs_type, "overlay") == 0);
    SURE(target.block_backed == below.block_backed);
    SURE(target.memory == below.memory);
    SURE(cache_drop("all/file", 0, FILE_BYTES, &left, NULL) == IOBM_OK);
    if (target.block_backed) {
        struct witness_sample before, after;

        SURE(left == 0);
        witness_read(&target, true, &before);
        SURE(read_all("all/file"));
        witness_read(&target, true, &after);
        SURE(after.self_read_bytes - before.self_read_bytes == FILE_BYTES);
        SURE(after.device_read_bytes < 0 ||
             after.device_read_bytes - before.device_read_bytes >= FILE_BYTES);
    } else {
        SURE(!target.memory || left == 1);
    }
    return PASSED;
}

static void overlays_are_seen_through(void **state)
{
    (void)state;
    in_child(on_overlay, NULL);
}

static int remove_folders(void **state)
{
    (void)state;
    return system("rm -rf low up work all");
}

#define T(name) cmocka_unit_test_setup_teardown(name, make_file, remove_file)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(written_is_resident),
        T(dropped_is_gone),
        T(the_device_is_asked_when_cold),
        T(parts_are_told_apart),
        T(parts_make_a_whole),
        T(both_ways_agree),
        T(fincore_agrees),
        cmocka_unit_test_teardown(memory_keeps_all, remove_file),
        cmocka_unit_test(nothing_to_ask),
        T(no_bytes_are_no_bytes),
        T(older_kernels_have_mincore),
        T(others_are_not_told),
        cmocka_unit_test(dropping_all_needs_root),
        cmocka_unit_test_teardown(overlays_are_seen_through, remove_folders),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
