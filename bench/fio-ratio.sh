#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Side by side with fio: the same bytes, ranks, transfer size and final fsync,
# in turns, so that a disk in a bad mood is in one for both.
#     bench/fio-ratio.sh [FOLDER...]        default: . /dev/shm
# SIZE (MiB in all, 2048), RANKS (2), TRANSFER (MiB, 16), ROUNDS (5), IOBM.
# Prints the ratio iobm/fio of each round and the median; exit status 1 when a
# median is below 0.95.

set -eu

iobm=${IOBM:-./iobm}
size=${SIZE:-2048} ranks=${RANKS:-2} transfer=${TRANSFER:-16}
rounds=${ROUNDS:-5}
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
if [ $# = 0 ]; then set -- . /dev/shm; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Both print bytes per second, from the first start to the last end.
run_iobm() {
    # fio does not bind its jobs to cores.
    mpirun --oversubscribe --bind-to none -np "$ranks" "$iobm" -n "${size}M" \
        -b "${transfer}M" -f "$1/iobm-ratio" -w --clean -o none --csv \
        >"$work/csv" && awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == "bw_wall_Bps") at = i }
        NR == 2 { printf "%.0f\n", $at }' "$work/csv"
}

# fio: new files, no fallocate, no shaping of its buffers, fsync at the end
# (within its run time); the rate is that of the longest job.
run_fio() {
    local i jobs=()
    # A job section per rank: with --numjobs alone all write one file.
    for ((i = 0; i < ranks; i++)); do jobs+=("--name=w$i"); done
    mkdir "$1/fio-ratio"
    # By mpirun, too: a virtual machine gives memory that is free back to its
    # host, and whoever comes a second later has to wait for it.
    mpirun --oversubscribe --bind-to none -np 1 fio --directory="$1/fio-ratio" --ioengine=psync --rw=write \
        --bs="${transfer}m" --size="$((size / ranks))m" \
        --end_fsync=1 --fallocate=none --create_on_open=1 \
        --scramble_buffers=0 --group_reporting --output-format=terse \
        --terse-version=3 "${jobs[@]}" >"$work/fio" || return 1
    i=$(find "$1/fio-ratio" -type f -size +0 | wc -l)
    rm -rf "$1/fio-ratio"
    if [ "$i" != "$ranks" ]; then
        echo "fio wrote $i files, not $ranks" >&2
        return 1
    fi
    # Fields 47 and 50: KiB written and milliseconds.
    awk -F\; 'NF > 50 { printf "%.0f\n", $47 * 1024 / ($50 / 1000) }' \
        "$work/fio"
}

median() {
    sort -g | awk '
        { v[NR] = $1 }
        END { print (v[int((NR + 1) / 2)] + v[int((NR + 2) / 2)]) / 2 }'
}

echo "$size MiB, $ranks ranks, transfers of $transfer MiB, write with fsync"
bad=0
for folder in "$@"; do
    : >"$work/ratios"
    echo "$folder ($(df --output=fstype "$folder" | tail -n 1))"
    # Uncounted, once each: a virtual machine first has to get its memory.
    run_fio "$folder" >/dev/null
    run_iobm "$folder" >/dev/null
    printf '  round  iobm MiB/s   fio MiB/s  iobm/fio\n'
    for ((round = 1; round <= rounds; round++)); do
        # iobm, fio, fio, iobm: a disk that is slower for who writes again
        # over what it has just freed is so for both.
        sync; a1=$(run_iobm "$folder")
        sync; b1=$(run_fio "$folder")
        sync; b2=$(run_fio "$folder")
        sync; a2=$(run_iobm "$folder")
        awk -v r="$round" -v a1="$a1" -v a2="$a2" -v b1="$b1" -v b2="$b2" \
            -v f="$work/ratios" 'BEGIN {
            a = 2 / (1 / a1 + 1 / a2); b = 2 / (1 / b1 + 1 / b2)
            printf "  %5d  %10.1f  %10.1f  %8.3f\n", r, a / 2^20, b / 2^20, a / b
            print a / b >>f }'
    done
    ratio=$(median <"$work/ratios")
    printf '  median ratio %.3f\n' "$ratio"
    if awk "BEGIN { exit !($ratio < 0.95) }"; then bad=1; fi
done
exit $bad
