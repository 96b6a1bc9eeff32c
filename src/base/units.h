/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_BASE_UNITS_H
#define IOBM_BASE_UNITS_H

/*
 * Sizes and times as people type and read them.  B is bytes; K M G T P and
 * KiB MiB ... are powers of two; kB KB MB GB TB PB are powers of ten.
 */

#include <stddef.h>
#include <stdint.h>

#include "iobm/error.h"

/*
 * Read a size in bytes, >= 0.  Fractions are allowed ("1.5g") when the result
 * is a whole number of bytes; letters in any case, except that "kb" is told
 * by the B alone (K = 1024, KB = kB = 1000).  'bare' names the unit of a
 * number without one ("GiB"), or is NULL: refused.  Anything else fails with
 * IOBM_EUSAGE and says what was understood; so does more than INT64_MAX.
 */
enum iobm_status units_parse_size(const char *text, const char *bare,
                                  int64_t *bytes,
                                  struct iobm_error *err) IOBM_CHECK;

/* Read a time into ns: ns us ms s m(in) h; a bare number is seconds. */
enum iobm_status units_parse_time(const char *text, int64_t *ns,
                                  struct iobm_error *err) IOBM_CHECK;

/* Read a whole decimal number, sign allowed, nothing behind it. */
enum iobm_status units_parse_int(const char *text, int64_t *value,
                                 struct iobm_error *err) IOBM_CHECK;

/* "10 GiB", "2.5 GiB", "1.07 GiB" (about), "1000 B".  Returns 'text'. */
const char *units_size(char *text, size_t room, int64_t bytes);

/* "10 GiB (10737418240 bytes)".  Returns 'text'. */
const char *units_size_exact(char *text, size_t room, int64_t bytes);

/* The nearest text that units_parse_size reads back as just 'bytes', as
 * short as it gets: "16M", "1000003B".  Returns 'text'. */
const char *units_size_typed(char *text, size_t room, int64_t bytes);

/* 'a' times 'b' or 'a' plus 'b', both >= 0; IOBM_EUSAGE naming 'what' on
 * overflow. */
enum iobm_status units_multiply(int64_t a, int64_t b, const char *what,
                                int64_t *product,
                                struct iobm_error *err) IOBM_CHECK;
enum iobm_status units_add(int64_t a, int64_t b, const char *what, int64_t *sum,
                           struct iobm_error *err) IOBM_CHECK;

#endif
