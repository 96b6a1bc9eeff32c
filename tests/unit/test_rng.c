/* SPDX-License-Identifier: BSD-3-Clause */
/* Counter-based random numbers: known values, the same by every way, and no
 * gross flaw.  No statistics suite. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"

/* The mixer over multiples of the golden step is splitmix64 of seed 0, whose
 * first outputs are widely published. */
static void the_mixer_is_splitmix64(void **state)
{
    static const uint64_t first[] = {
        UINT64_C(0xe220a8397b1dcdaf),
        UINT64_C(0x6e789e6aa1b965f4),
        UINT64_C(0x06c45d188009454f),
        UINT64_C(0xf88bb8a8724c81ec),
    };

    (void)state;
    for (uint64_t i = 0; i < 4; i++)
        assert_true(rng_mix((i + 1) * UINT64_C(0x9e3779b97f4a7c15)) ==
                    first[i]);
    assert_true(rng_mix(0) == 0);
}

/* There and back, both ways; single bits, as each must come back. */
static void the_mixer_can_be_undone(void **state)
{
    (void)state;
    for (int bit = 0; bit < 64; bit++) {
        uint64_t x = UINT64_C(1) << bit;

        assert_true(rng_unmix(rng_mix(x)) == x);
        assert_true(rng_mix(rng_unmix(x)) == x);
        assert_true(rng_unmix(rng_mix(~x)) == ~x);
    }
    for (uint64_t i = 0; i < 100000; i++)
        assert_true(rng_unmix(rng_mix(rng_at(5, i))) == rng_at(5, i));
    assert_true(rng_unmix(0) == 0);
    assert_true(rng_unmix(UINT64_C(0xe220a8397b1dcdaf)) ==
                UINT64_C(0x9e3779b97f4a7c15));
}

/* Files written by one version are checked by the next. */
static void values_never_change(void **state)
{
    (void)state;
    assert_true(rng_at(0, 0) == UINT64_C(0xa706dd2f4d197e6f));
    assert_true(rng_at(1, 0) == UINT64_C(0x5e41ab087439611e));
    assert_true(rng_at(12345, UINT64_C(1) << 40) ==
                UINT64_C(0x06a3c5e36fd625b6));
}

static void fill_agrees_with_at(void **state)
{
    unsigned char buffer[8 * 100 + 16];

    (void)state;
    for (size_t shift = 0; shift < 9; shift++) {
        memset(buffer, 0xee, sizeof(buffer));
        rng_fill(buffer + shift, 800, 42, 1000);
        for (uint64_t i = 0; i < 100; i++) {
            uint64_t value;
            memcpy(&value, buffer + shift + 8 * i, 8);
            assert_true(value == rng_at(42, 1000 + i));
        }
        for (size_t i = 0; i < shift; i++)
            assert_int_equal(buffer[i], 0xee);
        for (size_t i = shift + 800; i < sizeof(buffer); i++)
            assert_int_equal(buffer[i], 0xee);
    }
    rng_fill(buffer, 0, 42, 0);
}

/* Seeds next to each other, or a step of the generator apart, share nothing. */
static void seeds_differ(void **state)
{
    static const uint64_t apart[] = {1, 2, UINT64_C(0x9e3779b97f4a7c15)};

    (void)state;
    for (size_t k = 0; k < 3; k++)
        for (uint64_t i = 0; i < 50; i++)
            for (uint64_t j = 0; j < 50; j++)
                assert_true(rng_at(7, i) != rng_at(7 + apart[k], j));
}

static void bits_are_even(void **state)
{
    int ones[64] = {0};
    enum { DRAWS = 20000 };

    (void)state;
    for (uint64_t i = 0; i < DRAWS; i++)
        for (int b = 0; b < 64; b++)
            ones[b] += (int)(rng_at(3, i) >> b & 1);
    /* Six standard deviations of a fair coin. */
    for (int b = 0; b < 64; b++)
        assert_in_range(ones[b], DRAWS / 2 - 425, DRAWS / 2 + 425);
}

static void below_stays_below(void **state)
{
    static const uint64_t limits[] = {1, 2, 3, 7, 1000, UINT64_MAX};

    (void)state;
    for (size_t k = 0; k < 6; k++)
        for (uint64_t i = 0; i < 1000; i++)
            assert_true(rng_below(9, i, limits[k]) < limits[k]);
    int seen[7] = {0};
    for (uint64_t i = 0; i < 7000; i++)
        seen[rng_below(9, i, 7)]++;
    for (int i = 0; i < 7; i++)
        assert_in_range(seen[i], 820, 1180);
}

static void shuffles_are_permutations(void **state)
{
    (void)state;
    for (size_t n = 0; n < 40; n++) {
        int values[40], again[40], seen[40] = {0};
        for (size_t i = 0; i < n; i++)
            values[i] = again[i] = (int)i;
        rng_shuffle(values, n, n);
        rng_shuffle(again, n, n);
        assert_memory_equal(values, again, n * sizeof(int));
        for (size_t i = 0; i < n; i++)
            seen[values[i]]++;
        for (size_t i = 0; i < n; i++)
            assert_int_equal(seen[i], 1);
    }
    /* All six orders of three, about as often. */
    int orders[27] = {0};
    for (uint64_t seed = 0; seed < 6000; seed++) {
        int v[3] = {0, 1, 2};
        rng_shuffle(v, 3, seed);
        orders[9 * v[0] + 3 * v[1] + v[2]]++;
    }
    int kinds = 0;
    for (int i = 0; i < 27; i++)
        if (orders[i] > 0) {
            kinds++;
            assert_in_range(orders[i], 820, 1180);
        }
    assert_int_equal(kinds, 6);
}

static void uuids_are_version_4(void **state)
{
    char a[37], b[37];

    (void)state;
    rng_uuid(a);
    rng_uuid(b);
    assert_string_not_equal(a, b);
    assert_int_equal(strlen(a), 36);
    assert_int_equal(strspn(a, "0123456789abcdef-"), 36);
    assert_int_equal(a[8], '-');
    assert_int_equal(a[13], '-');
    assert_int_equal(a[14], '4');
    assert_int_equal(a[18], '-');
    assert_non_null(strchr("89ab", a[19]));
    assert_int_equal(a[23], '-');
    assert_true(rng_seed() != rng_seed());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mixer_is_splitmix64),
        cmocka_unit_test(the_mixer_can_be_undone),
        cmocka_unit_test(values_never_change),
        cmocka_unit_test(fill_agrees_with_at),
        cmocka_unit_test(seeds_differ),
        cmocka_unit_test(bits_are_even),
        cmocka_unit_test(below_stays_below),
        cmocka_unit_test(shuffles_are_permutations),
        cmocka_unit_test(uuids_are_version_4),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("rng", tests, NULL, NULL);
}
