/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * System calls that go wrong on demand, for LD_PRELOAD (or included by a test
 * program).  Only files whose path contains IOBM_INJECT_PATH are touched.
 *
 *   IOBM_INJECT_PATH   part of the path, or with a $ behind it, its end;
 *                      nothing happens without it
 *   IOBM_INJECT_DO     an errno (ENOSPC EDQUOT EIO EINTR EACCES ENOENT EROFS
 *                      ESTALE EINVAL EOPNOTSUPP), or: short (move less), zero
 *                      (move nothing), lie (say all moved), none, hang,
 *                      kill (SIGKILL)
 *   IOBM_INJECT_CALL   which calls, a list of: write (the default) read open
 *                      sync close allocate
 *   IOBM_INJECT_RANK   only on this rank of MPI_COMM_WORLD
 *   IOBM_INJECT_OP     from the n-th of these calls on, counted from 1
 *   IOBM_INJECT_AT     from this file offset on (write, read, allocate): a
 *                      call that reaches across it is cut off there first, as
 *                      on a full disk
 *   IOBM_INJECT_TIMES  how often; default: EINTR once, else always
 *   IOBM_INJECT_BYTES  with short: bytes per call; default: half
 */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

void inject_reset(void);           /* count from the beginning again */
size_t inject_largest_bytes(void); /* of a transfer with DO set, since then */

static atomic_long inject_calls, inject_times;
static atomic_size_t inject_largest;

void inject_reset(void)
{
    inject_calls = 0;
    inject_times = 0;
    inject_largest = 0;
}

size_t inject_largest_bytes(void)
{
    return inject_largest;
}

#define NEXT(name) ((__typeof__(&name))next_symbol(#name))

static void *next_symbol(const char *name)
{
    void *symbol = dlsym(RTLD_NEXT, name);

    if (!symbol)
        abort();
    return symbol;
}

static int64_t number(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoll(text, NULL, 10) : otherwise;
}

static int errno_of(const char *text)
{
    static const struct {
        const char *name;
        int value;
    } known[] = {
        {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT},         {"EIO", EIO},
        {"EINTR", EINTR},   {"EACCES", EACCES},         {"ENOENT", ENOENT},
        {"EROFS", EROFS},   {"ESTALE", ESTALE},         {"EINVAL", EINVAL},
        {"EFBIG", EFBIG},   {"EOPNOTSUPP", EOPNOTSUPP},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].name, text) == 0)
            return known[i].value;
    return 0;
}

static bool this_rank(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");

    if (!rank)
        rank = getenv("PMIX_RANK");
    return number("IOBM_INJECT_RANK", -1) < 0 ||
           number("IOBM_INJECT_RANK", -1) ==
               strtoll(rank ? rank : "0", NULL, 10);
}

static bool listed(const char *list, const char *word)
{
    size_t n = strlen(word);

    while (list && *list) {
        size_t length = strcspn(list, ", ");

        if (length == n && strncmp(list, word, n) == 0)
            return true;
        list += length + strspn(list + length, ", ");
    }
    return false;
}

static bool matches(const char *path, const char *part)
{
    size_t n = part ? strlen(part) : 0, length = path ? strlen(path) : 0;

    if (n == 0 || !path)
        return false;
    if (part[n - 1] != '$')
        return strstr(path, part);
    return length >= n - 1 &&
           strncmp(path + length - (n - 1), part, n - 1) == 0;
}

/* Whether this call on 'path' is one of those meant, before any counting. */
static bool meant(const char *call, const char *path)
{
    const char *calls = getenv("IOBM_INJECT_CALL");

    return matches(path, getenv("IOBM_INJECT_PATH")) &&
           listed(calls && *calls ? calls : "write", call) && this_rank();
}

static bool due(const char *what)
{
    long most = (long)number("IOBM_INJECT_TIMES",
                             strcmp(what, "EINTR") == 0 ? 1 : LONG_MAX);

    if (inject_calls + 1 < number("IOBM_INJECT_OP", 1)) {
        inject_calls++;
        return false;
    }
    return inject_times++ < most;
}

static void die_or_hang(const char *what)
{
    if (strcmp(what, "kill") == 0)
        raise(SIGKILL);
    while (strcmp(what, "hang") == 0)
        pause();
}

struct verdict {
    bool answer;    /* do not make the call, return this */
    ssize_t result; /* -1: errno is set */
    size_t bytes;   /* else make it for so many bytes */
};

static struct verdict answer(ssize_t result)
{
    return (struct verdict){.answer = true, .result = result};
}

/* 'bytes' at 'offset' are about to move. */
static struct verdict judge(const char *call, const char *path, int64_t offset,
                            size_t bytes)
{
    const char *what = getenv("IOBM_INJECT_DO");
    int64_t at = number("IOBM_INJECT_AT", -1);
    size_t most = (size_t)number("IOBM_INJECT_BYTES", (int64_t)(bytes + 1) / 2);

    if (!what || bytes == 0 || !meant(call, path))
        return (struct verdict){.bytes = bytes};
    if (bytes > inject_largest)
        inject_largest = bytes;
    if (at >= 0 && offset + (int64_t)bytes <= at)
        return (struct verdict){.bytes = bytes};
    if (at > offset)
        return (struct verdict){.bytes = (size_t)(at - offset)};
    if (!due(what))
        return (struct verdict){.bytes = bytes};
    die_or_hang(what);
    if (strcmp(what, "short") == 0)
        return (struct verdict){.bytes = most < bytes ? most : bytes};
    if (strcmp(what, "none") == 0)
        return (struct verdict){.bytes = bytes};
    if (strcmp(what, "zero") == 0)
        return answer(0);
    if (strcmp(what, "lie") == 0)
        return answer((ssize_t)bytes);
    errno = errno_of(what);
    return answer(-1);
}

/* A call that moves nothing: true when it fails, with errno. */
static bool fails(const char *call, const char *path)
{
    const char *what = getenv("IOBM_INJECT_DO");

    if (!what || !meant(call, path) || !due(what))
        return false;
    die_or_hang(what);
    if (errno_of(what) == 0)
        return false;
    errno = errno_of(what);
    return true;
}

static const char *path_of(int fd, char path[PATH_MAX])
{
    int saved = errno;
    char link[64];
    ssize_t n = -1;

    if (getenv("IOBM_INJECT_PATH")) {
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, path, PATH_MAX - 1);
    }
    path[n < 0 ? 0 : n] = '\0';
    errno = saved;
    return path;
}

#define MOVE(name, call, pointer)                                              \
    ssize_t name(int fd, pointer buffer, size_t bytes, off_t offset)           \
    {                                                                          \
        char path[PATH_MAX];                                                   \
        struct verdict v = judge(call, path_of(fd, path), offset, bytes);      \
        return v.answer ? v.result : NEXT(name)(fd, buffer, v.bytes, offset);  \
    }
MOVE(pread, "read", void *)
MOVE(pread64, "read", void *)
MOVE(pwrite, "write", const void *)
MOVE(pwrite64, "write", const void *)

#define MOVE_HERE(name, call, pointer)                                         \
    ssize_t name(int fd, pointer buffer, size_t bytes)                         \
    {                                                                          \
        char path[PATH_MAX];                                                   \
        int64_t offset = *path_of(fd, path) ? lseek(fd, 0, SEEK_CUR) : 0;      \
        struct verdict v = judge(call, path, offset, bytes);                   \
        return v.answer ? v.result : NEXT(name)(fd, buffer, v.bytes);          \
    }
MOVE_HERE(read, "read", void *)
MOVE_HERE(write, "write", const void *)

static size_t vector_bytes(const struct iovec *iov, int count)
{
    size_t bytes = 0;

    for (int i = 0; i < count; i++)
        bytes += iov[i].iov_len;
    return bytes;
}

/* The first 'bytes' of the vector, in memory to be freed. */
static struct iovec *cut_vector(const struct iovec *iov, int *count,
                                size_t bytes)
{
    struct iovec *cut = calloc((size_t)*count + 1, sizeof(*cut));
    int n = 0;

    if (!cut)
        abort();
    for (int i = 0; i < *count && bytes > 0; i++) {
        cut[n] = iov[i];
        if (cut[n].iov_len > bytes)
            cut[n].iov_len = bytes;
        bytes -= cut[n++].iov_len;
    }
    *count = n;
    return cut;
}

#define MOVE_VECTOR(name, call)                                                \
    ssize_t name(int fd, const struct iovec *iov, int count, off_t offset)     \
    {                                                                          \
        char path[PATH_MAX];                                                   \
        struct verdict v =                                                     \
            judge(call, path_of(fd, path), offset, vector_bytes(iov, count));  \
        struct iovec *cut;                                                     \
        ssize_t moved;                                                         \
        if (v.answer)                                                          \
            return v.result;                                                   \
        cut = cut_vector(iov, &count, v.bytes);                                \
        moved = NEXT(name)(fd, cut, count, offset);                            \
        free(cut);                                                             \
        return moved;                                                          \
    }
MOVE_VECTOR(preadv, "read")
MOVE_VECTOR(preadv64, "read")
MOVE_VECTOR(pwritev, "write")
MOVE_VECTOR(pwritev64, "write")

static mode_t mode_of(int flags, va_list arguments)
{
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

#define OPEN(name)                                                             \
    int name(const char *path, int flags, ...)                                 \
    {                                                                          \
        va_list arguments;                                                     \
        mode_t mode;                                                           \
        va_start(arguments, flags);                                            \
        mode = mode_of(flags, arguments);                                      \
        va_end(arguments);                                                     \
        return fails("open", path) ? -1 : NEXT(name)(path, flags, mode);       \
    }
OPEN(open)
OPEN(open64)

#define SIMPLE(name, call)                                                     \
    int name(int fd)                                                           \
    {                                                                          \
        char path[PATH_MAX];                                                   \
        return fails(call, path_of(fd, path)) ? -1 : NEXT(name)(fd);           \
    }
SIMPLE(fsync, "sync")
SIMPLE(fdatasync, "sync")

/* The descriptor is gone even when this fails, as on Linux. */
int close(int fd)
{
    char path[PATH_MAX];
    bool bad;
    int rc;

    path_of(fd, path);
    rc = NEXT(close)(fd);
    bad = fails("close", path);
    return bad ? -1 : rc;
}

static bool no_room(int fd, int64_t offset, int64_t bytes)
{
    char path[PATH_MAX];
    struct verdict v =
        judge("allocate", path_of(fd, path), offset, (size_t)bytes);

    return v.answer && v.result < 0;
}

#define ALLOCATE(name)                                                         \
    int name(int fd, int mode, off_t offset, off_t bytes)                      \
    {                                                                          \
        return no_room(fd, offset, bytes)                                      \
                   ? -1                                                        \
                   : NEXT(name)(fd, mode, offset, bytes);                      \
    }
ALLOCATE(fallocate)
ALLOCATE(fallocate64)
