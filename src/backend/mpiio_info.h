/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_BACKEND_MPIIO_INFO_H
#define IOBM_BACKEND_MPIIO_INFO_H

/*
 * What MPI-IO is told (hints) and what it lets be known of itself.
 */

#include <mpi.h>

#include "base/kv.h"
#include "iobm/error.h"

/* IOBM_EIO: "WHAT 'SUBJECT': the MPI library's text of 'code'". */
enum iobm_status mpiio_fail(struct iobm_error *err, int code, const char *what,
                            const char *subject);

/* Make an info object of 'hints' (NULL or empty: MPI_INFO_NULL); the caller
 * frees it.  IOBM_EUSAGE for a key or value that MPI cannot take. */
enum iobm_status mpiio_info_make(const struct kvlist *hints, MPI_Info *info,
                                 struct iobm_error *err) IOBM_CHECK;

/* The hints that an open file shows, as "mpiio.echo.KEY".  Open MPI shows what
 * it was given, bogus hints included, so this proves nothing. */
void mpiio_info_echo(MPI_File file, struct kvlist *facts);

/* "mpiio.component": which part of the MPI library served the files opened so
 * far, and "mpiio.evidence": from what we know. */
void mpiio_component(struct kvlist *facts);

#endif
