/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The options of "iobm run", and every rule about which of them go together.
 * Rules that need the number of ranks, the file system or the abilities of a
 * back end are not here.
 */
#include "conf/run_options.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "conf/parse.h"
#include "iobm/result.h"

#define MEMBER(name) offsetof(struct run_options, name)

/* A path must leave room for ".RANK" and the manifest's name. */
#define PATH_MAX_LENGTH 4000

static const char *const sync_names[] = {"end", "every", "none", "dsync", NULL};
static const char *const layout_names[] = {"segmented", "strided", NULL};
static const char *const order_names[] = {"auto", "same", "shift", "random",
                                          NULL};
static const char *const start_names[] = {"time", "barrier", NULL};
static const char *const cache_names[] = {"keep", "drop", "require-cold",
                                          "drop-all", NULL};
static const char *const help_names[] = {"short", "all", NULL};

#define FLAG(name_, letter_, member_, help_)                                   \
    .name = name_, .letter = letter_, .type = IOBM_OPT_BOOL,                   \
    .offset = MEMBER(member_), .help = help_

const struct iobm_option run_option_table[] = {
    {.name = "file",
     .letter = 'f',
     .type = IOBM_OPT_STRING,
     .offset = MEMBER(file),
     .argument = "PATH",
     .group = "What to do",
     .help = "the test files: PATH.0, PATH.1 ... one per rank; with -s one "
             "file, PATH itself"},
    {FLAG("write", 'w', write, "write the files; with -r: write, then read")},
    {FLAG("read", 'r', read, "read files that an earlier -w made")},
    {.name = "size",
     .letter = 'n',
     .type = IOBM_OPT_SIZE,
     .offset = MEMBER(size_bytes),
     .min = "1B",
     .bare = "GiB",
     .argument = "SIZE",
     .help = "bytes over all ranks together, divided evenly; may be left out "
             "with -r alone: all that is there"},
    {FLAG("per-rank", 'a', per_rank, "-n is the size per rank")},
    {.name = "transfer-size",
     .letter = 'b',
     .type = IOBM_OPT_SIZE,
     .offset = MEMBER(transfer_bytes),
     .preset = "16MiB",
     .min = "1B",
     .bare = "MiB",
     .argument = "SIZE",
     .help = "bytes of one transfer"},
    {FLAG("shared", 's', shared, "all ranks share one file")},
    {.name = "repeats",
     .letter = 'i',
     .type = IOBM_OPT_INT,
     .offset = MEMBER(repeats),
     .preset = "1",
     .min = "1",
     .max = "1000000",
     .argument = "COUNT",
     .help = "how many times to do it all"},
    {.name = "precision",
     .type = IOBM_OPT_STRING,
     .offset = MEMBER(precision),
     .argument = "PCT",
     .help = "repeat until the median is known to +-PCT (of 95 %), at most -i "
             "times (default 30), at least 6"},
    {.name = "time-budget",
     .type = IOBM_OPT_TIME,
     .offset = MEMBER(time_budget_ns),
     .preset = "0",
     .argument = "TIME",
     .help = "begin no further repeat after so long; 0: no limit"},
    {.name = "delay",
     .type = IOBM_OPT_TIME,
     .offset = MEMBER(delay_ns),
     .preset = "0",
     .argument = "TIME",
     .help = "wait between one phase and the next"},

    {.name = "api",
     .type = IOBM_OPT_STRING,
     .offset = MEMBER(api),
     .argument = "NAME",
     .group = "How",
     .help = "the interface under test: posix, mmap, mpiio, null (moves "
             "nothing: the cost of iobm itself) and what else --version "
             "lists (default posix)"},
    {FLAG("direct", 'd', direct, "O_DIRECT: past the page cache")},
    {FLAG("mmap", 'm', mmap, "the same as --api mmap")},
    {FLAG("collective", 0, collective,
          "collective MPI-IO calls; needs --api mpiio and -s")},
    {.name = "hint",
     .type = IOBM_OPT_LIST,
     .offset = MEMBER(hints),
     .argument = "KEY=VALUE",
     .help = "an MPI-IO hint; may be given several times"},
    {.name = "hints-file",
     .type = IOBM_OPT_STRING,
     .offset = MEMBER(hints_file),
     .argument = "FILE",
     .help = "more hints, one KEY=VALUE a line"},
    {.name = "sync",
     .type = IOBM_OPT_CHOICE,
     .offset = MEMBER(sync),
     .preset = "end",
     .choices = sync_names,
     .help = "when a write is forced to stable storage: once at the end, "
             "after every transfer, not at all, or by O_DSYNC"},
    {FLAG("no-sync", 'z', no_sync, "the same as --sync none")},
    {.name = "layout",
     .type = IOBM_OPT_CHOICE,
     .offset = MEMBER(layout),
     .preset = "segmented",
     .choices = layout_names,
     .help = "who has which part of a shared file: one contiguous part per "
             "rank, or blocks dealt out in turn"},
    {.name = "block",
     .type = IOBM_OPT_SIZE,
     .offset = MEMBER(block_bytes),
     .min = "1B",
     .bare = "MiB",
     .argument = "SIZE",
     .help = "block of --layout strided, by default the transfer size"},
    {.name = "order",
     .type = IOBM_OPT_CHOICE,
     .offset = MEMBER(order),
     .preset = "auto",
     .choices = order_names,
     .help = "whose part a rank reads: its own, that of a rank on the next "
             "node, or any; auto: shift with two or more nodes, else same"},
    {.name = "seed",
     .type = IOBM_OPT_INT,
     .offset = MEMBER(seed),
     .min = "0",
     .argument = "NUMBER",
     .help = "of the data and of random orders; by default a fresh one, kept "
             "with the result"},
    {.name = "start",
     .type = IOBM_OPT_CHOICE,
     .offset = MEMBER(start),
     .preset = "time",
     .choices = start_names,
     .help = "how ranks begin together: at one time on the common clock, or "
             "when a barrier lets them go"},

    {.name = "cache",
     .type = IOBM_OPT_CHOICE,
     .offset = MEMBER(cache),
     .preset = "drop",
     .choices = cache_names,
     .group = "Trust",
     .help = "before a read: leave the page cache as it is, drop the pages of "
             "the test files, likewise and fail (exit 4) when the read was "
             "not cold, or drop all of the nodes' caches (root only)"},
    {FLAG("verify", 0, verify,
          "after each phase read all back, untimed, and compare every byte")},
    {FLAG("strict", 0, strict,
          "exit with 4 also when a check of the certificate warns")},

    {.name = "output",
     .letter = 'o',
     .type = IOBM_OPT_STRING,
     .offset = MEMBER(output),
     .preset = "iobm-results.h5",
     .argument = "FILE",
     .group = "Results",
     .help = "the HDF5 result file, to which the run is added; none: keep no "
             "result"},
    {.name = "label",
     .type = IOBM_OPT_STRING,
     .offset = MEMBER(label),
     .argument = "TEXT",
     .help = "a name for the run"},
    {.name = "tag",
     .type = IOBM_OPT_LIST,
     .offset = MEMBER(tags),
     .argument = "KEY=VALUE",
     .help = "a fact to keep with the run; may be given several times"},
    {FLAG("text", 0, text, "print the result for people (the default)")},
    {FLAG("json", 0, json, "print it as one JSON document instead")},
    {FLAG("csv", 0, csv, "print it as CSV instead, one line per phase")},
    {FLAG("verbose", 'v', verbose,
          "print more: every rank, how even they "
          "were, the clocks")},

    {FLAG("dry-run", 0, dry_run, "print the plan and check it; write nothing"),
     .group = "Safety"},
    {FLAG("force", 0, force, "replace files that iobm did not make")},
    {FLAG("keep", 0, keep, "keep the test files afterwards (the default)")},
    {FLAG("clean", 0, clean, "remove the test files afterwards")},
    {FLAG("destroy-data", 0, destroy_data,
          "write to a block device: what is on it is lost")},
    {.name = "watchdog",
     .type = IOBM_OPT_TIME,
     .offset = MEMBER(watchdog_ns),
     .preset = "1h",
     .argument = "TIME",
     .help = "end the run when a phase makes no progress for so long; 0: "
             "never"},

    {.name = "help",
     .letter = 'h',
     .type = IOBM_OPT_ACTION,
     .offset = MEMBER(help),
     .choices = help_names,
     .group = "About",
     .help = "a short help, or everything"},
    {.name = "version",
     .type = IOBM_OPT_ACTION,
     .help = "version, how it was built, which interfaces it has"},
    {.type = IOBM_OPT_END},
};

_Static_assert(sizeof(run_option_table) / sizeof(run_option_table[0]) <=
                   RUN_OPTIONS_MAX,
               "RUN_OPTIONS_MAX is too small");

void run_help_short(struct str *out)
{
    str_add(out,
            "usage: mpirun -np RANKS iobm [run] -f PATH -n SIZE -w [-r] ...\n"
            "\n"
            "  -f PATH     test files PATH.0, PATH.1 ... one per rank\n"
            "  -w  -r      write, read, or both (write, then read)\n"
            "  -n SIZE     over all ranks together (10 is 10 GiB); -a: per "
            "rank\n"
            "  -b SIZE     one transfer (16 is 16 MiB, the default)\n"
            "  -s          one shared file, PATH itself\n"
            "  -d          O_DIRECT          -m   mmap       --api mpiio   "
            "MPI-IO\n"
            "  -z          no sync           -i N repeats    -v            "
            "more output\n"
            "  -o FILE     results (iobm-results.h5)         --json --csv  "
            "to stdout\n"
            "  --dry-run   print the plan, write nothing     --help=all    "
            "everything\n"
            "\n"
            "examples:\n"
            "  mpirun -np 4 iobm -n 10 -f /big/test -w        4 files of 2.5 "
            "GiB\n"
            "  mpirun -np 4 iobm -f /big/test -r              read them\n"
            "  mpirun -np 8 iobm -n 64 -s -f /big/one -w -r --api mpiio "
            "--collective\n"
            "\n"
            "other commands: iobm list FILE, show FILE [RUN], file recover "
            "FILE,\n"
            "clean -f PATH, self-test; 'iobm list --help' and so on\n");
}

/* ---- which combinations make no sense ---- */

static bool used(const bool *given, const char *name)
{
    return given[opt_row(run_option_table, name)];
}

static bool api_is(const struct run_options *o, const char *name)
{
    return strcmp(o->api, name) == 0;
}

#define REFUSE_IF(condition, ...)                                              \
    do {                                                                       \
        if (condition)                                                         \
            return iobm_fail(err, IOBM_EUSAGE, __VA_ARGS__);                   \
    } while (0)

/* Which interface: -m and --api must agree. */
static enum iobm_status check_api(struct run_options *o, struct iobm_error *err)
{
    if (o->api) {
        REFUSE_IF(!*o->api, "--api is empty: name an interface, such as "
                            "posix, or leave it out");
        REFUSE_IF(o->mmap && !api_is(o, "mmap"),
                  "-m means --api mmap, but --api is '%s': give one of them",
                  o->api);
        return IOBM_OK;
    }
    o->api = strdup(o->mmap ? "mmap" : "posix");
    if (!o->api)
        return iobm_fail(err, IOBM_ENOMEM, "no memory for options");
    return IOBM_OK;
}

static enum iobm_status check_what(const struct run_options *o,
                                   struct iobm_error *err)
{
    REFUSE_IF(!o->write && !o->read,
              "neither -w nor -r is given: say what to do, -w to write, -r to "
              "read, both to write and then read");
    REFUSE_IF(!o->file,
              "no test file is named: give -f PATH, such as '-f /big/test'");
    REFUSE_IF(!*o->file, "-f is empty: name the test file, such as '-f "
                         "/big/test'");
    REFUSE_IF(o->file[strlen(o->file) - 1] == '/',
              "-f '%s' is a folder: name a file in it, such as '%stest'",
              o->file, o->file);
    REFUSE_IF(strlen(o->file) > PATH_MAX_LENGTH,
              "-f has %zu bytes, the most is %d", strlen(o->file),
              PATH_MAX_LENGTH);
    REFUSE_IF(o->size_bytes < 0 && o->write,
              "-w needs a size: give -n SIZE, such as '-n 10GiB'");
    REFUSE_IF(o->size_bytes == 0,
              "-n is 0 bytes: there is nothing to measure, the least is 1B");
    REFUSE_IF(o->size_bytes < 0 && o->per_rank,
              "-a says that -n is per rank, but there is no -n: give it, or "
              "leave out -a");
    REFUSE_IF(o->size_bytes < 0 && api_is(o, "null"),
              "--api null keeps no files whose size could be taken: give -n "
              "SIZE");
    REFUSE_IF(o->transfer_bytes < 1,
              "-b is 0 bytes: a transfer has at least 1B");
    REFUSE_IF(o->repeats < 1, "-i is less than 1: give at least 1 repeat");
    REFUSE_IF(o->delay_ns < 0, "--delay is negative: give 0 or more");
    REFUSE_IF(o->delay_ns > 0 && o->repeats == 1 && !o->precision &&
                  !(o->write && o->read),
              "--delay waits between phases, but there is only one: leave it "
              "out, or give both -w and -r, or -i 2 and more");
    return IOBM_OK;
}

/* What an interface cannot do, as far as its name tells. */
static enum iobm_status check_interface(const struct run_options *o,
                                        struct iobm_error *err)
{
    bool mpiio = api_is(o, "mpiio");

    REFUSE_IF(o->direct && api_is(o, "mmap"),
              "-d cannot be honoured with mmap, which is the page cache: "
              "leave out -d, or use --api posix");
    REFUSE_IF(o->direct && mpiio,
              "-d cannot be honoured through MPI-IO, which opens the file "
              "itself: leave out -d, or use --api posix");
    REFUSE_IF(o->direct && api_is(o, "null"),
              "-d means nothing with --api null, which opens no file: leave "
              "it out");
    REFUSE_IF(o->collective && !mpiio,
              "--collective is for MPI-IO, but --api is '%s': add --api "
              "mpiio, or leave out --collective",
              o->api);
    REFUSE_IF(o->collective && !o->shared,
              "--collective needs one file that all ranks share: add -s, or "
              "leave out --collective");
    REFUSE_IF(o->hints.count > 0 && !mpiio,
              "--hint is for MPI-IO, but --api is '%s': add --api mpiio, or "
              "leave out --hint",
              o->api);
    REFUSE_IF(o->hints_file && !mpiio,
              "--hints-file is for MPI-IO, but --api is '%s': add --api "
              "mpiio, or leave out --hints-file",
              o->api);
    REFUSE_IF(o->hints_file && !*o->hints_file,
              "--hints-file is empty: name a file, or leave it out");
    return IOBM_OK;
}

static enum iobm_status check_sync(struct run_options *o, const bool *given,
                                   struct iobm_error *err)
{
    REFUSE_IF(o->no_sync && !o->write,
              "-z leaves out the sync of a write, but nothing is written: add "
              "-w, or leave out -z");
    REFUSE_IF(used(given, "sync") && !o->write,
              "--sync is about writes, but nothing is written: add -w, or "
              "leave out --sync");
    REFUSE_IF(o->no_sync && used(given, "sync") && o->sync != SYNC_NONE,
              "-z means --sync none, but --sync is '%s': give one of them",
              sync_names[o->sync]);
    if (o->no_sync)
        o->sync = SYNC_NONE;
    REFUSE_IF(o->sync == SYNC_DSYNC && api_is(o, "mmap"),
              "--sync dsync does nothing for mmap, whose stores are no write "
              "calls: use --sync every (msync)");
    REFUSE_IF(o->sync == SYNC_DSYNC && api_is(o, "mpiio"),
              "--sync dsync cannot be honoured through MPI-IO, which opens "
              "the file itself: use --sync every");
    REFUSE_IF(o->sync == SYNC_DSYNC && api_is(o, "null"),
              "--sync dsync means nothing with --api null, which opens no "
              "file: leave it out");
    return IOBM_OK;
}

/* "-b 5M cannot work ...: the nearest that do are -b 4M and -b 6M". */
static enum iobm_status refuse_size(const char *option, int64_t bytes,
                                    int64_t multiple, const char *why,
                                    struct iobm_error *err)
{
    int64_t down = bytes - bytes % multiple;
    char asked[64], low[32], high[32], unit[32];

    units_size_exact(asked, sizeof(asked), bytes);
    units_size_typed(unit, sizeof(unit), multiple);
    units_size_typed(low, sizeof(low), down);
    if (down > INT64_MAX - multiple)
        return iobm_fail(err, IOBM_EUSAGE,
                         "%s %s cannot work: %s needs a multiple of %s; the "
                         "nearest is %s %s",
                         option, asked, why, unit, option, low);
    units_size_typed(high, sizeof(high), down + multiple);
    if (down == 0)
        return iobm_fail(err, IOBM_EUSAGE,
                         "%s %s cannot work: %s needs a multiple of %s; the "
                         "least is %s %s",
                         option, asked, why, unit, option, high);
    return iobm_fail(err, IOBM_EUSAGE,
                     "%s %s cannot work: %s needs a multiple of %s; the "
                     "nearest are %s %s and %s %s",
                     option, asked, why, unit, option, low, option, high);
}

static enum iobm_status check_layout(const struct run_options *o,
                                     const bool *given, struct iobm_error *err)
{
    REFUSE_IF(used(given, "layout") && !o->shared,
              "--layout says how ranks share one file, but each has its own: "
              "add -s, or leave out --layout");
    REFUSE_IF(o->block_bytes >= 0 && o->layout != LAYOUT_STRIDED,
              "--block is for --layout strided, but the layout is segmented: "
              "add --layout strided, or leave out --block");
    REFUSE_IF(o->block_bytes == 0, "--block is 0 bytes: the least is 1B");
    if (o->block_bytes > 0 && o->transfer_bytes > o->block_bytes &&
        o->transfer_bytes % o->block_bytes != 0)
        return refuse_size("-b", o->transfer_bytes, o->block_bytes,
                           "a transfer of several blocks (--block)", err);
    return IOBM_OK;
}

static enum iobm_status check_reading(const struct run_options *o,
                                      const bool *given, struct iobm_error *err)
{
    REFUSE_IF(used(given, "order") && !o->read,
              "--order is about reads, but nothing is read: add -r, or leave "
              "out --order");
    REFUSE_IF(o->clean && !o->write,
              "--clean removes what this run wrote, but nothing is written: "
              "leave it out; 'iobm clean -f PATH' removes test files");
    REFUSE_IF(o->keep && o->clean,
              "--keep and --clean contradict each other: give one of them");
    return IOBM_OK;
}

/* Whether the result file would be one of the test files or their manifest. */
static bool names_test_file(const char *output, const char *file)
{
    const char *rest;
    size_t length;

    while (output[0] == '.' && output[1] == '/')
        output += 2;
    while (file[0] == '.' && file[1] == '/')
        file += 2;
    length = strlen(file);
    if (strncmp(output, file, length) != 0)
        return false;
    rest = output + length;
    if (!*rest || strcmp(rest, ".iobm") == 0)
        return true;
    if (*rest != '.' || !rest[1])
        return false;
    return rest[1 + strspn(rest + 1, "0123456789")] == '\0';
}

static enum iobm_status check_output(struct run_options *o, const bool *given,
                                     struct iobm_error *err)
{
    int forms = o->text + o->json + o->csv;

    REFUSE_IF(!o->output || !*o->output,
              "-o is empty: name the result file, or give '-o none'");
    REFUSE_IF(o->output[strlen(o->output) - 1] == '/',
              "-o '%s' is a folder: name a file in it, such as "
              "'%siobm-results.h5'",
              o->output, o->output);
    REFUSE_IF(strlen(o->output) > PATH_MAX_LENGTH,
              "-o has %zu bytes, the most is %d", strlen(o->output),
              PATH_MAX_LENGTH);
    REFUSE_IF(names_test_file(o->output, o->file),
              "-o '%s' is one of the test files of -f '%s': give the result "
              "file another name",
              o->output, o->file);
    REFUSE_IF(
        forms > 1, "%s and %s are both given: standard output takes one form",
        o->json ? "--json" : "--csv", o->json && o->csv ? "--csv" : "--text");
    REFUSE_IF(o->dry_run && (o->json || o->csv),
              "--dry-run prints a plan for people: leave out %s",
              o->json ? "--json" : "--csv");
    REFUSE_IF(forms == 0 && used(given, "text"),
              "--no-text leaves nothing to print: give --json or --csv "
              "instead");
    if (forms == 0)
        o->text = true;
    return IOBM_OK;
}

/* The code point at '*text', which is moved behind it; -1: not UTF-8. */
static int32_t next_code(const unsigned char **text)
{
    static const int32_t least[] = {0, 0x80, 0x800, 0x10000};
    int32_t first = *(*text)++, code = first;
    int more = first < 0x80             ? 0
               : (first & 0xe0) == 0xc0 ? 1
               : (first & 0xf0) == 0xe0 ? 2
               : (first & 0xf8) == 0xf0 ? 3
                                        : -1;

    if (more < 0)
        return -1;
    if (more > 0)
        code = first & (0x3f >> more);
    for (int i = 0; i < more; i++) {
        if ((**text & 0xc0) != 0x80)
            return -1;
        code = code << 6 | (*(*text)++ & 0x3f);
    }
    if (code < least[more] || code > 0x10ffff ||
        (code >= 0xd800 && code < 0xe000))
        return -1;
    return code;
}

/* Valid UTF-8 without control characters: fits one line of any report. */
static bool is_one_line(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    while (*at) {
        int32_t code = next_code(&at);

        /* C0, DEL and C1, and Unicode's line ends */
        if (code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 ||
            code == 0x2029)
            return false;
    }
    return true;
}

static enum iobm_status check_pairs(const struct kvlist *list,
                                    const char *option, struct iobm_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct kv *kv = &list->items[i];

        REFUSE_IF(!*kv->key, "%s '=%s' has no key: write KEY=VALUE", option,
                  kv->value);
        REFUSE_IF(!is_one_line(kv->key) || !is_one_line(kv->value),
                  "%s '%s' holds a control character or invalid UTF-8: use "
                  "plain text",
                  option, kv->key);
        for (size_t j = 0; j < i; j++)
            REFUSE_IF(strcmp(list->items[j].key, kv->key) == 0,
                      "%s '%s' is given twice: give it once", option, kv->key);
    }
    return IOBM_OK;
}

static enum iobm_status check_texts(const struct run_options *o,
                                    struct iobm_error *err)
{
    const size_t room = sizeof(((struct iobm_phase_row *)0)->label) - 1;
    enum iobm_status status;

    if (o->label) {
        REFUSE_IF(!is_one_line(o->label),
                  "--label holds a control character or invalid UTF-8: use "
                  "plain text");
        REFUSE_IF(strlen(o->label) > room,
                  "--label has %zu bytes, the most is %zu", strlen(o->label),
                  room);
    }
    status = check_pairs(&o->tags, "--tag", err);
    if (status)
        return status;
    return check_pairs(&o->hints, "--hint", err);
}

/* "5%", "5 %", "2.5": per cent. */
static bool parse_percent(const char *text, double *percent)
{
    char *end;

    *percent = strtod(text, &end);
    if (end == text)
        return false;
    end += strspn(end, " ");
    end += *end == '%';
    return !*end && *percent > 0 && *percent < 100;
}

static enum iobm_status check_trust(struct run_options *o, const bool *given,
                                    struct iobm_error *err)
{
    REFUSE_IF(used(given, "cache") && !o->read,
              "--cache is about reads, but nothing is read: add -r, or leave "
              "out --cache");
    REFUSE_IF(o->verify && api_is(o, "null"),
              "--verify cannot read back what --api null threw away: leave it "
              "out");
    REFUSE_IF(o->time_budget_ns < 0,
              "--time-budget is negative: give 0 for none");
    REFUSE_IF(o->time_budget_ns > 0 && !o->precision && o->repeats == 1,
              "--time-budget limits repeats, but there is only one: give "
              "--precision, or -i 2 and more");
    if (!o->precision)
        return IOBM_OK;
    REFUSE_IF(!parse_percent(o->precision, &o->precision_pct),
              "--precision '%s' is no share between 0 and 100 %%: such as "
              "--precision 5%%",
              o->precision);
    if (!used(given, "repeats"))
        o->repeats = RUN_REPEATS_CAP;
    REFUSE_IF(o->repeats < RUN_REPEATS_LEAST,
              "--precision needs at least %d repeats, but -i allows %lld: "
              "leave out -i, or give more",
              RUN_REPEATS_LEAST, (long long)o->repeats);
    return IOBM_OK;
}

static enum iobm_status check_rest(const struct run_options *o,
                                   struct iobm_error *err)
{
    REFUSE_IF(o->watchdog_ns < 0, "--watchdog is negative: give 0 to turn it "
                                  "off");
    REFUSE_IF(o->watchdog_ns > 0 && o->watchdog_ns < INT64_C(1000000000),
              "--watchdog is less than a second: give at least 1s, or 0 to "
              "turn it off");
    return IOBM_OK;
}

enum iobm_status run_options_check(struct run_options *options,
                                   const bool *given, struct iobm_error *err)
{
    enum iobm_status status = check_api(options, err);

    if (!status)
        status = check_what(options, err);
    if (!status)
        status = check_interface(options, err);
    if (!status)
        status = check_sync(options, given, err);
    if (!status)
        status = check_layout(options, given, err);
    if (!status)
        status = check_reading(options, given, err);
    if (!status)
        status = check_trust(options, given, err);
    if (!status)
        status = check_output(options, given, err);
    if (!status)
        status = check_texts(options, err);
    if (!status)
        status = check_rest(options, err);
    return status;
}

/* ---- on so many ranks ---- */

enum iobm_status run_options_layout(const struct run_options *options,
                                    int ranks, struct layout *layout,
                                    struct iobm_error *err)
{
    struct layout plan = {
        .shared = options->shared,
        .strided = options->shared && options->layout == LAYOUT_STRIDED,
        .parts = ranks,
        .total_bytes = options->size_bytes,
        .transfer_bytes = options->transfer_bytes,
        .grain_bytes = 1,
    };
    enum iobm_status status;

    if (options->size_bytes < 1)
        return iobm_fail(err, IOBM_EUSAGE, "no size is known: give -n SIZE");
    if (options->per_rank) {
        status = units_multiply(options->size_bytes, ranks,
                                "-n per rank (-a) times the ranks",
                                &plan.total_bytes, err);
        if (status)
            return status;
    }
    if (plan.strided)
        plan.block_bytes = options->block_bytes > 0 ? options->block_bytes
                                                    : options->transfer_bytes;
    status = layout_check(&plan, err);
    if (!status)
        *layout = plan;
    return status;
}

enum iobm_status run_options_direct(const struct layout *layout,
                                    int64_t alignment_bytes,
                                    struct iobm_error *err)
{
    if (layout->strided && layout->block_bytes % alignment_bytes != 0)
        return refuse_size(
            layout->block_bytes == layout->transfer_bytes ? "-b" : "--block",
            layout->block_bytes, alignment_bytes, "O_DIRECT here", err);
    if (layout->transfer_bytes % alignment_bytes != 0)
        return refuse_size("-b", layout->transfer_bytes, alignment_bytes,
                           "O_DIRECT here", err);
    return IOBM_OK;
}
