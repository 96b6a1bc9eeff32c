/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_PAR_NODES_H
#define IOBM_PAR_NODES_H

/* Which ranks share a node, and which share a clock. */

#include <stdbool.h>

#include "par/comm.h"

struct node_map {
    int ranks, nodes, domains;
    int *node_of;       /* [ranks]: nodes numbered by their lowest rank */
    int *domain_of;     /* [ranks]: clock domains, likewise */
    int *node_leader;   /* [nodes]: lowest rank */
    int *domain_leader; /* [domains] */
    int *node_ranks;    /* [nodes]: how many ranks */
    int *domain_ranks;  /* [domains] */
    char (*host)[64];   /* [nodes]: host name */
    bool leads_node;    /* this rank does */
};

/* A node is (host name, boot_id), a domain what clock_domain() says. */
enum iobm_status nodes_init_all(const struct iobm_comm *comm,
                                struct node_map *map,
                                struct iobm_error *err) IOBM_CHECK;
void nodes_release(struct node_map *map);

/* The pure part: number 'ranks' identities (texts of 'width' bytes) by first
 * appearance into 'number'; returns how many there are. */
int nodes_number(const char *texts, size_t width, int ranks, int *number);

/*
 * Whose part each rank reads.  Same: its own.  Shift: ranks in node order,
 * moved by the ranks of the largest node, so that with even nodes every rank
 * reads what another node wrote.  Random: a permutation of 'seed'.
 */
enum read_order { READ_SAME, READ_SHIFT, READ_RANDOM };
void nodes_read_order(const struct node_map *map, enum read_order order,
                      uint64_t seed, int *part_of);

#endif
