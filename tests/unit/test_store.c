/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The result file: what goes in comes out, files of other ages and makers,
 * files that are none, disks that are full, locks, recovery.  In the current
 * folder, which is private to the test.  Kills and races are in
 * tests/shell/store_*.t.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/detail_tables.h"
#include "store/h5.h"
#include "store/lock.h"
#include "store/merge.h"
#include "store/owner.h"
#include "store/schema.h"
#include "store/store.h"
#include "store/target.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TARGET       "r.h5"
#define RUN_ID       "1a2b3c4d-0000-4000-8000-000000000001"
#define OTHER_ID     "5e6f7a8b-0000-4000-8000-000000000002"
#define GROUP        "runs/000001_20261130T200621Z_1a2b3c4d/"

/* ---- runs with made-up content ---- */

static void fill_texts(const struct iobm_column *columns, void *row, int seed)
{
    for (const struct iobm_column *c = columns; c->type != IOBM_COL_END; c++) {
        char *at = (char *)row + c->offset;
        int64_t number = seed * 1000 + (c - columns);
        double real = (double)number / 7;

        if (c->type == IOBM_COL_I64)
            memcpy(at, &number, sizeof(number));
        else if (c->type == IOBM_COL_F64)
            memcpy(at, &real, sizeof(real));
        else
            snprintf(at, c->size, "%s %d", c->name, seed);
    }
}

static void make_phase(struct iobm_phase_row *row, int seed)
{
    memset(row, 0, sizeof(*row));
    fill_texts(iobm_phase_columns, row, seed);
    row->run = 0;
}

static void make_rank(struct iobm_rank_row *row, int seed)
{
    memset(row, 0, sizeof(*row));
    fill_texts(iobm_rank_columns, row, seed);
}

/* Rows for every table beside those of phases and ranks. */
struct made {
    struct iobm_series_row series[3]; /* of all, of a rank, of a node */
    struct iobm_second_row seconds[2];
    struct iobm_class_row classes[1];
    struct iobm_latency_row latency[4];
    struct iobm_change_row changes[1];
    struct iobm_evidence_row evidence[2];
    struct iobm_finding_row findings[1];
    struct iobm_check_row checks[3];
    struct iobm_summary_row summaries[1];
};

/* DO(array, how many, columns) */
#define EACH_ARRAY(DO)                                                         \
    DO(series, series_count, iobm_series_columns)                              \
    DO(seconds, second_count, iobm_second_columns)                             \
    DO(classes, class_count, iobm_class_columns)                               \
    DO(latency, latency_count, iobm_latency_columns)                           \
    DO(changes, change_count, iobm_change_columns)                             \
    DO(evidence, evidence_count, iobm_evidence_columns)                        \
    DO(findings, finding_count, iobm_finding_columns)                          \
    DO(checks, check_count, iobm_check_columns)                                \
    DO(summaries, summary_count, iobm_summary_columns)

static void make_detail(struct made *made, struct iobm_detail *detail, int seed)
{
    memset(made, 0, sizeof(*made));
    memset(detail, 0, sizeof(*detail));
#define FILL(array, number, columns)                                           \
    for (int i = 0; i < (int)COUNT(made->array); i++)                          \
        fill_texts(columns, &made->array[i], seed * 10 + i);                   \
    detail->array = made->array;                                               \
    detail->number = COUNT(made->array);
    EACH_ARRAY(FILL)
#undef FILL
    made->series[0].rank = made->series[0].node = -1;
    made->series[2].rank = -1;
}

static void add_detail(struct store *store, int seed)
{
    struct iobm_error err = {0};
    struct iobm_detail detail;
    struct made made;

    make_detail(&made, &detail, seed);
    if (store_detail(store, &detail, &err) != IOBM_OK)
        fail_msg("%s", err.text);
}

/* Whether 'read' has the rows of make_detail() of 'seed' as the 'at'th. */
static void assert_detail(const struct iobm_detail *read, size_t at, int seed)
{
    struct iobm_detail detail;
    struct made made;

    make_detail(&made, &detail, seed);
    detail.series_count = 1; /* the row of all ranks together */
#define COMPARE(array, number, columns)                                        \
    assert_true(read->number >= (at + 1) * detail.number);                     \
    assert_memory_equal(read->array + at * detail.number, detail.array,        \
                        detail.number * sizeof(*detail.array));
    EACH_ARRAY(COMPARE)
#undef COMPARE
}

static void assert_no_detail(const struct iobm_detail *detail)
{
    static const struct iobm_detail none;

    assert_memory_equal(detail, &none, sizeof(none));
}

static void add(struct kvlist *list, const char *key, const char *value)
{
    assert_int_equal(kv_add(list, key, value, NULL), IOBM_OK);
}

/* What a run knows when it begins. */
static void make_record(struct run_record *record, const char *run_id)
{
    memset(record, 0, sizeof(*record));
    snprintf(record->run_id, sizeof(record->run_id), "%s", run_id);
    strcpy(record->status, "running");
    strcpy(record->label, "first try");
    strcpy(record->argv, "iobm -n 10 -f /big/test -w");
    strcpy(record->version, "0.1.0");
    strcpy(record->started_utc, "2026-11-30T20:06:21.123456Z");
    add(&record->config, "transfer-size", "16M");
    add(&record->config, "api", "mpiio");
    add(&record->config, "hint", "cb_nodes=4");
    add(&record->config, "hint", "romio_ds_write=disable");
    add(&record->config, "label", "");
    add(&record->tags, "system", "test \"bed\"");
    add(&record->environment, "mount.type", "lustre");
    record->nodes = calloc(2, sizeof(*record->nodes));
    record->node_count = 2;
    assert_non_null(record->nodes);
    for (int i = 0; i < 2; i++)
        fill_texts(iobm_node_columns, &record->nodes[i], i + 1);
}

static struct store *begin(const char *target, const char *run_id)
{
    struct run_record record;
    struct iobm_error err = {0};
    struct store *store = NULL;

    make_record(&record, run_id);
    if (store_begin(target, &record, &store, &err) != IOBM_OK)
        fail_msg("%s", err.text);
    run_record_release(&record);
    return store;
}

static void add_phase(struct store *store, int seed)
{
    struct iobm_phase_row phase;
    struct iobm_rank_row ranks[2];
    struct iobm_error err = {0};

    make_phase(&phase, seed);
    make_rank(&ranks[0], seed);
    make_rank(&ranks[1], seed + 1);
    if (store_phase(store, &phase, ranks, 2, &err) != IOBM_OK)
        fail_msg("%s", err.text);
}

static int64_t finish(struct store *store)
{
    struct iobm_error err = {0};
    int64_t number = 0;

    if (store_finish(store, "complete", "", &number, &err) != IOBM_OK)
        fail_msg("%s", err.text);
    return number;
}

static int64_t write_run(const char *target, const char *run_id, int phases)
{
    struct store *store = begin(target, run_id);

    for (int i = 0; i < phases; i++)
        add_phase(store, i + 1);
    return finish(store);
}

static void read_run(const char *path, int64_t number,
                     struct run_record *record)
{
    struct iobm_error err = {0};

    if (store_read(path, number, record, &err) != IOBM_OK)
        fail_msg("%s", err.text);
}

static size_t count_runs(const char *path)
{
    struct run_record *runs = NULL;
    struct iobm_error err = {0};
    size_t count = 0;

    if (store_list(path, &runs, &count, &err) != IOBM_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < count; i++)
        run_record_release(&runs[i]);
    free(runs);
    return count;
}

static bool exists(const char *path)
{
    struct stat facts;

    return lstat(path, &facts) == 0;
}

/* Each test begins in an empty folder. */
static int clean(void **state)
{
    (void)state;
    h5_start();
    return system("rm -rf -- ./*") == 0 ? 0 : -1;
}

static void assert_says(const struct iobm_error *err, const char *what)
{
    if (!strstr(err->text, what))
        fail_msg("'%s' does not say '%s'", err->text, what);
    assert_null(strchr(err->text, '\n'));
}

/* ---- round trip ---- */

static void test_round_trip(void **state)
{
    struct store *store = begin(TARGET, RUN_ID);
    struct iobm_clock_row clocks[3] = {0};
    struct iobm_log_row line = {12345, "warn", "a line\twith \xc3\xa4"};
    struct iobm_phase_row phase;
    struct iobm_rank_row rank;
    struct kvlist facts = {0};
    struct run_record run;

    (void)state;
    for (int i = 0; i < 3; i++)
        fill_texts(iobm_clock_columns, &clocks[i], i + 1);
    assert_int_equal(store_clocks(store, clocks, 2, NULL), IOBM_OK);
    add_phase(store, 1);
    assert_int_equal(store_clocks(store, clocks + 2, 1, NULL), IOBM_OK);
    add_phase(store, 2);
    assert_int_equal(store_log(store, &line, NULL), IOBM_OK);
    add(&facts, "mpi.io", "romio321");
    add(&facts, "mount.type", "nfs4");
    assert_int_equal(store_facts(store, &facts, NULL), IOBM_OK);
    kv_release(&facts);
    assert_int_equal(finish(store), 1);

    read_run(TARGET, 1, &run);
    assert_int_equal(run.number, 1);
    assert_string_equal(run.name, "000001_20261130T200621Z_1a2b3c4d");
    assert_string_equal(run.run_id, RUN_ID);
    assert_string_equal(run.status, "complete");
    assert_string_equal(run.reason, "");
    assert_string_equal(run.label, "first try");
    assert_string_equal(run.argv, "iobm -n 10 -f /big/test -w");
    assert_string_equal(run.version, "0.1.0");
    assert_string_equal(run.started_utc, "2026-11-30T20:06:21.123456Z");
    assert_int_equal(strlen(run.finished_utc), 27);
    assert_int_equal(run.config.count, 5);
    assert_string_equal(run.config.items[1].key, "hint");
    assert_string_equal(run.config.items[1].value, "cb_nodes=4");
    assert_string_equal(run.config.items[2].key, "hint");
    assert_string_equal(run.config.items[2].value, "romio_ds_write=disable");
    assert_string_equal(kv_get(&run.config, "label"), "");
    assert_string_equal(kv_get(&run.config, "transfer-size"), "16M");
    assert_string_equal(kv_get(&run.tags, "system"), "test \"bed\"");
    assert_int_equal(run.environment.count, 2);
    assert_string_equal(kv_get(&run.environment, "mount.type"), "nfs4");
    assert_string_equal(kv_get(&run.environment, "mpi.io"), "romio321");
    assert_int_equal(run.node_count, 2);
    assert_string_equal(run.nodes[1].host, "host 2");
    assert_int_equal(run.clock_count, 3);
    assert_memory_equal(run.clocks, clocks, sizeof(clocks));
    assert_int_equal(run.log_count, 1);
    assert_memory_equal(run.log, &line, sizeof(line));
    assert_int_equal(run.phase_count, 2);
    assert_int_equal(run.rank_count, 4);
    for (int i = 0; i < 2; i++) {
        make_phase(&phase, i + 1);
        phase.run = 1;
        assert_memory_equal(&run.phases[i], &phase, sizeof(phase));
        make_rank(&rank, i + 2);
        assert_memory_equal(&run.ranks[2 * i + 1], &rank, sizeof(rank));
    }
    run_record_release(&run);
    assert_false(exists(TARGET ".1a2b3c4d.part"));
    assert_false(exists(TARGET ".1a2b3c4d.part.new"));
    assert_false(exists(TARGET ".1a2b3c4d.merge"));
    assert_false(exists(TARGET ".lock"));
}

static size_t count_series(const char *path, int64_t number)
{
    struct iobm_series_row *rows;
    struct iobm_error err = {0};
    size_t n;

    if (store_read_series(path, number, &rows, &n, &err) != IOBM_OK)
        fail_msg("%s", err.text);
    assert_true(n > 0 || !rows);
    free(rows);
    return n;
}

/* Of several phases, and of the run; what one did not have is not there. */
static void test_detail(void **state)
{
    struct store *store = begin(TARGET, RUN_ID);
    struct iobm_series_row *series;
    struct iobm_detail detail;
    struct iobm_error err;
    struct made made;
    struct run_record run;
    size_t n;

    (void)state;
    for (int seed = 1; seed <= 3; seed++) {
        add_detail(store, seed);
        add_phase(store, seed);
    }
    add_phase(store, 4);
    add_detail(store, 5); /* kept by finish */
    assert_int_equal(finish(store), 1);
    assert_int_equal(write_run(TARGET, OTHER_ID, 1), 2);

    read_run(TARGET, 1, &run);
    assert_int_equal(run.phase_count, 4);
    make_detail(&made, &detail, 1);
    detail.series_count = 1; /* the other two are read by themselves */
#define COUNTED(array, number, columns)                                        \
    assert_int_equal(run.detail.number, 4 * detail.number);
    EACH_ARRAY(COUNTED)
#undef COUNTED
    for (int at = 0; at < 4; at++)
        assert_detail(&run.detail, (size_t)at, at < 3 ? at + 1 : 5);
    run_record_release(&run);
    assert_no_detail(&run.detail);

    assert_int_equal(store_read_series(TARGET, 1, &series, &n, NULL), IOBM_OK);
    assert_int_equal(n, 4 * COUNT(made.series));
    make_detail(&made, &detail, 5);
    assert_memory_equal(series + 9, made.series, sizeof(made.series));
    free(series);

    read_run(TARGET, 2, &run);
    assert_no_detail(&run.detail);
    run_record_release(&run);
    assert_int_equal(count_series(TARGET, 2), 0);
    assert_int_equal(store_read_series(TARGET, 3, &series, &n, &err), IOBM_EIO);
    assert_says(&err, "has no run 3");
    assert_int_equal(store_read_series("none", 1, &series, &n, &err), IOBM_EIO);
    assert_says(&err, "cannot open 'none'");
}

/* Each table alone; and none of them: what has no rows leaves no trace. */
static void test_detail_alone(void **state)
{
    for (size_t only = 0; only <= DETAIL_TABLES; only++) {
        struct iobm_detail all, one = {0};
        struct made made;
        struct store *store;
        struct run_record run;
        size_t at = 0;

        clean(state);
        make_detail(&made, &all, 7);
#define CHOOSE(array, number, columns)                                         \
    if (at++ == only) {                                                        \
        one.array = all.array;                                                 \
        one.number = all.number;                                               \
    }
        EACH_ARRAY(CHOOSE)
#undef CHOOSE
        store = begin(TARGET, RUN_ID);
        assert_int_equal(store_detail(store, &one, NULL), IOBM_OK);
        assert_int_equal(finish(store), 1);
        read_run(TARGET, 1, &run);
        one.series_count = one.series_count ? 1 : 0;
#define COMPARE(array, number, columns)                                        \
    assert_int_equal(run.detail.number, one.number);                           \
    assert_true(one.number > 0 || !run.detail.array);                          \
    if (one.number > 0)                                                        \
        assert_memory_equal(run.detail.array, one.array,                       \
                            one.number * sizeof(*one.array));
        EACH_ARRAY(COMPARE)
#undef COMPARE
        run_record_release(&run);
        hid_t file = H5Fopen(TARGET, H5F_ACC_RDONLY, H5P_DEFAULT);
        for (size_t i = 0; i < DETAIL_TABLES; i++) {
            char path[128];

            snprintf(path, sizeof(path), GROUP "%s", detail_tables[i].name);
            assert_int_equal(H5Lexists(file, path, H5P_DEFAULT) > 0, i == only);
        }
        H5Fclose(file);
    }
}

/* The partial file has the rows with the phase, not before. */
static void test_detail_flush(void **state)
{
    struct store *store = begin(TARGET, RUN_ID);
    struct run_record run;

    (void)state;
    add_phase(store, 1);
    add_detail(store, 2);
    read_run(store_partial_path(store), 0, &run);
    assert_int_equal(run.phase_count, 1);
    assert_no_detail(&run.detail);
    run_record_release(&run);
    assert_int_equal(count_series(store_partial_path(store), 0), 0);
    add_phase(store, 2);
    read_run(store_partial_path(store), 0, &run);
    assert_int_equal(run.phase_count, 2);
    assert_detail(&run.detail, 0, 2);
    run_record_release(&run);
    assert_int_equal(count_series(store_partial_path(store), 0), 3);
    store_abandon(store);
}

/* What the record has when the run begins. */
static void test_detail_at_begin(void **state)
{
    struct run_record record, run;
    struct iobm_detail detail;
    struct store *store = NULL;
    struct made made;

    (void)state;
    make_record(&record, RUN_ID);
    make_detail(&made, &detail, 3);
    assert_true(iobm_detail_append(&record.detail, &detail));
    assert_int_equal(store_begin(TARGET, &record, &store, NULL), IOBM_OK);
    run_record_release(&record);
    finish(store);
    read_run(TARGET, 1, &run);
    assert_detail(&run.detail, 0, 3);
    run_record_release(&run);
}

/* The curves of single ranks are more than are read at once; those of all
 * ranks stand anywhere among them. */
static void test_detail_long_series(void **state)
{
    enum { ROWS = 50000 };
    static const struct {
        size_t every, first;
    } cases[] = {{1, 0},     {1000, 0},        {1000, 999},     {16384, 16383},
                 {16384, 0}, {ROWS, ROWS - 1}, {ROWS + 1, ROWS}};
    struct iobm_series_row *rows = calloc(ROWS, sizeof(*rows));

    assert_non_null(rows);
    for (size_t c = 0; c < COUNT(cases); c++) {
        struct iobm_detail detail = {.series = rows, .series_count = ROWS};
        struct iobm_series_row *all;
        struct store *store;
        struct run_record run;
        size_t n = 0;

        clean(state);
        for (size_t i = 0; i < ROWS; i++) {
            fill_texts(iobm_series_columns, &rows[i], (int)i);
            if (i % cases[c].every == cases[c].first)
                rows[i].rank = rows[i].node = -1;
        }
        store = begin(TARGET, RUN_ID);
        assert_int_equal(store_detail(store, &detail, NULL), IOBM_OK);
        finish(store);
        read_run(TARGET, 1, &run);
        for (size_t i = cases[c].first; i < ROWS; i += cases[c].every) {
            assert_true(n < run.detail.series_count);
            assert_memory_equal(&run.detail.series[n++], &rows[i],
                                sizeof(*rows));
        }
        assert_int_equal(run.detail.series_count, n);
        run_record_release(&run);
        assert_int_equal(store_read_series(TARGET, 0, &all, &n, NULL), IOBM_OK);
        assert_int_equal(n, ROWS);
        assert_memory_equal(all, rows, ROWS * sizeof(*rows));
        free(all);
    }
    free(rows);
}

/* Values that are not numbers and texts that are not UTF-8. */
static void test_odd_values(void **state)
{
    static const struct {
        const char *in, *out;
    } texts[] = {
        {"/big/\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
         "/big/\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"/big/\xff\xfe"
         "a",
         "/big/??a"},
        {"\xc0\x80", "??"}, /* overlong */
        {"\xe0\x9f\xbf"
         "x",
         "???x"},                     /* overlong */
        {"\xed\xa0\x80", "???"},      /* surrogate */
        {"\xf4\x90\x80\x80", "????"}, /* above U+10FFFF */
        {"cut \xe2\x82", "cut "},     /* cut inside a character */
        {"", ""},
    };
    struct store *store = begin(TARGET, RUN_ID);
    struct iobm_phase_row phase;
    struct run_record run;

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        make_phase(&phase, 1);
        snprintf(phase.path, sizeof(phase.path), "%s", texts[i].in);
        phase.bw_wall_Bps = i % 2 ? NAN : -0.0;
        phase.bytes = i % 2 ? INT64_MIN : INT64_MAX;
        assert_int_equal(store_phase(store, &phase, NULL, 0, NULL), IOBM_OK);
    }
    finish(store);
    read_run(TARGET, 0, &run);
    assert_int_equal(run.phase_count, COUNT(texts));
    assert_int_equal(run.rank_count, 0);
    for (size_t i = 0; i < COUNT(texts); i++) {
        assert_string_equal(run.phases[i].path, texts[i].out);
        assert_int_equal(run.phases[i].bytes, i % 2 ? INT64_MIN : INT64_MAX);
        assert_int_equal(!!isnan(run.phases[i].bw_wall_Bps), i % 2);
    }
    run_record_release(&run);
}

/* An attribute holds less than 64 KiB; a text that fills its column. */
static void test_long_texts(void **state)
{
    struct run_record record;
    struct iobm_phase_row phase;
    struct store *store = NULL;
    struct run_record run;
    char *longer = malloc(100001);
    int64_t number;

    (void)state;
    assert_non_null(longer);
    memset(longer, 'x', 100000);
    longer[100000] = '\0';
    make_record(&record, RUN_ID);
    add(&record.environment, "env.LONG", longer);
    memset(record.argv, 'a', sizeof(record.argv) - 1);
    assert_int_equal(store_begin(TARGET, &record, &store, NULL), IOBM_OK);
    make_phase(&phase, 1);
    memset(phase.path, 'p', sizeof(phase.path)); /* not even a NUL */
    assert_int_equal(store_phase(store, &phase, NULL, 0, NULL), IOBM_OK);
    assert_int_equal(store_finish(store, "complete", "", &number, NULL),
                     IOBM_OK);
    read_run(TARGET, 0, &run);
    assert_string_equal(run.argv, record.argv);
    assert_int_equal(strlen(run.phases[0].path), sizeof(phase.path) - 1);
    assert_int_equal(strlen(kv_get(&run.environment, "env.LONG")), 32006);
    assert_string_equal(kv_get(&run.environment, "env.LONG") + 32000, " [cut]");
    run_record_release(&run);
    run_record_release(&record);
    free(longer);
}

static void test_many_runs(void **state)
{
    static const struct {
        int64_t asked, number;
        const char *error;
    } cases[] = {
        {1, 1, NULL},
        {3, 3, NULL},
        {0, 3, NULL},
        {-1, 2, NULL},
        {-2, 1, NULL},
        {4, 0, "has no run 4: its runs are 1"},
        {-3, 0, "has no run 3 before the last: it holds 3"},
    };
    struct run_record *runs = NULL, run;
    struct iobm_error err;
    size_t count = 0;

    (void)state;
    for (int i = 1; i <= 3; i++) {
        char run_id[40];

        snprintf(run_id, sizeof(run_id), "%08x-0000", i);
        assert_int_equal(write_run(TARGET, run_id, i), i);
    }
    assert_int_equal(store_list(TARGET, &runs, &count, NULL), IOBM_OK);
    assert_int_equal(count, 3);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(runs[i].number, i + 1);
        assert_int_equal(runs[i].phase_count, i + 1);
        assert_int_equal(runs[i].phases[0].run, i + 1);
        assert_int_equal(runs[i].rank_count, 0);
        run_record_release(&runs[i]);
    }
    free(runs);
    for (size_t i = 0; i < COUNT(cases); i++) {
        enum iobm_status status =
            store_read(TARGET, cases[i].asked, &run, &err);

        assert_int_equal(status, cases[i].error ? IOBM_EIO : IOBM_OK);
        if (cases[i].error) {
            assert_says(&err, cases[i].error);
        } else {
            assert_int_equal(run.number, cases[i].number);
            run_record_release(&run);
        }
    }
}

/* ---- the form of the file ---- */

static void assert_plain(hid_t type)
{
    if (H5Tget_class(type) == H5T_STRING) {
        assert_false(H5Tis_variable_str(type));
        assert_int_equal(H5Tget_cset(type), H5T_CSET_UTF8);
    } else if (H5Tget_class(type) == H5T_INTEGER) {
        assert_true(H5Tequal(type, H5T_STD_I64LE));
    } else {
        assert_true(H5Tequal(type, H5T_IEEE_F64LE));
    }
}

static void assert_attribute(hid_t object, int at, const char *what,
                             const char *value)
{
    char name[40];
    char *text;

    if (at < 0)
        snprintf(name, sizeof(name), "%s", what);
    else
        snprintf(name, sizeof(name), "FIELD_%d_%s", at, what);
    text = h5_get_new_text(object, name);
    if (!text)
        fail_msg("no attribute '%s'", name);
    assert_string_equal(text, value);
    free(text);
}

static void assert_table(hid_t file, const char *path,
                         const struct table *table)
{
    hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
    hid_t type = H5Dget_type(dataset), create = H5Dget_create_plist(dataset);
    unsigned flags;
    int i = 0;

    assert_true(dataset >= 0);
    assert_attribute(dataset, -1, "CLASS", "TABLE");
    assert_attribute(dataset, -1, "VERSION", "3.0");
    assert_attribute(dataset, -1, "TITLE", table->title);
    for (const struct iobm_column *c = table->columns; c->type != IOBM_COL_END;
         c++, i++) {
        hid_t member = H5Tget_member_type(type, (unsigned)i);

        assert_plain(member);
        H5Tclose(member);
        assert_attribute(dataset, i, "NAME", c->name);
        assert_attribute(dataset, i, "UNITS", c->unit);
    }
    assert_int_equal(H5Tget_nmembers(type), i);
    assert_int_equal(H5Pget_nfilters(create), 2);
    assert_true(H5Pget_filter_by_id2(create, H5Z_FILTER_SHUFFLE, &flags, NULL,
                                     NULL, 0, NULL, NULL) >= 0);
    assert_true(H5Pget_filter_by_id2(create, H5Z_FILTER_DEFLATE, &flags, NULL,
                                     NULL, 0, NULL, NULL) >= 0);
    H5Pclose(create);
    H5Tclose(type);
    H5Dclose(dataset);
}

static void test_form(void **state)
{
    struct store *store = begin(TARGET, RUN_ID);
    hid_t file, create, json;
    char text[400] = "";
    H5F_info2_t info;

    (void)state;
    add_detail(store, 1);
    add_phase(store, 1);
    assert_int_equal(finish(store), 1);
    file = H5Fopen(TARGET, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    for (size_t i = 0; i < DETAIL_TABLES; i++) {
        char path[128];

        snprintf(path, sizeof(path), GROUP "%s", detail_tables[i].name);
        assert_table(file, path, &detail_tables[i]);
    }
    assert_attribute(file, -1, "format", "iobm-results");
    assert_attribute(file, -1, "format_version", "1.0");
    assert_table(file, "results", &table_results);
    assert_table(file, GROUP "phases", &table_phases);
    assert_table(file, GROUP "ranks", &table_ranks);
    assert_table(file, GROUP "clock", &table_clock);
    assert_table(file, GROUP "log", &table_log);
    assert_table(file, GROUP "environment/nodes", &table_nodes);
    json = H5Dopen2(file, GROUP "config/json", H5P_DEFAULT);
    create = H5Dget_type(json);
    assert_true(H5Dread(json, create, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) >=
                0);
    assert_string_equal(text, "{\"api\":\"mpiio\",\"hint\":[\"cb_nodes=4\","
                              "\"romio_ds_write=disable\"],\"label\":\"\","
                              "\"transfer-size\":\"16M\"}");
    H5Tclose(create);
    H5Dclose(json);
    assert_true(H5Fget_info2(file, &info) >= 0);
    assert_true(info.super.version <= 2); /* 3 needs HDF5 1.10 */
    H5Fclose(file);
}

/* ---- files of other ages ---- */

/* Three columns, one of them with less room for text, one unknown to us. */
struct old_row {
    int64_t run;
    char path[8];
    double lost;
};

static const struct iobm_column old_columns[] = {
    {"run", "1", IOBM_COL_I64, offsetof(struct old_row, run), 8, "run"},
    {"path", "", IOBM_COL_TEXT, offsetof(struct old_row, path), 8, "path"},
    {"lost", "furlong", IOBM_COL_F64, offsetof(struct old_row, lost), 8,
     "what we do not know"},
    {NULL, NULL, IOBM_COL_END, 0, 0, NULL},
};

/* A file with other columns than ours and, in run 1, hardly a table. */
static void make_old_file(void)
{
    static const struct table old_results = {"results", "old", old_columns,
                                             sizeof(struct old_row), true};
    static const struct table old_phases = {"phases", "old", old_columns,
                                            sizeof(struct old_row), false};
    static const struct old_row rows[] = {{1, "/old/a", 0.5},
                                          {1, "/old/b", 1.5}};
    hid_t file = H5Fcreate(TARGET, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t run;

    assert_int_equal(target_init(file, NULL), IOBM_OK);
    assert_int_equal(h5_put_text(file, "format_version", "1.7", NULL), IOBM_OK);
    assert_int_equal(table_create(file, &old_results, NULL), IOBM_OK);
    assert_int_equal(table_append(file, &old_results, rows, 2, NULL), IOBM_OK);
    run = H5Gcreate2(file, "runs/000001_20200101T000000Z_00000000", H5P_DEFAULT,
                     H5P_DEFAULT, H5P_DEFAULT);
    assert_int_equal(h5_put_int(run, "number", 1, NULL), IOBM_OK);
    assert_int_equal(table_create(run, &old_phases, NULL), IOBM_OK);
    assert_int_equal(table_append(run, &old_phases, rows, 2, NULL), IOBM_OK);
    H5Gclose(run);
    H5Fclose(file);
}

static void test_other_columns(void **state)
{
    struct run_record run;

    (void)state;
    make_old_file();
    read_run(TARGET, 1, &run);
    assert_int_equal(run.phase_count, 2);
    assert_string_equal(run.phases[1].path, "/old/b");
    assert_int_equal(run.phases[1].run, 1);
    assert_int_equal(run.phases[1].bytes, -1);
    assert_true(isnan(run.phases[1].bw_wall_Bps));
    assert_string_equal(run.phases[1].op, "");
    assert_int_equal(run.rank_count, 0);
    assert_no_detail(&run.detail);
    assert_string_equal(run.status, "");
    run_record_release(&run);
    assert_int_equal(count_series(TARGET, 1), 0);
}

/* Tables beside the phases that have other columns than ours. */
static void test_detail_other_columns(void **state)
{
    struct row {
        int64_t phase;
        char name[8];
        double lost;
    };
    static const struct iobm_column columns[] = {
        {"phase", "1", IOBM_COL_I64, offsetof(struct row, phase), 8, "phase"},
        {"name", "", IOBM_COL_TEXT, offsetof(struct row, name), 8, "name"},
        {"lost", "1", IOBM_COL_F64, offsetof(struct row, lost), 8, "lost"},
        {NULL, NULL, IOBM_COL_END, 0, 0, NULL},
    };
    static const struct row rows[] = {{0, "short", 1}, {1, "clock", 2}};
    struct run_record run;
    hid_t file, group;

    (void)state;
    make_old_file();
    file = H5Fopen(TARGET, H5F_ACC_RDWR, H5P_DEFAULT);
    group =
        H5Gopen2(file, "runs/000001_20200101T000000Z_00000000", H5P_DEFAULT);
    for (size_t i = 0; i < DETAIL_TABLES; i++) {
        const struct table old = {detail_tables[i].name, "old", columns,
                                  sizeof(rows[0]), false};

        assert_int_equal(table_create(group, &old, NULL), IOBM_OK);
        assert_int_equal(table_append(group, &old, rows, 2, NULL), IOBM_OK);
    }
    H5Gclose(group);
    H5Fclose(file);
    read_run(TARGET, 1, &run);
#define COUNTED(array, number, columns) assert_int_equal(run.detail.number, 2);
    EACH_ARRAY(COUNTED)
#undef COUNTED
    assert_int_equal(run.detail.series[1].phase, 1);
    assert_int_equal(run.detail.series[1].rank, -1);
    assert_int_equal(run.detail.series[1].bytes, -1);
    assert_string_equal(run.detail.checks[1].name, "clock");
    assert_string_equal(run.detail.checks[1].result, "");
    assert_true(isnan(run.detail.checks[1].value));
    run_record_release(&run);
    /* and a run of today beside them */
    assert_int_equal(write_run(TARGET, RUN_ID, 1), 2);
    assert_int_equal(count_runs(TARGET), 2);
}

static void test_widen(void **state)
{
    static const struct table old_results = {"results", "old", old_columns,
                                             sizeof(struct old_row), true};
    struct iobm_phase_row *rows, expected;
    struct old_row *old;
    size_t n;
    hid_t file, dataset;

    (void)state;
    make_old_file();
    assert_int_equal(write_run(TARGET, RUN_ID, 1), 2);
    assert_int_equal(write_run(TARGET, OTHER_ID, 1), 3);
    file = H5Fopen(TARGET, H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_int_equal(table_read(file, &table_results, (void **)&rows, &n, NULL),
                     IOBM_OK);
    assert_int_equal(n, 4);
    assert_string_equal(rows[1].path, "/old/b");
    assert_int_equal(rows[1].run, 1);
    assert_int_equal(rows[1].bytes, -1);
    assert_true(isnan(rows[1].seconds));
    for (int i = 2; i < 4; i++) {
        make_phase(&expected, 1);
        expected.run = i;
        assert_memory_equal(&rows[i], &expected, sizeof(expected));
    }
    free(rows);
    assert_int_equal(table_read(file, &old_results, (void **)&old, &n, NULL),
                     IOBM_OK);
    assert_true(old[1].lost == 1.5);
    free(old);
    dataset = H5Dopen2(file, "results", H5P_DEFAULT);
    assert_attribute(dataset, 2, "NAME", "lost");
    assert_attribute(dataset, 2, "UNITS", "furlong");
    assert_attribute(dataset, 3, "NAME", "run_id");
    H5Dclose(dataset);
    H5Fclose(file);
    assert_int_equal(count_runs(TARGET), 3);
}

/* ---- what is not a result file of ours ---- */

static void make_text(void)
{
    assert_int_equal(system("echo 'no HDF5, and longer than a signature' >f"),
                     0);
}

static void make_truncated(void)
{
    write_run("f", RUN_ID, 1);
    assert_int_equal(truncate("f", 20000), 0);
}

static void make_stump(void)
{
    write_run("f", RUN_ID, 1);
    assert_int_equal(truncate("f", 100), 0);
}

static void make_foreign(void)
{
    H5Fclose(H5Fcreate("f", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
}

static void set_version(const char *version)
{
    hid_t file;

    write_run("f", RUN_ID, 1);
    file = H5Fopen("f", H5F_ACC_RDWR, H5P_DEFAULT);
    assert_int_equal(h5_put_text(file, "format_version", version, NULL),
                     IOBM_OK);
    H5Fclose(file);
}

static void make_newer(void)
{
    set_version("2.0");
}

static void make_no_version(void)
{
    set_version("next");
}

static void make_directory(void)
{
    assert_int_equal(mkdir("f", 0777), 0);
}

static void make_fifo(void)
{
    assert_int_equal(mkfifo("f", 0666), 0);
}

static void make_loose_link(void)
{
    assert_int_equal(symlink("nowhere", "f"), 0);
}

static void make_loop(void)
{
    assert_int_equal(symlink("f", "f"), 0);
}

static void make_empty(void)
{
    assert_int_equal(truncate("f", 0) == 0 || mknod("f", 0100666, 0) == 0, 1);
}

static void make_nothing(void)
{
}

static void test_bad_files(void **state)
{
    static const struct {
        void (*make)(void);
        const char *path;
        const char *write; /* what store_check says; NULL: it is fine */
        const char *read;  /* what store_list says */
    } cases[] = {
        {make_text, "f", "it is not an HDF5 file", "it is not an HDF5 file"},
        {make_truncated, "f", "truncated file", "truncated file"},
        {make_stump, "f", "truncated file", "truncated file"},
        {make_foreign, "f", "not one of iobm's", "not one of iobm's"},
        {make_newer, "f", "format 2.0 is newer", "format 2.0 is newer"},
        {make_no_version, "f", "does not say in which", "does not say"},
        {make_directory, "f", "it is a directory", "it is a directory"},
        {make_fifo, "f", "not a regular file", "not a regular file"},
        {make_loose_link, "f", "leads nowhere", "No such file"},
        {make_loop, "f", "symbolic links", "symbolic links"},
        {make_empty, "f", NULL, "it is empty"},
        {make_nothing, "f", NULL, "cannot open 'f': No such file"},
        {make_nothing, "no/f", "files in 'no/': No such file", "No such"},
        {make_text, "f/f", "Not a directory", "Not a directory"},
        {make_nothing, "", "names no file", "cannot open ''"},
        {make_nothing, "f/", "names no file", "cannot open 'f/'"},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct run_record *runs, record;
        struct iobm_error err = {0};
        struct store *store = NULL;
        size_t count;

        clean(state);
        cases[i].make();
        if (cases[i].write) {
            assert_int_equal(store_check(cases[i].path, &err), IOBM_EIO);
            if (!strstr(err.text, cases[i].write))
                fail_msg("case %zu: '%s'", i, err.text);
            make_record(&record, RUN_ID);
            assert_int_equal(store_begin(cases[i].path, &record, &store, &err),
                             IOBM_EIO);
            run_record_release(&record);
        } else {
            assert_int_equal(store_check(cases[i].path, &err), IOBM_OK);
        }
        assert_int_equal(store_list(cases[i].path, &runs, &count, &err),
                         IOBM_EIO);
        if (!strstr(err.text, cases[i].read))
            fail_msg("case %zu: '%s'", i, err.text);
        assert_int_equal(store_read(cases[i].path, 0, &record, &err), IOBM_EIO);
    }
}

/* Nothing may crash a reader, whatever is wrong inside. */
static void test_damaged_inside(void **state)
{
    struct iobm_series_row *series;
    hid_t file;
    struct run_record run;
    size_t n;
    struct iobm_error err;

    (void)state;
    /* a group where a table should be */
    write_run(TARGET, RUN_ID, 1);
    file = H5Fopen(TARGET, H5F_ACC_RDWR, H5P_DEFAULT);
    H5Ldelete(file, GROUP "phases", H5P_DEFAULT);
    H5Gclose(H5Gcreate2(file, GROUP "phases", H5P_DEFAULT, H5P_DEFAULT,
                        H5P_DEFAULT));
    H5Fclose(file);
    assert_int_equal(store_read(TARGET, 0, &run, &err), IOBM_EIO);
    assert_says(&err, "cannot open table 'phases'");

    /* a text where a table should be */
    file = H5Fopen(TARGET, H5F_ACC_RDWR, H5P_DEFAULT);
    H5Ldelete(file, GROUP "phases", H5P_DEFAULT);
    assert_int_equal(h5_put_document(file, GROUP "phases", "text", NULL),
                     IOBM_OK);
    H5Fclose(file);
    assert_int_equal(store_read(TARGET, 0, &run, &err), IOBM_EIO);
    assert_says(&err, "'phases' is not a table");

    /* tables that a run need not have: the list goes without them */
    for (size_t i = 0; i < DETAIL_TABLES; i++) {
        char path[128], text[64];

        clean(state);
        write_run(TARGET, RUN_ID, 1);
        file = H5Fopen(TARGET, H5F_ACC_RDWR, H5P_DEFAULT);
        snprintf(path, sizeof(path), GROUP "%s", detail_tables[i].name);
        assert_int_equal(h5_put_document(file, path, "text", NULL), IOBM_OK);
        H5Fclose(file);
        assert_int_equal(store_read(TARGET, 0, &run, &err), IOBM_EIO);
        snprintf(text, sizeof(text), "'%s' is not a table",
                 detail_tables[i].name);
        assert_says(&err, text);
        assert_int_equal(store_read_series(TARGET, 0, &series, &n, &err),
                         i == 0 ? IOBM_EIO : IOBM_OK);
        assert_int_equal(count_runs(TARGET), 1);
    }

    /* no runs at all */
    file = H5Fopen(TARGET, H5F_ACC_RDWR, H5P_DEFAULT);
    H5Ldelete(file, "runs", H5P_DEFAULT);
    H5Fclose(file);
    assert_int_equal(store_read(TARGET, 0, &run, &err), IOBM_EIO);
    assert_says(&err, "cannot open group 'runs'");
}

/* A column that is said to lie outside of its row: HDF5 itself would follow.
 * In the file a member is its name, padded to 16 bytes, and its offset. */
static void test_damaged_offset(void **state)
{
    static const char column[] = "seconds_outer";
    char member[20] = "seconds_outer", *bytes, *at;
    struct run_record run;
    struct iobm_error err;
    struct stat facts;
    uint32_t offset = 0, wild = 0x7fffff00;
    int file, found = 0;

    (void)state;
    for (const struct iobm_column *c = iobm_phase_columns;
         strcmp(c->name, column) != 0; c++)
        offset += (uint32_t)c->size;
    memcpy(member + 16, &offset, 4);
    write_run(TARGET, RUN_ID, 2);
    assert_int_equal(stat(TARGET, &facts), 0);
    file = open(TARGET, O_RDWR);
    bytes = malloc((size_t)facts.st_size);
    assert_non_null(bytes);
    assert_int_equal(read(file, bytes, (size_t)facts.st_size), facts.st_size);
    for (at = bytes;
         (at = memmem(at, (size_t)(bytes + facts.st_size - at), member, 20));
         at += 20, found++)
        assert_int_equal(pwrite(file, &wild, 4, at + 16 - bytes), 4);
    close(file);
    free(bytes);
    assert_int_equal(found, 2); /* /results and the run's phases */
    assert_int_equal(store_read(TARGET, 0, &run, &err), IOBM_EIO);
    assert_says(&err, "table 'phases' is damaged");
}

/* ---- links, modes, full disks ---- */

static void test_link_and_mode(void **state)
{
    struct stat facts;

    (void)state;
    assert_int_equal(mkdir("real", 0777), 0);
    write_run("real/" TARGET, RUN_ID, 1);
    assert_int_equal(chmod("real/" TARGET, 0640), 0);
    assert_int_equal(symlink("real/" TARGET, "link"), 0);
    assert_int_equal(write_run("link", OTHER_ID, 1), 2);
    assert_int_equal(lstat("link", &facts), 0);
    assert_true(S_ISLNK(facts.st_mode));
    assert_int_equal(stat("real/" TARGET, &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0640);
    assert_int_equal(count_runs("real/" TARGET), 2);
}

static void test_unwritable(void **state)
{
    struct iobm_error err;

    (void)state;
    if (geteuid() == 0)
        skip(); /* root may write everywhere */
    write_run(TARGET, RUN_ID, 1);
    assert_int_equal(chmod(TARGET, 0444), 0);
    assert_int_equal(store_check(TARGET, &err), IOBM_EIO);
    assert_says(&err, "cannot write");
    assert_int_equal(mkdir("d", 0555), 0);
    assert_int_equal(store_check("d/" TARGET, &err), IOBM_EIO);
    assert_says(&err, "Permission denied");
}

/* A limit on file sizes stands in for a full disk. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;

    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_full_during_run(void **state)
{
    struct iobm_rank_row *ranks = calloc(2000, sizeof(*ranks));
    struct iobm_phase_row phase;
    struct run_record run;
    struct iobm_error err = {0};
    struct store *store;
    struct stat facts;

    (void)state;
    assert_non_null(ranks);
    for (int i = 0; i < 2000; i++)
        make_rank(&ranks[i], i);
    make_phase(&phase, 2);
    store = begin(TARGET, RUN_ID);
    add_phase(store, 1);
    assert_int_equal(stat(store_partial_path(store), &facts), 0);
    limit_files((rlim_t)facts.st_size + 4096);
    add_detail(store, 2); /* in memory so far */
    assert_int_equal(store_phase(store, &phase, ranks, 2000, &err), IOBM_EIO);
    limit_files(RLIM_INFINITY);
    assert_says(&err, "File too large");
    free(ranks);

    /* what was there before still is */
    read_run(store_partial_path(store), 0, &run);
    assert_int_equal(run.phase_count, 1);
    assert_no_detail(&run.detail);
    run_record_release(&run);
    assert_int_equal(finish(store), 1); /* with both phases: it is in memory */
    read_run(TARGET, 1, &run);
    assert_int_equal(run.phase_count, 2);
    assert_detail(&run.detail, 0, 2);
    run_record_release(&run);
}

static void test_full_during_merge(void **state)
{
    struct store_recovery counts;
    struct iobm_error err = {0};
    struct str report = {0};
    struct store *store;
    int64_t number = 0;

    (void)state;
    write_run(TARGET, RUN_ID, 1);
    store = begin(TARGET, OTHER_ID);
    add_phase(store, 1);
    limit_files(100000); /* not for the copy and the room behind it */
    assert_int_equal(store_finish(store, "complete", "", &number, &err),
                     IOBM_EIO);
    limit_files(RLIM_INFINITY);
    assert_says(&err, TARGET ".5e6f7a8b.part'");
    assert_says(&err, "'iobm file recover " TARGET "'");
    assert_says(&err, "File too large");
    assert_int_equal(count_runs(TARGET), 1);
    assert_false(exists(TARGET ".5e6f7a8b.merge"));
    assert_false(exists(TARGET ".lock"));

    /* Its writer, this process, is alive but done with it.  To the store it
     * looks like a run that goes on. */
    assert_int_equal(store_recover(TARGET, false, &counts, &report, &err),
                     IOBM_OK);
    assert_int_equal(counts.alive, 1);
    str_release(&report);
}

/* ---- recovery ---- */

/* A process that was, and is no more. */
static void make_gone(struct owner *owner)
{
    int ends[2], status;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        owner_init(owner);
        _exit(write(ends[1], owner, sizeof(*owner)) != sizeof(*owner));
    }
    assert_int_equal(read(ends[0], owner, sizeof(*owner)), sizeof(*owner));
    assert_int_equal(waitpid(child, &status, 0), child);
    close(ends[0]);
    close(ends[1]);
}

/* Leave a partial file as a process does that is killed. */
static void leave_partial(const char *run_id, int phases)
{
    struct store *store = begin(TARGET, run_id);
    struct owner gone;
    char path[64];
    hid_t file;

    for (int i = 0; i < phases; i++) {
        add_detail(store, i + 1);
        add_phase(store, i + 1);
    }
    add_detail(store, phases + 1); /* of a phase that is not measured */
    snprintf(path, sizeof(path), "%s", store_partial_path(store));
    assert_int_equal(link(path, "kept"), 0);
    store_abandon(store);
    /* Both names of one file: rename leaves them, so one goes by hand. */
    assert_int_equal(rename("kept", path), 0);
    unlink("kept");
    make_gone(&gone);
    file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    assert_int_equal(h5_put_int(file, "writer_pid", gone.pid, NULL), IOBM_OK);
    assert_int_equal(h5_put_int(file, "writer_start", gone.start, NULL),
                     IOBM_OK);
    H5Fclose(file);
}

static void recover(bool force, int64_t merged, int64_t alive, int64_t damaged,
                    const char *says)
{
    struct store_recovery counts;
    struct iobm_error err = {0};
    struct str report = {0};

    if (store_recover(TARGET, force, &counts, &report, &err) != IOBM_OK)
        fail_msg("%s", err.text);
    if (!strstr(str_text(&report), says))
        fail_msg("'%s' does not say '%s'", str_text(&report), says);
    assert_int_equal(counts.merged, merged);
    assert_int_equal(counts.alive, alive);
    assert_int_equal(counts.damaged, damaged);
    str_release(&report);
}

static void test_recover(void **state)
{
    struct run_record run;

    (void)state;
    write_run(TARGET, OTHER_ID, 1);
    leave_partial(RUN_ID, 2);
    assert_int_equal(store_count_partials(TARGET), 1);
    read_run(TARGET ".1a2b3c4d.part", 0, &run);
    assert_int_equal(run.number, 0);
    assert_string_equal(run.status, "running");
    assert_int_equal(run.phase_count, 2);
    run_record_release(&run);

    recover(false, 1, 0, 0, "as run 2: interrupted after 2 phases\n");
    assert_int_equal(store_count_partials(TARGET), 0);
    read_run(TARGET, 2, &run);
    assert_string_equal(run.status, "interrupted");
    assert_string_equal(run.run_id, RUN_ID);
    assert_int_equal(run.phase_count, 2);
    assert_int_equal(run.phases[1].run, 2);
    assert_int_equal(run.rank_count, 4);
    assert_detail(&run.detail, 0, 1);
    assert_detail(&run.detail, 1, 2);
    assert_int_equal(run.detail.check_count, 6);
    run_record_release(&run);
    assert_int_equal(count_series(TARGET, 2), 6);
    recover(false, 0, 0, 0, "");
    assert_int_equal(count_runs(TARGET), 2);
}

static void test_recover_without_target(void **state)
{
    struct store_recovery counts;
    struct iobm_error err = {0};
    struct str report = {0};

    (void)state;
    assert_int_equal(store_recover(TARGET, false, &counts, &report, &err),
                     IOBM_EIO);
    assert_says(&err, "neither it nor a partial file of it is there");
    leave_partial(RUN_ID, 0);
    recover(false, 1, 0, 0, "as run 1: interrupted before its first phase");
    assert_int_equal(count_runs(TARGET), 1);
}

/* Killed between the rename and the removal of the partial file. */
static void test_recover_merged_already(void **state)
{
    (void)state;
    leave_partial(RUN_ID, 2);
    assert_int_equal(system("cp " TARGET ".1a2b3c4d.part saved"), 0);
    recover(false, 1, 0, 0, "as run 1");
    assert_int_equal(rename("saved", TARGET ".1a2b3c4d.part"), 0);
    recover(false, 1, 0, 0, "as run 1");
    assert_int_equal(count_runs(TARGET), 1);
    assert_false(exists(TARGET ".1a2b3c4d.part"));
}

static void test_recover_leaves(void **state)
{
    struct store *store;
    hid_t file;

    (void)state;
    /* one whose run goes on: this process */
    store = begin(TARGET, RUN_ID);
    add_phase(store, 1);
    recover(false, 0, 1, 0, "its run goes on");
    recover(true, 0, 1, 0, "its run goes on");

    /* the same number, but the process that has it now began later */
    file = H5Fopen(TARGET ".1a2b3c4d.part", H5F_ACC_RDWR, H5P_DEFAULT);
    assert_int_equal(h5_put_int(file, "writer_start", 1, NULL), IOBM_OK);
    H5Fclose(file);
    recover(false, 1, 0, 0, "as run 1");
    store_abandon(store);

    /* one that is no HDF5 file, and files that are not partial files */
    assert_int_equal(system("echo x >" TARGET ".00000000.part;"
                            "echo x >" TARGET ".0000000.part;"
                            "echo x >" TARGET ".0000000g.part;"
                            "echo x >x" TARGET ".00000001.part"),
                     0);
    recover(false, 0, 0, 1, "not an HDF5 file");
    assert_true(exists(TARGET ".00000000.part"));
}

static void set_age(const char *path, int64_t seconds)
{
    struct timespec times[2];
    struct stat facts;

    assert_int_equal(stat(path, &facts), 0);
    times[0] = times[1] = facts.st_mtim;
    times[0].tv_sec -= seconds;
    times[1].tv_sec -= seconds;
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Of another host nothing is known but when it last wrote. */
static void test_recover_elsewhere(void **state)
{
    static const struct {
        int64_t age_s;
        bool force;
        int64_t merged;
    } cases[] = {{0, false, 0}, {590, false, 0}, {610, false, 1}, {0, true, 1}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        hid_t file;

        clean(state);
        leave_partial(RUN_ID, 1);
        file = H5Fopen(TARGET ".1a2b3c4d.part", H5F_ACC_RDWR, H5P_DEFAULT);
        assert_int_equal(h5_put_text(file, "writer_place", "mars", NULL),
                         IOBM_OK);
        H5Fclose(file);
        set_age(TARGET ".1a2b3c4d.part", cases[i].age_s);
        recover(cases[i].force, cases[i].merged, !cases[i].merged, 0,
                cases[i].merged ? "as run 1" : "--force");
    }
}

static void test_recover_sweeps(void **state)
{
    (void)state;
    write_run(TARGET, RUN_ID, 1);
    assert_int_equal(system("echo x >" TARGET ".00000000.merge;"
                            "echo x >" TARGET ".00000000.part.new;"
                            "echo x >" TARGET ".00000001.part.new;"
                            "echo x >" TARGET ".notours"),
                     0);
    set_age(TARGET ".00000000.part.new", 700);
    recover(false, 0, 0, 0, "");
    assert_false(exists(TARGET ".00000000.merge"));
    assert_false(exists(TARGET ".00000000.part.new"));
    assert_true(exists(TARGET ".00000001.part.new")); /* just being written */
    assert_true(exists(TARGET ".notours"));
}

static void test_abandon(void **state)
{
    struct store *store;

    (void)state;
    store_abandon(NULL);
    store = begin(TARGET, RUN_ID);
    assert_true(exists(store_partial_path(store)));
    store_abandon(store);
    assert_false(exists(TARGET ".1a2b3c4d.part"));
    store = begin(TARGET, RUN_ID);
    add_phase(store, 1);
    store_abandon(store);
    assert_true(exists(TARGET ".1a2b3c4d.part"));
    assert_false(exists(TARGET));
}

/* ---- owners and locks ---- */

static void test_owner(void **state)
{
    struct owner self, owner;
    siginfo_t info;
    pid_t child;
    int status;

    (void)state;
    owner_init(&self);
    assert_int_equal(self.pid, getpid());
    assert_true(self.start > 0);
    assert_int_equal(owner_ask(&self), OWNER_ALIVE);
    owner = self;
    owner.start = -1; /* not known then */
    assert_int_equal(owner_ask(&owner), OWNER_ALIVE);
    owner.start = self.start - 1; /* its number was given out again */
    assert_int_equal(owner_ask(&owner), OWNER_GONE);
    strcpy(owner.place, "elsewhere");
    assert_int_equal(owner_ask(&owner), OWNER_ELSEWHERE);
    make_gone(&owner);
    assert_int_equal(owner_ask(&owner), OWNER_GONE);
    owner.pid = 0;
    assert_int_equal(owner_ask(&owner), OWNER_GONE);

    /* ended, but its parent has not asked for it: still in /proc */
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    owner = self;
    owner.pid = child;
    owner.start = -1;
    assert_int_equal(owner_ask(&owner), OWNER_GONE);
    assert_int_equal(waitpid(child, &status, 0), child);
}

static void write_lock(const char *path, const struct owner *owner)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    if (owner)
        fprintf(file,
                "iobm lock 1\ntoken 0123456789abcdef\nhost %s\npid %" PRId64
                "\nstart %" PRId64 "\nplace %s\n",
                owner->host, owner->pid, owner->start, owner->place);
    fclose(file);
}

static void test_lock(void **state)
{
    static const struct lock_how now = {0, LOCK_FOREIGN_NS};
    enum who { GONE, ALIVE, REUSED, ELSEWHERE, SILENT };
    static const struct {
        enum who who;
        int64_t age_s;
        bool taken;
        const char *says;
    } cases[] = {
        {GONE, 0, true, ""},
        {REUSED, 0, true, ""},
        {ALIVE, 0, false, "is held by process "},
        {ALIVE, 7000, false, "is held by process "},
        {ELSEWHERE, 0, false, "is held by process "},
        {ELSEWHERE, 610, true, ""},
        {SILENT, 0, false, "does not say by whom"},
        {SILENT, 610, true, ""},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct iobm_error err = {0};
        struct owner owner;
        struct lock lock, other;

        clean(state);
        owner_init(&owner);
        if (cases[i].who == GONE)
            make_gone(&owner);
        if (cases[i].who == REUSED)
            owner.start--;
        if (cases[i].who == ELSEWHERE)
            strcpy(owner.place, "mars");
        write_lock("l", cases[i].who == SILENT ? NULL : &owner);
        set_age("l", cases[i].age_s);
        if (cases[i].taken) {
            assert_int_equal(lock_take("l", &now, &lock, &err), IOBM_OK);
            assert_true(lock_is_held(&lock));
            assert_int_equal(lock_take("l", &now, &other, &err), IOBM_EIO);
            assert_says(&err, "lock 'l' is held by process ");
            lock_release(&lock);
            assert_false(exists("l"));
        } else {
            assert_int_equal(lock_take("l", &now, &lock, &err), IOBM_EIO);
            assert_says(&err, cases[i].says);
            assert_true(exists("l"));
            assert_int_equal(unlink("l"), 0);
        }
        assert_int_equal(system("test -z \"$(ls)\""), 0); /* nothing left */
    }
}

/* Whoever was to break a stale lock was killed as well. */
static void test_lock_stale_break(void **state)
{
    static const struct lock_how now = {0, LOCK_FOREIGN_NS};
    struct iobm_error err = {0};
    struct owner owner;
    struct lock lock;

    (void)state;
    make_gone(&owner);
    write_lock("l", &owner);
    write_lock("l.break", &owner);
    assert_int_equal(lock_take("l", &now, &lock, &err), IOBM_OK);
    lock_release(&lock);
    assert_false(exists("l.break"));
}

static void test_lock_lost(void **state)
{
    static const struct lock_how now = {0, LOCK_FOREIGN_NS};
    struct owner owner;
    struct lock lock;

    (void)state;
    assert_int_equal(lock_take("l", &now, &lock, NULL), IOBM_OK);
    owner_init(&owner);
    write_lock("l", &owner); /* another's */
    assert_false(lock_is_held(&lock));
    lock_release(&lock);
    assert_true(exists("l")); /* is not ours to remove */
}

/* A merge that has lost its lock must not replace the target. */
static void test_merge_lost_lock(void **state)
{
    struct lock lock = {.token = "gone"};
    struct iobm_error err = {0};
    int64_t number = 0;

    (void)state;
    write_run(TARGET, OTHER_ID, 1);
    leave_partial(RUN_ID, 1);
    lock.path = merge_lock_path(TARGET);
    assert_int_equal(
        merge_held(TARGET, TARGET ".1a2b3c4d.part", &lock, &number, &err),
        IOBM_EIO);
    assert_says(&err, "another process broke the lock");
    assert_int_equal(count_runs(TARGET), 1);
    assert_true(exists(TARGET ".1a2b3c4d.part"));
    free(lock.path);
}

static void test_lock_sweep(void **state)
{
    struct owner gone, self;

    (void)state;
    make_gone(&gone);
    owner_init(&self);
    write_lock("l.1111", &gone);
    write_lock("l.2222", &self);
    write_lock("x.1111", &gone);
    write_lock("l.silent", NULL);
    write_lock("l.0123456789abcdef", NULL);
    write_lock("l.break.0123456789abcdef", NULL);
    write_lock("l.break", &gone);
    lock_sweep("l");
    assert_false(exists("l.1111"));
    assert_true(exists("l.2222"));
    assert_true(exists("x.1111"));
    assert_true(exists("l.silent"));
    assert_false(exists("l.0123456789abcdef"));
    assert_false(exists("l.break.0123456789abcdef"));
    assert_false(exists("l.break"));
}

static void test_library_facts(void **state)
{
    struct kvlist facts = {0};
    unsigned major, minor, patch;
    char version[32];

    (void)state;
    assert_int_equal(store_library_facts(&facts, NULL), IOBM_OK);
    H5get_libversion(&major, &minor, &patch);
    snprintf(version, sizeof(version), "%u.%u.%u", major, minor, patch);
    assert_string_equal(kv_get(&facts, "hdf5.version"), version);
#define NAME_OF(macro) TEXT_OF(macro)
#define TEXT_OF(text)  #text
    assert_string_equal(kv_get(&facts, "hdf5.parallel"),
                        strcmp(NAME_OF(H5_HAVE_PARALLEL), "1") ? "no" : "yes");
    kv_release(&facts);
}

int main(void)
{
    char folder[] = "test_store.XXXXXX";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_round_trip, clean),
        cmocka_unit_test_setup(test_detail, clean),
        cmocka_unit_test_setup(test_detail_alone, clean),
        cmocka_unit_test_setup(test_detail_flush, clean),
        cmocka_unit_test_setup(test_detail_at_begin, clean),
        cmocka_unit_test_setup(test_detail_long_series, clean),
        cmocka_unit_test_setup(test_detail_other_columns, clean),
        cmocka_unit_test_setup(test_odd_values, clean),
        cmocka_unit_test_setup(test_long_texts, clean),
        cmocka_unit_test_setup(test_many_runs, clean),
        cmocka_unit_test_setup(test_form, clean),
        cmocka_unit_test_setup(test_other_columns, clean),
        cmocka_unit_test_setup(test_widen, clean),
        cmocka_unit_test_setup(test_bad_files, clean),
        cmocka_unit_test_setup(test_damaged_inside, clean),
        cmocka_unit_test_setup(test_damaged_offset, clean),
        cmocka_unit_test_setup(test_link_and_mode, clean),
        cmocka_unit_test_setup(test_unwritable, clean),
        cmocka_unit_test_setup(test_full_during_run, clean),
        cmocka_unit_test_setup(test_full_during_merge, clean),
        cmocka_unit_test_setup(test_recover, clean),
        cmocka_unit_test_setup(test_recover_without_target, clean),
        cmocka_unit_test_setup(test_recover_merged_already, clean),
        cmocka_unit_test_setup(test_recover_leaves, clean),
        cmocka_unit_test_setup(test_recover_elsewhere, clean),
        cmocka_unit_test_setup(test_recover_sweeps, clean),
        cmocka_unit_test_setup(test_abandon, clean),
        cmocka_unit_test_setup(test_owner, clean),
        cmocka_unit_test_setup(test_lock, clean),
        cmocka_unit_test_setup(test_lock_stale_break, clean),
        cmocka_unit_test_setup(test_lock_lost, clean),
        cmocka_unit_test_setup(test_merge_lost_lock, clean),
        cmocka_unit_test_setup(test_lock_sweep, clean),
        cmocka_unit_test(test_library_facts),
    };
    int failed;

    /* "clean" removes what is in the current folder. */
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (system("rm -rf -- ./*") != 0 || chdir("..") != 0)
        return 1;
    rmdir(folder);
    return failed;
}
