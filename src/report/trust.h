/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_REPORT_TRUST_H
#define IOBM_REPORT_TRUST_H

/* What stands behind a figure, in sentences: how the rate went, what the
 * witnesses say, the certificate, the repeats. */

#include <stdbool.h>

#include "base/str.h"
#include "iobm/result.h"

/* How the rate went over the time and the ranks, and the latencies. */
void trust_course(const struct iobm_phase_row *phase, bool verbose,
                  struct str *out);

/* Where the bytes of a read came from; how a verification went. */
void trust_evidence(const struct iobm_phase_row *phase,
                    const struct iobm_detail *detail, struct str *out);

/* The checks of a phase, or of the run (phase -1): how many came out how, and
 * a line for each that is more than a note; 'verbose': for each that is not
 * OK. */
void trust_checks(const struct iobm_detail *detail, int64_t phase,
                  int64_t repeat, bool verbose, struct str *out);

/* The repeats of each kind of phase, where there are several. */
void trust_repeats(const struct iobm_detail *detail, struct str *out);

#endif
