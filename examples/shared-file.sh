#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# All ranks in one shared file, in two layouts: segmented (each rank has one
# region) and strided (blocks of the ranks in turn, as a checkpoint of a
# distributed array).  The gap between the two is the price of fine sharing.
#     examples/shared-file.sh [FOLDER]

set -eu

folder=${1:-.}
iobm=${IOBM:-./iobm}
ranks=${RANKS:-4}
size=${SIZE:-1G}

# Written and read 1 MiB at a time.
common=(-n "$size" -s -f "$folder/iobm-shared" -b 1M -w -r --clean)

mpirun --oversubscribe -np "$ranks" "$iobm" "${common[@]}" \
    --layout segmented --label "shared segmented"
mpirun --oversubscribe -np "$ranks" "$iobm" "${common[@]}" \
    --layout strided --block 2M --label "shared strided"
"$iobm" list iobm-results.h5
