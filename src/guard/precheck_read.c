/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Whether files may be read by a run that has not written them: what the
 * manifest says against what was asked for, and every file against the
 * manifest.  Nothing here writes, not even a probe.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "guard/inspect.h"
#include "guard/precheck_steps.h"

/* Parts that O_DIRECT can read must begin at multiples of the grain. */
static bool grain_fits(const struct layout *written, int64_t grain_bytes)
{
    if (grain_bytes <= 1 || !written->shared)
        return true;
    for (int p = 0; p < written->parts; p++)
        if (layout_part_offset(written, p) % grain_bytes != 0)
            return false;
    return true;
}

static enum iobm_status compare_layout(const char *path,
                                       const struct layout *asked,
                                       const struct layout *written,
                                       struct iobm_error *err)
{
    char is[56], want[56];

    if (asked->shared != written->shared)
        return iobm_fail(err, IOBM_EUSAGE, "'%s' was written as %s: %s", path,
                         written->shared ? "one shared file"
                                         : "one file per rank",
                         written->shared ? "add -s" : "leave -s out");
    if (asked->parts != written->parts)
        return iobm_fail(err, IOBM_EUSAGE,
                         "'%s' was written by %d ranks: read it with as many, "
                         "not with %d",
                         path, written->parts, asked->parts);
    if (asked->strided != written->strided)
        return iobm_fail(err, IOBM_EUSAGE, "'%s' was written %s: use %s", path,
                         written->strided ? "strided" : "segmented",
                         written->strided ? "--layout strided"
                                          : "--layout segmented");
    if (written->strided && asked->block_bytes != written->block_bytes)
        return iobm_fail(
            err, IOBM_EUSAGE,
            "'%s' was written in blocks of %s: use --block %s", path,
            units_size(is, sizeof(is), written->block_bytes),
            units_size_typed(want, sizeof(want), written->block_bytes));
    if (asked->total_bytes >= 0 && asked->total_bytes != written->total_bytes)
        return iobm_fail(
            err, IOBM_EUSAGE, "'%s' holds %s, -n asks for %s: leave -n out",
            path, units_size_exact(is, sizeof(is), written->total_bytes),
            units_size_exact(want, sizeof(want), asked->total_bytes));
    if (!grain_fits(written, asked->grain_bytes))
        return iobm_fail(err, IOBM_EUSAGE,
                         "the parts of '%s' do not begin at multiples of "
                         "%" PRId64 " bytes: write it again with -d",
                         path, asked->grain_bytes);
    return IOBM_OK;
}

static enum iobm_status check_manifest(const struct precheck_input *in,
                                       const struct manifest *m,
                                       struct iobm_error *err)
{
    if (!m && !in->force)
        return iobm_fail(err, IOBM_EUSAGE,
                         "there is no manifest '%s.iobm': write '%s' first "
                         "with -w, or read what is there with --force and -n",
                         in->path, in->path);
    if (!m && in->layout->total_bytes < 0)
        return iobm_fail(err, IOBM_EUSAGE,
                         "'%s' has no manifest: say with -n how much to read",
                         in->path);
    if (!m)
        return IOBM_OK;
    if (!manifest_complete(m))
        return iobm_fail(err, IOBM_EUSAGE,
                         "'%s' is half written: the run of %s did not finish "
                         "it: write it again with -w",
                         in->path, m->written_utc);
    return compare_layout(in->path, in->layout, &m->layout, err);
}

/* Whether it is the file that was written, whole, and not made of holes. */
static enum iobm_status check_file(const struct precheck_input *in,
                                   const struct place *place,
                                   const struct manifest *m, int p,
                                   struct iobm_error *err)
{
    const struct layout *layout = m ? &m->layout : in->layout;
    char *path = manifest_file_path(in->path, layout, p);
    struct place_file file;
    enum iobm_status status;

    if (!path)
        return iobm_fail(err, IOBM_ENOMEM, "cannot check '%s': out of memory",
                         in->path);
    status = inspect_readable(path, layout_file_bytes(layout, p), err);
    if (status == IOBM_OK && m && !in->force) {
        status = place_look(place, m, layout, p, &file, err);
        if (status == IOBM_OK && file.owner == PLACE_FOREIGN)
            status = iobm_fail(err, IOBM_EUSAGE,
                               "cannot read '%s': %s: write it again with -w, "
                               "or --force",
                               path, file.why);
    }
    free(path);
    return status;
}

/* On more than one node: the shared file is rank 0's, and the files of other
 * nodes can be seen. */
static enum iobm_status check_other_nodes_all(const struct iobm_comm *comm,
                                              const struct node_map *map,
                                              const struct precheck_input *in,
                                              const struct place *place,
                                              const struct manifest *m,
                                              struct iobm_error *err)
{
    const struct layout *layout = m ? &m->layout : in->layout;
    const char *host = map->host[map->node_of[comm->rank]];
    struct place_file mine = {0}, first;
    int p =
        layout->shared ? 0 : (comm->rank + map->node_ranks[0]) % layout->parts;
    enum iobm_status status = place_look(place, m, layout, p, &mine, err);

    if (status == IOBM_OK && mine.owner == PLACE_MISSING)
        status = iobm_fail(err, IOBM_EUSAGE,
                           "part %d of '%s' cannot be seen on %s: reading "
                           "what other nodes wrote needs a shared file system",
                           p, in->path, host);
    status = par_agree_all(comm, status, NULL, err);
    if (status != IOBM_OK || !layout->shared)
        return status;
    first = mine;
    status = par_bcast_all(comm, &first, sizeof(first), 0, err);
    if (status != IOBM_OK)
        return status;
    if (mine.bytes != first.bytes ||
        (mine.inode != first.inode && mine.mtime_ns != first.mtime_ns))
        status = iobm_fail(err, IOBM_EUSAGE,
                           "'%s' is another file on %s than on %s: -s needs a "
                           "shared file system",
                           in->path, host, map->host[0]);
    return par_agree_all(comm, status, NULL, err);
}

enum iobm_status steps_check_read_all(const struct iobm_comm *comm,
                                      const struct node_map *map,
                                      const struct precheck_input *in,
                                      const struct place *place,
                                      const struct manifest *manifest,
                                      struct iobm_error *err)
{
    enum iobm_status status = check_manifest(in, manifest, err);

    status = par_agree_all(comm, status, NULL, err);
    if (status != IOBM_OK)
        return status;
    if (comm->rank < layout_files(in->layout))
        status = check_file(in, place, manifest, comm->rank, err);
    status = par_agree_all(comm, status, NULL, err);
    if (status == IOBM_OK && map->nodes > 1 &&
        (in->layout->shared || in->cross_node))
        status = check_other_nodes_all(comm, map, in, place, manifest, err);
    return status;
}
