/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The growing string, and how a text or number is spelt in JSON and CSV.
 * What a document contains is decided in src/report.
 */

#include "base/str.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void str_release(struct str *s)
{
    free(s->text);
    *s = (struct str){0};
}

/* Room for 'more' bytes and the NUL. */
static bool reserve(struct str *s, size_t more)
{
    if (s->failed)
        return false;
    if (more >= SIZE_MAX / 2 - s->length) {
        s->failed = true;
        return false;
    }
    size_t need = s->length + more + 1;
    if (need <= s->room)
        return true;

    size_t room = s->room ? s->room : 64;
    while (room < need)
        room *= 2;
    char *text = realloc(s->text, room);
    if (!text) {
        s->failed = true;
        return false;
    }
    s->text = text;
    s->room = room;
    return true;
}

void str_addn(struct str *s, const char *text, size_t n)
{
    if (!reserve(s, n))
        return;
    if (n > 0)
        memcpy(s->text + s->length, text, n);
    s->length += n;
    s->text[s->length] = '\0';
}

void str_add(struct str *s, const char *text)
{
    str_addn(s, text, strlen(text));
}

void str_addf(struct str *s, const char *fmt, ...)
{
    va_list args, again;

    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n < 0)
        s->failed = true;
    else if (reserve(s, (size_t)n)) {
        vsnprintf(s->text + s->length, (size_t)n + 1, fmt, again);
        s->length += (size_t)n;
    }
    va_end(again);
}

/* Bytes of the UTF-8 sequence at 'p' (RFC 3629), 0 when it is not one. */
static size_t utf8_length(const unsigned char *p)
{
    unsigned char low = 0x80, high = 0xbf;
    size_t length;

    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        length = 2;
    else if (p[0] >= 0xe0 && p[0] <= 0xef)
        length = 3;
    else if (p[0] >= 0xf0 && p[0] <= 0xf4)
        length = 4;
    else
        return 0;
    if (p[0] == 0xe0)
        low = 0xa0; /* below: overlong */
    else if (p[0] == 0xed)
        high = 0x9f; /* above: surrogates */
    else if (p[0] == 0xf0)
        low = 0x90;
    else if (p[0] == 0xf4)
        high = 0x8f; /* above: beyond U+10FFFF */
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
    return length;
}

static void add_json_ascii(struct str *s, unsigned char c)
{
    switch (c) {
    case '"':
        str_addn(s, "\\\"", 2);
        break;
    case '\\':
        str_addn(s, "\\\\", 2);
        break;
    case '\n':
        str_addn(s, "\\n", 2);
        break;
    case '\r':
        str_addn(s, "\\r", 2);
        break;
    case '\t':
        str_addn(s, "\\t", 2);
        break;
    default:
        if (c < 0x20 || c == 0x7f)
            str_addf(s, "\\u%04x", (unsigned)c);
        else
            str_addn(s, (const char *)&c, 1);
    }
}

void str_add_json(struct str *s, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;

    str_addn(s, "\"", 1);
    while (*p) {
        size_t length = utf8_length(p);
        if (length == 0) {
            str_addn(s, "\xef\xbf\xbd", 3);
            length = 1;
        } else if (length == 1) {
            add_json_ascii(s, *p);
        } else {
            str_addn(s, (const char *)p, length);
        }
        p += length;
    }
    str_addn(s, "\"", 1);
}

void str_add_json_double(struct str *s, double value)
{
    char text[40];

    if (!isfinite(value)) {
        str_add(s, "null");
        return;
    }
    /* 17 digits are always enough, 15 most often are and read better. */
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    /* A library may have set a locale with a decimal comma. */
    char *comma = strchr(text, ',');
    if (comma)
        *comma = '.';
    str_add(s, text);
}

void str_add_csv(struct str *s, const char *text)
{
    size_t length = strlen(text);
    bool plain = !strpbrk(text, ",\"\r\n") &&
                 (length == 0 || (text[0] != ' ' && text[length - 1] != ' '));

    if (plain) {
        str_addn(s, text, length);
        return;
    }
    str_addn(s, "\"", 1);
    for (const char *p = text; *p; p++)
        str_addn(s, *p == '"' ? "\"\"" : p, *p == '"' ? 2 : 1);
    str_addn(s, "\"", 1);
}

const char *str_text(const struct str *s)
{
    return s->text ? s->text : "";
}

void str_copy(char *to, size_t room, const char *from)
{
    size_t n = strnlen(from, room - 1);

    memcpy(to, from, n);
    to[n] = '\0';
}
