/* SPDX-License-Identifier: BSD-3-Clause */

/* The evidence beside a phase: see job_evidence.h.  What the numbers mean is
 * in src/env and src/judge; here is who asks what when. */

#include "cli/job_evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "engine/dirty.h"
#include "env/cache.h"
#include "judge/verdict.h"

/* What each rank sends to rank 0. */
struct sent {
    struct witness_sample before, after;
    double resident_share, dirty_left_share, direct_share;
};

enum iobm_status evidence_init(struct job *job, struct iobm_error *err)
{
    if (!job->files)
        return IOBM_OK;
    return witness_target_init(job->pre.device ? job->options->file
                                               : job->pre.directory,
                               &job->witness, err);
}

/* The bytes of a file that this rank answers for: its part, or, where parts
 * are interleaved, the whole file. */
static bool own_range(const struct measure_phase *phase, int64_t *offset,
                      int64_t *bytes)
{
    const struct layout *layout = phase->layout;

    *offset = layout->strided ? 0 : layout_part_offset(layout, phase->part);
    *bytes = layout->strided ? layout->total_bytes
                             : layout_part_bytes(layout, phase->part);
    return *bytes > 0;
}

/* ---- before */

/* A file that cannot be dropped stays where it is: how much of it is left in
 * memory is asked afterwards in any case. */
static void drop_own(const struct job *job, const struct measure_phase *phase)
{
    struct iobm_error ignored;
    int64_t offset, bytes;
    double left;

    if (own_range(phase, &offset, &bytes) &&
        (!phase->layout->strided || job->map.leads_node) &&
        cache_drop(phase->path, offset, bytes, &left, &ignored) != IOBM_OK)
        return;
}

static const char *pick_method(const struct job *job,
                               const struct measure_phase *phase)
{
    if (phase->kind != IOBM_OP_READ || !job->files)
        return "none";
    if (job->options->cache == CACHE_DROP_ALL)
        return "drop-all";
    if (job->witness.memory || phase->device)
        return "none";
    if (phase->direct)
        return "direct";
    if (job->options->cache == CACHE_KEEP)
        return "kept";
    return "dropped";
}

static enum iobm_status defeat_cache_all(struct job *job,
                                         const struct measure_phase *phase,
                                         struct evidence *evidence,
                                         struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;

    evidence->method = pick_method(job, phase);
    if (phase->kind != IOBM_OP_READ)
        return IOBM_OK;
    if (strcmp(evidence->method, "drop-all") == 0 && job->map.leads_node)
        status = cache_drop_all(phase->path, err);
    else if (strcmp(evidence->method, "dropped") == 0)
        drop_own(job, phase);
    /* Nodes may have file systems of different kinds: all agree. */
    return par_agree_all(job->comm, status, NULL, err);
}

void evidence_drop(const struct job *job, const struct measure_phase *phase)
{
    const char *method = pick_method(job, phase);

    if (strcmp(method, "dropped") == 0 || strcmp(method, "drop-all") == 0)
        drop_own(job, phase);
}

enum iobm_status evidence_before_all(struct job *job,
                                     const struct measure_phase *phase,
                                     struct evidence *evidence,
                                     struct iobm_error *err)
{
    int64_t offset, bytes;
    const char *how;
    enum iobm_status status;

    memset(evidence, 0, sizeof(*evidence));
    evidence->resident_share = NAN;
    evidence->method = "none";
    if (!job->files)
        return IOBM_OK;
    status = defeat_cache_all(job, phase, evidence, err);
    if (status == IOBM_OK && phase->kind == IOBM_OP_READ && !phase->device &&
        own_range(phase, &offset, &bytes))
        evidence->resident_share =
            cache_residency(phase->path, offset, bytes, &how);
    witness_read(&job->witness, job->map.leads_node, &evidence->before);
    return status;
}

/* ---- after */

/* The difference of two counters; -1 when either is not available or the
 * counter went back. */
static int64_t grown(int64_t before, int64_t after)
{
    return before < 0 || after < before ? -1 : after - before;
}

/* A sum that is not available when one of its terms is not. */
static void add_to(int64_t *sum, int64_t value)
{
    *sum = *sum < 0 || value < 0 ? -1 : *sum + value;
}

static double percent(int64_t part, int64_t whole)
{
    return part < 0 || whole <= 0 ? NAN : 100.0 * (double)part / (double)whole;
}

static int64_t bytes_of(int64_t pages, const struct witness_sample *sample)
{
    return pages < 0 ? -1 : pages * sample->page_bytes;
}

/* What the node's first rank asked of the node. */
static void fill_node(const struct sent *s, struct iobm_evidence_row *e)
{
    const struct witness_sample *b = &s->before, *a = &s->after;
    int64_t elapsed = a->time_ns - b->time_ns;

#define GROWN(name) grown(b->name, a->name)
    e->device_read_bytes = GROWN(device_read_bytes);
    e->device_write_bytes = GROWN(device_write_bytes);
    e->device_busy_pct = percent(GROWN(device_busy_ns), elapsed);
    e->nfs_client_read_bytes = GROWN(nfs_normal_read);
    if (e->nfs_client_read_bytes >= 0)
        add_to(&e->nfs_client_read_bytes, GROWN(nfs_direct_read));
    e->nfs_server_read_bytes = GROWN(nfs_server_read);
    e->nfs_client_write_bytes = GROWN(nfs_normal_write);
    if (e->nfs_client_write_bytes >= 0)
        add_to(&e->nfs_client_write_bytes, GROWN(nfs_direct_write));
    e->nfs_server_write_bytes = GROWN(nfs_server_write);
    e->lustre_client_read_bytes = GROWN(lustre_client_read);
    e->lustre_osc_read_bytes = GROWN(lustre_osc_read);
    e->lustre_client_write_bytes = GROWN(lustre_client_write);
    e->lustre_osc_write_bytes = GROWN(lustre_osc_write);
    e->link_rx_bytes = GROWN(link_rx_bytes);
    e->link_tx_bytes = GROWN(link_tx_bytes);
    e->link_bits_per_s = a->link_bits_per_s;
    e->swap_in_bytes = bytes_of(GROWN(swap_in_pages), a);
    e->swap_out_bytes = bytes_of(GROWN(swap_out_pages), a);
    e->memory_stall_pct = percent(GROWN(memory_stall_ns), elapsed);
    e->cpu_busy_pct = percent(GROWN(cpu_busy_ns), GROWN(cpu_total_ns));
    e->cpu_steal_pct = percent(GROWN(cpu_steal_ns), GROWN(cpu_total_ns));
    e->memory_limit_bytes = a->cgroup_limit_bytes;
    e->memory_limit_hits = GROWN(cgroup_events_max);
    e->memory_bytes = a->memory_bytes;
    e->memory_available_bytes = a->memory_available_bytes;
#undef GROWN
}

/* Sums over the ranks of a node. */
struct own_sums {
    double resident, dirty; /* bytes; NaN: of some rank not known */
    double direct;          /* bytes that O_DIRECT left in the page cache */
    int64_t wait_ns, elapsed_ns;
};

static void add_rank(const struct sent *s, const struct iobm_rank_row *rank,
                     struct iobm_evidence_row *e, struct own_sums *sums)
{
    const struct witness_sample *b = &s->before, *a = &s->after;

    e->bytes += rank->bytes;
    add_to(&e->self_read_bytes, grown(b->self_read_bytes, a->self_read_bytes));
    add_to(&e->self_write_bytes,
           grown(b->self_write_bytes, a->self_write_bytes));
    add_to(&e->major_faults, grown(b->major_faults, a->major_faults));
    add_to(&sums->wait_ns, grown(b->self_wait_ns, a->self_wait_ns));
    sums->elapsed_ns += a->time_ns - b->time_ns;
    if (rank->bytes == 0)
        return;
    sums->resident += s->resident_share * (double)rank->bytes;
    sums->dirty += s->dirty_left_share * (double)rank->bytes;
    sums->direct += s->direct_share * (double)rank->bytes;
}

/* Rank 0: the nodes' rows from all that was sent. */
static void fold_nodes(const struct job *job, const struct sent *all,
                       const struct iobm_phase_row *row,
                       const struct iobm_rank_row *ranks,
                       struct iobm_evidence_row *nodes, struct own_sums *sums)
{
    const struct node_map *map = &job->map;

    for (int n = 0; n < map->nodes; n++) {
        nodes[n].phase = row->phase;
        nodes[n].repeat = row->repeat;
        nodes[n].node = n;
        memcpy(nodes[n].host, map->host[n], sizeof(nodes[n].host));
        fill_node(&all[map->node_leader[n]], &nodes[n]);
    }
    for (int r = 0; r < map->ranks; r++)
        add_rank(&all[r], &ranks[r], &nodes[map->node_of[r]],
                 &sums[map->node_of[r]]);
    for (int n = 0; n < map->nodes; n++) {
        struct iobm_evidence_row *e = &nodes[n];
        double bytes = (double)e->bytes;

        e->resident_pct = e->bytes > 0 ? 100 * sums[n].resident / bytes : NAN;
        e->dirty_pct = e->bytes > 0 ? 100 * sums[n].dirty / bytes : NAN;
        e->cpu_wait_pct = percent(sums[n].wait_ns, sums[n].elapsed_ns);
        e->working_set_pct = percent(e->bytes, e->memory_bytes);
    }
}

static double most(double a, double b)
{
    return isnan(a) || b > a ? b : a;
}

/* Rank 0: the row's view of the clients. */
static void fill_client(const struct iobm_evidence_row *nodes, int n,
                        struct iobm_phase_row *row)
{
    row->major_faults = row->swapped_bytes = row->memory_limit_hits = 0;
    for (int i = 0; i < n; i++) {
        const struct iobm_evidence_row *e = &nodes[i];

        add_to(&row->major_faults, e->major_faults);
        add_to(&row->swapped_bytes, e->swap_in_bytes);
        add_to(&row->swapped_bytes, e->swap_out_bytes);
        if (e->memory_limit_hits > 0)
            row->memory_limit_hits += e->memory_limit_hits;
        row->memory_stall_pct =
            most(row->memory_stall_pct, e->memory_stall_pct);
        row->cpu_busy_pct = most(row->cpu_busy_pct, e->cpu_busy_pct);
        row->cpu_wait_pct = most(row->cpu_wait_pct, e->cpu_wait_pct);
        row->cpu_steal_pct = most(row->cpu_steal_pct, e->cpu_steal_pct);
        row->working_set_pct = most(row->working_set_pct, e->working_set_pct);
    }
}

static double weighted(const struct iobm_evidence_row *nodes, int n,
                       bool resident)
{
    double sum = 0, bytes = 0;

    for (int i = 0; i < n; i++) {
        if (nodes[i].bytes == 0)
            continue;
        sum += (resident ? nodes[i].resident_pct : nodes[i].dirty_pct) *
               (double)nodes[i].bytes;
        bytes += (double)nodes[i].bytes;
    }
    return bytes > 0 ? sum / bytes : NAN;
}

static void sum_witnesses(const struct job *job,
                          const struct iobm_evidence_row *nodes,
                          struct verdict_input *in)
{
    int64_t bits = 0;

    for (int i = 0; i < job->map.nodes; i++) {
        const struct iobm_evidence_row *e = &nodes[i];

        add_to(&in->self_read_bytes, e->self_read_bytes);
        add_to(&in->device_read_bytes, e->device_read_bytes);
        add_to(&in->nfs_client_read, e->nfs_client_read_bytes);
        add_to(&in->nfs_server_read, e->nfs_server_read_bytes);
        add_to(&in->lustre_client_read, e->lustre_client_read_bytes);
        add_to(&in->lustre_osc_read, e->lustre_osc_read_bytes);
        add_to(&in->link_rx_bytes, e->link_rx_bytes);
        add_to(&bits, e->link_bits_per_s);
    }
    in->link_Bps = bits > 0 ? (double)bits / 8 : NAN;
}

/* Rank 0. */
static void fill_verdict(const struct job *job,
                         const struct iobm_evidence_row *nodes, double direct,
                         struct iobm_phase_row *row)
{
    const struct witness_target *t = &job->witness;
    bool write = strcmp(row->op, "write") == 0;
    struct verdict_input in = {
        .write = write,
        .direct = row->direct,
        .bytes = row->bytes,
        .block_backed = t->block_backed,
        .network = t->network,
        .nfs = t->nfs,
        .lustre = t->lustre,
        .memory = t->memory,
        .page_cache = t->page_cache,
        .hidden_cache = t->hidden_cache,
        .other_node = !write && row->moved_files == row->ranks,
        .resident_share = row->resident_pct / 100,
        .direct_share = direct,
        .nodes = row->nodes,
        .seconds = row->seconds,
    };
    struct verdict verdict;
    int64_t link = 0, device = 0;

    sum_witnesses(job, nodes, &in);
    verdict_judge(&in, &verdict);
    str_copy(row->cache_verdict, sizeof(row->cache_verdict),
             verdict_cache_name(verdict.cache));
    row->cached_pct = 100 * verdict.cached_share;
    str_copy(row->cache_witness, sizeof(row->cache_witness), verdict.witness);
    row->direct_not_honoured = verdict.direct_not_honoured;
    row->faster_than_link = verdict.faster_than_link;
    row->link_Bps = t->network ? in.link_Bps : NAN;
    for (int i = 0; i < job->map.nodes; i++) {
        add_to(&link, write ? nodes[i].link_tx_bytes : nodes[i].link_rx_bytes);
        add_to(&device, write ? nodes[i].device_write_bytes
                              : nodes[i].device_read_bytes);
    }
    row->link_moved_bytes = link < 0 ? NAN : (double)link;
    row->device_bytes = device < 0 ? NAN : (double)device;
}

static double direct_share(const struct own_sums *sums, int nodes,
                           int64_t bytes)
{
    double direct = 0;

    for (int n = 0; n < nodes; n++)
        direct += sums[n].direct;
    return bytes > 0 ? direct / (double)bytes : NAN;
}

/* Rank 0. */
static enum iobm_status fold(const struct job *job, const struct sent *all,
                             const struct evidence *evidence,
                             struct iobm_phase_row *row,
                             const struct iobm_rank_row *ranks,
                             struct iobm_detail *detail, struct iobm_error *err)
{
    size_t n = (size_t)job->map.nodes;
    struct iobm_detail rows = {.evidence_count = n};
    struct own_sums *sums = calloc(n, sizeof(*sums));
    bool ok;

    rows.evidence = calloc(n, sizeof(*rows.evidence));
    ok = rows.evidence && sums;
    if (ok) {
        fold_nodes(job, all, row, ranks, rows.evidence, sums);
        fill_client(rows.evidence, job->map.nodes, row);
        row->resident_pct = weighted(rows.evidence, job->map.nodes, true);
        row->dirty_left_pct = weighted(rows.evidence, job->map.nodes, false);
        if (row->bytes > 0)
            fill_verdict(job, rows.evidence,
                         direct_share(sums, job->map.nodes, row->bytes), row);
        str_copy(row->cache_method, sizeof(row->cache_method),
                 strcmp(evidence->method, "dropped") == 0 &&
                         row->moved_files == row->ranks
                     ? "other-node"
                     : evidence->method);
        ok = iobm_detail_append(detail, &rows);
    }
    free(rows.evidence);
    free(sums);
    if (!ok)
        return iobm_fail(err, IOBM_ENOMEM, "cannot keep the evidence");
    return IOBM_OK;
}

/* What a write has left in memory alone; NaN where nobody can tell. */
static double left_dirty(const struct job *job,
                         const struct measure_phase *phase)
{
    int64_t offset, bytes;

    if (phase->kind != IOBM_OP_WRITE || phase->device ||
        !job->witness.page_cache || job->witness.memory ||
        (job->measure.backend->caps & IOBM_CAP_MAPPED))
        return NAN;
    if (!own_range(phase, &offset, &bytes))
        return NAN;
    return dirty_share(phase->path, offset, bytes);
}

/* Of what O_DIRECT moved, what is in the page cache now and was not before;
 * NaN where nobody can tell, or without O_DIRECT. */
static double left_cached(const struct job *job,
                          const struct measure_phase *phase,
                          const struct evidence *evidence)
{
    int64_t offset, bytes;
    const char *how;
    double before = phase->kind == IOBM_OP_READ ? evidence->resident_share : 0;
    double more;

    if (!phase->direct || phase->device || !job->witness.page_cache ||
        !own_range(phase, &offset, &bytes))
        return NAN;
    more = cache_residency(phase->path, offset, bytes, &how) - before;
    return more < 0 ? 0 : more;
}

enum iobm_status evidence_after_all(struct job *job,
                                    const struct measure_phase *phase,
                                    const struct evidence *evidence,
                                    struct iobm_phase_row *row,
                                    const struct iobm_rank_row *ranks,
                                    struct iobm_detail *detail,
                                    struct iobm_error *err)
{
    struct sent mine;
    struct sent *all = NULL;
    enum iobm_status status = IOBM_OK;

    if (!job->files)
        return IOBM_OK;
    memset(&mine, 0, sizeof(mine));
    witness_read(&job->witness, job->map.leads_node, &mine.after);
    mine.before = evidence->before;
    mine.resident_share = evidence->resident_share;
    mine.dirty_left_share = left_dirty(job, phase);
    mine.direct_share = left_cached(job, phase, evidence);
    if (job->comm->rank == 0) {
        all = calloc((size_t)job->comm->size, sizeof(*all));
        if (!all)
            status = iobm_fail(err, IOBM_ENOMEM, "cannot gather the evidence");
    }
    status = par_agree_all(job->comm, status, NULL, err);
    if (status == IOBM_OK)
        status = par_gather_all(job->comm, &mine, sizeof(mine), all, err);
    if (status == IOBM_OK && job->comm->rank == 0)
        status = fold(job, all, evidence, row, ranks, detail, err);
    free(all);
    return par_agree_all(job->comm, status, NULL, err);
}
