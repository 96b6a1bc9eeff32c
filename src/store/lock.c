/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The lock file: see lock.h.  A file with the holder's name is made beside
 * and linked to the lock's path.  To break a stale lock a process first takes
 * a lock of the same kind on the breaking (PATH.break), then looks again: so
 * nobody removes a lock that another one has just made in place of the stale
 * one.
 */

#include "store/lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "base/str.h"
#include "store/owner.h"

#define MAGIC      "iobm lock 1"
#define FIRST_WAIT INT64_C(1000000)
#define MOST_WAIT  INT64_C(50000000)
#define DEEPEST    3 /* locks on the breaking of locks */

enum outcome { TAKEN, HELD, FAILED };

static int64_t stamp_ns(const struct stat *facts)
{
    return (int64_t)facts->st_mtim.tv_sec * 1000000000 + facts->st_mtim.tv_nsec;
}

static char *join(const char *path, const char *suffix)
{
    struct str text = {0};

    str_add(&text, path);
    str_add(&text, suffix);
    if (text.failed)
        str_release(&text);
    return text.text;
}

/* Make 'path' anew with the name of this process in it. */
static enum iobm_status write_claim(const char *path, const char *token,
                                    struct stat *facts, struct iobm_error *err)
{
    int file =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    struct owner self;
    char text[512];
    int n, error = 0;

    if (file < 0)
        return iobm_fail_errno(err, errno, "cannot create lock '%s'", path);
    owner_init(&self);
    n = snprintf(text, sizeof(text),
                 MAGIC "\ntoken %s\nhost %s\npid %" PRId64 "\nstart %" PRId64
                       "\nplace %s\n",
                 token, self.host, self.pid, self.start, self.place);
    errno = 0;
    if (write(file, text, (size_t)n) != n)
        error = errno ? errno : ENOSPC;
    else if (fstat(file, facts) != 0)
        error = errno;
    if (close(file) != 0 && error == 0)
        error = errno;
    if (error == 0)
        return IOBM_OK;
    unlink(path);
    return iobm_fail_errno(err, error, "cannot write lock '%s'", path);
}

struct claim {
    char token[20];
    struct owner owner;
    struct stat file;
};

/* Who holds the lock at 'path', and the file that says so.  False when there
 * is none, or it does not say. */
static bool read_claim(const char *path, struct claim *claim)
{
    char text[512] = "";
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    ssize_t n;

    memset(claim, 0, sizeof(*claim));
    if (file < 0)
        return false;
    n = fstat(file, &claim->file) == 0 ? read(file, text, sizeof(text) - 1)
                                       : -1;
    close(file);
    return n > 0 && sscanf(text,
                           MAGIC "\ntoken %19s\nhost %63[^\n]\npid %" SCNd64
                                 "\nstart %" SCNd64 "\nplace %191[^\n]\n",
                           claim->token, claim->owner.host, &claim->owner.pid,
                           &claim->owner.start, claim->owner.place) == 5;
}

/* Link the claim to 'path'.  On NFS the answer to a link that was made can be
 * lost and the repeated request be refused: the count of links tells. */
static enum outcome link_claim(const char *claim, const char *path,
                               struct iobm_error *err)
{
    struct stat facts;
    int error = link(claim, path) == 0 ? 0 : errno;

    if (error == 0 || (stat(claim, &facts) == 0 && facts.st_nlink == 2))
        return TAKEN;
    if (error == EEXIST || error == ENOENT) /* the claim was swept away */
        return HELD;
    if (error == EPERM || error == EOPNOTSUPP || error == ENOSYS ||
        error == EMLINK) {
        /* A file system without links: an exclusive create must do. */
        int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

        if (file >= 0) {
            close(file);
            if (rename(claim, path) == 0)
                return TAKEN;
            error = errno;
            unlink(path);
        } else if (errno == EEXIST) {
            return HELD;
        } else {
            error = errno;
        }
    }
    iobm_fail_errno(err, error, "cannot create lock '%s'", path);
    return FAILED;
}

static enum outcome try_once(const char *path, struct lock *lock,
                             struct iobm_error *err)
{
    char suffix[64];
    struct stat facts = {0};
    enum outcome outcome = FAILED;
    char *claim;

    snprintf(lock->token, sizeof(lock->token), "%016" PRIx64, rng_seed());
    snprintf(suffix, sizeof(suffix), ".%s", lock->token);
    claim = join(path, suffix);
    if (!claim) {
        iobm_fail(err, IOBM_ENOMEM, "cannot create lock '%s'", path);
        return FAILED;
    }
    if (write_claim(claim, lock->token, &facts, err) == IOBM_OK) {
        lock->made_ns = stamp_ns(&facts);
        outcome = link_claim(claim, path, err);
        unlink(claim);
    }
    free(claim);
    return outcome;
}

/* Whether the lock at 'path' may be broken; 'now_ns' is the file system's
 * time.  A lock that says nothing is being written, or was left so. */
static bool is_stale(const char *path, int64_t now_ns,
                     const struct lock_how *how)
{
    struct claim claim;

    if (read_claim(path, &claim)) {
        enum owner_state state = owner_ask(&claim.owner);

        if (state != OWNER_ELSEWHERE)
            return state == OWNER_GONE;
    }
    return claim.file.st_ino != 0 &&
           now_ns - stamp_ns(&claim.file) > how->foreign_ns;
}

static bool is_ours(const char *path, const struct lock *lock)
{
    struct claim claim;

    return read_claim(path, &claim) && strcmp(claim.token, lock->token) == 0;
}

static void release(const char *path, const struct lock *lock)
{
    if (is_ours(path, lock))
        unlink(path);
}

/* Remove the stale lock at 'path', unless another process is at it. */
static void break_stale(const char *path, const struct lock_how *how, int depth)
{
    char *breaking = join(path, ".break");
    struct lock lock = {0};
    enum outcome outcome;

    if (!breaking)
        return;
    outcome = try_once(breaking, &lock, NULL);
    if (outcome == TAKEN) {
        if (is_stale(path, lock.made_ns, how))
            unlink(path);
        release(breaking, &lock);
    } else if (outcome == HELD && depth < DEEPEST &&
               is_stale(breaking, lock.made_ns, how)) {
        break_stale(breaking, how, depth + 1);
    }
    free(breaking);
}

static enum iobm_status fail_held(const char *path, struct iobm_error *err)
{
    struct claim claim;

    if (!read_claim(path, &claim))
        return iobm_fail(err, IOBM_EIO,
                         "lock '%s' is held, and does not say by whom", path);
    return iobm_fail(err, IOBM_EIO,
                     "lock '%s' is held by process %" PRId64 " on %s", path,
                     claim.owner.pid, claim.owner.host);
}

enum iobm_status lock_take(const char *path, const struct lock_how *how,
                           struct lock *lock, struct iobm_error *err)
{
    int64_t until_ns = clock_now_ns() + how->wait_ns;
    int64_t wait_ns = FIRST_WAIT;

    memset(lock, 0, sizeof(*lock));
    for (;;) {
        enum outcome outcome = try_once(path, lock, err);

        if (outcome == FAILED)
            return IOBM_EIO;
        if (outcome == TAKEN)
            break;
        if (is_stale(path, lock->made_ns, how))
            break_stale(path, how, 0);
        else if (clock_now_ns() >= until_ns)
            return fail_held(path, err);
        /* Apart by chance, so that many who wait do not come at once. */
        clock_sleep_ns(wait_ns / 2 + (int64_t)(rng_seed() % (uint64_t)wait_ns));
        wait_ns = wait_ns * 2 < MOST_WAIT ? wait_ns * 2 : MOST_WAIT;
    }
    lock->path = strdup(path);
    if (lock->path)
        return IOBM_OK;
    release(path, lock);
    return iobm_fail(err, IOBM_ENOMEM, "cannot create lock '%s'", path);
}

bool lock_is_held(const struct lock *lock)
{
    return is_ours(lock->path, lock);
}

void lock_release(struct lock *lock)
{
    if (!lock->path)
        return;
    release(lock->path, lock);
    free(lock->path);
    memset(lock, 0, sizeof(*lock));
}

/* Whether 'name' ends in a token: a claim that is not yet linked. */
static bool is_claim(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot && strlen(dot) == 17 &&
           strspn(dot + 1, "0123456789abcdef") == 16;
}

/* What processes that are gone left.  A claim that is not written yet may be
 * another's who is at it just now: he will make a new one. */
void lock_sweep(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    size_t length = strlen(base);
    char *folder =
        slash ? strndup(path, (size_t)(slash - path + 1)) : strdup("./");
    DIR *dir = folder ? opendir(folder) : NULL;
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        struct claim claim;
        char *file;

        if (strncmp(entry->d_name, base, length) != 0 ||
            entry->d_name[length] != '.')
            continue;
        file = join(folder, entry->d_name);
        if (file &&
            (read_claim(file, &claim) ? owner_ask(&claim.owner) == OWNER_GONE
                                      : is_claim(file)))
            unlink(file);
        free(file);
    }
    if (dir)
        closedir(dir);
    free(folder);
}
