/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fitting text and numbers into 80 columns.  What is said is decided in the
 * other files here.
 */
#include "report/lines.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

#define MiB 1048576.0
#define GiB 1073741824.0

/* Bytes of the valid UTF-8 sequence at 'p', 0 when it is none; 'left' bytes
 * may be looked at. */
static size_t sequence(const unsigned char *p, size_t left, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = p[0] < 0x80             ? 1
                    : (p[0] & 0xe0) == 0xc0 ? 2
                    : (p[0] & 0xf0) == 0xe0 ? 3
                    : (p[0] & 0xf8) == 0xf0 ? 4
                                            : 0;

    if (length == 0 || length > left)
        return 0;
    *code = length == 1 ? p[0] : p[0] & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (p[i] & 0x3f);
    }
    if (*code < least[length] || *code > 0x10ffff ||
        (*code >= 0xd800 && *code < 0xe000))
        return 0;
    return length;
}

/* East Asian characters and emoji take two columns. */
static size_t width_of(uint32_t code)
{
    return (code >= 0x1100 && code < 0x1160) ||
                   (code >= 0x2e80 && code < 0xa4d0) ||
                   (code >= 0xac00 && code < 0xd7a4) ||
                   (code >= 0xf900 && code < 0xfb00) ||
                   (code >= 0xfe30 && code < 0xfe70) ||
                   (code >= 0xff00 && code < 0xff61) ||
                   (code >= 0x1f300 && code < 0x1fb00) ||
                   (code >= 0x20000 && code < 0x40000)
               ? 2
               : 1;
}

static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) ||
           (code >= 0x200b && code < 0x2010) ||
           (code >= 0x2028 && code < 0x2030) ||
           (code >= 0x2060 && code < 0x2070) || code == 0xfeff;
}

/* Bytes of the first character; 'text' is not empty. */
static size_t first_bytes(const char *text)
{
    uint32_t code;
    size_t length = sequence((const unsigned char *)text, strlen(text), &code);

    return length ? length : 1;
}

size_t line_columns(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t columns = 0;

    while (*p) {
        uint32_t code = '?';
        size_t length = sequence(p, strlen((const char *)p), &code);

        columns += width_of(code);
        p += length ? length : 1;
    }
    return columns;
}

void line_clean(struct str *out, const char *text, size_t room)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t left = strnlen(text, room);

    while (left > 0) {
        uint32_t code = 0;
        size_t length = sequence(p, left, &code);

        if (length == 0 || is_control(code))
            str_add(out, "?");
        else
            str_addn(out, (const char *)p, length);
        length = length ? length : 1;
        p += length;
        left -= length;
    }
}

/* Bytes at the beginning of the clean 'text' that take at most 'columns'. */
static size_t bytes_for(const char *text, size_t columns)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t used = 0;

    while (*p) {
        uint32_t code = '?';
        size_t length = sequence(p, strlen((const char *)p), &code);

        if (used + width_of(code) > columns)
            break;
        used += width_of(code);
        p += length ? length : 1;
    }
    return (size_t)(p - (const unsigned char *)text);
}

void line_short(struct str *out, const char *text, size_t room, size_t columns)
{
    struct str clean = {0};
    size_t head, tail;

    line_clean(&clean, text, room);
    text = str_text(&clean);
    if (line_columns(text) <= columns) {
        str_add(out, text);
    } else {
        head = bytes_for(text, (columns - 3) / 2);
        str_addn(out, text, head);
        str_add(out, "...");
        tail = columns - 3 - (columns - 3) / 2;
        while (line_columns(text + head) > tail)
            head += first_bytes(text + head);
        str_add(out, text + head);
    }
    out->failed = out->failed || clean.failed;
    str_release(&clean);
}

void line_spaces(struct str *out, size_t n)
{
    while (n-- > 0)
        str_addn(out, " ", 1);
}

void line_wrap(struct str *out, size_t indent, const char *text)
{
    size_t column = indent;
    bool first = true;

    line_spaces(out, indent);
    while (*text) {
        size_t length = strcspn(text, " ");
        size_t gap = strspn(text + length, " ");
        struct str word = {0};
        size_t width;

        line_short(&word, text, length, LINE_COLUMNS - indent - 2);
        width = line_columns(str_text(&word));
        if (!first && column + 1 + width > LINE_COLUMNS) {
            str_add(out, "\n");
            line_spaces(out, indent + 2);
            column = indent + 2;
            first = true;
        }
        if (!first) {
            str_add(out, " ");
            column++;
        }
        str_add(out, str_text(&word));
        out->failed = out->failed || word.failed;
        str_release(&word);
        column += width;
        text += length + gap;
        first = false;
        /* two blanks and more between words are meant, when they fit */
        for (; gap > 1 && column + 1 < LINE_COLUMNS; gap--, column++)
            str_add(out, " ");
    }
    while (out->length > 0 && out->text[out->length - 1] == ' ')
        out->text[--out->length] = '\0';
    str_add(out, "\n");
}

const char *line_number(char text[NUMBER_ROOM], double value, int width,
                        int decimals)
{
    if (!isfinite(value))
        return "-";
    if (fabs(value) < 1e18)
        for (; decimals >= 0; decimals--)
            if (snprintf(text, NUMBER_ROOM, "%.*f", decimals, value) <= width)
                return text;
    for (decimals = 3; decimals > 0; decimals--)
        if (snprintf(text, NUMBER_ROOM, "%.*e", decimals, value) <= width)
            return text;
    snprintf(text, NUMBER_ROOM, "%.0e", value);
    return text;
}

const char *line_size(char text[SIZE_ROOM], int64_t bytes)
{
    return units_size(text, SIZE_ROOM, bytes > 0 ? bytes : 0);
}

const char *line_percent(char text[NUMBER_ROOM], double percent)
{
    double size = fabs(percent);

    return line_number(text, percent, 8,
                       size >= 9.95                 ? 0
                       : size >= 0.095 || size == 0 ? 1
                                                    : 2);
}

const char *line_span(char text[NUMBER_ROOM], double seconds)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
    size_t i = 0;

    if (!isfinite(seconds))
        return "-";
    while (i < 3 && fabs(seconds) >= 999.5 * units[i].seconds)
        i++;
    snprintf(text, NUMBER_ROOM, "%.3g %s", seconds / units[i].seconds,
             units[i].name);
    return text;
}

struct rate_unit line_unit(double largest_Bps)
{
    static const struct rate_unit mega = {"MiB/s", "MB/s", MiB, 1e6};
    static const struct rate_unit giga = {"GiB/s", "GB/s", GiB, 1e9};

    return largest_Bps >= 100 * GiB ? giga : mega;
}

const char *line_rate(char text[NUMBER_ROOM], double Bps, double unit_Bps,
                      int width)
{
    double value = Bps / unit_Bps;

    return line_number(text, value, width,
                       value == 0 || value >= 10 ? 2
                       : value >= 0.1            ? 3
                                                 : 6);
}
