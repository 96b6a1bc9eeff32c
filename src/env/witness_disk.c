/* SPDX-License-Identifier: BSD-3-Clause */

/* The block device under a local file system, by the file of /sys that has
 * the line of /proc/diskstats. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "env/procfile.h"
#include "env/witness_impl.h"

#define SECTOR_BYTES 512 /* whatever the device's own sectors are */
#define FIELDS       11

enum { READ_SECTORS = 2, WRITE_SECTORS = 6, BUSY_MS = 9 };

void witness_disk(const struct witness_target *t, struct witness_sample *out)
{
    char path[96], line[512], *at = line;
    int64_t field[FIELDS];

    snprintf(path, sizeof(path), "/sys/dev/block/%" PRIu64 ":%" PRIu64 "/stat",
             t->device_major, t->device_minor);
    if (!procfile_line(t->root, path, line, sizeof(line)))
        return;
    for (int i = 0; i < FIELDS; i++) {
        char *end;

        field[i] = strtoll(at, &end, 10);
        if (end == at || field[i] < 0)
            return;
        at = end;
    }
    out->device_read_bytes = field[READ_SECTORS] * SECTOR_BYTES;
    out->device_write_bytes = field[WRITE_SECTORS] * SECTOR_BYTES;
    out->device_busy_ns = field[BUSY_MS] * 1000000;
}
