#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 200
# The same seed and layout give the same bytes, whichever interface writes
# them and however they are cut into transfers.
. "$IOBM_SRC/tests/lib/tap.sh"
need mpirun cmp
plan 40

# write NAME RANKS ARGS...: one shared file, or one of all ranks' files.
write() {
    local name=$1 ranks=$2
    shift 2
    run timeout -s KILL 60 mpirun --oversubscribe -np "$ranks" "$IOBM" \
        --seed 7 -f "$TMPDIR/$name" -w -r -o none "$@"
    is "$status" 0 "$ranks ranks: $*" || diag "$err"
}

size=9437197 # 9 MiB and 13 bytes
for layout in "segmented -b 1M" "strided --block 96K -b 384K" \
    "strided --block 1000B -b 7000B"; do
    # shellcheck disable=SC2086 # words
    set -- -n ${size}B -s --layout $layout
    write reference 3 "$@"
    for how in "--api mmap" "--api mpiio" "--api mpiio --collective"; do
        for io in ompio romio321; do
            [ "$how $io" != "--api mmap romio321" ] || continue
            export OMPI_MCA_io=$io
            # shellcheck disable=SC2086
            write other 3 "$@" $how
            unset OMPI_MCA_io
            ok "$how, $io: the same bytes" cmp reference other
        done
    done
done

# A file per rank: transfers of other sizes, O_DIRECT with an odd tail.
write a 2 -n ${size}B -b 1M
write b 2 -n ${size}B -b 64K -d
cat a.0 a.1 >whole.a && cat b.0 b.1 >whole.b
ok "O_DIRECT, tails included: the same bytes" cmp whole.a whole.b
is "$(wc -c <whole.b)" $size "as many as asked for"
write one 2 -n ${size}B -s -b 1M
write two 2 -n ${size}B -s -b 64K -d
is "$(wc -c <two)" $size "a shared file with O_DIRECT has its size"
