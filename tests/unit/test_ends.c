/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who cost the ramp and the tail: hand-made runs, that what is said is true
 * of random ones, and the sentences.
 */

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/ends.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MS       INT64_C(1000000)

static void assert_near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%.9g is not %.9g", got, expected);
}

static struct bw_rank rank_of(int64_t start_ms, int64_t end_ms)
{
    return (struct bw_rank){
        .start_ns = start_ms * MS,
        .end_ns = end_ms * MS,
        .bytes = 1,
    };
}

#define RANKS 6

/* Two ranks per node. */
static void runs_by_hand(void **state)
{
    static const struct {
        const char *what;
        size_t n;
        int64_t start_ms[RANKS], end_ms[RANKS];
        int64_t bound_ms;
        struct ends ends;
    } cases[] = {
        {"nobody", 0, {0}, {0}, 0, {0, 0, 0, 0, 0, 0}},
        {"one rank", 1, {5}, {900}, 0, {0, 0, 0, 0, 0, 0}},
        {"all alike", 4, {3, 3, 3, 3}, {9, 9, 9, 9}, 0, {0, 0, 0, 0, 0, 0}},
        {"one of two", 2, {0, 700}, {900, 800}, 0, {1, 1, .7, 1, 1, .1}},
        {"one late at both ends",
         4,
         {0, 0, 2000, 0},
         {5000, 5000, 7000, 5010},
         0,
         {1, 1, 2, 1, 1, 1.99}},
        {"two of one node",
         6,
         {0, 1, 2, 3, 4, 5},
         {5000, 5010, 5020, 5000, 9000, 9500},
         0,
         {3, 2, .003, 2, 1, 4.48}},
        {"two of two nodes",
         6,
         {0},
         {5000, 9100, 5020, 9000, 5000, 5010},
         0,
         {0, 0, 0, 2, 2, 4.08}},
        {"only one ended early",
         4,
         {0},
         {4000, 4900, 5000, 5000},
         0,
         {0, 0, 0, 3, 2, 1}},
        {"only one began early",
         4,
         {0, 900, 900, 910},
         {5000, 5000, 5000, 5000},
         0,
         {3, 2, .9, 0, 0, 0}},
        {"one early, one late",
         6,
         {0},
         {4000, 5000, 5000, 5001, 5000, 5900},
         0,
         {0, 0, 0, 1, 1, .899}},
        {"starts that spread",
         4,
         {0, 500, 1000, 2000},
         {9, 9, 9, 9},
         0,
         {1, 1, 2, 0, 0, 0}},
        {"within the bounds",
         4,
         {0, 0, 0, 10},
         {100, 100, 100, 110},
         5,
         {0, 0, 0, 0, 0, 0}},
        {"just beyond the bounds",
         4,
         {0, 0, 0, 11},
         {100, 100, 100, 111},
         5,
         {1, 1, .011, 1, 1, .011}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bw_rank ranks[RANKS];
        const int node[RANKS] = {0, 0, 1, 1, 2, 2};
        const struct ends *want = &cases[i].ends;
        struct ends got;

        for (size_t r = 0; r < cases[i].n; r++) {
            ranks[r] = rank_of(cases[i].start_ms[r], cases[i].end_ms[r]);
            ranks[r].bound_ns = r == 0 ? cases[i].bound_ms * MS : 0;
        }
        memset(&got, 0x5a, sizeof(got));
        assert_true(ends_find(ranks, node, cases[i].n, &got));
        if (got.ramp_ranks != want->ramp_ranks ||
            got.ramp_nodes != want->ramp_nodes ||
            got.tail_ranks != want->tail_ranks ||
            got.tail_nodes != want->tail_nodes)
            fail_msg("%s: ramp %zu on %zu, tail %zu on %zu", cases[i].what,
                     got.ramp_ranks, got.ramp_nodes, got.tail_ranks,
                     got.tail_nodes);
        assert_near(got.ramp_s, want->ramp_s, 1e-9);
        assert_near(got.tail_s, want->tail_s, 1e-9);
    }
}

static void idle_ranks_do_not_count(void **state)
{
    struct bw_rank ranks[] = {rank_of(0, 100), rank_of(0, 0), rank_of(0, 100),
                              rank_of(0, 150), rank_of(900, 900)};
    const int node[] = {0, 1, 2, 3, 4};
    struct ends ends;

    (void)state;
    ranks[1].bytes = ranks[4].bytes = 0;
    assert_true(ends_find(ranks, node, COUNT(ranks), &ends));
    assert_int_equal(ends.ramp_ranks, 0);
    assert_int_equal(ends.tail_ranks, 1);
    assert_int_equal(ends.tail_nodes, 1);
    assert_near(ends.tail_s, 0.05, 1e-9);
}

/* Most ranks end close to each other, a few 1 to 4 s later: those are named,
 * on their nodes, wherever they are. */
static void the_late_minority_is_named(void **state)
{
    enum { N = 512, PER_NODE = 8 };
    static struct bw_rank ranks[N];
    static int node[N], who[N];
    static const struct {
        size_t late;
        uint64_t bulk_ms; /* how far the others are apart */
        size_t more;      /* so many of the bulk may be named, too */
    } cases[] = {{1, 40, 0},  {2, 40, 0},    {5, 40, 0},   {37, 40, 0},
                 {99, 40, 0}, {10, 900, 60}, {37, 900, 60}};

    (void)state;
    for (uint64_t seed = 0; seed < 210; seed++) {
        size_t late = cases[seed % COUNT(cases)].late;
        uint64_t bulk_ms = cases[seed % COUNT(cases)].bulk_ms;
        size_t more = cases[seed % COUNT(cases)].more;
        bool seen[N / PER_NODE] = {false};
        size_t nodes = 0;
        int64_t last = 0, others = 0;
        struct ends ends;

        for (int r = 0; r < N; r++) {
            who[r] = r;
            node[r] = r / PER_NODE;
        }
        rng_shuffle(who, N, seed);
        for (size_t i = 0; i < N; i++) {
            int r = who[i];
            int64_t end = 60000 + (int64_t)rng_below(seed, i, bulk_ms);

            if (i < late) {
                end += 1000 + (int64_t)rng_below(seed, N + i, 3000);
                nodes += !seen[node[r]];
                seen[node[r]] = true;
                last = end > last ? end : last;
            } else {
                others = end > others ? end : others;
            }
            ranks[r] = rank_of(0, end);
        }
        assert_true(ends_find(ranks, node, N, &ends));
        assert_in_range(ends.tail_ranks, late, late + more);
        if (ends.tail_ranks > late)
            continue;
        assert_int_equal(ends.tail_nodes, nodes);
        assert_near(ends.tail_s, (double)(last - others) / 1e3, 1e-9);
    }
}

/* Rank-ns that "only k in the last X" accounts for, with the largest X. */
static double idle_of_tail(const struct bw_rank *ranks, size_t n, int64_t e1,
                           size_t r)
{
    size_t done = 0;

    for (size_t i = 0; i < n; i++)
        done += ranks[i].end_ns <= ranks[r].end_ns;
    return (double)done * (double)(e1 - ranks[r].end_ns);
}

static double idle_of_ramp(const struct bw_rank *ranks, size_t n, int64_t s0,
                           size_t r)
{
    size_t missing = 0;

    for (size_t i = 0; i < n; i++)
        missing += ranks[i].start_ns >= ranks[r].start_ns;
    return (double)missing * (double)(ranks[r].start_ns - s0);
}

/* Whatever is said holds: in the last seconds these and no others were at
 * work, in the first ones these were not; and no other choice tells more. */
static void what_is_said_is_true(void **state)
{
    enum { N = 40 };

    (void)state;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        struct bw_rank ranks[N];
        int node[N];
        size_t n = 1 + (size_t)rng_below(50, seed, N);
        uint64_t steps = 1 + rng_below(51, seed, 2000); /* few: many ties */
        int64_t s0 = INT64_MAX, e1 = INT64_MIN;
        struct ends ends;
        size_t not_yet = 0, still = 0;

        for (size_t r = 0; r < n; r++) {
            int64_t start = (int64_t)rng_below(52, seed * N + r, steps);
            int64_t end = 3000 + (int64_t)rng_below(53, seed * N + r, steps);

            ranks[r] = rank_of(start, end);
            node[r] = (int)rng_below(54, seed * N + r, 5);
            s0 = ranks[r].start_ns < s0 ? ranks[r].start_ns : s0;
            e1 = ranks[r].end_ns > e1 ? ranks[r].end_ns : e1;
        }
        assert_true(ends_find(ranks, node, n, &ends));
        int64_t ramp = llround(ends.ramp_s * 1e9);
        int64_t tail = llround(ends.tail_s * 1e9);
        for (size_t r = 0; r < n; r++) {
            not_yet += ramp > 0 && ranks[r].start_ns >= s0 + ramp;
            still += tail > 0 && ranks[r].end_ns > e1 - tail;
            assert_true((double)ends.ramp_ranks * (double)ramp >=
                        idle_of_ramp(ranks, n, s0, r));
            assert_true((double)(n - ends.tail_ranks) * (double)tail >=
                        idle_of_tail(ranks, n, e1, r));
        }
        assert_int_equal(not_yet, ends.ramp_ranks);
        assert_int_equal(still, ends.tail_ranks);
        assert_true(not_yet < n && still < n);
        assert_true(ends.ramp_nodes <= 5 && ends.tail_nodes <= 5);
        assert_int_equal(ends.ramp_nodes > 0, ends.ramp_ranks > 0);
        assert_int_equal(ends.tail_nodes > 0, ends.tail_ranks > 0);
    }
}

static void sentences(void **state)
{
    static const struct {
        struct ends ends;
        double ramp_pct, tail_pct;
        size_t ranks;
        const char *text;
    } cases[] = {
        {{0, 0, 0, 37, 5, 4.1},
         0.99,
         11.2,
         512,
         "tail cost 11.2 % (37 of 512 ranks on 5 nodes, last 4.1 s)"},
        {{1, 1, 2, 1, 1, 0.34},
         3,
         11.2,
         4,
         "ramp cost 3.0 % (1 of 4 ranks on 1 node, first 2.0 s); "
         "tail cost 11.2 % (1 of 4 ranks on 1 node, last 340 ms)"},
        {{2, 2, 0.0042, 1, 1, 0.34},
         1.0,
         NAN,
         4,
         "ramp cost 1.0 % (2 of 4 ranks on 2 nodes, first 4.2 ms)"},
        {{0, 0, 0, 1, 1, 10.04},
         0,
         1.0,
         1,
         "tail cost 1.0 % (1 of 1 rank on 1 "
         "node, last 10.0 s)"},
        {{2, 1, 0.96, 0, 0, 0},
         12.34,
         1.5,
         4,
         "ramp cost 12.3 % (2 of 4 ranks on 1 node, first 1.0 s); "
         "tail cost 1.5 %"},
        {{1, 1, 2, 1, 1, 2}, 0.99, -5, 4, ""},
        {{1, 1, 2, 1, 1, 2}, NAN, NAN, 4, ""},
        {{0, 0, 0, 0, 0, 0}, 0, 0, 0, ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct str text = {0};

        ends_sentence(&cases[i].ends, cases[i].ramp_pct, cases[i].tail_pct,
                      cases[i].ranks, &text);
        assert_string_equal(str_text(&text), cases[i].text);
        str_release(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_by_hand),
        cmocka_unit_test(idle_ranks_do_not_count),
        cmocka_unit_test(the_late_minority_is_named),
        cmocka_unit_test(what_is_said_is_true),
        cmocka_unit_test(sentences),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
