#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 120
# iobm self-test, alone and under mpirun: what it says, that it leaves no file
# whatever ends it, and touches none that was there.
. "$IOBM_SRC/tests/lib/tap.sh"
need mpirun
plan 36

# Status 4 would be a finding about this machine, no fault of the program.
mkdir d
run "$IOBM" self-test --quick -f d
like "$status" '^[04]$' "it works"
is "$err" "" "without a word on standard error"
is "$(awk 'length > 80' "$TMPDIR/.out")" "" "in 80 columns"
is "$(echo "$out" | grep -cE '^(null|[a-z0-9.]+) +(write|read) +(4 K|1 M)iB')" 6 \
    "a line each for null and file, write and read, and the sizes"
is "$(echo "$out" | grep -c '^[wr][a-z]* of 1 MiB: instrumentation costs')" 2 \
    "and what comes of it"
like "$out" "'d' \\([a-z0-9.]+\\), was not synced, and is gone" "it says where"
is "$(ls -A d)" "" "and leaves nothing there"

# ---- JSON
python=""
for name in /usr/bin/python3 python3; do
    if "$name" -c '' 2>/dev/null; then python=$name && break; fi
done
run "$IOBM" self-test --quick --json -f d/new
like "$status" '^[04]$' "it works with --json, and a file to be made"
is "$(ls -A d)" "" "which is gone"
if [ -n "$python" ]; then
    cat >check.py <<'END'
import json, sys
t = json.load(open(sys.argv[1]))
status = int(sys.argv[2])
def check(what, name):
    print(("ok" if what else "not ok"), name)
check(all(k in t for k in "host cpu cores quick folder fs_type timer_ns "
      "timer_step_ns hist_ns keep_ns op_cost_ns memcpy_Bps write_Bps read_Bps "
      "limit_pct verdict perturbation".split()), "has its members")
check(t["quick"] is True and t["folder"] == "d", "of this test")
rows = t["perturbation"]
check([(r["api"], r["op"], r["transfer_bytes"]) for r in rows] ==
      [("null", "write", 4096), ("null", "read", 4096),
       ("posix", "write", 4096), ("posix", "read", 4096),
       ("posix", "write", 1 << 20), ("posix", "read", 1 << 20)], "has its rows")
check(all(r["with_ns"] > 0 and r["without_ns"] > 0 and r["rounds"] >= 1
          for r in rows), "with times")
check(all(r["low_pct"] is None or
          r["low_pct"] <= r["cost_pct"] <= r["high_pct"] for r in rows),
      "with intervals around the cost")
def verdict(r):
    if not r["confidence_pct"] or r["confidence_pct"] < 99: return "undecided"
    if -0.5 <= r["low_pct"] and r["high_pct"] <= 0.5: return "within"
    if r["low_pct"] > 0.5 or r["high_pct"] < -0.5: return "outside"
    return "undecided"
check([verdict(r) for r in rows] == [r["verdict"] for r in rows],
      "with verdicts that follow from them")
seen = [r["verdict"] for r in rows if r["counts"]]
worst = next((v for v in ("outside", "undecided") if v in seen), "within")
check(t["verdict"] == worst and len(seen) == 2, "the worst is the whole's")
check(status == (4 if worst == "outside" else 0), "and the exit status")
check(0 < t["timer_ns"] < 20000 and t["hist_ns"] > 0 and t["timer_step_ns"] > 0
      and 50e6 < t["memcpy_Bps"] < 10e12, "plausible costs")
# The page cache is a copy of memory; 4 times for what else runs here.
check(0 < t["write_Bps"] < 4 * t["memcpy_Bps"], "no write beats the copy")
END
    "$python" check.py "$TMPDIR/.out" "$status" >checks 2>&1
    num "$(wc -l <checks) == 10" "valid JSON" || diag "$(cat checks)"
    while read -r line; do
        case $line in
        "not ok "*) fail "JSON ${line#not ok }" || diag "$(cat "$TMPDIR/.out")" ;;
        ok*) pass "JSON ${line#ok }" ;;
        esac
    done <checks
else
    skip 11 "no python3 here"
fi

# ---- what makes no sense, and what cannot be done
table() { # STATUS REGEX OPTION...
    local wanted=$1 regex=$2
    shift 2
    run "$IOBM" self-test --quick "$@"
    is "$status:$(echo "$err" | grep -cE -e "$regex")" "$wanted:1" \
        "refuses: $*" || diag "$err"
}
echo mine >there
ln -s nowhere link
table 2 "^iobm: .*'--fast'" --fast
table 2 "^iobm: .*'x'" x
table 2 "^iobm: .*quick" --quick=no
table 1 "^iobm: cannot create 'there': File exists$" -f there
table 1 "^iobm: cannot create 'link': " -f link
table 1 "^iobm: cannot create 'no/such': No such file" -f no/such
is "$(cat there)" mine "a file that was there is as it was"
if [ -w /dev/full ]; then
    "$IOBM" self-test --quick >/dev/full 2>err
    is "$?:$(grep -c '^iobm: cannot write standard output' err)" "1:1" \
        "output that cannot be written is status 1"
else skip 1 "no /dev/full here"; fi

# shellcheck disable=SC2016 # for the shell inside
if is_root && unshare -m true 2>/dev/null; then
    run unshare -m bash -c 'mount -t tmpfs -o size=4m none d || exit 9
        "$0" self-test --quick -f d; echo "status $?"; ls -A d' "$IOBM"
    is "$out" "status 1" "a file that does not fit is status 1, and is gone"
    like "$err" "^iobm: cannot write 'd/iobm-self-test.*: No space left" \
        "for that reason"
else skip 2 "not root"; fi

# ---- ended from outside: at any time, there is nothing to remove
for signal in TERM HUP KILL; do
    "$IOBM" self-test -f d >/dev/null 2>&1 &
    job=$!
    at_exit kill -KILL "$job"
    # It is under way when it has the file, whose name is gone by then.
    for _ in $(seq 200); do
        readlink "/proc/$job/fd/"* 2>/dev/null |
            grep -q 'iobm-self-test.*(deleted)' && break
        sleep 0.02
    done
    kill -$signal $job
    wait $job 2>/dev/null
    is "$(($? > 128)):$(ls -A d)" "1:" "SIG$signal leaves nothing behind"
done

# ---- under mpirun one process does it
run mpi 3 "$IOBM" self-test --quick -f d
like "$status" '^[04]$' "it works under mpirun"
is "$(echo "$out" | grep -c '^clock')" 1 "once"
is "$(ls -A d)" "" "and leaves nothing behind"
