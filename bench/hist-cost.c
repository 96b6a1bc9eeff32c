/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the bookkeeping of one operation costs, against one reading of the
 * clock: histogram, time slot and progress mark, alone and together.  From
 * the root of the sources:
 *     cc -O2 -std=c11 -D_GNU_SOURCE -Iinclude -Isrc bench/hist-cost.c \
 *         src/stats/{hist,slots,bandwidth,clockfit}.c -lm -o hist-cost
 *     ./hist-cost [ROUNDS]                  default: 5
 * Prints ns per operation, the least of the rounds.
 */

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "stats/bandwidth.h"
#include "stats/hist.h"
#include "stats/slots.h"

#define OPS        INT64_C(10000000)
#define MARKS_ROOM 4096

enum what { NOTHING, CLOCK, HIST, SLOTS, MARKS, ALL, WHATS };

static const char *const names[WHATS] = {
    "loop alone", "one clock reading", "hist_add",
    "slots_add",  "marks_add",         "all three",
};

struct rig {
    struct hist hist;
    struct slots slots;
    struct marks marks;
    int64_t at[MARKS_ROOM][2];
};

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Operations of 2 to 130 us, end to end: some 660 s of them, so that marks
 * and slots are merged on the way. */
static int64_t next_latency(uint64_t *random)
{
    *random = *random * 6364136223846793005U + 1442695040888963407U;
    return 2000 + (int64_t)(*random >> 47);
}

static double one_round(enum what what, struct rig *rig, int64_t *sink)
{
    uint64_t random = 1;
    int64_t end = 0, from = now_ns();

    for (int64_t i = 1; i <= OPS; i++) {
        int64_t latency = next_latency(&random);

        end += latency;
        if (what == CLOCK)
            *sink += now_ns();
        if (what == HIST || what == ALL)
            hist_add(&rig->hist, latency);
        if (what == SLOTS || what == ALL)
            slots_add(&rig->slots, end, latency, 4096);
        if (what == MARKS || what == ALL)
            marks_add(&rig->marks, end, 4096 * i);
    }
    *sink += end;
    return (double)(now_ns() - from) / (double)OPS;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 5;
    struct rig *rig = malloc(sizeof(*rig));
    void *memory = malloc(slots_bytes(SLOTS_ROOM));
    int64_t sink = 0;

    if (!rig || !memory)
        return 1;
    for (int what = 0; what < WHATS; what++) {
        double least = 1e9;

        for (int i = 0; i < rounds; i++) {
            hist_init(&rig->hist);
            slots_init(&rig->slots, memory, SLOTS_ROOM, 0, SLOTS_WIDTH_NS);
            marks_init(&rig->marks, rig->at, MARKS_ROOM, 0);
            double ns = one_round((enum what)what, rig, &sink);
            if (ns < least)
                least = ns;
        }
        printf("%-18s %6.2f ns\n", names[what], least);
    }
    printf("(%" PRId64 ")\n", sink);
    free(rig);
    free(memory);
    return 0;
}
