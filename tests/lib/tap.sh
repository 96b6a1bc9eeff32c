# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# TAP for shell tests.  A test is
#     . "$IOBM_SRC/tests/lib/tap.sh"
#     plan 2
#     run "$IOBM" --version             # sets $status, $out, $err
#     is "$status" 0 "version exits with 0"
#     like "$out" '^iobm [0-9]' "and says so"
# and runs under tests/run: in a private folder, which is the current one and
# $TMPDIR.  What a test starts, it ends: see "at_exit".

set -u

tap_count=0
status=0 out='' err=''
tap_cleanup=()

plan() { echo "1..$1"; }
plan_skip() { echo "1..0 # SKIP $*"; exit 0; }
diag() { printf '%s\n' "$*" | sed 's/^/# /'; }

pass() {
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1"
}

fail() {
    tap_count=$((tap_count + 1))
    echo "not ok $tap_count - $1"
    return 1
}

# skip COUNT REASON: stands for the next COUNT tests.
skip() {
    local i
    for ((i = 0; i < $1; i++)); do
        tap_count=$((tap_count + 1))
        echo "ok $tap_count # SKIP $2"
    done
}

# ok NAME COMMAND...: passes when the command succeeds.
ok() {
    local name=$1
    shift
    if "$@" >"$TMPDIR/.ok" 2>&1; then pass "$name"; else
        fail "$name"
        diag "failed: $*"
        diag "$(tail -n 40 "$TMPDIR/.ok")"
        return 1
    fi
}

# not_ok NAME COMMAND...: passes when the command fails.
not_ok() {
    local name=$1
    shift
    if "$@" >/dev/null 2>&1; then fail "$name" || diag "succeeded: $*"
    else pass "$name"; fi
}

# is GOT WANTED NAME
is() {
    if [ "$1" = "$2" ]; then pass "$3"; else
        fail "$3"
        diag "     got: $1"
        diag "expected: $2"
        return 1
    fi
}

# like TEXT REGEX NAME, unlike: extended regular expressions, any line
like() {
    if printf '%s\n' "$1" | grep -Eq -e "$2"; then pass "$3"; else
        fail "$3"
        diag "   no match for: $2"
        diag "$1" | head -n 40
        return 1
    fi
}

unlike() {
    if printf '%s\n' "$1" | grep -Eq -e "$2"; then
        fail "$3"
        diag "   should not match: $2"
        diag "$1" | head -n 40
        return 1
    else pass "$3"; fi
}

# num EXPRESSION NAME: awk arithmetic, "num '1.5 <= 2' name"
num() {
    if awk "BEGIN { exit !($1) }" </dev/null; then pass "$2"; else
        fail "$2"
        diag "not true: $1"
        return 1
    fi
}

# run COMMAND...: sets $status, $out (stdout), $err (stderr).
run() {
    # shellcheck disable=SC2034 # for the test
    status=0
    # shellcheck disable=SC2034
    "$@" >"$TMPDIR/.out" 2>"$TMPDIR/.err" </dev/null || status=$?
    # shellcheck disable=SC2034
    out=$(cat "$TMPDIR/.out") err=$(cat "$TMPDIR/.err")
}

# mpi RANKS PROGRAM...: oversubscribed, as root or not.
mpi() {
    local ranks=$1
    shift
    mpirun --oversubscribe -np "$ranks" "$@"
}

# at_exit COMMAND...: run when the test ends, however; last one first.
at_exit() {
    local command
    printf -v command '%q ' "$@"
    tap_cleanup=("$command" ${tap_cleanup[@]+"${tap_cleanup[@]}"})
}

tap_end() {
    local command
    for command in ${tap_cleanup[@]+"${tap_cleanup[@]}"}; do
        eval "$command" >/dev/null 2>&1
    done
}
trap tap_end EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

is_root() { [ "$(id -u)" = 0 ]; }

# need COMMAND...: skip the whole test when one is not installed.
need() {
    local name
    for name in "$@"; do
        command -v "$name" >/dev/null || plan_skip "no '$name' here"
    done
}
