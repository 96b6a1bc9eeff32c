/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_STATS_BANDWIDTH_H
#define IOBM_STATS_BANDWIDTH_H

/*
 * The definitions of docs/method.md section 1, as arithmetic over the ranks'
 * times on one timeline.  No MPI, no clock.  Rates are bytes per second,
 * times ns; n/a is NaN.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bw_rank {
    int64_t start_ns;  /* S_i */
    int64_t end_ns;    /* E_i; an idle rank (no bytes) has start == end */
    int64_t bound_ns;  /* e_i >= 0 */
    int64_t bytes;     /* V_i */
    int64_t io_end_ns; /* end of the last transfer, before sync */
    int64_t open_ns, close_ns; /* start of open, end of close */
};

struct bw_result {
    int64_t bytes;          /* V */
    int64_t s0, s1, e0, e1; /* S0 S1 E0 E1, ranks with bytes only */
    double seconds;         /* T */
    double naive, slowest, wall;
    double wall_low, wall_high; /* V/T+, V/T-; NaN high when T- <= 0 */
    double open_close;          /* V / (last close end - first open start) */
    double cache;               /* V / (last io_end - S0): before the sync */
    double inflation;           /* naive / wall */
    double inflation_ranks;     /* F_imb = naive / slowest */
    double inflation_start;     /* F_skew = T / max d_i */
    int64_t max_duration_ns;    /* max d_i */
    bool ordered;   /* naive >= slowest >= wall holds (within the bounds) */
    bool too_short; /* the bounds are wider than 1 % of T */
};

/* Ranks without bytes are left out; when none has any, all rates are NaN.
 * Intervals of no length count as 1 ns; one that ends before it starts, by
 * more than the clock bound, clears 'ordered'. */
void bw_compute(const struct bw_rank *ranks, size_t n, struct bw_result *out);

/*
 * Sandwich test: max d_i <= T <= T_outer.  'own_ns' is max d_i by the ranks'
 * own clocks: on the timeline it is never above T, whatever the clocks do.  T
 * is the difference of two times that are each within the largest bound, so
 * twice that is allowed, and 'own_ns' may drift as clocks do.
 */
bool bw_sandwich(const struct bw_result *bw, int64_t own_ns, int64_t outer_ns,
                 int64_t max_bound_ns);

/*
 * Progress marks of one rank: cumulative bytes at rising times.  Fixed room:
 * when full, every second mark is dropped and the spacing doubles.
 */
#define MARKS_SPACING_NS INT64_C(10000000)

struct marks {
    int64_t (*at)[2]; /* (time ns, cumulative bytes), owned by the caller */
    size_t room;      /* even, >= 4 */
    size_t count;
    int64_t spacing_ns;
    int64_t last_ns, last_bytes; /* the newest, also when not stored */
};

void marks_init(struct marks *marks, int64_t (*at)[2], size_t room,
                int64_t start_ns);
/* Inline-able in the timed loop: stores when 'spacing' has gone by. */
static inline void marks_add(struct marks *marks, int64_t now_ns,
                             int64_t bytes);
void marks_store(struct marks *marks, int64_t now_ns, int64_t bytes);
/* Bytes at 'ns' by linear interpolation; 0 before the first, all after the
 * last mark. */
double marks_bytes_at(const struct marks *marks, int64_t ns);

static inline void marks_add(struct marks *marks, int64_t now_ns, int64_t bytes)
{
    marks->last_bytes = bytes;
    marks->last_ns = now_ns;
    if (marks->count == 0 ||
        now_ns - marks->at[marks->count - 1][0] >= marks->spacing_ns)
        marks_store(marks, now_ns, bytes);
}

/* The longest window in which at least 'share' (0..1] of the ranks with bytes
 * are active: false when there is none (or no memory to look for it).
 * share 1: [S1, E0]. */
bool bw_window(const struct bw_rank *ranks, size_t n, double share,
               int64_t *from_ns, int64_t *to_ns);

/*
 * Loss identity: 1 - wall/steady = ramp + tail (as shares, not per cent).
 * 'v_s1' and 'v_e0' are all ranks' bytes at S1 and at E0.
 */
void bw_losses(const struct bw_result *bw, double steady, double v_s1,
               double v_e0, double *ramp, double *tail);

#endif
