/* SPDX-License-Identifier: BSD-3-Clause */

/* iobm show [FILE] [RUN]: what a run printed, again, or what stands behind
 * it.  Never starts MPI. */

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/files.h"
#include "report/detail_text.h"
#include "report/report.h"
#include "store/store.h"

struct show_options {
    bool verbose, json, csv, text;
    bool series, latency, checks, evidence;
    int64_t stonewall_ns; /* -1: not asked for */
};

#define OPTION(member, key, what)                                              \
    {                                                                          \
        .name = #member, .letter = (key), .type = IOBM_OPT_BOOL,               \
        .offset = offsetof(struct show_options, member), .help = (what)        \
    }

static const struct iobm_option table[] = {
    OPTION(verbose, 'v', "more: every rank, how even they were, the clocks"),
    OPTION(json, 0, "as one JSON document"),
    OPTION(csv, 0, "as CSV, one line per phase and repeat"),
    OPTION(text, 0, "as text (the default)"),
    OPTION(checks, 0, "in its place: every check, with its value and limit"),
    OPTION(evidence, 0,
           "in its place: what the witnesses of each node counted"),
    OPTION(series, 0, "in its place: how the rate went over time"),
    OPTION(latency, 0, "in its place: latencies and their histograms"),
    {.name = "stonewall",
     .type = IOBM_OPT_TIME,
     .offset = offsetof(struct show_options, stonewall_ns),
     .min = "1ns",
     .argument = "TIME",
     .help = "in its place: the rate of the first TIME of each phase"},
    {.name = "help",
     .letter = 'h',
     .type = IOBM_OPT_ACTION,
     .help = "show this and exit"},
    {.type = IOBM_OPT_END},
};

static const char usage[] =
    "usage: iobm show [OPTIONS] [FILE] [RUN]\n"
    "\n"
    "What run RUN of a result file (default: " FILES_DEFAULT ") printed, or\n"
    "what stands behind it.\n"
    "RUN is a number of 'iobm list', or 'last', which is the default.\n"
    "\n";

static bool is_run(const char *word)
{
    int64_t number = 0;

    return strcmp(word, "last") == 0 ||
           units_parse_int(word, &number, NULL) == IOBM_OK;
}

static enum iobm_status parse_run(const char *word, int64_t *number,
                                  struct iobm_error *err)
{
    *number = 0;
    if (strcmp(word, "last") == 0)
        return IOBM_OK;
    if (units_parse_int(word, number, NULL) != IOBM_OK || *number < 1)
        return iobm_fail(err, IOBM_EUSAGE,
                         "'%s' is not a run: a number of 'iobm list', or "
                         "'last'",
                         word);
    return IOBM_OK;
}

/* One operand alone is the run when it looks like one and no file has that
 * name. */
static enum iobm_status choose(const struct files_line *line, const char **path,
                               int64_t *number, struct iobm_error *err)
{
    const char *run = line->count > 1 ? line->operands[1] : "last";

    *path = line->count > 0 ? line->operands[0] : FILES_DEFAULT;
    if (line->count == 1 && is_run(*path) && access(*path, F_OK) != 0) {
        run = *path;
        *path = FILES_DEFAULT;
    }
    return parse_run(run, number, err);
}

static bool wants_detail(const struct show_options *options)
{
    return options->checks || options->evidence || options->series ||
           options->latency || options->stonewall_ns > 0;
}

static void add_details(const struct show_options *options,
                        const struct run_record *record, struct str *out)
{
    if (options->checks)
        detail_checks_text(record, out);
    if (options->evidence)
        detail_evidence_text(record, out);
    if (options->series)
        detail_series_text(record, out);
    if (options->latency)
        detail_latency_text(record, out);
    if (options->stonewall_ns > 0)
        detail_stonewall_text(record, options->stonewall_ns, out);
}

static enum iobm_status check(const struct show_options *options,
                              struct iobm_error *err)
{
    if (options->json + options->csv + options->text > 1)
        return iobm_fail(err, IOBM_EUSAGE,
                         "--json, --csv and --text exclude each other");
    if ((options->json || options->csv) && wants_detail(options))
        return iobm_fail(err, IOBM_EUSAGE,
                         "--checks, --evidence, --series, --latency and "
                         "--stonewall print text: leave out --%s",
                         options->json ? "json" : "csv");
    return IOBM_OK;
}

static enum iobm_status show(const struct show_options *options,
                             const char *path, int64_t number,
                             struct iobm_error *err)
{
    struct run_record record;
    struct str out = {0};
    enum iobm_status status = store_read(path, number, &record, err);

    if (status != IOBM_OK)
        return status;
    if (options->json) {
        report_run_json(&record, path, &out);
    } else if (options->csv) {
        report_csv_header(&out);
        report_run_csv(&record, &out);
    } else if (wants_detail(options)) {
        add_details(options, &record, &out);
    } else {
        report_run_text(&record, path, options->verbose, &out);
    }
    status = cli_print(&out, err);
    str_release(&out);
    run_record_release(&record);
    return status;
}

int cmd_show(int argc, char **argv)
{
    struct show_options options;
    struct files_line line = {.table = table, .usage = usage, .most = 2};
    struct iobm_error err;
    const char *path = NULL;
    int64_t number = 0;
    enum iobm_status outcome;
    int status;

    if (!files_parse(&line, argc, argv, &options, &status))
        return status;
    outcome = check(&options, &err);
    if (outcome == IOBM_OK)
        outcome = choose(&line, &path, &number, &err);
    if (outcome == IOBM_OK)
        outcome = show(&options, path, number, &err);
    if (outcome != IOBM_OK)
        status = cli_fail(&err);
    else
        status = EXIT_OK;
    files_release(&line, &options);
    return status;
}
