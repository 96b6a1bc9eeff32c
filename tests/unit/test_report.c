/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What people and programs read: golden texts of two phases, which line
 * appears when, 80 columns whatever the values are, and JSON and CSV that
 * strict readers accept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <ctype.h>
#include <math.h>

#include "base/rng.h"
#include "report/lines.h"
#include "report/report.h"
#include "stats/bandwidth.h"

#define MiB    (INT64_C(1) << 20)
#define ROUNDS 400

/* A phase as the engine would fill it, from the ranks' seconds. */
struct phase {
    struct iobm_phase_row row;
    struct iobm_rank_row ranks[64];
    size_t n;
};

static void set_text(char *to, size_t room, const char *from)
{
    snprintf(to, room, "%s", from);
}

#define SET(member, text) set_text((member), sizeof(member), (text))

static void fill_rank(struct iobm_rank_row *r, size_t i, double start,
                      double seconds)
{
    *r = (struct iobm_rank_row){
        .rank = (int64_t)i,
        .part = (int64_t)i,
        .start_ns = llround(start * 1e9),
        .end_ns = llround((start + seconds) * 1e9),
        .open_ns = 1000000,
        .sync_ns = 2744000000,
        .close_ns = 1000000,
        .bytes = 2560 * MiB,
        .ops = 160,
    };
    SET(r->op, "write");
    snprintf(r->node, sizeof(r->node), "node%02zu", 1 + i / 16);
    r->io_ns = r->end_ns - r->start_ns - r->sync_ns;
    r->rate_Bps = (double)r->bytes * 1e9 / (double)(r->end_ns - r->start_ns);
}

static void fill_phase(struct phase *p)
{
    struct iobm_phase_row *row = &p->row;
    struct bw_rank ranks[64];
    struct bw_result bw;

    for (size_t i = 0; i < p->n; i++)
        ranks[i] = (struct bw_rank){
            .start_ns = p->ranks[i].start_ns,
            .end_ns = p->ranks[i].end_ns,
            .bytes = p->ranks[i].bytes,
            .io_end_ns = p->ranks[i].end_ns - p->ranks[i].sync_ns,
            .open_ns = p->ranks[i].start_ns - p->ranks[i].open_ns,
            .close_ns = p->ranks[i].end_ns + p->ranks[i].close_ns};
    bw_compute(ranks, p->n, &bw);
    *row = (struct iobm_phase_row){
        .ranks = (int64_t)p->n,
        .nodes = (int64_t)(p->n + 15) / 16,
        .files = (int64_t)p->n,
        .transfer_bytes = 16 * MiB,
        .alignment_bytes = 1,
        .bytes_expected = bw.bytes,
        .bytes = bw.bytes,
        .ops = 160 * (int64_t)p->n,
        .seconds = bw.seconds,
        .seconds_outer = bw.seconds + 0.01,
        .bw_naive_Bps = bw.naive,
        .bw_slowest_Bps = bw.slowest,
        .bw_wall_Bps = bw.wall,
        .bw_wall_low_Bps = bw.wall,
        .bw_wall_high_Bps = bw.wall,
        .bw_steady_Bps = NAN,
        .bw_steady_edge_pct = NAN,
        .bw_q90_Bps = NAN,
        .bw_open_close_Bps = bw.open_close,
        .bw_cache_Bps = bw.cache,
        .bw_stone_10s_Bps = NAN,
        .bw_stone_30s_Bps = NAN,
        .bw_stone_60s_Bps = NAN,
        .bw_stone_300s_Bps = NAN,
        .dirty_pct = NAN,
        .inflation_ranks = bw.inflation_ranks,
        .inflation_start = bw.inflation_start,
        .loss_ramp_pct = NAN,
        .loss_tail_pct = NAN,
        .imbalance = 0.0138,
        .rate_cov = 0.01,
        .rate_jain = 0.9999,
        .node_eta2 = NAN,
        .node_p = NAN,
        .duty_pct = 99.7,
        .prepare_pct = 0.2,
        .open_max_s = 0.001,
        .sync_max_s = 2.744,
        .close_max_s = 0.001,
        .latency_max_s = 0.18,
        .latency_min_s = NAN,
        .latency_mean_s = NAN,
        .latency_p50_s = NAN,
        .latency_p90_s = NAN,
        .latency_p99_s = NAN,
        .latency_p999_s = NAN,
        .cliff_bytes = -1,
        .sustained_Bps = NAN,
        .verify_bytes = -1,
        .verify_errors = -1,
        .clock_bound_s = 2e-6,
        .clock_domains = 1,
    };
    SET(row->op, "write");
    SET(row->status, "complete");
    SET(row->api, "posix");
    SET(row->access, "file-per-rank");
    SET(row->layout, "segmented");
    SET(row->sync, "end");
    SET(row->order, "same");
    SET(row->path, "/big/test");
}

/* The published run of the tool that came before: naive 514.466, slowest
 * 507.408 MiB/s. */
static void fill_four(struct phase *p)
{
    static const double seconds[] = {19.746, 19.950, 19.746, 20.181};

    p->n = 4;
    for (size_t i = 0; i < p->n; i++)
        fill_rank(&p->ranks[i], i, 0, seconds[i]);
    fill_phase(p);
}

static void fill_many(struct phase *p)
{
    p->n = 64;
    for (size_t i = 0; i < p->n; i++)
        fill_rank(&p->ranks[i], i, 0, 20 + 0.01 * (double)(i * 37 % 64));
    fill_phase(p);
}

static void print_phase(const struct phase *p, bool verbose, struct str *out)
{
    report_phase_text("0.1.0", &p->row, p->ranks, p->n, NULL, verbose, out);
    assert_false(out->failed);
}

static const char golden_four[] =
    "iobm 0.1.0  write  file per rank  posix buffered  4 ranks on 1 node\n"
    "10 GiB in 4 files of 2.5 GiB, 640 transfers of 16 MiB   "
    "/big/test.0 ... .3\n"
    "  rank  node        seconds     MiB/s     open   write    sync   close\n"
    "     0  node01       19.746   129.647    0.001  17.002   2.744   0.001\n"
    "     1  node01       19.950   128.321    0.001  17.206   2.744   0.001\n"
    "     2  node01       19.746   129.647    0.001  17.002   2.744   0.001\n"
    "     3  node01       20.181   126.852    0.001  17.437   2.744   0.001\n"
    "naive sum of the ranks        514.47 MiB/s    539.46 MB/s\n"
    "precise, first start to last end\n"
    "                              507.41 MiB/s    532.06 MB/s   clock +-2 "
    "us\n"
    "  naive is 1.4 % above: uneven ranks 1.4 %, late starts 0.0 %\n"
    "  into the cache              587.26 MiB/s   before the sync\n";

static const char golden_many[] =
    "iobm 0.1.0  write  file per rank  posix buffered  64 ranks on 4 nodes\n"
    "160 GiB in 64 files of 2.5 GiB, 10240 transfers of 16 MiB   "
    "/big/test.0 ... .63\n"
    "  over 64 ranks\n"
    "                          least       10 %     median       90 %       "
    "most\n"
    "    seconds              20.000     20.060     20.315     20.570     "
    "20.630\n"
    "    MiB/s               124.091    124.453    126.015    127.617    "
    "128.000\n"
    "  the slowest 5\n"
    "  rank  node        seconds     MiB/s     open   write    sync   close\n"
    "    19  node02       20.630   124.091    0.001  17.886   2.744   0.001\n"
    "    38  node03       20.620   124.151    0.001  17.876   2.744   0.001\n"
    "    57  node04       20.610   124.212    0.001  17.866   2.744   0.001\n"
    "    12  node01       20.600   124.272    0.001  17.856   2.744   0.001\n"
    "    31  node02       20.590   124.332    0.001  17.846   2.744   0.001\n"
    "naive sum of the ranks       8065.64 MiB/s   8457.44 MB/s\n"
    "precise, first start to last end\n"
    "                             7941.83 MiB/s   8327.61 MB/s   clock +-2 "
    "us\n"
    "  naive is 1.6 % above: uneven ranks 1.6 %, late starts 0.0 %\n"
    "  into the cache             9160.24 MiB/s   before the sync\n";

static void test_golden(void **state)
{
    struct phase p;
    struct str out = {0};

    (void)state;
    fill_four(&p);
    print_phase(&p, false, &out);
    assert_string_equal(str_text(&out), golden_four);
    str_release(&out);

    fill_many(&p);
    print_phase(&p, false, &out);
    assert_string_equal(str_text(&out), golden_many);
    str_release(&out);

    print_phase(&p, true, &out); /* every rank has a row */
    assert_non_null(strstr(str_text(&out), "\n    63  node04 "));
    assert_null(strstr(str_text(&out), "slowest"));
    str_release(&out);
}

/* Ranks without bytes are counted, but are no part of the distribution. */
static void test_idle_ranks(void **state)
{
    struct phase p;
    struct str out = {0};

    (void)state;
    fill_many(&p);
    for (size_t i = 40; i < 64; i++) {
        p.ranks[i].bytes = 0;
        p.ranks[i].end_ns = p.ranks[i].start_ns;
        p.ranks[i].rate_Bps = NAN;
    }
    print_phase(&p, false, &out);
    assert_non_null(
        strstr(str_text(&out), "  over 40 ranks (24 more had no bytes)\n"));
    assert_non_null(
        strstr(str_text(&out), "\n    seconds              20.000"));
    str_release(&out);

    for (size_t i = 0; i < 64; i++)
        p.ranks[i].bytes = 0;
    print_phase(&p, false, &out); /* nothing to sum up, nothing to crash */
    assert_null(strstr(str_text(&out), "over"));
    str_release(&out);
}

/* Three ranks at 100 MiB/s that start at 0, 1 and 2 s. */
static void test_late_starts(void **state)
{
    struct phase p = {.n = 3};
    struct str out = {0};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        fill_rank(&p.ranks[i], i, (double)i, 1);
        p.ranks[i].bytes = 100 * MiB;
        p.ranks[i].sync_ns = 0;
    }
    fill_phase(&p);
    print_phase(&p, false, &out);
    assert_non_null(strstr(
        str_text(&out), "naive sum of the ranks        300.00 MiB/s    314.57 "
                        "MB/s\nprecise, first start to last end\n"
                        "                              100.00 MiB/s    104.86 "
                        "MB/s"));
    assert_non_null(strstr(str_text(&out),
                           "naive is 3.0 times as high: uneven "
                           "ranks x 1.00, late starts x 3.00\n"));
    str_release(&out);
}

/* ---- which line appears when ---- */

static void even(struct phase *p)
{
    p->row.bw_naive_Bps = p->row.bw_wall_Bps * 1.0005;
}

static void one_clock(struct phase *p)
{
    p->row.clock_bound_s = 0;
}

static void wide(struct phase *p)
{
    p->row.bw_wall_low_Bps = 500.0 * MiB;
    p->row.bw_wall_high_Bps = 510.0 * MiB;
}

static void narrow(struct phase *p)
{
    p->row.bw_wall_low_Bps = p->row.bw_wall_Bps * 0.9999;
    p->row.bw_wall_high_Bps = p->row.bw_wall_Bps * 1.0001;
}

static void unbounded(struct phase *p)
{
    p->row.bw_wall_low_Bps = 500.0 * MiB;
    p->row.bw_wall_high_Bps = NAN;
    p->row.too_short = 1;
}

static void steady(struct phase *p)
{
    p->row.bw_steady_Bps = 520.0 * MiB;
    p->row.loss_ramp_pct = 0.5;
    p->row.loss_tail_pct = -2.25;
    p->row.bw_steady_edge_pct = 3;
}

/* The edges of the window may be wrong by more than a tenth. */
static void unsure(struct phase *p)
{
    steady(p);
    p->row.bw_steady_edge_pct = 10.6;
}

static void steady_same(struct phase *p)
{
    p->row.bw_steady_Bps = 508.0 * MiB;
    p->row.loss_ramp_pct = 0.5;
    p->row.loss_tail_pct = 0.9;
    p->row.bw_steady_edge_pct = 0.1;
}

static void alone(struct phase *p)
{
    p->n = 1;
    fill_phase(p);
}

static void thrice(struct phase *p)
{
    p->row.bw_naive_Bps = 3.0 * p->row.bw_wall_Bps;
    p->row.inflation_ranks = 1.5;
    p->row.inflation_start = 2;
}

static void moves_nothing(struct phase *p)
{
    SET(p->row.api, "null");
}

static void few_bytes(struct phase *p)
{
    p->row.bytes = p->row.bytes_expected = 3;
}

static void slow_open(struct phase *p)
{
    p->row.bw_open_close_Bps = 400.0 * MiB;
}

static void half_dirty(struct phase *p)
{
    p->row.dirty_pct = 50;
}

static void no_sync(struct phase *p)
{
    SET(p->row.sync, "none");
    p->row.dirty_pct = 87.4;
}

static void sync_every(struct phase *p)
{
    p->row.dirty_pct = 1;
    SET(p->row.sync, "every");
}

static void dsync(struct phase *p)
{
    SET(p->row.sync, "dsync");
}

static void direct(struct phase *p)
{
    p->row.direct = 1;
}

static void reading(struct phase *p)
{
    SET(p->row.op, "read");
    SET(p->row.sync, "none");
}

static void shifted(struct phase *p)
{
    reading(p);
    for (size_t i = 0; i < p->n; i++)
        p->ranks[i].part = (int64_t)((i + 2) % p->n);
}

static void collective(struct phase *p)
{
    SET(p->row.api, "mpiio");
    SET(p->row.access, "shared");
    p->row.collective = 1;
    p->row.files = 1;
}

static void strided(struct phase *p)
{
    collective(p);
    SET(p->row.layout, "strided");
    p->row.block_bytes = 4 * MiB;
}

static void uneven_files(struct phase *p)
{
    p->row.bytes = p->row.bytes_expected = 7 * MiB + 3;
    p->row.ops = 4;
}

static void again(struct phase *p)
{
    p->row.repeat = 1;
}

static void long_path(struct phase *p)
{
    SET(p->row.path, "/a/folder/that/has/rather/many/folders/inside/of/it/and/"
                     "another/few/of/them/test");
}

static void straggler(struct phase *p)
{
    p->ranks[3].straggler = 1;
}

static void idle_rank(struct phase *p)
{
    p->ranks[2].bytes = 0;
    p->ranks[2].rate_Bps = NAN;
    p->ranks[2].end_ns = p->ranks[2].start_ns;
}

static void fast(struct phase *p)
{
    p->row.bw_naive_Bps = 200.0 * 1024 * MiB;
    p->row.bw_wall_Bps = 195.0 * 1024 * MiB;
}

static void failed(struct phase *p)
{
    SET(p->row.status, "failed");
    SET(p->row.reason, "rank 3 (node01): cannot write '/big/test.3' at 4096: "
                       "No space left on device");
    p->row.bytes = 64 * MiB;
}

static void interrupted(struct phase *p)
{
    SET(p->row.status, "interrupted");
    SET(p->row.reason, "stopped by SIGTERM");
}

static void invalid(struct phase *p)
{
    SET(p->row.status, "invalid");
    SET(p->row.reason, "the clocks disagree");
    p->row.clock_failed = 1;
    p->row.bw_wall_Bps = 490.0 * MiB;
    p->row.bw_wall_high_Bps = NAN;
}

static const struct {
    void (*change)(struct phase *p);
    bool verbose;
    const char *there; /* NULL: nothing to look for */
    const char *absent;
} lines[] = {
    {even, false, "naive is the same: even ranks, started together", "above"},
    {alone, false, "  naive is the same: there is one rank only\n", "even"},
    {alone, true, "  clock: ", "ranks: longest"},
    {one_clock, false, "MB/s   one clock\n", "clock +-"},
    {wide, false, "  by the clocks it lies between 500.00 and 510.00 MiB/s\n",
     "too short"},
    {narrow, false, NULL, "by the clocks"},
    {unbounded, false, "  by the clocks it is at least 500.00 MiB/s\n", NULL},
    {unsure, false, NULL, "while all were active"},
    {unsure, true, "  while all were active       520.00 MiB/s", NULL},
    {unsure, true, "\n    uncertain by 11 %", NULL},
    {steady, false,
     "  while all were active       520.00 MiB/s   lost: start 0.5 %, end "
     "-2.2 %\n    uncertain by 3.0 %",
     "with open and close"},
    {steady_same, false, NULL, "while all were active"},
    {steady_same, true, "  while all were active       508.00 MiB/s", NULL},
    {thrice, false,
     "  naive is 3.0 times as high: uneven ranks x 1.50, late starts x 2.00\n",
     "above"},
    {moves_nothing, false, "  null moves nothing: ", "into the cache"},
    {few_bytes, false, "3 B in 4 files of at most 1 B, ", NULL},
    {slow_open, false,
     "  with open and close         400.00 MiB/s   first open to last close\n",
     NULL},
    /* What was not synced is a check's business. */
    {no_sync, false, "MB/s", "into the cache"},
    {no_sync, false, "MB/s", "memory alone"},
    {sync_every, false, "  every transfer was synced", "memory alone"},
    {half_dirty, false,
     "    50 % of it was in memory alone when the sync began\n", NULL},
    {sync_every, false, "  every transfer was synced", "into the cache"},
    {dsync, false, "(O_DSYNC)", "into the cache"},
    {direct, false, "  posix O_DIRECT  ", "into the cache"},
    {direct, false, "  before the sync             587.26 MiB/s   transfers",
     NULL},
    {reading, false, "MiB/s     open    read   close\n", "sync"},
    {reading, true, "order: same, 0 of 4 parts written on another node", NULL},
    {shifted, false, "  rank  file  node        seconds", NULL},
    {shifted, false, "\n     1     3  node01 ", NULL},
    {collective, false, "  shared file, segmented  mpiio collective  4 ranks",
     "file per rank"},
    {collective, false, "10 GiB in one file, 4 parts of 2.5 GiB, 640 ", NULL},
    {strided, false, "10 GiB in one file dealt out in blocks of 4 MiB, 640 ",
     NULL},
    {uneven_files, false, " in 4 files of about ", NULL},
    {uneven_files, false, ", 4 transfers of up to 16 MiB", NULL},
    {again, false, "  write repeat 2  file per rank", NULL},
    {long_path, false,
     "16 MiB\n  /a/folder/that/has/rather/many/fo...f/it/and/another/few/of/"
     "them/test.0 ... .3\n",
     NULL},
    {straggler, false, "   0.001*\n  * much slower than the median rank\n",
     NULL},
    {idle_rank, false, "     2  node01        0.000         -", NULL},
    {fast, false, "195.00 GiB/s    209.38 GB/s", NULL},
    {fast, true, "ranks: longest 1.4 % over the mean", NULL},
    {fast, true, "clock: 1 clock, bound +-2 us", NULL},
    {fast, true, "duty: 99.7 % of the time in transfers", NULL},
    {fast, true, "bytes: 10737418240 in all, 16777216 a transfer", NULL},
    {failed, false,
     "  failed: rank 3 (node01): cannot write '/big/test.3' at 4096: No space",
     "iB/s"},
    {failed, true,
     "  64 MiB of 10 GiB were done (67108864 bytes): no bandwidth\n",
     "precise"},
    {failed, false, "transfers of 16 MiB", "640"},
    {interrupted, false, "  interrupted: stopped by SIGTERM\n", "iB/s"},
    {invalid, false,
     "  invalid: the clocks disagree\nat least                      490.00 "
     "MiB/s    513.80 MB/s   by rank 0's clock\n",
     "precise"},
};

static void test_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct phase p;
        struct str out = {0};
        bool there, absent;

        fill_four(&p);
        lines[i].change(&p);
        print_phase(&p, lines[i].verbose, &out);
        there = !lines[i].there || strstr(str_text(&out), lines[i].there);
        absent = !lines[i].absent || !strstr(str_text(&out), lines[i].absent);
        if (!there || !absent)
            print_error("row %zu: '%s' %s:\n%s", i,
                        there ? lines[i].absent : lines[i].there,
                        there ? "is there" : "is missing", str_text(&out));
        assert_true(there && absent);
        str_release(&out);
    }
}

/* ---- whatever the values are ---- */

static uint64_t draw(uint64_t *counter, uint64_t n)
{
    return rng_below(11, (*counter)++, n);
}

static double odd_double(uint64_t *counter)
{
    static const double odd[] = {
        0,     -0.0,   1,      NAN,  INFINITY,      -INFINITY,
        1e300, -1e300, 1e-300, 1e18, 123456789.123, -1,
        5e8,   99.95,  1e15};

    return odd[draw(counter, sizeof(odd) / sizeof(odd[0]))];
}

static int64_t odd_int(uint64_t *counter)
{
    static const int64_t odd[] = {0,          1,  -1, INT64_MAX,    INT64_MIN,
                                  1000000007, 16, 64, INT64_MAX / 2};

    return odd[draw(counter, sizeof(odd) / sizeof(odd[0]))];
}

/* Fills the whole member, often without a NUL. */
static void odd_text(char *to, size_t room, uint64_t *counter)
{
    static const char *const odd[] = {"",
                                      "x",
                                      "node",
                                      "\n",
                                      "\x1b[31m",
                                      "\xff\xfe",
                                      "\xc3\xbc",
                                      "\xe4\xb8\xad",
                                      "\xf0\x9f\x92\xbe",
                                      " ",
                                      "\"",
                                      "\\",
                                      ",",
                                      "\xe2\x80\xae",
                                      "%s%n",
                                      "\x7f",
                                      "/dir/",
                                      "\t\r",
                                      "\xed\xa0\x80"};
    static const char *const real[] = {"read",    "write",    "shared",
                                       "strided", "complete", "failed",
                                       "invalid", "posix",    "none"};
    size_t used = 0;

    memset(to, 0, room);
    if (draw(counter, 2)) {
        set_text(to, room, real[draw(counter, sizeof(real) / sizeof(*real))]);
        return;
    }
    while (used < room) {
        const char *piece = odd[draw(counter, sizeof(odd) / sizeof(odd[0]))];
        size_t length = strlen(piece);

        if (length == 0 && draw(counter, 8) == 0)
            return;
        if (length > room - used)
            length = room - used;
        memcpy(to + used, piece, length);
        used += length;
    }
}

static void odd_row(const struct iobm_column *columns, void *row,
                    uint64_t *counter)
{
    for (const struct iobm_column *c = columns; c->type != IOBM_COL_END; c++) {
        char *to = (char *)row + c->offset;

        if (c->type == IOBM_COL_TEXT)
            odd_text(to, c->size, counter);
        else if (c->type == IOBM_COL_F64)
            *(double *)(void *)to = odd_double(counter);
        else
            *(int64_t *)(void *)to = odd_int(counter);
    }
}

/* Columns by another count than the one under test: a character is a byte
 * that does not continue another, and takes 2 from U+2E80 on. */
static void check_lines(const char *text)
{
    const char *line = text;
    size_t columns = 0;

    for (const char *c = text; *c; c++) {
        unsigned char byte = (unsigned char)*c;

        if (byte == '\n') {
            if (columns > 80)
                print_error("%zu columns: '%.*s'\n", columns, (int)(c - line),
                            line);
            assert_in_range(columns, 0, 80);
            columns = 0;
            line = c + 1;
            continue;
        }
        assert_true(byte >= 0x20 && byte != 0x7f);
        if ((byte & 0xc0) != 0x80)
            columns += byte >= 0xe3 ? 2 : 1;
    }
    assert_int_equal(columns, 0); /* the last line ends, too */
}

static void odd_record(struct run_record *run, uint64_t *counter)
{
    memset(run, 0, sizeof(*run));
    run->number = odd_int(counter);
    odd_text(run->name, sizeof(run->name), counter);
    odd_text(run->status, sizeof(run->status), counter);
    odd_text(run->reason, sizeof(run->reason), counter);
    odd_text(run->label, sizeof(run->label), counter);
    odd_text(run->argv, sizeof(run->argv), counter);
    odd_text(run->version, sizeof(run->version), counter);
    odd_text(run->started_utc, sizeof(run->started_utc), counter);
    run->phase_count = 1 + draw(counter, 3);
    run->phases = calloc(run->phase_count, sizeof(*run->phases));
    run->rank_count = draw(counter, 40);
    run->ranks = calloc(run->rank_count + 1, sizeof(*run->ranks));
    run->log_count = draw(counter, 12);
    run->log = calloc(run->log_count + 1, sizeof(*run->log));
    run->node_count = 1;
    run->nodes = calloc(1, sizeof(*run->nodes));
    run->clock_count = 1;
    run->clocks = calloc(1, sizeof(*run->clocks));
    assert_true(run->phases && run->ranks && run->log && run->nodes &&
                run->clocks);
    odd_row(iobm_node_columns, run->nodes, counter);
    odd_row(iobm_clock_columns, run->clocks, counter);
    for (size_t i = 0; i < run->phase_count; i++) {
        odd_row(iobm_phase_columns, &run->phases[i], counter);
        run->phases[i].phase = (int64_t)i;
        if (draw(counter, 2))
            SET(run->phases[i].status, "complete");
    }
    for (size_t i = 0; i < run->rank_count; i++) {
        odd_row(iobm_rank_columns, &run->ranks[i], counter);
        run->ranks[i].phase = 0;
    }
    for (size_t i = 0; i < run->log_count; i++)
        odd_row(iobm_log_columns, &run->log[i], counter);
}

static void release_record(struct run_record *run)
{
    kv_release(&run->config);
    kv_release(&run->tags);
    kv_release(&run->environment);
    free(run->phases);
    free(run->ranks);
    free(run->log);
    free(run->nodes);
    free(run->clocks);
}

static void test_width(void **state)
{
    uint64_t counter = 0;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct run_record run;
        char file[300];
        struct str out = {0};

        odd_record(&run, &counter);
        odd_text(file, sizeof(file) - 1, &counter);
        file[sizeof(file) - 1] = '\0';
        report_run_text(&run, file, round % 2, &out);
        assert_false(out.failed);
        check_lines(str_text(&out));
        str_release(&out);
        report_list_text(&run, 1, &out);
        assert_false(out.failed);
        check_lines(str_text(&out));
        str_release(&out);
        release_record(&run);
    }
}

/* ---- JSON ---- */

/* A strict reader (RFC 8259): each returns what follows, NULL: not JSON. */
static const char *json_value(const char *p, int depth);

static const char *json_space(const char *p)
{
    return p + strspn(p, " \t\r\n");
}

static const char *json_utf8(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t more = p[0] >= 0xf0 ? 3 : p[0] >= 0xe0 ? 2 : 1;

    if (p[0] < 0xc2 || p[0] > 0xf4)
        return NULL;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
        return NULL;
    for (size_t i = 1; i <= more; i++)
        if ((p[i] & 0xc0) != 0x80)
            return NULL;
    return text + 1 + more;
}

static const char *json_string(const char *p)
{
    if (*p++ != '"')
        return NULL;
    while (p && *p != '"') {
        unsigned char c = (unsigned char)*p;

        if (c < 0x20)
            return NULL;
        if (c >= 0x80) {
            p = json_utf8(p);
        } else if (c != '\\') {
            p++;
        } else if (p[1] == 'u') {
            for (int i = 2; i < 6; i++)
                if (!isxdigit((unsigned char)p[i]))
                    return NULL;
            p += 6;
        } else {
            if (!p[1] || !strchr("\"\\/bfnrt", p[1]))
                return NULL;
            p += 2;
        }
    }
    return p ? p + 1 : NULL;
}

static const char *json_number(const char *p)
{
    size_t digits;

    if (*p == '-')
        p++;
    digits = strspn(p, "0123456789");
    if (digits == 0 || (digits > 1 && *p == '0'))
        return NULL;
    p += digits;
    if (*p == '.') {
        digits = strspn(++p, "0123456789");
        if (digits == 0)
            return NULL;
        p += digits;
    }
    if (*p == 'e' || *p == 'E') {
        p++;
        if (*p == '+' || *p == '-')
            p++;
        digits = strspn(p, "0123456789");
        if (digits == 0)
            return NULL;
        p += digits;
    }
    return p;
}

/* What stands between '{' and '}', or '[' and ']'. */
static const char *json_members(const char *p, bool object, int depth)
{
    char close = object ? '}' : ']';

    p = json_space(p + 1);
    if (*p == close)
        return p + 1;
    for (;;) {
        if (object) {
            p = json_string(p);
            if (!p || *(p = json_space(p)) != ':')
                return NULL;
            p++;
        }
        p = json_value(json_space(p), depth + 1);
        if (!p)
            return NULL;
        p = json_space(p);
        if (*p == close)
            return p + 1;
        if (*p != ',')
            return NULL;
        p = json_space(p + 1);
    }
}

static const char *json_value(const char *p, int depth)
{
    if (depth > 20)
        return NULL;
    if (*p == '{' || *p == '[')
        return json_members(p, *p == '{', depth);
    if (*p == '"')
        return json_string(p);
    if (strncmp(p, "null", 4) == 0 || strncmp(p, "true", 4) == 0)
        return p + 4;
    if (strncmp(p, "false", 5) == 0)
        return p + 5;
    return json_number(p);
}

static bool is_json(const char *text)
{
    const char *end = json_value(json_space(text), 0);

    return end && !*json_space(end);
}

static void test_validator(void **state)
{
    static const char *const good[] = {"{}", "[1, -2.5e+3, 0]",
                                       "{\"a\":{\"b\":[null,true,false]}}",
                                       "\"\\u00fc\xc3\xbc\\n\"", " [ ] "};
    static const char *const bad[] = {
        "",         "{",      "[1,]",  "{\"a\":1,}", "{a:1}",
        "[01]",     "[nan]",  "[1.]",  "[.5]",       "\"\n\"",
        "\"\xff\"", "{} {}",  "[1 2]", "\"\\x41\"",  "\"\xc1\x81\"",
        "[+1]",     "\"open", "[inf]", "{\"a\" 1}",  "\"\xed\xa0\x80\""};

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(is_json(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(is_json(bad[i]));
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    for (; (text = strstr(text, what)); text += strlen(what))
        n++;
    return n;
}

/* A run with one phase of four ranks, and things of every other kind. */
static void fill_run(struct run_record *run)
{
    struct phase p;

    memset(run, 0, sizeof(*run));
    fill_four(&p);
    SET(run->version, "0.1.0");
    SET(run->status, "complete");
    SET(run->name, "000012_20261130T200621Z_1a2b3c4d");
    SET(run->label, "first\tone");
    SET(run->started_utc, "2026-11-30T20:06:21.123456Z");
    run->number = 12;
    run->phases = calloc(3, sizeof(*run->phases));
    run->ranks = calloc(4, sizeof(*run->ranks));
    run->log = calloc(12, sizeof(*run->log));
    run->nodes = calloc(1, sizeof(*run->nodes));
    run->clocks = calloc(1, sizeof(*run->clocks));
    assert_true(run->phases && run->ranks && run->log && run->nodes &&
                run->clocks);
    run->phases[0] = p.row;
    run->phase_count = 1;
    memcpy(run->ranks, p.ranks, 4 * sizeof(*run->ranks));
    run->rank_count = 4;
    assert_int_equal(kv_add(&run->config, "size", "10G", NULL), IOBM_OK);
    assert_int_equal(kv_add(&run->config, "hint", "a=1", NULL), IOBM_OK);
    assert_int_equal(kv_add(&run->config, "hint", "b=2", NULL), IOBM_OK);
    assert_int_equal(kv_add(&run->tags, "who", "\xff\"me\"", NULL), IOBM_OK);
}

/* Numbers as numbers where the key says of what; else the text as it was. */
static void test_json_values(void **state)
{
    static const struct {
        const char *key, *value;
        bool bare;
    } cases[] = {
        {"mount.free_bytes", "85108416512", true},
        {"mount.free_bytes", "-1", true},
        {"data.zlib1_ratio", "1.0003", true},
        {"device.sectors", "0", true},
        {"ranks", "4", true},
        {"write", "true", true},
        {"direct", "false", true},
        {"mount.free_bytes", "", false},
        {"mount.free_bytes", "-", false},
        {"mount.free_bytes", "007", false},
        {"mount.free_bytes", "1.", false},
        {"mount.free_bytes", "1e3", false},
        {"mount.free_bytes", "12 ", false},
        {"mount.free_bytes", "1234567890123456", false},
        {"mount.source", "12", false},
        {"bytes", "12", false},
        {"env.x_bytes", "12", false},
        {"env.X", "true", false},
        {"label", "true", false},
        {"label", "12", false},
        {"hint", "true", false},
        {"size", "10", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct run_record run;
        struct str out = {0}, want = {0};

        memset(&run, 0, sizeof(run));
        assert_int_equal(
            kv_add(&run.environment, cases[i].key, cases[i].value, NULL),
            IOBM_OK);
        assert_int_equal(kv_add(&run.tags, "ranks", "4", NULL), IOBM_OK);
        report_run_json(&run, NULL, &out);
        str_addf(&want,
                 cases[i].bare ? "\"environment\":{\"%s\":%s}"
                               : "\"environment\":{\"%s\":\"%s\"}",
                 cases[i].key, cases[i].value);
        if (!strstr(str_text(&out), str_text(&want)))
            print_error("row %zu: no %s\n", i, str_text(&want));
        assert_non_null(strstr(str_text(&out), str_text(&want)));
        assert_non_null(strstr(str_text(&out), "\"tags\":{\"ranks\":\"4\"}"));
        assert_true(is_json(str_text(&out)));
        str_release(&out);
        str_release(&want);
        release_record(&run);
    }
}

static void test_json(void **state)
{
    struct run_record run;
    struct str out = {0};
    const char *text;

    (void)state;
    fill_run(&run);
    run.node_count = run.clock_count = run.log_count = 1;
    report_run_json(&run, "iobm-results.h5", &out);
    text = str_text(&out);
    assert_false(out.failed);
    assert_true(is_json(text));
    assert_non_null(strstr(text, "{\"iobm\":\"0.1.0\",\n\"run\":{\"number\":12,"
                                 "\"name\":\"000012_"));
    assert_non_null(strstr(text, "\"label\":\"first\\tone\""));
    assert_non_null(strstr(text, "\"file\":\"iobm-results.h5\""));
    assert_non_null(strstr(
        text, "\"config\":{\"size\":\"10G\",\"hint\":[\"a=1\",\"b=2\"]}"));
    assert_non_null(
        strstr(text, "\"tags\":{\"who\":\"\xef\xbf\xbd\\\"me\\\"\"}"));
    assert_non_null(strstr(text, "\"bw_steady_Bps\":null"));
    assert_non_null(strstr(text, "\"bytes_expected\":10737418240"));
    assert_int_equal(count(text, "\"rank_rows\":["), 1);
    assert_int_equal(count(text, "\"latency_max_ns\":"), 4);
    for (const struct iobm_column *c = iobm_phase_columns;
         c->type != IOBM_COL_END; c++) {
        char key[80];

        snprintf(key, sizeof(key), "\"%s\":", c->name);
        assert_non_null(strstr(text, key));
    }
    str_release(&out);
    /* each phase has its own ranks; a text may fill its member */
    run.phase_count = 2;
    run.phases[1] = run.phases[0];
    run.phases[1].phase = 1;
    run.ranks[3].phase = 1;
    memset(run.phases[0].fs_type, 'x', sizeof(run.phases[0].fs_type));
    run.phases[0].bytes_expected = 0x7979797979797979;
    report_run_json(&run, NULL, &out);
    assert_true(is_json(str_text(&out)));
    assert_non_null(strstr(str_text(&out), "\"file\":null"));
    assert_int_equal(count(str_text(&out), "\"rank_rows\":["), 2);
    assert_int_equal(count(str_text(&out), "\"latency_max_ns\":"), 4);
    assert_non_null(strstr(str_text(&out),
                           "\"fs_type\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                           "\",\"bytes_expected\":"));
    str_release(&out);
    release_record(&run);
}

static void test_json_odd(void **state)
{
    uint64_t counter = 1000000;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct run_record run;
        struct str out = {0};
        char text[65];

        odd_record(&run, &counter);
        for (int i = 0; i < 3; i++) {
            odd_text(text, sizeof(text) - 1, &counter);
            text[sizeof(text) - 1] = '\0';
            assert_int_equal(kv_add(&run.environment, text, text, NULL),
                             IOBM_OK);
        }
        report_run_json(&run, text, &out);
        assert_false(out.failed);
        assert_true(is_json(str_text(&out)));
        str_release(&out);
        release_record(&run);
    }
}

/* ---- CSV ---- */

/* Fields of one line, RFC 4180; '*next' is what follows the line. */
static size_t csv_fields(const char *line, const char **next)
{
    size_t fields = 1;
    bool quoted = false;

    for (; *line && (quoted || *line != '\n'); line++) {
        if (*line == '"')
            quoted = !quoted;
        else if (*line == ',' && !quoted)
            fields++;
    }
    assert_false(quoted);
    assert_int_equal(*line, '\n');
    *next = line + 1;
    return fields;
}

static size_t phase_columns(void)
{
    size_t n = 0;

    while (iobm_phase_columns[n].type != IOBM_COL_END)
        n++;
    return n;
}

static void test_csv(void **state)
{
    uint64_t counter = 2000000;
    struct str out = {0};
    const char *next;

    (void)state;
    report_csv_header(&out);
    assert_int_equal(strncmp(str_text(&out), "run,run_id,label,phase,op,", 26),
                     0);
    assert_int_equal(csv_fields(str_text(&out), &next), phase_columns());
    assert_string_equal(next, "");
    str_release(&out);
    for (int round = 0; round < ROUNDS; round++) {
        struct run_record run;

        odd_record(&run, &counter);
        report_run_csv(&run, &out);
        assert_false(out.failed);
        assert_int_equal(count(str_text(&out), "\n"), run.phase_count);
        assert_null(strstr(str_text(&out), "nan"));
        assert_null(strstr(str_text(&out), "null"));
        next = str_text(&out);
        for (size_t i = 0; i < run.phase_count; i++)
            assert_int_equal(csv_fields(next, &next), phase_columns());
        assert_string_equal(next, "");
        str_release(&out);
        release_record(&run);
    }
}

/* ---- runs ---- */

static void test_run_text(void **state)
{
    struct run_record run;
    struct str out = {0};
    size_t length = strlen(golden_four);

    (void)state;
    fill_run(&run);
    report_run_text(&run, "iobm-results.h5", false, &out);
    assert_memory_equal(str_text(&out), golden_four, length);
    assert_string_equal(str_text(&out) + length,
                        "result run 12 in iobm-results.h5\n");
    str_release(&out);

    report_run_text(&run, NULL, false, &out);
    assert_string_equal(str_text(&out), golden_four);
    str_release(&out);
    release_record(&run);
}

/* Repeats: median, least and most; never a mean. */
static void test_repeats(void **state)
{
    struct run_record run;
    struct str out = {0};

    (void)state;
    fill_run(&run);
    run.phase_count = 3;
    run.phases[1] = run.phases[2] = run.phases[0];
    run.phases[0].bw_wall_Bps = 100.0 * MiB;
    run.phases[1].bw_wall_Bps = 130.0 * MiB;
    run.phases[2].bw_wall_Bps = 110.0 * MiB;
    report_end_text(&run, NULL, &out);
    assert_string_equal(str_text(&out),
                        "write, 3 repeats              110.00 MiB/s   median; "
                        "least 100.00, most 130.00\n");
    str_release(&out);

    SET(run.phases[2].status, "failed");
    report_end_text(&run, NULL, &out);
    assert_string_equal(str_text(&out),
                        "write, 2 repeats of 3         115.00 MiB/s   median; "
                        "least 100.00, most 130.00\n");
    str_release(&out);

    SET(run.phases[1].status, "failed");
    report_end_text(&run, NULL, &out);
    assert_string_equal(str_text(&out), "");
    str_release(&out);
    release_record(&run);
}

static void test_notes(void **state)
{
    struct run_record run;
    struct str out = {0};

    (void)state;
    fill_run(&run);
    run.log_count = 1;
    SET(run.log[0].level, "warn");
    SET(run.log[0].text,
        "'/dev/shm' is tmpfs: memory was measured, not storage, and this note "
        "goes on");
    report_end_text(&run, "r.h5", &out);
    assert_string_equal(str_text(&out),
                        "warn: '/dev/shm' is tmpfs: memory was measured, not "
                        "storage, and this note goes\n  on\n"
                        "result run 12 in r.h5\n");
    str_release(&out);

    run.log_count = 12;
    report_end_text(&run, NULL, &out);
    assert_int_equal(count(str_text(&out), "\n"), 9 + 1);
    assert_non_null(strstr(str_text(&out), "note: and 4 more in the result\n"));
    str_release(&out);

    run.log_count = 0;
    SET(run.status, "interrupted");
    SET(run.reason, "stopped by SIGINT");
    report_end_text(&run, NULL, &out);
    assert_string_equal(str_text(&out), "run interrupted: stopped by SIGINT\n");
    str_release(&out);

    SET(run.phases[0].status, "interrupted"); /* the phase has said it */
    report_end_text(&run, NULL, &out);
    assert_string_equal(str_text(&out), "");
    str_release(&out);
    release_record(&run);
}

static void test_list(void **state)
{
    struct run_record runs[2];
    struct str out = {0};

    (void)state;
    fill_run(&runs[0]);
    fill_run(&runs[1]);
    runs[0].phases[0].bytes_expected = 1000007;
    report_list_text(runs, 1, &out); /* a column that nothing needs is narrow */
    assert_string_equal(
        str_text(&out),
        " run  started (UTC)     status   ranks  size     wr MiB/s rd MiB/s  "
        "label\n"
        "  12  2026-11-30 20:06  complete     4  977 KiB    507.41        -  "
        "first?one\n");
    str_release(&out);
    runs[0].phases[0].bytes_expected = 10 * 1024 * (int64_t)MiB;
    SET(runs[1].status, "interrupted");
    SET(runs[1].phases[0].status, "interrupted");
    SET(runs[1].label, "a label that is rather long");
    runs[1].number = 13;
    report_list_text(runs, 2, &out);
    assert_string_equal(str_text(&out), " run  started (UTC)     status      "
                                        "ranks  size     wr MiB/s rd MiB/s  "
                                        "label\n"
                                        "  12  2026-11-30 20:06  complete      "
                                        "  4  10 GiB     507.41        -  "
                                        "first?one\n"
                                        "  13  2026-11-30 20:06  interrupted   "
                                        "  4  10 GiB          -        -\n"
                                        "      a label that is rather long\n");
    str_release(&out);
    report_list_text(NULL, 0, &out);
    assert_string_equal(str_text(&out), "no runs\n");
    str_release(&out);
    release_record(&runs[0]);
    release_record(&runs[1]);
}

/* ---- fitting ---- */

static void test_short(void **state)
{
    static const struct {
        const char *from;
        size_t columns;
        const char *to;
    } cases[] = {
        {"short", 10, "short"},
        {"exactly ten", 11, "exactly ten"},
        {"exactly ten", 10, "exa... ten"},
        {"abcdefghij", 5, "a...j"},
        {"a\nb\xff", 10, "a?b?"},
        {"\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc", 5,
         "\xc3\xbc...\xc3\xbc"},
        {"\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad", 7,
         "\xe4\xb8\xad...\xe4\xb8\xad"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct str out = {0};

        line_short(&out, cases[i].from, 100, cases[i].columns);
        assert_string_equal(str_text(&out), cases[i].to);
        str_release(&out);
    }
}

static void test_numbers(void **state)
{
    static const struct {
        double value;
        int width, decimals;
        const char *text;
    } cases[] = {
        {1.5, 8, 3, "1.500"},         {12345.678, 8, 3, "12345.68"},
        {1234567.8, 8, 3, "1234568"}, {NAN, 8, 3, "-"},
        {INFINITY, 8, 3, "-"},        {1e300, 8, 3, "1.0e+300"},
        {-1e300, 7, 3, "-1e+300"},    {0, 8, 0, "0"},
        {99999999, 8, 3, "99999999"}, {999999999, 8, 3, "1.00e+09"},
    };
    char text[NUMBER_ROOM];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(line_number(text, cases[i].value, cases[i].width,
                                        cases[i].decimals),
                            cases[i].text);
    assert_string_equal(line_span(text, 2e-6), "2 us");
    assert_string_equal(line_span(text, 0), "0 ns");
    assert_string_equal(line_span(text, 0.0143), "14.3 ms");
    assert_string_equal(line_span(text, 0.99999), "1 s");
    assert_string_equal(line_percent(text, 1.44), "1.4");
    assert_string_equal(line_percent(text, 0.034), "0.03");
    assert_string_equal(line_percent(text, 9.96), "10");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),      cmocka_unit_test(test_late_starts),
        cmocka_unit_test(test_idle_ranks),  cmocka_unit_test(test_lines),
        cmocka_unit_test(test_width),       cmocka_unit_test(test_validator),
        cmocka_unit_test(test_json_values), cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_odd),    cmocka_unit_test(test_csv),
        cmocka_unit_test(test_run_text),    cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_notes),       cmocka_unit_test(test_list),
        cmocka_unit_test(test_short),       cmocka_unit_test(test_numbers),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
