/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Option tables: what is read from a command line, what is refused and in
 * which words, and what is printed from a table.  The table here is made up;
 * the one of "iobm run" has its own tests.
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

struct options {
    bool walk, run, no_map;
    int64_t count, size, raw, wait, limit;
    int pick, help;
    char *file, *name;
    struct kvlist pairs;
};

static const char *const picks[] = {"red", "green", NULL};
static const char *const helps[] = {"short", "all", NULL};

#define AT(member) offsetof(struct options, member)

static const struct iobm_option table[] = {
    {"walk", 'w', IOBM_OPT_BOOL, AT(walk), NULL, NULL, NULL, NULL, NULL, NULL,
     "Moves", "go on foot"},
    {"run", 'r', IOBM_OPT_BOOL, AT(run), "true", NULL, NULL, NULL, NULL, NULL,
     NULL, "go fast"},
    {"no-map", 'z', IOBM_OPT_BOOL, AT(no_map), NULL, NULL, NULL, NULL, NULL,
     NULL, NULL, "go blind"},
    {"count", 'c', IOBM_OPT_INT, AT(count), "3", "1", "9", NULL, NULL, "N",
     NULL, "how many"},
    {"size", 'n', IOBM_OPT_SIZE, AT(size), NULL, "1B", "1GiB", "MiB", NULL,
     "SIZE", NULL, "how much"},
    {"raw", 0, IOBM_OPT_SIZE, AT(raw), NULL, NULL, NULL, NULL, NULL, "SIZE",
     NULL, "how much, with its unit"},
    {"wait", 0, IOBM_OPT_TIME, AT(wait), "1500ms", NULL, NULL, NULL, NULL,
     "TIME", "Other", "how long"},
    {"limit", 0, IOBM_OPT_TIME, AT(limit), NULL, NULL, NULL, NULL, NULL, "TIME",
     NULL, "how long at most"},
    {"pick", 0, IOBM_OPT_CHOICE, AT(pick), "green", NULL, NULL, NULL, picks,
     NULL, NULL, "which one"},
    {"file", 'f', IOBM_OPT_STRING, AT(file), NULL, NULL, NULL, NULL, NULL,
     "PATH", NULL,
     ".where it is, told in a sentence that is so long that it must be "
     "wrapped 'twice' with a back\\slash"},
    {"name", 0, IOBM_OPT_STRING, AT(name), "none", NULL, NULL, NULL, NULL,
     "TEXT", NULL, "what it is called"},
    {"pair", 'p', IOBM_OPT_LIST, AT(pairs), NULL, NULL, NULL, NULL, NULL,
     "KEY=VALUE", NULL, "a fact"},
    {"help", 'h', IOBM_OPT_ACTION, AT(help), NULL, NULL, NULL, NULL, helps,
     NULL, NULL, "help"},
    {"version", 0, IOBM_OPT_ACTION, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
     "version"},
    {.type = IOBM_OPT_END},
};

#define ROWS      (sizeof(table) / sizeof(table[0]))
#define MAX_WORDS 12

struct parsed {
    struct options options;
    bool given[ROWS];
    const char *operands[MAX_WORDS];
    int operand_count;
    struct iobm_error err;
    enum iobm_status status;
};

/* Words are separated by '|'. */
static void parse(const char *line, bool operands, struct parsed *p)
{
    char copy[512], *words[MAX_WORDS], *rest = copy, *word;
    int count = 0;

    memset(p, 0, sizeof(*p));
    memset(p->given, 1, sizeof(p->given)); /* opt_parse clears them */
    snprintf(copy, sizeof(copy), "%s", line);
    while (*line && (word = strsep(&rest, "|"))) {
        assert_in_range(count, 0, MAX_WORDS - 1);
        words[count++] = word;
    }
    assert_int_equal(opt_init(table, &p->options, &p->err), IOBM_OK);
    p->status = opt_parse(table, count, words, &p->options, p->given,
                          operands ? p->operands : NULL,
                          operands ? &p->operand_count : NULL, &p->err);
    /* they point into 'copy': keep what tests look at */
    for (int i = 0; i < p->operand_count; i++)
        p->operands[i] = strdup(p->operands[i]);
}

static void done(struct parsed *p)
{
    for (int i = 0; i < p->operand_count; i++)
        free((char *)(uintptr_t)p->operands[i]);
    opt_release(table, &p->options);
}

static void test_presets(void **state)
{
    struct parsed p;

    (void)state;
    parse("", false, &p);
    assert_int_equal(p.status, IOBM_OK);
    assert_false(p.options.walk);
    assert_true(p.options.run);
    assert_int_equal(p.options.count, 3);
    assert_int_equal(p.options.size, -1);
    assert_int_equal(p.options.limit, -1);
    assert_int_equal(p.options.wait, 1500000000);
    assert_int_equal(p.options.pick, 1);
    assert_int_equal(p.options.help, 0);
    assert_null(p.options.file);
    assert_string_equal(p.options.name, "none");
    assert_int_equal(p.options.pairs.count, 0);
    for (size_t i = 0; i < ROWS - 1; i++)
        assert_false(p.given[i]);
    done(&p);
}

/* Each line reads as this record; list items and defaults included. */
static const struct {
    const char *line;
    const char *changed; /* "name=value " of what differs from the presets */
} good[] = {
    {"", ""},
    {"-w", "walk=true "},
    {"-w|-w", "walk=true "},
    {"-wz", "walk=true no-map=true "},
    {"--walk|--no-map", "walk=true no-map=true "},
    {"--no-run", "run=false "},
    {"--no-walk", ""},
    {"-c5", "count=5 "},
    {"-c|5", "count=5 "},
    {"--count=5", "count=5 "},
    {"--count|5", "count=5 "},
    {"-c1", "count=1 "}, /* the limits themselves are fine */
    {"-c9", "count=9 "},
    {"-n1B", "size=1B "},
    {"-n1024", "size=1G "},
    {"-wc5", "walk=true count=5 "},
    {"-wzc|5", "walk=true no-map=true count=5 "},
    {"-n|2", "size=2M "},
    {"-n1000003B", "size=1000003B "},
    {"--raw|1.5k", "raw=1.5K "},
    {"--raw=0B", "raw=0B "},
    {"--wait|0", "wait=0s "},
    {"--wait=90", "wait=90s "},
    {"--wait=120", "wait=2min "},
    {"--wait=7200s", "wait=2h "},
    {"--wait=5ms", "wait=5ms "},
    {"--wait=5001us", "wait=5001us "},
    {"--wait=7ns", "wait=7ns "},
    {"--pick=red", "pick=red "},
    {"-f/big/test", "file=/big/test "},
    {"--file=a=b", "file=a=b "},
    {"--file=--walk", "file=--walk "},
    {"-f|-", "file=- "},
    {"--file=", ""},
    {"--name|", "name= "},
    {"-p|a=1|-pb=2|--pair=c=d=e|--pair|f=",
     "pair=a=1 pair=b=2 pair=c=d=e pair=f= "},
};

static void differences(const struct kvlist *a, const struct kvlist *b,
                        struct str *out)
{
    for (size_t i = 0; i < b->count; i++) {
        const char *before = kv_get(a, b->items[i].key);

        if (!before || strcmp(before, b->items[i].value) != 0)
            str_addf(out, "%s=%s ", b->items[i].key, b->items[i].value);
    }
}

static void test_good(void **state)
{
    struct kvlist presets = {0};
    struct parsed p;

    (void)state;
    parse("", false, &p);
    assert_int_equal(opt_record(table, &p.options, &presets, NULL), IOBM_OK);
    assert_string_equal(kv_get(&presets, "size"), "");
    assert_string_equal(kv_get(&presets, "file"), "");
    assert_string_equal(kv_get(&presets, "run"), "true");
    assert_null(kv_get(&presets, "help"));
    done(&p);
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct kvlist record = {0};
        struct str changed = {0};

        parse(good[i].line, false, &p);
        if (p.status)
            print_error("%s: %s\n", good[i].line, p.err.text);
        assert_int_equal(p.status, IOBM_OK);
        assert_int_equal(opt_record(table, &p.options, &record, NULL), IOBM_OK);
        differences(&presets, &record, &changed);
        assert_string_equal(str_text(&changed), good[i].changed);
        str_release(&changed);
        kv_release(&record);
        done(&p);
    }
    kv_release(&presets);
}

static const struct {
    const char *line;
    const char *text; /* must stand in the message */
} bad[] = {
    {"--wlak", "unknown option '--wlak': did you mean '--walk'? (see "
               "--help=all)"},
    {"--wa", "unknown option '--wa': did you mean '--wa"}, /* no abbreviation */
    {"--cout=3", "did you mean '--count'?"},
    {"--something-else", "unknown option '--something-else': see"},
    {"--no-count", "unknown option '--no-count'"},
    {"--no-no-map", "unknown option '--no-no-map': did you mean '--no-map'"},
    {"-q", "unknown option '-q': see --help=all"},
    {"-wq", "unknown option '-q' in '-wq'"},
    {"-count|3", "did you mean '--count'? (long names take two dashes)"},
    {"-file", "did you mean '--file'?"},
    {"-n=3", "'-n=3' is not understood: write '-n 3' or '--size=3'"},
    {"walk", "'walk' belongs to no option: did you mean '--walk'?"},
    {"-w|77", "'77' belongs to no option: only options"},
    {"--|-w", "'-w' belongs to no option"},
    {"\xe2\x80\x93w", "typographic dash: type '-w'"},
    {"\xe2\x88\x92w", "typographic dash: type '-w'"},
    {"-n", "'-n' needs a value (SIZE) and nothing follows it"},
    {"--size", "'--size' needs a value (SIZE) and nothing follows it"},
    {"--pick", "'--pick' needs a value (value) and nothing"},
    {"-f|-w", "'-f' needs a value (PATH) and the option '-w' follows it: if "
              "that is the value, write '--file=-w'"},
    {"--size|--walk", "and the option '--walk' follows it"},
    {"-n1|-n2", "'-n' is given twice (-n is --size)"},
    {"-n1|--size=1", "'--size' is given twice (-n is --size)"},
    {"--pick=red|--pick=red", "'--pick' is given twice: give it once"},
    {"--walk|--no-walk", "'--walk' and '--no-walk' contradict"},
    {"--no-run|-r", "'--run' and '--no-run' contradict"},
    {"--walk=yes", "'--walk' takes no value: leave out '=yes'"},
    {"--no-walk=1", "'--no-walk' takes no value: leave out '=1'"},
    {"--version=2", "'--version' takes no value: leave out '=2'"},
    {"--help=some", "--help: 'some' is none of short, all"},
    {"--pick=blue", "--pick: 'blue' is none of red, green"},
    {"--pick=", "--pick: '' is none of red, green"},
    {"-c0", "-c: '0' is too small, the least is 1"},
    {"--count=10", "--count: '10' is too large, the most is 9"},
    {"-c|-5", "-c: '-5' is too small"}, /* a number, no option */
    {"-cx", "-c: "},
    {"-n0", "-n: '0' is too small, the least is 1B"},
    {"-n2G", "-n: '2G' is too large, the most is 1GiB"},
    {"-n10x", "-n: "},
    {"-n|", "-n: "},
    {"--raw=5", "--raw: "},
    {"--wait=fast", "--wait: "},
    {"--pair=x", "--pair: "},
    {"--pair==x", "--pair: "},
    {"--size-of-a-name-that-is-longer-than-any-name-of-an-option-could-"
     "ever-be=3",
     "unknown option '--size-of-a-name"},
};

static void test_bad(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct parsed p;

        parse(bad[i].line, false, &p);
        if (p.status != IOBM_EUSAGE || !strstr(p.err.text, bad[i].text))
            print_error("'%s': status %d, '%s'\n", bad[i].line, p.status,
                        p.err.text);
        assert_int_equal(p.status, IOBM_EUSAGE);
        assert_non_null(strstr(p.err.text, bad[i].text));
        assert_null(strchr(p.err.text, '\n'));
        done(&p);
    }
}

static void test_given(void **state)
{
    struct parsed p;

    (void)state;
    parse("-w|--no-run|-p|a=b|--count=3", false, &p);
    assert_int_equal(p.status, IOBM_OK);
    for (int i = 0; i < (int)ROWS - 1; i++) {
        bool expected =
            i == opt_row(table, "walk") || i == opt_row(table, "run") ||
            i == opt_row(table, "pair") || i == opt_row(table, "count");

        assert_int_equal(p.given[i], expected);
    }
    done(&p);
}

/* An action ends the parsing: what is wrong behind it does not matter. */
static void test_actions(void **state)
{
    static const struct {
        const char *line, *action;
        int help;
    } cases[] = {{"--help", "help", 0},
                 {"-h", "help", 0},
                 {"-wh", "help", 0},
                 {"--help=all", "help", 1},
                 {"--help|--nonsense", "help", 0},
                 {"-hq", "help", 0},
                 {"-w|--version|-q", "version", 0}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct parsed p;

        parse(cases[i].line, false, &p);
        assert_int_equal(p.status, IOBM_OK);
        assert_true(p.given[opt_row(table, cases[i].action)]);
        assert_int_equal(p.options.help, cases[i].help);
        done(&p);
    }
}

static void test_operands(void **state)
{
    struct parsed p;

    (void)state;
    parse("one|-w|two|--|-r|--|", true, &p);
    assert_int_equal(p.status, IOBM_OK);
    assert_int_equal(p.operand_count, 5);
    assert_string_equal(p.operands[0], "one");
    assert_string_equal(p.operands[1], "two");
    assert_string_equal(p.operands[2], "-r");
    assert_string_equal(p.operands[3], "--");
    assert_string_equal(p.operands[4], "");
    assert_true(p.options.walk);
    done(&p);
}

/* A preset that cannot be read leaves nothing allocated. */
static void test_bad_preset(void **state)
{
    static const struct iobm_option broken[] = {
        {"name", 0, IOBM_OPT_STRING, AT(name), "none", NULL, NULL, NULL, NULL,
         "TEXT", NULL, "what it is called"},
        {"size", 'n', IOBM_OPT_SIZE, AT(size), "many", NULL, NULL, NULL, NULL,
         "SIZE", NULL, "how much"},
        {"file", 'f', IOBM_OPT_STRING, AT(file), NULL, NULL, NULL, NULL, NULL,
         "PATH", NULL, "where"},
        {.type = IOBM_OPT_END},
    };
    struct options options;
    struct iobm_error err;

    (void)state;
    memset(&options, 0xff, sizeof(options));
    assert_int_not_equal(opt_init(broken, &options, &err), IOBM_OK);
    assert_null(options.name);
    assert_null(options.file);
}

static const char help_text[] =
    "Moves:\n"
    "  -w, --walk                  go on foot\n"
    "  -r, --run                   go fast\n"
    "  -z, --no-map                go blind\n"
    "  -c, --count N               how many (default 3)\n"
    "  -n, --size SIZE             how much; a bare number is MiB\n"
    "      --raw SIZE              how much, with its unit\n"
    "\n"
    "Other:\n"
    "      --wait TIME             how long; a bare number is seconds "
    "(default\n"
    "                              1500ms)\n"
    "      --limit TIME            how long at most; a bare number is seconds\n"
    "      --pick red|green        which one (default green)\n"
    "  -f, --file PATH             .where it is, told in a sentence that is so "
    "long\n"
    "                              that it must be wrapped 'twice' with a "
    "back\\slash\n"
    "      --name TEXT             what it is called (default none)\n"
    "  -p, --pair KEY=VALUE        a fact\n"
    "  -h, --help[=short|all]      help\n"
    "      --version               version\n";

static void test_help(void **state)
{
    struct str out = {0};

    (void)state;
    opt_help(table, &out);
    assert_string_equal(str_text(&out), help_text);
    str_release(&out);
}

static void test_man(void **state)
{
    struct str out = {0};

    (void)state;
    opt_man(table, &out);
    assert_non_null(strstr(str_text(&out), ".SS \"Moves\"\n.TP\n"
                                           "\\fB\\-w\\fR, \\fB\\-\\-walk\\fR\n"
                                           "go on foot\n.TP\n"));
    assert_non_null(strstr(str_text(&out), "\\fB\\-f\\fR, \\fB\\-\\-file\\fR "
                                           "\\fIPATH\\fR\n\\&.where it is"));
    assert_non_null(
        strstr(str_text(&out), "\\(aqtwice\\(aq with a back\\eslash\n"));
    assert_non_null(strstr(str_text(&out), "\\fB\\-\\-no\\-map\\fR\n"));
    assert_non_null(
        strstr(str_text(&out), "\\fB\\-\\-help\\fR[=\\fIshort|all\\fR]\n"));
    str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_presets),    cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),        cmocka_unit_test(test_given),
        cmocka_unit_test(test_actions),    cmocka_unit_test(test_operands),
        cmocka_unit_test(test_bad_preset), cmocka_unit_test(test_help),
        cmocka_unit_test(test_man),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
