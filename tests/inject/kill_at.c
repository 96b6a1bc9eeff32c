/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Preloaded: kills the process at its N-th call that changes a file or a
 * folder, N from the environment variable KILL_AT.  Even numbers: right
 * before the call; odd ones: a write is half done first.  So a test can go
 * through all instants at which a kill makes a difference.
 */

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* Nobody else declares these under these names. */
int open64(const char *path, int flags, ...);
ssize_t pwrite64(int file, const void *bytes, size_t n, off64_t offset);
int ftruncate64(int file, off64_t size);
int posix_fallocate64(int file, off64_t offset, off64_t size);

static atomic_long calls;

/* Whether this call is the one; the caller may do half of it. */
static bool is_due(void)
{
    const char *text = getenv("KILL_AT");

    return text && atomic_fetch_add(&calls, 1) + 1 == atol(text);
}

static bool is_torn(void)
{
    return atol(getenv("KILL_AT")) % 2 == 1;
}

static void die_if_due(void)
{
    if (is_due())
        raise(SIGKILL);
}

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

/* Only regular files: what a program says is not its work. */
static bool is_regular(int file)
{
    struct stat facts;

    return fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && file > 2;
}

ssize_t write(int file, const void *bytes, size_t n)
{
    if (is_regular(file) && is_due()) {
        if (is_torn())
            NEXT(write)(file, bytes, n / 2);
        raise(SIGKILL);
    }
    return NEXT(write)(file, bytes, n);
}

ssize_t pwrite(int file, const void *bytes, size_t n, off_t offset)
{
    return pwrite64(file, bytes, n, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t n, off64_t offset)
{
    if (is_regular(file) && is_due()) {
        if (is_torn())
            NEXT(pwrite64)(file, bytes, n / 2, offset);
        raise(SIGKILL);
    }
    return NEXT(pwrite64)(file, bytes, n, offset);
}

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list args;

    va_start(args, flags);
    if (flags & O_CREAT)
        mode = va_arg(args, mode_t);
    va_end(args);
    if (flags & (O_CREAT | O_TRUNC))
        die_if_due();
    return NEXT(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list args;

    va_start(args, flags);
    if (flags & O_CREAT)
        mode = va_arg(args, mode_t);
    va_end(args);
    if (flags & (O_CREAT | O_TRUNC))
        die_if_due();
    return NEXT(open64)(path, flags, mode);
}

int ftruncate(int file, off_t size)
{
    die_if_due();
    return NEXT(ftruncate)(file, size);
}

int ftruncate64(int file, off64_t size)
{
    die_if_due();
    return NEXT(ftruncate64)(file, size);
}

int posix_fallocate(int file, off_t offset, off_t size)
{
    die_if_due();
    return NEXT(posix_fallocate)(file, offset, size);
}

int posix_fallocate64(int file, off64_t offset, off64_t size)
{
    die_if_due();
    return NEXT(posix_fallocate64)(file, offset, size);
}

int fsync(int file)
{
    die_if_due();
    return NEXT(fsync)(file);
}

int rename(const char *from, const char *to)
{
    die_if_due();
    return NEXT(rename)(from, to);
}

int link(const char *from, const char *to)
{
    die_if_due();
    return NEXT(link)(from, to);
}

int unlink(const char *path)
{
    die_if_due();
    return NEXT(unlink)(path);
}
