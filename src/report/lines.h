/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_REPORT_LINES_H
#define IOBM_REPORT_LINES_H

/*
 * What keeps text within 80 columns whatever the values are: shortened names,
 * numbers that fit a field, wrapped lines.  Bytes that are not UTF-8 and
 * control characters become '?'.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define LINE_COLUMNS 80

/* Columns that a clean text takes on a terminal. */
size_t line_columns(const char *text);

/* The first 'room' bytes of 'text' at most, clean. */
void line_clean(struct str *out, const char *text, size_t room);

/* Likewise, the middle replaced by "..." when wider than 'columns' (>= 5). */
void line_short(struct str *out, const char *text, size_t room, size_t columns);

void line_spaces(struct str *out, size_t n);

/* 'text' (clean) as one or more whole lines, broken between words; the first
 * begins after 'indent' blanks, the others after 'indent' + 2. */
void line_wrap(struct str *out, size_t indent, const char *text);

/* 'value' with at most 'decimals' digits behind the point, fewer or an
 * exponent when it would be wider than 'width' (>= 6); "-" for n/a. */
#define NUMBER_ROOM 32
const char *line_number(char text[NUMBER_ROOM], double value, int width,
                        int decimals);

/* units_size(), 0 for what cannot be a size. */
#define SIZE_ROOM 64
const char *line_size(char text[SIZE_ROOM], int64_t bytes);

/* Per cent: "1.4", "0.03", "200". */
const char *line_percent(char text[NUMBER_ROOM], double percent);

/* "2 us", "14.3 ms". */
const char *line_span(char text[NUMBER_ROOM], double seconds);

/* One unit for all rates of a block: MiB/s, as in the table of ranks, below
 * 100 GiB/s. */
struct rate_unit {
    const char *binary, *decimal; /* "MiB/s", "MB/s" */
    double binary_Bps, decimal_Bps;
};
struct rate_unit line_unit(double largest_Bps);

/* A rate in one of them, with decimals that suit its size. */
const char *line_rate(char text[NUMBER_ROOM], double Bps, double unit_Bps,
                      int width);

#endif
