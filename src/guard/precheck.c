/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The checks before a run.  Each step ends in one agreement, so that no rank
 * goes on into a collective call that another has given up.  What a read
 * needs is in precheck_read.c; what happens to files after the checks is in
 * prepare.c.
 */

#include "guard/precheck.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "guard/inspect.h"
#include "guard/precheck_steps.h"
#include "guard/space.h"

/* ---- the path */

/* What stands at PATH itself: sets 'device'. */
static enum iobm_status check_path(const struct precheck_input *in,
                                   bool *device, struct iobm_error *err)
{
    struct stat st, link;

    *device = false;
    if (stat(in->path, &st) != 0)
        return IOBM_OK; /* missing, or a dangling link: told later */
    if (S_ISDIR(st.st_mode))
        return iobm_fail(err, IOBM_EUSAGE,
                         "'%s' is a directory: -f needs a file name, for "
                         "example '%s/test'",
                         in->path, in->path);
    if (S_ISBLK(st.st_mode) || S_ISCHR(st.st_mode)) {
        if (!in->layout->shared)
            return iobm_fail(err, IOBM_EUSAGE,
                             "'%s' is a device: it cannot be one file per "
                             "rank; use -s",
                             in->path);
        if (S_ISCHR(st.st_mode))
            return iobm_fail(err, IOBM_EUSAGE,
                             "'%s' is a character device: give a file or a "
                             "block device",
                             in->path);
        *device = true;
        return IOBM_OK;
    }
    if (in->layout->shared && lstat(in->path, &link) == 0 &&
        S_ISLNK(link.st_mode))
        return iobm_fail(err, IOBM_EUSAGE,
                         "'%s' is a symbolic link: it is not followed; give "
                         "the file itself",
                         in->path);
    return IOBM_OK;
}

/* One answer for all: rank 0's, when the others agree with it. */
static enum iobm_status check_path_all(const struct iobm_comm *comm,
                                       const struct node_map *map,
                                       const struct precheck_input *in,
                                       struct precheck_result *out,
                                       struct iobm_error *err)
{
    bool here = false;
    struct place place;
    enum iobm_status status = place_split(in->path, &place, err);
    int64_t both[2];

    if (status == IOBM_OK && map->leads_node)
        status = check_path(in, &here, err);
    status = par_agree_all(comm, status, NULL, err);
    if (status != IOBM_OK)
        return status;
    both[0] = !map->leads_node || here;
    both[1] = !map->leads_node || !here;
    status = par_min_all(comm, both, 2, err);
    if (status != IOBM_OK)
        return status;
    if (!both[0] && !both[1])
        return iobm_fail(err, IOBM_EUSAGE,
                         "'%s' is a block device on some nodes and not on "
                         "others",
                         in->path);
    out->device = both[0];
    memcpy(out->directory, place.directory, sizeof(out->directory));
    return IOBM_OK;
}

static enum iobm_status check_device_all(const struct iobm_comm *comm,
                                         const struct node_map *map,
                                         const struct precheck_input *in,
                                         struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;
    int64_t bytes = in->layout->total_bytes;

    if (map->leads_node)
        status = inspect_device(in->path, in->write, in->destroy_data,
                                bytes > 0 ? bytes : 0, err);
    return par_agree_all(comm, status, NULL, err);
}

/* ---- the manifest that is there */

/* With force a foreign regular file at the manifest's name counts as none:
 * it will be replaced.  A damaged manifest never does, as the files that it
 * listed would be forgotten. */
static enum iobm_status load_manifest(const struct place *place, bool write,
                                      bool force, struct manifest *manifest,
                                      bool *found, struct iobm_error *err)
{
    bool foreign = false;
    struct iobm_error why;
    enum iobm_status status =
        manifest_load(place, manifest, found, &foreign, &why);

    if (status != IOBM_ECORRUPT)
        return status == IOBM_OK ? status
                                 : iobm_fail(err, status, "%s", why.text);
    if (foreign && write && force) {
        *found = false;
        return IOBM_OK;
    }
    return iobm_fail(err, IOBM_EUSAGE, "%s", why.text);
}

/* Rank 0's manifest to all; what others hold is released. */
static enum iobm_status share_manifest_all(const struct iobm_comm *comm,
                                           struct manifest *manifest,
                                           bool *found, struct iobm_error *err)
{
    struct {
        int64_t found, owner_uid, mtime_ns;
    } more = {*found, manifest->owner_uid, manifest->mtime_ns};
    struct str text = {0};
    char *copy = NULL;
    enum iobm_status status = IOBM_OK;

    if (comm->rank == 0 && *found)
        manifest_format(manifest, &text);
    if (text.failed)
        status = iobm_fail(err, IOBM_ENOMEM,
                           "cannot share the manifest: out of memory");
    if (comm->rank != 0) {
        manifest_release(manifest);
        memset(manifest, 0, sizeof(*manifest));
    }
    status = par_agree_all(comm, status, NULL, err);
    if (status == IOBM_OK)
        status = par_bcast_all(comm, &more, sizeof(more), 0, err);
    *found = status == IOBM_OK && more.found;
    if (!*found)
        goto out;
    copy = text.text;
    status = par_bcast_text_all(comm, &copy, err);
    if (status != IOBM_OK)
        goto out;
    if (comm->rank != 0) {
        status = manifest_parse(copy, strlen(copy), manifest, err);
        free(copy);
        manifest->owner_uid = more.owner_uid;
        manifest->mtime_ns = more.mtime_ns;
    }
    status = par_agree_all(comm, status, NULL, err);
out:
    str_release(&text);
    return status;
}

enum iobm_status steps_manifest_all(const struct iobm_comm *comm,
                                    const struct place *place, bool lead,
                                    bool write, bool force,
                                    struct manifest *manifest, bool *found,
                                    struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;

    *found = false;
    if (lead)
        status = load_manifest(place, write, force, manifest, found, err);
    return par_agree_all(comm, status, NULL, err);
}

enum iobm_status steps_share_manifest_all(const struct iobm_comm *comm,
                                          const struct sites *sites,
                                          struct manifest *manifest,
                                          bool *found, struct iobm_error *err)
{
    enum iobm_status status =
        share_manifest_all(&sites->comm, manifest, found, err);

    return par_agree_all(comm, status, NULL, err);
}

/* ---- names and space for a write */

/* A name that is to be written.  'counted': check_old_name() counts what it
 * gives back. */
static enum iobm_status check_name(const struct place *place,
                                   const struct manifest *old,
                                   const struct precheck_input *in, int p,
                                   bool counted, struct space_plan *plan,
                                   struct iobm_error *err)
{
    char name[PLACE_NAME_ROOM];
    struct place_file file;
    enum iobm_status status = place_look(place, old, in->layout, p, &file, err);

    if (status != IOBM_OK || file.owner == PLACE_MISSING)
        return status;
    place_file_name(place, in->layout, p, name);
    if (file.owner == PLACE_OTHER)
        return iobm_fail(err, IOBM_EUSAGE,
                         "cannot write to '%s/%s': %s: remove it or use "
                         "another -f",
                         place->directory, name, file.why);
    if (file.owner != PLACE_OURS && !in->force)
        return iobm_fail(err, IOBM_EUSAGE,
                         "'%s/%s' is kept: %s: use another -f, or --force to "
                         "replace it",
                         place->directory, name, file.why);
    if (counted)
        return IOBM_OK;
    plan->freed_bytes += file.freed_bytes;
    plan->freed_files++;
    return IOBM_OK;
}

/* A name that only the older run has. */
static enum iobm_status check_old_name(const struct place *place,
                                       const struct manifest *old,
                                       const struct precheck_input *in, int p,
                                       struct space_plan *plan,
                                       struct iobm_error *err)
{
    char name[PLACE_NAME_ROOM];
    struct place_file file;
    enum iobm_status status =
        place_look(place, old, &old->layout, p, &file, err);

    if (status != IOBM_OK)
        return status;
    if (file.owner == PLACE_LINKED && !in->force) {
        place_file_name(place, &old->layout, p, name);
        return iobm_fail(err, IOBM_EUSAGE,
                         "'%s/%s' of an older run is kept: %s: use another "
                         "-f, or --force to remove this name",
                         place->directory, name, file.why);
    }
    if (file.owner == PLACE_OURS || file.owner == PLACE_LINKED) {
        plan->freed_bytes += file.freed_bytes;
        plan->freed_files++;
    }
    return IOBM_OK;
}

static enum iobm_status check_names(const struct iobm_comm *comm,
                                    const struct sites *sites,
                                    const struct place *place,
                                    const struct manifest *old,
                                    const struct precheck_input *in,
                                    struct space_plan *plan,
                                    struct iobm_error *err)
{
    const struct layout *layout = in->layout;
    bool several = sites->count > 1;
    int p = comm->rank;
    enum iobm_status status = IOBM_OK;

    if (p < layout_files(layout)) {
        plan->files = 1;
        plan->bytes = space_rounded(place, layout_file_bytes(layout, p));
        status = space_check_limit(layout_file_bytes(layout, p), err);
        if (status == IOBM_OK)
            status = check_name(
                place, old, in, p,
                several && old && manifest_lists(old, layout, p), plan, err);
    }
    if (!old)
        return status;
    for (int f = sites->comm.rank;
         f < layout_files(&old->layout) && status == IOBM_OK;
         f += sites->comm.size)
        if (several || !steps_new_name(layout, &old->layout, f))
            status = check_old_name(place, old, in, f, plan, err);
    return status;
}

bool steps_new_name(const struct layout *layout, const struct layout *old,
                    int f)
{
    return layout->shared == old->shared && f < layout_files(layout);
}

/* Sum over the ranks of a site, and compare with what its leader is told. */
static enum iobm_status check_space_all(
    const struct iobm_comm *comm, const struct node_map *map,
    const struct sites *sites, const struct place *place,
    const struct space_plan *mine, int64_t *free_bytes, struct iobm_error *err)
{
    double sums[4] = {(double)mine->bytes, (double)mine->files,
                      (double)mine->freed_bytes, (double)mine->freed_files};
    enum iobm_status status = par_sum_all(&sites->comm, sums, 4, err);

    *free_bytes = INT64_MAX;
    if (status == IOBM_OK && sites->comm.rank == 0) {
        struct space_plan plan = {
            .bytes = sums[0] < 9e18 ? (int64_t)sums[0] : INT64_MAX,
            .files = (int64_t)sums[1],
            .freed_bytes = sums[2] < 9e18 ? (int64_t)sums[2] : INT64_MAX,
            .freed_files = (int64_t)sums[3],
        };
        struct space_offer offer;

        space_ask(place, &offer);
        if (offer.free_bytes >= 0)
            *free_bytes = offer.free_bytes > INT64_MAX - plan.freed_bytes
                              ? INT64_MAX
                              : offer.free_bytes + plan.freed_bytes;
        status = space_check(&plan, &offer, place->directory,
                             map->host[map->node_of[comm->rank]], err);
    }
    status = par_agree_all(comm, status, NULL, err);
    if (status == IOBM_OK)
        status = par_min_all(comm, free_bytes, 1, err);
    if (*free_bytes == INT64_MAX)
        *free_bytes = -1;
    return status;
}

/* ---- nodes */

enum iobm_status steps_same_directory(const struct node_map *map,
                                      const struct sites *sites,
                                      const struct precheck_input *in,
                                      const char *directory,
                                      struct iobm_error *err)
{
    if (sites->count == 1 || (!in->layout->shared && !in->cross_node))
        return IOBM_OK;
    return iobm_fail(err, IOBM_EUSAGE,
                     "'%s' is not the same directory on all %d nodes (%d "
                     "different ones): %s",
                     directory, map->nodes, sites->count,
                     in->layout->shared
                         ? "-s needs a shared file system"
                         : "reading what other nodes wrote needs a shared "
                           "file system, or --order same");
}

static enum iobm_status check_dry(const struct place *place, const char *host,
                                  struct iobm_error *err)
{
    if (faccessat(place->dir, ".", W_OK | X_OK, AT_EACCESS) == 0)
        return IOBM_OK;
    return iobm_fail_errno(err, errno, "cannot create a file in '%s' on %s",
                           place->directory, host);
}

/* Every node's directory, and which of them are one. */
static enum iobm_status find_sites_all(const struct iobm_comm *comm,
                                       const struct node_map *map,
                                       const struct precheck_input *in,
                                       const struct place *place,
                                       const struct manifest *manifest,
                                       struct sites *sites,
                                       struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;

    if (in->write && !in->dry_run)
        return sites_probe_all(comm, map, place, sites, err);
    if (in->write && map->leads_node)
        status = check_dry(place, map->host[map->node_of[comm->rank]], err);
    status = par_agree_all(comm, status, NULL, err);
    if (status != IOBM_OK)
        return status;
    return sites_compare_all(comm, map, place, manifest, sites, err);
}

static enum iobm_status check_write_all(
    const struct iobm_comm *comm, const struct node_map *map,
    const struct precheck_input *in, const struct place *place,
    const struct sites *sites, const struct manifest *old,
    struct precheck_result *out, struct iobm_error *err)
{
    struct space_plan plan = {0};
    enum iobm_status status = IOBM_OK;

    if (old && sites->comm.rank == 0 && alive_look(&old->writer) == ALIVE_YES &&
        !manifest_complete(old))
        status = iobm_fail(err, IOBM_EUSAGE,
                           "another run (process %" PRId64
                           " on %s) is writing to '%s': wait for it, or use "
                           "another -f",
                           old->writer.pid, old->writer.host, in->path);
    if (status == IOBM_OK)
        status = check_names(comm, sites, place, old, in, &plan, err);
    status = par_agree_all(comm, status, NULL, err);
    if (status != IOBM_OK)
        return status;
    return check_space_all(comm, map, sites, place, &plan, &out->free_bytes,
                           err);
}

/* Everything that needs the directory to be open. */
static enum iobm_status check_files_all(const struct iobm_comm *comm,
                                        const struct node_map *map,
                                        const struct precheck_input *in,
                                        const struct place *place,
                                        struct precheck_result *out,
                                        struct iobm_error *err)
{
    struct manifest manifest = {0};
    struct sites sites = {0};
    bool found = false;
    enum iobm_status status =
        steps_manifest_all(comm, place, map->leads_node, in->write, in->force,
                           &manifest, &found, err);

    if (status == IOBM_OK)
        status = find_sites_all(comm, map, in, place, found ? &manifest : NULL,
                                &sites, err);
    if (status == IOBM_OK)
        status = steps_share_manifest_all(comm, &sites, &manifest, &found, err);
    if (status == IOBM_OK && in->read && !in->write)
        status = steps_check_read_all(comm, map, in, place,
                                      found ? &manifest : NULL, err);
    if (status == IOBM_OK)
        status = steps_same_directory(map, &sites, in, place->directory, err);
    if (status == IOBM_OK && in->write)
        status = check_write_all(comm, map, in, place, &sites,
                                 found ? &manifest : NULL, out, err);
    /* What the caller gets is rank 0's. */
    if (status == IOBM_OK && comm->rank == 0) {
        out->manifest = manifest;
        out->ours = found;
        memset(&manifest, 0, sizeof(manifest));
    }
    if (status == IOBM_OK)
        status = share_manifest_all(comm, &out->manifest, &out->ours, err);
    out->shared_directory = sites.count == 1;
    manifest_release(&manifest);
    sites_release(&sites);
    return status;
}

enum iobm_status precheck_all(const struct iobm_comm *comm,
                              const struct node_map *map,
                              const struct precheck_input *in,
                              struct precheck_result *out,
                              struct iobm_error *err)
{
    struct precheck_result result = {.free_bytes = -1};
    struct place place = {.dir = -1};
    enum iobm_status status = check_path_all(comm, map, in, &result, err);

    if (status == IOBM_OK && result.device) {
        status = check_device_all(comm, map, in, err);
        result.shared_directory = true;
        if (status == IOBM_OK)
            *out = result;
        return status;
    }
    if (status == IOBM_OK) {
        status = place_open(in->path, &place, err);
        if (status == IOBM_OK)
            status = place_check_names(&place, in->layout, err);
        /* The command line was looked at as text: here as what it leads to. */
        if (status == IOBM_OK && comm->rank == 0 && in->output &&
            place_claims(&place, in->layout, in->output))
            status = iobm_fail(err, IOBM_EUSAGE,
                               "-o '%s' is one of the test files of -f '%s': "
                               "give the result file another name",
                               in->output, in->path);
        status = par_agree_all(comm, status, NULL, err);
    }
    if (status == IOBM_OK)
        status = check_files_all(comm, map, in, &place, &result, err);
    place_close(&place);
    if (status == IOBM_OK)
        *out = result;
    else
        manifest_release(&result.manifest);
    return status;
}
