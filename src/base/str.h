/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_BASE_STR_H
#define IOBM_BASE_STR_H

/*
 * A string that grows.  A failed allocation is remembered in 'failed' and
 * makes later calls do nothing, so that a caller checks once, at the end.
 */

#include <stdbool.h>
#include <stddef.h>

#include "iobm/error.h"

struct str {
    char *text; /* NUL-terminated once anything was added, else NULL */
    size_t length, room;
    bool failed;
};

void str_release(struct str *s); /* frees; leaves an empty string */
void str_add(struct str *s, const char *text);
void str_addn(struct str *s, const char *text, size_t n);
void str_addf(struct str *s, const char *fmt, ...) IOBM_PRINTF(2, 3);

/* 'text' as a JSON string with its quotes.  Bytes that are not valid UTF-8
 * become U+FFFD; control characters are escaped. */
void str_add_json(struct str *s, const char *text);

/* 'value' as a JSON number with all its digits; NaN and infinity: null. */
void str_add_json_double(struct str *s, double value);

/* 'text' as one CSV field (RFC 4180: quoted where it must be). */
void str_add_csv(struct str *s, const char *text);

/* Copy into a member of 'room' bytes, cut off where it is too long. */
void str_copy(char *to, size_t room, const char *from);

/* The text, "" when empty. */
const char *str_text(const struct str *s);

#endif
