/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of workloads.  A new one is a file of its own, a line in
 * workloads.h and a line here; tests/contract/test_workloads.c then tries it.
 */
#include <string.h>

#include "workload/workloads.h"

const struct iobm_workload *const iobm_workloads[] = {
    &iobm_workload_sequential,
    NULL,
};

const struct iobm_workload *iobm_workload_find(const char *name)
{
    for (size_t i = 0; iobm_workloads[i]; i++)
        if (strcmp(iobm_workloads[i]->name, name) == 0)
            return iobm_workloads[i];
    return NULL;
}
