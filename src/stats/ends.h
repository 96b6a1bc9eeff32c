/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_STATS_ENDS_H
#define IOBM_STATS_ENDS_H

/*
 * Who cost the ramp and the tail: which ranks began late, or were still at
 * work when the others were done, in figures and in a sentence.  How much it
 * cost is bw_losses().
 *
 * Many sentences of the form "in the last X s only k ranks were at work" are
 * true, one for each k; so are those of the form "in the first X s k ranks
 * were not yet at work".  Taken is the one that accounts for most idle
 * rank-seconds, (n - k) X and k X, and of equals the one that names fewest.
 * Ends that lie in a bulk and a few behind it give the few, once they are
 * farther behind than the bulk is wide; ends that are all spread out give
 * half of the ranks; when one of four ends early and the rest together, three
 * of four ranks made the tail.  It is never all ranks.
 *
 * An X that the clocks' bounds could explain is none.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "stats/bandwidth.h"

struct ends {
    size_t ramp_ranks, ramp_nodes; /* not yet at work... */
    double ramp_s;                 /* ... in the first 'ramp_s' after S0 */
    size_t tail_ranks, tail_nodes; /* alone at work... */
    double tail_s;                 /* ... in the last 'tail_s' before E1 */
};

/* 'node[i]' is that of rank i; ranks without bytes are left out.  All 0 where
 * nobody is to be named.  False when memory is short. */
bool ends_find(const struct bw_rank *ranks, const int *node, size_t n,
               struct ends *out);

/*
 * "ramp cost 3.0 % (1 of 4 ranks on 1 node, first 2.0 s); tail cost 11.2 %
 * (37 of 512 ranks on 5 nodes, last 4.1 s)" without the line break.  A loss
 * below 1 %, or n/a, is not spoken of; when both are, nothing is added.
 */
void ends_sentence(const struct ends *ends, double loss_ramp_pct,
                   double loss_tail_pct, size_t ranks, struct str *out);

#endif
