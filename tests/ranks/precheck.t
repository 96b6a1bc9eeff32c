#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 300
# The checks before a run on ranks that play nodes, with one folder for all
# and with one for each node; small, full and read-only file systems; and runs
# that are killed at any instant: no test file is ever without a manifest.

. "$IOBM_SRC/tests/lib/tap.sh"
. "$IOBM_SRC/tests/lib/driver.sh"
need mpirun

driver=$IOBM_BUILD/tests/ranks/precheck_driver

# in_new FOLDER COMMAND...
in_new() {
    mkdir -p "$1" && cd "$1" || return 1
    shift
    "$@"
    local status=$?
    cd "$TMPDIR" || exit 1
    return $status
}

n=0
for play in "1 nodes=1" "4 nodes=1" "4 nodes=2" "7 nodes=3 apart" \
    "5 nodes=5 apart"; do
    read -ra words <<<"$play"
    n=$((n + 1))
    drive "$play" in_new "$TMPDIR/play$n" mpi "${words[0]}" "$driver" \
        "${words[@]:1}" check
done

# ---- file systems: node1's folder is one of its own

# mounted OPTIONS COMMAND...: with a tmpfs at $TMPDIR/fs/node1
mounted() {
    local options=$1
    shift
    mkdir -p "$TMPDIR/fs/node1"
    mount -t tmpfs -o "$options" iobm-test "$TMPDIR/fs/node1" 2>/dev/null ||
        return 1
    (cd "$TMPDIR/fs" && "$@")
    local status=$?
    umount "$TMPDIR/fs/node1"
    return $status
}
at_exit umount "$TMPDIR/fs/node1"

if is_root && mounted size=1m true; then
    drive "small" mounted size=1m mpi 2 "$driver" nodes=2 apart try \
        "2 MiB to '.': 1 MiB free on node1: use a smaller -n"
    drive "read-only" mounted size=1m,ro mpi 2 "$driver" nodes=2 apart try \
        "in '.' on node1: Read-only file system"
    drive "few inodes" mounted size=9m,nr_inodes=2 mpi 2 "$driver" \
        nodes=2 apart try "are possible on node1 (inodes)"
    full() {
        head -c 1m /dev/zero >node1/full
        "$@"
    }
    drive "full" mounted size=1m full mpi 2 "$driver" nodes=2 apart try \
        "2 MiB to '.': 0 B free on node1"
else
    skip 8 "cannot mount a tmpfs"
fi

drive "limited" in_new "$TMPDIR/limited" mpi 2 "$driver" nodes=1 limited try \
    "file size limit of this process is 1 MiB (ulimit -f)"

# ---- killed at any instant

# orphans FOLDER: the test files there that no manifest lists. What is shared
# and how many parts there are says which names it lists.
orphans() {
    local file shared parts
    shared=$(sed -n 's/^shared //p' "$1/test.iobm" 2>/dev/null)
    parts=$(sed -n 's/^parts //p' "$1/test.iobm" 2>/dev/null)
    for file in "$1"/test "$1"/test.[0-9]*; do
        [ -e "$file" ] || continue
        case $shared/${file##*/} in
        1/test) ;;
        0/test.*) [ "${file##*.}" -lt "$parts" ] || echo "$file" ;;
        *) echo "$file" ;;
        esac
    done
}

# One rank, killed before its 1st, 2nd ... change to the folder.
for shared in "" shared; do
    lost='' left='' survived=0
    for ((n = 1; n <= 40 && !survived; n++)); do
        rm -rf doom && mkdir doom
        # shellcheck disable=SC2086 # nothing, or one word
        { (cd doom && exec "$driver" nodes=1 die=$n $shared) >doom.out 2>&1 &&
            survived=1; } 2>/dev/null # bash tells of what was killed
        lost+=$(orphans doom)
        "$IOBM" clean -f doom/test >clean.out 2>&1 || left+=$(cat clean.out)
        rm -f doom/.iobm-*.tmp doom/.iobm-*.probe.*
        left+=$(ls -A doom)
    done
    diag "$n changes"
    num "$survived && $n > 8" "${shared:-file per rank}: killed at each change"
    is "$lost" "" "no file without a manifest"
    is "$left" "" "clean leaves nothing"
done

mkdir churn
lost='' left='' failed=''
for i in {1..6}; do
    rm -f churn.out
    (cd churn && exec mpirun --oversubscribe -np 3 "$driver" nodes=1 churn) \
        >churn.out 2>&1 &
    pid=$!
    for _ in {1..500}; do
        grep -q churning churn.out 2>/dev/null && break
        kill -0 $pid 2>/dev/null || break
        sleep 0.02
    done
    sleep "0.$((RANDOM % 300 + 100))"
    ranks=$(pgrep -P $pid)
    # shellcheck disable=SC2086 # a list
    kill -9 $ranks $pid 2>/dev/null
    wait $pid 2>/dev/null
    grep -q churning churn.out || failed+="$i: $(head -n 3 churn.out) "
    lost+=$(orphans churn)
    if [ $((i % 2)) = 0 ]; then
        "$IOBM" clean -f churn/test >clean.out 2>&1 || left+=$(cat clean.out)
        # Not listed, and not test files: what a write was cut in.
        rm -f churn/.iobm-*.tmp churn/.iobm-*.probe.*
        left+=$(ls -A churn)
    fi
done
is "$failed" "" "each run begins after the one that was killed"
is "$lost" "" "no file without a manifest"
is "$left" "" "clean leaves nothing"

echo "1..$tap_count"
