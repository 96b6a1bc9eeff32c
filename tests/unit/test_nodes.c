/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pure parts of the node map and of the timeline: numbering of nodes,
 * read orders and their properties, and who exchanges stamps with whom.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "par/nodes.h"
#include "par/timeline.h"

#define RANKS_MAX 64
#define COUNT(a)  (sizeof(a) / sizeof(*(a)))

/* One letter per rank names its node. */
static const struct {
    const char *ranks;
    int nodes;
    const char *numbers; /* expected, as digits */
} layouts[] = {
    {"a", 1, "0"},
    {"aaaa", 1, "0000"},
    {"ab", 2, "01"},
    {"ba", 2, "01"},
    {"aabb", 2, "0011"},
    {"abab", 2, "0101"},
    {"abcabcabc", 3, "012012012"},
    {"cccbbbaaa", 3, "000111222"},
    {"abbaab", 2, "011001"},
    {"abcbac", 3, "012102"},
    {"abcde", 5, "01234"},
    {"abcadba", 4, "0120310"},
    {"aaab", 2, "0001"},
    {"abbbbb", 2, "011111"},
    {"aabbbcccc", 3, "001112222"},
};

static void test_number(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(layouts); i++) {
        int ranks = (int)strlen(layouts[i].ranks);
        char texts[RANKS_MAX][8] = {{0}};
        int number[RANKS_MAX];

        /* What lies behind a text's end does not count. */
        for (int r = 0; r < ranks; r++) {
            texts[r][0] = layouts[i].ranks[r];
            texts[r][2] = (char)('0' + r);
        }
        assert_int_equal(
            nodes_number(texts[0], sizeof(texts[0]), ranks, number),
            layouts[i].nodes);
        for (int r = 0; r < ranks; r++)
            assert_int_equal(number[r], layouts[i].numbers[r] - '0');
    }
}

/* Texts that fill their width have no NUL and differ in the last byte. */
static void test_number_full_width(void **state)
{
    static const char texts[3][4] = {
        {'a', 'b', 'c', 'd'}, {'a', 'b', 'c', 'e'}, {'a', 'b', 'c', 'd'}};
    int number[3];

    (void)state;
    assert_int_equal(nodes_number(texts[0], 4, 3, number), 2);
    assert_int_equal(number[0], 0);
    assert_int_equal(number[1], 1);
    assert_int_equal(number[2], 0);
}

struct fixture {
    struct node_map map;
    int node_of[RANKS_MAX], leader[RANKS_MAX], ranks[RANKS_MAX];
};

static void make_map(const char *ranks, struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    f->map.ranks = (int)strlen(ranks);
    f->map.nodes = nodes_number(ranks, 1, f->map.ranks, f->node_of);
    f->map.node_of = f->node_of;
    f->map.node_leader = f->leader;
    f->map.node_ranks = f->ranks;
    for (int r = f->map.ranks - 1; r >= 0; r--) {
        f->leader[f->node_of[r]] = r;
        f->ranks[f->node_of[r]]++;
    }
}

static void assert_permutation(const int *part_of, int n)
{
    bool seen[RANKS_MAX] = {false};

    for (int i = 0; i < n; i++) {
        assert_in_range(part_of[i], 0, n - 1);
        assert_false(seen[part_of[i]]);
        seen[part_of[i]] = true;
    }
}

static int largest_node(const struct node_map *map)
{
    int most = 0;

    for (int node = 0; node < map->nodes; node++)
        if (map->node_ranks[node] > most)
            most = map->node_ranks[node];
    return most;
}

static void test_read_order(void **state)
{
    int part_of[RANKS_MAX], again[RANKS_MAX];
    struct fixture f;

    (void)state;
    for (size_t i = 0; i < COUNT(layouts); i++) {
        make_map(layouts[i].ranks, &f);
        nodes_read_order(&f.map, READ_SAME, 1, part_of);
        for (int r = 0; r < f.map.ranks; r++)
            assert_int_equal(part_of[r], r);

        nodes_read_order(&f.map, READ_SHIFT, 1, part_of);
        assert_permutation(part_of, f.map.ranks);
        /* No node can do better than its half of the ranks. */
        if (2 * largest_node(&f.map) <= f.map.ranks)
            for (int r = 0; r < f.map.ranks; r++)
                assert_int_not_equal(f.node_of[r], f.node_of[part_of[r]]);

        nodes_read_order(&f.map, READ_RANDOM, 42, part_of);
        nodes_read_order(&f.map, READ_RANDOM, 42, again);
        assert_permutation(part_of, f.map.ranks);
        assert_memory_equal(part_of, again, (size_t)f.map.ranks * sizeof(int));
    }
}

static void test_shift_by_hand(void **state)
{
    static const struct {
        const char *ranks;
        int part_of[6];
    } rows[] = {
        {"aabb", {2, 3, 0, 1}},
        {"abab", {1, 0, 3, 2}}, /* in line 0 2 1 3, moved by two */
        {"aabbcc", {2, 3, 4, 5, 0, 1}},
        {"aaab", {3, 0, 1, 2}},
        {"aaaa", {0, 1, 2, 3}}, /* one node: nobody else's to read */
    };
    int part_of[RANKS_MAX];
    struct fixture f;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        make_map(rows[i].ranks, &f);
        nodes_read_order(&f.map, READ_SHIFT, 0, part_of);
        for (int r = 0; r < f.map.ranks; r++)
            assert_int_equal(part_of[r], rows[i].part_of[r]);
    }
}

static void test_random_depends_on_seed(void **state)
{
    static char ranks[RANKS_MAX];
    int one[RANKS_MAX], two[RANKS_MAX];
    struct fixture f;

    (void)state;
    memset(ranks, 'a', sizeof(ranks) - 1);
    make_map(ranks, &f);
    nodes_read_order(&f.map, READ_RANDOM, 1, one);
    nodes_read_order(&f.map, READ_RANDOM, 2, two);
    assert_memory_not_equal(one, two, (RANKS_MAX - 1) * sizeof(int));
}

static int pair(int domain, int domains)
{
    return timeline_parent(domain, domains, TIMELINE_STAR_DOMAINS,
                           TIMELINE_FAN_OUT);
}

/* Root is at most two legs away, and none serves too many. */
static void test_pairing(void **state)
{
    static const int counts[] = {1, 2, 32, 255, 256, 257, 288, 1000, 4096};
    static int children[4096];

    (void)state;
    for (size_t i = 0; i < COUNT(counts); i++) {
        int n = counts[i];

        memset(children, 0, sizeof(children));
        assert_int_equal(pair(0, n), 0);
        for (int d = 1; d < n; d++) {
            int parent = pair(d, n);

            assert_in_range(parent, 0, d - 1);
            assert_int_equal(pair(parent, n), 0);
            if (n <= 256)
                assert_int_equal(parent, 0);
            children[parent]++;
        }
        for (int d = 1; d < n; d++)
            assert_in_range(children[d], 0, 31);
        assert_int_equal(children[0], n <= 256 ? n - 1 : 31 + (n - 1) / 32);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_number),
        cmocka_unit_test(test_number_full_width),
        cmocka_unit_test(test_read_order),
        cmocka_unit_test(test_shift_by_hand),
        cmocka_unit_test(test_random_depends_on_seed),
        cmocka_unit_test(test_pairing),
    };

    return cmocka_run_group_tests_name("nodes", tests, NULL, NULL);
}
