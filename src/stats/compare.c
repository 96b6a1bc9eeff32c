/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * By which factor two sets of rates differ, with the interval that belongs
 * to the Mann-Whitney test, and what that means.  What is compared with what,
 * and the words, are decided elsewhere; one set is summed up in repeats.c.
 */

#include "stats/compare.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static bool is_complete(double rate)
{
    return isfinite(rate) && rate > 0;
}

/* Two sets in ascending order. */
struct sets {
    double *a, *b; /* [m], [n] */
    size_t m, n;
};

static size_t take_sorted(const double *from, size_t n, double *to)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        if (is_complete(from[i]))
            to[count++] = from[i];
    qsort(to, count, sizeof(*to), compare_double);
    return count;
}

/* ---- the ratios of all pairs, b over a, in order */

/* How many are at most 'limit'.  The next larger b meets it with fewer of
 * the a: O(m + n). */
static double count_ratios(const struct sets *s, double limit)
{
    double count = 0;
    size_t i = 0;

    for (size_t j = 0; j < s->n; j++) {
        while (i < s->m && s->b[j] / s->a[i] > limit)
            i++;
        count += (double)(s->m - i);
    }
    return count;
}

/* The rank-th smallest ratio, from 1.  Doubles above 0 are in the order of
 * their bits: halving those ends at the exact value in at most 64 steps. */
static double ratio_at(const struct sets *s, double rank)
{
    double value = INFINITY;
    uint64_t low = 0, high;

    memcpy(&high, &value, sizeof(high));
    while (low < high) {
        uint64_t half = low + (high - low) / 2;
        memcpy(&value, &half, sizeof(value));
        if (count_ratios(s, value) >= rank)
            high = half;
        else
            low = half + 1;
    }
    memcpy(&value, &high, sizeof(value));
    return value;
}

/* ---- the distribution of the sum of ranks */

/*
 * Ranks of the smaller set, doubled so that those of ties are whole, less
 * what the least sum would be: 2 U, from 0 to 2 m n.
 */
struct ranks {
    int64_t *rank; /* [m + n], doubled, ascending */
    size_t few, all;
    int64_t sum; /* of the smaller set, less few (few + 1) */
    bool ties;
};

/* The a before and the b before at each step; equal values get the middle of
 * their ranks. */
static void find_ranks(const struct sets *s, struct ranks *out)
{
    bool of_a = s->m <= s->n;
    size_t i = 0, j = 0;

    out->few = of_a ? s->m : s->n;
    out->all = s->m + s->n;
    out->sum = -(int64_t)(out->few * (out->few + 1));
    out->ties = false;
    while (i < s->m || j < s->n) {
        size_t from = i + j, i0 = i, j0 = j;
        double value =
            j == s->n || (i < s->m && s->a[i] <= s->b[j]) ? s->a[i] : s->b[j];
        while (i < s->m && s->a[i] == value)
            i++;
        while (j < s->n && s->b[j] == value)
            j++;
        int64_t doubled = (int64_t)(from + 1 + i + j);
        for (size_t k = from; k < i + j; k++)
            out->rank[k] = doubled;
        out->ties |= i + j - from > 1;
        out->sum += doubled * (int64_t)(of_a ? i - i0 : j - j0);
    }
}

/*
 * In how many ways 'few' of the ranks have each sum, as shares of all ways:
 * 2 few (all - few) + 1 values, to be freed; NULL when memory is short.
 * Adds only, so that each share is right to its last digits.
 */
static double *rank_sum_shares(const int64_t *rank, size_t few, size_t all)
{
    size_t width = 2 * few * (all - few) + 1;
    double *ways = calloc((few + 1) * width, sizeof(*ways));

    if (!ways)
        return NULL;
    ways[0] = 1;
    for (size_t i = 0; i < all; i++) {
        /* Only numbers of picks that can still end at 'few'. */
        size_t most = i + 1 < few ? i + 1 : few;
        size_t least = few > all - i - 1 ? few - (all - i - 1) : 1;
        for (size_t c = most; c >= least && c > 0; c--) {
            int64_t step = rank[i] - 2 * (int64_t)c;
            const double *from = ways + (c - 1) * width;
            double *to = ways + c * width;
            for (int64_t x = step < 0 ? -step : 0;
                 x < (int64_t)width && x + step < (int64_t)width; x++)
                to[x + step] += from[x];
        }
    }

    double total = 0;
    memmove(ways, ways + few * width, width * sizeof(*ways));
    for (size_t x = 0; x < width; x++)
        total += ways[x];
    for (size_t x = 0; x < width; x++)
        ways[x] /= total;
    return ways;
}

static double normal_below(double z)
{
    return 0.5 * erfc(-z / sqrt(2));
}

/* ---- interval and p */

/* P(U < k) without ties, from the shares of 2 U or, when NULL, normal. */
static double u_below(const struct sets *s, const double *shares, size_t k)
{
    double m = (double)s->m, n = (double)s->n, sum = 0;

    if (!shares)
        return normal_below(((double)k - 0.5 - m * n / 2) /
                            sqrt(m * n * (m + n + 1) / 12));
    for (size_t u = 0; u < k; u++)
        sum += shares[2 * u];
    return sum;
}

static void find_interval(const struct sets *s, const double *shares,
                          struct compare_result *out)
{
    double pairs = (double)s->m * (double)s->n;
    size_t low = 1, high = s->m * s->n / 2 + 1;

    /* The largest k that has the confidence; 1 when none has. */
    while (high - low > 1) {
        size_t k = low + (high - low) / 2;
        if (100 * (1 - 2 * u_below(s, shares, k)) >= out->wanted_pct)
            low = k;
        else
            high = k;
    }
    out->k = low;
    out->confidence_pct = 100 * (1 - 2 * u_below(s, shares, low));
    if (s->m * s->n > 1) {
        out->low = ratio_at(s, (double)low);
        out->high = ratio_at(s, pairs + 1 - (double)low);
    } else {
        out->confidence_pct = 0;
    }
    double left = ratio_at(s, floor((pairs + 1) / 2));
    double right = ratio_at(s, floor(pairs / 2) + 1);
    out->ratio = left == right ? left : sqrt(left) * sqrt(right);
}

static double exact_p(const struct ranks *r, const double *shares)
{
    int64_t width = (int64_t)(2 * r->few * (r->all - r->few)) + 1;
    double below = 0, above = 0;

    for (int64_t x = 0; x <= r->sum; x++)
        below += shares[x];
    for (int64_t x = r->sum; x < width; x++)
        above += shares[x];
    return fmin(1, 2 * fmin(below, above));
}

static double normal_p(const struct ranks *r)
{
    double few = (double)r->few, all = (double)r->all, ties = 0;

    for (size_t i = 0, end; i < r->all; i = end) {
        for (end = i + 1; end < r->all && r->rank[end] == r->rank[i];)
            end++;
        double t = (double)(end - i);
        ties += t * t * t - t;
    }
    double pairs = few * (all - few);
    double variance = pairs / 12 * (all + 1 - ties / (all * (all - 1)));
    double distance = fabs((double)r->sum - pairs) / 2 - 0.5;
    if (!(distance > 0 && variance > 0))
        return 1;
    return fmin(1, 2 * normal_below(-distance / sqrt(variance)));
}

/* Fills k, interval, ratio and p.  False when memory is short. */
static bool test_sets(const struct sets *s, struct ranks *r,
                      struct compare_result *out)
{
    bool exact = s->m * s->n <= COMPARE_EXACT_MAX;
    double *shares = NULL, *tied = NULL;
    bool ok = true;

    find_ranks(s, r);
    if (!exact) {
        out->p = normal_p(r);
        find_interval(s, NULL, out);
        return true;
    }
    if (r->ties) {
        tied = rank_sum_shares(r->rank, r->few, r->all);
        ok = tied != NULL;
        if (ok)
            out->p = exact_p(r, tied);
        for (size_t i = 0; i < r->all; i++)
            r->rank[i] = 2 * (int64_t)(i + 1);
    }
    shares = ok ? rank_sum_shares(r->rank, r->few, r->all) : NULL;
    ok = shares != NULL;
    if (ok && !r->ties)
        out->p = exact_p(r, shares);
    if (ok)
        find_interval(s, shares, out);
    free(shares);
    free(tied);
    return ok;
}

/* ---- what it means */

size_t compare_least_n(double confidence_pct, size_t points)
{
    double alpha = 1 - confidence_pct / 100, p = 2;
    size_t n = 0;

    if (points > 1)
        alpha /= (double)points;
    if (!(alpha > 0))
        return COMPARE_NEEDED_MAX;
    /* 2 / C(2n, n): the least p that n and n can have. */
    while (p > alpha * (1 + 1e-12)) {
        n++;
        p *= (double)n / (2 * (2 * (double)n - 1));
    }
    return n;
}

/*
 * The interval narrows with the square root of n.  It must come to lie within
 * the margin or, with a ratio beyond that, free of 1.  A ratio that is close
 * to the margin would ask for ever more; but it is an estimate, and more
 * repeats will move it to one side: a quarter of the margin does.
 */
static size_t needed_n(const struct compare_result *r)
{
    double margin = log1p(r->margin_pct / 100);
    double change = fabs(log(r->ratio));
    double half_width = (log(r->high) - log(r->low)) / 2;
    double room = change > margin ? change : fmax(margin - change, margin / 4);
    double m = (double)r->m, n = (double)r->n;
    size_t fewer = r->m < r->n ? r->m : r->n;
    size_t least = compare_least_n(r->wanted_pct, 1);
    double needed = ceil(2 * m * n / (m + n) * pow(half_width / room, 2));

    if (least <= fewer)
        least = fewer + 1;
    if (needed >= COMPARE_NEEDED_MAX)
        return COMPARE_NEEDED_MAX;
    /* NaN, when there is no interval, is not. */
    return needed > (double)least ? (size_t)needed : least;
}

static enum compare_verdict judge(const struct compare_result *r)
{
    double margin = 1 + r->margin_pct / 100;
    bool within = r->low >= 1 / margin && r->high <= margin;
    bool changed = r->low > 1 || r->high < 1;

    if (!(r->confidence_pct >= r->wanted_pct))
        return COMPARE_INCONCLUSIVE;
    if (within)
        return changed ? COMPARE_CHANGED_SMALL : COMPARE_SAME;
    if (changed && r->ratio > margin)
        return COMPARE_FASTER;
    if (changed && r->ratio < 1 / margin)
        return COMPARE_SLOWER;
    return COMPARE_INCONCLUSIVE;
}

bool compare_sets(const double *a, size_t m, const double *b, size_t n,
                  double margin_pct, double confidence_pct,
                  struct compare_result *out)
{
    struct sets s = {0};
    struct ranks r = {0};
    bool ok = margin_pct >= 0 && isfinite(margin_pct) && confidence_pct > 0 &&
              confidence_pct < 100;

    *out = (struct compare_result){
        .ratio = NAN,
        .low = NAN,
        .high = NAN,
        .confidence_pct = NAN,
        .p = NAN,
        .p_family = NAN,
        .wanted_pct = confidence_pct,
        .margin_pct = margin_pct,
    };
    if (!ok)
        return false;
    s.a = malloc((m + 1) * sizeof(*s.a));
    s.b = malloc((n + 1) * sizeof(*s.b));
    r.rank = malloc((m + n + 1) * sizeof(*r.rank));
    ok = s.a && s.b && r.rank;
    if (ok) {
        out->m = s.m = take_sorted(a, m, s.a);
        out->n = s.n = take_sorted(b, n, s.b);
    }
    if (ok && s.m > 0 && s.n > 0)
        ok = test_sets(&s, &r, out);
    if (ok) {
        out->p_family = out->p;
        out->verdict = judge(out);
        if (out->verdict == COMPARE_INCONCLUSIVE)
            out->needed_n = needed_n(out);
    }
    free(s.a);
    free(s.b);
    free(r.rank);
    return ok;
}

const char *compare_verdict_name(enum compare_verdict verdict)
{
    switch (verdict) {
    case COMPARE_SAME:
        return "same";
    case COMPARE_CHANGED_SMALL:
        return "changed but small";
    case COMPARE_FASTER:
        return "faster";
    case COMPARE_SLOWER:
        return "slower";
    case COMPARE_INCONCLUSIVE:
        break;
    }
    return "inconclusive";
}

/* ---- many points */

void compare_holm(const double *p, size_t n, double *adjusted)
{
    size_t left = 0;
    double largest = 0;

    for (size_t i = 0; i < n; i++) {
        adjusted[i] = NAN;
        left += !isnan(p[i]);
    }
    /* From the smallest on, each times how many are left; never less than
     * the one before. */
    while (left > 0) {
        size_t next = n;
        for (size_t i = 0; i < n; i++)
            if (isnan(adjusted[i]) && !isnan(p[i]) &&
                (next == n || p[i] < p[next]))
                next = i;
        largest = fmax(largest, fmin(1, (double)left * p[next]));
        adjusted[next] = largest;
        left--;
    }
}

static bool is_change(enum compare_verdict verdict)
{
    return verdict == COMPARE_FASTER || verdict == COMPARE_SLOWER ||
           verdict == COMPARE_CHANGED_SMALL;
}

bool compare_family(struct compare_result *results, size_t n)
{
    size_t tests = 0;

    if (n == 0)
        return true;
    double *p = calloc(2 * n, sizeof(*p));
    if (!p)
        return false;
    for (size_t i = 0; i < n; i++) {
        p[i] = results[i].p;
        tests += !isnan(p[i]);
    }
    compare_holm(p, n, p + n);
    for (size_t i = 0; i < n; i++) {
        struct compare_result *r = &results[i];
        r->p_family = p[n + i];
        if (!is_change(r->verdict) ||
            r->p_family <= (1 - r->wanted_pct / 100) * (1 + 1e-12))
            continue;
        r->verdict = COMPARE_INCONCLUSIVE;
        size_t least = compare_least_n(r->wanted_pct, tests);
        size_t fewer = r->m < r->n ? r->m : r->n;
        r->needed_n = least > fewer ? least : fewer + 1;
    }
    free(p);
    return true;
}

double compare_geomean(const double *ratio, size_t n)
{
    double sum = 0;
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        if (!is_complete(ratio[i]))
            continue;
        sum += log(ratio[i]);
        count++;
    }
    return count > 0 ? exp(sum / (double)count) : NAN;
}
