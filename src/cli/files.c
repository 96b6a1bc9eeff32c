/* SPDX-License-Identifier: BSD-3-Clause */

/* Command lines of the commands on result files: see files.h. */

#include "cli/files.h"

#include <stdlib.h>

#include "cli/cli.h"

static int print_help(const struct files_line *line)
{
    struct str text = {0};
    struct iobm_error err;
    int status = EXIT_OK;

    str_add(&text, line->usage);
    opt_help(line->table, &text);
    if (cli_print(&text, &err) != IOBM_OK)
        status = cli_fail(&err);
    str_release(&text);
    return status;
}

static enum iobm_status parse(struct files_line *line, int argc, char **argv,
                              void *options, struct iobm_error *err)
{
    enum iobm_status status = opt_init(line->table, options, err);

    if (status != IOBM_OK)
        return status;
    line->operands = calloc((size_t)argc + 1, sizeof(*line->operands));
    if (!line->operands)
        return iobm_fail(err, IOBM_ENOMEM, "no memory for the command line");
    status = opt_parse(line->table, argc - 1, argv + 1, options, line->given,
                       line->operands, &line->count, err);
    if (status == IOBM_OK && line->count > line->most &&
        !line->given[opt_row(line->table, "help")])
        status = iobm_fail(err, IOBM_EUSAGE,
                           "do not know what to do with '%s' (iobm %s --help)",
                           line->operands[line->most], argv[0]);
    return status;
}

bool files_parse(struct files_line *line, int argc, char **argv, void *options,
                 int *status)
{
    struct iobm_error err;

    if (parse(line, argc, argv, options, &err) != IOBM_OK)
        *status = cli_fail(&err);
    else if (line->given[opt_row(line->table, "help")])
        *status = print_help(line);
    else
        return true;
    files_release(line, options);
    return false;
}

void files_release(struct files_line *line, void *options)
{
    opt_release(line->table, options);
    free(line->operands);
}
