/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_STATS_REPEATS_H
#define IOBM_STATS_REPEATS_H

/*
 * What the repeats of a phase say together, and whether more are needed:
 * docs/method.md section 4.  Pure.  Rates have any unit, percent are percent,
 * n/a is NaN.
 *
 * Spread, gaps and trends are judged by the logarithms of the rates: 10 %
 * count the same at any speed, and rates are judged as their times would be.
 * "Scaled MAD" is the median distance from the median times 1.4826, which for
 * normal values estimates their standard deviation.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPEATS_PRECISE_LEAST 6 /* fewer have no interval of 95 % */
#define REPEATS_CAP_DEFAULT   30

/*
 * 'n' repeats in the order in which they ran.  A rate that is NaN, infinite,
 * 0 or negative is that of a repeat that is not complete: it is left out, and
 * counted.  'bytes' and 'seconds' may be NULL: no mean_rate.
 */
struct repeats_input {
    const double *rate;
    const double *bytes;
    const double *seconds;
    size_t n;
};

/*
 * The three health tests, their rules and how often each is wrong about
 * values of one normal or lognormal distribution (measured for n = 5 .. 30):
 *
 * first_run  n >= 5; the first is outside the range of the others by more
 *            than 3 scaled MAD of them (6 with n = 5, 4 with 6) and more than
 *            5 %.  Wrong <= 4 %.
 * trend      Mann-Kendall p < 0.05, and a change of at least 1 %.
 *            Wrong <= 5 %, of rounded values too.
 * two_modes  n >= 6; at the widest gap that leaves at least 2 repeats and a
 *            sixth of all on each side, the means of the sides are further
 *            apart than max(5, 3 + 38/n) times the standard deviation within
 *            the sides, and more than 5 %.  Wrong <= 1 %.
 *            Modes 8 standard deviations apart are found in 42 % of cases
 *            with n = 6, 80 % with 10, 98 % with 15; 12 apart: 83 %, 99 %,
 *            all.
 */
struct repeats {
    size_t n, left_out; /* complete repeats, and the others */
    double median;
    double low, high;      /* interval of the median; NaN when n < 2 */
    double confidence_pct; /* that it really has: 50 with n = 2 */
    bool is_95;            /* n >= 6: only then it may be called 95 % */
    double half_width_pct; /* (high - low) / 2 / median */
    double mean_rate;      /* sum of bytes / sum of seconds */
    double best, worst;
    double cov_pct; /* standard deviation (n - 1) / mean; NaN when n < 2 */

    bool first_run;
    double first_run_pct; /* first / median of the others - 1; NaN when the
                             very first is left out, or is alone */
    bool trend;
    double trend_p;   /* Mann-Kendall, two-sided: exact for n <= 50 without
                         ties, else normal; NaN when n < 3 */
    double trend_pct; /* first to last repeat, by the Theil-Sen slope; NaN
                         when n < 3 */
    bool two_modes;
    double mode_low, mode_high; /* medians of the two; NaN unless two_modes */
    size_t outliers; /* n >= 5: more than 10 scaled MAD and more than 1 % from
                        the median.  Flagged; they stay in all figures. */
};

/* 'outlier' (n flags, false for what is left out) may be NULL.  False when
 * memory is short. */
bool repeats_summarise(const struct repeats_input *in, bool *outlier,
                       struct repeats *out);

enum repeats_stop {
    REPEATS_GO_ON,
    REPEATS_PRECISE,
    REPEATS_CAP,
    REPEATS_BUDGET
};

/*
 * Whether to stop after the repeats so far: with at least 6 complete ones and
 * a half_width_pct of at most 'target_pct'; else when 'cap' (0: 30) repeats,
 * complete or not, were run; else when 'budget_ns' (0: none) are spent.
 *
 * To stop when it looks precise favours samples that look so by chance: with
 * a target of 5 % and any spread the intervals at the end hold the median in
 * 93 % of cases (simulated, lognormal of 3 to 20 %).  Those that end as
 * "precise" against the odds hold it less often: 90 % where the spread is 10 %
 * and a third reach the cap, 77 % where it is 15 % and most do.
 */
enum repeats_stop repeats_decide(const struct repeats *so_far,
                                 double target_pct, size_t cap,
                                 int64_t spent_ns, int64_t budget_ns);

/* "precise", "cap", "time budget"; "" for REPEATS_GO_ON. */
const char *repeats_stop_name(enum repeats_stop stop);

/*
 * The same phase in several jobs.  Repeats of one job share its nodes, its
 * neighbours and its hour, and are no independent values: the interval is
 * that of the jobs' means, one value per job.
 */
struct repeats_jobs {
    struct repeats means; /* of the jobs' mean rates, in order of their first
                             complete repeat; 'left_out' is 0 */
    size_t left_out;      /* repeats */
    double within_pct;    /* standard deviation between repeats of a job; NaN
                             when no job has two */
    double between_pct;   /* and of the jobs, without what 'within' explains;
                             NaN when within_pct is, or there is one job */
};

/* 'job[i]' is any number that tells the job of repeat i.  'bytes' and
 * 'seconds' are needed.  False when memory is short. */
bool repeats_summarise_jobs(const struct repeats_input *in, const int64_t *job,
                            struct repeats_jobs *out);

#endif
