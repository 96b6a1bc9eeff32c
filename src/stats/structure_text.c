/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time structure of a phase in words.  What was found, and how, is in
 * structure.c; whether it is worth a warning is for src/judge.
 */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "stats/structure.h"

/* A write that fell less than to this share is not said to have filled a
 * cache: another user of the storage does as much. */
#define CACHE_FULL 0.8

const char *structure_shape_name(enum structure_shape shape)
{
    switch (shape) {
    case STRUCTURE_SHORT:
        return "too-short";
    case STRUCTURE_FLAT:
        return "flat";
    case STRUCTURE_WARM_UP:
        return "warm-up";
    case STRUCTURE_SLOW_DOWN:
        return "slow-down";
    case STRUCTURE_UNSTEADY:
        return "unsteady";
    }
    return "";
}

struct scale {
    const char *unit;
    double factor;
};

/* One decimal is enough here: "1.0 GiB", not "1024.0 MiB". */
static struct scale scale_of(double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    struct scale scale = {units[0], 1};

    for (size_t i = 1; i < 6 && bytes >= 1023.95 * scale.factor; i++)
        scale = (struct scale){units[i], 1024 * scale.factor};
    return scale;
}

static void add_size(struct str *out, double bytes)
{
    struct scale scale = scale_of(bytes);

    str_addf(out, "%.1f %s", bytes / scale.factor, scale.unit);
}

static void add_rate(struct str *out, double rate_Bps)
{
    add_size(out, rate_Bps);
    str_add(out, "/s");
}

/* "9.8 -> 3.1 GiB/s", or "1.2 GiB/s -> 40.0 MiB/s". */
static void add_rates(struct str *out, double from_Bps, const char *between,
                      double to_Bps)
{
    struct scale from = scale_of(from_Bps), to = scale_of(to_Bps);

    if (from.factor == to.factor)
        str_addf(out, "%.1f", from_Bps / from.factor);
    else
        add_rate(out, from_Bps);
    str_add(out, between);
    add_rate(out, to_Bps);
}

static void add_seconds(struct str *out, int64_t ns)
{
    str_addf(out, "%.1f s", (double)ns / 1e9);
}

/* From 'rate_Bps' at 'from_ns' on: the least and the most. */
static void add_range(struct str *out, const struct structure *s,
                      int64_t from_ns, double rate_Bps)
{
    double low = rate_Bps, high = rate_Bps;

    for (size_t i = 0; i < s->change_count; i++) {
        if (s->change[i].at_ns <= from_ns)
            continue;
        low = fmin(low, s->change[i].after_Bps);
        high = fmax(high, s->change[i].after_Bps);
    }
    add_rates(out, low, " to ", high);
}

static void add_unsteady(struct str *out, const struct structure *s)
{
    str_addf(out, "no steady state: %zu lasting change%s of the rate, ",
             s->change_count, s->change_count == 1 ? "" : "s");
    add_range(out, s, -1, s->change[0].before_Bps);
}

static void add_warm_up(struct str *out, const struct structure *s)
{
    str_add(out, "warm-up: the first ");
    add_seconds(out, s->warmup_ns);
    str_add(out, " were slower");
}

static void add_cliff(struct str *out, const struct structure *s)
{
    str_add(out, "cache full after ");
    add_size(out, (double)s->cliff_bytes);
    str_add(out, ": ");
    add_rates(out, s->cliff_before_Bps, " -> ", s->cliff_after_Bps);
    str_add(out, "; ");
    if (isnan(s->sustained_Bps)) {
        str_add(out, "no steady state since, ");
        add_range(out, s, s->cliff_at_ns, s->cliff_after_Bps);
    } else {
        str_add(out, "sustained ");
        add_rate(out, s->sustained_Bps);
    }
}

static void add_slow_down(struct str *out, const struct structure *s)
{
    const struct structure_change *first = NULL;
    size_t falls = 0;

    for (size_t i = 0; i < s->change_count; i++) {
        if (s->change[i].after_Bps >= s->change[i].before_Bps)
            continue;
        if (falls++ == 0)
            first = &s->change[i];
    }
    if (!first)
        return;
    str_add(out, "slow-down: ");
    add_rates(out, first->before_Bps, " -> ", s->sustained_Bps);
    if (falls > 1)
        str_addf(out, " in %zu steps, the first", falls);
    str_add(out, " after ");
    add_seconds(out, first->at_ns);
    str_add(out, " (");
    add_size(out, (double)first->at_bytes);
    str_add(out, ")");
}

static void add_short(struct str *out, const struct structure *s)
{
    str_addf(out, "too short to judge: %zu bin%s of %g ms", s->bins,
             s->bins == 1 ? "" : "s", (double)s->width_ns / 1e6);
}

static bool filled_a_cache(const struct structure *s)
{
    return s->cliff && s->cliff_after_Bps <= CACHE_FULL * s->cliff_before_Bps;
}

static void add_shape(struct str *out, const struct structure *s)
{
    switch (s->shape) {
    case STRUCTURE_SHORT:
        add_short(out, s);
        break;
    case STRUCTURE_FLAT:
        str_add(out, "flat: ");
        add_rate(out, s->sustained_Bps);
        break;
    case STRUCTURE_WARM_UP:
        add_warm_up(out, s);
        str_add(out, ", ");
        add_rates(out, s->warmup_Bps, " -> ", s->sustained_Bps);
        break;
    case STRUCTURE_SLOW_DOWN:
        add_slow_down(out, s);
        break;
    case STRUCTURE_UNSTEADY:
        add_unsteady(out, s);
        break;
    }
}

void structure_sentence(const struct structure *structure, struct str *out)
{
    if (filled_a_cache(structure))
        add_cliff(out, structure);
    else
        add_shape(out, structure);
    if (structure->warmup_ns > 0 && structure->shape != STRUCTURE_WARM_UP) {
        str_add(out, "; ");
        add_warm_up(out, structure);
    }
}
