/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run as JSON.  Keys are the names of the columns; how texts and numbers
 * are spelt is base/str's.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

/* A text of at most 'room' bytes, perhaps without its NUL. */
static void add_bounded(struct str *out, const char *text, size_t room)
{
    char *copy = strndup(text, room);

    if (!copy) {
        out->failed = true;
        return;
    }
    str_add_json(out, copy);
    free(copy);
}

/* "name":value,"name":value ... of one row, without the braces. */
static void add_members(struct str *out, const struct iobm_column *columns,
                        const void *row)
{
    for (const struct iobm_column *c = columns; c->type != IOBM_COL_END; c++) {
        const void *from = (const char *)row + c->offset;

        if (c != columns)
            str_add(out, ",");
        str_add_json(out, c->name);
        str_add(out, ":");
        if (c->type == IOBM_COL_TEXT)
            add_bounded(out, from, c->size);
        else if (c->type == IOBM_COL_F64)
            str_add_json_double(out, *(const double *)from);
        else
            str_addf(out, "%" PRId64, *(const int64_t *)from);
    }
}

/* "name":[{...},{...}], one row a line. */
static void add_rows(struct str *out, const char *name,
                     const struct iobm_column *columns, const void *rows,
                     size_t count, size_t size)
{
    str_addf(out, "\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        str_add(out, i > 0 ? ",\n{" : "\n{");
        add_members(out, columns, (const char *)rows + i * size);
        str_add(out, "}");
    }
    str_add(out, "]");
}

static bool seen_before(const struct kvlist *list, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(list->items[i].key, list->items[at].key) == 0)
            return true;
    return false;
}

static bool is_one_of(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

/* Keys whose values count something: by their unit, or by themselves. */
static bool key_counts(const char *key)
{
    static const char *const units[] = {"bytes", "kib",   "files",
                                        "ratio", "share", "sectors"};
    static const char *const names[] = {"repeats", "ranks", "device.requests"};
    const char *end = key + strlen(key);

    while (end > key && end[-1] != '_' && end[-1] != '.')
        end--;
    if (strncmp(key, "env.", 4) == 0)
        return false;
    return (end > key &&
            is_one_of(end, units, sizeof(units) / sizeof(*units))) ||
           is_one_of(key, names, sizeof(names) / sizeof(*names));
}

/* A whole number or a decimal as JSON writes it, exact in a double. */
static bool is_json_number(const char *text)
{
    const char *p = text + (*text == '-');
    size_t whole = strspn(p, "0123456789"), part = 0;

    if (whole == 0 || (whole > 1 && *p == '0'))
        return false;
    p += whole;
    if (*p == '.') {
        part = strspn(p + 1, "0123456789");
        if (part == 0)
            return false;
        p += 1 + part;
    }
    return *p == '\0' && whole + part <= 15;
}

/* What was kept as text is what it means: a number where the key counts
 * something, a truth where it is spelt so and is no text of the user's. */
static void add_value(struct str *out, const char *key, const char *value)
{
    static const char *const free_text[] = {"file", "label", "hint", "output",
                                            "hints-file"};
    static const char *const truths[] = {"true", "false"};
    bool truth =
        is_one_of(value, truths, 2) && strncmp(key, "env.", 4) != 0 &&
        !is_one_of(key, free_text, sizeof(free_text) / sizeof(*free_text));

    if (truth || (key_counts(key) && is_json_number(value)))
        str_add(out, value);
    else
        str_add_json(out, value);
}

/* All values of one key: one value, or an array when there are several. */
static void add_values(struct str *out, const struct kvlist *list, size_t at,
                       bool typed)
{
    const char *key = list->items[at].key;
    size_t count = 0;

    for (size_t i = at; i < list->count; i++)
        count += strcmp(list->items[i].key, key) == 0;
    if (count == 1 && typed) {
        add_value(out, key, list->items[at].value);
        return;
    }
    if (count == 1) {
        str_add_json(out, list->items[at].value);
        return;
    }
    for (size_t i = at, n = 0; i < list->count; i++) {
        if (strcmp(list->items[i].key, key) != 0)
            continue;
        str_add(out, n++ > 0 ? "," : "[");
        str_add_json(out, list->items[i].value);
    }
    str_add(out, "]");
}

/* 'typed': else all values are texts. */
static void add_list(struct str *out, const char *name,
                     const struct kvlist *list, bool typed)
{
    bool first = true;

    str_addf(out, "\"%s\":{", name);
    for (size_t i = 0; i < list->count; i++) {
        if (seen_before(list, i))
            continue;
        if (!first)
            str_add(out, ",");
        first = false;
        str_add_json(out, list->items[i].key);
        str_add(out, ":");
        add_values(out, list, i, typed);
    }
    str_add(out, "}");
}

static void add_run(struct str *out, const struct run_record *run,
                    const char *file)
{
    const struct {
        const char *key, *text;
        size_t room;
    } texts[] = {
        {"name", run->name, sizeof(run->name)},
        {"run_id", run->run_id, sizeof(run->run_id)},
        {"status", run->status, sizeof(run->status)},
        {"reason", run->reason, sizeof(run->reason)},
        {"label", run->label, sizeof(run->label)},
        {"command", run->argv, sizeof(run->argv)},
        {"started_utc", run->started_utc, sizeof(run->started_utc)},
        {"finished_utc", run->finished_utc, sizeof(run->finished_utc)},
    };

    str_addf(out, "\"run\":{\"number\":%" PRId64, run->number);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        str_addf(out, ",\"%s\":", texts[i].key);
        add_bounded(out, texts[i].text, texts[i].room);
    }
    str_add(out, ",\"file\":");
    if (file)
        str_add_json(out, file);
    else
        str_add(out, "null");
    str_add(out, "}");
}

static int64_t column_of(const struct iobm_column *columns, const char *name,
                         const void *row)
{
    while (strcmp(columns->name, name) != 0)
        columns++;
    return *(const int64_t *)((const char *)row + columns->offset);
}

/* Whether a row is of the phase (-1: of the run), and, of the series, of all
 * ranks together. */
static bool is_selected(const struct iobm_column *columns, const void *row,
                        int64_t phase)
{
    if (column_of(columns, "phase", row) != phase)
        return false;
    return columns != iobm_series_columns ||
           (column_of(columns, "rank", row) < 0 &&
            column_of(columns, "node", row) < 0);
}

/* "name":[...] of those rows, wherever they stand among all. */
static void add_selected(struct str *out, const char *name, int64_t phase,
                         const struct iobm_column *columns, const void *rows,
                         size_t count, size_t size)
{
    size_t n = 0;

    str_addf(out, "\"%s\":[", name);
    for (size_t i = 0; i < count; i++) {
        const void *row = (const char *)rows + i * size;

        if (!is_selected(columns, row, phase))
            continue;
        str_add(out, n++ > 0 ? ",\n  {" : "\n  {");
        add_members(out, columns, row);
        str_add(out, "}");
    }
    str_add(out, "]");
}

/* What stands beside the columns of a phase.  Their names are those of no
 * column. */
static void add_details(struct str *out, const struct run_record *run,
                        const struct iobm_phase_row *phase)
{
    const struct iobm_detail *d = &run->detail;
    const struct {
        const char *name;
        const struct iobm_column *columns;
        const void *rows;
        size_t count, size;
    } tables[] = {
        {"rank_rows", iobm_rank_columns, run->ranks, run->rank_count,
         sizeof(*run->ranks)},
        {"series_rows", iobm_series_columns, d->series, d->series_count,
         sizeof(*d->series)},
        {"second_rows", iobm_second_columns, d->seconds, d->second_count,
         sizeof(*d->seconds)},
        {"latency_rows", iobm_class_columns, d->classes, d->class_count,
         sizeof(*d->classes)},
        {"change_rows", iobm_change_columns, d->changes, d->change_count,
         sizeof(*d->changes)},
        {"evidence_rows", iobm_evidence_columns, d->evidence, d->evidence_count,
         sizeof(*d->evidence)},
        {"finding_rows", iobm_finding_columns, d->findings, d->finding_count,
         sizeof(*d->findings)},
        {"check_rows", iobm_check_columns, d->checks, d->check_count,
         sizeof(*d->checks)},
    };

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        str_add(out, i > 0 ? ",\n" : "");
        add_selected(out, tables[i].name, phase->phase, tables[i].columns,
                     tables[i].rows, tables[i].count, tables[i].size);
    }
}

static void add_phases(struct str *out, const struct run_record *run)
{
    str_add(out, "\"phases\":[");
    for (size_t i = 0; i < run->phase_count; i++) {
        str_add(out, i > 0 ? ",\n{" : "\n{");
        add_members(out, iobm_phase_columns, &run->phases[i]);
        str_add(out, ",");
        add_details(out, run, &run->phases[i]);
        str_add(out, "}");
    }
    str_add(out, "]");
}

void report_run_json(const struct run_record *run, const char *file,
                     struct str *out)
{
    str_add(out, "{\"iobm\":");
    add_bounded(out, run->version, sizeof(run->version));
    str_add(out, ",\n");
    add_run(out, run, file);
    str_add(out, ",\n");
    add_list(out, "config", &run->config, true);
    str_add(out, ",\n");
    add_list(out, "tags", &run->tags, false);
    str_add(out, ",\n");
    add_list(out, "environment", &run->environment, true);
    str_add(out, ",\n");
    add_rows(out, "nodes", iobm_node_columns, run->nodes, run->node_count,
             sizeof(*run->nodes));
    str_add(out, ",\n");
    add_phases(out, run);
    str_add(out, ",\n");
    add_rows(out, "repeats", iobm_summary_columns, run->detail.summaries,
             run->detail.summary_count, sizeof(*run->detail.summaries));
    str_add(out, ",\n");
    add_selected(out, "checks", -1, iobm_check_columns, run->detail.checks,
                 run->detail.check_count, sizeof(*run->detail.checks));
    str_add(out, ",\n");
    add_rows(out, "clock", iobm_clock_columns, run->clocks, run->clock_count,
             sizeof(*run->clocks));
    str_add(out, ",\n");
    add_rows(out, "log", iobm_log_columns, run->log, run->log_count,
             sizeof(*run->log));
    str_add(out, "}\n");
}
