#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 300
# A run that is told to end, by a person, mpirun or a scheduler: it ends soon,
# says so in a line, and what was measured is kept.
. "$IOBM_SRC/tests/lib/tap.sh"
need mpirun
plan 15

# The null back end has no end of bytes: it writes until it is told to stop.
# It has begun when its partial result file is there, and tells by SIGUSR1 that
# it is on its way.
begin() {
    mpirun --oversubscribe -np 3 "$IOBM" -n 100G -b 1B -f x -w --api null \
        -o "$1.h5" >"$1.out" 2>"$1.err" </dev/null &
    job=$!
    at_exit kill -KILL "$job"
    for _ in $(seq 200); do
        [ -z "$(compgen -G "$1.h5.*.part")" ] || kill -USR1 $job
        grep -q '^iobm: write: rank 0 has moved [1-9]' "$1.err" && return
        sleep 0.1
    done
    diag "the run has not begun"
}

finish() { # NAME WANTED-STATUS-REGEX
    local begin=$SECONDS
    wait $job
    status=$?
    num "$status != 0 && $SECONDS - $begin < 15" \
        "$1: ends soon, status $status"
    # mpirun makes a SIGTERM of a SIGINT.
    like "$(grep -v "has moved" "$1.err")" "^iobm: .*(${1/INT/TERM}|$1)" \
        "$1: says so"
    "$IOBM" file recover "$1.h5" >/dev/null 2>&1
    run "$IOBM" show "$1.h5"
    like "$out" 'interrupted|ended by|stopped by' "$1: is in the result file"
    unlike "$out" '[0-9] (MiB|GiB)/s' "$1: without a bandwidth"
}

for name in USR2 TERM INT; do
    begin SIG$name
    kill -$name $job
    finish SIG$name
done

# A signal to one rank alone stops all.
begin one
rank=$(pgrep -P "$job" -f 'api null' | tail -n 1)
kill -USR2 "$rank"
wait $job
is $? 1 "a signal to one rank ends the run with status 1"
like "$(cat one.err)" '^iobm: stopped by SIGUSR2' "named by its signal"
run "$IOBM" list one.h5
like "$out" interrupted "kept as interrupted"
