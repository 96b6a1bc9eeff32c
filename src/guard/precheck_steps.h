/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_GUARD_PRECHECK_STEPS_H
#define IOBM_GUARD_PRECHECK_STEPS_H

/* The parts that precheck.c, precheck_read.c and prepare.c share. */

#include "guard/precheck.h"
#include "guard/sites.h"

/* Collective.  Ranks with 'lead' read the manifest of their directory; the
 * others have '*found' false.  With 'write' and 'force' a foreign regular
 * file at its name counts as no manifest. */
enum iobm_status steps_manifest_all(const struct iobm_comm *comm,
                                    const struct place *place, bool lead,
                                    bool write, bool force,
                                    struct manifest *manifest, bool *found,
                                    struct iobm_error *err) IOBM_CHECK;

/* Collective.  The manifest of each site's leader to the ranks of the site;
 * what others hold is released. */
enum iobm_status steps_share_manifest_all(const struct iobm_comm *comm,
                                          const struct sites *sites,
                                          struct manifest *manifest,
                                          bool *found,
                                          struct iobm_error *err) IOBM_CHECK;

/* Whether the name of file 'f' of layout 'old' is one of 'layout' too. */
bool steps_new_name(const struct layout *layout, const struct layout *old,
                    int f);

/* Refuse what needs one directory when there are several.  The same on every
 * rank without talking. */
enum iobm_status steps_same_directory(const struct node_map *map,
                                      const struct sites *sites,
                                      const struct precheck_input *in,
                                      const char *directory,
                                      struct iobm_error *err) IOBM_CHECK;

/* Collective.  What a run that only reads needs; 'manifest' may be NULL. */
enum iobm_status steps_check_read_all(const struct iobm_comm *comm,
                                      const struct node_map *map,
                                      const struct precheck_input *in,
                                      const struct place *place,
                                      const struct manifest *manifest,
                                      struct iobm_error *err) IOBM_CHECK;

#endif
