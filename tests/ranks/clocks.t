#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 300
# Clocks that are seconds off, drift, or are set back during the run move no
# bandwidth by more than the printed bound.
. "$IOBM_SRC/tests/lib/tap.sh"
need mpirun
plan 22

# go CLOCKS: "status seconds outer longest bound failed domains skew" of the
# slower of two phases.  The null back end takes the same time everywhere.
go() {
    run timeout -s KILL 100 mpirun --oversubscribe -np 4 \
        -x IOBM_FAKE_CLOCK="$1" "$IOBM_TEST" -n 400M -b 4K -f t -w -r \
        -o none --json "${@:2}"
    [ "$status" = 0 ] || diag "$err" >&2
    printf '%s' "$out" | /usr/bin/python3 -c '
import json, sys
for p in json.load(sys.stdin)["phases"]:
    longest = max(r["end_ns"] - r["start_ns"] for r in p["rank_rows"]) / 1e9
    print(p["status"], p["seconds"], p["seconds_outer"], longest,
          p["clock_bound_s"], p["clock_failed"], p["clock_domains"],
          p["start_skew_s"], p["bw_wall_Bps"], p["bw_wall_low_Bps"],
          p["bw_wall_high_Bps"])'
}

check() { # NAME DOMAINS
    local s t outer longest bound failed domains skew wall low high
    while read -r s t outer longest bound failed domains skew wall low high; do
        is "$s $failed $domains" "complete 0 $2" "$1: complete, clocks agree"
        num "$longest <= $t + 2 * $bound && $t <= $outer + 2 * $bound" \
            "$1: max d <= T <= T outer ($longest $t $outer)"
        num "$bound < 0.001 && $skew < 1" \
            "$1: bound $bound s, starts within $skew s"
        num "$low <= $wall && $wall <= $high &&
            ($high - $low) / $wall <= 6 * $bound / $t + 1e-9" \
            "$1: wall bandwidth within its bounds"
    done
}

check "one is 10 s ahead and drifts" 2 < <(go 3:10000000000:50)
check "four clocks, seconds apart" 4 < <(go \
    0:0:0,1:10000000000:50,2:-1000000000:-50,3:500000000:25 | head -n 1)

# No clock drifts that far: it was set.  The points agree with themselves.
go 1:0:1000 >rows
is "$(awk '{print $1, $6}' rows | sort -u)" "invalid 1" \
    "a clock that gains 1000 ppm is not believed"
is "$status" 4 "and the exit status says so"

# The wall clock, set back 5 s in the first phase, is no measure of anything.
export IOBM_FAKE_STEP=-5@300000000
check "the system clock is set back 5 s" 2 < <(go 2:-2000000000:-50)
