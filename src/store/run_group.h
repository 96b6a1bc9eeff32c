/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef IOBM_STORE_RUN_GROUP_H
#define IOBM_STORE_RUN_GROUP_H

/* The groups of /runs: their names, and what they say about themselves. */

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iobm/error.h"
#include "store/store.h"

struct run_name {
    int64_t number;
    char text[96];
};

/* "000012_20261130T200621Z_1a2b3c4d" */
void run_name_format(struct run_name *name, int64_t number,
                     const char *started_utc, const char *run_id);

/* Whether the name ends in the first eight digits of 'run_id'. */
bool run_name_is_of(const struct run_name *name, const char *run_id);

/* All groups of /runs, by number; a new allocation. */
enum iobm_status run_names(hid_t file, struct run_name **names, size_t *count,
                           struct iobm_error *err) IOBM_CHECK;

/* Open /runs/NAME. */
enum iobm_status run_open(hid_t file, const char *name, hid_t *run,
                          struct iobm_error *err) IOBM_CHECK;

/* Number, status, reason, times, label, arguments ... from and to the group's
 * attributes. */
void run_get_attributes(hid_t run, struct run_record *record);
enum iobm_status run_put_attributes(hid_t run, const struct run_record *record,
                                    struct iobm_error *err) IOBM_CHECK;

#endif
