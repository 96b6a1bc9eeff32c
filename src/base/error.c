/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Filling struct iobm_error: one line, the cause last, and when a text is too
 * long it is the front that loses its end, never the cause.  No allocation:
 * this runs when memory is short as well.
 */

#include "iobm/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_ROOM = sizeof(((struct iobm_error *)NULL)->text) };

/* One error is one line, whatever bytes a path holds; C1 controls come as
 * C2 80 .. C2 9F and steer some terminals. */
static void make_printable(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p; p++) {
        if (*p < 0x20 || *p == 0x7f) {
            *p = '?';
        } else if (*p == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f) {
            p[0] = '?';
            p[1] = '?';
        }
    }
}

/* Cut to 'length' bytes, not in the middle of a UTF-8 sequence. */
static void cut(char *text, size_t length)
{
    if (strlen(text) <= length)
        return;
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    text[length] = '\0';
}

/* 'front', ": " and 'cause' into 'err'; as much of the front as the cause
 * leaves room for. */
static void join(struct iobm_error *err, char *front, const char *cause)
{
    size_t length = strlen(cause); /* < TEXT_ROOM */
    size_t at = 0;

    if (length + 2 < TEXT_ROOM - 1)
        cut(front, TEXT_ROOM - 1 - 2 - length);
    else
        front[0] = '\0';
    if (front[0] != '\0') {
        at = strlen(front);
        memcpy(err->text, front, at);
        memcpy(err->text + at, ": ", 2);
        at += 2;
    }
    memcpy(err->text + at, cause, length);
    err->text[at + length] = '\0';
    make_printable(err->text);
}

/* Room beyond TEXT_ROOM, so that cut() sees where a sequence was split. */
IOBM_PRINTF(3, 0)
static void format(char *text, size_t room, const char *fmt, va_list args)
{
    if (vsnprintf(text, room, fmt, args) < 0)
        snprintf(text, room, "(message cannot be formatted)");
}

enum iobm_status iobm_fail(struct iobm_error *err, enum iobm_status status,
                           const char *fmt, ...)
{
    if (!err)
        return status;

    /* Not straight into err: err->text may be among the arguments. */
    char text[TEXT_ROOM + 4];
    va_list args;
    va_start(args, fmt);
    format(text, sizeof(text), fmt, args);
    va_end(args);

    cut(text, TEXT_ROOM - 1);
    make_printable(text);
    err->status = status;
    err->rank = -1;
    memcpy(err->text, text, strlen(text) + 1);
    return status;
}

enum iobm_status iobm_fail_errno(struct iobm_error *err, int errnum,
                                 const char *fmt, ...)
{
    if (!err)
        return IOBM_EIO;

    char text[TEXT_ROOM + 4];
    va_list args;
    va_start(args, fmt);
    format(text, sizeof(text), fmt, args);
    va_end(args);

    err->status = IOBM_EIO;
    err->rank = -1;
    join(err, text, strerror(errnum));
    return IOBM_EIO;
}

enum iobm_status iobm_context(struct iobm_error *err, enum iobm_status status,
                              const char *fmt, ...)
{
    if (!err)
        return status;

    char text[TEXT_ROOM + 4];
    char cause[TEXT_ROOM];
    va_list args;
    va_start(args, fmt);
    format(text, sizeof(text), fmt, args);
    va_end(args);

    err->status = status;
    memcpy(cause, err->text, TEXT_ROOM);
    join(err, text, cause);
    return status;
}

const char *iobm_status_name(enum iobm_status status)
{
    switch (status) {
    case IOBM_OK:
        return "ok";
    case IOBM_EUSAGE:
        return "usage error";
    case IOBM_ENOMEM:
        return "out of memory";
    case IOBM_EIO:
        return "i/o error";
    case IOBM_EUNSUPPORTED:
        return "not supported";
    case IOBM_ECORRUPT:
        return "data differ";
    case IOBM_EBUG:
        return "internal error";
    case IOBM_EINVALID:
        return "invalid measurement";
    case IOBM_ESTOPPED:
        return "stopped";
    }
    return "unknown status";
}
