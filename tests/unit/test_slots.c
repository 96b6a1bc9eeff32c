/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time slots: each operation in its slot, widths that double when the room
 * is full, against slots of the final width from the start; ranks added up.
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
#include "stats/slots.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define S        INT64_C(1000000000)
#define GUARD    64

/* Slots whose memory is just as large as they said, with a guard behind. */
struct rig {
    struct slots slots;
    unsigned char *memory;
    size_t bytes;
};

static void begin(struct rig *rig, size_t room, int64_t origin_ns,
                  int64_t width_ns)
{
    rig->bytes = slots_bytes(room);
    rig->memory = malloc(rig->bytes + GUARD);
    assert_non_null(rig->memory);
    memset(rig->memory, 0x5a, rig->bytes + GUARD);
    slots_init(&rig->slots, rig->memory, room, origin_ns, width_ns);
}

static void end(struct rig *rig)
{
    for (size_t i = 0; i < GUARD; i++)
        assert_int_equal(rig->memory[rig->bytes + i], 0x5a);
    free(rig->memory);
}

static void assert_same(const struct slots *a, const struct slots *b)
{
    assert_int_equal(a->width_ns, b->width_ns);
    assert_int_equal(a->used, b->used);
    assert_memory_equal(a->slot, b->slot, a->used * sizeof(*a->slot));
    assert_memory_equal(a->max_ns, b->max_ns, a->used * sizeof(*a->max_ns));
}

static void operations_by_their_end(void **state)
{
    static const struct {
        int64_t end_ns;
        size_t slot;
        size_t used;
        int64_t width_s;
    } cases[] = {
        {100 * S, 0, 1, 1},
        {101 * S - 1, 0, 1, 1},
        {101 * S, 1, 2, 1},
        {107 * S, 7, 8, 1},
        {103 * S, 3, 8, 1}, /* out of order */
        {99 * S, 0, 8, 1},  /* before the origin */
        {INT64_MIN / 2, 0, 8, 1},
        {108 * S - 1, 7, 8, 1},
        {108 * S, 4, 5, 2}, /* full: merged */
        {116 * S - 1, 7, 8, 2},
        {116 * S, 4, 5, 4},
        {100 * S + 4000 * S, 7, 8, 512}, /* several doublings at once */
        {100 * S, 0, 8, 512},
    };
    struct rig rig;
    int64_t ops = 0;

    (void)state;
    begin(&rig, 8, 100 * S, S);
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t total = 0;

        slots_add(&rig.slots, cases[i].end_ns, 5, 10);
        ops++;
        assert_int_equal(rig.slots.current, cases[i].slot);
        assert_int_equal(rig.slots.used, cases[i].used);
        assert_int_equal(rig.slots.width_ns, cases[i].width_s * S);
        for (size_t k = 0; k < 8; k++) {
            total += rig.slots.slot[k].ops;
            assert_int_equal(rig.slots.slot[k].bytes,
                             10 * rig.slots.slot[k].ops);
        }
        assert_int_equal(total, ops);
    }
    end(&rig);
}

/* A rank's life, at random: mostly forward, now and then a pause. */
static int64_t next_end(int64_t now, uint64_t seed, uint64_t i)
{
    uint64_t r = rng_at(seed, i);

    return now + (int64_t)(r % 300000000) + (r >> 40 & 127 ? 0 : 3 * S);
}

static void doubling_is_as_if_wide_from_the_start(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct rig grown, wide;
        size_t room = 1 + (size_t)rng_below(1, seed, 33);
        int64_t now = 17 * S;
        uint64_t n = rng_below(2, seed, 4000);

        begin(&grown, room, 17 * S, S);
        for (uint64_t i = 0; i < n; i++) {
            now = next_end(now, seed, i);
            slots_add(&grown.slots, now, (int64_t)(i * i % 99991), (int64_t)i);
            assert_true(grown.slots.used <= room);
        }
        begin(&wide, room, 17 * S, grown.slots.width_ns);
        now = 17 * S;
        for (uint64_t i = 0; i < n; i++) {
            now = next_end(now, seed, i);
            slots_add(&wide.slots, now, (int64_t)(i * i % 99991), (int64_t)i);
        }
        assert_same(&grown.slots, &wide.slots);
        end(&grown);
        end(&wide);
    }
}

/* Two ranks on clocks of their own, brought to one width and summed as flat
 * arrays, are the same as all operations in one. */
static void ranks_add_up(void **state)
{
    enum { ROOM = 16 };
    const int64_t origin[2] = {1000 * S, -5 * S};
    const uint64_t ops[2] = {2000, 300};
    struct rig rank[2], all;
    int64_t width = 0;

    (void)state;
    begin(&all, ROOM, 0, S);
    for (int r = 0; r < 2; r++) {
        int64_t now = origin[r];

        begin(&rank[r], ROOM, origin[r], S);
        for (uint64_t i = 0; i < ops[r]; i++) {
            now = next_end(now, 3 + (uint64_t)r, i);
            slots_add(&rank[r].slots, now, (int64_t)(i * 77 % 5003), 8);
            slots_add(&all.slots, now - origin[r], (int64_t)(i * 77 % 5003), 8);
        }
        if (rank[r].slots.width_ns > width)
            width = rank[r].slots.width_ns;
    }
    assert_true(rank[0].slots.width_ns > rank[1].slots.width_ns);
    struct slots *a = &rank[0].slots, *b = &rank[1].slots;
    assert_true(slots_widen(a, width));
    assert_true(slots_widen(b, width));
    size_t used = a->used > b->used ? a->used : b->used;
    int64_t *into = (int64_t *)a->slot, *from = (int64_t *)b->slot;
    for (size_t i = 0; i < used * SLOT_VALUES; i++)
        into[i] += from[i];
    for (size_t i = 0; i < used; i++)
        if (b->max_ns[i] > a->max_ns[i])
            a->max_ns[i] = b->max_ns[i];
    a->used = used;
    assert_same(a, &all.slots);
    end(&rank[0]);
    end(&rank[1]);
    end(&all);
}

static void only_whole_multiples(void **state)
{
    static const struct {
        int64_t width_ns;
        bool taken;
        size_t used, current;
    } cases[] = {
        {2 * S - 1, false, 10, 9}, {3 * S, false, 10, 9},
        {0, false, 10, 9},         {-4 * S, false, 10, 9},
        {1 * S, false, 10, 9},     {2 * S, true, 10, 9},
        {6 * S, true, 4, 3},       {12 * S, true, 2, 1},
        {1200 * S, true, 1, 0},    {S << 32, true, 1, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rig rig;
        int64_t ops = 0;

        begin(&rig, 10, 0, 2 * S);
        for (int64_t k = 0; k < 10; k++)
            slots_add(&rig.slots, 2 * k * S, 100 + k, 1);
        assert_int_equal(slots_widen(&rig.slots, cases[i].width_ns),
                         cases[i].taken);
        assert_int_equal(rig.slots.used, cases[i].used);
        assert_int_equal(rig.slots.current, cases[i].current);
        for (size_t k = 0; k < 10; k++)
            ops += rig.slots.slot[k].ops;
        assert_int_equal(ops, 10);
        assert_int_equal(rig.slots.max_ns[rig.slots.used - 1], 109);
        /* It goes on where it was. */
        slots_add(&rig.slots, 19 * S, 1, 1);
        assert_int_equal(rig.slots.current, cases[i].current);
        end(&rig);
    }
}

static bool is_near(double got, double expected)
{
    return isnan(expected) ? isnan(got) : fabs(got - expected) <= expected / 16;
}

static void rows_of_slots(void **state)
{
    static const struct {
        int64_t ops; /* of 1, 2, ... 100 us again and again */
        double p50_us, p99_us, max_us;
    } cases[] = {
        {0, NAN, NAN, NAN},  {1, NAN, NAN, 1},      {19, NAN, NAN, 19},
        {20, 10, NAN, 20},   {100, 50, NAN, 100},   {999, 50, NAN, 100},
        {1000, 50, 99, 100}, {100000, 50, 99, 100},
    };
    struct rig rig;

    (void)state;
    begin(&rig, COUNT(cases), 5, S);
    for (size_t i = 0; i < COUNT(cases); i++)
        for (int64_t k = 0; k < cases[i].ops; k++)
            slots_add(&rig.slots, 5 + (int64_t)i * S + k, (1 + k % 100) * 1000,
                      4096);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct slot_row row;

        slots_row(&rig.slots, i, &row);
        assert_int_equal(row.start_ns, (int64_t)i * S);
        assert_int_equal(row.width_ns, S);
        assert_int_equal(row.ops, cases[i].ops);
        assert_int_equal(row.bytes, cases[i].ops * 4096);
        assert_true(is_near(row.p50_ns, cases[i].p50_us * 1000));
        assert_true(is_near(row.p99_ns, cases[i].p99_us * 1000));
        assert_true(isnan(cases[i].max_us)
                        ? isnan(row.max_ns)
                        : row.max_ns == cases[i].max_us * 1000);
    }
    end(&rig);

    /* Never above the largest, however wide the bucket. */
    begin(&rig, 2, 0, S);
    for (int i = 0; i < 2000; i++)
        slots_add(&rig.slots, 1, 65536, 0);
    struct slot_row row;
    slots_row(&rig.slots, 0, &row);
    assert_true(row.p50_ns == 65536 && row.p99_ns == 65536);
    end(&rig);
}

/* More than 32 bits hold, of one rank and of a sum. */
static void counts_do_not_wrap(void **state)
{
    struct rig rig;
    struct slot_row row;

    (void)state;
    begin(&rig, 4, 0, S);
    slots_add(&rig.slots, 0, 777, 1);
    rig.slots.slot[0].ops += INT64_C(1) << 40;
    rig.slots.slot[0].count[hist_scale_bucket(777, SLOT_SUB_BITS)] += INT64_C(1)
                                                                      << 40;
    slots_add(&rig.slots, S, 777, 1);
    assert_true(slots_widen(&rig.slots, 2 * S));
    slots_row(&rig.slots, 0, &row);
    assert_int_equal(row.ops, (INT64_C(1) << 40) + 2);
    assert_true(row.p99_ns == 777);
    end(&rig);
}

/* A day in slots of a second at first; nothing is lost. */
static void a_long_run(void **state)
{
    struct rig rig;
    int64_t now = 0, ops = 0, bytes = 0;

    (void)state;
    begin(&rig, 128, 0, SLOTS_WIDTH_NS);
    for (uint64_t i = 0; now < 86400 * S; i++) {
        now += (int64_t)rng_below(9, i, 2 * S);
        slots_add(&rig.slots, now, 1000, 3);
    }
    for (size_t i = 0; i < rig.slots.used; i++) {
        struct slot_row row;

        slots_row(&rig.slots, i, &row);
        ops += row.ops;
        bytes += row.bytes;
        assert_true(row.ops > 0);
    }
    assert_int_equal(bytes, 3 * ops);
    assert_int_equal(rig.slots.width_ns, 1024 * S);
    assert_int_equal(rig.slots.used, 85);
    assert_true(ops > 80000);
    end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_by_their_end),
        cmocka_unit_test(doubling_is_as_if_wide_from_the_start),
        cmocka_unit_test(ranks_add_up),
        cmocka_unit_test(only_whole_multiples),
        cmocka_unit_test(rows_of_slots),
        cmocka_unit_test(counts_do_not_wrap),
        cmocka_unit_test(a_long_run),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
