/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a phase did over time: warm-up, lasting changes, the cliff of a write,
 * the rate it kept.  The changes themselves are found in structure_change.c,
 * the words are in structure_text.c, verdicts in src/judge.
 */

#include "stats/structure.h"

#include <assert.h>
#include <math.h>

#include "stats/structure_impl.h"

#define BATCH 5

/* A step is placed inside a bin when it is this many times the noise. */
#define CLEAR_STEP 4

static double rate(double bytes_per_bin, int64_t width_ns)
{
    return bytes_per_bin * 1e9 / (double)width_ns;
}

static double batch_mean(const struct structure_series *series, size_t j)
{
    return structure_mean(series, BATCH * j, BATCH * (j + 1));
}

/* MSER statistic of batches [d, k). */
static double standard_error(const struct structure_series *series, size_t d,
                             size_t k)
{
    double mean = structure_mean(series, BATCH * d, BATCH * k), squares = 0;
    double left = (double)(k - d);

    for (size_t j = d; j < k; j++) {
        double deviation = batch_mean(series, j) - mean;
        squares += deviation * deviation;
    }
    return squares / (left * left);
}

/* Batches to leave out of the first 'k' > 0, by MSER. */
static size_t mser(const struct structure_series *series, size_t k)
{
    size_t cut = 0;
    double least = INFINITY;

    for (size_t d = 0; 2 * d <= k; d++) {
        double here = standard_error(series, d, k);
        if (here < least) {
            least = here;
            cut = d;
        }
    }
    return cut;
}

static bool is_faster(double before, double after)
{
    return structure_relative(before, after) >= STRUCTURE_JUMP;
}

/* The first bin behind the warm-up of the first 'n' bins; 0: none. */
static size_t warm_up(const struct structure_series *series, size_t n)
{
    size_t cut = BATCH * mser(series, n / BATCH);

    if (cut == 0)
        return 0;
    double rest = structure_mean(series, cut, n);
    while (cut > 0 &&
           !is_faster(structure_mean(series, cut - BATCH, cut), rest))
        cut -= BATCH;
    if (cut == 0 ||
        !is_faster(structure_mean(series, 0, cut),
                   structure_mean(series, cut, n)) ||
        !is_faster(structure_median(series, 0, BATCH),
                   structure_median(series, cut, n)))
        return 0;
    return structure_gain(series, 0, cut, n) > series->penalty ? cut : 0;
}

static int64_t sum_bytes(const struct structure_series *series, size_t n)
{
    int64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += series->bytes[i];
    return sum;
}

/*
 * When and after how many bytes 'change' was: the two bins around the
 * boundary hold what the old rate moved until then and the new rate from then
 * on, which gives the time.
 */
static void locate(const struct structure_series *series, double before,
                   double after, int64_t width_ns,
                   struct structure_change *change)
{
    size_t bin = change->bin;
    double step = before - after;
    int64_t start = sum_bytes(series, bin - 1);
    int64_t both = series->bytes[bin - 1] + series->bytes[bin];

    change->at_ns = (int64_t)bin * width_ns;
    change->at_bytes = start + series->bytes[bin - 1];
    if (fabs(step) < CLEAR_STEP * sqrt(series->s2) || step == 0)
        return;
    double bins = fmin(fmax(((double)both - 2 * after) / step, 0), 2);
    change->at_ns = (int64_t)(((double)bin - 1 + bins) * (double)width_ns);
    change->at_bytes = start + (int64_t)fmin(before * bins, (double)both);
}

static void fill_changes(const struct structure_series *series,
                         const size_t *start, size_t count,
                         struct structure *out)
{
    out->change_count = count - 1;
    for (size_t i = 1; i < count; i++) {
        double before = structure_mean(series, start[i - 1], start[i]);
        double after = structure_mean(series, start[i], start[i + 1]);
        struct structure_change *change = &out->change[i - 1];
        *change = (struct structure_change){
            .bin = start[i],
            .before_Bps = rate(before, out->width_ns),
            .after_Bps = rate(after, out->width_ns),
        };
        locate(series, before, after, out->width_ns, change);
    }
}

static bool is_fall(const struct structure_change *change)
{
    return change->after_Bps < change->before_Bps;
}

/* Bins before the first fall. */
static size_t until_fall(const struct structure *s)
{
    for (size_t i = 0; i < s->change_count; i++)
        if (is_fall(&s->change[i]))
            return s->change[i].bin;
    return s->bins;
}

/* Does the rate rise later than 'from_ns', if not in the warm-up?  A batch or
 * a segment may end a little behind the other. */
static bool rises(const struct structure *s, int64_t from_ns, size_t warm)
{
    for (size_t i = 0; i < s->change_count; i++)
        if (!is_fall(&s->change[i]) && s->change[i].bin >= warm &&
            s->change[i].at_ns > from_ns)
            return true;
    return false;
}

static enum structure_shape find_shape(const struct structure *s, size_t warm)
{
    if (rises(s, -1, warm))
        return STRUCTURE_UNSTEADY;
    if (until_fall(s) < s->bins)
        return STRUCTURE_SLOW_DOWN;
    return s->warmup_ns > 0 ? STRUCTURE_WARM_UP : STRUCTURE_FLAT;
}

/* Does change 'i' part fast segments, but for the warm-up, from slow ones? */
static bool parts(const struct structure *s, size_t i, size_t warm)
{
    double half = 0.5 * (s->change[i].before_Bps + s->change[i].after_Bps);

    for (size_t k = 0; k < s->change_count; k++) {
        const struct structure_change *change = &s->change[k];
        if (k >= i && change->after_Bps >= half)
            return false;
        if (k <= i && change->before_Bps < half && change->bin >= warm)
            return false;
    }
    return true;
}

static void find_cliff(struct structure *s, size_t warm)
{
    double largest = 0;

    for (size_t i = 0; i < s->change_count; i++) {
        const struct structure_change *change = &s->change[i];
        double fall = change->before_Bps - change->after_Bps;
        if (fall <= largest || !parts(s, i, warm))
            continue;
        largest = fall;
        s->cliff = true;
        s->cliff_bytes = change->at_bytes;
        s->cliff_at_ns = change->at_ns;
        s->cliff_before_Bps = change->before_Bps;
        s->cliff_after_Bps = change->after_Bps;
    }
}

static void fill(const struct structure_series *series, const size_t *start,
                 size_t count, bool write, struct structure *out)
{
    double mean = structure_mean(series, 0, series->n);

    out->noise_pct = mean > 0 ? 100 * sqrt(series->s2) / mean : 0;
    fill_changes(series, start, count, out);
    size_t cut = warm_up(series, until_fall(out));
    if (cut > 0) {
        out->warmup_ns = (int64_t)cut * out->width_ns;
        out->warmup_Bps = rate(structure_mean(series, 0, cut), out->width_ns);
    }
    size_t warm = cut > 0 ? cut + series->least : 0;
    out->shape = find_shape(out, warm);
    if (write)
        find_cliff(out, warm);
    if (!rises(out, out->cliff_at_ns, warm)) {
        size_t from = start[count - 1] > cut ? start[count - 1] : cut;
        out->sustained_Bps =
            rate(structure_mean(series, from, series->n), out->width_ns);
    }
}

bool structure_find(const int64_t *bytes, size_t n, int64_t width_ns,
                    bool write, struct structure *out)
{
    struct structure_series series;
    size_t start[STRUCTURE_SEGMENTS + 1], count = 0;

    assert(width_ns > 0);
    *out = (struct structure){
        .shape = STRUCTURE_SHORT,
        .bins = n,
        .width_ns = width_ns,
        .warmup_Bps = NAN,
        .cliff_bytes = -1,
        .cliff_at_ns = -1,
        .cliff_before_Bps = NAN,
        .cliff_after_Bps = NAN,
        .sustained_Bps = NAN,
        .noise_pct = NAN,
    };
    if (n < STRUCTURE_MIN_BINS)
        return true;
    if (!structure_series_init(&series, bytes, n))
        return false;
    bool ok = structure_segments(&series, start, &count);
    if (ok)
        fill(&series, start, count, write, out);
    structure_series_release(&series);
    return ok;
}

size_t structure_rebin(const int64_t *fine, size_t n, int64_t fine_ns,
                       int64_t *bytes, int64_t *width_ns)
{
    assert(fine_ns > 0);
    int64_t parts = (STRUCTURE_MIN_WIDTH_NS + fine_ns - 1) / fine_ns;
    int64_t most = ((int64_t)n + STRUCTURE_MAX_BINS - 1) / STRUCTURE_MAX_BINS;
    if (parts < most)
        parts = most;
    *width_ns = parts * fine_ns;

    size_t count = n / (size_t)parts;
    for (size_t i = 0; i < count; i++) {
        int64_t sum = 0;
        for (size_t k = 0; k < (size_t)parts; k++)
            sum += fine[i * (size_t)parts + k];
        bytes[i] = sum;
    }
    return count;
}
