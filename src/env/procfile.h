/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_ENV_PROCFILE_H
#define IOBM_ENV_PROCFILE_H

/* Reading the small text files of /proc and /sys. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* Add all of "ROOT/PATH" to 'out', at most 64 MiB; false when it cannot be
 * read (what was read until then stays). */
bool procfile_read(const char *root, const char *path, struct str *out);

/* The first line, without its end and outer blanks, cut to the room; false
 * and "" when there is none. */
bool procfile_line(const char *root, const char *path, char *line, size_t room);

/* The file is one whole number. */
bool procfile_int(const char *root, const char *path, int64_t *value);

/* Copy 'text' into 'to', cut to the room. */
void procfile_copy(char *to, size_t room, const char *text);

#endif
