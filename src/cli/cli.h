/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_CLI_CLI_H
#define IOBM_CLI_CLI_H

/* The commands; each returns the exit status of the program. */

#include "base/str.h"
#include "iobm/error.h"

enum exit_status {
    EXIT_OK = 0,
    EXIT_FAILED = 1,    /* something could not be done */
    EXIT_USAGE = 2,     /* the command line makes no sense */
    EXIT_CORRUPT = 3,   /* data read differ from data written */
    EXIT_UNTRUSTED = 4, /* measured, but the figure cannot be trusted */
};

int cmd_run(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_file(int argc, char **argv);
int cmd_clean(int argc, char **argv);
int cmd_selftest(int argc, char **argv);

int cli_exit_status(enum iobm_status status);

/* "iobm: TEXT" on standard error; returns the exit status that belongs to
 * the error. */
int cli_fail(const struct iobm_error *err);

/* Where standard input, output or error is closed, have something in its place
 * that fails: else the first file that is opened would get the output. */
void cli_hold_standard_files(void);

/* Write all of it to standard output; a full disk or a closed pipe is an
 * error like any other. */
enum iobm_status cli_print(const struct str *text,
                           struct iobm_error *err) IOBM_CHECK;

#endif
