/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One timeline for all ranks: the exchanges of stamps between domain leaders,
 * and what each rank keeps of them.  The arithmetic of offsets and bounds is
 * in src/stats/clockfit.c.
 */
#include "par/timeline.h"

#include <assert.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define EXCHANGES_MIN  20
#define EXCHANGES_MAX  100
#define EXCHANGES_STEP 10   /* between two looks at the bound */
#define WORTH_GOING_ON 0.95 /* the bound must have become this much better */
#define CHECKS         5

/* An interval whose bounds leave the skew open by more than this is no
 * measure for the next one's. */
#define SKEW_TOLD_PPM 10.0

#define START_MIN_NS   INT64_C(20000000)
#define START_BARRIERS 20
#define POLL_NS        INT64_C(1000000)

enum timeline_tag { TAG_ASK = 1101, TAG_STAMP, TAG_POINT, TAG_ROW };
enum ask { ASK_STAMP, ASK_END };

int timeline_parent(int domain, int domains, int star_domains, int fan_out)
{
    if (domains <= star_domains || domain % fan_out == 0)
        return 0;
    return domain - domain % fan_out;
}

static int my_domain(const struct timeline *timeline)
{
    return timeline->map->domain_of[timeline->comm->rank];
}

static int parent_of(const struct timeline *timeline, int domain)
{
    return timeline_parent(domain, timeline->map->domains,
                           timeline->star_domains, timeline->fan_out);
}

enum iobm_status timeline_init_all(struct timeline *timeline,
                                   const struct iobm_comm *comm,
                                   const struct node_map *map,
                                   struct iobm_error *err)
{
    memset(timeline, 0, sizeof(*timeline));
    timeline->comm = comm;
    timeline->map = map;
    timeline->domain.mpi = MPI_COMM_NULL;
    timeline->star_domains = TIMELINE_STAR_DOMAINS;
    timeline->fan_out = TIMELINE_FAN_OUT;
    if (map->domains == 1)
        return IOBM_OK;
    return par_comm_split_all(comm, my_domain(timeline), &timeline->domain,
                              err);
}

void timeline_release(struct timeline *timeline)
{
    par_comm_release(&timeline->domain);
    free(timeline->rows);
    timeline->rows = NULL;
    timeline->row_count = timeline->row_room = 0;
}

static enum iobm_status send(const struct timeline *timeline, int rank,
                             enum timeline_tag tag, const void *data,
                             size_t bytes, struct iobm_error *err)
{
    if (MPI_Send(data, (int)bytes, MPI_BYTE, rank, tag, timeline->comm->mpi) !=
        MPI_SUCCESS)
        return iobm_fail(err, IOBM_EIO, "cannot send a clock stamp to rank %d",
                         rank);
    return IOBM_OK;
}

static enum iobm_status receive(const struct timeline *timeline, int rank,
                                enum timeline_tag tag, void *data, size_t bytes,
                                struct iobm_error *err)
{
    if (MPI_Recv(data, (int)bytes, MPI_BYTE, rank, tag, timeline->comm->mpi,
                 MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return iobm_fail(err, IOBM_EIO,
                         "cannot receive a clock stamp from rank %d", rank);
    return IOBM_OK;
}

/* One exchange with the parent's leader 'rank'. */
static enum iobm_status exchange(const struct timeline *timeline, int rank,
                                 struct clock_sample *sample,
                                 struct iobm_error *err)
{
    const enum ask ask = ASK_STAMP;
    enum iobm_status status;

    sample->sent_ns = clock_now_ns();
    status = send(timeline, rank, TAG_ASK, &ask, sizeof(ask), err);
    if (status == IOBM_OK)
        status = receive(timeline, rank, TAG_STAMP, &sample->root_ns,
                         sizeof(sample->root_ns), err);
    sample->received_ns = clock_now_ns();
    return status;
}

/* Exchange until the bound gets no better. */
static enum iobm_status measure(const struct timeline *timeline, int rank,
                                struct clock_point *point, int *exchanges,
                                struct iobm_error *err)
{
    struct clock_sample samples[EXCHANGES_MAX];
    enum iobm_status status;
    int n = 0;

    /* The first waits for its turn and says nothing about the clocks. */
    status = exchange(timeline, rank, &samples[0], err);
    while (status == IOBM_OK && n < EXCHANGES_MAX) {
        int64_t before = n ? point->bound_ns : INT64_MAX;

        for (int i = 0; i < EXCHANGES_STEP && status == IOBM_OK; i++)
            status = exchange(timeline, rank, &samples[n++], err);
        if (status != IOBM_OK)
            break;
        *point = clockfit_point(samples, (size_t)n);
        if (n >= EXCHANGES_MIN &&
            (double)point->bound_ns > WORTH_GOING_ON * (double)before)
            break;
    }
    *exchanges = n;
    return status;
}

static enum iobm_status self_check(const struct timeline *timeline, int rank,
                                   const struct clock_point *point,
                                   bool *failed, struct iobm_error *err)
{
    struct clock_sample samples[CHECKS];
    enum iobm_status status = IOBM_OK;

    for (int i = 0; i < CHECKS && status == IOBM_OK; i++)
        status = exchange(timeline, rank, &samples[i], err);
    if (status == IOBM_OK)
        *failed = !clockfit_check(point, samples, CHECKS);
    return status;
}

/* What a domain's leader finds out at a point. */
struct finding {
    struct clock_point point;
    int exchanges;
    bool check_failed;
};

static enum iobm_status ask_parent(const struct timeline *timeline,
                                   struct finding *found,
                                   struct iobm_error *err)
{
    int parent = parent_of(timeline, my_domain(timeline));
    int rank = timeline->map->domain_leader[parent];
    const enum ask end = ASK_END;
    struct clock_point far;
    enum iobm_status status;

    status = measure(timeline, rank, &found->point, &found->exchanges, err);
    if (status == IOBM_OK)
        status = self_check(timeline, rank, &found->point, &found->check_failed,
                            err);
    if (status == IOBM_OK)
        status = send(timeline, rank, TAG_ASK, &end, sizeof(end), err);
    if (status == IOBM_OK)
        status = receive(timeline, rank, TAG_POINT, &far, sizeof(far), err);
    if (status == IOBM_OK)
        found->point = clockfit_chain(&found->point, &far);
    return status;
}

/* Answer the leader 'rank' until it has done. */
static enum iobm_status serve(const struct timeline *timeline, int rank,
                              const struct clock_point *point,
                              struct iobm_error *err)
{
    enum iobm_status status;
    enum ask ask;

    do {
        status = receive(timeline, rank, TAG_ASK, &ask, sizeof(ask), err);
        if (status == IOBM_OK && ask == ASK_STAMP) {
            int64_t now_ns = clock_now_ns();

            status =
                send(timeline, rank, TAG_STAMP, &now_ns, sizeof(now_ns), err);
        }
    } while (status == IOBM_OK && ask == ASK_STAMP);
    if (status != IOBM_OK)
        return status;
    return send(timeline, rank, TAG_POINT, point, sizeof(*point), err);
}

/* One after the other, so that none lengthens another's exchanges; those that
 * have children of their own first, as these wait. */
static enum iobm_status serve_children(const struct timeline *timeline,
                                       const struct clock_point *point,
                                       struct iobm_error *err)
{
    const struct node_map *map = timeline->map;
    enum iobm_status status = IOBM_OK;
    int mine = my_domain(timeline);

    for (int hubs = 1; hubs >= 0; hubs--)
        for (int d = 1; d < map->domains && status == IOBM_OK; d++)
            if (d != mine && parent_of(timeline, d) == mine &&
                (d % timeline->fan_out == 0) == hubs)
                status = serve(timeline, map->domain_leader[d], point, err);
    return status;
}

static enum iobm_status find_out(const struct timeline *timeline,
                                 struct finding *found, struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;

    if (my_domain(timeline) != 0)
        status = ask_parent(timeline, found, err);
    if (status == IOBM_OK)
        status = serve_children(timeline, &found->point, err);
    return status;
}

/* How far the bounds of two points leave the skew between them open. */
static double skew_open_ppm(const struct clock_point *a,
                            const struct clock_point *b)
{
    double span_ns = (double)(b->local_ns - a->local_ns);

    return span_ns > 0 ? (double)(a->bound_ns + b->bound_ns) / span_ns * 1e6
                       : INFINITY;
}

/* Take in a new point of this rank's domain.  Returns the skew since the one
 * before, NaN where that says nothing.  No clock drifts as far as one that was
 * set: that fails the check, too. */
static double advance(struct timeline *timeline, struct finding *found)
{
    double skew_ppm, open_ppm, change_ppm;

    timeline->previous = timeline->points ? timeline->last : found->point;
    timeline->last = found->point;
    timeline->skew_change_ppm = 0;
    skew_ppm = clockfit_skew_ppm(&timeline->previous, &timeline->last);
    open_ppm = skew_open_ppm(&timeline->previous, &timeline->last);
    found->check_failed |= fabs(skew_ppm) - open_ppm > CLOCKFIT_DRIFT_PPM;
    timeline->check_failed |= found->check_failed;
    if (timeline->points++ == 0)
        return NAN;

    if (timeline->skew_known) {
        /* Two points close together show wild skews that are all bound. */
        change_ppm = fabs(skew_ppm - timeline->last_skew_ppm) - open_ppm;
        timeline->skew_change_ppm = change_ppm > 0 ? change_ppm : 0;
    }
    if (open_ppm > SKEW_TOLD_PPM)
        return NAN;
    timeline->last_skew_ppm = skew_ppm;
    timeline->skew_known = true;
    return skew_ppm;
}

static void fill_row(const struct timeline *timeline,
                     const struct finding *found, double skew_ppm,
                     struct iobm_clock_row *row)
{
    int domain = my_domain(timeline);

    *row = (struct iobm_clock_row){
        .point = timeline->points - 1,
        .domain = domain,
        .leader_rank = timeline->map->domain_leader[domain],
        .ranks = timeline->map->domain_ranks[domain],
        .local_ns = found->point.local_ns,
        .offset_ns = found->point.offset_ns,
        .bound_ns = found->point.bound_ns,
        .rtt_min_ns = found->point.rtt_min_ns,
        .skew_ppm = skew_ppm,
        .exchanges = found->exchanges,
        .anomaly = found->point.anomaly,
        .check_failed = found->check_failed,
    };
}

/* Room for one more point's rows; NULL when memory is short. */
static struct iobm_clock_row *more_rows(struct timeline *timeline)
{
    size_t need = timeline->row_count + (size_t)timeline->map->domains;
    size_t room = timeline->row_room;
    struct iobm_clock_row *rows;

    if (need > room) {
        room = need > 2 * room ? need : 2 * room;
        rows = realloc(timeline->rows, room * sizeof(*rows));
        if (!rows)
            return NULL;
        timeline->rows = rows;
        timeline->row_room = room;
    }
    return timeline->rows + timeline->row_count;
}

/* Rank 0 receives the rows of all domains, also when it cannot keep them. */
static enum iobm_status collect(struct timeline *timeline,
                                const struct iobm_clock_row *mine,
                                struct iobm_error *err)
{
    const struct node_map *map = timeline->map;
    struct iobm_clock_row *rows = more_rows(timeline);
    enum iobm_status status = IOBM_OK;
    struct iobm_clock_row row = *mine;

    for (int d = 0; d < map->domains && status == IOBM_OK; d++) {
        if (d > 0)
            status = receive(timeline, map->domain_leader[d], TAG_ROW, &row,
                             sizeof(row), err);
        if (rows)
            rows[d] = row;
    }
    if (status != IOBM_OK)
        return status;
    if (!rows)
        return iobm_fail(err, IOBM_ENOMEM,
                         "cannot keep the clock points: out of memory");
    timeline->row_count += (size_t)map->domains;
    return IOBM_OK;
}

static enum iobm_status report(struct timeline *timeline,
                               const struct finding *found, double skew_ppm,
                               struct iobm_error *err)
{
    int rank = timeline->comm->rank;
    struct iobm_clock_row row;

    if (rank != timeline->map->domain_leader[my_domain(timeline)])
        return IOBM_OK;
    fill_row(timeline, found, skew_ppm, &row);
    if (rank == 0)
        return collect(timeline, &row, err);
    return send(timeline, 0, TAG_ROW, &row, sizeof(row), err);
}

enum iobm_status timeline_point_all(struct timeline *timeline,
                                    struct iobm_error *err)
{
    /* Root's own domain needs no offset. */
    struct finding found = {.point.local_ns = clock_now_ns()};
    enum iobm_status status = IOBM_OK;

    if (timeline->points == 0) {
        timeline->zero_ns = found.point.local_ns;
        status = par_bcast_all(timeline->comm, &timeline->zero_ns,
                               sizeof(timeline->zero_ns), 0, err);
    }
    if (status == IOBM_OK && timeline->map->domains > 1) {
        if (timeline->domain.rank == 0)
            status = find_out(timeline, &found, err);
        if (status == IOBM_OK)
            status =
                par_bcast_all(&timeline->domain, &found, sizeof(found), 0, err);
    }
    if (status != IOBM_OK)
        return status;
    return report(timeline, &found, advance(timeline, &found), err);
}

int64_t timeline_global(const struct timeline *timeline, int64_t local_ns,
                        int64_t *bound_ns)
{
    assert(timeline->points > 0);
    return clockfit_global(&timeline->previous, &timeline->last, local_ns,
                           timeline->skew_change_ppm, bound_ns) -
           timeline->zero_ns;
}

/* When this rank's clock will show that root's shows 'root_ns'. */
static int64_t local_time(const struct timeline *timeline, int64_t root_ns)
{
    const struct clock_point *last = &timeline->last;
    double skew = timeline->last_skew_ppm * 1e-6;
    int64_t ahead_ns = root_ns - (last->local_ns + last->offset_ns);

    if (my_domain(timeline) == 0)
        return root_ns;
    return last->local_ns + ahead_ns -
           (int64_t)((double)ahead_ns * skew / (1 + skew));
}

/* Rank 0 must not pick a time before all have come; the first barrier at all
 * includes the wait for late ranks, so it is repeated for its duration. */
static enum iobm_status measure_barrier_all(struct timeline *timeline,
                                            struct iobm_error *err)
{
    bool first = timeline->barrier_ns == 0;
    enum iobm_status status = IOBM_OK;

    for (int i = 0; i < (first ? 2 : 1) && status == IOBM_OK; i++) {
        int64_t from_ns = clock_now_ns();
        int64_t took_ns;

        status = par_barrier_all(timeline->comm, err);
        took_ns = clock_now_ns() - from_ns + 1;
        if (timeline->barrier_ns == 0 || took_ns < timeline->barrier_ns)
            timeline->barrier_ns = took_ns;
    }
    return status;
}

enum iobm_status timeline_start_all(struct timeline *timeline,
                                    int64_t *start_local_ns, int64_t *utc_ns,
                                    struct iobm_error *err)
{
    enum iobm_status status = measure_barrier_all(timeline, err);
    int64_t ahead_ns = timeline->barrier_ns * START_BARRIERS;
    struct {
        int64_t root_ns, utc_ns;
    } start;

    if (status != IOBM_OK)
        return status;
    if (ahead_ns < START_MIN_NS)
        ahead_ns = START_MIN_NS;
    start.root_ns = clock_now_ns() + ahead_ns;
    start.utc_ns = clock_utc_ns() + ahead_ns;
    status = par_bcast_all(timeline->comm, &start, sizeof(start), 0, err);
    if (status != IOBM_OK)
        return status;
    *start_local_ns = local_time(timeline, start.root_ns);
    *utc_ns = start.utc_ns;
    return IOBM_OK;
}

int64_t timeline_wait(int64_t start_local_ns)
{
    int64_t left_ns = start_local_ns - clock_now_ns();

    if (left_ns < 0)
        return -left_ns;
    for (; left_ns > POLL_NS; left_ns = start_local_ns - clock_now_ns())
        clock_sleep_ns(left_ns - POLL_NS);
    /* There may be more ranks than cores; where not, yielding is cheap. */
    while (clock_now_ns() < start_local_ns)
        sched_yield();
    return 0;
}
