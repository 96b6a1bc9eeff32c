/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_CLI_FILES_H
#define IOBM_CLI_FILES_H

/* What the commands on result files have in common. */

#include <stdbool.h>

#include "conf/parse.h"
#include "iobm/option.h"

#define FILES_DEFAULT     "iobm-results.h5"
#define FILES_OPTIONS_MAX 16

struct files_line {
    const struct iobm_option *table; /* with a row "help" */
    const char *usage;               /* what --help prints first */
    int most;                        /* operands */

    bool given[FILES_OPTIONS_MAX];
    const char **operands;
    int count;
};

/* Parse argv[1..argc) of a command.  False: '*status' is the exit status,
 * because --help was asked for or the line makes no sense. */
bool files_parse(struct files_line *line, int argc, char **argv, void *options,
                 int *status);
void files_release(struct files_line *line, void *options);

#endif
