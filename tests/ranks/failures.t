#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 500
# Every stage fails on a rank in turn: the run ends in time, in one line that
# names the right rank, without a bandwidth, with the right exit status, and
# what was measured is kept.
. "$IOBM_SRC/tests/lib/tap.sh"
need mpirun
plan 69

# go RANKS ARGS...: the test program; $said is what iobm itself said.
go() {
    local ranks=$1 begin
    shift
    begin=$(date +%s)
    run timeout -s KILL 60 mpirun --oversubscribe -np "$ranks" "$IOBM_TEST" \
        "$@"
    took=$(($(date +%s) - begin))
    said=$(printf '%s\n' "$err" | grep '^iobm: ')
}

# ended STATUS REGEX NAME: as a failure should end.
ended() {
    is "$status" "$1" "$3: exit status $1"
    like "$said" "$2" "$3: names it"
    is "$(printf '%s\n' "$said" | wc -l)" 1 "$3: in one line"
    unlike "$out" '[0-9] (MiB|GiB|MB|GB)/s' "$3: no bandwidth"
    num "$took < 30" "$3: ended in $took s"
}

for stage in start open write sync close; do
    rank=$((RANDOM % 4))
    export IOBM_FAULT_STAGE=$stage IOBM_FAULT_RANK=$rank
    go 4 -n 8M -b 1M -f f -w --api fault
    ended 1 "^iobm: rank $rank \(.*\): cannot $stage .*injected" \
        "$stage fails on rank $rank"
done
export IOBM_FAULT_STAGE=write IOBM_FAULT_RANK=2 IOBM_FAULT_DO=lie
go 4 -n 8M -b 1M -f f -w --api fault
ended 1 "^iobm: rank 2 .*: moved [0-9]+ of 2097152 bytes" "a write that lies"
IOBM_FAULT_DO=lost
go 4 -n 8M -b 1M -f f -w --api fault
ended 1 "^iobm: rank 2 .*has 0 bytes after writing 2097152" \
    "writes that get lost"
unset IOBM_FAULT_STAGE IOBM_FAULT_DO
go 4 -n 8M -b 1M -f f -w
export IOBM_FAULT_STAGE=read
go 4 -b 1M -f f -r --api fault
ended 1 "^iobm: rank 2 .*: cannot read .*injected" "read fails"

# All at once: one line still, with the count of the others.
unset IOBM_FAULT_RANK
export IOBM_FAULT_STAGE=write
go 16 -n 16M -b 1M -f f -w --api fault
ended 1 '^iobm: rank 0 .*15 more ranks failed' "all 16 ranks fail"

# A rank that hangs is named by the watchdog.
export IOBM_FAULT_RANK=3 IOBM_FAULT_DO=hang
go 4 -n 8M -b 1M -f f -w --api fault --watchdog 2 -o hang.h5
# mpirun ends the others then, and rank 0 says what became of the result.
like "$said" '^iobm: ended by SIGTERM during write: .*run 1 in hang.h5' \
    "rank 3 hangs: the result is kept"
said=$(printf '%s\n' "$said" | grep -v '^iobm: ended by SIGTERM')
ended 1 '^iobm: rank 3 .*no progress for [23] s: write, transfer' \
    "rank 3 hangs"
run "$IOBM" list hang.h5
like "$out" 'interrupted +4 +8 MiB' "rank 3 hangs: the phase is listed"

# A rank that dies takes the run with it, not what was measured before.
unset IOBM_FAULT_DO IOBM_FAULT_STAGE IOBM_FAULT_RANK
go 3 -n 3M -f f -w -o k.h5
export IOBM_FAULT_STAGE=read IOBM_FAULT_RANK=1 IOBM_FAULT_DO=kill
go 3 -n 3M -b 1M -f f -w -r --api fault -o k.h5
num "$status != 0" "a rank is killed: the run fails"
num "$took < 30" "and ends"
run "$IOBM" file recover k.h5
is "$status" 0 "the file can be recovered" || diag "$err"
run "$IOBM" show k.h5 --json
is "$(printf '%s' "$out" | /usr/bin/python3 -c '
import json, sys
d = json.load(sys.stdin)
print(d["run"]["number"], d["run"]["status"],
      d["phases"][0]["op"], d["phases"][0]["status"])')" \
    "2 interrupted write complete" "the write before it is kept"

# Through the system's own calls: full disk, quota, I/O error, signals, lies.
unset IOBM_FAULT_STAGE IOBM_FAULT_RANK IOBM_FAULT_DO
inject() { # PHASES MPIRUN-ARGUMENTS...
    local phases
    read -ra phases <<<"$1"
    run timeout -s KILL 60 mpirun --oversubscribe -np 3 \
        -x LD_PRELOAD="$IOBM_INJECT/inject.so" -x IOBM_INJECT_PATH=/g. \
        "${@:2}" "$IOBM" -n 6M -b 1M -f "$PWD/g" "${phases[@]}" \
        -o none
    said=$(printf '%s\n' "$err" | grep '^iobm: ')
}
for cause in "ENOSPC:No space left on device" "EDQUOT:Disk quota exceeded" \
    "EIO:Input/output error" "ESTALE:Stale file handle"; do
    inject -w -x IOBM_INJECT_DO="${cause%%:*}" -x IOBM_INJECT_RANK=1 \
        -x IOBM_INJECT_AT=1572864
    is "$status" 1 "${cause%%:*}: exit status 1"
    like "$said" "rank 1 .*/g.1' at 1572864: ${cause#*:}" \
        "${cause%%:*}: rank, file, offset and cause"
done
inject "-w -r" -x IOBM_INJECT_DO=EINTR -x IOBM_INJECT_CALL=write,read
is "$status" 0 "interrupted calls are repeated" || diag "$err"
inject "-w -r" -x IOBM_INJECT_DO=short -x IOBM_INJECT_CALL=write,read
is "$status" 0 "short transfers are completed" || diag "$err"
is "$(cat g.[0-2] | wc -c)" 6291456 "every byte is there"
inject -w -x IOBM_INJECT_DO=EIO -x IOBM_INJECT_CALL=sync -x IOBM_INJECT_RANK=2
like "$said" 'rank 2 .*sync.*g.2.*Input/output error' "a sync that fails"
inject -w -x IOBM_INJECT_DO=EIO -x IOBM_INJECT_CALL=close -x IOBM_INJECT_RANK=2
like "$said" 'rank 2 .*close.*g.2.*Input/output error' "a close that fails"
