#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The test runner itself: what it counts, its time limit, its private folder;
# and the last line of the CI job.

. "$IOBM_SRC/tests/lib/tap.sh"
runner=$IOBM_SRC/tests/run

# Name, expected "passed failed skipped", body of the test.
cases=(
    "pass|2 0 0|echo 1..2; echo ok 1; echo ok 2"
    "fail|1 1 0|echo 1..2; echo ok 1; echo not ok 2"
    "missing|1 2 0|echo 1..3; echo ok 1"
    "exit|1 1 0|echo 1..1; echo ok 1; exit 3"
    "both|0 1 0|echo 1..1; echo not ok 1; exit 1"
    "no plan|1 1 0|echo ok 1"
    "too many|2 1 0|echo 1..1; echo ok 1; echo ok 2"
    "skip|1 0 1|echo 1..2; echo ok 1; echo 'ok 2 # SKIP no disk'"
    "cmocka skip|1 0 1|echo 1..2; echo ok 1; echo 'not ok 2 # SKIP x'"
    "skip all|0 0 0|echo '1..0 # SKIP nothing to do'"
    "too slow|1 1 0|# timeout: 1
echo 1..2; echo ok 1; sleep 60"
    "leftover|1 0 0|echo 1..1; sleep 3 & echo ok 1"
    "died|0 1 0|kill -9 \$\$"
    "folder|1 0 0|echo 1..1; [ \"\$PWD\" = \"\$TMPDIR\" ] && [ -z \"\$(ls)\" ] &&
touch left && echo \"\$PWD\" >&2 && echo ok 1"
)
plan $((${#cases[@]} + 6))

for line in "${cases[@]}"; do
    IFS='|' read -r -d '' name expected body <<<"$line"
    printf '#!/bin/bash\n%s\n' "$body" >case.t
    rm -f tally
    IOBM_TALLY=$PWD/tally "$runner" "$PWD/case.t" >tap 2>said
    is "$(cat tally)" "$expected case.t" "counts: $name"
done
not_ok "the folder of the last case is gone" test -e "$(cat said)"

# The CI job around a setup.sh of our own.
mkdir -p tree/.ci
cp "$IOBM_SRC/.ci/run" tree/.ci
ci() {
    printf '#!/bin/bash\n%s\n' "$1" >tree/setup.sh
    chmod +x tree/setup.sh
    run tree/.ci/run
    is "$status $(tail -n 1 <<<"$out")" "$2" "ci: $3"
}
# shellcheck disable=SC2016 # for the inner shell
{
    ci 'echo "7 0 0 a.t" >>"$IOBM_TALLY"; echo "2 0 1 b.t" >>"$IOBM_TALLY"' \
        "0 9 passed, 0 failed" "the sum of all tests"
    ci 'echo "7 2 0 a.t" >>"$IOBM_TALLY"; exit 2' "1 7 passed, 2 failed" \
        "a failed test"
    ci 'echo "7 0 0 a.t" >>"$IOBM_TALLY"; exit 2' "1 7 passed, 1 failed" \
        "a bad end that no test shows"
    ci 'exit 0' "1 0 passed, 0 failed" "no tests is a failure"
    ci '[ "$1" = check ] || exit 1; echo "1 0 0 a.t" >>"$IOBM_TALLY"' \
        "0 1 passed, 0 failed" "it calls setup.sh check"
}
