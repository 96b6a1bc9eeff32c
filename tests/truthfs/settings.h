/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRUTHFS_SETTINGS_H
#define TRUTHFS_SETTINGS_H

/*
 * The options, "key=value", of the command line and of the control file.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "truthfs/faults.h"
#include "truthfs/pace.h"

enum cache { CACHE_NONE, CACHE_PAGE, CACHE_WRITEBACK };

/* What is fixed when the file system is mounted. */
struct settings {
    char store[4096]; /* "none", "ram", or a folder */
    char log[4096];   /* "": none */
    enum cache cache;
    int64_t io_bytes;    /* largest request */
    int64_t space_bytes; /* what statfs says */
    int64_t meta_ns;     /* of each operation on names */
    int64_t life_s;      /* unmount after so long; 0: never */
    bool allow_other;
};

struct settings_target {
    struct settings *fixed; /* NULL: mounted already */
    struct pace *pace;
    struct faults *faults;
};

void settings_init(struct settings *settings);

/* One setting.  False, and a line in 'why', when it cannot be. */
bool settings_apply(struct settings_target *target, const char *text, char *why,
                    size_t room);

/* The list of settings, for --help. */
void settings_print_help(void);

#endif
