#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The examples do what they say, with little data, and leave nothing behind.

. "$IOBM_SRC/tests/lib/tap.sh"
examples=$IOBM_SRC/examples
export IOBM RANKS=2 SIZE=8M
results=iobm-results.h5
plan 18

# example_ran SCRIPT RUNS: ends well, so many runs more, no data left.
total=0
example_ran() {
    mkdir -p data
    ok "$1 ends well" bash "$examples/$1" data
    total=$((total + $2))
    is "$("$IOBM" list $results 2>/dev/null | grep -cE " (ok|complete) ")" $total \
        "$1 adds $2 runs"
    is "$(ls -A data)" "" "$1 leaves no data behind"
}

example_ran first-run.sh 1
example_ran shared-file.sh 2
# O_DIRECT as far as the folder's file system has it.
example_ran direct.sh 3
example_ran mpiio-collective.sh 2

# Debian's python3 may not be the first in PATH.
python=""
for name in /usr/bin/python3 python3; do
    if "$name" -c 'import h5py, pandas' 2>/dev/null; then
        python=$name
        break
    fi
done
if [ -n "$python" ]; then
    run "$python" "$examples/read_results.py" $results
    is "$status" 0 "read_results.py ends well" || diag "$err"
    like "$out" '^16 phases of 8 runs' "it finds all phases"
    like "$out" 'mpiio collective +read +mpiio +2 ' "and their medians"
else
    skip 3 "no python3 with h5py and pandas here"
fi

# It says whether its figures may be quoted, and where they may not, as with
# files in memory, that is status 4.
mkdir -p data
run bash "$examples/trust.sh" data
like "$status" '^[04]$' "trust.sh ends well" || diag "$err"
like "$out" '(may be quoted: the median|not to be quoted: see the checks)' \
    "it says whether to quote the figures"
is "$(ls -A data)" "" "trust.sh leaves no data behind"
