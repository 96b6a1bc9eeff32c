#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 240
# What stands behind a figure, on real files: where the bytes came from,
# whether they are right, how often it was repeated, and what the exit status
# says of it.
. "$IOBM_SRC/tests/lib/tap.sh"
need mpirun /usr/bin/python3
plan 55

# p: the phases; v: their findings and r: the run's other rows
json() {
    printf '%s' "$out" | /usr/bin/python3 -c '
import json, sys
d = json.load(sys.stdin)
p = d["phases"]
print('"$1"')'
}
go() {
    run timeout -s KILL 90 mpirun --oversubscribe -np "$@"
}
is_block=$(df --output=fstype "$TMPDIR" | tail -n 1)
case $is_block in
ext[234] | xfs | btrfs | f2fs) is_block=1 ;;
*) is_block='' ;;
esac
block() { # ok-like on a block-backed file system alone
    if [ "$is_block" ]; then "$@"; else pass "${*: -1} # SKIP no block device"; fi
}

# ---- where the bytes came from
for how in "" "-s" "-s --layout strided --block 256K" "--api mmap" \
    "--api mpiio -s"; do
    # shellcheck disable=SC2086 # words
    go 2 "$IOBM" -n 16M -b 1M -f t -w -o none --json $how
    is "$status" 0 "write ${how:-of files}" || diag "$err"
    # shellcheck disable=SC2086
    go 2 "$IOBM" -n 16M -b 1M -f t -r --cache keep -o none --json $how
    block is "$(json '[p[0]["cache_verdict"], p[0]["cache_method"],
        p[0]["resident_pct"] > 90]')" "['cached', 'kept', True]" \
        "warm ${how:-files}: cached"
    # shellcheck disable=SC2086
    go 2 "$IOBM" -n 16M -b 1M -f t -r -o none --json $how
    block is "$(json '[p[0]["cache_verdict"], p[0]["cache_method"],
        p[0]["resident_pct"] < 1]')" "['cold', 'dropped', True]" \
        "after the drop: cold"
    # shellcheck disable=SC2086
    go 2 "$IOBM" -n 16M -b 1M -f t -r --cache require-cold -o none $how
    block is "$status" 0 "cold, as required" || diag "$err"
    rm -f t t.*
done
go 2 "$IOBM" -n 8M -b 1M -f t -w -o none --json
block is "$(json '(p[0]["dirty_left_pct"], p[0]["cache_verdict"])')" \
    "(0, 'none')" "a durable write leaves nothing in memory alone"
go 2 "$IOBM" -n 8M -b 1M -f t -w -z -o none --json
block num "$(json 'p[0]["dirty_pct"]') > 50" "without a sync: the dirty share"
like "$(json 'p[0]["checks"]')" 'W:durable' "and a warning"
go 2 "$IOBM" -n 8M -b 1M -f t -w -z -o none
block like "$out" 'nothing was synced: [0-9]+ % of the data was in memory' \
    "in the text as well"
rm -f t t.*

if [ -w /dev/shm ]; then
    shm=$(mktemp -d /dev/shm/iobm-trust.XXXXXX)
    at_exit rm -rf "$shm"
    go 2 "$IOBM" -n 8M -b 1M -f "$shm/t" -w -r -d -o none --json
    is "$(json '[(q["direct_not_honoured"], "W:direct" in q["checks"])
        for q in p]')" "[(1, True), (1, True)]" "tmpfs does not honour O_DIRECT"
    go 2 "$IOBM" -f "$shm/t" -r --cache require-cold -o none
    is "$status" 4 "memory is not cold"
    like "$err" '^iobm: not to be quoted: invalid: .*read cache' "and says so"
else
    for name in honour cold says; do pass "$name # SKIP no /dev/shm"; done
fi

# ---- the exit status
go 2 "$IOBM" -n 2M -b 64K -f t -w -o none
is "$status" 0 "a warning is no failure" || diag "$err"
go 2 "$IOBM" -n 2M -b 64K -f t -w -o none --strict
is "$status" 4 "--strict makes it one"
is "$(grep -c '^iobm: ' <<<"$err")" 1 "in one line"
go 2 "$IOBM" -n 2M -b 64K -f t -w -o r.h5 --csv
is "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    NR == 2 { print $at["trust"] }' <<<"$out")" WARN "CSV: the worst check"
num "$("$IOBM" show --checks r.h5 | grep -c ' OK') >= 12" \
    "show --checks has those that are OK"
rm -f t t.*

# ---- whether they are right
verify() { # verify STATUS WHAT [ARGS...]
    local wanted=$1 what=$2
    shift 2
    go 2 "$IOBM" -f t -r --verify -o none --json "$@"
    is "$status" "$wanted" "$what" || diag "$err"
}
found() {
    json '[(f["kind"], f["rank"], f["offset"], f["blocks"])
        for f in p[0]["finding_rows"]]'
}
go 2 "$IOBM" -n 4M -b 1M -f t -w -r --verify -o none --json
is "$status" 0 "clean files" || diag "$err"
is "$(json '[(q["verify_errors"], q["verify_bytes"]) for q in p]')" \
    "[(0, 4194304), (0, 4194304)]" "all of it was compared, after each phase"
cp t.0 good.0 && cp t.1 good.1
mend() { cat good.0 >t.0 && cat good.1 >t.1; }
poke() { dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }
head -c 1 t.0 | tr '\000-\377' '\001-\377\000' >byte

dd if=good.1 bs=1 skip=70000 count=1 status=none |
    tr '\000-\377' '\001-\377\000' | poke t.1 70000
verify 3 "a wrong byte"
like "$(found)" "^\[\('flipped', 1, 70000, 1\)\]$" "where, and what kind"
like "$err" "^iobm: rank 1 .*: 1 block of 4 KiB is not what was written; .*'t?.*t\.1' at 70000: flipped" \
    "and in one line"
mend
head -c 4096 /dev/zero | poke t.0 8192
verify 3 "a block of zeros"
is "$(found)" "[('lost', 0, 8192, 1)]" "lost"
mend
dd if=good.1 bs=4096 skip=3 count=1 status=none | poke t.0 4096
verify 3 "a block of another file"
is "$(found)" "[('swapped', 0, 4096, 1)]" "swapped"
mend
head -c 1048576 /dev/urandom | poke t.1 0
verify 3 "256 wrong blocks"
is "$(json 'p[0]["verify_errors"]')" 256 "all counted"
like "$(json 'p[0]["checks"]')" '^I:verify' "the certificate says so first"
mend
go 2 "$IOBM" -n 4M -b 1M -f t -w -o none
dd if=good.0 bs=4096 skip=5 count=1 status=none | poke t.0 20480
verify 3 "a block of the run before"
is "$(found)" "[('stale', 0, 20480, 1)]" "stale"
rm -f t.* good.*

go 3 "$IOBM" -n 3000001B -b 7000B -s --layout strided --block 1000B -f s -w \
    -r --verify -i 2 -o r.h5 --json
is "$status" 0 "odd sizes, dealt out" || diag "$err"
is "$(json '{q["verify_errors"] for q in p}')" "{0}" "are right"
go 1 "$IOBM" -f s.none -n 1M -r --verify -o none
isnt=$status
num "$isnt == 1 || $isnt == 2" "nothing to verify: refused"
rm -f s s.*

# ---- repeats
go 2 "$IOBM" -n 2M -b 64K -f t -w -i 3 -o r.h5 --json --clean
is "$(json '[(s["repeats"], s["confidence_pct"], s["stopped"])
    for s in d["repeats"]]')" "[(3, 75, 'all')]" "three repeats: 75 %"
go 2 "$IOBM" -n 256M -b 1M --api null -f t -w --precision 50% -o none --json
is "$(json 'all(s["repeats"] >= 6 and s["stopped"] in ("precise", "cap")
    for s in d["repeats"])')" True "--precision stops, and says why"
go 2 "$IOBM" -n 256M -b 1M --api null -f t -w -i 100000 --time-budget 1s \
    -o none --json
is "$(json '[s["stopped"] for s in d["repeats"]]')" "['time budget']" \
    "--time-budget ends it"

# ---- over time
go 2 "$IOBM" -n 64M -b 64K -f t -w -o r.h5 --json --clean
is "$(json 'sum(s["bytes"] for s in p[0]["series_rows"])')" 67108864 \
    "the series adds up"
run "$IOBM" show --stonewall 30s r.h5
is "$status" 0 "a stonewall beyond the end" || diag "$err"
like "$out" 'n/a' "is n/a"
