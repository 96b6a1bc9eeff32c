/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The repeats of a phase: median, interval and health tests, and the rule
 * that ends them.  Which repeats there are, and what is said of the figures,
 * is decided elsewhere.  Comparing two sets is in compare.c.
 */

#include "stats/repeats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/interval.h"
#include "stats/spread.h"

#define MAD_TO_SIGMA 1.4826

#define OUTLIER_LEAST 5
#define OUTLIER_MADS  10.0
#define OUTLIER_SHARE 0.01

#define FIRST_LEAST 5
#define FIRST_MADS  3.0
#define FIRST_SHARE 0.05

#define TREND_LEAST 3
#define TREND_ALPHA 0.05
#define TREND_PCT   1.0
#define TREND_EXACT 50  /* above: the normal approximation */
#define TREND_PAIRS 300 /* above: not the slopes of all pairs */

#define MODES_LEAST 6
#define MODES_SHARE 0.05

/* The complete repeats.  All arrays are parts of 'memory'. */
struct sample {
    double *memory;
    double *logs;    /* [n], as they ran */
    double *at;      /* [n], which repeat each was */
    double *sorted;  /* [n], rates in ascending order */
    double *slogs;   /* [n], their logarithms */
    double *scratch; /* [max(2 n, number of slopes)] */
    size_t n;
    bool has_first; /* logs[0] is that of the very first repeat */
};

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static bool is_complete(double rate)
{
    return isfinite(rate) && rate > 0;
}

/* Median of 'n' sorted values. */
static double middle(const double *sorted, size_t n)
{
    return n % 2 ? sorted[n / 2]
                 : 0.5 * sorted[n / 2 - 1] + 0.5 * sorted[n / 2];
}

/* 'scratch' has room for n. */
static double scaled_mad(const double *values, size_t n, double median,
                         double *scratch)
{
    for (size_t i = 0; i < n; i++)
        scratch[i] = fabs(values[i] - median);
    return MAD_TO_SIGMA * spread_median(scratch, n);
}

static size_t slope_count(size_t n)
{
    return n <= TREND_PAIRS ? n * (n - 1) / 2 : n - n / 2;
}

static bool sample_init(struct sample *s, const struct repeats_input *in)
{
    size_t n = 0;

    for (size_t i = 0; i < in->n; i++)
        n += is_complete(in->rate[i]);
    *s = (struct sample){.n = n};
    if (n == 0)
        return true;

    size_t slopes = slope_count(n), most = slopes > 2 * n ? slopes : 2 * n;
    s->memory = malloc((4 * n + most) * sizeof(*s->memory));
    if (!s->memory)
        return false;
    s->logs = s->memory;
    s->at = s->logs + n;
    s->sorted = s->at + n;
    s->slogs = s->sorted + n;
    s->scratch = s->slogs + n;

    for (size_t i = 0, k = 0; i < in->n; i++) {
        if (!is_complete(in->rate[i]))
            continue;
        s->logs[k] = log(in->rate[i]);
        s->at[k] = (double)i;
        s->sorted[k++] = in->rate[i];
    }
    s->has_first = is_complete(in->rate[0]);
    qsort(s->sorted, n, sizeof(*s->sorted), compare_double);
    for (size_t i = 0; i < n; i++)
        s->slogs[i] = log(s->sorted[i]);
    return true;
}

static void find_interval(const struct sample *s, struct repeats *out)
{
    struct interval ranks;

    out->median = middle(s->sorted, s->n);
    out->worst = s->sorted[0];
    out->best = s->sorted[s->n - 1];
    interval_median(s->n, INTERVAL_PCT, &ranks);
    out->confidence_pct = ranks.confidence_pct;
    out->is_95 = ranks.confidence_pct >= INTERVAL_PCT;
    if (ranks.low == 0)
        return;
    out->low = s->sorted[ranks.low - 1];
    out->high = s->sorted[ranks.high - 1];
    out->half_width_pct = 100 * (out->high - out->low) / 2 / out->median;
}

static double cov_pct(const double *values, size_t n)
{
    double sum = 0, squares = 0;

    if (n < 2)
        return NAN;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return 100 * sqrt(squares / (double)(n - 1)) / mean;
}

static double mean_rate(const struct repeats_input *in)
{
    double bytes = 0, seconds = 0;

    if (!in->bytes || !in->seconds)
        return NAN;
    for (size_t i = 0; i < in->n; i++) {
        if (!is_complete(in->rate[i]))
            continue;
        bytes += in->bytes[i];
        seconds += in->seconds[i];
    }
    return seconds > 0 ? bytes / seconds : NAN;
}

static void find_outliers(const struct sample *s,
                          const struct repeats_input *in, bool *outlier,
                          struct repeats *out)
{
    if (s->n < OUTLIER_LEAST)
        return;
    double median = middle(s->slogs, s->n);
    double mad = scaled_mad(s->slogs, s->n, median, s->scratch);
    double limit = fmax(OUTLIER_MADS * mad, log1p(OUTLIER_SHARE));

    for (size_t i = 0, k = 0; i < in->n; i++) {
        if (!is_complete(in->rate[i]))
            continue;
        bool far = fabs(s->logs[k++] - median) > limit;
        out->outliers += far;
        if (outlier)
            outlier[i] = far;
    }
}

static void test_first(const struct sample *s, struct repeats *out)
{
    size_t rest = s->n - 1;

    if (!s->has_first || s->n < 2)
        return;
    memcpy(s->scratch, s->logs + 1, rest * sizeof(*s->scratch));
    double median = spread_median(s->scratch, rest); /* sorts */
    double least = s->scratch[0], most = s->scratch[rest - 1];
    out->first_run_pct = 100 * expm1(s->logs[0] - median);
    if (s->n < FIRST_LEAST)
        return;
    double mad = scaled_mad(s->logs + 1, rest, median, s->scratch);
    double outside = fmax(least - s->logs[0], s->logs[0] - most);
    /* The MAD of four or five values says little: ask for more then. */
    double mads = fmax(FIRST_MADS, 12 / (double)(s->n - 3));
    out->first_run = outside > fmax(mads * mad, log1p(FIRST_SHARE));
}

/*
 * Sorts 'n' values by merging, and counts the pairs of which the first is
 * larger.  'other' has room for n.
 */
static double count_inversions(double *values, size_t n, double *other)
{
    if (n < 2)
        return 0;
    size_t half = n / 2, left = 0, right = half;
    double count = count_inversions(values, half, other) +
                   count_inversions(values + half, n - half, other);

    for (size_t k = 0; k < n; k++) {
        if (right == n || (left < half && values[left] <= values[right])) {
            other[k] = values[left++];
        } else {
            other[k] = values[right++];
            count += (double)(half - left);
        }
    }
    memcpy(values, other, n * sizeof(*values));
    return count;
}

/* Pairs that are equal, and the ties' part of 18 times the variance. */
static double count_ties(const double *sorted, size_t n, double *variance)
{
    double pairs = 0;

    *variance = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && sorted[end] == sorted[i];)
            end++;
        double t = (double)(end - i);
        pairs += t * (t - 1) / 2;
        *variance += t * (t - 1) * (2 * t + 5);
    }
    return pairs;
}

/* P(at most 'count' inversions) among n values in random order: the i-th
 * value adds 0 .. i - 1 of them, each as likely. */
static double inversions_cdf(size_t n, size_t count)
{
    double p[TREND_EXACT * (TREND_EXACT - 1) / 2 + 1] = {1};
    double next[sizeof(p) / sizeof(p[0])];
    double sum = 0;

    for (size_t i = 2; i <= n; i++) {
        double window = 0; /* of the i values up to k */
        for (size_t k = 0; k <= count; k++) {
            window += p[k];
            if (k >= i)
                window -= p[k - i];
            next[k] = window / (double)i;
        }
        memcpy(p, next, (count + 1) * sizeof(p[0]));
    }
    for (size_t k = 0; k <= count; k++)
        sum += p[k];
    return sum;
}

static double mann_kendall_p(const struct sample *s)
{
    double n = (double)s->n, all = n * (n - 1) / 2, tied_variance;
    double tied = count_ties(s->slogs, s->n, &tied_variance);

    memcpy(s->scratch, s->logs, s->n * sizeof(*s->scratch));
    double down = count_inversions(s->scratch, s->n, s->scratch + s->n);
    double score = fabs(all - tied - 2 * down);
    if (tied == 0 && s->n <= TREND_EXACT)
        return fmin(1, 2 * inversions_cdf(s->n, (size_t)((all - score) / 2)));
    double variance = (n * (n - 1) * (2 * n + 5) - tied_variance) / 18;
    if (!(score > 0 && variance > 0))
        return 1;
    return erfc((score - 1) / sqrt(variance) / sqrt(2));
}

/* Median slope per repeat.  Beyond TREND_PAIRS repeats only of the pairs that
 * are half of all apart: nearly as good, and linear in n. */
static double theil_sen(const struct sample *s)
{
    size_t count = 0, half = s->n / 2;

    for (size_t i = 0; i < s->n; i++) {
        size_t from = s->n <= TREND_PAIRS ? i + 1 : i + half;
        size_t to = s->n <= TREND_PAIRS ? s->n : from + 1;
        for (size_t j = from; j < to && j < s->n; j++)
            s->scratch[count++] =
                (s->logs[j] - s->logs[i]) / (s->at[j] - s->at[i]);
    }
    return spread_median(s->scratch, count);
}

static void test_trend(const struct sample *s, struct repeats *out)
{
    if (s->n < TREND_LEAST)
        return;
    out->trend_p = mann_kendall_p(s);
    out->trend_pct = 100 * expm1(theil_sen(s) * (s->at[s->n - 1] - s->at[0]));
    out->trend =
        out->trend_p < TREND_ALPHA && fabs(out->trend_pct) >= TREND_PCT;
}

static double mean_of(const double *values, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return sum / (double)n;
}

/* Where the widest gap is that leaves 'side' values on either side. */
static size_t widest_gap(const double *sorted, size_t n, size_t side)
{
    size_t at = side;

    for (size_t i = side; i <= n - side; i++)
        if (sorted[i] - sorted[i - 1] > sorted[at] - sorted[at - 1])
            at = i;
    return at;
}

static void test_modes(const struct sample *s, struct repeats *out)
{
    size_t n = s->n, side = (n + 5) / 6;

    if (n < MODES_LEAST)
        return;
    if (side < 2)
        side = 2;
    size_t at = widest_gap(s->slogs, n, side);
    double low = mean_of(s->slogs, at);
    double high = mean_of(s->slogs + at, n - at);
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += pow(s->slogs[i] - (i < at ? low : high), 2);
    double within = sqrt(squares / (double)(n - 2));
    double limit = fmax(5, 3 + 38 / (double)n);

    out->two_modes = high - low > fmax(limit * within, log1p(MODES_SHARE));
    if (out->two_modes) {
        out->mode_low = middle(s->sorted, at);
        out->mode_high = middle(s->sorted + at, n - at);
    }
}

static void repeats_clear(struct repeats *out)
{
    *out = (struct repeats){
        .median = NAN,
        .low = NAN,
        .high = NAN,
        .confidence_pct = NAN,
        .half_width_pct = NAN,
        .mean_rate = NAN,
        .best = NAN,
        .worst = NAN,
        .cov_pct = NAN,
        .first_run_pct = NAN,
        .trend_p = NAN,
        .trend_pct = NAN,
        .mode_low = NAN,
        .mode_high = NAN,
    };
}

bool repeats_summarise(const struct repeats_input *in, bool *outlier,
                       struct repeats *out)
{
    struct sample s;

    repeats_clear(out);
    for (size_t i = 0; outlier && i < in->n; i++)
        outlier[i] = false;
    if (!sample_init(&s, in))
        return false;
    out->n = s.n;
    out->left_out = in->n - s.n;
    if (s.n > 0) {
        find_interval(&s, out);
        out->mean_rate = mean_rate(in);
        out->cov_pct = cov_pct(s.sorted, s.n);
        find_outliers(&s, in, outlier, out);
        test_first(&s, out);
        test_trend(&s, out);
        test_modes(&s, out);
    }
    free(s.memory);
    return true;
}

enum repeats_stop repeats_decide(const struct repeats *so_far,
                                 double target_pct, size_t cap,
                                 int64_t spent_ns, int64_t budget_ns)
{
    if (cap == 0)
        cap = REPEATS_CAP_DEFAULT;
    if (so_far->n >= REPEATS_PRECISE_LEAST && so_far->is_95 &&
        so_far->half_width_pct <= target_pct)
        return REPEATS_PRECISE;
    if (so_far->n + so_far->left_out >= cap)
        return REPEATS_CAP;
    if (budget_ns > 0 && spent_ns >= budget_ns)
        return REPEATS_BUDGET;
    return REPEATS_GO_ON;
}

const char *repeats_stop_name(enum repeats_stop stop)
{
    switch (stop) {
    case REPEATS_PRECISE:
        return "precise";
    case REPEATS_CAP:
        return "cap";
    case REPEATS_BUDGET:
        return "time budget";
    case REPEATS_GO_ON:
        break;
    }
    return "";
}

/* Sums over the complete repeats of one job. */
struct job {
    int64_t id;
    double bytes, seconds, rate;
    double n, logs, squares; /* number; sum and sum of squares of the logs */
};

/* Returns the number of jobs.  'jobs' has room for in->n. */
static size_t gather_jobs(const struct repeats_input *in, const int64_t *id,
                          struct job *jobs)
{
    size_t count = 0, k;

    for (size_t i = 0; i < in->n; i++) {
        if (!is_complete(in->rate[i]))
            continue;
        for (k = 0; k < count && jobs[k].id != id[i];)
            k++;
        if (k == count)
            jobs[count++] = (struct job){.id = id[i]};
        jobs[k].bytes += in->bytes[i];
        jobs[k].seconds += in->seconds[i];
        jobs[k].n++;
        jobs[k].logs += log(in->rate[i]);
    }
    for (size_t i = 0; i < in->n; i++) {
        if (!is_complete(in->rate[i]))
            continue;
        for (k = 0; jobs[k].id != id[i];)
            k++;
        jobs[k].squares += pow(log(in->rate[i]) - jobs[k].logs / jobs[k].n, 2);
    }
    return count;
}

/* One-way random effects, groups of any size, by the moments of the analysis
 * of variance.  Of logarithms: times 100 they are percent. */
static void split_variance(const struct job *jobs, size_t count,
                           struct repeats_jobs *out)
{
    double n = 0, n_squares = 0, logs = 0, within = 0, between = 0;
    double groups = (double)count;

    for (size_t k = 0; k < count; k++) {
        n += jobs[k].n;
        n_squares += jobs[k].n * jobs[k].n;
        logs += jobs[k].logs;
        within += jobs[k].squares;
    }
    if (!(n > groups))
        return;
    within /= n - groups;
    out->within_pct = 100 * sqrt(within);
    if (count < 2)
        return;
    for (size_t k = 0; k < count; k++)
        between += jobs[k].n * pow(jobs[k].logs / jobs[k].n - logs / n, 2);
    between /= groups - 1;
    double size = (n - n_squares / n) / (groups - 1);
    out->between_pct = 100 * sqrt(fmax(0, (between - within) / size));
}

bool repeats_summarise_jobs(const struct repeats_input *in, const int64_t *job,
                            struct repeats_jobs *out)
{
    struct job *jobs = calloc(in->n + 1, sizeof(*jobs));
    double *column = malloc((3 * in->n + 1) * sizeof(*column));
    bool ok = jobs && column;

    *out = (struct repeats_jobs){.within_pct = NAN, .between_pct = NAN};
    repeats_clear(&out->means);
    if (ok) {
        size_t count = gather_jobs(in, job, jobs);
        struct repeats_input means = {column, column + count,
                                      column + 2 * count, count};

        for (size_t k = 0; k < count; k++) {
            column[k] = jobs[k].bytes / jobs[k].seconds;
            column[count + k] = jobs[k].bytes;
            column[2 * count + k] = jobs[k].seconds;
        }
        split_variance(jobs, count, out);
        ok = repeats_summarise(&means, NULL, &out->means);
    }
    out->left_out = in->n;
    for (size_t i = 0; i < in->n; i++)
        out->left_out -= is_complete(in->rate[i]);
    free(jobs);
    free(column);
    return ok;
}
