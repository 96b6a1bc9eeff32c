/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sizes and times between text and int64_t, exactly: no floating point, so
 * that 0.1 is a tenth.  Which option takes what is known in src/conf.
 */

#include "base/units.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    int64_t factor;
};

#define POW2(n) (INT64_C(1) << (n))

static const struct unit size_units[] = {
    {"B", 1},
    {"K", POW2(10)},
    {"M", POW2(20)},
    {"G", POW2(30)},
    {"T", POW2(40)},
    {"P", POW2(50)},
    {"KiB", POW2(10)},
    {"MiB", POW2(20)},
    {"GiB", POW2(30)},
    {"TiB", POW2(40)},
    {"PiB", POW2(50)},
    {"kB", INT64_C(1000)},
    {"MB", INT64_C(1000000)},
    {"GB", INT64_C(1000000000)},
    {"TB", INT64_C(1000000000000)},
    {"PB", INT64_C(1000000000000000)},
    {NULL, 0},
};

static const struct unit time_units[] = {
    {"ns", 1},
    {"us", INT64_C(1000)},
    {"ms", INT64_C(1000000)},
    {"s", INT64_C(1000000000)},
    {"m", INT64_C(60000000000)},
    {"min", INT64_C(60000000000)},
    {"h", INT64_C(3600000000000)},
    {NULL, 0},
};

/* "Gb" is a gigabit to a network engineer: letters in any case, but not a
 * large prefix with a small b. */
static bool is_bits(const char *name)
{
    size_t length = strlen(name);

    return length > 1 && name[length - 1] == 'b' && name[0] >= 'A' &&
           name[0] <= 'Z';
}

static const struct unit *find_unit(const struct unit *units, const char *name)
{
    if (is_bits(name))
        return NULL;
    for (; units->name; units++)
        if (strcasecmp(units->name, name) == 0)
            return units;
    return NULL;
}

/* A number as typed: whole + fraction / scale, scale a power of ten. */
struct number {
    int64_t whole;
    int64_t fraction, scale;
    const char *behind;
};

#define SCALE_MAX INT64_C(1000000000000000000)

enum number_fault { NUMBER_OK, NUMBER_NONE, NUMBER_LARGE, NUMBER_FINE };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits, then perhaps a point and at least one more digit. */
static enum number_fault read_number(const char *text, struct number *out)
{
    enum number_fault fault = NUMBER_OK;
    const char *p = text;

    *out = (struct number){.scale = 1};
    if (!is_digit(*p))
        return NUMBER_NONE;
    for (; is_digit(*p); p++)
        if (__builtin_mul_overflow(out->whole, INT64_C(10), &out->whole) ||
            __builtin_add_overflow(out->whole, *p - '0', &out->whole))
            fault = NUMBER_LARGE;
    if (*p == '.' && is_digit(p[1])) {
        size_t digits = strspn(++p, "0123456789");
        const char *end = p + digits;
        while (digits > 0 && p[digits - 1] == '0')
            digits--;
        for (; digits > 0; digits--, p++) {
            if (out->scale == SCALE_MAX) {
                fault = NUMBER_FINE;
                break;
            }
            out->scale *= 10;
            out->fraction = 10 * out->fraction + (*p - '0');
        }
        p = end;
    }
    out->behind = p;
    return fault;
}

enum scale_fault { SCALE_OK, SCALE_BROKEN, SCALE_LARGE };

/* 'number' times 'factor', rounded down; SCALE_BROKEN when it had to be. */
static enum scale_fault scale_number(const struct number *number,
                                     int64_t factor, int64_t *value)
{
    unsigned __int128 part =
        (unsigned __int128)number->fraction * (unsigned __int128)factor;
    unsigned __int128 sum =
        (unsigned __int128)number->whole * (unsigned __int128)factor +
        part / (unsigned __int128)number->scale;

    if (sum > INT64_MAX)
        return SCALE_LARGE;
    *value = (int64_t)sum;
    return part % (unsigned __int128)number->scale ? SCALE_BROKEN : SCALE_OK;
}

/* What a kind of quantity is called in messages. */
struct quantity {
    const char *noun;  /* "size" */
    const char *whole; /* what it is counted in: "bytes" */
    const char *small; /* the unit of that: "B" */
    const char *units; /* what may be written */
    const struct unit *table;
};

static const struct quantity size_quantity = {
    "size",
    "bytes",
    "B",
    "B, K M G T P or KiB ... PiB (powers of 2), kB ... PB (powers of 10)",
    size_units,
};

static const struct quantity time_quantity = {
    "time", "nanoseconds", "ns", "ns, us, ms, s, min or h", time_units,
};

static enum iobm_status refuse_number(const struct quantity *q,
                                      const char *text, enum number_fault fault,
                                      struct iobm_error *err)
{
    if (fault == NUMBER_LARGE)
        return iobm_fail(err, IOBM_EUSAGE,
                         "cannot use %s '%s': too large a number", q->noun,
                         text);
    if (fault == NUMBER_FINE)
        return iobm_fail(err, IOBM_EUSAGE,
                         "cannot use %s '%s': too many digits behind the "
                         "point",
                         q->noun, text);
    if (text[0] == '-')
        return iobm_fail(err, IOBM_EUSAGE, "cannot use %s '%s': it is negative",
                         q->noun, text);
    if (text[0] == '\0')
        return iobm_fail(err, IOBM_EUSAGE, "cannot use %s '': it is empty",
                         q->noun);
    return iobm_fail(err, IOBM_EUSAGE,
                     "cannot use %s '%s': it does not begin with a digit",
                     q->noun, text);
}

static enum iobm_status refuse_unit(const struct quantity *q, const char *text,
                                    const struct number *number,
                                    const char *unit, struct iobm_error *err)
{
    int length = (int)(number->behind - text);

    return iobm_fail(err, IOBM_EUSAGE,
                     "cannot use %s '%s': understood the number %.*s, but not "
                     "the unit '%s' (known are %s)",
                     q->noun, text, length, text, unit, q->units);
}

static enum iobm_status parse_quantity(const struct quantity *q,
                                       const char *text, const char *bare,
                                       int64_t *value, struct iobm_error *err)
{
    struct number number;
    enum number_fault fault = read_number(text, &number);

    if (fault != NUMBER_OK)
        return refuse_number(q, text, fault, err);

    const char *name = number.behind;
    if (*name == ' ' && name[1] != '\0')
        name++;
    if (*name == '\0') {
        if (!bare)
            return iobm_fail(err, IOBM_EUSAGE,
                             "cannot use %s '%s': it has no unit (%s)", q->noun,
                             text, q->units);
        name = bare;
    }
    const struct unit *unit = find_unit(q->table, name);
    if (!unit)
        return refuse_unit(q, text, &number, name, err);

    int64_t result = 0;
    switch (scale_number(&number, unit->factor, &result)) {
    case SCALE_OK:
        break;
    case SCALE_LARGE:
        return iobm_fail(err, IOBM_EUSAGE,
                         "cannot use %s '%s': understood %.*s %s, which is "
                         "more than %" PRId64 " %s",
                         q->noun, text, (int)(number.behind - text), text,
                         unit->name, INT64_MAX, q->whole);
    case SCALE_BROKEN:
        return iobm_fail(err, IOBM_EUSAGE,
                         "cannot use %s '%s': understood %.*s %s, which is no "
                         "whole number of %s; the next below is %" PRId64 "%s",
                         q->noun, text, (int)(number.behind - text), text,
                         unit->name, q->whole, result, q->small);
    }
    *value = result;
    return IOBM_OK;
}

enum iobm_status units_parse_size(const char *text, const char *bare,
                                  int64_t *bytes, struct iobm_error *err)
{
    return parse_quantity(&size_quantity, text, bare, bytes, err);
}

enum iobm_status units_parse_time(const char *text, int64_t *ns,
                                  struct iobm_error *err)
{
    return parse_quantity(&time_quantity, text, "s", ns, err);
}

enum iobm_status units_parse_int(const char *text, int64_t *value,
                                 struct iobm_error *err)
{
    const bool negative = text[0] == '-';
    const char *p = text + (text[0] == '-' || text[0] == '+');
    int64_t sum = 0;

    if (!is_digit(*p))
        return iobm_fail(err, IOBM_EUSAGE,
                         "cannot use '%s': not a whole number", text);
    for (; is_digit(*p); p++) {
        int digit = negative ? '0' - *p : *p - '0';
        if (__builtin_mul_overflow(sum, INT64_C(10), &sum) ||
            __builtin_add_overflow(sum, digit, &sum))
            return iobm_fail(err, IOBM_EUSAGE,
                             "cannot use '%s': too large a number", text);
    }
    if (*p != '\0')
        return iobm_fail(err, IOBM_EUSAGE,
                         "cannot use '%s': not a whole number (understood "
                         "%" PRId64 ", but not '%s')",
                         text, sum, p);
    *value = sum;
    return IOBM_OK;
}

/* 'bytes' in thousandths of 'factor', rounded to the nearest. */
static int64_t thousandths(int64_t bytes, int64_t factor, bool *exact)
{
    __int128 scaled = (__int128)bytes * 1000;

    *exact = scaled % factor == 0;
    return (int64_t)((scaled + factor / 2) / factor);
}

/* 2500 -> "2.5". */
static void print_thousandths(char *text, size_t room, int64_t value)
{
    int n = snprintf(text, room, "%" PRId64 ".%03d", value / 1000,
                     (int)(value % 1000));

    while (n > 0 && text[n - 1] == '0')
        text[--n] = '\0';
    if (n > 0 && text[n - 1] == '.')
        text[--n] = '\0';
}

const char *units_size(char *text, size_t room, int64_t bytes)
{
    static const char *const names[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
    int64_t factor = 1024;
    int i = 0;
    bool exact;

    if (bytes < 1024) {
        snprintf(text, room, "%" PRId64 " B", bytes);
        return text;
    }
    /* Up a unit where two decimals would round to 1024.00. */
    while (i < 4 && bytes >= factor * 1024 - factor / 200) {
        factor *= 1024;
        i++;
    }
    int64_t value = thousandths(bytes, factor, &exact);
    if (exact) {
        char number[32];
        print_thousandths(number, sizeof(number), value);
        snprintf(text, room, "%s %s", number, names[i]);
    } else {
        /* Two decimals always: ".00" tells that it is about that. */
        int64_t cents =
            (int64_t)(((__int128)bytes * 100 + factor / 2) / factor);
        snprintf(text, room, "%" PRId64 ".%02d %s", cents / 100,
                 (int)(cents % 100), names[i]);
    }
    return text;
}

const char *units_size_exact(char *text, size_t room, int64_t bytes)
{
    char about[40];

    if (bytes < 1024)
        snprintf(text, room, "%" PRId64 " byte%s", bytes,
                 bytes == 1 ? "" : "s");
    else
        snprintf(text, room, "%s (%" PRId64 " bytes)",
                 units_size(about, sizeof(about), bytes), bytes);
    return text;
}

const char *units_size_typed(char *text, size_t room, int64_t bytes)
{
    char best[40];
    bool best_whole = true;

    snprintf(best, sizeof(best), "%" PRId64 "B", bytes);
    for (const struct unit *u = size_units; u->name && bytes > 0; u++) {
        char number[32], typed[40];
        bool exact;
        if (u->factor > bytes || bytes / u->factor > INT64_MAX / 1000)
            continue;
        int64_t value = thousandths(bytes, u->factor, &exact);
        if (!exact)
            continue;
        print_thousandths(number, sizeof(number), value);
        snprintf(typed, sizeof(typed), "%s%s", number, u->name);
        bool whole = value % 1000 == 0;
        /* Of two as short, the one without a point. */
        if (strlen(typed) < strlen(best) ||
            (strlen(typed) == strlen(best) && whole && !best_whole)) {
            memcpy(best, typed, sizeof(best));
            best_whole = whole;
        }
    }
    snprintf(text, room, "%s", best);
    return text;
}

enum iobm_status units_multiply(int64_t a, int64_t b, const char *what,
                                int64_t *product, struct iobm_error *err)
{
    int64_t result;

    if (a < 0 || b < 0)
        return iobm_fail(err, IOBM_EBUG,
                         "%s: %" PRId64 " times %" PRId64 " is negative", what,
                         a, b);
    if (__builtin_mul_overflow(a, b, &result))
        return iobm_fail(err, IOBM_EUSAGE,
                         "%s is too large: %" PRId64 " times %" PRId64
                         " is more than %" PRId64,
                         what, a, b, INT64_MAX);
    *product = result;
    return IOBM_OK;
}

enum iobm_status units_add(int64_t a, int64_t b, const char *what, int64_t *sum,
                           struct iobm_error *err)
{
    int64_t result;

    if (a < 0 || b < 0)
        return iobm_fail(err, IOBM_EBUG,
                         "%s: %" PRId64 " plus %" PRId64 " is negative", what,
                         a, b);
    if (__builtin_add_overflow(a, b, &result))
        return iobm_fail(err, IOBM_EUSAGE,
                         "%s is too large: %" PRId64 " plus %" PRId64
                         " is more than %" PRId64,
                         what, a, b, INT64_MAX);
    *sum = result;
    return IOBM_OK;
}
