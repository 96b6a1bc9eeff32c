/* SPDX-License-Identifier: BSD-3-Clause */
/* The dirty share: all before a sync, nothing after it, sampled or not. */

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compat.h"
#include "engine/dirty.h"

#define MI (INT64_C(1) << 20)

static int make(const char *path, int64_t bytes)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    char *block = malloc((size_t)MI);

    assert_true(fd >= 0 && block);
    memset(block, 7, (size_t)MI);
    for (int64_t at = 0; at < bytes; at += MI)
        assert_int_equal(pwrite(fd, block, (size_t)MI, at), MI);
    free(block);
    return fd;
}

/* Whether the kernel and the file system here tell of dirty pages. */
static int told(int fd)
{
    struct compat_cachestat stat;

    return compat_cachestat(fd, 0, 0, &stat) == 0 && stat.dirty > 0;
}

static void check(int64_t bytes)
{
    const char *path = "dirty.tmp";
    int fd = make(path, bytes);

    if (!told(fd)) {
        close(fd);
        unlink(path);
        skip();
    }
    /* The kernel may have begun to write: those pages are on their way. */
    assert_true(dirty_share(path, 0, bytes) > 0.5);
    assert_true(dirty_share_of(fd, 0, bytes) > 0.5);
    assert_int_equal(fsync(fd), 0);
    assert_true(dirty_share(path, 0, bytes) == 0);
    /* At the end alone; a large folio may reach far towards the front. */
    assert_int_equal(pwrite(fd, "x", 1, bytes - 1), 1);
    if (bytes > 64 * MI)
        assert_true(dirty_share(path, 0, bytes / 2) == 0);
    else
        assert_true(dirty_share(path, 0, bytes) > 0);
    close(fd);
    unlink(path);
}

static void test_small(void **state)
{
    (void)state;
    check(MI);
}

static void test_sampled(void **state)
{
    (void)state;
    check(130 * MI);
}

static void test_unknown(void **state)
{
    (void)state;
    assert_true(isnan(dirty_share("no such file", 0, MI)));
    assert_true(isnan(dirty_share(".", 0, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_sampled),
        cmocka_unit_test(test_unknown),
    };

    return cmocka_run_group_tests_name("dirty", tests, NULL, NULL);
}
