#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A first run: 4 ranks write a file each, then read it; the result goes to
# ./iobm-results.h5, the test files are removed.
#     examples/first-run.sh [FOLDER]

set -eu

# The folder to test; the program; how many ranks and bytes in all.
folder=${1:-.}
iobm=${IOBM:-./iobm}
ranks=${RANKS:-4}
size=${SIZE:-1G}

# --oversubscribe: also on a machine with fewer cores than ranks.
mpirun --oversubscribe -np "$ranks" "$iobm" -n "$size" \
    -f "$folder/iobm-first" -w -r --clean --label "first run"

# What is in the result file, and the same report once more.
"$iobm" list iobm-results.h5
"$iobm" show iobm-results.h5
