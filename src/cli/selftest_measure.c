/* SPDX-License-Identifier: BSD-3-Clause */

/* The measurements of 'iobm self-test', one after the other. */

#include <stddef.h>

#include "cli/selftest.h"
#include "engine/trial.h"
#include "env/host.h"

#define KiB INT64_C(1024)
#define MiB INT64_C(1048576)

#define FILE_BYTES (16 * MiB) /* never written twice as much at a time */

#define MS INT64_C(1000000)

struct plan {
    struct selftest_row row;
    int64_t budget_ns, quick_ns;
};

/* Most of the time goes to those that decide. */
static const struct plan plans[SELFTEST_ROWS] = {
    {{.kind = IOBM_OP_WRITE, .transfer_bytes = 4 * KiB}, 200 * MS, 40 * MS},
    {{.kind = IOBM_OP_READ, .transfer_bytes = 4 * KiB}, 200 * MS, 40 * MS},
    {{.kind = IOBM_OP_WRITE, .transfer_bytes = 4 * KiB, .file = true},
     500 * MS,
     80 * MS},
    {{.kind = IOBM_OP_READ, .transfer_bytes = 4 * KiB, .file = true},
     500 * MS,
     80 * MS},
    {{.kind = IOBM_OP_WRITE,
      .transfer_bytes = MiB,
      .file = true,
      .counts = true},
     1600 * MS,
     300 * MS},
    {{.kind = IOBM_OP_READ,
      .transfer_bytes = MiB,
      .file = true,
      .counts = true},
     1600 * MS,
     300 * MS},
};

static struct trial_input trial_of(const struct selftest_row *row,
                                   const struct selftest_file *file)
{
    return (struct trial_input){
        .backend = row->file ? &file->backend : iobm_backend_find("null"),
        .state = row->file ? file->state : NULL,
        .file = row->file ? file->file : NULL,
        .kind = row->kind,
        .transfer_bytes = row->transfer_bytes,
        .most_ops =
            (row->file ? FILE_BYTES : 4 * FILE_BYTES) / row->transfer_bytes,
    };
}

/* All of the file is there before anything is timed. */
static enum iobm_status fill(const struct selftest_file *file,
                             struct iobm_error *err)
{
    const struct selftest_row row = {
        .file = true, .kind = IOBM_OP_WRITE, .transfer_bytes = MiB};
    const struct trial_input in = trial_of(&row, file);
    struct trial *trial;
    enum iobm_status status = trial_create(&in, &trial, err);
    double ns;

    if (status != IOBM_OK)
        return status;
    status = trial_run(trial, in.most_ops, false, &ns, err);
    trial_free(trial);
    return status;
}

static enum iobm_status measure_row(struct selftest_row *row,
                                    const struct selftest_file *file,
                                    int64_t budget_ns, struct iobm_error *err)
{
    const struct trial_input in = trial_of(row, file);
    struct trial *trial;
    enum iobm_status status;

    if (!in.backend)
        return iobm_fail(err, IOBM_EUNSUPPORTED,
                         "this build has no back end 'null'");
    status = trial_create(&in, &trial, err);
    if (status != IOBM_OK)
        return status;
    status = perturb_measure(trial, in.most_ops, budget_ns, &row->perturb, err);
    trial_free(trial);
    return status;
}

enum perturb_verdict selftest_judge(const struct selftest *test)
{
    enum perturb_verdict worst = PERTURB_WITHIN;

    for (int i = 0; i < SELFTEST_ROWS; i++) {
        enum perturb_verdict verdict = test->row[i].perturb.verdict;

        if (!test->row[i].counts || worst == PERTURB_OUTSIDE)
            continue;
        if (verdict != PERTURB_WITHIN)
            worst = verdict;
    }
    return worst;
}

static enum iobm_status measure_rows(struct selftest *test,
                                     const struct selftest_file *file,
                                     struct iobm_error *err)
{
    enum iobm_status status = fill(file, err);

    for (int i = 0; i < SELFTEST_ROWS && status == IOBM_OK; i++) {
        const struct plan *plan = &plans[i];

        test->row[i] = plan->row;
        status =
            measure_row(&test->row[i], file,
                        test->quick ? plan->quick_ns : plan->budget_ns, err);
    }
    return status;
}

enum iobm_status selftest_measure(struct selftest *test, const char *path,
                                  struct iobm_error *err)
{
    struct selftest_file file;
    enum iobm_status status = selftest_file_open(&file, path, test, err);

    host_describe("", &test->node);
    if (status == IOBM_OK)
        status = cost_measure(&test->cost, err);
    test->clock_step_ns = cost_clock_step_ns();
    test->hist_ns = cost_hist_ns();
    if (status == IOBM_OK)
        status = measure_rows(test, &file, err);
    if (status == IOBM_OK)
        test->verdict = selftest_judge(test);
    selftest_file_close(&file);
    return status;
}
