#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 240
# iobm on a device of known speed: 20, 50 and 200 MB/s; 1, 2 and 4 ranks; all
# alike, with late starts of 0 to 2 s, with one slow rank.  What is true is
# what the device's own log says.
. "$IOBM_SRC/tests/lib/tap.sh"
. "$IOBM_SRC/tests/lib/truthfs.sh"
need mpirun
truthfs_usable || plan_skip "$truthfs_why"
plan 58

run env QUICK=1 CSV="$PWD/rows" "$IOBM_SRC/bench/truth.sh"
diag "$out"
is "$status" 0 "no figure is off" || diag "$err"
is "$(awk 'length > 80' <<<"$out")" "" "the table is 80 columns wide"

# field SCENARIO RATE RANKS NAME
field() {
    awk -F, -v name="$4" -v key="$1,$2,$3,iobm," '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i }
        index($0, key) == 1 { print $at }' rows
}
for scenario in plain late slow; do
    for rate in 20 50 200; do
        for ranks in 1 2 4; do
            name="$scenario, $rate MB/s, $ranks ranks"
            line=() wanted=(true_Bps true_s said_Bps true_ramp said_ramp
                true_tail said_tail plan_ramp plan_tail)
            for column in "${wanted[@]}"; do
                line+=("$(field $scenario $rate $ranks "$column")")
            done
            ok "$name: wall bandwidth" awk 'BEGIN {
                limit = ARGV[2] < 5 ? 0.02 : 0.01
                off = ARGV[3] / ARGV[1] - 1
                exit !(ARGV[1] > 0 && off < limit && off > -limit) }' \
                "${line[@]}"
            ok "$name: ramp and tail" awk 'BEGIN {
                bad = ARGC != 10
                for (i = 4; i < 8; i += 2) {
                    off = ARGV[i + 1] - ARGV[i]
                    if (ARGV[i + 1] !~ /^-?[0-9]/ || off > 0.02 || off < -0.02)
                        bad = 1
                }
                exit bad }' "${line[@]}" || diag "${line[*]}"
        done
    done
done
# That a loss was there to be found.
num "$(field late 50 4 true_ramp) > 0.1 && $(field slow 50 4 true_tail) > 0.3" \
    "late starts and a slow rank cost what they should"

# Nothing is opened behind the back of the clock: a slow open is before the
# start, once, and never again until the end of the sync.
truthfs_mount m 'rate=20M,opendelay=*:300'
run mpi 1 "$IOBM" -n 20MB -b 1MB -f m/t -w -o none --csv
said=$(awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) if ($i == "bw_wall_Bps") at = i }
    NR == 2 { print $at }' <<<"$out")
num "${said:-0} > 19.5e6 && ${said:-0} < 20.5e6" \
    "slow opens are not in the time of a write" || diag "$err"
