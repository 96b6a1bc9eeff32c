/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Files before and after the write phases.  The order of steps is the point:
 * older files go while the older manifest still lists them, the new manifest
 * is on disk before the first new file, and "complete" is written last.  So
 * whatever instant the run is killed at, no file of ours is unlisted.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "guard/inspect.h"
#include "guard/precheck_steps.h"

static bool is_device(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISBLK(st.st_mode);
}

/* Rank 0's answer on every rank. */
static enum iobm_status is_device_all(const struct iobm_comm *comm,
                                      const char *path, bool *device,
                                      struct iobm_error *err)
{
    *device = comm->rank == 0 && is_device(path);
    return par_bcast_all(comm, device, sizeof(*device), 0, err);
}

/* ---- prepare */

struct prepare {
    const struct iobm_comm *comm;
    const struct node_map *map;
    struct place place;
    struct sites sites;
    struct manifest old; /* of this site, read again under the lock */
    bool found, locked, stored, force;
    int64_t now_ns;
};

/* What the checks saw must still be there: another run may have come. */
static enum iobm_status check_unchanged(const struct prepare *p,
                                        const struct manifest *seen,
                                        const char *run_id,
                                        struct iobm_error *err)
{
    bool expected = seen && seen->run_id[0];

    if (p->sites.mine != 0)
        return IOBM_OK; /* 'seen' is that of site 0 */
    /* A later repeat finds what the one before it wrote. */
    if (p->found && strcmp(p->old.run_id, run_id) == 0)
        return IOBM_OK;
    if (p->found == expected &&
        (!expected || (strcmp(p->old.run_id, seen->run_id) == 0 &&
                       strcmp(p->old.state, seen->state) == 0)))
        return IOBM_OK;
    return iobm_fail(err, IOBM_EUSAGE,
                     "another run has just begun or ended at '%s/%s': use "
                     "another -f",
                     p->place.directory, p->place.name);
}

static enum iobm_status lock_all(struct prepare *p, const struct manifest *seen,
                                 const char *run_id, struct iobm_error *err)
{
    bool lead = p->sites.comm.rank == 0;
    enum iobm_status status = IOBM_OK;

    if (lead) {
        status = place_lock(&p->place, &p->now_ns, err);
        p->locked = status == IOBM_OK;
    }
    status = par_agree_all(p->comm, status, NULL, err);
    if (status == IOBM_OK)
        status = steps_manifest_all(p->comm, &p->place, lead, true, p->force,
                                    &p->old, &p->found, err);
    if (status != IOBM_OK)
        return status;
    if (lead)
        status = check_unchanged(p, seen, run_id, err);
    status = par_agree_all(p->comm, status, NULL, err);
    if (status == IOBM_OK)
        status = par_bcast_all(&p->sites.comm, &p->now_ns, sizeof(p->now_ns), 0,
                               err);
    if (status == IOBM_OK)
        status = steps_share_manifest_all(p->comm, &p->sites, &p->old,
                                          &p->found, err);
    return status;
}

/* Of the older files this rank's share: the ranks of a site take turns. */
static enum iobm_status check_quiet(const struct prepare *p,
                                    struct iobm_error *err)
{
    const struct layout *layout = &p->old.layout;
    int64_t newest_ns = p->old.mtime_ns;

    if (!p->found || manifest_complete(&p->old))
        return IOBM_OK;
    for (int f = p->sites.comm.rank; f < layout_files(layout);
         f += p->sites.comm.size) {
        struct place_file file;
        enum iobm_status status =
            place_look(&p->place, &p->old, layout, f, &file, err);

        if (status != IOBM_OK)
            return status;
        if (file.mtime_ns > newest_ns)
            newest_ns = file.mtime_ns;
    }
    /* Whether its process runs here is certain; that it writes elsewhere is
     * a guess, which the user may know better. */
    if (!place_busy(&p->old, newest_ns, p->now_ns) ||
        (p->force && alive_look(&p->old.writer) != ALIVE_YES))
        return IOBM_OK;
    return iobm_fail(err, IOBM_EUSAGE,
                     "another run (process %" PRId64
                     " on %s) seems to be writing to '%s/%s': wait 30 s, use "
                     "another -f, or --force",
                     p->old.writer.pid, p->old.writer.host, p->place.directory,
                     p->place.name);
}

static enum iobm_status remove_old(const struct prepare *p,
                                   struct iobm_error *err)
{
    const struct layout *layout = &p->old.layout;

    for (int f = p->sites.comm.rank; p->found && f < layout_files(layout);
         f += p->sites.comm.size) {
        struct place_file file;
        int64_t bytes;
        enum iobm_status status =
            place_look(&p->place, &p->old, layout, f, &file, err);

        /* What took its place is not ours to remove. */
        if (status == IOBM_OK && (file.owner == PLACE_OURS ||
                                  (file.owner == PLACE_LINKED && p->force)))
            status = place_remove(&p->place, &p->old, layout, f, p->force,
                                  &bytes, err);
        else if (status == IOBM_OK && file.owner == PLACE_LINKED)
            status = iobm_fail(err, IOBM_EUSAGE,
                               "a file of the older run at '%s/%s' is kept: "
                               "%s: use --force to remove this name",
                               p->place.directory, p->place.name, file.why);
        if (status != IOBM_OK)
            return status;
    }
    return IOBM_OK;
}

/* What is still at the name that this rank will create. */
static enum iobm_status remove_new(const struct prepare *p,
                                   const struct layout *layout,
                                   struct iobm_error *err)
{
    int64_t bytes;

    if (p->comm->rank >= layout_files(layout))
        return IOBM_OK;
    return place_remove(&p->place, NULL, layout, p->comm->rank, p->force,
                        &bytes, err);
}

static enum iobm_status complete_manifest(const struct prepare *p,
                                          struct manifest *fresh,
                                          struct iobm_error *err)
{
    const struct node_map *map = p->map;
    int parts = fresh->layout.parts;

    str_copy(fresh->state, sizeof(fresh->state), "writing");
    fresh->site = p->sites.mine;
    free(fresh->file);
    fresh->file = NULL;
    alive_self(&fresh->writer);
    if (fresh->host)
        return IOBM_OK;
    fresh->host = calloc((size_t)parts, sizeof(*fresh->host));
    if (!fresh->host)
        return iobm_fail(err, IOBM_ENOMEM,
                         "cannot list %d hosts: out of memory", parts);
    for (int r = 0; r < parts && r < map->ranks; r++)
        memcpy(fresh->host[r], map->host[map->node_of[r]],
               sizeof(fresh->host[r]));
    return IOBM_OK;
}

static enum iobm_status replace_all(struct prepare *p, struct manifest *fresh,
                                    struct iobm_error *err)
{
    enum iobm_status status = check_quiet(p, err);

    status = par_agree_all(p->comm, status, NULL, err);
    if (status != IOBM_OK)
        return status;
    status = remove_old(p, err);
    /* Every older file of ours is gone before one can look foreign. */
    status = par_agree_all(p->comm, status, NULL, err);
    if (status != IOBM_OK)
        return status;
    status = remove_new(p, &fresh->layout, err);
    if (status == IOBM_OK)
        status = complete_manifest(p, fresh, err);
    status = par_agree_all(p->comm, status, NULL, err);
    if (status != IOBM_OK)
        return status;
    if (p->sites.comm.rank == 0) {
        status = manifest_store(&p->place, fresh, err);
        p->stored = status == IOBM_OK;
    }
    return par_agree_all(p->comm, status, NULL, err);
}

/* Another site failed: a manifest of files that never come goes again. */
static void undo(const struct prepare *p)
{
    char name[PLACE_NAME_ROOM];

    if (!p->stored)
        return;
    place_manifest_name(&p->place, name);
    (void)unlinkat(p->place.dir, name, 0);
}

static enum iobm_status find_sites_all(struct prepare *p,
                                       struct iobm_error *err)
{
    /* On one node the lock is probe enough. */
    if (p->map->nodes > 1)
        return sites_probe_all(p->comm, p->map, &p->place, &p->sites, err);
    p->sites.count = 1;
    return par_comm_init(&p->sites.comm, p->comm->mpi, err);
}

enum iobm_status guard_prepare_all(const struct iobm_comm *comm,
                                   const struct node_map *map, const char *path,
                                   const struct manifest *old,
                                   struct manifest *fresh, bool force,
                                   struct iobm_error *err)
{
    struct prepare p = {.comm = comm, .map = map, .force = force};
    bool device;
    enum iobm_status status = is_device_all(comm, path, &device, err);

    if (status != IOBM_OK || device)
        return status;
    status = place_open(path, &p.place, err);
    status = par_agree_all(comm, status, NULL, err);
    if (status == IOBM_OK)
        status = find_sites_all(&p, err);
    if (status == IOBM_OK)
        status = lock_all(&p, old, fresh->run_id, err);
    if (status == IOBM_OK)
        status = replace_all(&p, fresh, err);
    if (status != IOBM_OK)
        undo(&p);
    if (p.locked)
        place_unlock(&p.place);
    manifest_release(&p.old);
    sites_release(&p.sites);
    place_close(&p.place);
    return status;
}

/* ---- complete */

/* Read the manifest of this node's directory; it must still be ours. */
static enum iobm_status check_taken_over(const struct place *place,
                                         const struct manifest *mine, int *site,
                                         struct iobm_error *err)
{
    struct manifest m = {0};
    bool found = false;
    enum iobm_status status = manifest_load(place, &m, &found, NULL, err);

    if (status == IOBM_OK && !found)
        status = iobm_fail(err, IOBM_EIO,
                           "'%s/%s.iobm' has vanished while the files that it "
                           "lists were written",
                           place->directory, place->name);
    else if (status == IOBM_OK && strcmp(m.run_id, mine->run_id) == 0)
        *site = m.site;
    else if (status == IOBM_OK)
        status = iobm_fail(err, IOBM_EINVALID,
                           "another run took over '%s/%s' while this one "
                           "wrote to it",
                           place->directory, place->name);
    manifest_release(&m);
    return status;
}

static enum iobm_status identify(const struct place *place,
                                 const struct layout *layout, int p,
                                 struct manifest_file *out,
                                 struct iobm_error *err)
{
    char name[PLACE_NAME_ROOM];
    struct place_file file;
    enum iobm_status status = place_look(place, NULL, layout, p, &file, err);
    int64_t expected = layout_file_bytes(layout, p);

    if (status != IOBM_OK)
        return status;
    place_file_name(place, layout, p, name);
    if (file.owner == PLACE_MISSING || file.owner == PLACE_OTHER)
        return iobm_fail(err, IOBM_EIO,
                         "'%s/%s' has vanished since it was "
                         "written",
                         place->directory, name);
    if (file.bytes != expected)
        return iobm_fail(err, IOBM_EIO,
                         "'%s/%s' has %" PRId64 " bytes, but %" PRId64
                         " were written",
                         place->directory, name, file.bytes, expected);
    out->inode = file.inode;
    out->mtime_ns = file.mtime_ns;
    return IOBM_OK;
}

/* Every file's identity to every rank. */
static enum iobm_status identify_all(const struct iobm_comm *comm,
                                     const struct place *place,
                                     struct manifest *m, struct iobm_error *err)
{
    struct manifest_file mine = {0};
    struct manifest_file *all = calloc((size_t)comm->size, sizeof(*all));
    int files = layout_files(&m->layout);
    enum iobm_status status = IOBM_OK;

    if (!all)
        status = iobm_fail(err, IOBM_ENOMEM,
                           "cannot list %d files: out of memory", files);
    else if (comm->rank < files)
        status = identify(place, &m->layout, comm->rank, &mine, err);
    status = par_agree_all(comm, status, NULL, err);
    if (status == IOBM_OK)
        status = par_allgather_all(comm, &mine, sizeof(mine), all, err);
    if (status != IOBM_OK) {
        free(all);
        return status;
    }
    free(m->file);
    m->file = all; /* as many ranks as parts: at least 'files' rows */
    return IOBM_OK;
}

static enum iobm_status complete_all(const struct iobm_comm *comm,
                                     const struct node_map *map,
                                     const struct place *place,
                                     struct manifest *m, struct iobm_error *err)
{
    int node = map->node_of[comm->rank], site = -1;
    enum iobm_status status = IOBM_OK;

    if (map->leads_node)
        status = check_taken_over(place, m, &site, err);
    status = par_agree_all(comm, status, NULL, err);
    if (status == IOBM_OK)
        status = identify_all(comm, place, m, err);
    if (status != IOBM_OK)
        return status;
    str_copy(m->state, sizeof(m->state), "complete");
    if (map->leads_node && site == node) {
        m->site = site;
        alive_self(&m->writer);
        status = manifest_store(place, m, err);
    }
    status = par_agree_all(comm, status, NULL, err);
    if (status != IOBM_OK)
        str_copy(m->state, sizeof(m->state), "writing");
    return status;
}

enum iobm_status guard_complete_all(const struct iobm_comm *comm,
                                    const struct node_map *map,
                                    const char *path, struct manifest *manifest,
                                    struct iobm_error *err)
{
    struct place place = {.dir = -1};
    bool device;
    enum iobm_status status = is_device_all(comm, path, &device, err);

    if (status != IOBM_OK || device)
        return status;
    if (manifest->layout.parts != comm->size)
        return iobm_fail(err, IOBM_EBUG, "%d parts were written by %d ranks",
                         manifest->layout.parts, comm->size);
    status = place_open(path, &place, err);
    status = par_agree_all(comm, status, NULL, err);
    if (status == IOBM_OK)
        status = complete_all(comm, map, &place, manifest, err);
    place_close(&place);
    return status;
}

/* ---- clean */

enum iobm_status guard_clean_all(const struct iobm_comm *comm,
                                 const struct node_map *map, const char *path,
                                 int64_t *files, int64_t *bytes,
                                 struct iobm_error *err)
{
    struct manifest m = {0};
    bool found = false, device;
    double sums[2] = {0};
    enum iobm_status status = is_device_all(comm, path, &device, err);

    *files = *bytes = 0;
    if (status != IOBM_OK || device)
        return status;
    /* Every leader has read its manifest before the first one goes. */
    if (map->leads_node)
        status = manifest_read(path, &m, &found, err);
    status = par_agree_all(comm, status, NULL, err);
    if (status == IOBM_OK && found && m.site == map->node_of[comm->rank])
        status = manifest_clean(path, false, files, bytes, err);
    manifest_release(&m);
    status = par_agree_all(comm, status, NULL, err);
    if (status != IOBM_OK)
        return status;
    sums[0] = (double)*files;
    sums[1] = (double)*bytes;
    status = par_sum_all(comm, sums, 2, err);
    *files = (int64_t)sums[0];
    *bytes = (int64_t)sums[1];
    return status;
}
