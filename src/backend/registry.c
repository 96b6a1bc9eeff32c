/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The back ends that were compiled: configure lists them, sorted by name, in
 * backend-list.inc.
 */

#include "iobm/backend.h"

#include <string.h>

#define BACKEND(name) extern const struct iobm_backend iobm_backend_##name;
#include "backend-list.inc"
#undef BACKEND

const struct iobm_backend *const iobm_backends[] = {
#define BACKEND(name) &iobm_backend_##name,
#include "backend-list.inc"
#undef BACKEND
    NULL,
};

const struct iobm_backend *iobm_backend_find(const char *name)
{
    const struct iobm_backend *const *b;

    for (b = iobm_backends; *b; b++)
        if (strcmp((*b)->name, name) == 0)
            return *b;
    return NULL;
}
