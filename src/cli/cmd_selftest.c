/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * iobm self-test: what iobm itself costs on this machine, what it could
 * measure there at most, and whether measuring changes what is measured.
 * Never starts MPI; under mpirun the first process does it alone.
 */

#include <stddef.h>

#include "cli/cli.h"
#include "cli/files.h"
#include "cli/selftest.h"
#include "par/comm.h"

struct selftest_options {
    char *file;
    bool quick, json;
};

static const struct iobm_option table[] = {
    {.name = "file",
     .letter = 'f',
     .type = IOBM_OPT_STRING,
     .offset = offsetof(struct selftest_options, file),
     .argument = "PATH",
     .help = "a folder for a test file of 16 MiB, or a file to be made, which "
             "must not exist; by default in $TMPDIR, or in /dev/shm"},
    {.name = "quick",
     .type = IOBM_OPT_BOOL,
     .offset = offsetof(struct selftest_options, quick),
     .help = "1 s in place of 5 s"},
    {.name = "json",
     .type = IOBM_OPT_BOOL,
     .offset = offsetof(struct selftest_options, json),
     .help = "as one JSON document"},
    {.name = "help",
     .letter = 'h',
     .type = IOBM_OPT_ACTION,
     .help = "show this and exit"},
    {.type = IOBM_OPT_END},
};

static const char usage[] =
    "usage: iobm self-test [OPTIONS]\n"
    "\n"
    "What iobm itself costs on this machine, what it could measure there at\n"
    "most, and whether measuring changes what is measured.  The test file is\n"
    "removed as soon as it is open.  Exit status 4: it does change it.\n"
    "\n";

static enum iobm_status self_test(const struct selftest_options *options,
                                  struct selftest *test, struct iobm_error *err)
{
    struct str text = {0};
    enum iobm_status status;

    test->quick = options->quick;
    status = selftest_measure(test, options->file, err);
    if (status != IOBM_OK)
        return status;
    if (options->json)
        selftest_json(test, &text);
    else
        selftest_text(test, &text);
    status = cli_print(&text, err);
    str_release(&text);
    return status;
}

int cmd_selftest(int argc, char **argv)
{
    struct selftest_options options;
    struct files_line line = {.table = table, .usage = usage};
    struct selftest test = {0};
    struct iobm_error err;
    int status;

    if (par_launcher_rank() > 0)
        return EXIT_OK;
    if (!files_parse(&line, argc, argv, &options, &status))
        return status;
    if (self_test(&options, &test, &err) != IOBM_OK)
        status = cli_fail(&err);
    else
        status = test.verdict == PERTURB_OUTSIDE ? EXIT_UNTRUSTED : EXIT_OK;
    files_release(&line, &options);
    return status;
}
