/* SPDX-License-Identifier: BSD-3-Clause */
/* A run as CSV: one line per phase, made from the table of columns. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/lines.h"
#include "report/report.h"

void report_csv_header(struct str *out)
{
    for (const struct iobm_column *c = iobm_phase_columns;
         c->type != IOBM_COL_END; c++) {
        if (c != iobm_phase_columns)
            str_add(out, ",");
        str_add_csv(out, c->name);
    }
    str_add(out, "\n");
}

static void add_field(struct str *out, const struct iobm_column *column,
                      const void *from)
{
    double number;

    if (column->type == IOBM_COL_TEXT) {
        struct str clean = {0};

        /* no line breaks: a line is a phase also for line by line tools */
        line_clean(&clean, from, column->size);
        str_add_csv(out, str_text(&clean));
        out->failed = out->failed || clean.failed;
        str_release(&clean);
    } else if (column->type == IOBM_COL_F64) {
        number = *(const double *)from;
        if (isfinite(number))
            str_add_json_double(out, number);
    } else {
        str_addf(out, "%" PRId64, *(const int64_t *)from);
    }
}

void report_run_csv(const struct run_record *run, struct str *out)
{
    for (size_t i = 0; i < run->phase_count; i++) {
        for (const struct iobm_column *c = iobm_phase_columns;
             c->type != IOBM_COL_END; c++) {
            if (c != iobm_phase_columns)
                str_add(out, ",");
            add_field(out, c, (const char *)&run->phases[i] + c->offset);
        }
        str_add(out, "\n");
    }
}
