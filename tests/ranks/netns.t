#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 180
# The checks of par_driver over three hosts that have each a network of their
# own: with one clock, and with monotonic clocks 250 ms apart.

. "$IOBM_SRC/tests/lib/tap.sh"
. "$IOBM_SRC/tests/lib/driver.sh"
. "$IOBM_SRC/tests/lib/netns.sh"
need mpirun

driver=$IOBM_BUILD/tests/ranks/par_driver
skew=250000123
at_exit netns_down

# How many processes still live in a network namespace.
inhabitants() {
    local ns count=0
    for ns in /proc/[0-9]*/ns/net; do
        [ "$(readlink "$ns" 2>/dev/null)" = "$1" ] && count=$((count + 1))
    done
    echo $count
}

netns_up || plan_skip "$netns_why"
drive "one clock" netns_mpirun -np 6 "$driver" hosts=3 phases=2
netns_down

clocks_apart() {
    local clock offset

    drive "three clocks" netns_mpirun -np 3 "$driver" hosts=3 domains=3
    # The driver's truth is the system's own word; here is what was ordered.
    for clock in 1 2; do
        offset=$(sed -n \
            "s/.*domain $clock point 0: offset \([-0-9]*\).*/\1/p" \
            <<<"${out:-}")
        num "${offset:-0} < -$clock * $skew + 1e6 &&
            ${offset:-0} > -$clock * $skew - 1e6" "clock $clock is 250 ms apart"
    done
    drive "three clocks, seven ranks" netns_mpirun -np 7 "$driver" \
        hosts=3 domains=3 phases=2
}
ok "timens is there" test -x "$IOBM_BUILD/tests/bin/timens"
if netns_up $skew; then clocks_apart; else skip 80 "$netns_why"; fi
netns_down

netns_up || fail "hosts come up again"
home=$(readlink "/proc/${netns_pid[n2]}/ns/net")
num "$(inhabitants "$home") == 1" "only the host itself lives in there"
netns_down
num "$(inhabitants "$home") == 0" "and nobody once it is down"

# 3 runs of 39 checks, and 5.
is "$tap_count" 122 "every check was made"
echo "1..$tap_count"
