/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From what all ranks together have of a phase to rows: the grid, whose
 * curves there are, classes and their percentiles, the time structure and
 * where it is counted from.  How it was summed is tests/ranks'.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/detail_rows.h"
#include "stats/series.h"
#include "stats/structure.h"

#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

static const struct {
    int64_t span_ns;
    int64_t width_ns, part_width_ns;
    size_t bins, part_bins;
} grids[] = {
    {1, 10 * MS, 10 * MS, 1, 1},
    {10 * MS + 1, 10 * MS, 10 * MS, 2, 2},
    {1200 * MS, 10 * MS, 10 * MS, 120, 120},
    {1200 * MS + 1, 10 * MS, 20 * MS, 121, 61},
    {6 * S, 10 * MS, 80 * MS, 600, 75},
    {6 * S + 1, 20 * MS, 80 * MS, 301, 76},
    {3600 * S, 10240 * MS, 40960 * MS, 352, 88},
    {10000000 * S, INT64_C(20971520) * MS, INT64_C(83886080) * MS, 477, 120},
};

static void fits_the_grid(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(grids) / sizeof(grids[0]); i++) {
        struct detail_grid grid;

        print_message("# %lld ns\n", (long long)grids[i].span_ns);
        detail_grid_init(&grid, 42, grids[i].span_ns);
        assert_int_equal(grid.origin_ns, 42);
        assert_int_equal(grid.width_ns, grids[i].width_ns);
        assert_int_equal(grid.part_width_ns, grids[i].part_width_ns);
        assert_int_equal(grid.bins, grids[i].bins);
        assert_int_equal(grid.part_bins, grids[i].part_bins);
    }
}

/* Rank r moved r + 1 bytes in each of its bins. */
static void check_curves(int ranks, int nodes)
{
    const struct iobm_phase_row row = {.phase = 2, .repeat = 5};
    const bool each = ranks <= SERIES_RANKS_MAX;
    struct iobm_detail detail = {0};
    struct detail_grid grid;
    int64_t *total, *parts, sum = 0, curves = 0;
    int *node_of = calloc((size_t)ranks, sizeof(*node_of));

    detail_grid_init(&grid, 1000, 3 * S);
    total = calloc(grid.bins, sizeof(*total));
    parts = calloc((size_t)ranks * grid.part_bins, sizeof(*parts));
    assert_true(node_of && total && parts);
    for (int r = 0; r < ranks; r++) {
        node_of[r] = r % nodes;
        for (size_t i = 0; i < grid.part_bins; i++) {
            parts[(size_t)r * grid.part_bins + i] = r + 1;
            total[4 * i] += r + 1;
        }
    }
    assert_true(detail_series_rows(&grid, total, parts, ranks, node_of, nodes,
                                   &row, &detail));
    for (size_t i = 0; i < detail.series_count; i++) {
        const struct iobm_series_row *s = &detail.series[i];
        bool all = i < grid.bins;
        size_t curve = all ? 0 : (i - grid.bins) / grid.part_bins;
        size_t bin = all ? i : (i - grid.bins) % grid.part_bins;
        int64_t width = all ? grid.width_ns : grid.part_width_ns;

        assert_int_equal(s->phase, 2);
        assert_int_equal(s->repeat, 5);
        assert_int_equal(s->width_ns, width);
        assert_int_equal(s->start_ns, 1000 + (int64_t)bin * width);
        assert_int_equal(s->rank, all || !each ? -1 : (int64_t)curve);
        assert_int_equal(s->node, all    ? -1
                                  : each ? (int64_t)curve % nodes
                                         : (int64_t)curve);
        if (all)
            sum += s->bytes;
        else
            curves += s->bytes;
        if (!all && each)
            assert_int_equal(s->bytes, curve + 1);
    }
    assert_int_equal(sum, (int64_t)ranks * (ranks + 1) / 2 *
                              (int64_t)grid.part_bins);
    assert_int_equal(curves, sum);
    assert_int_equal(detail.series_count,
                     grid.bins +
                         (size_t)(each ? ranks : nodes) * grid.part_bins);
    assert_true(detail_series_rows(&grid, total, parts, ranks, node_of, nodes,
                                   &row, NULL));
    iobm_detail_release(&detail);
    free(node_of);
    free(total);
    free(parts);
}

static void has_ranks_or_nodes(void **state)
{
    (void)state;
    check_curves(1, 1);
    check_curves(5, 2);
    check_curves(SERIES_RANKS_MAX, 3);
    check_curves(SERIES_RANKS_MAX + 1, 3);
    check_curves(SERIES_RANKS_MAX + 7, SERIES_RANKS_MAX + 7);
}

static void tells_the_seconds(void **state)
{
    const struct iobm_phase_row row = {.phase = 2, .repeat = 5};
    struct iobm_detail detail = {0};
    struct slots slots;
    void *memory = malloc(slots_bytes(4));

    (void)state;
    assert_non_null(memory);
    slots_init(&slots, memory, 4, 77, S);
    for (int i = 0; i < 1000; i++)
        slots_add(&slots, 77 + i, MS, 10);
    slots_add(&slots, 77 + 2 * S, 5 * MS, 7);
    assert_true(detail_second_rows(&slots, &row, &detail));
    assert_int_equal(detail.second_count, 3);
    assert_int_equal(detail.seconds[0].phase, 2);
    assert_int_equal(detail.seconds[2].repeat, 5);
    assert_true(detail.seconds[0].start_s == 0);
    assert_true(detail.seconds[2].start_s == 2);
    assert_true(detail.seconds[2].width_s == 1);
    assert_int_equal(detail.seconds[0].ops, 1000);
    assert_int_equal(detail.seconds[0].bytes, 10000);
    assert_true(fabs(detail.seconds[0].p50_s - 0.001) < 0.0001);
    assert_true(fabs(detail.seconds[0].p99_s - 0.001) < 0.0001);
    assert_true(detail.seconds[0].max_s == 0.001);
    assert_int_equal(detail.seconds[1].ops, 0);
    assert_true(isnan(detail.seconds[1].max_s));
    assert_true(detail.seconds[2].max_s == 0.005);
    assert_true(isnan(detail.seconds[2].p50_s));
    assert_true(detail_second_rows(&slots, &row, NULL));
    iobm_detail_release(&detail);
    free(memory);
}

static struct iobm_phase_row blank(void)
{
    return (struct iobm_phase_row){
        .phase = 2,
        .repeat = 5,
        .seconds = 60,
        .latency_mean_s = NAN,
        .latency_p50_s = NAN,
        .latency_p999_s = NAN,
        .warmup_s = NAN,
        .changes = -1,
        .cliff_bytes = -1,
        .cliff_before_Bps = NAN,
        .cliff_after_Bps = NAN,
        .sustained_Bps = NAN,
    };
}

/* Latencies of 1 to n us; which percentiles there are follows from n. */
static const struct {
    int n;
    bool p50, p90, p99, p999, p9999;
} percentiles[] = {
    {1, false, false, false, false, false},
    {19, false, false, false, false, false},
    {20, true, false, false, false, false},
    {99, true, false, false, false, false},
    {100, true, true, false, false, false},
    {1000, true, true, true, false, false},
    {9999, true, true, true, false, false},
    {10000, true, true, true, true, false},
    {100000, true, true, true, true, true},
};

static void check_quantile(double value, bool there, double exact_us)
{
    assert_int_equal(!isnan(value), there);
    if (there)
        assert_true(fabs(value * 1e6 / exact_us - 1) < 0.008);
}

static void has_percentiles_where_n_allows(void **state)
{
    struct hist *hist = calloc(PHASE_CLASSES, sizeof(*hist));

    (void)state;
    assert_non_null(hist);
    for (size_t i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++) {
        struct iobm_phase_row row = blank();
        struct iobm_detail detail = {0};
        int n = percentiles[i].n;
        int64_t ops = 0;

        print_message("# %d operations\n", n);
        for (int c = 0; c < PHASE_CLASSES; c++)
            hist_init(&hist[c]);
        for (int us = 1; us <= n; us++)
            hist_add(&hist[PHASE_TRANSFER], us * 1000);
        hist_add(&hist[PHASE_CLOSE], 7 * MS);
        assert_true(detail_class_rows(hist, IOBM_OP_READ, &row, &detail));
        assert_int_equal(detail.class_count, 2);
        const struct iobm_class_row *one = &detail.classes[0];
        assert_string_equal(one->op_class, "read");
        assert_string_equal(detail.classes[1].op_class, "close");
        assert_int_equal(detail.classes[1].ops, 1);
        assert_true(detail.classes[1].max_s == 0.007);
        assert_int_equal(one->phase, 2);
        assert_int_equal(one->repeat, 5);
        assert_int_equal(one->ops, n);
        check_quantile(one->min_s, true, 1);
        check_quantile(one->max_s, true, n);
        check_quantile(one->mean_s, true, (n + 1) / 2.0);
        check_quantile(one->p50_s, percentiles[i].p50, ceil(0.5 * n - 1e-6));
        check_quantile(one->p90_s, percentiles[i].p90, ceil(0.9 * n - 1e-6));
        check_quantile(one->p99_s, percentiles[i].p99, ceil(0.99 * n - 1e-6));
        check_quantile(one->p999_s, percentiles[i].p999,
                       ceil(0.999 * n - 1e-6));
        check_quantile(one->p9999_s, percentiles[i].p9999,
                       ceil(0.9999 * n - 1e-6));
        check_quantile(row.latency_mean_s, true, (n + 1) / 2.0);
        check_quantile(row.latency_p50_s, percentiles[i].p50,
                       ceil(0.5 * n - 1e-6));
        check_quantile(row.latency_p999_s, percentiles[i].p999,
                       ceil(0.999 * n - 1e-6));
        for (size_t b = 0; b + 1 < detail.latency_count; b++) {
            assert_true(detail.latency[b].ops > 0);
            ops += detail.latency[b].ops;
        }
        assert_int_equal(ops, n);
        assert_string_equal(detail.latency[detail.latency_count - 1].op_class,
                            "close");
        iobm_detail_release(&detail);
    }
    free(hist);
}

static void has_no_class_without_operations(void **state)
{
    struct hist *hist = calloc(PHASE_CLASSES, sizeof(*hist));
    struct iobm_phase_row row = blank();
    struct iobm_detail detail = {0};

    (void)state;
    assert_non_null(hist);
    for (int c = 0; c < PHASE_CLASSES; c++)
        hist_init(&hist[c]);
    assert_true(detail_class_rows(hist, IOBM_OP_WRITE, &row, &detail));
    assert_int_equal(detail.class_count, 0);
    assert_int_equal(detail.latency_count, 0);
    assert_true(isnan(row.latency_mean_s));
    assert_true(detail_class_rows(hist, IOBM_OP_WRITE, &row, NULL));
    free(hist);
}

/* 60 s in bins of 160 ms (375 of them): 100 MB/s in the first 'ahead' bins
 * (one rank of two), then 1000, and from bin 'fall' on 250. */
static const struct structure_case {
    const char *name;
    size_t ahead, fall;
    int64_t from_ns, to_ns; /* since S0 */
    enum iobm_op_kind kind;
    double sync_max_s;
    const char *shape;
    int64_t changes, cliff_bin; /* -1: no cliff */
    double sustained;           /* MB/s; 0: n/a */
} structures[] = {
    {"flat", 0, 375, 0, 60 * S, IOBM_OP_WRITE, 1, "flat", 0, -1, 1000},
    {"a cliff", 0, 200, 0, 60 * S, IOBM_OP_WRITE, 1, "slow-down", 1, 200, 250},
    {"a read has no cliff", 0, 200, 0, 60 * S, IOBM_OP_READ, 0, "slow-down", 1,
     -1, 250},
    {"a cliff behind a ramp", 30, 200, 30 * 160 * MS, 60 * S, IOBM_OP_WRITE, 1,
     "slow-down", 1, 200, 250},
    {"the ramp is not looked at", 30, 375, 30 * 160 * MS - 1, 60 * S,
     IOBM_OP_WRITE, 1, "flat", 0, -1, 1000},
    {"nor is the tail", 0, 300, 0, 300 * 160 * MS + 1, IOBM_OP_WRITE, 1, "flat",
     0, -1, 1000},
    {"a long sync", 0, 200, 0, 60 * S, IOBM_OP_WRITE, 6.1, "slow-down", 1, 200,
     0},
    {"too short a window", 0, 375, 0, 2 * S, IOBM_OP_WRITE, 1, "too-short", -1,
     -1, 0},
    {"30 bins", 0, 375, 0, 30 * 160 * MS, IOBM_OP_WRITE, 1, "flat", 0, -1,
     1000},
    {"30 bins, less 1 ns before", 0, 375, 1, 30 * 160 * MS, IOBM_OP_WRITE, 1,
     "too-short", -1, -1, 0},
    {"30 bins, less 1 ns behind", 0, 375, 0, 30 * 160 * MS - 1, IOBM_OP_WRITE,
     1, "too-short", -1, -1, 0},
    {"less than a bin", 0, 375, 1, 2, IOBM_OP_WRITE, 1, "too-short", -1, -1, 0},
    {"no window", 0, 375, -1001, -1001, IOBM_OP_WRITE, 1, "", -1, -1, 0},
};

static void check_structure(const struct structure_case *c)
{
    struct iobm_phase_row row = blank();
    struct iobm_detail detail = {0};
    struct detail_grid grid;
    int64_t total[DETAIL_BINS], before = 0, bin = 160 * 1000;

    detail_grid_init(&grid, 1000, 60 * S);
    assert_int_equal(grid.width_ns, 160 * MS);
    assert_int_equal(grid.bins, 375);
    for (size_t i = 0; i < grid.bins; i++) {
        /* Noise, or all is a change. */
        int64_t rate = i < c->ahead ? 100 : i < c->fall ? 1000 : 250;
        total[i] = rate * bin + (int64_t)(i * 7919 % 101) * bin / 20;
        if ((int64_t)i < c->cliff_bin)
            before += total[i];
    }
    row.sync_max_s = c->sync_max_s;
    assert_true(detail_structure(&grid, total, 1000 + c->from_ns,
                                 1000 + c->to_ns, c->kind, &row, &detail));
    assert_string_equal(row.shape, c->shape);
    assert_int_equal(row.changes, c->changes);
    assert_int_equal(detail.change_count, c->changes < 0 ? 0 : c->changes);
    assert_int_equal(isnan(row.sustained_Bps), c->sustained == 0);
    if (c->sustained > 0)
        assert_true(fabs(row.sustained_Bps / 1e6 / c->sustained - 1) < 0.02);
    assert_int_equal(isnan(row.warmup_s), c->changes < 0);
    if (c->cliff_bin < 0) {
        assert_int_equal(row.cliff_bytes, -1);
        assert_true(isnan(row.cliff_before_Bps));
    } else {
        /* To the bin in which it was found. */
        double room = 1.1 * 4 * (double)bin * 1000;

        assert_true(fabs((double)(row.cliff_bytes - before)) < room);
        assert_true(fabs(row.cliff_before_Bps / 1e9 - 1) < 0.02);
        assert_true(fabs(row.cliff_after_Bps / 250e6 - 1) < 0.03);
        assert_int_equal(detail.changes[0].at_bytes, row.cliff_bytes);
        assert_true(fabs(detail.changes[0].at_s - (double)c->cliff_bin * 0.16) <
                    0.7);
        assert_int_equal(detail.changes[0].phase, 2);
        assert_int_equal(detail.changes[0].repeat, 5);
    }
    row = blank();
    assert_true(detail_structure(&grid, total, 1000 + c->from_ns,
                                 1000 + c->to_ns, c->kind, &row, NULL));
    assert_int_equal(row.changes, c->changes);
    iobm_detail_release(&detail);
}

static void finds_the_structure(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(structures) / sizeof(structures[0]); i++) {
        print_message("# %s\n", structures[i].name);
        check_structure(&structures[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fits_the_grid),
        cmocka_unit_test(has_ranks_or_nodes),
        cmocka_unit_test(tells_the_seconds),
        cmocka_unit_test(has_percentiles_where_n_allows),
        cmocka_unit_test(has_no_class_without_operations),
        cmocka_unit_test(finds_the_structure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
