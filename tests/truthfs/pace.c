/* SPDX-License-Identifier: BSD-3-Clause */

/* The arithmetic of a device's speed; see pace.h.  No clock, no I/O. */

#include "truthfs/pace.h"

#include <string.h>

#include "truthfs/moment.h"

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t take_ns(double bytes, double rate)
{
    return rate > 0 ? (int64_t)(bytes * (double)NS_PER_S / rate + 0.5) : 0;
}

void pace_init(struct pace *pace)
{
    memset(pace, 0, sizeof(*pace));
    pthread_mutex_init(&pace->lock, NULL);
    pace->read_rate = pace->write_rate = -1;
    pace->burst_ns = 20000000;
}

void pace_reset(struct pace *pace)
{
    pthread_mutex_lock(&pace->lock);
    memset(pace->free_ns, 0, sizeof(pace->free_ns));
    pace->memory_free_ns = 0;
    pace->operations = 0;
    pace->cliff_fill = 0;
    pace->cliff_ns = 0;
    pace->dirty_bytes = 0;
    pthread_mutex_unlock(&pace->lock);
}

/* When what arrives at 'now' is started with; see pace.h. */
static int64_t start_ns(int64_t free_ns, struct pace_client *client,
                        int64_t now, int64_t burst_ns)
{
    int64_t ready;
    int kept = 0;

    for (int i = 0; i < client->count; i++) {
        if (client->answer_ns[i] <= now)
            client->answered_ns =
                larger(client->answered_ns, client->answer_ns[i]);
        else
            client->answer_ns[kept++] = client->answer_ns[i];
    }
    client->count = kept;
    ready = larger(free_ns, client->answered_ns);
    if (free_ns >= now ||
        (client->answered_ns > 0 && client->answered_ns >= now - burst_ns))
        return ready;
    return now;
}

static void keep_answer(struct pace_client *client, int64_t answer_ns)
{
    if (client->count < PACE_OUTSTANDING)
        client->answer_ns[client->count++] = answer_ns;
}

static int64_t *free_of(struct pace *pace, bool write)
{
    bool separate = pace->read_rate >= 0 || pace->write_rate >= 0;

    return &pace->free_ns[separate && write];
}

static double rate_of(const struct pace *pace, bool write)
{
    double own = write ? pace->write_rate : pace->read_rate;

    return own >= 0 ? own : pace->rate;
}

/* A store of cliff_bytes takes in at cliff_rate until it is full. */
static int64_t cliff_take_ns(struct pace *pace, int64_t bytes, int64_t start,
                             double slow)
{
    double drain = pace->cliff_drains ? slow : 0;
    double fast = pace->cliff_rate;
    double room, quick;

    if (drain > 0 && start > pace->cliff_ns) {
        pace->cliff_fill -=
            drain * (double)(start - pace->cliff_ns) / (double)NS_PER_S;
        if (pace->cliff_fill < 0)
            pace->cliff_fill = 0;
    }
    room = (double)pace->cliff_bytes - pace->cliff_fill;
    if (room < 0)
        room = 0;
    /* While it fills it also drains: it fills at the difference. */
    if (drain > 0 && fast > drain)
        room *= fast / (fast - drain);
    quick = (double)bytes < room ? (double)bytes : room;
    pace->cliff_fill +=
        drain > 0 && fast > drain ? quick * (fast - drain) / fast : quick;
    start += take_ns(quick, fast) + take_ns((double)bytes - quick, slow);
    pace->cliff_ns = start;
    return start;
}

/* When the device has done it. */
static int64_t serve(struct pace *pace, struct pace_client *client, bool write,
                     int64_t bytes, int64_t now)
{
    int64_t *free_ns = free_of(pace, write);
    int64_t start = start_ns(*free_ns, client, now, pace->burst_ns);
    double rate = rate_of(pace, write);
    int64_t done;

    if (write && pace->cliff_bytes > 0)
        done = cliff_take_ns(pace, bytes, start, rate);
    else
        done = start + take_ns((double)bytes, rate);
    if (pace->stall_every > 0 && ++pace->operations % pace->stall_every == 0)
        done += pace->stall_ns;
    *free_ns = done;
    return done;
}

/* Into the cache: done when there is room for it. */
static int64_t cache_write(struct pace *pace, struct pace_file *file,
                           int64_t bytes, int64_t now)
{
    int64_t into = bytes;
    int64_t done =
        start_ns(pace->memory_free_ns, &file->memory, now, pace->burst_ns) +
        take_ns((double)bytes, pace->cache_rate);

    pace->memory_free_ns = done;
    keep_answer(&file->memory, done);
    if (pace->cache_lazy) {
        if (into > pace->cache_bytes - pace->dirty_bytes)
            into = pace->cache_bytes - pace->dirty_bytes;
        pace->dirty_bytes += into;
        file->dirty_bytes += into;
        if (into < bytes)
            done = larger(done, serve(pace, &file->device[true], true,
                                      bytes - into, now));
        return done;
    }
    file->drained_ns = serve(pace, &file->device[true], true, bytes, now);
    /* Room is there when all but a cacheful has been written. */
    return larger(done, file->drained_ns - take_ns((double)pace->cache_bytes,
                                                   rate_of(pace, true)));
}

int64_t pace_transfer(struct pace *pace, struct pace_file *file,
                      double file_rate, bool write, int64_t bytes, int64_t now)
{
    int64_t done, own;

    pthread_mutex_lock(&pace->lock);
    if (write && pace->cache_bytes > 0)
        done = cache_write(pace, file, bytes, now);
    else
        done = serve(pace, &file->device[write], write, bytes, now);
    keep_answer(&file->device[write], done + pace->latency_ns);
    if (file_rate > 0) {
        own = start_ns(file->own_free_ns, &file->own[write], now,
                       pace->burst_ns) +
              take_ns((double)bytes, file_rate);
        file->own_free_ns = own;
        keep_answer(&file->own[write], own + pace->latency_ns);
        done = larger(done, own);
    }
    done = larger(done, now) + pace->latency_ns;
    pthread_mutex_unlock(&pace->lock);
    return done;
}

int64_t pace_sync(struct pace *pace, struct pace_file *file, int64_t now)
{
    int64_t done = now;

    pthread_mutex_lock(&pace->lock);
    if (pace->cache_lazy && file->dirty_bytes > 0) {
        done = serve(pace, &file->device[true], true, file->dirty_bytes, now);
        pace->dirty_bytes -= file->dirty_bytes;
        file->dirty_bytes = 0;
    }
    done = larger(larger(done, file->drained_ns), now) + pace->latency_ns;
    pthread_mutex_unlock(&pace->lock);
    return done;
}

int64_t pace_dirty(struct pace *pace, int64_t now)
{
    int64_t dirty = 0;
    int64_t ahead;

    pthread_mutex_lock(&pace->lock);
    ahead = *free_of(pace, true) - now;
    if (pace->cache_lazy)
        dirty = pace->dirty_bytes;
    else if (pace->cache_bytes > 0 && ahead > 0)
        dirty =
            (int64_t)((double)ahead * rate_of(pace, true) / (double)NS_PER_S);
    pthread_mutex_unlock(&pace->lock);
    return dirty;
}
