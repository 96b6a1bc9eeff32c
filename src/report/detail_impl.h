/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_REPORT_DETAIL_IMPL_H
#define IOBM_REPORT_DETAIL_IMPL_H

/* What the files behind detail_text.h share, and nobody else needs. */

#include <stddef.h>

#include "base/str.h"
#include "iobm/result.h"

/* "write", "read repeat 2" */
void detail_name(const struct iobm_phase_row *phase, struct str *out);

/* That and ": TEXT" as a line, after an empty one unless it is the first. */
void detail_heading(const struct iobm_phase_row *phase, const char *text,
                    struct str *out);

/* Blanks, then a bar of at most DETAIL_BAR columns for 'value' of 'most', and
 * the end of the line.  What is there but too little for a column is a dot. */
#define DETAIL_BAR 40
void detail_bar(double value, double most, struct str *out);

/* 'text' right aligned. */
void detail_right(const char *text, size_t columns, struct str *out);

/* A name, cleaned and shortened, and blanks up to 'columns' (>= 5). */
void detail_left(const char *text, size_t room, size_t columns,
                 struct str *out);

/* Add the words of 'line' as whole lines, and release it. */
void detail_line(size_t indent, struct str *line, struct str *out);

#endif
