/* SPDX-License-Identifier: BSD-3-Clause */

/* What 'iobm self-test' found out, for people and as JSON. */

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "cli/selftest.h"
#include "report/lines.h"

#define KiB INT64_C(1024)
#define MiB INT64_C(1048576)

static const char *op_name(const struct selftest_row *row)
{
    return row->kind == IOBM_OP_WRITE ? "write" : "read";
}

static const struct selftest_row *find(const struct selftest *test, bool file,
                                       enum iobm_op_kind kind, int64_t bytes)
{
    for (int i = 0; i < SELFTEST_ROWS; i++) {
        const struct selftest_row *row = &test->row[i];

        if (row->file == file && row->kind == kind &&
            row->transfer_bytes == bytes)
            return row;
    }
    return NULL;
}

/* What is kept of an operation takes this long: of the null back end, where
 * there is little beside it. */
static double keep_ns(const struct selftest *test)
{
    const struct perturb *p =
        &find(test, false, IOBM_OP_WRITE, 4 * KiB)->perturb;

    return p->off_ns * p->cost_pct / 100;
}

static double file_Bps(const struct selftest_row *row)
{
    return row->perturb.on_ns > 0
               ? (double)row->transfer_bytes * 1e9 / row->perturb.on_ns
               : NAN;
}

/* ---- text ---- */

/* "22.0 ns", "185.3 us", the number 'width' wide. */
static void add_ns(struct str *out, double ns, int width)
{
    char text[NUMBER_ROOM];
    bool is_long = ns >= 9999.5;

    str_addf(out, "%*s %s", width,
             line_number(text, is_long ? ns / 1e3 : ns, 6, 1),
             is_long ? "us" : "ns");
}

/* "0.03", "-12.4". */
static const char *percent(char text[NUMBER_ROOM], double value)
{
    return line_number(text, value, 6, fabs(value) < 9.995 ? 2 : 1);
}

static void add_null(const struct selftest *test, enum iobm_op_kind kind,
                     struct str *out)
{
    const struct selftest_row *row = find(test, false, kind, 4 * KiB);
    char text[NUMBER_ROOM];

    str_addf(out, "%-13s", kind == IOBM_OP_WRITE ? "null back end" : "");
    add_ns(out, row->perturb.on_ns, 8);
    str_addf(out, " per %s of 4 KiB: at most %s million/s\n", op_name(row),
             line_number(text, 1e3 / row->perturb.on_ns, 6, 1));
}

static void add_copy(const struct selftest *test, struct str *out)
{
    const struct selftest_row *row = find(test, true, IOBM_OP_WRITE, MiB);
    struct rate_unit unit = line_unit(test->cost.memcpy_Bps);
    char text[2][NUMBER_ROOM];

    str_addf(out, "memory copy  %8s %s (%s %s); ",
             line_rate(text[0], test->cost.memcpy_Bps, unit.binary_Bps, 6),
             unit.binary,
             line_rate(text[1], test->cost.memcpy_Bps, unit.decimal_Bps, 6),
             unit.decimal);
    str_addf(
        out, "a write of 1 MiB gets %s %%\n",
        line_percent(text[0], 100 * file_Bps(row) / test->cost.memcpy_Bps));
}

static void add_costs(const struct selftest *test, struct str *out)
{
    str_add(out, "clock        ");
    add_ns(out, test->cost.timer_ns, 8);
    str_add(out, " per reading; the least step seen is ");
    add_ns(out, test->clock_step_ns, 1);
    str_add(out, "\nhistogram    ");
    add_ns(out, test->hist_ns, 8);
    str_add(out, " per operation; with slots of time and marks ");
    add_ns(out, keep_ns(test), 1);
    str_add(out, "\n");
    add_null(test, IOBM_OP_WRITE, out);
    add_null(test, IOBM_OP_READ, out);
    add_copy(test, out);
}

/* The interval of the table is n/a where it has not the confidence that the
 * table says. */
static bool is_sure(const struct perturb *p)
{
    return p->confidence_pct >= PERTURB_CONFIDENCE_PCT;
}

static void add_row(const struct selftest *test, const struct selftest_row *row,
                    struct str *out)
{
    const struct perturb *p = &row->perturb;
    const char *name = row->file ? test->fs_type : "null";
    char text[3][NUMBER_ROOM], size[SIZE_ROOM];

    line_short(out, name, strlen(name), 8);
    line_spaces(out, line_columns(name) < 8 ? 8 - line_columns(name) : 0);
    str_addf(out, " %5s %6s  ", op_name(row),
             line_size(size, row->transfer_bytes));
    add_ns(out, p->off_ns, 7);
    add_ns(out, p->on_ns, 9);
    str_addf(out, "  %6s   %6s .. %6s  %6zu\n", percent(text[0], p->cost_pct),
             percent(text[1], is_sure(p) ? p->low_pct : NAN),
             percent(text[2], is_sure(p) ? p->high_pct : NAN), p->rounds);
}

static void add_table(const struct selftest *test, struct str *out)
{
    str_add(out, "\nWhat keeping latencies and marks costs: an operation "
                 "without and with, in turns\n"
                 "                          without       with  cost %"
                 "    99 % interval  rounds\n");
    for (int i = 0; i < SELFTEST_ROWS; i++)
        add_row(test, &test->row[i], out);
}

static void add_verdict(const struct selftest_row *row, struct str *out)
{
    static const char *const said[] = {
        [PERTURB_UNDECIDED] = "undecided",
        [PERTURB_WITHIN] = "within +-0.5 %",
        [PERTURB_OUTSIDE] = "beyond +-0.5 %",
    };
    const struct perturb *p = &row->perturb;
    char text[3][NUMBER_ROOM];
    struct str line = {0};

    str_addf(
        &line, "%s of 1 MiB: instrumentation costs %s %% (%s .. %s %%): %s",
        op_name(row), percent(text[0], p->cost_pct),
        percent(text[1], is_sure(p) ? p->low_pct : NAN),
        percent(text[2], is_sure(p) ? p->high_pct : NAN), said[p->verdict]);
    line_wrap(out, 0, str_text(&line));
    out->failed = out->failed || line.failed;
    str_release(&line);
}

void selftest_text(const struct selftest *test, struct str *out)
{
    static const char *const advice[] = {
        [PERTURB_UNDECIDED] = "try again without --quick, or when the machine "
                              "does nothing else",
        [PERTURB_OUTSIDE] = "measuring changes what is measured here: use "
                            "larger transfers",
    };
    struct str text = {0};

    str_addf(&text, "iobm self-test on %s, %" PRId64 " core%s, one process",
             test->node.host, test->node.cores,
             test->node.cores == 1 ? "" : "s");
    line_wrap(out, 0, str_text(&text));
    str_release(&text);
    add_costs(test, out);
    add_table(test, out);
    for (int i = 0; i < SELFTEST_ROWS; i++)
        if (test->row[i].counts)
            add_verdict(&test->row[i], out);
    if (test->verdict != PERTURB_WITHIN)
        line_wrap(out, 0, advice[test->verdict]);
    str_add(&text, "the test file was in '");
    line_short(&text, test->folder, strlen(test->folder), 60);
    str_addf(&text, "' (%s), was not synced, and is gone", test->fs_type);
    line_wrap(out, 0, str_text(&text));
    out->failed = out->failed || text.failed;
    str_release(&text);
}

/* ---- JSON ---- */

static void add_member(struct str *out, const char *name, double value)
{
    str_addf(out, ",\"%s\":", name);
    str_add_json_double(out, value);
}

static void add_text(struct str *out, const char *name, const char *value)
{
    str_addf(out, ",\"%s\":", name);
    str_add_json(out, value);
}

static void add_row_json(const struct selftest *test,
                         const struct selftest_row *row, struct str *out)
{
    const struct perturb *p = &row->perturb;

    str_addf(out, "{\"api\":\"%s\"", row->file ? "posix" : "null");
    add_text(out, "fs_type", row->file ? test->fs_type : "");
    add_text(out, "op", op_name(row));
    str_addf(out, ",\"transfer_bytes\":%" PRId64, row->transfer_bytes);
    add_member(out, "without_ns", p->off_ns);
    add_member(out, "with_ns", p->on_ns);
    add_member(out, "ops_per_s", 1e9 / p->on_ns);
    add_member(out, "cost_pct", p->cost_pct);
    add_member(out, "low_pct", p->low_pct);
    add_member(out, "high_pct", p->high_pct);
    add_member(out, "confidence_pct", p->confidence_pct);
    str_addf(out, ",\"rounds\":%zu,\"counts\":%s", p->rounds,
             row->counts ? "true" : "false");
    add_text(out, "verdict", perturb_verdict_name(p->verdict));
    str_add(out, "}");
}

void selftest_json(const struct selftest *test, struct str *out)
{
    str_add(out, "{\"host\":");
    str_add_json(out, test->node.host);
    add_text(out, "cpu", test->node.cpu);
    str_addf(out, ",\"cores\":%" PRId64 ",\"quick\":%s", test->node.cores,
             test->quick ? "true" : "false");
    add_text(out, "folder", test->folder);
    add_text(out, "fs_type", test->fs_type);
    add_member(out, "timer_ns", test->cost.timer_ns);
    add_member(out, "timer_step_ns", test->clock_step_ns);
    add_member(out, "hist_ns", test->hist_ns);
    add_member(out, "keep_ns", keep_ns(test));
    add_member(out, "op_cost_ns", test->cost.op_ns);
    add_member(out, "memcpy_Bps", test->cost.memcpy_Bps);
    add_member(out, "write_Bps",
               file_Bps(find(test, true, IOBM_OP_WRITE, MiB)));
    add_member(out, "read_Bps", file_Bps(find(test, true, IOBM_OP_READ, MiB)));
    add_member(out, "limit_pct", PERTURB_LIMIT_PCT);
    add_text(out, "verdict", perturb_verdict_name(test->verdict));
    str_add(out, ",\n\"perturbation\":[");
    for (int i = 0; i < SELFTEST_ROWS; i++) {
        str_add(out, i > 0 ? ",\n" : "\n");
        add_row_json(test, &test->row[i], out);
    }
    str_add(out, "]}\n");
}
