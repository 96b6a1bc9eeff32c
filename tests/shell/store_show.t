#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# iobm show with what stands behind the figures: checks, evidence, series,
# latency, stonewalls; in which combinations, and of runs that have none.
# timeout: 120

. "$IOBM_SRC/tests/lib/tap.sh"
need h5dump h5ls
driver=$IOBM_BUILD/tests/bin/store_driver
plan 27

"$IOBM" -n 4M -b 64K -f data -w -r -i 2 -o r.h5 >printed 2>&1

# ---- each alone
show() { run "$IOBM" show r.h5 "$@"; }
wide() { awk 'length > 80' <<<"$out"; }
for option in --checks --evidence --series --latency '--stonewall 1ms'; do
    # shellcheck disable=SC2086 # an option and its value
    show $option
    is "$status$err" 0 "show $option"
    is "$(wide)" "" "fits 80 columns"
    is "$(grep -cE '^ *(write|read)( repeat 2|:| )' <<<"$out" |
        awk '{ print ($1 >= 4) }')" 1 "has all four phases"
done

show --checks
# Every check of the file is there, and those that are not OK are explained.
is "$(grep -cE '^  (OK|NOTE|WARN|INVALID) ' <<<"$out")" \
    "$(h5dump -H -d "$(h5ls -r r.h5 | sed -n 's/ .*//; \,/checks$,p')" r.h5 |
        sed -nE 's/.*SIMPLE \{ \( ([0-9]+) \).*/\1/p')" "show --checks has all"
is "$(awk '/^  (NOTE|WARN|INVALID) / { getline; if (!/^          /) print }' \
    <<<"$out")" "" "each that is not OK has a reason"

show --stonewall 1h
short='n/a: the phase lasted [0-9.]+ [mu]?s'
is "$(grep -cE "^  (write|read)( repeat 2)? +$short\$" <<<"$out")" 4 \
    "a stonewall beyond the end is n/a, and says why"
like "$out" '^rate of the first 3600 s of each phase$' "of that time"

# ---- together
show --series --latency
is "$(grep -c ': all ranks together' <<<"$out") $(grep -c ': latency' \
    <<<"$out")" "4 4" "several at once"
unlike "$out" "^result run" "in place of the report"
for other in json csv; do
    show --checks --$other
    is "$status: $err" "2: iobm: --checks, --evidence, --series, --latency and \
--stonewall print text: leave out --$other" "--checks --$other is refused"
done
show --stonewall 0
is "$status" 2 "a stonewall at once is refused"
like "$err" "'0' is too small" "and why"

# ---- runs that have no such tables: one that is cut short at its first phase
"$driver" pause p.h5 >said 2>&1 &
at_exit kill -9 $!
for ((i = 0; i < 100; i++)); do grep -q phase said && break; sleep 0.05; done
run "$IOBM" show "$(find . -name 'p.h5.*.part')" --checks --stonewall 1s
is "$status$err" 0 "a partial file"
like "$out" '^  write +n/a: ' "can be asked, too"
