/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_CONF_PARSE_H
#define IOBM_CONF_PARSE_H

/*
 * Option tables: from the command line into a struct, and out again as
 * --help, as the man page's OPTIONS and as the record kept with a result.
 */

#include <stdbool.h>

#include "base/kv.h"
#include "base/str.h"
#include "iobm/error.h"
#include "iobm/option.h"

/* Set every member to its preset.  Without one: false, the first choice, -1
 * for numbers (so -1 means "not given"), NULL, an empty list. */
enum iobm_status opt_init(const struct iobm_option *table, void *options,
                          struct iobm_error *err) IOBM_CHECK;
void opt_release(const struct iobm_option *table, void *options);

/*
 * Parse argv[0..argc): -x, -xVALUE, -x VALUE, -xyz for flags together,
 * --name, --name=VALUE, --name VALUE, --no-name for flags, "--".  An
 * unambiguous beginning of a long name is not accepted (scripts must not break
 * when options are added); the error suggests a near name.  'given' has one
 * flag per row, cleared first, set when the option was used (a flag also by
 * --no-name); a value given twice (except lists) is refused, so is a flag both
 * set and unset.  An action ends the parsing.  Operands stop with IOBM_EUSAGE
 * unless 'operands' (room for argc) is not NULL.
 */
enum iobm_status opt_parse(const struct iobm_option *table, int argc,
                           char *const *argv, void *options, bool *given,
                           const char **operands, int *operand_count,
                           struct iobm_error *err) IOBM_CHECK;

/* Row index of an option by its name; a name not in the table is a bug. */
int opt_row(const struct iobm_option *table, const char *name);

/* "  -b, --transfer-size SIZE   one transfer (default 16 MiB)", wrapped at 80
 * columns, with the groups' headings. */
void opt_help(const struct iobm_option *table, struct str *out);

/* The same as man(7) source, to stand under ".SH OPTIONS": .SS and .TP. */
void opt_man(const struct iobm_option *table, struct str *out);

/* Every option with its value as a user would type it: name, value ("" when
 * it has none; "true" and "false" for flags; a list once per item). */
enum iobm_status opt_record(const struct iobm_option *table,
                            const void *options, struct kvlist *out,
                            struct iobm_error *err) IOBM_CHECK;

#endif
