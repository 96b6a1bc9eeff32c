/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_BACKEND_H
#define IOBM_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iobm/error.h"
#include "iobm/op.h"

/*
 * A back end moves bytes between memory and files.  It never reads a clock,
 * prints or exits; it resumes short transfers, retries EINTR, and splits at
 * IOBM_CALL_MAX_BYTES, all inside one operation.
 *
 * The core allocates 'state_size' and 'file_size' bytes, zeroed, and frees
 * them; what a back end puts behind them it releases in stop() and close().
 */

#define IOBM_BACKEND_ABI 1

/* No system or MPI call moves more than this at once: 1 GiB. */
#define IOBM_CALL_MAX_BYTES (INT64_C(1) << 30)

enum iobm_backend_caps {
    IOBM_CAP_SHARED_FILE = 1 << 0, /* ranks may share one file */
    IOBM_CAP_COLLECTIVE = 1 << 1,  /* can do collective transfers */
    IOBM_CAP_DIRECT = 1 << 2,      /* can go past the page cache */
    IOBM_CAP_PERSISTENT = 1 << 3,  /* what is written can be read back */
    IOBM_CAP_DSYNC = 1 << 4,       /* can write with O_DSYNC */
    IOBM_CAP_SPAN = 1 << 5,        /* takes operations with a stride */
    IOBM_CAP_DEVICE = 1 << 6,      /* can use a block device */
    IOBM_CAP_MPI_OPEN = 1 << 7,    /* open and close of a shared file are
                                      collective even for independent I/O */
    IOBM_CAP_MAPPED = 1 << 8,      /* what it has written is dirty in the page
                                      tables, where the cache does not see it */
};

struct iobm_comm;
struct kvlist;

/* What a back end learns once, before the first file. */
struct iobm_backend_env {
    const struct iobm_comm *comm; /* the ranks that run the phase */
    bool shared;                  /* one file for all ranks */
    bool collective;              /* transfers are collective calls */
    const struct kvlist *hints;   /* MPI-IO hints; NULL: none */
};

enum iobm_open_mode {
    IOBM_OPEN_READ = 1 << 0,
    IOBM_OPEN_WRITE = 1 << 1,
    IOBM_OPEN_CREATE = 1 << 2, /* must not exist yet: O_EXCL, O_NOFOLLOW */
    IOBM_OPEN_DIRECT = 1 << 3,
    IOBM_OPEN_DSYNC = 1 << 4,
    IOBM_OPEN_DEVICE = 1 << 5, /* a block device: links may be followed */
};

struct iobm_open {
    const char *path;
    unsigned mode;           /* of enum iobm_open_mode */
    int64_t file_bytes;      /* size of the whole file once it is written */
    int64_t alignment_bytes; /* for O_DIRECT: of offset, size, memory; or 1 */
    int64_t transfer_bytes;  /* no operation of any rank is larger */
    /* What of the file is this rank's: 'part_bytes' from 'first_byte' on; in a
     * strided shared file in blocks of 'block_bytes', every 'stride_bytes'.
     * A stride of 0 means that the part is contiguous. */
    int64_t first_byte, part_bytes, block_bytes, stride_bytes;
};

struct iobm_backend {
    const char *name;    /* as a user types it */
    const char *summary; /* one line for --help=all */
    unsigned abi;        /* IOBM_BACKEND_ABI */
    unsigned caps;       /* of enum iobm_backend_caps */
    size_t state_size;
    size_t file_size;

    /* Optional: set up and tear down what lives longer than a file.
     * Collective over env->comm where the back end has IOBM_CAP_MPI_OPEN. */
    enum iobm_status (*start)(void *state, const struct iobm_backend_env *env,
                              struct iobm_error *err);
    void (*stop)(void *state);

    /* After an open that succeeded there is always one close, also after
     * errors.  When open fails nothing is left open.  With IOBM_CAP_MPI_OPEN
     * and a shared file both are collective, and open has the same outcome
     * on every rank. */
    enum iobm_status (*open)(void *state, const struct iobm_open *how,
                             void *file, struct iobm_error *err);
    enum iobm_status (*close)(void *state, void *file, struct iobm_error *err);

    /* Finish 'op' before returning; op->done is set also on failure: to what
     * is known to have moved, from the front.  At the end of a file a read
     * fails with "... end of file".  With env->collective every rank calls it
     * equally often, an idle one with op->size 0, also after a failure. */
    enum iobm_status (*xfer)(void *state, void *file, struct iobm_op *op,
                             struct iobm_error *err);

    /* Return when everything this rank wrote is on stable storage.  A shared
     * file of an IOBM_CAP_MPI_OPEN back end: collective. */
    enum iobm_status (*sync)(void *state, void *file, struct iobm_error *err);

    /* Optional: tell what served the requests, as key and value texts, e.g.
     * "mpiio.component" = "ompio".  Called after the first file is closed. */
    void (*facts)(void *state,
                  void (*put)(void *arg, const char *key, const char *value),
                  void *arg);

    /* Optional: the descriptor behind an open file, of which the kernel can
     * be asked what is dirty without another open. */
    int (*descriptor)(const void *file);
};

/* NULL-terminated and sorted by name; made by configure. */
extern const struct iobm_backend *const iobm_backends[];

/* Return the back end called 'name', or NULL. */
const struct iobm_backend *iobm_backend_find(const char *name);

#endif
