/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Telling directories apart across nodes.  Names and mount tables prove
 * nothing (the same local /tmp is everywhere), so a file is created on one
 * node and looked for on the others.
 */

#include "guard/sites.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "guard/manifest.h"

enum { LOOK_TRIES = 2 };
#define LOOK_PAUSE_NS INT64_C(20000000)

/* From the site number that each node's leader found to 'sites'. */
static enum iobm_status settle_all(const struct iobm_comm *comm,
                                   const struct node_map *map, int number,
                                   struct sites *sites, struct iobm_error *err)
{
    int *all = calloc((size_t)comm->size, sizeof(*all));
    enum iobm_status status =
        all ? IOBM_OK
            : iobm_fail(err, IOBM_ENOMEM,
                        "cannot list the directories of %d "
                        "ranks: out of memory",
                        comm->size);

    status = par_agree_all(comm, status, NULL, err);
    if (status == IOBM_OK)
        status = par_allgather_all(comm, &number, sizeof(number), all, err);
    if (status == IOBM_OK) {
        int node = map->node_of[comm->rank];

        sites->count = 0;
        for (int n = 0; n < map->nodes; n++)
            sites->count += all[map->node_leader[n]] == n;
        sites->mine = all[map->node_leader[node]];
        status = par_comm_split_all(comm, sites->mine, &sites->comm, err);
    }
    free(all);
    return status;
}

void sites_release(struct sites *sites)
{
    if (sites->comm.size > 0)
        par_comm_release(&sites->comm);
    sites->comm.size = 0;
}

/* ---- by probing */

struct nonce {
    char uuid[37];
};

static void probe_name(const struct nonce *nonce, int node,
                       char name[PLACE_NAME_ROOM])
{
    snprintf(name, PLACE_NAME_ROOM, ".iobm-%s.probe.%d", nonce->uuid, node);
}

static enum iobm_status create_probe(const struct place *place,
                                     const struct nonce *nonce, int node,
                                     const char *host, struct iobm_error *err)
{
    char name[PLACE_NAME_ROOM];
    size_t length = strlen(nonce->uuid);
    int fd, why = 0;

    probe_name(nonce, node, name);
    fd = openat(place->dir, name,
                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return iobm_fail_errno(err, errno, "cannot create a file in '%s' on %s",
                               place->directory, host);
    /* A full disk shows here only as "no space", which the check of the
     * space says better. */
    if (write(fd, nonce->uuid, length) != (ssize_t)length && errno != ENOSPC)
        why = errno;
    if (close(fd) != 0 && !why && errno != ENOSPC)
        why = errno;
    if (!why)
        return IOBM_OK;
    (void)unlinkat(place->dir, name, 0);
    return iobm_fail_errno(err, why, "cannot write to a file in '%s' on %s",
                           place->directory, host);
}

/* Whether the probe of 'node' can be seen here.  Its name is random and
 * belongs to this run: being there is enough, when it is a regular file. */
static bool see_probe(const struct place *place, const struct nonce *nonce,
                      int node)
{
    char name[PLACE_NAME_ROOM];
    char text[sizeof(nonce->uuid)] = "";
    ssize_t n;
    int fd;

    probe_name(nonce, node, name);
    fd = openat(place->dir, name,
                O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    /* Empty on a full disk. */
    return n == 0 || strcmp(text, nonce->uuid) == 0;
}

/* The lowest node whose probe is in this directory. */
static int lowest_seen(const struct place *place, const struct nonce *nonce,
                       int node)
{
    char prefix[PLACE_NAME_ROOM];
    int lowest = node;
    int fd;
    DIR *dir;

    for (int i = 0; i < LOOK_TRIES && node > 0; i++) {
        if (see_probe(place, nonce, 0))
            return 0;
        clock_sleep_ns(LOOK_PAUSE_NS);
    }
    fd = openat(place->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return node;
    }
    snprintf(prefix, sizeof(prefix), ".iobm-%s.probe.", nonce->uuid);
    for (struct dirent *e; (e = readdir(dir));) {
        size_t n = strlen(prefix);
        int other;

        if (strncmp(e->d_name, prefix, n) != 0)
            continue;
        other = (int)strtol(e->d_name + n, NULL, 10);
        if (other >= 0 && other < lowest)
            lowest = other;
    }
    closedir(dir);
    return lowest;
}

static enum iobm_status probe_nodes_all(const struct iobm_comm *comm,
                                        const struct node_map *map,
                                        const struct place *place, int *number,
                                        struct iobm_error *err)
{
    int node = map->node_of[comm->rank];
    char name[PLACE_NAME_ROOM];
    enum iobm_status status, made = IOBM_OK;
    struct nonce nonce;

    rng_uuid(nonce.uuid);
    status = par_bcast_all(comm, &nonce, sizeof(nonce), 0, err);
    if (status != IOBM_OK)
        return status;
    if (map->leads_node)
        made = create_probe(place, &nonce, node, map->host[node], err);
    status = par_agree_all(comm, made, NULL, err);
    if (status == IOBM_OK && map->leads_node)
        *number = lowest_seen(place, &nonce, node);
    /* Every node has looked before the first probe goes. */
    if (status == IOBM_OK)
        status = par_barrier_all(comm, err);
    if (map->leads_node && made == IOBM_OK) {
        probe_name(&nonce, node, name);
        if (unlinkat(place->dir, name, 0) != 0 && status == IOBM_OK)
            made = iobm_fail_errno(err, errno, "cannot remove '%s/%s' on %s",
                                   place->directory, name, map->host[node]);
    }
    if (status != IOBM_OK)
        return status;
    return par_agree_all(comm, made, NULL, err);
}

enum iobm_status sites_probe_all(const struct iobm_comm *comm,
                                 const struct node_map *map,
                                 const struct place *place, struct sites *sites,
                                 struct iobm_error *err)
{
    int number = 0;
    enum iobm_status status;

    memset(sites, 0, sizeof(*sites));
    status = probe_nodes_all(comm, map, place, &number, err);
    if (status != IOBM_OK)
        return status;
    return settle_all(comm, map, number, sites, err);
}

/* ---- by comparing */

struct identity {
    char run_id[40];
    int64_t site;
    uint64_t inode;
    int64_t mtime_ns;
};

static bool same_directory(const struct identity *a, const struct identity *b)
{
    if (strcmp(a->run_id, b->run_id) != 0)
        return false;
    if (a->run_id[0])
        return a->site == b->site;
    return a->inode == b->inode || a->mtime_ns == b->mtime_ns;
}

enum iobm_status sites_compare_all(const struct iobm_comm *comm,
                                   const struct node_map *map,
                                   const struct place *place,
                                   const struct manifest *manifest,
                                   struct sites *sites, struct iobm_error *err)
{
    struct identity *all = calloc((size_t)comm->size, sizeof(*all));
    struct identity mine = {0};
    enum iobm_status status = IOBM_OK;
    int node = map->node_of[comm->rank];
    int number = node;
    struct stat st;

    memset(sites, 0, sizeof(*sites));
    if (!all)
        status = iobm_fail(err, IOBM_ENOMEM,
                           "cannot compare the directories "
                           "of %d ranks: out of memory",
                           comm->size);
    if (fstat(place->dir, &st) == 0) {
        mine.inode = st.st_ino;
        mine.mtime_ns = place_mtime_ns(&st);
    }
    if (manifest) {
        memcpy(mine.run_id, manifest->run_id, sizeof(mine.run_id));
        mine.site = manifest->site;
    }
    status = par_agree_all(comm, status, NULL, err);
    if (status == IOBM_OK)
        status = par_allgather_all(comm, &mine, sizeof(mine), all, err);
    for (int n = node - 1; status == IOBM_OK && n >= 0; n--)
        if (same_directory(&all[map->node_leader[n]],
                           &all[map->node_leader[node]]))
            number = n;
    free(all);
    if (status != IOBM_OK)
        return status;
    return settle_all(comm, map, number, sites, err);
}
