# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# The TAP of an MPI program as a part of a test's own; needs tap.sh.

# drive NAME COMMAND...: run it, and pass on each of its checks as "NAME: ...",
# its notes, and one more check: that it printed its plan and ended with 0.
drive() {
    local name=$1 line
    shift
    run "$@"
    while read -r line; do
        case $line in
        'ok '*) pass "$name: ${line#* - }" ;;
        'not ok '*) fail "$name: ${line#* - }" || : ;;
        '# '*) echo "# $name: ${line#\# }" ;;
        esac
    done <<<"${out:-}"
    # shellcheck disable=SC2154 # run sets them
    if [ "$status" = 0 ] && [[ ${out:-} == *1..* ]]; then
        pass "$name: ends well"
    else
        fail "$name: ends well" || diag "status $status: ${err:-}"
    fi
}
