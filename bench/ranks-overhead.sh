#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What iobm adds to many ranks on few cores: the time of a whole run less its
# I/O, against an MPI program that does nothing.
#     bench/ranks-overhead.sh [FOLDER]      default: /dev/shm
# RANKS (64), SIZE (MiB in all, 64), ROUNDS (5), IOBM, MPICC.
# Exit status 1 when the median ratio is above 1.3.

set -eu

folder=${1:-/dev/shm}
iobm=${IOBM:-./iobm}
ranks=${RANKS:-64} size=${SIZE:-64} rounds=${ROUNDS:-5}
export OMPI_MCA_mpi_yield_when_idle=1
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/empty.c" <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    return MPI_Finalize();
}
END
"${MPICC:-mpicc}" -O2 -o "$work/empty" "$work/empty.c"

# Seconds that a command takes.
seconds() {
    local from to
    from=$(date +%s%N)
    "$@" >"$work/out" || return 1
    to=$(date +%s%N)
    awk -v ns=$((to - from)) 'BEGIN { print ns / 1e9 }'
}

median() {
    sort -g | awk '
        { v[NR] = $1 }
        END { print (v[int((NR + 1) / 2)] + v[int((NR + 2) / 2)]) / 2 }'
}

mpi=(mpirun --oversubscribe -np "$ranks")
printf 'round   empty s    iobm s     I/O s  (iobm - I/O) / empty\n'
for ((round = 1; round <= rounds; round++)); do
    empty=$(seconds "${mpi[@]}" "$work/empty")
    whole=$(seconds "${mpi[@]}" "$iobm" -n "${size}M" -b 1M \
        -f "$folder/iobm-overhead" -w --clean -o "$work/results.h5" --csv)
    io=$(awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == "seconds") at = i }
        NR == 2 { print $at }' "$work/out")
    awk -v r=$round -v e="$empty" -v w="$whole" -v i="$io" \
        -v f="$work/ratios" 'BEGIN {
        printf "%5d  %8.3f  %8.3f  %8.3f  %8.3f\n", r, e, w, i, (w - i) / e
        print (w - i) / e >>f }'
done
ratio=$(median <"$work/ratios")
echo "$ranks ranks on $(nproc) cores: median ratio $ratio"
awk "BEGIN { exit !($ratio <= 1.3) }"
