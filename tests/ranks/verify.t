#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 300
# Verification of real files on several ranks: clean ones, every kind of
# damage, reads that fail, and that the files are what they should be.
. "$IOBM_SRC/tests/lib/tap.sh"
need mpirun python3 cmp gzip

driver=$IOBM_BUILD/tests/ranks/verify_driver

# drive RANKS write|verify [KEY=VALUE]...
drive() {
    local ranks=$1
    shift
    run timeout -s KILL 60 mpirun --oversubscribe -np "$ranks" "$driver" "$@"
}

# damage FILE CODE: "f" is the file, open to change; "b" a function that gives
# the bytes of a block of another file.
damage() {
    python3 - "$1" <<END
import os, random, sys
random.seed(5)
f = open(sys.argv[1], 'r+b')
def b(path, block, n=1):
    with open(path, 'rb') as g:
        g.seek(4096 * block)
        return g.read(4096 * n)
def put(offset, data):
    f.seek(offset)
    f.write(data)
def flip(offset, bits):
    f.seek(offset)
    byte = f.read(1)[0]
    put(offset, bytes([byte ^ bits]))
$2
END
}

# clean NAME: what drive has run found nothing.
clean() {
    is "$status: ${out#*, }" "0: wrong 0" "$1" || diag "$out $err"
}

# damaged NAME: it found something.
damaged() {
    like "$status $(tail -n 1 <<<"$out")" \
        '^0 checked [0-9]+, wrong [1-9][0-9]*$' "$1" || diag "$err"
}

# finds LINE NAME: there is a finding that begins like this.
finds() {
    like "$out" "^$1" "$2"
}

# ---- clean files, every interface and layout
size=9437197 # 9 MiB and 13 bytes
layouts=("shared=0 transfer=1000003" "shared=1 transfer=65536"
    "block=98304 transfer=393216" "block=1000 transfer=7000")
for layout in "${layouts[@]}"; do
    # shellcheck disable=SC2086 # words
    set -- size=$size seed=7 $layout
    rm -f F F.*
    drive 3 write "$@"
    is "$status" 0 "$layout: written" || diag "$err"
    for how in api=posix api=mmap api=mpiio "api=mpiio collective=1"; do
        [ "$layout $how" != "${layouts[0]} api=mpiio collective=1" ] || continue
        for io in ompio romio321; do
            [[ $io != romio321 || "$layout $how" == block*mpiio* ]] || continue
            export OMPI_MCA_io=$io
            # shellcheck disable=SC2086
            drive 3 verify "$@" $how shift=1
            unset OMPI_MCA_io
            clean "$layout, $how, $io: clean"
            [[ $out == "checked $size,"* ]] || fail "all is checked" ||
                diag "$out"
        done
    done
done

# Ranks with more to read than others, in calls that all must make.
for size_of in 1 1100000; do
    rm -f F
    drive 3 write shared=1 size=$size_of
    for how in "shift=0" "api=mpiio" "api=mpiio collective=1"; do
        # shellcheck disable=SC2086
        drive 3 verify shared=1 size=$size_of $how
        clean "$size_of bytes, $how"
    done
done

# Written by any, verified by any: the same bytes.
rm -f F F.*
for how in api=mmap api=mpiio "api=mpiio collective=1"; do
    # shellcheck disable=SC2086
    drive 2 write shared=1 size=$size seed=8 $how
    drive 3 verify shared=1 size=$size seed=8
    clean "written with $how by 2, verified by 3"
done

rm -f F F.*
drive 2 write direct=1 grain=4096 size=$size
if [ "$status" = 0 ]; then
    drive 2 verify direct=1 grain=4096 size=$size
    clean "O_DIRECT, with an odd tail"
else
    skip 1 "no O_DIRECT here"
fi

# ---- every kind of damage: F.0 and F.1 of 4 MiB, and what was there before
drive 2 write seed=1
mv F.0 old.0
mv F.1 old.1
drive 2 write seed=2
mv F.0 mid.0
mv F.1 mid.1
drive 2 write seed=3
cp F.0 good.0
cp F.1 good.1
check() { drive 2 verify seed=3 older=2,1 "$@"; }
renew() { cp good.0 F.0 && cp good.1 F.1; }

check
clean "the files are good"
drive 2 verify seed=4
damaged "those of another seed are not"
finds "rank 0 part 0 F.0: unknown at 0, [0-9]+ bytes in 1024 blocks" \
    "nor known to be of it"
like "$out" 'wrong 2048$' "every block of them"

dd if=/dev/zero of=F.1 bs=4096 seek=10 count=3 conv=notrunc 2>/dev/null
wrong=$(cmp -l F.1 good.1 | wc -l)
check
damaged "lost blocks"
finds "rank 1 part 1 F.1: lost at 40960, $wrong bytes in 3 blocks" "are found"
like "$out" '^checked 8388608, wrong 3$' "and counted"
like "$out" " 0{32} not $(xxd -s 40960 -l 16 -p good.1 2>/dev/null ||
    python3 -c 'import sys; f = open("good.1", "rb"); f.seek(40960)
sys.stdout.write(f.read(16).hex())') \(" "with what should be there"
check shift=1
finds "rank 0 part 1 F.1: lost at 40960" "by whoever reads them"
renew

if fallocate -p -o 8192 -l 4096 F.0 2>/dev/null; then
    check
    finds "rank 0 part 0 F.0: lost at 8192, [0-9]+ bytes in 1 blocks" "a hole"
else
    skip 1 "no holes here"
fi
renew

damage F.0 'flip(5000, 0x10)'
check
damaged "one bit"
finds 'rank 0 part 0 F.0: flipped at 5000, 1 bytes in 1 blocks, .*1 bit diff' \
    "is found"
renew

damage F.0 'put(20480, b("good.0", 256))'
check
finds "rank 0 part 0 F.0: swapped at 20480, 4[0-9]* bytes in 1 blocks, .*(file\
 0, offset 1048576)" "a block of another place"
renew

damage F.1 'put(0, b("good.0", 7, 1024 - 7))'
check
finds "rank 1 part 1 F.1: swapped at 0, [0-9]+ bytes in 1017 blocks, .*(file\
 0, offset 28672)" "blocks of another file"
renew

cp good.0 F.1
cp good.1 F.0
check
finds "rank 0 part 0 F.0: swapped at [01], .*1024 blocks.*(file 1, offset 0)" \
    "two files have each other's data"
finds "rank 1 part 1 F.1: swapped at [01], .*1024 blocks.*(file 0, offset 0)" \
    "and both are named"
renew

damage F.0 'put(4096, b("mid.0", 1, 2)); put(409600, b("mid.0", 100))'
check
finds "rank 0 part 0 F.0: stale at 4096, [0-9]+ bytes in 3 blocks, .*(1 write\
 ago)" "data of the write before"
renew

damage F.0 'put(2048, b("old.0", 0)[2048:])'
check
finds "rank 0 part 0 F.0: stale at 2048, [0-9]+ bytes in 1 blocks, .*(2 writes\
 ago)" "half a block of two writes before"
drive 2 verify seed=3
finds "rank 0 part 0 F.0: unknown at 2048" "if nobody knows of that write"
renew

damage F.0 'put(8192, b("old.1", 9))'
check
finds "rank 0 part 0 F.0: stale at 8192, .*(2 writes ago, file 1, offset\
 36864)" "older data of another file"
renew

damage F.1 'put(12345, random.randbytes(100))'
wrong=$(cmp -l F.1 good.1 | wc -l)
check
finds "rank 1 part 1 F.1: unknown at 12345, $wrong bytes in 1 blocks" "garbage"
renew

damage F.0 'put(1000, bytes(100)); put(9000, bytes(1)); flip(70000, 1)
put(409600, b("mid.0", 100)); put(819200, b("good.1", 3))'
check
is "$(grep -c '^rank 0' <<<"$out")" 4 "four kinds in one part: four findings"
is "$(sed -n 's/^rank.*: \([a-z]*\) at.*/\1/p' <<<"$out" | tr '\n' ' ')" \
    "lost flipped stale swapped " "in the order of the file"
like "$out" '^checked 8388608, wrong 5$' "and all their blocks are counted"
renew

dd if=/dev/zero of=F.0 bs=4096 count=256 conv=notrunc 2>/dev/null
check
damaged "256 bad blocks are not none"
like "$out" '^checked 8388608, wrong 256$' "but 256"
renew

# ---- a shared file: blocks that two ranks share, and those of a stride
for layout in "shared=1 size=8388609" \
    "block=1000 transfer=7000 size=8388609"; do
    # shellcheck disable=SC2086
    set -- seed=3 $layout
    drive 3 write "$@"
    cp F good
    damage F 'for i in range(40): flip(random.randrange(8388609), 1 << i % 8)
for i in range(40): put(random.randrange(8380000), random.randbytes(7000))'
    wrong=$(cmp -l F good | wc -l)
    for how in api=posix api=mmap api=mpiio "api=mpiio collective=1"; do
        # shellcheck disable=SC2086
        drive 3 verify "$@" $how
        is "$(sed -n 's/.* at [0-9]*, \([0-9]*\) bytes in.*/\1/p' <<<"$out" |
            paste -sd+ | bc)" "$wrong" "$layout, $how: every wrong byte"
    done
    cp good F
done

# ---- reads that fail
rm -f F
renew
truncate -s 3145728 F.1
for how in api=posix api=mmap api=mpiio; do
    check $how
    damaged "$how: a file that was cut off"
    finds "rank 1 part 1 F.1: unreadable at 3145728, 1048576 bytes in 256 \
blocks, .*\(end of file" "counts as unreadable"
done
rm F.1
for how in api=posix api=mpiio; do
    check $how
    damaged "$how: a file that is gone"
    finds "rank 1 part 1 F.1: unreadable at 0, 4194304 bytes in 1024 blocks, .*\
(No such file or directory)" "likewise"
    like "$out" '^checked 4194304, wrong 1024$' "and the other one is verified"
done
renew

export IOBM_FAULT_STAGE=read IOBM_FAULT_RANK=1 IOBM_FAULT_OP=3
check api=fault
damaged "reads that fail from the third on"
finds "rank 1 part 1 F.1: unreadable at 2097152, 2097152 bytes in 512 blocks, \
 not [0-9a-f]{32} .injected failure" "are told with their text"
export IOBM_FAULT_DO=lost
check api=fault
finds "rank 1 part 1 F.1: unreadable at 2097152, .*512 blocks, .*brought \
nothing" "reads that bring nothing"
export IOBM_FAULT_DO=lie
check api=fault
finds "rank 1 part 1 F.1: unreadable at 2097152, .*512 blocks, .*2048 of 4096 \
bytes came" "reads that bring half"
export IOBM_FAULT_STAGE=open IOBM_FAULT_DO=error IOBM_FAULT_OP=1
check api=fault
finds "rank 1 part 1 F.1: unreadable at 0, .* in 1024 blocks" "no open"
export IOBM_FAULT_STAGE=close
check api=fault
is "$status" 1 "a close that fails is a failure"
like "$err" "rank 1: cannot close 'F.1': injected failure" "and told"
export IOBM_FAULT_STAGE=read IOBM_FAULT_DO=hang
check api=fault
is "$status" 9 "a read that hangs: the watchdog ends it"
unset IOBM_FAULT_STAGE IOBM_FAULT_RANK IOBM_FAULT_OP IOBM_FAULT_DO

# By the system, with MPI in between, which tells little: it ends, the
# other rank's part is verified, and nothing that failed is taken for good.
drive 2 write shared=1 seed=3 size=4194304
for how in api=posix api=mpiio "api=mpiio collective=1"; do
    for io in ompio romio321; do
        [[ $io != romio321 || $how == *mpiio* ]] || continue
        export OMPI_MCA_io=$io
        # shellcheck disable=SC2086
        run timeout -s KILL 60 mpirun --oversubscribe -np 2 \
            env LD_PRELOAD="$IOBM_INJECT/inject.so" IOBM_INJECT_PATH=F \
            IOBM_INJECT_CALL=read IOBM_INJECT_RANK=1 IOBM_INJECT_DO=EIO \
            IOBM_INJECT_AT=3000000 \
            "$driver" verify shared=1 seed=3 size=4194304 $how
        unset OMPI_MCA_io
        damaged "$how, $io: EIO from 3000000 on" || diag "$err"
        like "$out" "^rank 1 part 1 F: unreadable at (2097152|2998272|3000000),\
 [0-9]+ bytes in [0-9]+ blocks, .*Input/output error" "is told"
        [[ $out =~ checked\ ([0-9]+),\ wrong\ ([0-9]+) ]]
        num "${BASH_REMATCH[1]} >= 2097152 && ${BASH_REMATCH[1]} <= 3000000 &&
            ${BASH_REMATCH[2]} >= 292" "and no more checked than was read"
    done
done

# ---- a signal to one rank ends all
drive 3 write seed=3 size=25165824
for how in shift=0 api=mpiio; do
    drive 3 verify seed=3 size=25165824 $how signal=1
    is "$status" 1 "$how: a signal to rank 1"
    like "$err" 'stopped by SIGUSR2' "is told"
done
drive 3 write seed=3 size=25165824 shared=1
drive 3 verify seed=3 size=25165824 shared=1 api=mpiio collective=1 signal=2
is "$status" 1 "collective: a signal to rank 2"
like "$err" 'stopped by SIGUSR2' "is told"

# ---- what the files are: nothing to compress, nothing alike
rm -f F F.*
for seed in 10 11 12; do
    drive 3 write path=S$seed seed=$seed size=15728640
    drive 3 write path=T$seed seed=2$seed shared=1 size=5242880
done
bad=0
for file in S* T*; do
    plain=$(wc -c <"$file") packed=$(gzip -c "$file" | wc -c)
    [ $((plain * 100)) -lt $((packed * 101)) ] || bad=$((bad + 1))
done
is "$bad" 0 "gzip makes no file smaller by a hundredth"
ok "no two blocks of 4 KiB are alike" python3 - <<'END'
import glob, hashlib
seen = set()
blocks = 0
for path in sorted(glob.glob('[ST]*')):
    with open(path, 'rb') as f:
        while True:
            block = f.read(4096)
            if not block:
                break
            seen.add(hashlib.sha1(block).digest())
            blocks += 1
assert blocks == 3 * 5120, blocks
assert len(seen) == blocks, blocks - len(seen)
END

echo "1..$tap_count"
