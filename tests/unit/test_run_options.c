/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The options of "iobm run": what they mean, every combination that is
 * refused and in which words, what they come to on so many ranks, and their
 * help.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conf/parse.h"
#include "conf/run_options.h"

#define MAX_WORDS 24
#define GiB       (INT64_C(1) << 30)
#define MiB       (INT64_C(1) << 20)

struct run {
    struct run_options options;
    bool given[RUN_OPTIONS_MAX];
    struct iobm_error err;
    enum iobm_status status;
};

/* Parse and check; words are separated by single blanks, "''" is empty. */
static void run_with(const char *line, struct run *r)
{
    char copy[1024], *words[MAX_WORDS], *rest = copy, *word;
    int count = 0;

    memset(r, 0, sizeof(*r));
    snprintf(copy, sizeof(copy), "%s", line);
    while ((word = strsep(&rest, " "))) {
        assert_in_range(count, 0, MAX_WORDS - 1);
        words[count++] = strcmp(word, "''") == 0 ? word + 2 : word;
    }
    assert_int_equal(opt_init(run_option_table, &r->options, &r->err), IOBM_OK);
    r->status = opt_parse(run_option_table, count, words, &r->options, r->given,
                          NULL, NULL, &r->err);
    if (!r->status)
        r->status = run_options_check(&r->options, r->given, &r->err);
}

static void done(struct run *r)
{
    opt_release(run_option_table, &r->options);
}

static void test_defaults(void **state)
{
    struct run r;

    (void)state;
    run_with("-w -n 10 -f /big/test", &r);
    assert_int_equal(r.status, IOBM_OK);
    assert_int_equal(r.options.size_bytes, 10 * GiB);
    assert_int_equal(r.options.transfer_bytes, 16 * MiB);
    assert_int_equal(r.options.block_bytes, -1);
    assert_int_equal(r.options.repeats, 1);
    assert_int_equal(r.options.delay_ns, 0);
    assert_int_equal(r.options.watchdog_ns, INT64_C(3600000000000));
    assert_int_equal(r.options.seed, -1);
    assert_int_equal(r.options.sync, SYNC_END);
    assert_int_equal(r.options.order, ORDER_AUTO);
    assert_int_equal(r.options.layout, LAYOUT_SEGMENTED);
    assert_int_equal(r.options.start, START_TIME);
    assert_string_equal(r.options.api, "posix");
    assert_string_equal(r.options.output, "iobm-results.h5");
    assert_string_equal(r.options.file, "/big/test");
    assert_null(r.options.label);
    assert_true(r.options.write);
    assert_false(r.options.read);
    assert_true(r.options.text);
    assert_false(r.options.force || r.options.keep || r.options.clean ||
                 r.options.per_rank || r.options.shared || r.options.direct);
    done(&r);
}

/* Each letter is its long name. */
static void test_letters(void **state)
{
    static const char *const letters[] = {
        "aper-rank", "nsize",    "ffile",          "wwrite", "rread",
        "ddirect",   "sshared",  "btransfer-size", "mmmap",  "zno-sync",
        "vverbose",  "irepeats", "ooutput",        "hhelp"};

    (void)state;
    for (size_t i = 0; i < sizeof(letters) / sizeof(letters[0]); i++) {
        int row = opt_row(run_option_table, letters[i] + 1);

        assert_int_equal(run_option_table[row].letter, letters[i][0]);
    }
}

/* Names and letters are used once, and choices match their enums. */
static void test_table(void **state)
{
    const struct iobm_option *t = run_option_table;

    (void)state;
    for (int i = 0; t[i].type != IOBM_OPT_END; i++) {
        assert_non_null(t[i].help);
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(t[i].name, t[j].name);
            if (t[i].letter)
                assert_int_not_equal(t[i].letter, t[j].letter);
        }
    }
    assert_string_equal(t[opt_row(t, "sync")].choices[SYNC_DSYNC], "dsync");
    assert_string_equal(t[opt_row(t, "sync")].choices[SYNC_NONE], "none");
    assert_string_equal(t[opt_row(t, "order")].choices[ORDER_RANDOM], "random");
    assert_string_equal(t[opt_row(t, "order")].choices[ORDER_SHIFT], "shift");
    assert_string_equal(t[opt_row(t, "layout")].choices[LAYOUT_STRIDED],
                        "strided");
    assert_string_equal(t[opt_row(t, "start")].choices[START_BARRIER],
                        "barrier");
    assert_string_equal(t[opt_row(t, "help")].choices[HELP_ALL], "all");
}

#define W "-w -n 1 -f x "
#define R "-r -f x "
#define B "-w -r -n 1 -f x "

static const char *const accepted[] = {
    "-w -n 1 -f x",
    "-w -r -n 1 -f x",
    "-wr -n1 -fx",
    "-r -f x",
    "-r -n 1 -f x",
    "-r -n 1 -a -f x",
    "-w -n 1B -f x",
    "-w -n 7B -b 3B -f x",
    "-w -n 8589934591GiB -f x",
    W "-b 3GiB",
    W "-a -s",
    W "-d",
    W "-d -s",
    W "-d -z",
    W "-d --sync every",
    W "-d --sync dsync",
    W "-m",
    W "-m --api mmap",
    W "-m -s",
    W "-m --sync every",
    W "-m -z",
    W "-z",
    W "-z --sync none",
    W "--sync end",
    W "--sync dsync",
    B "--sync every",
    W "--api mpiio",
    W "--api mpiio -s",
    W "--api mpiio -s --collective",
    W "--api mpiio -s --collective --sync every",
    W "--api mpiio -s --collective --layout strided --block 1",
    W "--api mpiio --hint a=b --hint c=",
    W "--api mpiio --hints-file h",
    W "--api mpiio --sync every",
    W "--api null",
    B "--api null -s -z",
    "-r -n 1 -f x --api null",
    W "--api elsewhere -d --sync dsync -s", /* the caller knows */
    W "-s --layout segmented",
    W "-s --layout strided",
    W "-s --layout strided --block 4",
    W "-s --layout strided --block 4 -b 16",
    W "-s --layout strided --block 5 -b 3",
    W "-s -d --layout strided",
    R "--order same",
    R "--order auto",
    B "--order random --seed 0",
    B "-s --order shift",
    W "--seed 5",
    R "--seed 5",
    W "-i 3 --delay 2",
    B "--delay 0.5s",
    W "--delay 0",
    W "--start barrier",
    W "--watchdog 0",
    W "--watchdog 1s",
    W "-o none",
    W "-o y",
    W "-o x.h5",
    W "-o x.0a",
    W "-o xx.0",
    W "-o none --label l --tag a=b",
    W "--json",
    W "--csv -v",
    W "--text",
    W "--label ''",
    W "--label T\xc3\xbcr",
    W "--tag a=1 --tag b=1",
    W "--tag a=T\xc3\xbcr",
    W "--dry-run --force --keep",
    W "--dry-run -v",
    W "--keep",
    W "--clean",
    B "--clean",
    R "--keep",
    R "--force",
    W "--destroy-data",
    R "--destroy-data",
    W "--destroy-data --clean",
    W "--no-direct --no-shared",
};

static void test_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++) {
        struct run r;

        run_with(accepted[i], &r);
        if (r.status)
            print_error("'%s': %s\n", accepted[i], r.err.text);
        assert_int_equal(r.status, IOBM_OK);
        done(&r);
    }
}

static const struct {
    const char *line;
    const char *text; /* must stand in the message */
} refused[] = {
    /* what to do */
    {"-n 10 -f /big/test", "neither -w nor -r is given"},
    {"--no-write -n 10 -f /big/test", "neither -w nor -r is given"},
    {"-w -n 1", "no test file is named: give -f PATH"},
    {"-r", "no test file is named: give -f PATH"},
    {"-w -n 1 -f ''", "-f is empty"},
    {"-w -n 1 -f /big/", "-f '/big/' is a folder: name a file in it, such as "
                         "'/big/test'"},
    {"-w -f x", "-w needs a size: give -n SIZE"},
    {"-w -r -f x", "-w needs a size: give -n SIZE"},
    {"-w -n 0 -f x", "-n: '0' is too small, the least is 1B"},
    {"-w -n -1 -f x", "-n: "},
    {"-r -a -f x", "-a says that -n is per rank, but there is no -n"},
    {"-r -f x --api null", "--api null keeps no files"},
    {W "-b 0", "-b: '0' is too small"},
    {W "-i 0", "-i: '0' is too small, the least is 1"},
    {W "-i -3", "-i: '-3' is too small"},
    {W "-i many", "-i: "},
    {W "--delay 1", "--delay waits between phases, but there is only one"},
    {R "--delay 1", "--delay waits between phases, but there is only one"},
    {W "--delay -1", "--delay: "},
    {W "--seed -1", "--seed: '-1' is too small"},

    /* which interface */
    {W "--api ''", "--api is empty"},
    {W "-m --api posix", "-m means --api mmap, but --api is 'posix'"},
    {W "-m --api mpiio", "-m means --api mmap, but --api is 'mpiio'"},
    {W "-m --api null", "-m means --api mmap, but --api is 'null'"},
    {W "-d -m", "-d cannot be honoured with mmap"},
    {W "-d --api mmap", "-d cannot be honoured with mmap"},
    {R "-d --api mpiio", "-d cannot be honoured through MPI-IO"},
    {W "-d -s --api mpiio --collective", "-d cannot be honoured through"},
    {W "-d --api null", "-d means nothing with --api null"},
    {W "--collective -s", "--collective is for MPI-IO, but --api is 'posix'"},
    {W "--collective -s -m", "--collective is for MPI-IO, but --api is "
                             "'mmap'"},
    {W "--collective -s --api null", "--collective is for MPI-IO"},
    {W "--collective --api mpiio", "--collective needs one file that all "
                                   "ranks share: add -s"},
    {W "--hint a=b", "--hint is for MPI-IO, but --api is 'posix'"},
    {W "-m --hint a=b", "--hint is for MPI-IO, but --api is 'mmap'"},
    {W "--hints-file h", "--hints-file is for MPI-IO, but --api is 'posix'"},
    {W "--api mpiio --hints-file ''", "--hints-file is empty"},
    {W "--api mpiio --hint a=b --hint a=c", "--hint 'a' is given twice"},
    {W "--api mpiio --hint a", "--hint: "},
    {W "--api mpiio --hint a=b\tc", "--hint 'a' holds a control character"},

    /* sync */
    {R "-z", "-z leaves out the sync of a write, but nothing is written"},
    {R "--sync end", "--sync is about writes, but nothing is written"},
    {R "--sync none", "--sync is about writes, but nothing is written"},
    {W "-z --sync end", "-z means --sync none, but --sync is 'end'"},
    {W "-z --sync every", "-z means --sync none, but --sync is 'every'"},
    {W "-z --sync dsync", "-z means --sync none, but --sync is 'dsync'"},
    {W "-m --sync dsync", "--sync dsync does nothing for mmap"},
    {W "--api mpiio --sync dsync", "--sync dsync cannot be honoured through "
                                   "MPI-IO"},
    {W "--api null --sync dsync", "--sync dsync means nothing with"},
    {W "--sync sometimes", "--sync: 'sometimes' is none of end, every, none, "
                           "dsync"},

    /* layout */
    {W "--layout strided", "--layout says how ranks share one file, but each "
                           "has its own: add -s"},
    {W "--layout segmented", "--layout says how ranks share one file"},
    {W "--block 4", "--block is for --layout strided, but the layout is "
                    "segmented"},
    {W "-s --block 4", "--block is for --layout strided"},
    {W "-s --layout segmented --block 4", "--block is for --layout strided"},
    {W "-s --layout strided --block 0", "--block: '0' is too small"},
    {W "-s --layout strided --block 3 -b 16",
     "the nearest are -b 15M and -b 18M"},

    /* order, clean */
    {W "--order same", "--order is about reads, but nothing is read"},
    {W "--order auto", "--order is about reads, but nothing is read"},
    {W "--order random --seed 3", "--order is about reads"},
    {R "--clean", "--clean removes what this run wrote, but nothing is "
                  "written"},
    {W "--keep --clean", "--keep and --clean contradict each other"},
    {B "--keep --clean", "--keep and --clean contradict each other"},

    /* results */
    {W "-o ''", "-o is empty"},
    {W "-o out/", "-o 'out/' is a folder"},
    {W "-o x", "-o 'x' is one of the test files of -f 'x'"},
    {W "-s -o ./x", "-o './x' is one of the test files"},
    {"-w -n 1 -f ./x -o x.17", "-o 'x.17' is one of the test files"},
    {W "-o x.0", "-o 'x.0' is one of the test files"},
    {W "-o x.iobm", "-o 'x.iobm' is one of the test files"},
    {W "--json --csv", "--json and --csv are both given"},
    {W "--json --text", "--json and --text are both given"},
    {W "--csv --text", "--csv and --text are both given"},
    {W "--csv --text --json", "are both given"},
    {W "--no-text", "--no-text leaves nothing to print"},
    {W "--dry-run --json", "--dry-run prints a plan for people: leave out "
                           "--json"},
    {W "--dry-run --csv", "leave out --csv"},
    {W "--label a\tb", "--label holds a control character"},
    {W "--label a\x7f", "--label holds a control character"},
    {W "--label a\xc2\x85", "--label holds a control character"},
    {W "--label a\xe2\x80\xa8", "--label holds a control character"},
    {W "--label a\xff", "invalid UTF-8"},
    {W "--label a\xc3", "invalid UTF-8"},
    {W "--label \xc1\x81", "invalid UTF-8"},         /* overlong A */
    {W "--label \xed\xa0\x80", "invalid UTF-8"},     /* a surrogate */
    {W "--label \xf4\x90\x80\x80", "invalid UTF-8"}, /* above the last */
    {W "--label "
       "0123456789012345678901234567890123456789012345678901234567890123"
       "0123456789012345678901234567890123456789012345678901234567890123",
     "--label has 128 bytes, the most is 127"},
    {W "--tag a=1 --tag a=2", "--tag 'a' is given twice"},
    {W "--tag a=\n", "--tag 'a' holds a control character"},
    {W "--tag =a", "--tag: "},
    {W "--watchdog 10ms", "--watchdog is less than a second"},
    {W "--watchdog -1", "--watchdog: "},

    /* typing */
    {W "--colective", "did you mean '--collective'?"},
    {W "--transfersize 4", "did you mean '--transfer-size'?"},
    {W "--bock 4", "did you mean '--block'?"},
    {W "-n 2", "'-n' is given twice"},
    {"-w -f x -n 10X", "-n: "},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct run r;

        run_with(refused[i].line, &r);
        if (r.status != IOBM_EUSAGE || !strstr(r.err.text, refused[i].text))
            print_error("'%s': status %d, '%s'\n", refused[i].line, r.status,
                        r.err.text);
        assert_int_equal(r.status, IOBM_EUSAGE);
        assert_non_null(strstr(r.err.text, refused[i].text));
        assert_null(strchr(r.err.text, '\n'));
        done(&r);
    }
}

/* What cannot come from the command line may come from elsewhere. */
static void test_refused_values(void **state)
{
    struct run r;
    char long_path[5000];

    (void)state;
    memset(long_path, 'x', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    for (int i = 0; i < 8; i++) {
        run_with("-w -n 1 -f x", &r);
        assert_int_equal(r.status, IOBM_OK);
        if (i == 0)
            r.options.size_bytes = 0;
        else if (i == 1)
            r.options.transfer_bytes = 0;
        else if (i == 2)
            r.options.repeats = 0;
        else if (i == 3)
            r.options.delay_ns = -1;
        else if (i == 4)
            r.options.watchdog_ns = -1;
        else if (i == 5) {
            r.options.shared = true;
            r.options.layout = LAYOUT_STRIDED;
            r.options.block_bytes = 0;
        } else {
            char **path = i == 6 ? &r.options.file : &r.options.output;

            free(*path);
            *path = strdup(long_path);
        }
        assert_int_equal(run_options_check(&r.options, r.given, &r.err),
                         IOBM_EUSAGE);
        done(&r);
    }
}

static void test_implied(void **state)
{
    struct run r;

    (void)state;
    run_with("-w -n 1 -f x -m", &r);
    assert_string_equal(r.options.api, "mmap");
    done(&r);
    run_with("-w -n 1 -f x -z", &r);
    assert_int_equal(r.options.sync, SYNC_NONE);
    done(&r);
    run_with("-w -n 1 -f x --json", &r);
    assert_false(r.options.text);
    done(&r);
}

static const struct {
    const char *line;
    int ranks;
    struct layout layout; /* parts 0: refused */
} layouts[] = {
    {"-w -n 10 -f x", 4, {false, false, 4, 10 * GiB, 16 * MiB, 0, 1}},
    {"-w -n 10 -a -f x", 3, {false, false, 3, 30 * GiB, 16 * MiB, 0, 1}},
    {"-w -n 7B -b 3B -s -f x", 16, {true, false, 16, 7, 3, 0, 1}},
    {"-w -n 1 -s --layout strided -f x",
     2,
     {true, true, 2, GiB, 16 * MiB, 16 * MiB, 1}},
    {"-w -n 1 -s --layout strided --block 4 -f x",
     2,
     {true, true, 2, GiB, 16 * MiB, 4 * MiB, 1}},
    {"-w -n 8589934591GiB -f x",
     1000,
     {false, false, 1000, 8589934591 * GiB, 16 * MiB, 0, 1}},
    {"-w -a -n 8589934591GiB -f x", 2, {.parts = 0}},
    {"-r -f x", 2, {.parts = 0}},
};

static void test_layout(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        const struct layout *want = &layouts[i].layout;
        struct layout got = {0};
        struct run r;

        run_with(layouts[i].line, &r);
        assert_int_equal(r.status, IOBM_OK);
        r.status =
            run_options_layout(&r.options, layouts[i].ranks, &got, &r.err);
        assert_int_equal(r.status, want->parts ? IOBM_OK : IOBM_EUSAGE);
        assert_int_equal(got.parts, want->parts);
        assert_int_equal(got.shared, want->shared);
        assert_int_equal(got.strided, want->strided);
        assert_int_equal(got.total_bytes, want->total_bytes);
        assert_int_equal(got.transfer_bytes, want->transfer_bytes);
        assert_int_equal(got.block_bytes, want->block_bytes);
        assert_int_equal(got.grain_bytes, want->grain_bytes);
        done(&r);
    }
}

static const struct {
    int64_t transfer, block, alignment; /* block 0: not strided */
    const char *text;                   /* NULL: accepted */
} directs[] = {
    {16 * MiB, 0, 4096, NULL},
    {4096, 0, 4096, NULL},
    {4096, 0, 512, NULL},
    {1, 0, 1, NULL},
    {1000003, 0, 4096,
     "needs a multiple of 4K; the nearest are -b 976K and -b 980K"},
    {1000, 0, 4096, "needs a multiple of 4K; the least is -b 4K"},
    {513, 0, 512, "the nearest are -b 512B and -b 1K"},
    {INT64_MAX, 0, 4096, "; the nearest is -b "},
    {16 * MiB, 4 * MiB, 4096, NULL},
    {4096, MiB, 4096, NULL},
    {16 * MiB, 1000, 4096, "--block 1000 bytes cannot work"},
    {5000, 5000, 4096, "-b "},
    {1000, MiB, 4096, "the least is -b 4K"},
};

static void test_direct(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(directs) / sizeof(directs[0]); i++) {
        struct layout layout = {.shared = true,
                                .strided = directs[i].block > 0,
                                .parts = 2,
                                .total_bytes = GiB,
                                .transfer_bytes = directs[i].transfer,
                                .block_bytes = directs[i].block,
                                .grain_bytes = 1};
        struct iobm_error err = {0};
        enum iobm_status status =
            run_options_direct(&layout, directs[i].alignment, &err);

        assert_int_equal(status, directs[i].text ? IOBM_EUSAGE : IOBM_OK);
        if (directs[i].text && !strstr(err.text, directs[i].text))
            print_error("row %zu: '%s'\n", i, err.text);
        if (directs[i].text)
            assert_non_null(strstr(err.text, directs[i].text));
    }
}

static size_t lines_of(const char *text, size_t *widest)
{
    size_t lines = 0;

    *widest = 0;
    while (*text) {
        size_t length = strcspn(text, "\n");

        if (length > *widest)
            *widest = length;
        lines++;
        text += length + (text[length] == '\n');
    }
    return lines;
}

static void test_help(void **state)
{
    struct str out = {0};
    size_t widest;

    (void)state;
    run_help_short(&out);
    assert_in_range(lines_of(str_text(&out), &widest), 10, 23);
    assert_in_range(widest, 40, 80);
    str_release(&out);
    opt_help(run_option_table, &out);
    assert_in_range(lines_of(str_text(&out), &widest), 40, 200);
    assert_in_range(widest, 40, 80);
    for (const struct iobm_option *o = run_option_table;
         o->type != IOBM_OPT_END; o++) {
        char name[64];

        snprintf(name, sizeof(name), "--%s", o->name);
        assert_non_null(strstr(str_text(&out), name));
    }
    str_release(&out);
}

/* The examples of the short help are lines that are accepted. */
static void test_help_examples(void **state)
{
    struct str out = {0};
    const char *at;
    int examples = 0;

    (void)state;
    run_help_short(&out);
    for (at = strstr(str_text(&out), "\n  mpirun -np "); at;
         at = strstr(at + 1, "\n  mpirun -np ")) {
        const char *from = strstr(at, "iobm ") + 5;
        size_t length = strcspn(from, "\n");
        const char *gap = strstr(from, "  ");
        char line[128];
        struct run r;

        if (gap && (size_t)(gap - from) < length)
            length = (size_t)(gap - from);
        snprintf(line, sizeof(line), "%.*s", (int)length, from);
        run_with(line, &r);
        if (r.status)
            print_error("'%s': %s\n", line, r.err.text);
        assert_int_equal(r.status, IOBM_OK);
        done(&r);
        examples++;
    }
    assert_int_equal(examples, 3);
    str_release(&out);
}

/* What is kept with a result, typed again, is the same run. */
static void test_record(void **state)
{
    struct kvlist first = {0}, second = {0};
    struct run r;

    (void)state;
    run_with("-wr -n 1.5g -f x -b 1000003B -i 3 --delay 90 --tag a=b "
             "--api mpiio --hint c=d=e --seed 9",
             &r);
    assert_int_equal(r.status, IOBM_OK);
    assert_int_equal(opt_record(run_option_table, &r.options, &first, NULL),
                     IOBM_OK);
    done(&r);

    assert_int_equal(opt_init(run_option_table, &r.options, NULL), IOBM_OK);
    for (size_t i = 0; i < first.count; i++) {
        int row = opt_row(run_option_table, first.items[i].key);
        bool flag = run_option_table[row].type == IOBM_OPT_BOOL;
        char word[128], *words[1] = {word};
        struct run_options *o = &r.options;

        if (!*first.items[i].value)
            continue;
        if (flag && strcmp(first.items[i].value, "true") != 0)
            continue;
        snprintf(word, sizeof(word), flag ? "--%s" : "--%s=%s",
                 first.items[i].key, first.items[i].value);
        assert_int_equal(opt_parse(run_option_table, 1, words, o, r.given, NULL,
                                   NULL, &r.err),
                         IOBM_OK);
    }
    assert_int_equal(opt_record(run_option_table, &r.options, &second, NULL),
                     IOBM_OK);
    assert_int_equal(first.count, second.count);
    for (size_t i = 0; i < first.count; i++) {
        assert_string_equal(first.items[i].key, second.items[i].key);
        assert_string_equal(first.items[i].value, second.items[i].value);
    }
    kv_release(&first);
    kv_release(&second);
    done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_letters),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_refused_values),
        cmocka_unit_test(test_implied),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_direct),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_help_examples),
        cmocka_unit_test(test_record),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
