/* SPDX-License-Identifier: BSD-3-Clause */

/* The cost of iobm: that there are figures, and that they fit together. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "engine/cost.h"

static void figures_are_plausible(void **state)
{
    struct cost cost = {-1, -1, -1};
    int64_t from = clock_now_ns();

    (void)state;
    assert_int_equal(cost_measure(&cost, NULL), IOBM_OK);
    print_message("# clock %.1f ns, operation %.1f ns, copy %.2f GB/s, "
                  "measured in %.1f ms\n",
                  cost.timer_ns, cost.op_ns, cost.memcpy_Bps / 1e9,
                  (double)(clock_now_ns() - from) / 1e6);
    /* From the fastest counter to a clock that is a system call. */
    assert_true(cost.timer_ns > 0.1 && cost.timer_ns < 20e3);
    /* It reads the clock, and little else. */
    assert_true(cost.op_ns > 0.5 * cost.timer_ns && cost.op_ns < 50e3);
    assert_true(cost.memcpy_Bps > 50e6 && cost.memcpy_Bps < 10e12);
}

static void parts_are_plausible(void **state)
{
    double step = cost_clock_step_ns(), hist = cost_hist_ns();

    (void)state;
    print_message("# step %.1f ns, histogram %.2f ns\n", step, hist);
    assert_true(step >= 1 && step < 20e6); /* up to the kernel's tick */
    assert_true(hist > 0.1 && hist < 5e3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_plausible),
        cmocka_unit_test(parts_are_plausible),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
