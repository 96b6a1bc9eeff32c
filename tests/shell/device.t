#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 120
# Block devices: never written by mistake, never while in use; what is on them
# survives a refusal.
. "$IOBM_SRC/tests/lib/tap.sh"
need mpirun losetup mkfs.ext4 cmp python3
is_root || plan_skip "not root: no loop device"
truncate -s 64M image
device=$(losetup -f --show image 2>/dev/null) ||
    plan_skip "no loop device to be had"
at_exit losetup -d "$device"
plan 27

go() {
    run timeout -s KILL 30 mpirun --oversubscribe -np 2 "$IOBM" -f "$@"
    said=$(printf '%s\n' "$err" | grep '^iobm: ')
}
refused() {
    is "$status" 2 "$2: refused"
    like "$said" "^iobm: .*$1" "$2: says why"
}

head -c 64M /dev/urandom >before
cat before >"$device"
go "$device" -s -n 8M -w -o none
refused '--destroy-data' "without --destroy-data"
go "$device" -s -n 8M -w -o none --force
refused '--destroy-data' "--force is not enough"
go "$device" -n 8M -w -o none --destroy-data
refused 'one file per rank' "a file per rank"
go "$device" -s -n 65M -w -o none --destroy-data
refused '64 MiB.*65 MiB' "more than it holds"
go "$device" -s -n 8M -w -o none --destroy-data --api mpiio
refused 'cannot use a block device' "a back end that cannot"
go file -n 8M -w -o "$device"
is "$status" 1 "as a result file: refused"

python3 -c "
import os, time
fd = os.open('$device', os.O_RDWR | os.O_EXCL)
open('held', 'w').close()
time.sleep(60)" &
holder=$!
at_exit kill $holder
until [ -e held ]; do sleep 0.05; done
go "$device" -s -n 8M -w -o none --destroy-data --force
refused 'in use' "held by another program"
kill $holder
wait $holder 2>/dev/null
go "$device" -s -n 8M -r -o none
is "$status" 0 "reading needs no word" || diag "$err"
ok "nothing has changed on it" cmp before "$device"

for how in "" -d -m; do
    # shellcheck disable=SC2086 # nothing, or an option
    go "$device" -s -n 64M -b 1M -w -r -o none --destroy-data $how
    is "$status" 0 "all of it, to the last byte ${how:-buffered}" || diag "$err"
    unlike "$out$err" 'memory was measured' "it is no memory ${how:-buffered}"
done
cmp before "$device" >/dev/null && diag "nothing was written"
ok "no manifest beside it" test ! -e "$device.iobm"
go "$device" -s -n 1M -w -o none --destroy-data --clean
ok "--clean leaves it" test -b "$device"

mkfs.ext4 -q "$device"
mkdir mounted
mount "$device" mounted || exit 1
at_exit umount mounted
cp --sparse=never image copy
go "$device" -s -n 8M -w -o none --destroy-data --force
refused 'mounted at' "mounted"
mknod alias b "$((0x$(stat -c %t "$device")))" "$((0x$(stat -c %T "$device")))"
go alias -s -n 8M -w -o none --destroy-data --force
refused 'mounted at' "mounted, by another name"
