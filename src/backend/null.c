/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Moves no bytes and always succeeds: it measures the cost of iobm itself.
 * Start here when you write a new back end.
 */

#include "iobm/backend.h"

static enum iobm_status null_open(void *state, const struct iobm_open *how,
                                  void *file, struct iobm_error *err)
{
    (void)state, (void)how, (void)file, (void)err;
    return IOBM_OK;
}

static enum iobm_status null_close(void *state, void *file,
                                   struct iobm_error *err)
{
    (void)state, (void)file, (void)err;
    return IOBM_OK;
}

static enum iobm_status null_xfer(void *state, void *file, struct iobm_op *op,
                                  struct iobm_error *err)
{
    (void)state, (void)file, (void)err;
    op->done = op->size;
    return IOBM_OK;
}

static enum iobm_status null_sync(void *state, void *file,
                                  struct iobm_error *err)
{
    (void)state, (void)file, (void)err;
    return IOBM_OK;
}

const struct iobm_backend iobm_backend_null = {
    .name = "null",
    .summary = "moves no bytes; measures the cost of iobm itself",
    .abi = IOBM_BACKEND_ABI,
    .caps = IOBM_CAP_SHARED_FILE | IOBM_CAP_COLLECTIVE | IOBM_CAP_DIRECT |
            IOBM_CAP_DSYNC | IOBM_CAP_SPAN,
    .open = null_open,
    .close = null_close,
    .xfer = null_xfer,
    .sync = null_sync,
};
