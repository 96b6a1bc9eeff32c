#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kill -9 at random instants of a run and of the merge: earlier runs stay as
# they were, the partial file reads up to the last phase that was said to be
# in it, and recover adds it as interrupted.
# timeout: 120

. "$IOBM_SRC/tests/lib/tap.sh"
driver=$IOBM_BUILD/tests/bin/store_driver
plan 29

# Kill process $1 without a word, and wait until it is gone.
slay() {
    kill -9 "$1"
    wait "$1" 2>/dev/null
}
# A random time of up to $1 milliseconds, as sleep takes it.
moment() { printf '0.%03d' $((RANDOM % $1)); }
leftovers() { find . -name "$1.*" | sort; }

# ---- a run
ok "a run before" "$driver" run r.h5 3 4 before
"$driver" dump r.h5 >before

rounds=0 bad_part='' bad_merge='' bad_before='' cut=0
end=$((SECONDS + 4))
while [ $SECONDS -lt $end ]; do
    rounds=$((rounds + 1))
    "$driver" endless r.h5 $((RANDOM % 200)) >said 2>&1 &
    sleep "$(moment 250)"
    slay $!
    said=$(grep -c '^phase' said)
    cmp -s before <("$driver" dump r.h5) || bad_before="$bad_before $rounds"
    part=$(find . -name 'r.h5.*.part')
    if [ -z "$part" ]; then # killed before there was one
        [ "$said" = 0 ] || bad_part="$bad_part $rounds:none"
        continue
    fi
    cut=$((cut + 1))
    # The last phase may be there without having been said.
    read -r _ id state phases _ right < <("$driver" dump "$part")
    if [ "$state" != running ] || [ "$right" != right ] ||
        { [ "$phases" != "$said" ] && [ "$phases" != $((said + 1)) ]; }; then
        bad_part="$bad_part $rounds:$state,$right,$said,$phases"
    fi
    "$IOBM" file recover r.h5 >recovered 2>&1
    "$driver" dump r.h5 >after
    { cat before; echo "$((cut + 1)) $id interrupted $phases"; } >wanted
    cmp -s wanted <(sed '$s/ [^ ]* [^ ]*$//' after) ||
        bad_merge="$bad_merge $rounds"
    [ "$(tail -n 1 after | cut -d' ' -f 6)" = right ] ||
        bad_merge="$bad_merge $rounds:rows"
    mv after before
done
diag "$rounds runs killed, $cut of them with a partial file"
num "$cut >= 3" "several runs were killed in the middle"
is "$bad_before" "" "a killed run leaves the file as it was"
is "$bad_part" "" "its partial file has all phases that were said"
is "$bad_merge" "" "recover adds just that as interrupted"
is "$(leftovers r.h5 | grep -v 'part.new$')" "" "nothing is left beside"

# ---- the merge
ok "a run before" "$driver" run m.h5 3 4 before
rounds=0 bad_merge='' bad_recover=''
: >said-all
end=$((SECONDS + 5))
while [ $SECONDS -lt $end ]; do
    rounds=$((rounds + 1))
    "$driver" merges m.h5 >said 2>&1 &
    sleep "$(moment 400)"
    slay $!
    grep '^number' said >>said-all
    # Every run that was said to be in is in, whole and under its number.
    "$driver" dump m.h5 >after 2>&1
    missing=$(awk 'NR == FNR { have[$1 " " $2] = $4 == 2 && $6 == "right"; next }
        !have[$2 " " $3] { print $2 }' after said-all)
    [ -z "$missing" ] || bad_merge="$bad_merge $rounds:$missing"
    run "$IOBM" file recover m.h5
    "$driver" dump m.h5 >after 2>&1
    [ "$status" = 0 ] && ! grep -q WRONG after &&
        [ "$(cut -d' ' -f 2 after | sort | uniq -d)" = "" ] &&
        [ "$(cut -d' ' -f 1 after)" = "$(seq "$(wc -l <after)")" ] ||
        bad_recover="$bad_recover $rounds:$status:$err"
done
merged=$(wc -l <said-all)
diag "$rounds times killed, $merged merges done, $(wc -l <after) runs"
num "$merged >= 3" "merges went on between the kills"
is "$bad_merge" "" "a killed merge loses no run that was in"
is "$bad_recover" "" "recover: no run twice, numbers without a gap"
is "$(leftovers m.h5 | grep -v 'part.new$')" "" \
    "no lock and no copy is left beside"

# ---- every instant: before and in the middle of each call that changes a file
# all_instants FILE COMMAND...: kills COMMAND, which adds a run of two phases
# to a copy of the folder "start", at its first such call, then at its second,
# until it comes to its end.
all_instants() {
    local file=$1 at=0 bad_old='' bad_part='' bad_end='' said part phases
    shift
    for ((at = 1; at < 500; at++)); do
        rm -rf now
        cp -r start now
        cd now || return
        KILL_AT=$at LD_PRELOAD=$IOBM_INJECT/kill_at.so "$@" >../said 2>&1
        status=$?
        said=$(grep -c '^phase' ../said)
        [ -e ../phases ] && said=$(cat ../phases)
        cmp -s ../wanted <("$driver" dump "$file" | head -n 1) ||
            bad_old="$bad_old $at"
        for part in "$file".*.part; do
            [ -e "$part" ] || continue
            read -r _ _ _ phases _ right < <("$driver" dump "$part")
            { [ "$right" = right ] && [ "$phases" -ge "$said" ]; } ||
                bad_part="$bad_part $at:$said,$phases,$right"
        done
        "$IOBM" file recover "$file" >../recovered 2>&1
        "$driver" dump "$file" >../after 2>&1
        # The run is there once, or was killed before it had begun.
        if ! cmp -s ../wanted <(head -n 1 ../after) ||
            [ "$(wc -l <../after)" -gt 2 ] ||
            ! awk -v said="$said" 'NR == 2 { have = $4; right = $6 == "right" }
                END { exit !(have >= said && (NR == 1 || right)) }' ../after ||
            [ "$(find . -name "$file.*" | grep -vc 'part.new$')" != 0 ]; then
            bad_end="$bad_end $at"
        fi
        cd ..
        [ $status = 0 ] && break
    done 2>/dev/null
    diag "$at calls"
    num "$at > 10 && $at < 500" "${1##*/} killed at every call, then not"
    is "$bad_old" "" "the run before stays at all of them"
    is "$bad_part" "" "the partial file is whole at all of them"
    is "$bad_end" "" "recover adds the run once, and tidies up"
}
mkdir start
ok "a run before" "$driver" run start/k.h5 3 4 before
"$driver" dump start/k.h5 >wanted
all_instants k.h5 "$driver" run k.h5 2 3 killed

"$driver" pause start/k.h5 >paused 2>&1 &
paused=$!
for ((i = 0; i < 100; i++)); do grep -q phase paused && break; sleep 0.05; done
slay $paused
echo 1 >phases
all_instants k.h5 "$IOBM" file recover k.h5
like "$(tail -n 1 after)" '^2 [^ ]* interrupted 1 2 right$' \
    "the run that was recovered is in"

# ---- a run that goes on
"$driver" pause p.h5 >paused 2>&1 &
paused=$!
at_exit kill -9 $paused
for ((i = 0; i < 100; i++)); do grep -q phase paused && break; sleep 0.05; done
run "$IOBM" file recover p.h5
is "$status" 0 "recover with a run that goes on"
like "$out" "^left 'p.h5.*its run goes on, process $paused on " \
    "leaves it alone and says whose it is"
kill -STOP $paused
run "$IOBM" file recover --force p.h5
like "$out" "its run goes on, process $paused on " \
    "also when it stands still, also with --force"
run "$IOBM" list p.h5
like "$err" "^iobm: 1 run is not in it yet" "list mentions it"
slay $paused
run "$IOBM" file recover p.h5
like "$out" "as run 1: interrupted after 1 phase$" "once killed, it is added"

# ---- iobm itself
"$IOBM" -n 4M -b 1M -f data -w -i 1000 --force -o i.h5 >said 2>&1 &
whole=$!
at_exit kill -9 $whole
for ((i = 0; i < 200; i++)); do
    part=$(find . -name 'i.h5.*.part')
    [ -n "$part" ] && "$driver" dump "$part" | awk '{ exit !($4 > 2) }' && break
    sleep 0.05
done
slay $whole
run "$IOBM" file recover i.h5
like "$out" "as run 1: interrupted after [0-9]+ phases$" \
    "a run of iobm that was killed is recovered"
run "$IOBM" show i.h5
like "$out" "result run 1 in i.h5" "and can be shown"
like "$out" "interrupted" "as what it is"
