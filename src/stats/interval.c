/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which order statistics enclose the median, by the binomial distribution.
 * What the values are, and what is made of them, is in repeats.c.
 */

#include "stats/interval.h"

#include <math.h>

void interval_median(size_t n, double wanted_pct, struct interval *out)
{
    *out = (struct interval){0, 0, NAN};
    if (n < 2)
        return;

    /* 'term' 2^'power' is P(B = j); 2^-n alone would be 0 from n = 1075. */
    double term = 1, below = 0;
    int power = -(int)n;
    for (size_t j = 0; j < n / 2; j++) {
        below += ldexp(term, power);
        double confidence_pct = 100 * (1 - 2 * below);
        if (j > 0 && !(confidence_pct >= wanted_pct))
            break;
        *out = (struct interval){j + 1, n - j, confidence_pct};

        int more;
        term = frexp(term * (double)(n - j) / (double)(j + 1), &more);
        power += more;
    }
}
