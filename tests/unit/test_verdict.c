/* SPDX-License-Identifier: BSD-3-Clause */

/* The verdict on a read: each witness at its thresholds, and their order. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "judge/verdict.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A buffered read of 1000 bytes in a second, and no witness at all. */
static struct verdict_input silent(void)
{
    return (struct verdict_input){
        .bytes = 1000,
        .self_read_bytes = -1,
        .device_read_bytes = -1,
        .nfs_client_read = -1,
        .nfs_server_read = -1,
        .lustre_client_read = -1,
        .lustre_osc_read = -1,
        .link_rx_bytes = -1,
        .resident_share = NAN,
        .nodes = 1,
        .link_Bps = NAN,
        .seconds = 1,
    };
}

static struct verdict judge(const struct verdict_input *in)
{
    struct verdict out;

    memset(&out, 0x5a, sizeof(out));
    verdict_judge(in, &out);
    return out;
}

static void nobody_can_tell(void **state)
{
    struct verdict_input in = silent();
    struct verdict out = judge(&in);

    (void)state;
    assert_int_equal(out.cache, VERDICT_UNKNOWN);
    assert_true(isnan(out.cached_share));
    assert_string_equal(out.witness, "");
    assert_false(out.direct_not_honoured || out.faster_than_link);
}

static void thresholds(void **state)
{
    static const struct {
        int64_t read;
        enum verdict_cache cache;
        double share;
    } table[] = {
        {1000, VERDICT_COLD, 0},         {5000, VERDICT_COLD, 0},
        {990, VERDICT_COLD, 0.01},       {989, VERDICT_MOSTLY_COLD, 0.011},
        {900, VERDICT_MOSTLY_COLD, 0.1}, {899, VERDICT_MIXED, 0.101},
        {100, VERDICT_MIXED, 0.9},       {99, VERDICT_CACHED, 0.901},
        {0, VERDICT_CACHED, 1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        struct verdict_input in = silent();
        struct verdict out;

        in.block_backed = true;
        in.self_read_bytes = table[i].read;
        out = judge(&in);
        if (out.cache != table[i].cache ||
            fabs(out.cached_share - table[i].share) > 1e-12)
            fail_msg("%lld bytes: %s, %g", (long long)table[i].read,
                     verdict_cache_name(out.cache), out.cached_share);
        assert_string_equal(out.witness, "self_io");
    }
}

static void the_best_witness_speaks(void **state)
{
    struct verdict_input in = silent();
    struct verdict out;

    (void)state;
    /* All at once, each with another share. */
    in.page_cache = in.block_backed = in.nfs = in.lustre = in.memory = true;
    in.network = true;
    in.link_Bps = 600;
    in.resident_share = 0.5;
    in.self_read_bytes = 950;
    in.nfs_client_read = 1000;
    in.nfs_server_read = 995;
    in.lustre_client_read = 1000;
    in.lustre_osc_read = 20;
    out = judge(&in);
    assert_string_equal(out.witness, "memory");
    assert_int_equal(out.cache, VERDICT_CACHED);
    in.memory = false;
    out = judge(&in);
    assert_string_equal(out.witness, "nfs");
    assert_int_equal(out.cache, VERDICT_COLD);
    in.nfs = false;
    out = judge(&in);
    assert_string_equal(out.witness, "lustre");
    assert_int_equal(out.cache, VERDICT_CACHED);
    in.lustre = false;
    out = judge(&in);
    assert_string_equal(out.witness, "self_io");
    assert_int_equal(out.cache, VERDICT_MOSTLY_COLD);
    in.block_backed = false;
    out = judge(&in);
    assert_string_equal(out.witness, "cachestat");
    assert_int_equal(out.cache, VERDICT_MIXED);
    in.resident_share = NAN;
    out = judge(&in);
    assert_string_equal(out.witness, "link");
    assert_true(out.faster_than_link);
    assert_true(fabs(out.cached_share - 0.4) < 1e-12);
    in.link_Bps = 1000;
    out = judge(&in);
    assert_int_equal(out.cache, VERDICT_UNKNOWN);
    assert_false(out.faster_than_link);
}

/* What went past this client's counters is not called cached by them. */
static void small_counters_are_no_excuse(void **state)
{
    struct verdict_input in = silent();
    struct verdict out;

    (void)state;
    in.nfs = true;
    in.nfs_client_read = 100; /* fewer than V: mmap goes past it */
    in.nfs_server_read = 1000;
    out = judge(&in);
    assert_int_equal(out.cache, VERDICT_COLD);
    in.nfs_client_read = in.nfs_server_read = 100; /* and most was cached */
    out = judge(&in);
    assert_int_equal(out.cache, VERDICT_MIXED);
    assert_true(fabs(out.cached_share - 0.9) < 1e-12);
    in.nfs_client_read = 2000; /* another reader beside, served by the wire */
    in.nfs_server_read = 2000;
    out = judge(&in);
    assert_int_equal(out.cache, VERDICT_COLD);
}

/* 900 MB/s over a link of 100 Mbit/s. */
static void links_have_limits(void **state)
{
    struct verdict_input in = silent();
    struct verdict out;

    (void)state;
    in.network = true;
    in.bytes = 900000000;
    in.link_Bps = 12.5e6;
    out = judge(&in);
    assert_true(out.faster_than_link);
    assert_int_equal(out.cache, VERDICT_CACHED);
    in.write = true;
    out = judge(&in);
    assert_true(out.faster_than_link);
    assert_int_equal(out.cache, VERDICT_NONE);
    in.network = false; /* a local disk needs no link */
    out = judge(&in);
    assert_false(out.faster_than_link);
    in.network = true;
    in.bytes = 13000000; /* within what a rounded rate allows */
    out = judge(&in);
    assert_false(out.faster_than_link);
}

static void o_direct_is_held_to_its_word(void **state)
{
    struct verdict_input in = silent();

    (void)state;
    in.direct = true;
    in.page_cache = in.block_backed = true;
    in.resident_share = 1; /* stale pages that O_DIRECT went past */
    in.self_read_bytes = 1000;
    assert_false(judge(&in).direct_not_honoured);
    assert_int_equal(judge(&in).cache, VERDICT_COLD);
    in.self_read_bytes = 500;
    assert_true(judge(&in).direct_not_honoured);
    in.block_backed = false;
    assert_int_equal(judge(&in).cache, VERDICT_UNKNOWN);
    in.memory = true;
    assert_true(judge(&in).direct_not_honoured);
    in.write = true;
    assert_true(judge(&in).direct_not_honoured);
    in.memory = false;
    assert_false(judge(&in).direct_not_honoured);
}

/* The kernel's cache had none of it, but nothing else can be as fast: the
 * cache of a FUSE daemon, say. */
static void physics_beats_the_page_cache(void **state)
{
    struct verdict_input in = silent();
    struct verdict out;

    (void)state;
    in.network = in.page_cache = true;
    in.bytes = 900000000;
    in.link_Bps = 12.5e6;
    in.resident_share = 0;
    out = judge(&in);
    assert_string_equal(out.witness, "link");
    assert_int_equal(out.cache, VERDICT_CACHED);
    in.resident_share = 1; /* which explains all of it */
    out = judge(&in);
    assert_string_equal(out.witness, "cachestat");
    assert_true(out.cached_share == 1 && out.faster_than_link);
    in.link_Bps = 1e9;
    in.resident_share = 0;
    out = judge(&in);
    assert_string_equal(out.witness, "cachestat");
    assert_int_equal(out.cache, VERDICT_COLD);
}

/* What O_DIRECT has left in the page cache. */
/* FUSE: an empty page cache says nothing of the daemon's own, a full one says
 * enough. */
static void hidden_caches_are_not_cold(void **state)
{
    struct verdict_input in = silent();

    (void)state;
    in.page_cache = in.hidden_cache = true;
    in.resident_share = 0;
    assert_int_equal(judge(&in).cache, VERDICT_UNKNOWN);
    in.resident_share = 0.5;
    assert_int_equal(judge(&in).cache, VERDICT_UNKNOWN);
    in.resident_share = NAN;
    assert_int_equal(judge(&in).cache, VERDICT_UNKNOWN);
    in.resident_share = 1;
    assert_int_equal(judge(&in).cache, VERDICT_CACHED);
    in.hidden_cache = false;
    in.resident_share = 0;
    assert_int_equal(judge(&in).cache, VERDICT_COLD);
}

static void traces_give_it_away(void **state)
{
    static const struct {
        double share;
        bool direct, expected;
    } table[] = {{0, true, false},   {0.01, true, false}, {0.02, true, true},
                 {NAN, true, false}, {1, false, false},   {1, true, true}};

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        struct verdict_input in = silent();

        in.write = true;
        in.direct = table[i].direct;
        in.direct_share = table[i].share;
        assert_int_equal(judge(&in).direct_not_honoured, table[i].expected);
    }
}

static void reasons(void **state)
{
    struct verdict_input in = silent();

    (void)state;
    in.bytes = 900000000;
    assert_string_equal(judge(&in).why,
                        "no witness is valid for this file system");
    in.other_node = true;
    assert_string_equal(judge(&in).why,
                        "no witness is valid for this file system; each rank "
                        "read what another node wrote");
    in.network = true;
    in.link_Bps = 12.5e6;
    assert_string_equal(judge(&in).why,
                        "read 900 MB/s over links that carry 12.5 MB/s: a "
                        "cache answered");
    in.nodes = 2;
    in.link_rx_bytes = 1500000;
    assert_string_equal(judge(&in).why,
                        "read 900 MB/s over links that carry 12.5 MB/s "
                        "together: a cache answered, and the links brought "
                        "1.5 of 900 MB");
    in.nfs = true;
    in.nfs_client_read = 900000000;
    in.nfs_server_read = 0;
    assert_string_equal(judge(&in).why,
                        "the servers sent 0 MB while 900 MB were read; read "
                        "900 MB/s over links that carry 12.5 MB/s together: a "
                        "cache answered, and the links brought 1.5 of 900 MB");
    in.write = true;
    assert_string_equal(judge(&in).why,
                        "wrote 900 MB/s over links that carry 12.5 MB/s "
                        "together: a cache took it");
    in.link_Bps = NAN;
    assert_string_equal(judge(&in).why, "");
    in.direct = in.memory = true;
    assert_string_equal(judge(&in).why,
                        "O_DIRECT was accepted, but not honoured");
    in.write = in.nfs = false;
    assert_string_equal(judge(&in).why,
                        "the files are in memory: no storage was read; "
                        "O_DIRECT was accepted, but not honoured");
}

static void reasons_of_local_reads(void **state)
{
    struct verdict_input in = silent();

    (void)state;
    in.bytes = 900000000;
    in.block_backed = in.page_cache = true;
    in.self_read_bytes = 90000000;
    in.device_read_bytes = 950000000;
    assert_string_equal(judge(&in).why,
                        "the device gave 90 of the 900 MB that were read");
    in.device_read_bytes = 1900000000;
    assert_string_equal(judge(&in).why,
                        "the device gave 90 of the 900 MB that were read; "
                        "others used the device too: 1900 MB in all");
    in.self_read_bytes = -1;
    in.resident_share = 0.123;
    assert_string_equal(judge(&in).why,
                        "12.3 % of the data was in the page cache before");
}

/* However large the numbers, it fits or is cut. */
static void long_reasons_are_cut(void **state)
{
    struct verdict_input in = silent();
    struct verdict out;

    (void)state;
    in.direct = in.network = in.nfs = true;
    in.bytes = INT64_MAX;
    in.nfs_client_read = in.link_rx_bytes = INT64_MAX;
    in.nfs_server_read = 123456789;
    in.nodes = 2;
    in.link_Bps = 1.2345678e-7;
    in.seconds = 1.2345678e-7;
    out = judge(&in);
    assert_true(strlen(out.why) == sizeof(out.why) - 1);
}

/* No bytes, no time: no judgement, and no NaN that counts as one. */
static void nothing_was_read(void **state)
{
    struct verdict_input in = silent();
    struct verdict out;

    (void)state;
    in.bytes = 0;
    in.seconds = 0;
    in.block_backed = in.network = true;
    in.self_read_bytes = 0;
    in.link_Bps = 1e6;
    out = judge(&in);
    assert_int_equal(out.cache, VERDICT_UNKNOWN);
    assert_false(out.faster_than_link || out.direct_not_honoured);
}

static void names(void **state)
{
    (void)state;
    assert_string_equal(verdict_cache_name(VERDICT_NONE), "none");
    assert_string_equal(verdict_cache_name(VERDICT_COLD), "cold");
    assert_string_equal(verdict_cache_name(VERDICT_MOSTLY_COLD), "mostly-cold");
    assert_string_equal(verdict_cache_name(VERDICT_MIXED), "mixed");
    assert_string_equal(verdict_cache_name(VERDICT_CACHED), "cached");
    assert_string_equal(verdict_cache_name(VERDICT_UNKNOWN), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_can_tell),
        cmocka_unit_test(thresholds),
        cmocka_unit_test(the_best_witness_speaks),
        cmocka_unit_test(small_counters_are_no_excuse),
        cmocka_unit_test(links_have_limits),
        cmocka_unit_test(o_direct_is_held_to_its_word),
        cmocka_unit_test(physics_beats_the_page_cache),
        cmocka_unit_test(hidden_caches_are_not_cold),
        cmocka_unit_test(traces_give_it_away),
        cmocka_unit_test(reasons),
        cmocka_unit_test(reasons_of_local_reads),
        cmocka_unit_test(long_reasons_are_cut),
        cmocka_unit_test(nothing_was_read),
        cmocka_unit_test(names),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
