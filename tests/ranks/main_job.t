#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 400
# The main job on real files, with 1 to 16 ranks: the right bytes in the right
# files, figures that add up, and a result file that says the same.
. "$IOBM_SRC/tests/lib/tap.sh"
need mpirun h5dump
plan 62

# json EXPRESSION: of the document in $out, by Python ("d").
json() {
    printf '%s' "$out" | /usr/bin/python3 -c '
import json, sys
d = json.load(sys.stdin)
p = d["phases"]
print('"$1"')'
}

for n in 1 2 4 7 16; do
    size=$((n * 3000017 + 5))
    run mpi $n "$IOBM" -n ${size}B -f t$n -w -r -b 1M -o r.h5 --json
    is "$status" 0 "$n ranks write and read $size bytes" || diag "$err"
    is "$(cat t$n.* | wc -c)" "$(($(wc -c <t$n.iobm) + size))" \
        "all bytes are in the files"
    is "$(json '[x["status"] for x in p]')" "['complete', 'complete']" \
        "both phases are complete"
    is "$(json '[x["bytes"] for x in p]')" "[$size, $size]" "bytes"
    is "$(json 'all(x["bw_naive_Bps"] * 1.000001 >= x["bw_slowest_Bps"] and
        x["bw_slowest_Bps"] * 1.000001 >= x["bw_wall_Bps"] > 0 for x in p)')" \
        True "naive >= slowest >= wall"
    is "$(json 'all(abs(sum(r["bytes"] for r in x["rank_rows"])
        - x["bytes"]) == 0 and len(x["rank_rows"]) == '$n' for x in p)')" \
        True "the ranks' bytes add up"
    is "$(json 'all(abs(r["end_ns"] - r["start_ns"]
        - r["io_ns"] - r["sync_ns"]) < 3
        for x in p for r in x["rank_rows"])')" True \
        "transfer and sync are disjoint and add up"
    is "$(json 'all(abs(x["bw_wall_Bps"] * x["seconds"] / x["bytes"] - 1)
        < 1e-9 for x in p)')" True "wall bandwidth is bytes over seconds"
done

# No two 4 KiB blocks are alike, and none can be compressed.
blocks=$(cat t16.[0-9] t16.1[0-5] | split -b 4096 --filter=md5sum | sort | uniq -d | wc -l)
is "$blocks" 0 "no block stands twice in the files"
packed=$(gzip -1 -c t16.0 | wc -c)
num "$packed >= 0.99 * $(wc -c <t16.0)" "the data cannot be compressed"

# A total below the number of ranks, and one that is prime.
run mpi 4 "$IOBM" -n 3B -f tiny -w -r -o none --csv
is "$status" 0 "3 bytes over 4 ranks" || diag "$err"
is "$(stat -c %s tiny.0 tiny.1 tiny.2 tiny.3 | tr '\n' ' ')" "1 1 1 0 " \
    "three files of a byte and an empty one"

run "$IOBM" list r.h5
is "$(printf '%s\n' "$out" | grep -cE '^ +[0-9]+ .* (ok|complete) ')" 5 "five runs are listed"
run "$IOBM" show r.h5 5
like "$out" 'result run 5 in r.h5' "a run by its number"
for number in 0 6; do
    run "$IOBM" show r.h5 $number
    like "$status $err" "^[12] iobm: .*$number" "there is no run $number"
done
h5dump -d /results -H r.h5 >dump 2>&1
like "$(cat dump)" 'bw_wall_Bps' "h5dump reads the table"

# A read alone takes its size from the manifest; a read never writes.
before=$(stat -c '%Y %Z %s' t4.0)
run mpi 4 "$IOBM" -f t4 -r -o none --json
is "$status" 0 "a read without -n" || diag "$err"
is "$(json 'p[0]["bytes"]')" $((4 * 3000017 + 5)) "reads what was written"
is "$(stat -c '%Y %Z %s' t4.0)" "$before" "and changes nothing"
run mpi 2 "$IOBM" -f t4 -r -o none
is "$status" 2 "a read by another number of ranks is refused"
like "$err" 'iobm: .*4' "and says why"

run mpi 2 "$IOBM" -n 1M -f c -w --clean -o none
is "$status" 0 "--clean" || diag "$err"
is "$(ls c* 2>/dev/null)" "" "leaves nothing"

# A file whose whole name is one letter.
run mpi 2 "$IOBM" -n 2M -f f -s -w -r --api mpiio -o none --clean
is "$status" 0 "a one-letter name through MPI-IO" || diag "$err"

# How much had not been written back: all of it, nothing with O_DIRECT.
run mpi 2 "$IOBM" -n 4M -f y -w -z -o none --json
like "$(json 'p[0]["dirty_pct"]')" '^(100(\.0)?|[6-9][0-9](\.[0-9]+)?|None)$' \
    "the dirty share at the end of a write without a sync"
run mpi 2 "$IOBM" -n 4M -f y -w --sync every -o none --json
like "$(json 'p[0]["dirty_pct"]')" '^(0|0\.0|None)$' \
    "nothing is dirty when every transfer was synced"

# The virtual stonewall: a run of a little more than 10 s, by its own speed.
run mpi 2 "$IOBM" -n 4G -b 4K -f y -w --api null -o none --json
like "$(json 'p[0]["bw_stone_10s_Bps"]')" '^None$' "no stonewall beyond the end"
run mpi 2 "$IOBM" -n "$(json 'int(p[0]["bw_wall_Bps"] * 15)')B" -b 4K -f y \
    -w --api null -o none --json
is "$(json 'p[0]["seconds"] < 10 or
    0.6 < p[0]["bw_stone_10s_Bps"] / p[0]["bw_wall_Bps"] < 1.6')" True \
    "the first ten seconds are about as fast as the whole"
is "$(json 'p[0]["bw_stone_300s_Bps"] is None or p[0]["seconds"] >= 300')" \
    True "and there is none for five minutes"
