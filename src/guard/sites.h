/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_GUARD_SITES_H
#define IOBM_GUARD_SITES_H

/*
 * Which nodes see the same directory: a site.  Its number is that of its
 * lowest node, its leader the lowest rank on it.
 */

#include <stdbool.h>

#include "guard/place.h"
#include "par/nodes.h"

struct sites {
    int count;
    int mine;              /* number of this rank's site */
    struct iobm_comm comm; /* the ranks of this rank's site; 0 leads */
};

/*
 * Collective.  By probing: each node creates a file of a random name, which
 * also proves that it may, and looks for those of the others.  The files are
 * gone when this returns.
 */
enum iobm_status sites_probe_all(const struct iobm_comm *comm,
                                 const struct node_map *map,
                                 const struct place *place, struct sites *sites,
                                 struct iobm_error *err) IOBM_CHECK;

/*
 * Collective, without writing anything: by what the manifests say, else by
 * the inode and modification time of the directory itself.
 */
enum iobm_status sites_compare_all(const struct iobm_comm *comm,
                                   const struct node_map *map,
                                   const struct place *place,
                                   const struct manifest *manifest,
                                   struct sites *sites,
                                   struct iobm_error *err) IOBM_CHECK;

void sites_release(struct sites *sites);

#endif
