/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_PAR_TIMELINE_H
#define IOBM_PAR_TIMELINE_H

/*
 * One timeline over all clock domains (docs/method.md section 2): sync points
 * by exchange of stamps between domain leaders and rank 0 (a star up to 256
 * domains, above that a two-level tree of fan-out 32), shared within each
 * domain.
 */

#include "base/clock.h"
#include "iobm/result.h"
#include "par/nodes.h"
#include "stats/clockfit.h"

#define TIMELINE_STAR_DOMAINS 256
#define TIMELINE_FAN_OUT      32

struct timeline {
    const struct iobm_comm *comm;
    const struct node_map *map;
    struct iobm_comm domain;   /* the ranks that share this rank's clock */
    int star_domains, fan_out; /* see above; tests set smaller ones before
                                  the first point */
    int64_t zero_ns;           /* root's clock at the first point */
    int points;
    struct clock_point last, previous; /* of this rank's domain */
    double skew_change_ppm; /* of the last interval against 'last_skew_ppm',
                               as far as the bounds do not explain it */
    double last_skew_ppm;   /* of the last interval that could tell it */
    bool skew_known;
    int64_t barrier_ns; /* rank 0: the shortest so far; 0: not measured */
    bool check_failed;  /* at any point so far, of this domain */
    struct iobm_clock_row *rows; /* rank 0: every point of every domain */
    size_t row_count, row_room;
};

enum iobm_status timeline_init_all(struct timeline *timeline,
                                   const struct iobm_comm *comm,
                                   const struct node_map *map,
                                   struct iobm_error *err) IOBM_CHECK;
void timeline_release(struct timeline *timeline);

/*
 * A sync point: exchanges, fit, self-check with 5 fresh exchanges.  Costs no
 * exchange when there is one domain (and one broadcast at the first point).
 * No barrier: ranks leave it when their domain has its point.  The outcome
 * is each rank's own; agree on it before the next step.
 */
enum iobm_status timeline_point_all(struct timeline *timeline,
                                    struct iobm_error *err) IOBM_CHECK;

/* The pure part: with which domain a domain exchanges stamps; 0 is root's. */
int timeline_parent(int domain, int domains, int star_domains, int fan_out);

/* A local time between the last two points, as global ns since the zero.
 * Needs a point; with one, the bound grows by 200 ppm of the distance. */
int64_t timeline_global(const struct timeline *timeline, int64_t local_ns,
                        int64_t *bound_ns);

/*
 * A common start: rank 0 measures a barrier, picks t0 = now + max(20 ms, 20
 * barriers), and everyone gets t0 on its own clock.  '*utc_ns' is rank 0's
 * wall-clock time of t0 on every rank.
 */
enum iobm_status timeline_start_all(struct timeline *timeline,
                                    int64_t *start_local_ns, int64_t *utc_ns,
                                    struct iobm_error *err) IOBM_CHECK;

/* Sleep until 1 ms before 'start_local_ns', then poll (yielding); returns how
 * late it was already when called (0: in time). */
int64_t timeline_wait(int64_t start_local_ns);

#endif
