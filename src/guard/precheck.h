/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_GUARD_PRECHECK_H
#define IOBM_GUARD_PRECHECK_H

/*
 * Everything that can be known to fail before the first byte: on every node,
 * agreed, one line.  Nothing is left behind.  Then what a run does to the
 * files before and after its write phases.
 *
 * Nodes whose directory is not the same one (a local disk, /tmp) each have a
 * manifest of their own beside their files: a "site".
 */

#include <limits.h>
#include <stdbool.h>

#include "guard/manifest.h"
#include "par/nodes.h"

struct precheck_input {
    const char *path;            /* as given with -f */
    const char *output;          /* the result file; NULL: none */
    const struct layout *layout; /* what will be written; for a pure read:
                                    what is asked for, or total_bytes < 0 */
    bool write, read;            /* phases of this run */
    bool force, destroy_data;
    bool dry_run;    /* probe nothing that needs writing */
    bool cross_node; /* ranks read what other nodes wrote: the
                        directory must be the same on all */
    int repeats;
};

struct precheck_result {
    bool device;              /* PATH is a block device */
    bool ours;                /* a manifest was there */
    bool shared_directory;    /* all nodes see the same one, as far as one can
                                 tell; true on one node */
    struct manifest manifest; /* that manifest; rank 0's, on every rank */
    int64_t free_bytes;       /* least over the nodes, with what removing our
                                 older files gives back; -1 unknown */
    char directory[PATH_MAX]; /* that holds the test files */
};

/*
 * Collective.  Directory there and writable on every node (each creates a
 * file of a random name and looks for rank 0's, with its content; a pure read
 * and a dry run write nothing and compare what is there), enough space
 * (counting what ours will be replaced, and per node when the directory is
 * not shared between nodes), nothing foreign overwritten without force, block
 * device rules; for a pure read: manifest complete, same layout and number of
 * parts, every file readable.  IOBM_EUSAGE for what the user can mend,
 * IOBM_EIO for what the system refuses (space included); the same on every
 * rank.
 */
enum iobm_status precheck_all(const struct iobm_comm *comm,
                              const struct node_map *map,
                              const struct precheck_input *in,
                              struct precheck_result *out,
                              struct iobm_error *err) IOBM_CHECK;

/*
 * Collective, after precheck_all() and before the first test file is created:
 * remove the older files (those that 'old', the manifest that was found,
 * lists; with 'force' foreign regular files at the new names too), then write
 * 'fresh' with state "writing".  Whenever this is interrupted, the manifest
 * on disk lists every test file there is.  'old' may be NULL or empty: none.
 * Completes 'fresh' (state, site, writer, hosts).  A block device has no
 * manifest: nothing happens.
 */
enum iobm_status guard_prepare_all(const struct iobm_comm *comm,
                                   const struct node_map *map, const char *path,
                                   const struct manifest *old,
                                   struct manifest *fresh, bool force,
                                   struct iobm_error *err) IOBM_CHECK;

/*
 * Collective, after the last write phase, only when every byte was written:
 * check that each file has its size, note what tells it from one that takes
 * its place later, and mark the manifest complete.  IOBM_EINVALID when
 * another run took the files over meanwhile.
 */
enum iobm_status guard_complete_all(const struct iobm_comm *comm,
                                    const struct node_map *map,
                                    const char *path, struct manifest *manifest,
                                    struct iobm_error *err) IOBM_CHECK;

/* Collective: manifest_clean() once per site.  The counts are the sums. */
enum iobm_status guard_clean_all(const struct iobm_comm *comm,
                                 const struct node_map *map, const char *path,
                                 int64_t *files, int64_t *bytes,
                                 struct iobm_error *err) IOBM_CHECK;

#endif
