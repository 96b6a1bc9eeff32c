/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The program: picks the command.  The verb "run" may be left out, so that
 * the first argument of a run is an option.
 */

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
    {"run", cmd_run},   {"list", cmd_list},   {"show", cmd_show},
    {"file", cmd_file}, {"clean", cmd_clean}, {"self-test", cmd_selftest},
};

int main(int argc, char **argv)
{
    struct iobm_error err;

    cli_hold_standard_files();
    if (argc < 2 || argv[1][0] == '-')
        return cmd_run(argc, argv);
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    iobm_fail(&err, IOBM_EUSAGE,
              "'%s' is not a command: run, list, show, file, clean or "
              "self-test (iobm --help)",
              argv[1]);
    return cli_fail(&err);
}
