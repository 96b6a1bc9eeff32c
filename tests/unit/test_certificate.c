/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The certificate: a phase that is good in every way, and each way in which
 * it can be worse, one at a time.
 */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "judge/certificate.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Cold, long, even and complete. */
static struct iobm_phase_row good(const char *op)
{
    struct iobm_phase_row p = {
        .bytes = 1 << 30,
        .bytes_expected = 1 << 30,
        .ranks = 4,
        .seconds = 60,
        .seconds_outer = 60.1,
        .bw_naive_Bps = 1.02e9,
        .bw_slowest_Bps = 1.01e9,
        .bw_wall_Bps = 1e9,
        .bw_wall_low_Bps = 0.9999e9,
        .bw_wall_high_Bps = 1.0001e9,
        .clock_bound_s = 1e-6,
        .start_skew_s = 0.001,
        .duty_pct = 99.5,
        .overhead_pct = 0.1,
        .op_cost_ns = 60,
        .loss_tail_pct = 2,
        .node_p = NAN,
        .cliff_bytes = -1,
        .verify_bytes = -1,
        .verify_errors = -1,
        .cached_pct = 0,
        .dirty_left_pct = 0,
        .dirty_pct = 80,
        .link_Bps = NAN,
        .working_set_pct = 300,
        .cpu_busy_pct = 20,
        .cpu_wait_pct = 0,
        .memory_stall_pct = 0,
    };

    snprintf(p.op, sizeof(p.op), "%s", op);
    strcpy(p.status, "complete");
    strcpy(p.shape, "flat");
    strcpy(p.cache_verdict, strcmp(op, "read") == 0 ? "cold" : "none");
    return p;
}

static struct certificate_input input(const struct iobm_phase_row *p)
{
    return (struct certificate_input){
        .row = p,
        .storage = true,
        .durable = true,
        .crowded_ranks = 2,
        .crowded_cores = 2,
    };
}

static void judge(const struct certificate_input *in, char trust[8], char *code,
                  size_t room)
{
    struct iobm_check_row rows[CERTIFICATE_PHASE_MAX];
    size_t n = certificate_phase(in, rows);

    assert_in_range(n, 1, CERTIFICATE_PHASE_MAX);
    certificate_code(rows, n, trust, code, room);
    for (size_t i = 0; i < n; i++) {
        /* What is not OK says why and what to do. */
        if (strcmp(rows[i].result, "OK") == 0)
            continue;
        assert_true(rows[i].text[0] && rows[i].advice[0]);
    }
}

static void good_phases_are_ok(void **state)
{
    static const char *const ops[] = {"write", "read"};

    (void)state;
    for (size_t i = 0; i < COUNT(ops); i++) {
        struct iobm_phase_row p = good(ops[i]);
        struct certificate_input in = input(&p);
        char trust[8], code[256];

        judge(&in, trust, code, sizeof(code));
        assert_string_equal(code, "");
        assert_string_equal(trust, "OK");
    }
}

/* Set one thing, of the row or of the input. */
#define SET(code, ...)                                                         \
    static void set_##code(struct iobm_phase_row *p,                           \
                           struct certificate_input *in)                       \
    {                                                                          \
        (void)in;                                                              \
        (void)p;                                                               \
        __VA_ARGS__;                                                           \
    }

SET(errors, p->errors = 1)
SET(bytes, p->bytes--)
SET(verify, p->verify_errors = 256)
SET(order, p->bw_naive_Bps = 0.9e9)
SET(sandwich, p->clock_failed = 1)
SET(clock, p->too_short = 1)
SET(anomaly, p->clock_anomaly = 1)
SET(late, p->late_ranks = 3)
SET(skew, p->start_skew_s = 0.7)
SET(brief, p->seconds = 2.9)
SET(duty, p->duty_pct = 97.9)
SET(idle, p->duty_pct = 89)
SET(cost, p->overhead_pct = 0.6)
SET(costly, p->overhead_pct = 2.1)
SET(dear, p->overhead_pct = 11)
SET(cores, in->crowded_ranks = 3)
SET(unsteady, strcpy(p->shape, "unsteady"))
SET(warm, strcpy(p->shape, "warm-up"))
SET(few, strcpy(p->shape, "too-short"))
SET(cliff, p->cliff_bytes = 1 << 20; p->cliff_before_Bps = 2e9)
SET(tail, p->loss_tail_pct = 11)
SET(straggler, p->stragglers = 1)
SET(nodes, p->node_p = 0.001; p->node_eta2 = 0.9)
SET(cached, strcpy(p->cache_verdict, "cached"); p->cached_pct = 99)
SET(mixed, strcpy(p->cache_verdict, "mixed"))
SET(mostly, strcpy(p->cache_verdict, "mostly-cold"))
SET(unknown, strcpy(p->cache_verdict, "unknown"))
SET(required, strcpy(p->cache_verdict, "unknown"); in->require_cold = true)
SET(direct, p->direct = 1; p->direct_not_honoured = 1)
SET(dirty, p->dirty_left_pct = 0.1)
SET(unsynced, in->durable = false; p->dirty_left_pct = 70)
SET(link, p->link_Bps = 12.5e6; p->faster_than_link = 1)
SET(memory, p->working_set_pct = 50)
SET(swapped, p->swapped_bytes = 2 << 20)
SET(stalled, p->memory_stall_pct = 11)
SET(faults, p->major_faults = 401)
SET(limit, p->memory_limit_hits = 1)
SET(busy, p->cpu_busy_pct = 96)
SET(waiting, p->cpu_wait_pct = 11)
SET(beside, in->result_beside = true)
SET(mapped, p->major_faults = 4000; in->mapped = true)
SET(no_storage, in->storage = false; p->duty_pct = 10; p->dirty_left_pct = 5;
    p->overhead_pct = 50)

static const struct {
    void (*set)(struct iobm_phase_row *, struct certificate_input *);
    const char *op, *code;
} cases[] = {
    {set_errors, "write", "I:errors"},
    {set_bytes, "read", "I:bytes"},
    {set_verify, "read", "I:verify"},
    {set_order, "write", "I:order"},
    {set_sandwich, "write", "I:sandwich"},
    {set_clock, "write", "W:clock"},
    {set_anomaly, "write", "W:clock"},
    {set_late, "write", "N:late"},
    {set_skew, "write", "W:skew"},
    {set_brief, "write", "W:short"},
    {set_duty, "write", "W:duty"},
    {set_idle, "write", "I:duty"},
    {set_cost, "write", "N:overhead"},
    {set_costly, "write", "W:overhead"},
    {set_dear, "write", "I:overhead"},
    {set_cores, "write", "W:cores"},
    {set_unsteady, "read", "W:steady"},
    {set_warm, "read", "N:steady"},
    {set_few, "read", "N:steady"},
    {set_cliff, "write", "W:cliff"},
    {set_cliff, "read", ""},
    {set_tail, "write", "N:tail"},
    {set_straggler, "write", "N:straggler"},
    {set_nodes, "write", "N:nodes"},
    {set_cached, "read", "W:cache"},
    {set_mixed, "read", "W:cache"},
    {set_mostly, "read", "N:cache"},
    {set_unknown, "read", "N:cache"},
    {set_required, "read", "I:cache"},
    {set_direct, "write", "W:direct"},
    {set_dirty, "write", "I:durable"},
    {set_dirty, "read", ""},
    {set_unsynced, "write", "W:durable"},
    {set_link, "read", "W:link"},
    {set_memory, "read", "N:memory"},
    {set_swapped, "read", "W:client"},
    {set_stalled, "read", "W:client"},
    {set_faults, "read", "W:client"},
    {set_limit, "read", "W:client"},
    {set_busy, "read", "W:client"},
    {set_waiting, "read", "W:client"},
    {set_beside, "read", "N:results"},
    {set_mapped, "read", ""},
    {set_no_storage, "write", ""},
};

static void each_fault_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct iobm_phase_row p = good(cases[i].op);
        struct certificate_input in = input(&p);
        char trust[8], code[256];

        cases[i].set(&p, &in);
        judge(&in, trust, code, sizeof(code));
        if (strcmp(code, cases[i].code) != 0)
            fail_msg("case %zu: '%s', expected '%s'", i, code, cases[i].code);
        assert_true(trust[0] == (code[0] ? code[0] : 'O'));
    }
}

/* One that failed has no figure to judge. */
static void failed_phases_say_so(void **state)
{
    struct iobm_phase_row p = good("write");
    struct certificate_input in = input(&p);
    char trust[8], code[256];

    (void)state;
    strcpy(p.status, "failed");
    p.errors = 2;
    p.bytes = 0;
    p.seconds = NAN;
    judge(&in, trust, code, sizeof(code));
    assert_string_equal(code, "I:errors I:bytes");
    assert_string_equal(trust, "INVALID");
}

static void codes_have_the_worst_first(void **state)
{
    struct iobm_phase_row p = good("read");
    struct certificate_input in = input(&p);
    char trust[8], code[256], cut[12];

    (void)state;
    set_late(&p, &in);
    set_brief(&p, &in);
    set_idle(&p, &in);
    judge(&in, trust, code, sizeof(code));
    assert_string_equal(code, "I:duty W:short N:late");
    judge(&in, trust, cut, sizeof(cut));
    assert_string_equal(cut, "I:duty W:sh");
}

static struct iobm_summary_row summary(int64_t repeats)
{
    struct iobm_summary_row s = {
        .repeats = repeats, .half_width_pct = 2, .trend_p = 0.5};

    strcpy(s.op, "write");
    return s;
}

static void repeats_are_judged(void **state)
{
    struct iobm_check_row rows[CERTIFICATE_RUN_MAX];
    struct iobm_summary_row s;
    char trust[8], code[256];

    static const struct {
        int64_t n, left_out;
        double half;
        int trend, modes, first;
        const char *code;
    } table[] = {
        {6, 0, 2, 0, 0, 0, ""},
        {5, 0, 2, 0, 0, 0, "N:repeats"},
        {6, 1, 2, 0, 0, 0, "N:repeats"},
        {1, 0, NAN, 0, 0, 0, "N:repeats"},
        {6, 0, 5.1, 0, 0, 0, "N:interval"},
        {9, 0, 2, 1, 0, 0, "W:trend"},
        {9, 0, 2, 0, 1, 0, "W:modes"},
        {9, 0, 2, 0, 0, 1, "W:first"},
        /* Too few to tell any of these. */
        {4, 0, 2, 1, 1, 1, "N:repeats"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        size_t n;

        s = summary(table[i].n);
        s.left_out = table[i].left_out;
        s.half_width_pct = table[i].half;
        s.trend = table[i].trend;
        s.two_modes = table[i].modes;
        s.first_run = table[i].first;
        n = certificate_run(&s, rows);
        assert_in_range(n, 1, CERTIFICATE_RUN_MAX);
        assert_int_equal(rows[0].phase, -1);
        certificate_code(rows, n, trust, code, sizeof(code));
        if (strcmp(code, table[i].code) != 0)
            fail_msg("case %zu: '%s', expected '%s'", i, code, table[i].code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_phases_are_ok),
        cmocka_unit_test(each_fault_is_named),
        cmocka_unit_test(failed_phases_say_so),
        cmocka_unit_test(codes_have_the_worst_first),
        cmocka_unit_test(repeats_are_judged),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
