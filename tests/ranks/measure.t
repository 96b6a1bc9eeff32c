#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 200
# The checks of measure_driver: figures of phases whose times are known, and
# failures on any rank at any point, with the real clock and with wrong ones.

. "$IOBM_SRC/tests/lib/tap.sh"
. "$IOBM_SRC/tests/lib/driver.sh"
need mpirun

driver=$IOBM_BUILD/tests/ranks/measure_driver
for ranks in 1 2 3; do
    drive "$ranks ranks" timeout -s KILL 60 mpirun --oversubscribe \
        -np "$ranks" "$driver"
done
export IOBM_FAKE_CLOCK=1:10000000000:50,2:-1000000000:-50
drive "wrong clocks" timeout -s KILL 60 mpirun --oversubscribe -np 3 "$driver"

# Lines that were lost would not be missed otherwise.
is "$tap_count" 357 "every check was made"
echo "1..$tap_count"
