/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The node's links: what they moved and what they could.  Bytes that go
 * through two of them (bonds, bridges, VLANs, IP over InfiniBand) count once:
 * at the card or the port.
 */

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "env/procfile.h"
#include "env/witness_impl.h"

static DIR *open_dir(const char *root, const char *path)
{
    char full[PATH_MAX];

    snprintf(full, sizeof(full), "%s%s", root, path);
    return opendir(full);
}

/* Sums of one kind of link. */
struct links {
    int64_t rx_bytes, tx_bytes; /* -1: none */
    int64_t bits_per_s;
    int64_t mystery_bytes; /* of those whose speed is not known */
};

static const struct links no_links = {-1, -1, -1, 0};

static void add_link(struct links *sum, int64_t rx, int64_t tx, int64_t bits)
{
    witness_add(&sum->rx_bytes, rx);
    witness_add(&sum->tx_bytes, tx);
    witness_add(&sum->bits_per_s, bits);
    if (bits < 0)
        sum->mystery_bytes += (rx > 0 ? rx : 0) + (tx > 0 ? tx : 0);
}

/* What /sys/class/net says of an interface's place in the stack. */
struct place {
    bool card;   /* not virtual */
    bool stands; /* its bytes are those of other links */
};

static struct place find_place(const char *root, const char *name)
{
    char path[NAME_MAX + 64];
    struct place place = {false, false};
    DIR *dir;

    snprintf(path, sizeof(path), "/sys/class/net/%s", name);
    dir = open_dir(root, path);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (strcmp(e->d_name, "device") == 0)
            place.card = true;
        else if (strncmp(e->d_name, "lower_", 6) == 0 ||
                 strcmp(e->d_name, "bridge") == 0 ||
                 strcmp(e->d_name, "bonding") == 0 ||
                 strcmp(e->d_name, "tun_flags") == 0)
            place.stands = true;
    }
    if (dir)
        closedir(dir);
    return place;
}

static int64_t number(const char *root, const char *name, const char *what)
{
    char path[NAME_MAX + 64];
    int64_t value;

    snprintf(path, sizeof(path), "/sys/class/net/%s/%s", name, what);
    return procfile_int(root, path, &value) ? value : -1;
}

/* Some drivers never say more than "unknown". */
static bool is_up(const char *root, const char *name)
{
    char path[NAME_MAX + 64], state[16];

    snprintf(path, sizeof(path), "/sys/class/net/%s/operstate", name);
    if (!procfile_line(root, path, state, sizeof(state)))
        return false;
    return strcmp(state, "up") == 0 || (strcmp(state, "unknown") == 0 &&
                                        number(root, name, "carrier") == 1);
}

#define TYPE_INFINIBAND 32  /* ARPHRD_INFINIBAND */
#define TYPE_LOOPBACK   772 /* ARPHRD_LOOPBACK */

static void add_interface(const char *root, const char *name,
                          struct links *cards, struct links *virtuals)
{
    int64_t type = number(root, name, "type");
    struct place place;
    int64_t megabits;

    if (type == TYPE_INFINIBAND || type == TYPE_LOOPBACK || !is_up(root, name))
        return;
    place = find_place(root, name);
    if (place.stands)
        return;
    megabits = place.card ? number(root, name, "speed") : -1;
    add_link(place.card ? cards : virtuals,
             number(root, name, "statistics/rx_bytes"),
             number(root, name, "statistics/tx_bytes"),
             megabits > 0 && megabits < INT_MAX ? megabits * 1000000 : -1);
}

/* Data is counted in words of four bytes. */
static int64_t port_bytes(const char *root, const char *port, const char *what)
{
    char path[2 * NAME_MAX + 96];
    int64_t words;

    snprintf(path, sizeof(path), "%s/counters/%s", port, what);
    return procfile_int(root, path, &words) && words <= INT64_MAX / 4
               ? words * 4
               : -1;
}

/* "100 Gb/sec (4X EDR)", "2.5 Gb/sec (1X SDR)" in bits per second; -1 */
static int64_t port_rate(const char *root, const char *port)
{
    char path[2 * NAME_MAX + 96], text[64], *end;
    double gigabits;

    snprintf(path, sizeof(path), "%s/rate", port);
    if (!procfile_line(root, path, text, sizeof(text)))
        return -1;
    gigabits = strtod(text, &end);
    if (end == text || strncmp(end, " Gb/sec", 7) != 0 || !(gigabits > 0) ||
        gigabits > 1e6)
        return -1;
    return (int64_t)(gigabits * 1e9 + 0.5);
}

static void add_port(const char *root, const char *port, struct links *sum)
{
    char path[2 * NAME_MAX + 96], text[64];

    snprintf(path, sizeof(path), "%s/state", port);
    if (!procfile_line(root, path, text, sizeof(text)) ||
        !strstr(text, "ACTIVE"))
        return;
    snprintf(path, sizeof(path), "%s/link_layer", port);
    /* RoCE: its rate is that of a network card */
    if (procfile_line(root, path, text, sizeof(text)) &&
        strcmp(text, "Ethernet") == 0)
        return;
    add_link(sum, port_bytes(root, port, "port_rcv_data"),
             port_bytes(root, port, "port_xmit_data"), port_rate(root, port));
}

static void add_device(const char *root, const char *device, struct links *sum)
{
    char ports[NAME_MAX + 64], path[2 * NAME_MAX + 66];
    DIR *dir;

    snprintf(ports, sizeof(ports), "/sys/class/infiniband/%s/ports", device);
    dir = open_dir(root, ports);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", ports, e->d_name);
        add_port(root, path, sum);
    }
    if (dir)
        closedir(dir);
}

void witness_link(const struct witness_target *t, struct witness_sample *out)
{
    struct links cards = no_links, virtuals = no_links;
    const struct links *found;
    DIR *dir = open_dir(t->root, "/sys/class/net");

    for (struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.' && strcmp(e->d_name, "lo") != 0)
            add_interface(t->root, e->d_name, &cards, &virtuals);
    if (dir)
        closedir(dir);
    dir = open_dir(t->root, "/sys/class/infiniband");
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.')
            add_device(t->root, e->d_name, &cards);
    if (dir)
        closedir(dir);

    found = cards.rx_bytes >= 0 || cards.bits_per_s >= 0 ? &cards : &virtuals;
    out->link_rx_bytes = found->rx_bytes;
    out->link_tx_bytes = found->tx_bytes;
    if (found->mystery_bytes <= (found->rx_bytes + found->tx_bytes) / 100)
        out->link_bits_per_s = found->bits_per_s;
}
