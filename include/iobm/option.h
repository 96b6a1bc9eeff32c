/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_OPTION_H
#define IOBM_OPTION_H

#include <stddef.h>

/*
 * One row declares one option once.  The command line, --help, the man page
 * and the record kept with the results are all made from it.  Rows hold an
 * offset, not an address, so a table is const and serves any number of
 * instances.
 */

enum iobm_option_type {
    IOBM_OPT_END = 0,
    IOBM_OPT_BOOL,   /* bool; --no-NAME unsets it */
    IOBM_OPT_INT,    /* int64_t */
    IOBM_OPT_SIZE,   /* int64_t, bytes */
    IOBM_OPT_TIME,   /* int64_t, nanoseconds; a bare number is seconds */
    IOBM_OPT_CHOICE, /* int, index into 'choices' */
    IOBM_OPT_STRING, /* char *, owned by the struct, NULL when not given */
    IOBM_OPT_LIST,   /* struct kvlist, KEY=VALUE each time it is given */
    IOBM_OPT_ACTION, /* no member: --help, --version; the caller asks.  With
                        'choices' an int takes the index of an optional
                        value, --help=all; 0 without one */
};

struct iobm_option {
    const char *name; /* "transfer-size" */
    char letter;      /* 'b', or 0 */
    enum iobm_option_type type;
    size_t offset;      /* of the member that receives the value */
    const char *preset; /* the default, as a user would type it, or NULL */
    const char *min;    /* inclusive, as a user would type it, or NULL */
    const char *max;    /* likewise */
    const char *bare;   /* unit of a bare number: "GiB", or NULL: refused */
    const char *const *choices; /* NULL-terminated, for IOBM_OPT_CHOICE */
    const char *argument;       /* "SIZE" in --help, or NULL */
    const char *group;          /* heading in --help=all; NULL: as before */
    const char *help;           /* one sentence, lower case, no full stop */
};

#endif
