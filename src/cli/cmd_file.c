/* SPDX-License-Identifier: BSD-3-Clause */

/* iobm file recover [FILE]: runs that were cut short join the others.  Never
 * starts MPI. */

#include <stddef.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/files.h"
#include "store/store.h"

struct recover_options {
    bool force;
};

static const struct iobm_option table[] = {
    {.name = "force",
     .type = IOBM_OPT_BOOL,
     .offset = offsetof(struct recover_options, force),
     .help = "also runs of other hosts that may still go on"},
    {.name = "help",
     .letter = 'h',
     .type = IOBM_OPT_ACTION,
     .help = "show this and exit"},
    {.type = IOBM_OPT_END},
};

static const char usage[] =
    "usage: iobm file recover [--force] [FILE]\n"
    "\n"
    "Add the runs that were cut short, which lie beside a result file\n"
    "(default: " FILES_DEFAULT ") as FILE.xxxxxxxx.part, to the file.  A run "
    "that goes\non is left alone.\n"
    "\n";

static int recover(const char *path, bool force)
{
    struct store_recovery counts;
    struct str report = {0};
    struct iobm_error err;
    int status = EXIT_OK;

    if (store_recover(path, force, &counts, &report, &err) != IOBM_OK) {
        status = cli_fail(&err);
    } else {
        if (counts.merged + counts.alive + counts.damaged == 0)
            str_add(&report, "nothing to recover\n");
        if (counts.damaged > 0)
            status = EXIT_FAILED;
    }
    if (cli_print(&report, &err) != IOBM_OK)
        status = cli_fail(&err);
    str_release(&report);
    return status;
}

int cmd_file(int argc, char **argv)
{
    struct recover_options options;
    struct files_line line = {.table = table, .usage = usage, .most = 2};
    struct iobm_error err;
    int status;

    if (!files_parse(&line, argc, argv, &options, &status))
        return status;
    if (line.count == 0 || strcmp(line.operands[0], "recover") != 0) {
        iobm_fail(&err, IOBM_EUSAGE,
                  "'iobm file%s%s' is not a command: there is "
                  "'iobm file recover [FILE]'",
                  line.count ? " " : "", line.count ? line.operands[0] : "");
        status = cli_fail(&err);
    } else {
        status = recover(line.count > 1 ? line.operands[1] : FILES_DEFAULT,
                         options.force);
    }
    files_release(&line, &options);
    return status;
}
