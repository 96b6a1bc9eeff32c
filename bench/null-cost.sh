#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What iobm itself costs per operation, with histograms, time slots and marks
# on: the null back end at depth 1, against one reading of the clock and
# against fio's null engine, in turns.
#     bench/null-cost.sh
# TRANSFER (4096 bytes), OPS (in millions, 8), ROUNDS (5), IOBM, CC.
# Exit status 1 when the median of an operation is above 1.5 clock readings +
# 20 ns, or of iobm/fio below 3.  Both are promised at 4 KiB: larger writes
# take two readings, and more stamps to prepare.

set -eu

iobm=${IOBM:-./iobm}
transfer=${TRANSFER:-4096} ops=${OPS:-8} rounds=${ROUNDS:-5}
bytes=$((transfer * ops * 1000000))
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/timer.c" <<'END'
#include <stdio.h>
#include <time.h>
static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
int main(void)
{
    long long from = now(), to = from;
    for (int i = 0; i < 5000000; i++)
        to = now();
    printf("%.2f\n", (double)(to - from) / 5e6);
}
END
"${CC:-cc}" -O2 -D_GNU_SOURCE -o "$work/timer" "$work/timer.c"

# Both print ns per operation.
run_iobm() { # -w or -r
    "$iobm" --api null -f "$work/none" -n "${bytes}B" -b "${transfer}B" \
        "$1" -o none --csv >"$work/csv"
    awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        NR == 2 { printf "%.2f\n", $at["seconds"] * 1e9 / $at["ops"] }' \
        "$work/csv"
}

# Fields 8 and 49: operations per second that were read, and written.
run_fio() { # write or read
    fio --name=null --ioengine=null --iodepth=1 --rw="$1" --bs="$transfer" \
        --size="$bytes" --output-format=terse --terse-version=3 >"$work/fio"
    awk -F\; -v f="$([ "$1" = read ] && echo 8 || echo 49)" \
        'NF > 50 { printf "%.2f\n", 1e9 / $f }' "$work/fio"
}

median() { # of the n-th number of each line
    awk -v n="$2" '{ print $n }' "$1" | sort -g | awk '
        { v[NR] = $1 }
        END { print (v[int((NR + 1) / 2)] + v[int((NR + 2) / 2)]) / 2 }'
}

bad=0
for how in write read; do
    : >"$work/rounds"
    echo "$how: $ops million operations of $transfer bytes"
    printf '  round  clock ns   iobm ns    fio ns  iobm/limit  fio/iobm\n'
    for ((round = 1; round <= rounds; round++)); do
        clock=$("$work/timer")
        a=$(run_iobm "-${how:0:1}")
        b=$(run_fio "$how")
        awk -v r=$round -v c="$clock" -v a="$a" -v b="$b" \
            -v f="$work/rounds" 'BEGIN {
            limit = 1.5 * c + 20
            printf "  %5d  %8.1f  %8.1f  %8.1f  %10.3f  %8.2f\n",
                r, c, a, b, a / limit, b / a
            print a / limit, b / a >>f }'
    done
    limit=$(median "$work/rounds" 1) ratio=$(median "$work/rounds" 2)
    printf '  medians: %.3f of the limit, %.2f times the rate of fio\n' \
        "$limit" "$ratio"
    if awk "BEGIN { exit !($limit > 1 || $ratio < 3) }"; then bad=1; fi
done
exit $bad
