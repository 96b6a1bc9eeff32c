#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs that end at once share a result file: all land, under numbers of their
# own; locks of the dead are broken, those of the living are waited for.
# timeout: 120

. "$IOBM_SRC/tests/lib/tap.sh"
driver=$IOBM_BUILD/tests/bin/store_driver
plan 20

# together N: N runs into the file $1 at the same time, five times.
together() {
    local file=$1 n=$2 round i pids
    for ((round = 0; round < 5; round++)); do
        pids=()
        for ((i = 0; i < n; i++)); do
            "$driver" run "$file" 2 3 "$round.$i" >"said.$round.$i" 2>&1 &
            pids+=($!)
        done
        wait "${pids[@]}"
    done
    is "$(cat said.*.* | grep -v '^phase\|^number')" "" "$n at once: no error"
    is "$(cat said.*.* | sed -n 's/^number \([0-9]*\) .*/\1/p' | sort -n)" \
        "$(seq $((5 * n)))" "each has a number of its own"
    is "$("$driver" dump "$file" | awk '$3 == "complete" && $6 == "right"' |
        wc -l)" $((5 * n)) "all are in the file, whole"
    is "$(find . -name "$file.*")" "" "nothing is left beside"
    rm -f said.*.*
}
together two.h5 2
together eight.h5 8

# Kill process $1 without a word, and wait until it is gone.
slay() {
    kill -9 "$1"
    wait "$1" 2>/dev/null
}
# until_said WORD FILE
until_said() {
    local i
    for ((i = 0; i < 100; i++)); do
        grep -q "$1" "$2" && return 0
        sleep 0.05
    done
    return 1
}

# ---- processes that die with the lock, again and again
contenders() {
    local i
    for ((i = 0; i < 10; i++)); do
        "$driver" contend lock 2 counter
    done
}
for ((i = 0; i < 6; i++)); do contenders >"contended.$i" 2>&1 & done
wait
is "$(grep -hv Killed contended.*)" "" "one process at a time has the lock"
is "$(cat counter)" 120 "and every one had it"

# ---- a lock that is held
"$driver" hold h.h5 >held-h 2>&1 &
holder=$!
at_exit kill -9 $holder
until_said held held-h
run "$driver" wait h.h5 300
is "$status" 1 "a lock of a living process is not broken"
like "$err" "lock 'h.h5.lock' is held by process $holder on " \
    "it is said who holds it"
is "$(find . -name 'h.h5.*.part' | wc -l)" 1 "the partial file stays"
is "$(find . -name h.h5)" "" "the file is not touched"

kill -STOP $holder
run "$driver" wait h.h5 300
is "$status" 1 "nor is that of one that stands still"
kill -CONT $holder

# ---- whoever waits gets it when the holder dies
"$driver" run h.h5 2 3 late >waiting 2>&1 &
waiter=$!
at_exit kill -9 $waiter
until_said 'phase 2' waiting
sleep 0.3
not_ok "a run waits for the lock" grep -q number waiting
slay $holder
wait $waiter
is $? 0 "and lands when its holder was killed"

# ---- many who find the same stale lock
"$driver" hold s.h5 >held-s 2>&1 &
holder=$!
until_said held held-s
slay $holder
ok "a killed process leaves its lock" test -e s.h5.lock
pids=()
for ((i = 0; i < 8; i++)); do
    "$driver" run s.h5 1 2 "$i" >"said.$i" 2>&1 &
    pids+=($!)
done
wait "${pids[@]}"
is "$(cat said.[0-7] | sed -n 's/^number \([0-9]*\) .*/\1/p' | sort -n)" \
    "$(seq 8)" "eight break it and all land"
run "$IOBM" file recover h.h5
is "$(find . -name '[hs].h5.*')" "" "nothing is left beside"
