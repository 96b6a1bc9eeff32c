#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What a reader would stumble over: licence lines, format, line length,
# scripts, man pages, places and names that belong to one machine.

. "$IOBM_SRC/tests/lib/tap.sh"
cd "$IOBM_SRC" || exit 1
plan 11

if [ -e .git ] && command -v git >/dev/null; then
    files=$(git ls-files -co --exclude-standard)
else
    files=$(find Makefile ./*.sh .ci bench docs examples include jobscripts \
        src tests -type f | sed 's,^\./,,')
fi
files=$(for f in $files; do [ -f "$f" ] && echo "$f"; done)
pick() { echo "$files" | grep -E "$1"; }
c_files=$(pick '\.[ch]$')
scripts=$(pick '\.(sh|t)$|^tests/run$|^\.ci/run$' |
    while read -r f; do head -n 2 "$f" |
        grep -qE '^#!/bin/(ba)?sh|shell=bash|^# SPDX' && echo "$f"; done |
    while read -r f; do head -n 1 "$f" | grep -q perl || echo "$f"; done)

bad=""
for file in $(pick '\.([chtm]|sh|py|ac|mk\.in)$|^Makefile$|^tests/run$|^\.ci/run$'); do
    head -n 2 "$file" | grep -q 'SPDX-License-Identifier: BSD-3-Clause' ||
        bad="$bad $file"
done
is "$bad" "" "every source says its licence at the top"
like "$(head -n 1 LICENSE)" 'The iobm authors' "LICENSE names the holder"

if command -v clang-format >/dev/null; then
    # shellcheck disable=SC2086 # a list of names
    ok "C files are as clang-format leaves them" \
        clang-format --dry-run --Werror $c_files
else skip 1 "no clang-format here"; fi

# shellcheck disable=SC2086
is "$(awk 'length > 80 { print FILENAME ":" FNR }' $c_files)" "" \
    "no C line is longer than 80 columns"
# shellcheck disable=SC2086
is "$(grep -nE '[[:blank:]]+$' $c_files $scripts Makefile configure.ac)" "" \
    "no blanks at line ends"
# shellcheck disable=SC2086
is "$(grep -nP '\t' $c_files $scripts)" "" "no tabs in C files and scripts"

bad=""
for file in $(pick '\.[c]$' | grep '^src/'); do
    # The second line, or the rest of the first comment, says what is here.
    sed -n '2,4p' "$file" | grep -qE '^(/\*| \*|//)' || bad="$bad $file"
done
is "$bad" "" "every file of src says what lives in it"

if command -v shellcheck >/dev/null; then
    # shellcheck disable=SC2086
    ok "scripts pass shellcheck" shellcheck -e SC1090,SC1091,SC2154 $scripts
else skip 1 "no shellcheck here"; fi

bad=""
for file in $(pick '\.(sh|t)$|^tests/run$|^\.ci/run$' | grep -v '^tests/lib/'); do
    case $file in *.sh | tests/run | .ci/run)
        [ -x "$file" ] || bad="$bad $file" ;;
    esac
done
is "$bad" "" "scripts may be executed"

if command -v mandoc >/dev/null && [ -e docs/iobm.1 ]; then
    ok "man pages pass mandoc" mandoc -T lint -W warning docs/*.[1-9]
else skip 1 "no mandoc or no man pages here"; fi

# Assembled from parts, or this file would be found.
local_place="/wo""rk/|/home/[a-z]+/|/ro""ot/|XX""X:|FIX""ME|TO""DO:"
# shellcheck disable=SC2086
is "$(grep -nE "$local_place" $files /dev/null)" "" \
    "no places of one machine and no unfinished business"
