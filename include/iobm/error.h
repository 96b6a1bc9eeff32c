/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_ERROR_H
#define IOBM_ERROR_H

/*
 * Errors are values.  A function that can fail returns an enum iobm_status
 * and, as its last parameter, takes a struct iobm_error that it fills on
 * failure.  'err' may be NULL.  Nothing here allocates, prints or exits.
 */

#define IOBM_CHECK             __attribute__((warn_unused_result))
#define IOBM_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Negative and small so that statuses can be reduced across ranks. */
enum iobm_status {
    IOBM_OK = 0,
    IOBM_EUSAGE = -1,       /* the user asked for something impossible */
    IOBM_ENOMEM = -2,       /* an allocation failed */
    IOBM_EIO = -3,          /* a system or library call failed */
    IOBM_EUNSUPPORTED = -4, /* this back end cannot do that */
    IOBM_ECORRUPT = -5,     /* data read differs from data written */
    IOBM_EBUG = -6,         /* a broken invariant in iobm itself */
    IOBM_EINVALID = -7,     /* the measurement cannot be trusted */
    IOBM_ESTOPPED = -8,     /* a signal or another rank's failure ended it */
};

struct iobm_error {
    enum iobm_status status;
    int rank;       /* the rank that failed, or -1 when not known */
    char text[756]; /* "cannot write '/big/test.17' at 4096: No space ..." */
};

/* Fill 'err' with 'status', rank -1 and a message; always return 'status'.
 * Control characters in the message (odd path names) become '?', so that one
 * error is one line. */
enum iobm_status iobm_fail(struct iobm_error *err, enum iobm_status status,
                           const char *fmt, ...) IOBM_PRINTF(3, 4);

/* Like iobm_fail() with status IOBM_EIO and ": strerror(errnum)" appended. */
enum iobm_status iobm_fail_errno(struct iobm_error *err, int errnum,
                                 const char *fmt, ...) IOBM_PRINTF(3, 4);

/* Put "<message>: " in front of the text in 'err'; always return 'status'. */
enum iobm_status iobm_context(struct iobm_error *err, enum iobm_status status,
                              const char *fmt, ...) IOBM_PRINTF(3, 4);

/* "usage error", "out of memory" ...: a short constant text. */
const char *iobm_status_name(enum iobm_status status);

#endif
