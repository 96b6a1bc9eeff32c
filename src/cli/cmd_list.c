/* SPDX-License-Identifier: BSD-3-Clause */

/* iobm list [FILE]: one line per run of a result file.  Never starts MPI. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/files.h"
#include "report/report.h"
#include "store/store.h"

struct list_options {
    bool unused; /* a table needs a struct */
};

static const struct iobm_option table[] = {
    {.name = "help",
     .letter = 'h',
     .type = IOBM_OPT_ACTION,
     .help = "show this and exit"},
    {.type = IOBM_OPT_END},
};

static const char usage[] =
    "usage: iobm list [FILE]\n"
    "\n"
    "One line per run of a result file (default: " FILES_DEFAULT ").\n"
    "\n";

static int list(const char *path)
{
    struct run_record *runs = NULL;
    struct str text = {0};
    struct iobm_error err;
    size_t count = 0;
    int64_t partials;
    int status = EXIT_OK;

    if (store_list(path, &runs, &count, &err) != IOBM_OK) {
        status = cli_fail(&err);
    } else {
        report_list_text(runs, count, &text);
        if (cli_print(&text, &err) != IOBM_OK)
            status = cli_fail(&err);
    }
    partials = store_count_partials(path);
    if (partials > 0)
        fprintf(stderr,
                "iobm: %" PRId64 " run%s not in it yet, still going on or cut "
                "short: 'iobm file recover %s' adds the latter\n",
                partials, partials == 1 ? " is" : "s are", path);
    for (size_t i = 0; i < count; i++)
        run_record_release(&runs[i]);
    free(runs);
    str_release(&text);
    return status;
}

int cmd_list(int argc, char **argv)
{
    struct list_options options;
    struct files_line line = {.table = table, .usage = usage, .most = 1};
    int status;

    if (!files_parse(&line, argc, argv, &options, &status))
        return status;
    status = list(line.count > 0 ? line.operands[0] : FILES_DEFAULT);
    files_release(&line, &options);
    return status;
}
