/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Manifests: their text both ways and damaged in every byte, the file with
 * links and foreign files in its way, and what clean removes and keeps.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/str.h"
#include "guard/manifest.h"
#include "guard/place.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- a folder of its own for each test; tests work in it */

struct folder {
    char path[64];
    int before; /* the folder we came from */
};

static int enter(void **state)
{
    struct folder *f = calloc(1, sizeof(*f));

    snprintf(f->path, sizeof(f->path), "/tmp/iobm-manifest.XXXXXX");
    f->before = open(".", O_RDONLY | O_DIRECTORY);
    *state = f;
    return mkdtemp(f->path) && chdir(f->path) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    struct folder *f = *state;
    char command[128];
    int rc;

    snprintf(command, sizeof(command), "rm -rf '%s'", f->path);
    rc = fchdir(f->before);
    rc |= system(command);
    close(f->before);
    free(f);
    return rc;
}

static void put(const char *path, int64_t bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    assert_true(fd >= 0);
    for (int64_t i = 0; i < bytes; i++)
        assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
}

static bool there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

/* A manifest of 'parts' files of 10 bytes. */
static struct manifest example(bool shared, int parts, const char *state)
{
    struct manifest m = {
        .run_id = "0b5a1f7e-7c1c-4a77-9a55-0123456789ab",
        .seed = UINT64_MAX,
        .written_utc = "2026-11-30T20:06:21.123456Z",
        .layout = {shared, false, parts, 10 * parts, 4, 0, 1},
    };

    strcpy(m.state, state);
    return m;
}

static void note_files(struct manifest *m, const char *path)
{
    int files = layout_files(&m->layout);

    m->file = calloc((size_t)files, sizeof(*m->file));
    for (int f = 0; f < files; f++) {
        char *name = manifest_file_path(path, &m->layout, f);
        struct stat st;

        assert_int_equal(stat(name, &st), 0);
        m->file[f].inode = st.st_ino;
        m->file[f].mtime_ns = place_mtime_ns(&st);
        free(name);
    }
}

/* ---- text */

static void assert_same_layout(const struct layout *a, const struct layout *b)
{
    assert_int_equal(a->shared, b->shared);
    assert_int_equal(a->strided, b->strided);
    assert_int_equal(a->parts, b->parts);
    assert_int_equal(a->total_bytes, b->total_bytes);
    assert_int_equal(a->transfer_bytes, b->transfer_bytes);
    assert_int_equal(a->block_bytes, b->block_bytes);
    assert_int_equal(a->grain_bytes, b->grain_bytes);
}

static void text_comes_back(void **state)
{
    struct manifest m = example(false, 3, "complete"), back = {0};
    struct str text = {0};
    char hosts[3][64] = {"node01", "a b\n", ""};
    struct manifest_file files[3] = {
        {UINT64_MAX, INT64_MAX}, {0, -1}, {7, INT64_MIN}};

    (void)state;
    m.host = hosts;
    m.file = files;
    m.site = 5;
    m.older_count = 2;
    m.older_seed[0] = UINT64_MAX;
    m.older_seed[1] = 3;
    strcpy(m.writer.host, "login1");
    strcpy(m.writer.place, "boot/pid:[1]");
    m.writer.pid = 4711;
    m.writer.start = INT64_MAX;
    manifest_format(&m, &text);
    assert_int_equal(manifest_parse(text.text, text.length, &back, NULL),
                     IOBM_OK);
    assert_string_equal(back.run_id, m.run_id);
    assert_true(back.seed == m.seed);
    assert_int_equal(back.older_count, 2);
    assert_true(back.older_seed[0] == UINT64_MAX && back.older_seed[1] == 3);
    assert_true(manifest_complete(&back));
    assert_string_equal(back.written_utc, m.written_utc);
    assert_same_layout(&back.layout, &m.layout);
    assert_int_equal(back.site, 5);
    assert_string_equal(back.writer.host, "login1");
    assert_string_equal(back.writer.place, "boot/pid:[1]");
    assert_true(back.writer.pid == 4711 && back.writer.start == INT64_MAX);
    assert_string_equal(back.host[0], "node01");
    assert_string_equal(back.host[1], "a_b_");
    assert_string_equal(back.host[2], "");
    assert_memory_equal(back.file, files, sizeof(files));
    manifest_release(&back);
    str_release(&text);
}

/* Make a checksum right again after an edit, as someone could who wants to. */
static void seal(struct str *text, const char *body)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (const char *c = body; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    str_addf(text, "%schecksum %016" PRIx64 "\n", body, hash);
}

static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    char *result;

    assert_non_null(at);
    assert_true(asprintf(&result, "%.*s%s%s", (int)(at - text), text, to,
                         at + strlen(from)) > 0);
    return result;
}

/* Written before older seeds were kept. */
static void format_1_is_read(void **state)
{
    struct manifest m = example(false, 2, "complete"), back = {0};
    struct str text = {0}, sealed = {0};
    char *body, *old;

    (void)state;
    manifest_format(&m, &text);
    text.text[text.length - strlen("checksum 0123456789abcdef\n")] = '\0';
    body = replaced(text.text, "iobm-manifest 2", "iobm-manifest 1");
    old = replaced(body, "older_seeds 0\n", "");
    seal(&sealed, old);
    assert_int_equal(manifest_parse(sealed.text, sealed.length, &back, NULL),
                     IOBM_OK);
    assert_true(back.seed == m.seed && back.older_count == 0);
    manifest_release(&back);
    str_release(&sealed);
    str_release(&text);
    free(body);
    free(old);
}

/* The newest seeds are kept, as many as there is room for. */
static void seeds_grow_older(void **state)
{
    struct manifest m = {.seed = 1}, next = {.seed = 100};

    (void)state;
    for (uint64_t seed = 2; seed <= 12; seed++)
        manifest_new_seed(&m, seed);
    assert_true(m.seed == 12);
    assert_int_equal(m.older_count, MANIFEST_OLDER);
    for (int i = 0; i < MANIFEST_OLDER; i++)
        assert_true(m.older_seed[i] == (uint64_t)(11 - i));
    manifest_inherit_seeds(&next, &m);
    assert_true(next.seed == 100 && next.older_seed[0] == 12 &&
                next.older_seed[1] == 11);
    /* The same seed again is no other data. */
    next = (struct manifest){.seed = 12};
    manifest_inherit_seeds(&next, &m);
    assert_true(next.seed == 12 && next.older_seed[0] == 11);
}

static void edits_are_refused(void **state)
{
    static const struct {
        const char *from, *to, *message;
    } cases[] = {
        {"iobm-manifest 2", "iobm-manifest 2", NULL},
        {"iobm-manifest 2", "iobm-manifest 3", "newer iobm"},
        /* format 1 had no older seeds */
        {"iobm-manifest 2", "iobm-manifest 1", "'state'"},
        {"iobm-manifest 2", "iobm-manifest 0", "first line"},
        {"iobm-manifest 2", "iobm-manifest x", "first line"},
        {"iobm-manifest 2", "iobm-manifest 99999999999999999999", "first"},
        {"iobm-manifest 2", "#!/bin/sh", "no manifest"},
        {"parts 2", "parts 0", "'parts'"},
        {"parts 2", "parts -2", "'parts'"},
        {"parts 2", "parts 2147483647", "'parts'"},
        {"parts 2", "parts 99999999999999999999", "'parts'"},
        {"parts 2", "parts ../../etc/passwd", "'parts'"},
        {"parts 2", "parts  2", "'parts'"},
        {"parts 2", "parts +2", "'parts'"},
        {"parts 2", "parts 0x2", "'parts'"},
        {"parts 2", "parts 2 ", "'parts'"},
        {"parts 2", "parts 2\nparts 2", "'total_bytes'"},
        {"parts 2", "path /etc/passwd\nparts 2", "'parts'"},
        {"parts 2\n", "", "'parts'"},
        {"total_bytes 20", "total_bytes 0", "layout"},
        {"total_bytes 20", "total_bytes 9223372036854775808", "total"},
        {"transfer_bytes 4", "transfer_bytes 0", "transfer"},
        {"strided 0", "strided 1", "layout"},
        {"shared 0", "shared 2", "shared"},
        {"state complete", "state done", "state"},
        {"state complete", "state complete complete", "state"},
        {"seed 1", "seed -1", "seed"},
        {"older_seeds 0", "older_seeds 1", "older_seed"},
        {"older_seeds 0", "older_seeds 9\nolder_seed 1", "older_seeds"},
        {"older_seeds 0", "older_seeds 1\nolder_seed x", "older_seed"},
        {"hosts 0", "hosts 1", "damaged"},
        {"hosts 0", "hosts 2", "damaged"},
        {"files 0", "files 2\nfile 1 1", "damaged"},
        {"files 0", "files 2\nfile 1 1\nfile 1", "damaged"},
        {"files 0", "files 2\nfile 1 1\nfile -1 1", "'file'"},
        {"files 0", "files 2\nfile 1 1\nfile 1 1\nfile 1 1", "'end'"},
        {"site 0", "site -1", "site"},
        {"run_id 0b5a1f7e", "run_id 0b5a1f7e0b5a1f7e", "run_id"},
    };
    struct manifest m = example(false, 2, "complete");
    struct str text = {0};

    (void)state;
    manifest_format(&m, &text);
    text.text[text.length - strlen("checksum 0123456789abcdef\n")] = '\0';
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct manifest back = {.site = 77};
        struct iobm_error err = {0};
        struct str sealed = {0};
        char *body = replaced(text.text, cases[i].from, cases[i].to);
        enum iobm_status status;

        seal(&sealed, body);
        status = manifest_parse(sealed.text, sealed.length, &back, &err);
        if (cases[i].message
                ? status != IOBM_ECORRUPT || !strstr(err.text, cases[i].message)
                : status != IOBM_OK)
            fail_msg("'%s' became '%s': status %d, '%s'", cases[i].from,
                     cases[i].to, status, err.text);
        if (cases[i].message)
            assert_int_equal(back.site, 77); /* untouched on failure */
        manifest_release(&back);
        str_release(&sealed);
        free(body);
    }
    str_release(&text);
}

/* Every byte changed, and the text cut at every length. */
static void damage_is_noticed(void **state)
{
    struct manifest m = example(true, 2, "writing"), back = {0};
    struct str text = {0};

    (void)state;
    manifest_format(&m, &text);
    for (size_t i = 0; i < text.length; i++) {
        for (int bit = 0; bit < 8; bit++) {
            text.text[i] ^= (char)(1 << bit);
            assert_int_equal(
                manifest_parse(text.text, text.length, &back, NULL),
                IOBM_ECORRUPT);
            text.text[i] ^= (char)(1 << bit);
        }
        assert_int_equal(manifest_parse(text.text, i, &back, NULL),
                         IOBM_ECORRUPT);
    }
    assert_int_equal(manifest_parse(text.text, text.length, &back, NULL),
                     IOBM_OK);
    manifest_release(&back);
    str_release(&text);
}

static void names_are_derived(void **state)
{
    struct layout own = {.parts = 12}, shared = {.shared = true, .parts = 12};
    char *a = manifest_path("/big/test");
    char *b = manifest_file_path("/big/test", &own, 11);
    char *c = manifest_file_path("/big/test", &shared, 11);

    (void)state;
    assert_string_equal(a, "/big/test.iobm");
    assert_string_equal(b, "/big/test.11");
    assert_string_equal(c, "/big/test");
    free(a);
    free(b);
    free(c);
}

/* ---- paths */

static void paths_are_checked(void **state)
{
    static const struct {
        const char *path, *directory, *name, *message;
    } cases[] = {
        {"test", ".", "test", NULL},
        {"./test", ".", "test", NULL},
        {"/test", "/", "test", NULL},
        {"//test", "/", "test", NULL},
        {"/big/test", "/big", "test", NULL},
        {"big//test", "big/", "test", NULL},
        {"../x y", "..", "x y", NULL},
        {"", NULL, NULL, "needs a file name"},
        {"/", NULL, NULL, "directory"},
        {"/big/", NULL, NULL, "'/big/test'"},
        {".", NULL, NULL, "directory"},
        {"/big/..", NULL, NULL, "directory"},
        {"/big/test.iobm", NULL, NULL, "manifest"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct iobm_error err = {0};
        struct place place;
        enum iobm_status status = place_split(cases[i].path, &place, &err);

        if (cases[i].message) {
            assert_int_equal(status, IOBM_EUSAGE);
            if (!strstr(err.text, cases[i].message))
                fail_msg("'%s': '%s'", cases[i].path, err.text);
        } else {
            assert_int_equal(status, IOBM_OK);
            assert_string_equal(place.directory, cases[i].directory);
            assert_string_equal(place.name, cases[i].name);
        }
    }
}

static void long_names_are_checked(void **state)
{
    /* With ".0" to ".9" 253 bytes fit, but ".iobm" leaves room for 250. */
    static const struct {
        size_t length;
        int parts;
        bool fits;
    } cases[] = {
        {250, 10, true},    {251, 10, false},   {250, 10001, false},
        {249, 10001, true}, {250, 10000, true}, {255, 1, false},
    };
    char name[300];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct layout layout = {.parts = cases[i].parts, .total_bytes = 1};
        struct place place;

        memset(name, 'n', cases[i].length);
        name[cases[i].length] = '\0';
        assert_int_equal(place_open(name, &place, NULL), IOBM_OK);
        assert_int_equal(place_check_names(&place, &layout, NULL),
                         cases[i].fits ? IOBM_OK : IOBM_EUSAGE);
        place_close(&place);
    }
    memset(name, 'n', 256);
    name[256] = '\0';
    assert_int_equal(place_open(name, &(struct place){0}, NULL), IOBM_EUSAGE);
}

static void directories_are_opened(void **state)
{
    struct iobm_error err;
    struct place place;

    (void)state;
    put("file", 1);
    assert_int_equal(place_open("none/test", &place, &err), IOBM_EUSAGE);
    assert_non_null(strstr(err.text, "no directory 'none'"));
    place_close(&place);
    assert_int_equal(place_open("file/test", &place, &err), IOBM_EUSAGE);
    assert_non_null(strstr(err.text, "'file' is not a directory"));
}

/* ---- the file */

static void file_comes_back(void **state)
{
    struct manifest m = example(false, 2, "writing"), back = {0};
    bool found = true;

    (void)state;
    assert_int_equal(manifest_read("test", &back, &found, NULL), IOBM_OK);
    assert_false(found);
    assert_int_equal(manifest_write("test", &m, NULL), IOBM_OK);
    strcpy(m.state, "complete");
    assert_int_equal(manifest_write("test", &m, NULL), IOBM_OK);
    assert_int_equal(manifest_read("test", &back, &found, NULL), IOBM_OK);
    assert_true(found && manifest_complete(&back));
    assert_int_equal(back.owner_uid, geteuid());
    manifest_release(&back);
    /* Nothing else is left. */
    assert_int_equal(system("test \"$(ls -A)\" = test.iobm"), 0);
}

static void odd_manifests_are_refused(void **state)
{
    static const struct {
        const char *command, *message;
        bool foreign;
    } cases[] = {
        {"ln -s victim test.iobm", "symbolic link", false},
        {"ln -s nowhere test.iobm", "symbolic link", false},
        {"mkdir test.iobm", "no regular file", false},
        {"mkfifo test.iobm", "no regular file", false},
        {"echo mine > test.iobm", "no manifest", true},
        {": > test.iobm", "no manifest", true},
        {"head -c 100000 /dev/zero > test.iobm", "no manifest", true},
        {"echo iobm-manifest 1 > test.iobm", "end is missing", false},
        {"echo iobm-manifest 9 > test.iobm", "newer iobm", false},
    };
    struct manifest m = example(false, 1, "complete");

    (void)state;
    assert_int_equal(manifest_write("victim", &m, NULL), IOBM_OK);
    assert_int_equal(rename("victim.iobm", "victim"), 0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct manifest back = {0};
        struct iobm_error err = {0};
        struct place place;
        bool found = false, foreign = false;

        assert_int_equal(system("rm -rf test.iobm"), 0);
        assert_int_equal(system(cases[i].command), 0);
        assert_int_equal(place_open("test", &place, NULL), IOBM_OK);
        assert_int_equal(manifest_load(&place, &back, &found, &foreign, &err),
                         IOBM_ECORRUPT);
        place_close(&place);
        if (!strstr(err.text, cases[i].message))
            fail_msg("%s: '%s'", cases[i].command, err.text);
        assert_int_equal(foreign, cases[i].foreign);
        assert_false(found);
    }
}

/* A link at the manifest's name is replaced, and what it points to kept. */
static void write_follows_no_link(void **state)
{
    struct manifest m = example(false, 1, "complete");
    struct stat st;

    (void)state;
    put("victim", 3);
    assert_int_equal(symlink("victim", "test.iobm"), 0);
    assert_int_equal(manifest_write("test", &m, NULL), IOBM_OK);
    assert_int_equal(lstat("test.iobm", &st), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(stat("victim", &st), 0);
    assert_int_equal(st.st_size, 3);
}

static void failed_write_leaves_nothing(void **state)
{
    struct manifest m = example(false, 1, "complete");
    struct iobm_error err;

    (void)state;
    assert_int_equal(mkdir("test.iobm", 0700), 0);
    assert_int_equal(manifest_write("test", &m, &err), IOBM_EIO);
    assert_int_equal(system("test \"$(ls -A)\" = test.iobm"), 0);
}

/* ---- clean */

/* Three files of 10 bytes and a complete manifest. */
static void make_run(const char *state_name)
{
    struct manifest m = example(false, 3, state_name);

    put("test.0", 10);
    put("test.1", 10);
    put("test.2", 10);
    alive_self(&m.writer);
    if (manifest_complete(&m))
        note_files(&m, "test");
    assert_int_equal(manifest_write("test", &m, NULL), IOBM_OK);
    manifest_release(&m);
}

static void clean_removes_what_is_listed(void **state)
{
    static const char *const names[] = {"complete", "writing"};
    int64_t files, bytes;

    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        make_run(names[i]);
        put("test.3", 10); /* not listed */
        put("test", 10);
        assert_int_equal(manifest_clean("test", true, &files, &bytes, NULL),
                         IOBM_OK);
        assert_true(files == 3 && bytes == 30 && there("test.0"));
        assert_int_equal(unlink("test.1"), 0); /* missing ones are fine */
        assert_int_equal(manifest_clean("test", false, &files, &bytes, NULL),
                         IOBM_OK);
        assert_true(files == 2 && bytes == 20);
        assert_false(there("test.0") || there("test.2") || there("test.iobm"));
        assert_true(there("test.3") && there("test"));
        assert_int_equal(manifest_clean("test", false, &files, &bytes, NULL),
                         IOBM_EUSAGE);
    }
    assert_int_equal(system("test \"$(ls -A | tr '\\n' ' ')\" = "
                            "'test test.3 '"),
                     0);
}

static void clean_keeps_what_is_not_ours(void **state)
{
    static const struct {
        const char *state, *command, *message;
        bool as_root;
    } cases[] = {
        {"complete", "ln -sf /etc/passwd test.1", "symbolic link", false},
        {"writing", "ln -sf victim test.1", "symbolic link", false},
        {"complete", "rm test.1; mkdir test.1", "directory", false},
        {"complete", "rm test.1; mkfifo test.1", "pipe", false},
        {"complete", "echo 123456789012 > test.1", "13 B where", false},
        {"complete", "echo 12345678 > test.1", "9 B where", false},
        {"writing", "echo 123456789012 > test.1", "13 B where", false},
        {"complete", "cp victim new; mv new test.1", "not the file", false},
        {"complete", "ln test.1 other", "2 hard links", false},
        {"writing", "ln -f victim test.1", "2 hard links", false},
        {"complete", "chown 1234 test.1", "another user", true},
        {"writing", "chown 1234 test.1", "another user", true},
        {"writing", "chown 1234 test.iobm", "another user", true},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct iobm_error err = {0};
        int64_t files, bytes;

        if (cases[i].as_root && geteuid() != 0)
            continue;
        put("victim", 10);
        make_run(cases[i].state);
        assert_int_equal(system(cases[i].command), 0);
        assert_int_equal(manifest_clean("test", false, &files, &bytes, &err),
                         IOBM_EUSAGE);
        if (!strstr(err.text, cases[i].message) ||
            !strstr(err.text, "nothing removed"))
            fail_msg("%s: '%s'", cases[i].command, err.text);
        assert_true(there("test.0") && there("test.1") && there("test.2") &&
                    there("test.iobm") && there("victim"));
        assert_int_equal(system("rm -rf test.* other victim"), 0);
    }
}

/* One of the two marks is enough: inodes change on some file systems, times
 * when a file is copied back. */
static void one_mark_is_enough(void **state)
{
    int64_t files, bytes;

    (void)state;
    make_run("complete");
    assert_int_equal(system("touch test.0; cp -p test.1 new; mv new test.1"),
                     0);
    assert_int_equal(manifest_clean("test", false, &files, &bytes, NULL),
                     IOBM_OK);
    assert_int_equal(files, 3);
}

static void clean_waits_for_the_living(void **state)
{
    struct manifest m = example(false, 1, "writing");
    struct iobm_error err = {0};
    int64_t files, bytes;
    int pipes[2];
    pid_t child;

    (void)state;
    assert_int_equal(pipe(pipes), 0);
    put("test.0", 10);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) { /* a run that writes until the pipe closes */
        char c;

        close(pipes[1]);
        alive_self(&m.writer);
        if (manifest_write("test", &m, NULL) != IOBM_OK)
            _exit(1);
        put("ready", 0);
        _exit(read(pipes[0], &c, 1) == 0 ? 0 : 1);
    }
    close(pipes[0]);
    while (!there("ready") && waitpid(child, NULL, WNOHANG) == 0)
        usleep(1000);
    assert_int_equal(manifest_clean("test", false, &files, &bytes, &err),
                     IOBM_EUSAGE);
    assert_non_null(strstr(err.text, "writing"));
    assert_true(there("test.0"));
    close(pipes[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(manifest_clean("test", false, &files, &bytes, &err),
                     IOBM_OK);
    assert_false(there("test.0"));
}

/* A run on another host: its files tell whether it writes. */
static void clean_waits_for_other_hosts(void **state)
{
    struct manifest m = example(false, 1, "writing");
    struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
    int64_t files, bytes;

    (void)state;
    strcpy(m.writer.host, "node77");
    strcpy(m.writer.place, "another-boot/pid:[1]");
    m.writer.pid = getpid();
    put("test.0", 10);
    assert_int_equal(manifest_write("test", &m, NULL), IOBM_OK);
    assert_int_equal(utimensat(AT_FDCWD, "test.iobm", old, 0), 0);
    assert_int_equal(manifest_clean("test", false, &files, &bytes, NULL),
                     IOBM_EUSAGE);
    assert_int_equal(utimensat(AT_FDCWD, "test.0", old, 0), 0);
    assert_int_equal(manifest_clean("test", false, &files, &bytes, NULL),
                     IOBM_OK);
}

/* ---- processes */

/* What alive_self() would say in the child: field 22 of its stat. */
static void alive_of_child(pid_t child, const struct alive *self,
                           struct alive *out)
{
    char command[128], line[32];
    FILE *pipe;

    *out = *self;
    out->pid = child;
    snprintf(command, sizeof(command), "cut -d' ' -f22 /proc/%d/stat",
             (int)child);
    pipe = popen(command, "r");
    assert_true(pipe && fgets(line, sizeof(line), pipe));
    pclose(pipe);
    out->start = strtoll(line, NULL, 10);
}

static void the_dead_are_told(void **state)
{
    struct alive self, other;
    pid_t child;

    (void)state;
    alive_self(&self);
    assert_int_equal(alive_look(&self), ALIVE_SELF);
    other = self;
    other.start++; /* the pid is used again */
    assert_int_equal(alive_look(&other), ALIVE_NO);
    other = self;
    strcat(other.place, "x");
    assert_int_equal(alive_look(&other), ALIVE_UNKNOWN);
    memset(&other, 0, sizeof(other));
    assert_int_equal(alive_look(&other), ALIVE_UNKNOWN);

    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        for (;;)
            pause();
    alive_of_child(child, &self, &other);
    assert_int_equal(alive_look(&other), ALIVE_YES);
    kill(child, SIGKILL);
    /* Dead, but not waited for yet: a zombie. */
    assert_int_equal(
        waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
    assert_int_equal(alive_look(&other), ALIVE_NO);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(alive_look(&other), ALIVE_NO);
}

/* ---- the lock */

static void locks_of_the_dead_are_broken(void **state)
{
    struct place place;
    int64_t now_ns = 0;
    pid_t child;
    int how = -1;

    (void)state;
    assert_int_equal(place_open("test", &place, NULL), IOBM_OK);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(place_lock(&place, &now_ns, NULL) == IOBM_OK ? 0 : 1);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    assert_int_equal(system("ls -A | grep -q lock"), 0);
    assert_int_equal(place_lock(&place, &now_ns, NULL), IOBM_OK);
    assert_true(now_ns > 0);
    place_unlock(&place);
    assert_int_equal(system("test -z \"$(ls -A)\""), 0);
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_comes_back),
        cmocka_unit_test(format_1_is_read),
        cmocka_unit_test(seeds_grow_older),
        cmocka_unit_test(edits_are_refused),
        cmocka_unit_test(damage_is_noticed),
        cmocka_unit_test(names_are_derived),
        cmocka_unit_test(paths_are_checked),
        cmocka_unit_test_setup_teardown(long_names_are_checked, enter, leave),
        cmocka_unit_test_setup_teardown(directories_are_opened, enter, leave),
        cmocka_unit_test_setup_teardown(file_comes_back, enter, leave),
        cmocka_unit_test_setup_teardown(odd_manifests_are_refused, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(write_follows_no_link, enter, leave),
        cmocka_unit_test_setup_teardown(failed_write_leaves_nothing, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(clean_removes_what_is_listed, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(clean_keeps_what_is_not_ours, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(one_mark_is_enough, enter, leave),
        cmocka_unit_test_setup_teardown(clean_waits_for_the_living, enter,
                                        leave),
        cmocka_unit_test_setup_teardown(clean_waits_for_other_hosts, enter,
                                        leave),
        cmocka_unit_test(the_dead_are_told),
        cmocka_unit_test_setup_teardown(locks_of_the_dead_are_broken, enter,
                                        leave),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("manifest", tests, NULL, NULL);
}
