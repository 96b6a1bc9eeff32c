/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_WORKLOAD_H
#define IOBM_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iobm/error.h"
#include "iobm/op.h"

/*
 * A workload says which operations one rank does, in which order.  It is a
 * pure function of the layout, the part of it that the rank works on, and a
 * seed: no I/O, no clock, no MPI, so that a test can run one for rank 7 of
 * 1000 in a single process.
 */

#define IOBM_WORKLOAD_ABI 1

struct layout; /* base/layout.h */

struct iobm_workload_input {
    const struct layout *layout;
    int part; /* whose bytes of the layout: a rank, 0 <= part < ranks */
    enum iobm_op_kind kind;
    uint64_t seed;
};

struct iobm_workload {
    const char *name;
    const char *summary;
    unsigned abi; /* IOBM_WORKLOAD_ABI */
    size_t state_size;

    enum iobm_status (*plan)(void *state, const struct iobm_workload_input *in,
                             struct iobm_error *err);

    /* Fill the workload's members of 'op', or return false at the end. */
    bool (*next)(void *state, struct iobm_op *op);
};

/* NULL-terminated. */
extern const struct iobm_workload *const iobm_workloads[];

/* Return the workload called 'name', or NULL. */
const struct iobm_workload *iobm_workload_find(const char *name);

#endif
