/* SPDX-License-Identifier: BSD-3-Clause */

/* Standard output and standard error, for all commands. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"

int cli_exit_status(enum iobm_status status)
{
    switch (status) {
    case IOBM_OK:
        return EXIT_OK;
    case IOBM_EUSAGE:
        return EXIT_USAGE;
    case IOBM_ECORRUPT:
        return EXIT_CORRUPT;
    case IOBM_EINVALID:
        return EXIT_UNTRUSTED;
    default:
        return EXIT_FAILED;
    }
}

int cli_fail(const struct iobm_error *err)
{
    fprintf(stderr, "iobm: %s\n", err->text);
    return cli_exit_status(err->status);
}

void cli_hold_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

enum iobm_status cli_print(const struct str *text, struct iobm_error *err)
{
    if (text->failed)
        return iobm_fail(err, IOBM_ENOMEM, "cannot build the output");
    errno = 0;
    if (fputs(str_text(text), stdout) == EOF || fflush(stdout) != 0)
        return iobm_fail_errno(err, errno, "cannot write standard output");
    return IOBM_OK;
}
