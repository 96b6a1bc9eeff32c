/* SPDX-License-Identifier: BSD-3-Clause */

/* The verdict on a read, and what is impossible without a cache: see
 * verdict.h. */

#include "judge/verdict.h"

#include <math.h>
#include <string.h>

#include "base/str.h"

/* The rounding of a double must not decide at the limit itself. */
#define EDGE              1e-9
#define COLD_SHARE        (0.01 + EDGE)
#define MOSTLY_COLD_SHARE (0.10 + EDGE)
#define CACHED_SHARE      (0.90 + EDGE)

/* What a link carries beside the data only makes it slower: no slack but for
 * a rate that /sys rounds. */
#define LINK_SLACK 1.05

const char *verdict_cache_name(enum verdict_cache cache)
{
    static const char *const names[] = {"none",  "cold",   "mostly-cold",
                                        "mixed", "cached", "unknown"};

    return names[cache];
}

static double limited(double share)
{
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

/* The share that 'real' of 'all' bytes did not come from, or NaN. */
static double missing(int64_t real, int64_t all)
{
    if (real < 0 || all <= 0)
        return NAN;
    return limited(1 - (double)real / (double)all);
}

#define CACHE_GIVES_AWAY 0.01 /* of direct I/O, found in the page cache */
#define OTHERS           1.10 /* of V, read from the device */

static bool settle(struct verdict *out, const char *witness, double share)
{
    if (isnan(share))
        return false;
    out->cached_share = share;
    str_copy(out->witness, sizeof(out->witness), witness);
    out->cache = share <= COLD_SHARE          ? VERDICT_COLD
                 : share <= MOSTLY_COLD_SHARE ? VERDICT_MOSTLY_COLD
                 : share <= CACHED_SHARE      ? VERDICT_MIXED
                                              : VERDICT_CACHED;
    return true;
}

/* What a network file system's counters say.  They count the whole node:
 * other users' reads make the share smaller than it is, never larger, as long
 * as those are not cached; so the client's own bytes are not taken for V when
 * they are fewer. */
static double client_share(int64_t server, int64_t client, int64_t bytes)
{
    if (client < 0)
        return NAN;
    return missing(server, client > bytes ? client : bytes);
}

/* What the links cannot have carried; that they did carry the rest is not
 * known. */
static double beyond_link(const struct verdict_input *in)
{
    return limited(1 - in->link_Bps * in->seconds / (double)in->bytes);
}

static void judge_read(const struct verdict_input *in, struct verdict *out)
{
    bool buffered = in->page_cache && !in->direct;
    double beyond = out->faster_than_link ? beyond_link(in) : NAN;

    out->cache = VERDICT_UNKNOWN;
    if (in->memory) {
        (void)settle(out, "memory", 1);
        return;
    }
    if (in->nfs && settle(out, "nfs",
                          client_share(in->nfs_server_read, in->nfs_client_read,
                                       in->bytes)))
        return;
    if (in->lustre && settle(out, "lustre",
                             client_share(in->lustre_osc_read,
                                          in->lustre_client_read, in->bytes)))
        return;
    if (in->block_backed &&
        settle(out, "self_io", missing(in->self_read_bytes, in->bytes)))
        return;
    if (in->hidden_cache && !(in->resident_share > CACHED_SHARE))
        buffered = false; /* proves nothing */
    if (buffered && settle(out, "cachestat", in->resident_share) &&
        !(beyond > out->cached_share))
        return;
    (void)settle(out, "link", beyond);
}

static double mb(int64_t bytes)
{
    return (double)bytes / 1e6;
}

static int64_t from_servers(const struct verdict_input *in, bool nfs)
{
    return nfs ? in->nfs_server_read : in->lustre_osc_read;
}

/* Of the witness that decided. */
static void explain_read(const struct verdict_input *in,
                         const struct verdict *out, struct str *why)
{
    bool nfs = strcmp(out->witness, "nfs") == 0;

    if (in->memory)
        str_addf(why, "the files are in memory: no storage was read");
    else if (nfs || strcmp(out->witness, "lustre") == 0)
        str_addf(why, "the servers sent %.4g MB while %.4g MB were read",
                 mb(from_servers(in, nfs)), mb(in->bytes));
    else if (strcmp(out->witness, "self_io") == 0)
        str_addf(why, "the device gave %.4g of the %.4g MB that were read",
                 mb(in->self_read_bytes), mb(in->bytes));
    else if (strcmp(out->witness, "cachestat") == 0)
        str_addf(why, "%.3g %% of the data was in the page cache before",
                 100 * out->cached_share);
    else if (out->cache == VERDICT_UNKNOWN)
        str_addf(why, "no witness is valid for this file system%s",
                 in->other_node ? "; each rank read what another node wrote"
                                : "");
    if (strcmp(out->witness, "self_io") == 0 &&
        (double)in->device_read_bytes > OTHERS * (double)in->bytes)
        str_addf(why, "; others used the device too: %.4g MB in all",
                 mb(in->device_read_bytes));
}

/* Why 900 MB/s can come over 100 Mbit/s. */
static void explain_link(const struct verdict_input *in, struct str *why)
{
    str_addf(why, "%s%s %.4g MB/s over links that carry %.4g MB/s%s: %s",
             why->length ? "; " : "", in->write ? "wrote" : "read",
             (double)in->bytes / in->seconds / 1e6, in->link_Bps / 1e6,
             in->nodes > 1 ? " together" : "",
             in->write ? "a cache took it" : "a cache answered");
    if (!in->write && in->link_rx_bytes >= 0)
        str_addf(why, ", and the links brought %.4g of %.4g MB",
                 mb(in->link_rx_bytes), mb(in->bytes));
}

static void explain(const struct verdict_input *in, struct verdict *out)
{
    struct str why = {0};

    if (!in->write)
        explain_read(in, out, &why);
    if (out->faster_than_link)
        explain_link(in, &why);
    if (out->direct_not_honoured)
        str_addf(&why, "%sO_DIRECT was accepted, but not honoured",
                 why.length ? "; " : "");
    str_copy(out->why, sizeof(out->why), str_text(&why));
    str_release(&why);
}

void verdict_judge(const struct verdict_input *in, struct verdict *out)
{
    double rate = in->seconds > 0 ? (double)in->bytes / in->seconds : 0;

    *out = (struct verdict){.cache = VERDICT_NONE, .cached_share = NAN};
    out->faster_than_link =
        in->network && in->link_Bps > 0 && rate > in->link_Bps * LINK_SLACK;
    if (!in->write)
        judge_read(in, out);
    out->direct_not_honoured =
        in->direct && (in->memory || in->direct_share > CACHE_GIVES_AWAY ||
                       (!in->write && out->cached_share > COLD_SHARE));
    explain(in, out);
}
