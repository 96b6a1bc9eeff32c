/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ranks share a node, and which share a clock, from one allgather of
 * short texts; and whose part each rank reads, which is pure.
 */
#include "par/nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"

/* What each rank tells of itself.  All texts end with a NUL. */
struct identity {
    char host[64];  /* a longer one is cut: the boot id tells hosts apart */
    char node[112]; /* host and boot id */
    char domain[88];
};

static void identify(struct identity *me)
{
    char boot_id[40] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (file) {
        if (!fgets(boot_id, sizeof(boot_id), file))
            boot_id[0] = '\0';
        fclose(file);
    }
    boot_id[strcspn(boot_id, "\n")] = '\0';

    memset(me, 0, sizeof(*me));
    /* A name that is too long is cut or left out, and either will do. */
    if (gethostname(me->host, sizeof(me->host)) != 0 && !me->host[0])
        memcpy(me->host, "unknown", sizeof("unknown"));
    me->host[sizeof(me->host) - 1] = '\0';
    snprintf(me->node, sizeof(me->node), "%s %s", me->host, boot_id);
    clock_domain(me->domain, sizeof(me->domain));
}

int nodes_number(const char *texts, size_t width, int ranks, int *number)
{
    int count = 0;

    /* While under way, the first rank of group k holds -1 - k. */
    for (int rank = 0; rank < ranks; rank++) {
        const char *text = texts + (size_t)rank * width;
        /* Launchers deal ranks out in blocks or in turn. */
        int guess[2] = {rank - 1, rank - count};
        int same = -1;

        for (int i = 0; i < 2 && same < 0 && guess[i] >= 0; i++)
            if (guess[i] < rank &&
                strncmp(texts + (size_t)guess[i] * width, text, width) == 0)
                same = guess[i];
        for (int i = 0; i < rank && same < 0; i++)
            if (number[i] < 0 &&
                strncmp(texts + (size_t)i * width, text, width) == 0)
                same = i;
        if (same < 0)
            number[rank] = -1 - count++;
        else
            number[rank] = number[same] < 0 ? -1 - number[same] : number[same];
    }
    for (int rank = 0; rank < ranks; rank++)
        if (number[rank] < 0)
            number[rank] = -1 - number[rank];
    return count;
}

static bool allocate(struct node_map *map)
{
    size_t n = (size_t)map->ranks;

    /* As many nodes and domains as ranks at most. */
    map->node_of = calloc(n, sizeof(*map->node_of));
    map->domain_of = calloc(n, sizeof(*map->domain_of));
    map->node_leader = calloc(n, sizeof(*map->node_leader));
    map->domain_leader = calloc(n, sizeof(*map->domain_leader));
    map->node_ranks = calloc(n, sizeof(*map->node_ranks));
    map->domain_ranks = calloc(n, sizeof(*map->domain_ranks));
    map->host = calloc(n, sizeof(*map->host));
    return map->node_of && map->domain_of && map->node_leader &&
           map->domain_leader && map->node_ranks && map->domain_ranks &&
           map->host;
}

/* The lowest rank and the size of each group. */
static void count_groups(const int *group_of, int ranks, int *leader,
                         int *members)
{
    for (int rank = 0; rank < ranks; rank++) {
        int group = group_of[rank];

        if (members[group]++ == 0)
            leader[group] = rank;
    }
}

static void fill(struct node_map *map, const struct identity *all, int rank)
{
    map->nodes =
        nodes_number(all->node, sizeof(*all), map->ranks, map->node_of);
    map->domains =
        nodes_number(all->domain, sizeof(*all), map->ranks, map->domain_of);
    count_groups(map->node_of, map->ranks, map->node_leader, map->node_ranks);
    count_groups(map->domain_of, map->ranks, map->domain_leader,
                 map->domain_ranks);
    for (int node = 0; node < map->nodes; node++)
        memcpy(map->host[node], all[map->node_leader[node]].host,
               sizeof(map->host[node]));
    map->leads_node = map->node_leader[map->node_of[rank]] == rank;
}

enum iobm_status nodes_init_all(const struct iobm_comm *comm,
                                struct node_map *map, struct iobm_error *err)
{
    struct identity me;
    struct identity *all = calloc((size_t)comm->size, sizeof(*all));
    enum iobm_status status = IOBM_OK;

    memset(map, 0, sizeof(*map));
    map->ranks = comm->size;
    if (!allocate(map) || !all)
        status = iobm_fail(err, IOBM_ENOMEM,
                           "cannot list the nodes of %d ranks: out of memory",
                           comm->size);
    status = par_agree_all(comm, status, NULL, err);
    if (status != IOBM_OK)
        goto out;
    identify(&me);
    status = par_allgather_all(comm, &me, sizeof(me), all, err);
    if (status == IOBM_OK)
        fill(map, all, comm->rank);
out:
    free(all);
    if (status != IOBM_OK)
        nodes_release(map);
    return status;
}

void nodes_release(struct node_map *map)
{
    free(map->node_of);
    free(map->domain_of);
    free(map->node_leader);
    free(map->domain_leader);
    free(map->node_ranks);
    free(map->domain_ranks);
    free(map->host);
    memset(map, 0, sizeof(*map));
}

/* The rank behind 'rank' when ranks are lined up node by node in a ring. */
static int next_in_line(const struct node_map *map, int rank)
{
    int node = map->node_of[rank];

    for (int next = rank + 1; next < map->ranks; next++)
        if (map->node_of[next] == node)
            return next;
    return map->node_leader[(node + 1) % map->nodes];
}

static void shift_line(const struct node_map *map, int *part_of)
{
    int reader = map->node_leader[0];
    int writer = reader;
    int shift = 0;

    for (int node = 0; node < map->nodes; node++)
        if (map->node_ranks[node] > shift)
            shift = map->node_ranks[node];
    for (int i = 0; i < shift; i++)
        writer = next_in_line(map, writer);
    for (int i = 0; i < map->ranks; i++) {
        part_of[reader] = writer;
        reader = next_in_line(map, reader);
        writer = next_in_line(map, writer);
    }
}

void nodes_read_order(const struct node_map *map, enum read_order order,
                      uint64_t seed, int *part_of)
{
    if (order == READ_SHIFT) {
        shift_line(map, part_of);
        return;
    }
    for (int rank = 0; rank < map->ranks; rank++)
        part_of[rank] = rank;
    if (order == READ_RANDOM)
        rng_shuffle(part_of, (size_t)map->ranks, seed);
}
