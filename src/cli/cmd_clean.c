/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * iobm clean -f PATH: removes the test files that a manifest lists, and the
 * manifest.  Never starts MPI.
 */

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/files.h"
#include "guard/manifest.h"
#include "report/lines.h"

struct clean_options {
    char *file;
    bool dry_run;
};

static const struct iobm_option table[] = {
    {.name = "file",
     .letter = 'f',
     .type = IOBM_OPT_STRING,
     .offset = offsetof(struct clean_options, file),
     .argument = "PATH",
     .help = "the test files, as 'iobm run' was given them"},
    {.name = "dry-run",
     .type = IOBM_OPT_BOOL,
     .offset = offsetof(struct clean_options, dry_run),
     .help = "say what would be removed, and remove nothing"},
    {.name = "help",
     .letter = 'h',
     .type = IOBM_OPT_ACTION,
     .help = "show this and exit"},
    {.type = IOBM_OPT_END},
};

static const char usage[] =
    "usage: iobm clean -f PATH [--dry-run]\n"
    "\n"
    "Remove the test files that PATH.iobm lists, and PATH.iobm; nothing else.\n"
    "\n";

static enum iobm_status clean(const struct clean_options *options,
                              struct str *text, struct iobm_error *err)
{
    int64_t files, bytes;
    char size[40];
    enum iobm_status status;

    if (!options->file)
        return iobm_fail(err, IOBM_EUSAGE,
                         "say with -f which test files to remove");
    status =
        manifest_clean(options->file, options->dry_run, &files, &bytes, err);
    if (status != IOBM_OK)
        return status;
    str_addf(text, "%s %" PRId64 " file%s, %s, and '",
             options->dry_run ? "would remove" : "removed", files,
             files == 1 ? "" : "s", units_size(size, sizeof(size), bytes));
    line_clean(text, options->file, strlen(options->file));
    str_add(text, ".iobm'\n");
    return IOBM_OK;
}

int cmd_clean(int argc, char **argv)
{
    struct clean_options options;
    struct files_line line = {.table = table, .usage = usage};
    struct str text = {0};
    struct iobm_error err;
    int status;

    if (!files_parse(&line, argc, argv, &options, &status))
        return status;
    status = EXIT_OK;
    if (clean(&options, &text, &err) != IOBM_OK ||
        cli_print(&text, &err) != IOBM_OK) {
        /* A damaged manifest is not "data differ". */
        if (err.status == IOBM_ECORRUPT)
            err.status = IOBM_EIO;
        status = cli_fail(&err);
    }
    str_release(&text);
    files_release(&line, &options);
    return status;
}
