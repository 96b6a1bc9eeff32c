/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_CLI_SELFTEST_H
#define IOBM_CLI_SELFTEST_H

/* What 'iobm self-test' finds out about iobm on this machine, and its parts:
 * the test file, the measurements, the two forms of output. */

#include <limits.h>
#include <stdbool.h>

#include "base/str.h"
#include "engine/cost.h"
#include "engine/perturb.h"
#include "iobm/result.h"

/* Each of write and read: null at 4 KiB, the file at 4 KiB and at 1 MiB. */
#define SELFTEST_ROWS 6

struct selftest_row {
    bool file; /* the test file; else the null back end */
    enum iobm_op_kind kind;
    int64_t transfer_bytes;
    bool counts; /* towards the verdict: transfers of a realistic size */
    struct perturb perturb;
};

struct selftest {
    struct iobm_node_row node;
    bool quick;
    struct cost cost;
    double clock_step_ns, hist_ns;
    char folder[PATH_MAX]; /* where the test file was */
    char fs_type[32];      /* "tmpfs"; "file" when not known */
    struct selftest_row row[SELFTEST_ROWS];
    enum perturb_verdict verdict;
};

/*
 * The test file: made where nothing was, and without a name before anything
 * is written to it, so that it is gone whatever ends this process.
 */
struct selftest_file {
    struct iobm_backend backend; /* posix, but always open */
    void *state, *file;
    char *path;
    bool open;
};

/* 'path': a folder, a file to be made, or NULL: $TMPDIR, /dev/shm or /tmp,
 * whichever is first there.  Fills folder and fs_type. */
enum iobm_status selftest_file_open(struct selftest_file *file,
                                    const char *path, struct selftest *test,
                                    struct iobm_error *err) IOBM_CHECK;
void selftest_file_close(struct selftest_file *file);

enum iobm_status selftest_measure(struct selftest *test, const char *path,
                                  struct iobm_error *err) IOBM_CHECK;

/* The worst verdict of the rows that count. */
enum perturb_verdict selftest_judge(const struct selftest *test);

void selftest_text(const struct selftest *test, struct str *out);
void selftest_json(const struct selftest *test, struct str *out);

#endif
