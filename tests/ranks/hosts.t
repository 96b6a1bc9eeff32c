#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 200
# The main job on three hosts whose monotonic clocks are 250 ms apart: ranks
# read what another node wrote, the figures are on one timeline, and folders
# that are not the same everywhere are told apart.
. "$IOBM_SRC/tests/lib/tap.sh"
. "$IOBM_SRC/tests/lib/netns.sh"
need mpirun
at_exit netns_down
netns_up 250000123 || plan_skip "$netns_why"
plan 20

json() {
    printf '%s' "$out" | /usr/bin/python3 -c '
import json, sys
d = json.load(sys.stdin)
w, r = (d["phases"] + d["phases"])[:2]
print('"$1"')'
}
go() { run timeout -s KILL 60 env TMPDIR=/tmp bash -c "$(declare -f \
    netns_mpirun netns_on); $(declare -p netns_pid netns_dir); \
    netns_mpirun \"\$@\"" x "$@"; }

mkdir all
go -np 6 "$IOBM" -n 60M -b 1M -f all/t -w -r -o all/r.h5 --json
is "$status" 0 "six ranks on three hosts" || diag "$err"
is "$(json 'w["nodes"], w["clock_domains"], r["order"]')" "3 3 shift" \
    "three nodes, three clocks, reads shifted"
is "$(json 'r["moved_files"]')" 6 "every rank reads what another node wrote"
is "$(json 'all(x["part"] != x["rank"] for x in r["rank_rows"])')" True \
    "nobody reads its own file"
is "$(json 'w["clock_failed"], r["clock_failed"]')" "0 0" "clocks agree"
is "$(json 'all(p["seconds"] <= p["seconds_outer"] + 2 * p["clock_bound_s"]
    and p["start_skew_s"] < 0.2 for p in (w, r))')" True \
    "a quarter of a second of clock is in no time"
is "$(json '0 < w["clock_bound_s"] < 0.001')" True "the bound is small"
is "$(json 'sorted(n["host"] for n in d["nodes"])')" "['n1', 'n2', 'n3']" \
    "the nodes are named"
is "$(json 'len(d["clock"]) >= 12')" True "every sync point is kept"

go -np 6 "$IOBM" -f all/t -r -o none --json --order same
is "$(json 'w["moved_files"], w["order"]')" "0 same" "--order same"
go -np 6 "$IOBM" -f all/t -r -o none --json --order random --seed 3
is "$(json 'sorted(x["part"] for x in w["rank_rows"])')" \
    "[0, 1, 2, 3, 4, 5]" "--order random: each part once"

go -np 6 "$IOBM" -n 30M -b 1M -f all/s -s -w -r -o none --json
is "$status" 0 "one file for three hosts" || diag "$err"
is "$(stat -c %s all/s)" 31457280 "of the right size"

# A folder that is another one on n2.
netns_on n2 mount -t tmpfs -o size=32m none "$PWD/all"
go -np 6 "$IOBM" -n 6M -f all/x -s -w -o none
is "$status" 2 "a shared file in a folder that is not shared: refused"
like "$err" '^iobm: .*not the same directory on all 3 nodes' \
    "with the reason"
is "$(printf '%s\n' "$err" | grep -c '^iobm:')" 1 "in one line"
go -np 6 "$IOBM" -n 6M -f all/x -w -r -o none --json
is "$status" 0 "a file per rank in folders that are not shared" || diag "$err"
is "$(json 'r["order"], r["moved_files"]')" "same 0" \
    "every rank reads its own"
go -np 6 "$IOBM" -n 600M -f all/x -w -o none
is "$status" 1 "too much for the small one"
like "$err" '^iobm: .*MiB free on n2' "named by its host"
