/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Text files of /proc and /sys, which have no size that could be asked for
 * and may change between two reads.
 */

#include "env/procfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROCFILE_MAX_BYTES ((size_t)64 << 20)

static int open_below(const char *root, const char *path)
{
    char full[PATH_MAX];
    int n = snprintf(full, sizeof(full), "%s%s", root ? root : "", path);

    if (n < 0 || (size_t)n >= sizeof(full)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

bool procfile_read(const char *root, const char *path, struct str *out)
{
    char buffer[4096];
    int fd = open_below(root, path);
    ssize_t n = -1;

    if (fd < 0)
        return false;
    while (out->length < PROCFILE_MAX_BYTES && !out->failed) {
        n = read(fd, buffer, sizeof(buffer));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        str_addn(out, buffer, (size_t)n);
    }
    close(fd);
    return n == 0 && !out->failed;
}

bool procfile_line(const char *root, const char *path, char *line, size_t room)
{
    struct str text = {0};
    bool found = procfile_read(root, path, &text);
    const char *start = str_text(&text);
    size_t length;

    line[0] = '\0';
    start += strspn(start, " \t");
    length = strcspn(start, "\n");
    while (length > 0 &&
           (start[length - 1] == ' ' || start[length - 1] == '\t'))
        length--;
    if (length >= room)
        length = room - 1;
    if (found) {
        memcpy(line, start, length);
        line[length] = '\0';
    }
    str_release(&text);
    return found && length > 0;
}

bool procfile_int(const char *root, const char *path, int64_t *value)
{
    char line[32], *end;
    long long number;

    if (!procfile_line(root, path, line, sizeof(line)))
        return false;
    errno = 0;
    number = strtoll(line, &end, 10);
    if (errno || end == line || *end)
        return false;
    *value = number;
    return true;
}

void procfile_copy(char *to, size_t room, const char *text)
{
    size_t length = strnlen(text, room - 1);

    memcpy(to, text, length);
    to[length] = '\0';
}
