#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 200
# What others do to a run while it is under way: take away its files, its
# space, its ranks or its launcher; and what its surroundings may lack.
. "$IOBM_SRC/tests/lib/tap.sh"
need mpirun mkfifo
plan 73

# begin RANKS ARGS...: in the background; $job is mpirun.
begin() {
    local ranks=$1
    shift
    mpirun --oversubscribe -np "$ranks" "$IOBM" "$@" >out 2>err </dev/null &
    job=$!
    at_exit kill -KILL $job
}

# finish: sets $status, $out, $said and $took; a run that hangs is killed.
finish() {
    local begun=$SECONDS
    (sleep 30 && kill -KILL $job) 2>/dev/null &
    local guard=$!
    wait $job 2>/dev/null
    status=$?
    kill $guard 2>/dev/null
    took=$((SECONDS - begun))
    out=$(cat out) err=$(cat err) said=$(grep '^iobm: ' err)
}

# grown FILE BYTES: wait until it has so many.
grown() {
    local i
    for ((i = 0; i < 1500; i++)); do
        [ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -ge "$2" ] && return
        sleep 0.01
    done
    diag "'$1' does not grow"
}

# ended REGEX NAME: failed as it should.
ended() {
    num "$status == 1 || $status == 2" "$2: exit status $status"
    like "$said" "$1" "$2: says why"
    is "$(printf '%s\n' "$said" | grep -c .)" 1 "$2: in one line"
}

# ---- before a read: the file of rank 1
run mpi 2 "$IOBM" -n 2M -f x -w -o none
is "$status" 0 "files to read" || diag "$err"
mv x.1 kept
to_pipe() { rm "$1" && mkfifo "$1"; }
to_link() { mv "$1" moved && ln -s moved "$1"; }
to_hole() { truncate -s 0 "$1" && truncate -s 1M "$1"; }
for deed in "rm:does not exist" "truncate -s 9:too short" \
    "truncate -s 9M:too long" "to_pipe:no regular file" \
    "to_link:symbolic link" "to_hole:holes"; do
    rm -f x.1 moved
    cp -p kept x.1
    # shellcheck disable=SC2086 # a command
    ${deed%%:*} x.1
    begin 2 -f x -r -o none
    finish
    ended "x\.1.*${deed#*:}" "${deed%%:*} before a read"
done
rm -f x.* moved kept

# ---- during a write
begin 2 -n 300M -b 64K -f gone -w -o none
grown gone.1 1000000
rm gone.iobm
finish
ended 'gone\.iobm.* vanished' "the manifest removed during a write"
rm -f gone.*
for api in posix mmap mpiio; do
    begin 2 -n 300M -b 64K -f gone -w -o none --api $api
    grown gone.1 1000000
    rm gone.1
    finish
    ended "rank 1 .*gone\.1" "$api: removed during a write"
    unlike "$out" '[0-9] (MiB|GiB)/s' "$api: no bandwidth"
    rm -f gone.*
done

# ---- a file system that others fill
mkdir small
if is_root && mount -t tmpfs -o size=64m iobm-test small 2>/dev/null; then
    at_exit umount small
    for how in "posix" "mmap" "mpiio" "mpiio -s --collective" \
        "mmap -s --layout strided --block 64K"; do
        for io in ompio romio321; do
            case $how-$io in posix-romio* | mmap*-romio*) continue ;; esac
            export OMPI_MCA_io=$io
            # shellcheck disable=SC2086 # words
            begin 2 -n 48M -b 64K -f small/t -w -o none --api $how
            unset OMPI_MCA_io
            until [ -e small/t.iobm ]; do sleep 0.01; done
            head -c 40M /dev/zero >small/hog 2>/dev/null
            finish
            like "$status $said" \
                '^1 iobm: .*small/t.*: No space left on device' "$how, $io: full"
            unlike "$out" '[0-9] (MiB|GiB)/s' "$how, $io: no bandwidth"
            rm -f small/hog small/t*
        done
    done
else
    skip 14 "not root: no small file system"
fi

# ---- processes
for victim in "first rank" "last rank" mpirun; do
    begin 3 -n 40G -b 1M -f p -w -o p.h5
    grown p.1 10000000
    ranks=$(pgrep -P $job -f -- '-f p -w' | tr '\n' ' ')
    case $victim in
    first*) kill -KILL "${ranks%% *}" ;;
    last*) kill -KILL "$(echo "$ranks" | awk '{ print $NF }')" ;;
    *) kill -KILL $job ;;
    esac
    finish
    num "$status != 0 && $took < 15" "$victim killed: ends in $took s"
    left=1
    for _ in $(seq 150); do
        left=0
        for pid in $ranks; do [ ! -e "/proc/$pid" ] || left=$((left + 1)); done
        [ $left = 0 ] && break
        sleep 0.1
    done
    is $left 0 "$victim killed: no rank stays"
    run "$IOBM" file recover p.h5
    run "$IOBM" list p.h5
    like "$out" interrupted "$victim killed: the run is in the result file"
    run mpi 2 "$IOBM" -n 1M -f p -w --clean -o p.h5
    is "$status" 0 "$victim killed: the next run is not held up" || diag "$err"
    rm -f p.h5
done

# ---- a file that is cut off in mid-write: its later bytes stand over a hole
begin 2 -n 64M -b 64K --sync every -f cut -w -o none
grown cut.1 200000
truncate -s 0 cut.1
finish
ended "rank 1 .*cut\.1' has a hole at 0 after writing" "cut off in mid-write"
unlike "$out" '[0-9] MiB/s' "cut off in mid-write: no bandwidth"

# ---- a rank that is frozen: found by its silence
for victim in 1 0; do
    begin 3 -n 100G -b 1B --api null -f z -w -o z.h5 --watchdog 2
    for ((i = 0; i < 300; i++)); do
        ranks=$(pgrep -P $job -f 'api null' | sort -n)
        [ -n "$(compgen -G 'z.h5.*.part')" ] && break
        sleep 0.1
    done
    kill -STOP "$(echo "$ranks" | sed -n "$((victim + 1))p")"
    finish
    num "$status != 0 && $took < 25" "rank $victim frozen: ends in $took s"
    like "$said" "^iobm: rank $victim \(.*no sign of life for [4-9] s" \
        "rank $victim frozen: named"
    "$IOBM" file recover z.h5 >/dev/null 2>&1
    run "$IOBM" list z.h5
    like "$out" 'failed|interrupted' "rank $victim frozen: the run is kept"
    rm -f z.h5*
done
is "$(pgrep -P $job)" "" "no frozen rank stays"

# ---- all of rank 0's node: one of another node has to notice
cat >as_host <<'END'
#!/bin/bash
# Ranks 0 and 1 are on one host, 2 and 3 on the next.
export host=n$((OMPI_COMM_WORLD_RANK / 2))
exec unshare --uts bash -c 'hostname "$host" && exec "$@"' as_host "$@"
END
chmod +x as_host
if unshare --uts true 2>/dev/null; then
    mpirun --oversubscribe -np 4 ./as_host "$IOBM" -n 100G -b 1B \
        --api null -f z -w -o z.h5 --watchdog 2 >out 2>err </dev/null &
    job=$!
    at_exit kill -KILL $job
    for ((i = 0; i < 300; i++)); do
        [ -n "$(compgen -G 'z.h5.*.part')" ] && break
        sleep 0.1
    done
    for pid in $(pgrep -P $job -f 'api null' | sort -n | head -n 2); do
        at_exit kill -KILL "$pid"
        kill -STOP "$pid"
    done
    finish
    num "$status != 0 && $took < 25" "the first host frozen: ends in $took s"
    like "$said" "^iobm: rank 0 \(n0\): no sign of life for [4-9] s" \
        "the first host frozen: named"
else
    skip 2 "no UTS namespaces here"
fi
