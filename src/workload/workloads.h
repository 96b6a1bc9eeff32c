/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_WORKLOAD_WORKLOADS_H
#define IOBM_WORKLOAD_WORKLOADS_H

/* The workloads there are; registry.c lists them. */

#include "iobm/workload.h"

extern const struct iobm_workload iobm_workload_sequential;

#endif
