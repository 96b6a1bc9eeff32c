/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Linked in place of src/base/clock.c, which it contains under other names:
 * the same functions, with the faults of clock_fake.h.  Without those
 * variables in the environment it is the real clock.
 */
#define clock_now_ns   real_now_ns
#define clock_utc_ns   real_utc_ns
#define clock_domain   real_domain
#define clock_sleep_ns real_sleep_ns
#define clock_iso8601  real_iso8601
#include "base/clock.c"
#undef clock_now_ns
#undef clock_utc_ns
#undef clock_domain
#undef clock_sleep_ns
#undef clock_iso8601

#include <pthread.h>

#include "fake/clock_fake.h"

/* The header is behind us; these are its prototypes again. */
int64_t clock_now_ns(void);
int64_t clock_utc_ns(void);
void clock_sleep_ns(int64_t ns);
const char *clock_domain(char *text, size_t room);
const char *clock_iso8601(char *text, size_t room, int64_t utc_ns);

struct setting {
    int rank;
    struct clock_fault fault;
    int64_t step_s, step_at_ns;
};

/* The one instance; parsed once, as reading the clock must stay cheap. */
static struct setting the_setting;
static pthread_once_t parsed = PTHREAD_ONCE_INIT;

static void parse(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    const char *step = getenv("IOBM_FAKE_STEP");
    char *end;

    the_setting.rank = rank ? atoi(rank) : 0;
    the_setting.fault =
        clock_fault_of(getenv("IOBM_FAKE_CLOCK"), the_setting.rank);
    if (!step)
        return;
    the_setting.step_s = strtoll(step, &end, 10);
    the_setting.step_at_ns = real_now_ns();
    if (*end == '@')
        the_setting.step_at_ns += strtoll(end + 1, &end, 10);
}

static const struct setting *setting(void)
{
    pthread_once(&parsed, parse);
    return &the_setting;
}

int64_t clock_now_ns(void)
{
    return clock_fault_apply(&setting()->fault, real_now_ns());
}

int64_t clock_utc_ns(void)
{
    const struct setting *now = setting();
    int64_t step_ns = now->step_s * NS_PER_S;

    return real_utc_ns() + (real_now_ns() >= now->step_at_ns ? step_ns : 0);
}

void clock_sleep_ns(int64_t ns)
{
    real_sleep_ns(ns);
}

const char *clock_domain(char *text, size_t room)
{
    const struct setting *now = setting();

    if (!now->fault.listed)
        return real_domain(text, room);
    snprintf(text, room, "fake:%d", now->rank);
    return text;
}

const char *clock_iso8601(char *text, size_t room, int64_t utc_ns)
{
    return real_iso8601(text, room, utc_ns);
}
