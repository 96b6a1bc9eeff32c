#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Past the page cache with O_DIRECT, at three transfer sizes: small transfers
# show what a request costs, large ones what the device can stream.
#     examples/direct.sh [FOLDER]

set -eu

folder=${1:-.}
iobm=${IOBM:-./iobm}
ranks=${RANKS:-4}
size=${SIZE:-1G}

for transfer in 64K 1M 16M; do
    mpirun --oversubscribe -np "$ranks" "$iobm" -n "$size" -b $transfer -d \
        -f "$folder/iobm-direct" -w -r --clean --label "direct $transfer"
done
"$iobm" list iobm-results.h5
