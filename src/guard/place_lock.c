/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The lock of a place: a file that only one process can create, which works
 * on NFS and Lustre too, where byte locks may not.  It is held for as long as
 * it takes to replace older test files by a new manifest, not for the run.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "guard/alive.h"
#include "guard/place.h"

enum { LOCK_TRIES = 100 };
#define LOCK_PAUSE_NS INT64_C(50000000)
#define LOCK_TEXT     256

/* Named by a hash (FNV-1a), so that the longest name can be locked too; two
 * names with one hash only wait for each other. */
static void lock_name(const struct place *place, char name[PLACE_NAME_ROOM])
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (const char *c = place->name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    snprintf(name, PLACE_NAME_ROOM, ".iobm-%016" PRIx64 ".lock", hash);
}

static void lock_text(char text[LOCK_TEXT])
{
    struct alive self;

    alive_self(&self);
    snprintf(text, LOCK_TEXT, "%s %s %" PRId64 " %" PRId64 "\n",
             self.host[0] ? self.host : "-", self.place[0] ? self.place : "-",
             self.pid, self.start);
}

/* The holder as it stands in the lock; false when it cannot be told. */
static bool lock_holder(const struct place *place, const char *name,
                        struct alive *holder)
{
    char text[LOCK_TEXT];
    int fd = openat(place->dir, name,
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    memset(holder, 0, sizeof(*holder));
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    return sscanf(text, "%63s %79s %" SCNd64 " %" SCNd64, holder->host,
                  holder->place, &holder->pid, &holder->start) == 4;
}

/* Take it, or return the errno. */
static int try_lock(const struct place *place, const char *name,
                    int64_t *now_ns)
{
    char text[LOCK_TEXT];
    struct stat st;
    ssize_t n;
    int why = 0;
    int fd = openat(place->dir, name,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

    if (fd < 0)
        return errno;
    lock_text(text);
    n = write(fd, text, strlen(text));
    if (n != (ssize_t)strlen(text))
        why = n < 0 ? errno : ENOSPC;
    if (fstat(fd, &st) == 0)
        *now_ns = place_mtime_ns(&st);
    else if (!why)
        why = errno;
    if (close(fd) != 0 && !why)
        why = errno;
    if (why)
        (void)unlinkat(place->dir, name, 0);
    return why;
}

enum iobm_status place_lock(const struct place *place, int64_t *now_ns,
                            struct iobm_error *err)
{
    char name[PLACE_NAME_ROOM];
    struct alive holder;
    int why = EEXIST;

    lock_name(place, name);
    for (int i = 0; i < LOCK_TRIES; i++) {
        why = try_lock(place, name, now_ns);
        if (why != EEXIST)
            break;
        if (lock_holder(place, name, &holder) &&
            alive_look(&holder) == ALIVE_NO)
            (void)unlinkat(place->dir, name, 0);
        else
            clock_sleep_ns(LOCK_PAUSE_NS);
    }
    if (why == 0)
        return IOBM_OK;
    if (why != EEXIST)
        return iobm_fail_errno(err, why, "cannot create '%s/%s'",
                               place->directory, name);
    if (!lock_holder(place, name, &holder))
        return iobm_fail(err, IOBM_EUSAGE,
                         "another iobm is preparing '%s/%s': if not, remove "
                         "'%s/%s'",
                         place->directory, place->name, place->directory, name);
    return iobm_fail(err, IOBM_EUSAGE,
                     "another iobm (process %" PRId64
                     " on %s) is preparing '%s/%s': if not, remove '%s/%s'",
                     holder.pid, holder.host, place->directory, place->name,
                     place->directory, name);
}

void place_unlock(const struct place *place)
{
    char name[PLACE_NAME_ROOM];
    struct alive holder;

    lock_name(place, name);
    if (lock_holder(place, name, &holder) && alive_look(&holder) == ALIVE_SELF)
        (void)unlinkat(place->dir, name, 0);
}
