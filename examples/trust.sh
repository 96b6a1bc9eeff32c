#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Figures to be quoted: repeats until the median is known to +-5 %, all data
# compared, reads that must be cold; and what to make of the exit status.
#     examples/trust.sh [FOLDER]

set -eu

folder=${1:-.}
iobm=${IOBM:-./iobm}
ranks=${RANKS:-4}
size=${SIZE:-4G}

# At least 6 repeats; no further one after 5 minutes.  With --strict warnings
# would count as well.
status=0
mpirun --oversubscribe -np "$ranks" "$iobm" -n "$size" \
    -f "$folder/iobm-trust" -w -r --clean --label "trust" \
    --precision 5% --time-budget 5min --verify --cache require-cold ||
    status=$?

# Every check with its value, its limit and the next step, and what the system
# counted meanwhile.
"$iobm" show iobm-results.h5 --checks
"$iobm" show iobm-results.h5 --evidence

case $status in
0) echo "may be quoted: the median, with its interval" ;;
3) echo "the storage returned wrong data: see the run" ;;
4) echo "not to be quoted: see the checks that are INVALID" ;;
esac
exit $status
