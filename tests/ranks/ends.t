#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 300
# Ends that are none of the storage's making: standard output that takes no
# more, signals before the first phase, between two and during the merge, and
# errors of which the text already has the word "rank".
. "$IOBM_SRC/tests/lib/tap.sh"
need mpirun
plan 38

said() { printf '%s\n' "$err" | grep '^iobm: '; }
lines() { said | grep -c .; }

# ---- standard output: the run goes on, its result is kept, and it fails
for out_file in full closed; do
    case $out_file in
    full) run bash -c '"$0" "$@" >/dev/full' "$IOBM" -n 1M -f a -w -r -o o.h5 ;;
    closed) run bash -c '"$0" "$@" >&-' "$IOBM" -n 1M -f a -w -r -o o.h5 ;;
    esac
    is "$status" 1 "$out_file output: exit status 1"
    like "$(said)" '^iobm: cannot write standard output: ' \
        "$out_file output: says so"
    is "$(lines)" 1 "$out_file output: in one line"
    run "$IOBM" show o.h5 --json
    is "$(printf '%s' "$out" | /usr/bin/python3 -c '
import json, sys
d = json.load(sys.stdin)
print(d["run"]["status"], [p["op"] for p in d["phases"]])')" \
        "complete ['write', 'read']" "$out_file output: both phases are kept"
done
run bash -c '"$0" "$@" >/dev/full' "$IOBM" -n 1M -f a -w -r -i 3 -o none
is "$status" 1 "full output and no file: exit status 1"
is "$(lines)" 1 "full output and no file: in one line" || diag "$err"
for form in --json --csv --text; do
    run bash -c '"$0" "$@" >/dev/full' "$IOBM" -n 1M -f a -w "$form" -o o.h5
    is "$status" 1 "full output, $form: exit status 1"
    is "$(lines)" 1 "full output, $form: in one line" || diag "$err"
done
run bash -c '{ "$0" "$@"; echo $? >status; } | true' "$IOBM" -n 64M -f a -w \
    -o o.h5
is "$(cat status)" 1 "closed pipe: exit status 1"
like "$(said)" '^iobm: cannot write standard output: Broken pipe' \
    "closed pipe: says so"

# A failed run is a document all the same, without a rate.
export IOBM_FAULT_STAGE=write IOBM_FAULT_RANK=1
run mpi 3 "$IOBM_TEST" -n 3M -b 1M -f j -w --api fault --json -o none
is "$status" 1 "a failed run in JSON: exit status 1"
is "$(printf '%s' "$out" | /usr/bin/python3 -c '
import json, sys
d = json.load(sys.stdin)
p = d["phases"][0]
print(d["run"]["status"], p["status"], p["bytes"],
      [k for k in p if "bw_" in k and p[k] is not None],
      [r["rate_Bps"] for r in p["rank_rows"]],
      [r["rank"] for r in p["rank_rows"]])')" \
    "failed failed 2097152 [] [None, None, None] [0, 1, 2]" \
    "a failed run in JSON: bytes and no rate"

# ---- the rank is named once, whatever the path is
mkdir 'rank 1'
for stage in open close start; do
    export IOBM_FAULT_STAGE=$stage IOBM_FAULT_RANK=2
    run mpi 3 "$IOBM_TEST" -n 3M -b 1M -f 'rank 1/f' -w --api fault -o none
    like "$(said)" '^iobm: rank 2 \([^)]*\): cannot ' "$stage: rank 2 is named"
    unlike "$(said)" 'rank [0-9]+ \(.*rank [0-9]+ \(' "$stage: once"
done
unset IOBM_FAULT_STAGE IOBM_FAULT_RANK

# ---- signals
# await COMMAND...: until it succeeds.
await() {
    for _ in $(seq 300); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    diag "no end of waiting for: $*"
}

# start PROGRAM ARGS...: in the background; $job, $began.
start() {
    mpirun --oversubscribe -np 3 "$@" >sig.out 2>sig.err </dev/null &
    job=$!
    at_exit kill -KILL $job
}

# ended NAME REGEX
ended() {
    local begin=$SECONDS
    wait $job
    status=$?
    err=$(cat sig.err)
    num "$status != 0 && $SECONDS - $begin < 15" "$1: ends, status $status"
    like "$(said)" "$2" "$1: says so"
    num "$(lines) <= 2" "$1: in few words" || diag "$err"
}

# A rank that hangs before the first phase cannot keep the others.
export IOBM_FAULT_STAGE=start IOBM_FAULT_DO=hang IOBM_FAULT_RANK=1
start "$IOBM_TEST" -n 3M -f s -w --api fault -o s.h5
await compgen -G 's.h5.*.part'
kill -TERM $job
ended "set-up" '^iobm: ended by SIGTERM during set-up'
unset IOBM_FAULT_STAGE IOBM_FAULT_DO IOBM_FAULT_RANK

# To one rank alone, while all wait between two phases.
start "$IOBM" -n 3M -f d -w -r --delay 100 -o d.h5
await grep -q 'precise' sig.out
kill -USR2 "$(pgrep -P $job -f 'delay 100' | tail -n 1)"
ended "pause" '^iobm: stopped by SIGUSR2'
run "$IOBM" show d.h5
like "$out" 'write' "the phase before it is kept"
like "$out" 'interrupted' "the run is interrupted"

# Another run seems to merge: so does this one, until it is told to end.
touch m.h5.lock
start "$IOBM" -n 3M -f m -w -o m.h5
await grep -q 'precise' sig.out
kill -TERM $job
ended "merge" "^iobm: ended by SIGTERM during the end: 'iobm file recover m.h5'"
rm m.h5.lock
run "$IOBM" file recover m.h5
run "$IOBM" list m.h5
like "$out" ' complete ' "the run can be recovered, complete"
