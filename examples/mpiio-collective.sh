#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# MPI-IO on a strided shared file, independent and collective: collective
# calls let MPI merge the ranks' small pieces before they reach the storage.
#     examples/mpiio-collective.sh [FOLDER]

set -eu

folder=${1:-.}
iobm=${IOBM:-./iobm}
ranks=${RANKS:-4}
size=${SIZE:-256M}

# Small blocks are what collective buffering is for.
common=(-n "$size" -s -f "$folder/iobm-mpiio" --api mpiio --layout strided
    --block 64K -b 1M -w -r --clean)

mpirun --oversubscribe -np "$ranks" "$iobm" "${common[@]}" \
    --label "mpiio independent"
# Hints go to the MPI library; whether it heeds them, only the figures tell.
mpirun --oversubscribe -np "$ranks" "$iobm" "${common[@]}" --collective \
    --hint cb_buffer_size=16777216 --label "mpiio collective"
"$iobm" list iobm-results.h5
