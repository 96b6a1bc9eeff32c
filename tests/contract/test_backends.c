/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every back end owes on a file of one rank: bytes at their places, all
 * of them or an error, errors with path, offset, cause and bytes done, nothing
 * left open.  A new back end is tried without a change here.  System calls go
 * wrong through inject.c, which is part of this program.
 */
#include "inject/inject.c"

#include <dirent.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/mount.h>

#include <cmocka.h>

#include "contract/rig.h"

#define READ    IOBM_OPEN_READ
#define WRITE   IOBM_OPEN_WRITE
#define NEW     (IOBM_OPEN_WRITE | IOBM_OPEN_CREATE)
#define GIB     (INT64_C(1) << 30)
#define NO_FILE "test.x"

static struct iobm_comm world;

/* The MPI library loses memory in parts that it has unloaded when leaks are
 * looked for: only whole stacks show then that they were its. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "fast_unwind_on_malloc=0";
}

static const struct iobm_backend *backend_of(void **state)
{
    return *state;
}

static bool is(const struct iobm_backend *backend, const char *name)
{
    return strcmp(backend->name, name) == 0;
}

static bool keeps(const struct iobm_backend *backend)
{
    return backend->caps & IOBM_CAP_PERSISTENT;
}

/* One phase on "test.x" with back end of its own. */
static struct rig_result phase(const struct iobm_backend *backend,
                               const struct layout *layout, unsigned mode)
{
    struct rig_result out = {.status = IOBM_OK};
    struct rig rig;

    rig_fail(&out, "start",
             rig_start(&rig, backend, &world, false, false, &out.err),
             &out.err);
    if (out.status == IOBM_OK)
        out = rig_phase(&rig, layout, 0, NO_FILE, mode);
    rig_stop(&rig);
    return out;
}

static struct layout plain(int64_t total, int64_t transfer)
{
    return (struct layout){.parts = 1,
                           .total_bytes = total,
                           .transfer_bytes = transfer,
                           .grain_bytes = 1};
}

static void assert_moved(struct rig_result out, int64_t bytes)
{
    if (out.status != IOBM_OK)
        fail_msg("%s: %s", out.stage, out.err.text);
    assert_int_equal(out.bytes, bytes);
}

static void assert_failed(struct rig_result out, const char *stage,
                          const char *text)
{
    assert_string_equal(out.stage ? out.stage : "no failure", stage);
    assert_int_equal(out.status, IOBM_EIO);
    assert_int_equal(out.err.status, IOBM_EIO);
    if (!strstr(out.err.text, text))
        fail_msg("'%s' not in '%s'", text, out.err.text);
    assert_null(strchr(out.err.text, '\n'));
}

static void inject(const char *what, const char *call)
{
    inject_reset();
    setenv("IOBM_INJECT_PATH", NO_FILE "$", 1);
    setenv("IOBM_INJECT_DO", what, 1);
    setenv("IOBM_INJECT_CALL", call, 1);
}

static int clean(void **state)
{
    static const char *const names[] = {"IOBM_INJECT_PATH", "IOBM_INJECT_DO",
                                        "IOBM_INJECT_CALL", "IOBM_INJECT_AT",
                                        "IOBM_INJECT_OP",   "IOBM_INJECT_TIMES",
                                        "IOBM_INJECT_BYTES"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
    unlink(NO_FILE);
    unlink("test.other");
    rmdir(NO_FILE);
    return 0;
}

static int open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void make_file(const char *path, int64_t bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, bytes), 0);
    close(fd);
}

/* Compare the file with the data that belongs there, by other means. */
static void assert_content(int64_t bytes)
{
    unsigned char *got = malloc((size_t)bytes), *want = malloc((size_t)bytes);
    int fd = open(NO_FILE, O_RDONLY);
    struct iobm_error err;
    struct data data;
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, bytes);
    assert_int_equal(read(fd, got, (size_t)bytes), bytes);
    close(fd);
    assert_int_equal(data_init(&data, RIG_SEED, 0, bytes, 1, &err), IOBM_OK);
    data_expect(&data, 0, bytes, want);
    assert_memory_equal(got, want, (size_t)bytes);
    data_release(&data);
    free(got);
    free(want);
}

static void writes_and_reads_any_size(void **state)
{
    static const int64_t sizes[][2] = {
        {1, 1},
        {1, 1000000},
        {4096, 4096},
        {4097, 4096},
        {10007, 13},
        {1000003, 65537},
        {3000000, 4095},
        {5242880, 1048576},
        {9000011, 9000011},
        {134217729, 5000011}, /* windows of mmap */
    };
    const struct iobm_backend *backend = backend_of(state);

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct layout layout = plain(sizes[i][0], sizes[i][1]);

        assert_moved(phase(backend, &layout, NEW), sizes[i][0]);
        if (!keeps(backend))
            continue;
        assert_content(sizes[i][0]);
        assert_moved(phase(backend, &layout, READ), sizes[i][0]);
        /* once more over what is there */
        assert_moved(phase(backend, &layout, WRITE), sizes[i][0]);
        assert_content(sizes[i][0]);
        unlink(NO_FILE);
    }
}

/* One part alone of a strided file: holes between its blocks. */
static void takes_strides(void **state)
{
    static const struct {
        int64_t total, transfer, block;
    } cases[] = {
        {10000, 100, 100},           {10000, 30, 100},
        {10000, 500, 100},           {10001, 700, 7},
        {3000000, 131072, 4096},     {250, 500, 100},
        {6000000, 6000018, 1000003},
    };
    const struct iobm_backend *backend = backend_of(state);

    if (!(backend->caps & IOBM_CAP_SPAN))
        skip();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int part = 0; part < 3; part++) {
            struct layout layout = {.shared = true,
                                    .strided = true,
                                    .parts = 3,
                                    .total_bytes = cases[i].total,
                                    .transfer_bytes = cases[i].transfer,
                                    .block_bytes = cases[i].block,
                                    .grain_bytes = 1};
            struct rig rig;
            struct iobm_error err;

            assert_int_equal(
                rig_start(&rig, backend, &world, false, false, &err), IOBM_OK);
            assert_moved(rig_phase(&rig, &layout, part, NO_FILE, NEW),
                         layout_part_bytes(&layout, part));
            if (keeps(backend))
                assert_moved(rig_phase(&rig, &layout, part, NO_FILE, READ),
                             layout_part_bytes(&layout, part));
            rig_stop(&rig);
            if (!keeps(backend))
                continue;
            /* and where everyone else looks for it */
            assert_int_equal(rig_start(&rig, iobm_backend_find("posix"), &world,
                                       false, false, &err),
                             IOBM_OK);
            assert_moved(rig_phase(&rig, &layout, part, NO_FILE, READ),
                         layout_part_bytes(&layout, part));
            rig_stop(&rig);
            unlink(NO_FILE);
        }
}

/* One operation of more than IOBM_CALL_MAX_BYTES, in memory. */
static void splits_above_a_gibibyte(void **state)
{
    const struct iobm_backend *backend = backend_of(state);
    const int64_t size = GIB + 4097;
    const int64_t spots[] = {0, GIB - 1, GIB, size - 1};
    const char *path = "/dev/shm/iobm-contract." NO_FILE;
    struct iobm_open how = {.path = path,
                            .mode = NEW,
                            .file_bytes = size,
                            .part_bytes = size,
                            .transfer_bytes = size};
    struct iobm_op op = {.kind = IOBM_OP_WRITE, .size = size};
    struct iobm_error err = {0};
    unsigned char *buffer;
    struct rig rig;

    if (!keeps(backend) || sysconf(_SC_AVPHYS_PAGES) < 4 * (GIB / 4096))
        skip();
    unlink(path);
    buffer = mmap(NULL, (size_t)(GIB + 8192), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(buffer != MAP_FAILED);
    for (int i = 0; i < 4; i++)
        buffer[spots[i]] = (unsigned char)(i + 1);
    op.buffer = buffer;
    inject("none", "write,read");
    setenv("IOBM_INJECT_OP", "1000000000", 1);
    assert_int_equal(rig_start(&rig, backend, &world, false, false, &err),
                     IOBM_OK);
    for (int pass = 0; pass < 2; pass++) {
        if (backend->open(rig.state, &how, rig.file, &err) != IOBM_OK ||
            backend->xfer(rig.state, rig.file, &op, &err) != IOBM_OK ||
            backend->close(rig.state, rig.file, &err) != IOBM_OK) {
            unlink(path);
            fail_msg("%s", err.text);
        }
        if (op.done != size)
            fail_msg("done %lld", (long long)op.done);
        for (int i = 0; i < 4; i++)
            assert_int_equal(buffer[spots[i]], i + 1);
        madvise(buffer, (size_t)(GIB + 8192), MADV_DONTNEED);
        op.kind = IOBM_OP_READ;
        how.mode = READ;
    }
    assert_true(inject_largest_bytes() <= (size_t)IOBM_CALL_MAX_BYTES);
    rig_stop(&rig);
    munmap(buffer, (size_t)(GIB + 8192));
    unlink(path);
}

static void resumes_short_transfers(void **state)
{
    static const struct {
        const char *what, *bytes, *times;
    } cases[] = {
        {"short", "1", "1"}, {"short", "4096", "1"}, {"short", "777", "3"},
        {"EINTR", "", "1"},  {"EINTR", "", "3"},
    };
    const struct iobm_backend *backend = backend_of(state);
    struct layout layout = plain(100003, 20000);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        /* MPI-IO is asked twice, not for ever. */
        if (!keeps(backend) ||
            (is(backend, "mpiio") && cases[i].times[0] > '1'))
            continue;
        setenv("IOBM_INJECT_BYTES", cases[i].bytes, 1);
        setenv("IOBM_INJECT_TIMES", cases[i].times, 1);
        inject(cases[i].what, "write");
        assert_moved(phase(backend, &layout, NEW), 100003);
        assert_content(100003);
        inject(cases[i].what, "read");
        assert_moved(phase(backend, &layout, READ), 100003);
        unlink(NO_FILE);
    }
}

/* What the kernel says in the middle of a transfer, word for word. */
static void tells_what_failed(void **state)
{
    static const struct {
        const char *call, *what, *text;
    } cases[] = {
        {"write", "ENOSPC",
         "cannot write 'test.x' at 50000: No space left on device (10000 of "
         "20000 bytes done)"},
        {"write", "EDQUOT",
         "cannot write 'test.x' at 50000: Disk quota exceeded (10000 of "},
        {"write", "EIO",
         "cannot write 'test.x' at 50000: Input/output error (10000 of "},
        {"read", "EIO",
         "cannot read 'test.x' at 50000: Input/output error (10000 of 20000 "
         "bytes done)"},
    };
    const struct iobm_backend *backend = backend_of(state);
    struct layout layout = plain(100003, 20000);

    if (!keeps(backend) || is(backend, "mmap"))
        skip();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int before = open_descriptors();
        struct rig_result out;

        assert_moved(phase(backend, &layout, NEW), 100003);
        setenv("IOBM_INJECT_AT", "50000", 1);
        inject(cases[i].what, cases[i].call);
        out = phase(backend, &layout, i < 3 ? WRITE : READ);
        assert_failed(out, "xfer", cases[i].text);
        assert_int_equal(out.bytes, 50000);
        assert_int_equal(open_descriptors(), before);
        clean(NULL);
    }
}

static void a_write_of_nothing_is_an_error(void **state)
{
    const struct iobm_backend *backend = backend_of(state);
    struct layout layout = plain(100, 100);

    if (!keeps(backend) || is(backend, "mmap"))
        skip();
    inject("zero", "write");
    assert_failed(phase(backend, &layout, NEW), "xfer", "at 0: ");
}

/* A write that claims what it did not do: found by who looks at the file. */
static void data_lost_in_silence_is_missed(void **state)
{
    const struct iobm_backend *backend = backend_of(state);
    struct layout layout = plain(1000000, 100000);
    struct rig_result out = {.status = IOBM_OK};
    struct rig rig;

    if (!(backend->caps & IOBM_CAP_COLLECTIVE) || !keeps(backend))
        skip();
    for (int at = 0; at < 2; at++) {
        assert_int_equal(rig_start(&rig, backend, &world, true, true, &out.err),
                         IOBM_OK);
        inject("lie", "write");
        setenv("IOBM_INJECT_OP", at == 0 ? "5" : "10", 1);
        setenv("IOBM_INJECT_TIMES", "1", 1);
        out = rig_phase(&rig, &layout, 0, NO_FILE, NEW);
        rig_stop(&rig);
        assert_failed(out, "sync", "though the MPI library reported success");
        clean(NULL);
    }
}

static void says_end_of_file(void **state)
{
    static const struct {
        int64_t has, transfer, done;
        const char *text;
    } cases[] = {
        {1000, 2000, 1000, "at 1000: end of file (1000 of 2000 bytes done)"},
        {0, 2000, 0, "at 0: end of file (0 of 2000 bytes done)"},
        {4096, 4096, 4096, "at 4096: end of file (0 of 904 bytes done)"},
        {4097, 1000, 4097, "at 4097: end of file (97 of 1000 bytes done)"},
    };
    const struct iobm_backend *backend = backend_of(state);

    if (!keeps(backend))
        skip();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct layout full = plain(cases[i].has, cases[i].transfer);
        struct layout layout =
            plain(cases[i].has < 4096 ? 2000 : 5000, cases[i].transfer);
        struct rig_result out;

        if (cases[i].has == 0)
            make_file(NO_FILE, 0);
        else
            assert_moved(phase(backend, &full, NEW), cases[i].has);
        out = phase(backend, &layout, READ);
        assert_failed(out, "xfer", cases[i].text);
        assert_int_equal(out.bytes, cases[i].done);
        unlink(NO_FILE);
    }
}

static void make_link(void)
{
    make_file("test.other", 100);
    assert_int_equal(symlink("test.other", NO_FILE), 0);
}

static void make_dangling_link(void)
{
    assert_int_equal(symlink("test.other", NO_FILE), 0);
}

static void make_directory(void)
{
    assert_int_equal(mkdir(NO_FILE, 0777), 0);
}

static void make_present(void)
{
    make_file(NO_FILE, 100);
}

static void make_nothing(void)
{
}

static void refuses_what_is_not_a_test_file(void **state)
{
    static const struct {
        void (*make)(void);
        unsigned mode;
        const char *text;
    } cases[] = {
        {make_nothing, READ, "cannot open 'test.x': No such file"},
        {make_nothing, WRITE, "cannot open 'test.x': No such file"},
        {make_present, NEW, "cannot create 'test.x': File exists"},
        {make_directory, READ, "cannot open 'test.x': Is a directory"},
        {make_directory, WRITE, "cannot open 'test.x': Is a directory"},
        {make_directory, NEW, "cannot create 'test.x': File exists"},
        {make_link, READ, "cannot open 'test.x': it is a symbolic link"},
        {make_link, WRITE, "cannot open 'test.x': it is a symbolic link"},
        {make_link, NEW, "cannot create 'test.x': File exists"},
        {make_dangling_link, NEW, "cannot create 'test.x': File exists"},
    };
    const struct iobm_backend *backend = backend_of(state);
    struct layout layout = plain(100, 100);

    if (!keeps(backend))
        skip();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int before = open_descriptors();
        struct stat st;

        cases[i].make();
        assert_failed(phase(backend, &layout, cases[i].mode), "open",
                      cases[i].text);
        assert_int_equal(open_descriptors(), before);
        if (cases[i].make == make_nothing)
            assert_int_not_equal(lstat(NO_FILE, &st), 0);
        else
            assert_int_equal(lstat(NO_FILE, &st), 0);
        clean(NULL);
    }
}

static void fails_with_its_system_calls(void **state)
{
    static const struct {
        const char *call, *what, *op, *stage, *text;
    } cases[] = {
        {"open", "EACCES", "1", "open", "'test.x': Permission denied"},
        {"open", "EROFS", "1", "open", "'test.x': Read-only file system"},
        {"sync", "EIO", "1", "sync", "sync 'test.x': Input/output error"},
        {"sync", "ENOSPC", "1", "sync", "sync 'test.x': No space left"},
        {"close", "EIO", "1", "close", "close 'test.x': Input/output error"},
        {"close", "EDQUOT", "1", "close", "close 'test.x': Disk quota exceed"},
    };
    const struct iobm_backend *backend = backend_of(state);
    struct layout layout = plain(10000, 1000);

    if (!keeps(backend))
        skip();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int before = open_descriptors();

        inject(cases[i].what, cases[i].call);
        setenv("IOBM_INJECT_OP", cases[i].op, 1);
        assert_failed(phase(backend, &layout, NEW), cases[i].stage,
                      cases[i].text);
        assert_int_equal(open_descriptors(), before);
        clean(NULL);
    }
}

static void a_sync_is_interrupted_and_goes_on(void **state)
{
    const struct iobm_backend *backend = backend_of(state);
    struct layout layout = plain(10000, 1000);

    if (is(backend, "mpiio")) /* its library fails then */
        skip();
    inject("EINTR", "sync");
    setenv("IOBM_INJECT_TIMES", "2", 1);
    assert_moved(phase(backend, &layout, NEW), 10000);
}

/* Whether the descriptor of the test file has O_DIRECT on. */
static bool direct_is_on(void)
{
    char path[PATH_MAX];

    for (int fd = 0; fd < 256; fd++)
        if (strstr(path_of(fd, path), NO_FILE))
            return fcntl(fd, F_GETFL) & O_DIRECT;
    return false;
}

static void direct_with_a_tail(void **state)
{
    static const int64_t sizes[][2] = {
        {4096, 4096},           {100, 4096}, {12288 + 123, 8192}, {12289, 4096},
        {1048576 + 511, 65536},
    };
    const struct iobm_backend *backend = backend_of(state);

    if (!(backend->caps & IOBM_CAP_DIRECT) || !keeps(backend))
        skip();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (int cut = 0; cut < 2; cut++) {
            struct layout layout = plain(sizes[i][0], sizes[i][1]);
            struct rig_result out;

            layout.grain_bytes = 4096;
            setenv("IOBM_INJECT_BYTES", "4608", 1);
            inject(cut == 1 ? "short" : "none", "write");
            out = phase(backend, &layout, NEW | IOBM_OPEN_DIRECT);
            if (out.status != IOBM_OK &&
                strstr(out.err.text, "does not take O_DIRECT")) {
                assert_int_not_equal(access(NO_FILE, F_OK), 0);
                skip();
            }
            assert_moved(out, sizes[i][0]);
            inject("none", "none");
            assert_content(sizes[i][0]);
            inject(cut == 1 ? "short" : "none", "read");
            assert_moved(phase(backend, &layout, READ | IOBM_OPEN_DIRECT),
                         sizes[i][0]);
            clean(NULL);
        }
}

/* A tail in the middle of a file is read no further than it goes. */
static void direct_reads_a_part(void **state)
{
    const struct iobm_backend *backend = backend_of(state);
    struct layout all = plain(100000, 100000), part = plain(5000, 4096);
    struct rig_result out;

    if (!(backend->caps & IOBM_CAP_DIRECT) || !keeps(backend))
        skip();
    part.grain_bytes = 4096;
    assert_moved(phase(backend, &all, NEW), 100000);
    out = phase(backend, &part, READ | IOBM_OPEN_DIRECT);
    if (out.status != IOBM_OK && strstr(out.err.text, "not take O_DIRECT"))
        skip();
    assert_moved(out, 5000);
}

/* After a tail, which went without it, and a failure of the tail. */
static void direct_stays_on(void **state)
{
    const struct iobm_backend *backend = backend_of(state);
    struct layout layout = plain(4196, 4096);
    struct iobm_open how = rig_how(&layout, 0, NO_FILE, NEW | IOBM_OPEN_DIRECT);
    unsigned char *buffer = NULL;
    struct iobm_error err = {0};
    struct iobm_op op = {.kind = IOBM_OP_WRITE, .size = 100};
    struct rig rig;

    if (!(backend->caps & IOBM_CAP_DIRECT) || !keeps(backend))
        skip();
    assert_int_equal(posix_memalign((void **)&buffer, 4096, 4096), 0);
    memset(buffer, 1, 4096);
    how.alignment_bytes = 4096;
    op.buffer = buffer;
    assert_int_equal(rig_start(&rig, backend, &world, false, false, &err),
                     IOBM_OK);
    assert_int_equal(backend->open(rig.state, &how, rig.file, &err), IOBM_OK);
    setenv("IOBM_INJECT_PATH", NO_FILE "$", 1);
    assert_true(direct_is_on());
    assert_int_equal(backend->xfer(rig.state, rig.file, &op, &err), IOBM_OK);
    assert_true(direct_is_on());
    inject("EIO", "write");
    assert_int_equal(backend->xfer(rig.state, rig.file, &op, &err), IOBM_EIO);
    assert_non_null(strstr(err.text, "Input/output error"));
    assert_true(direct_is_on());
    assert_int_equal(backend->close(rig.state, rig.file, &err), IOBM_OK);
    rig_stop(&rig);
    free(buffer);
}

static void what_it_cannot_do_is_refused(void **state)
{
    static const struct {
        unsigned cap, mode;
    } cases[] = {
        {IOBM_CAP_DIRECT, IOBM_OPEN_DIRECT},
        {IOBM_CAP_DSYNC, IOBM_OPEN_DSYNC},
    };
    const struct iobm_backend *backend = backend_of(state);
    struct layout layout = plain(4096, 4096);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig_result out = phase(backend, &layout, NEW | cases[i].mode);

        if (backend->caps & cases[i].cap)
            assert_moved(out, 4096);
        else
            assert_int_equal(out.status, IOBM_EUNSUPPORTED);
        unlink(NO_FILE);
    }
}

static void devices_are_asked_for(void **state)
{
    const struct iobm_backend *backend = backend_of(state);
    struct layout layout = plain(100, 100);
    struct rig_result out;

    if (!keeps(backend))
        skip();
    make_present();
    out = phase(backend, &layout, WRITE | IOBM_OPEN_DEVICE);
    if (backend->caps & IOBM_CAP_DEVICE)
        assert_failed(out, "open", "'test.x': not a block device");
    else
        assert_int_equal(out.status, IOBM_EUNSUPPORTED);
}

/* Truncated by someone while it is open. */
static void notices_a_truncation(void **state)
{
    const struct iobm_backend *backend = backend_of(state);
    struct layout layout = plain(200000, 100000);
    struct iobm_open how = rig_how(&layout, 0, NO_FILE, READ);
    struct iobm_op op = {.kind = IOBM_OP_READ, .size = 100000};
    struct iobm_error err = {0};
    struct rig rig;

    if (!keeps(backend))
        skip();
    assert_moved(phase(backend, &layout, NEW), 200000);
    op.buffer = malloc(200000);
    assert_int_equal(rig_start(&rig, backend, &world, false, false, &err),
                     IOBM_OK);
    assert_int_equal(backend->open(rig.state, &how, rig.file, &err), IOBM_OK);
    assert_int_equal(backend->xfer(rig.state, rig.file, &op, &err), IOBM_OK);
    assert_int_equal(truncate(NO_FILE, 100), 0);
    assert_int_equal(backend->xfer(rig.state, rig.file, &op, &err), IOBM_EIO);
    assert_non_null(strstr(err.text, "at 100: end of file (100 of 100000 "));
    assert_int_equal(op.done, 100);
    if (backend->close(rig.state, rig.file, &err) != IOBM_OK)
        assert_non_null(strstr(err.text, "it was cut to 100 bytes"));
    rig_stop(&rig);
    free(op.buffer);
}

/* ---- on a disk that is really full */

static bool small_disk(void)
{
    static bool tried, there;

    if (tried)
        return there;
    tried = true;
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return false;
    mkdir("disk", 0777);
    there = mount("iobm-test", "disk", "tmpfs", 0, "size=1m") == 0;
    return there;
}

static void a_full_disk_is_told(void **state)
{
    const struct iobm_backend *backend = backend_of(state);
    struct layout layout = plain(4 << 20, 300000);
    struct sigaction before, after;
    struct rig_result out = {0};
    struct rig rig;

    if (!keeps(backend) || !small_disk())
        skip();
    for (int late = 0; late < 2; late++) {
        sigaction(SIGBUS, NULL, &before);
        /* A file system that cannot allocate: it comes to SIGBUS. */
        inject("EOPNOTSUPP", late ? "allocate" : "none");
        assert_int_equal(
            rig_start(&rig, backend, &world, false, false, &out.err), IOBM_OK);
        out = rig_phase(&rig, &layout, 0, "disk/" NO_FILE, NEW);
        rig_stop(&rig);
        if (is(backend, "mmap") && !late)
            assert_failed(out, "open",
                          "allocate 4194304 bytes of 'disk/test.x"
                          "': No space left on device");
        else
            assert_failed(out, "xfer", ": No space left on device (");
        assert_in_range(out.bytes, 0, 1 << 20);
        sigaction(SIGBUS, NULL, &after);
        assert_ptr_equal(before.sa_handler, after.sa_handler);
        unlink("disk/" NO_FILE);
        clean(NULL);
    }
}

static void a_wide_file_grows_and_never_shrinks(void **state)
{
    const struct iobm_backend *backend = backend_of(state);
    struct layout small = plain(1000, 1000);
    struct stat st;

    if (!keeps(backend))
        skip();
    make_file(NO_FILE, 50000);
    assert_moved(phase(backend, &small, WRITE), 1000);
    assert_int_equal(stat(NO_FILE, &st), 0);
    assert_int_equal(st.st_size, 50000);
}

static void take_fact(void *arg, const char *key, const char *value)
{
    strcat(arg, key);
    strcat(arg, "=");
    strcat(arg, value);
    strcat(arg, "\n");
}

static void tells_its_facts(void **state)
{
    const struct iobm_backend *backend = backend_of(state);
    struct layout layout = plain(1000, 1000);
    struct kvlist hints = {0};
    struct rig_result out = {.status = IOBM_OK};
    char text[4096] = "";
    struct rig rig;

    if (!backend->facts)
        skip();
    assert_int_equal(kv_add(&hints, "cb_nodes", "2", NULL), IOBM_OK);
    rig = (struct rig){
        .backend = backend,
        .env = {.comm = &world, .shared = true, .hints = &hints},
        .state = calloc(1, backend->state_size),
        .file = calloc(1, backend->file_size),
    };
    assert_int_equal(backend->start(rig.state, &rig.env, &out.err), IOBM_OK);
    assert_moved(rig_phase(&rig, &layout, 0, NO_FILE, NEW), 1000);
    backend->facts(rig.state, take_fact, text);
    assert_non_null(strstr(text, "mpiio.component="));
    assert_null(strstr(text, "unknown"));
    assert_non_null(strstr(text, "mpiio.hint.cb_nodes=2\n"));
    assert_non_null(strstr(text, "mpiio.echo.cb_nodes=2 (echoed, not proof)"));
    rig_stop(&rig);
    kv_release(&hints);
}

static void refuses_bad_hints(void **state)
{
    static const struct {
        const char *key, *value;
    } cases[] = {
        {"empty", ""},
        {"a_key_that_is_longer_than_any_that_mpi_takes", "1"},
    };
    const struct iobm_backend *backend = backend_of(state);

    if (!is(backend, "mpiio"))
        skip();
    for (size_t i = 0; i < 2; i++) {
        struct kvlist hints = {0};
        struct iobm_backend_env env = {.comm = &world, .hints = &hints};
        void *memory = calloc(1, backend->state_size);
        struct iobm_error err = {0};

        assert_int_equal(kv_add(&hints, cases[i].key, cases[i].value, NULL),
                         IOBM_OK);
        assert_int_equal(backend->start(memory, &env, &err), IOBM_EUSAGE);
        assert_non_null(strstr(err.text, cases[i].key));
        kv_release(&hints);
        free(memory);
    }
}

/* As one job that was killed at the wrong time leaves it behind. */
static void a_semaphore_left_behind_does_no_harm(void **state)
{
    const struct iobm_backend *backend = backend_of(state);
    struct layout layout = plain(1000, 1000);
    sem_t *left;

    if (!is(backend, "mpiio"))
        skip();
    left = sem_open("/OMPIO_" NO_FILE, O_CREAT | O_EXCL, 0600, 0);
    assert_true(left != SEM_FAILED);
    assert_moved(phase(backend, &layout, NEW), 1000);
    sem_close(left);
    sem_unlink("/OMPIO_" NO_FILE);
}

static void leaves_no_strays(void **state)
{
    const struct iobm_backend *backend = backend_of(state);
    struct layout layout = plain(1000, 1000);
    struct iobm_error err = {0};
    struct iobm_open how = rig_how(&layout, 0, NO_FILE, NEW);
    struct rig rig;

    if (!is(backend, "mpiio"))
        skip();
    make_file(NO_FILE ".before.sm", 1);
    make_file(NO_FILE ".locktest.9", 1);
    assert_int_equal(rig_start(&rig, backend, &world, true, false, &err),
                     IOBM_OK);
    assert_int_equal(backend->open(rig.state, &how, rig.file, &err), IOBM_OK);
    make_file(NO_FILE ".locktest.0", 1);
    make_file(NO_FILE "_cid-3.sm", 1);
    make_file(NO_FILE ".locktest.0x", 1);
    make_file(NO_FILE ".locktest.", 1);
    make_file(NO_FILE ".sum", 1);
    assert_int_equal(backend->close(rig.state, rig.file, &err), IOBM_OK);
    rig_stop(&rig);
    assert_int_not_equal(unlink(NO_FILE ".locktest.0"), 0);
    assert_int_not_equal(unlink(NO_FILE "_cid-3.sm"), 0);
    assert_int_equal(unlink(NO_FILE ".locktest.0x"), 0);
    assert_int_equal(unlink(NO_FILE ".locktest."), 0);
    assert_int_equal(unlink(NO_FILE ".sum"), 0);
    assert_int_equal(unlink(NO_FILE ".before.sm"), 0);
    assert_int_equal(unlink(NO_FILE ".locktest.9"), 0);
}

static void is_declared_whole(void **state)
{
    const struct iobm_backend *backend = backend_of(state);

    assert_int_equal(backend->abi, IOBM_BACKEND_ABI);
    assert_ptr_equal(iobm_backend_find(backend->name), backend);
    assert_true(strlen(backend->summary) > 0 && strlen(backend->summary) < 60);
    assert_non_null(backend->open);
    assert_non_null(backend->close);
    assert_non_null(backend->xfer);
    assert_non_null(backend->sync);
    assert_true(!backend->start == !backend->stop || !backend->stop);
}

static void registry_is_sorted(void **state)
{
    (void)state;
    for (size_t i = 1; iobm_backends[0] && iobm_backends[i]; i++)
        assert_true(strcmp(iobm_backends[i - 1]->name, iobm_backends[i]->name) <
                    0);
    assert_null(iobm_backend_find("nothing"));
    assert_null(iobm_backend_find(""));
}

#define CASE(name)                                                             \
    {                                                                          \
#name, name                                                            \
    }
static const struct {
    const char *name;
    CMUnitTestFunction test;
} cases[] = {
    CASE(is_declared_whole),
    CASE(writes_and_reads_any_size),
    CASE(takes_strides),
    CASE(splits_above_a_gibibyte),
    CASE(resumes_short_transfers),
    CASE(tells_what_failed),
    CASE(a_write_of_nothing_is_an_error),
    CASE(data_lost_in_silence_is_missed),
    CASE(says_end_of_file),
    CASE(refuses_what_is_not_a_test_file),
    CASE(fails_with_its_system_calls),
    CASE(a_sync_is_interrupted_and_goes_on),
    CASE(direct_with_a_tail),
    CASE(direct_reads_a_part),
    CASE(direct_stays_on),
    CASE(what_it_cannot_do_is_refused),
    CASE(devices_are_asked_for),
    CASE(notices_a_truncation),
    CASE(a_full_disk_is_told),
    CASE(a_wide_file_grows_and_never_shrinks),
    CASE(tells_its_facts),
    CASE(refuses_bad_hints),
    CASE(a_semaphore_left_behind_does_no_harm),
    CASE(leaves_no_strays),
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

int main(int argc, char **argv)
{
    static char names[16 * CASES][80];
    static struct CMUnitTest tests[16 * CASES + 1];
    struct iobm_error err;
    size_t n = 0;
    int failed;

    tests[n++] = (struct CMUnitTest){"registry_is_sorted", registry_is_sorted,
                                     NULL, NULL, NULL};
    for (size_t b = 0; iobm_backends[b] && b < 16; b++)
        for (size_t c = 0; c < CASES; c++) {
            snprintf(names[n - 1], sizeof(names[0]), "%s %s",
                     iobm_backends[b]->name, cases[c].name);
            if (argc > 1 && !strstr(names[n - 1], argv[1]))
                continue;
            tests[n] = (struct CMUnitTest){names[n - 1], cases[c].test, clean,
                                           clean, (void *)iobm_backends[b]};
            n++;
        }
    if (par_init(&argc, &argv, &world, &err) != IOBM_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    failed = _cmocka_run_group_tests("backends", tests, n, NULL, NULL);
    par_finalize(&world);
    return failed;
}
