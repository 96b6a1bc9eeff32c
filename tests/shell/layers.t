#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The include rules of the house: folders of src are layers, libraries stay
# behind their doors, every header compiles alone.

. "$IOBM_SRC/tests/lib/tap.sh"
cd "$IOBM_SRC" || exit 1

# Layer, and what it may include besides itself; include/iobm is open to all.
layers=(
    "base"
    "stats base"
    "judge base stats"
    "conf base"
    "par base stats"
    "workload base"
    "env base par"
    "guard base env par"
    "backend base par"
    "engine base stats par"
    "store base stats par"
    "report base stats judge store"
    "cli base stats judge conf par workload env guard backend engine store report"
)
# Header, and the folders or files whose business it is.
doors=(
    'mpi\.h src/par/ src/cli/ src/backend/mpiio'
    'hdf5\.h src/store/'
)

plan $((${#layers[@]} + ${#doors[@]} + 8))

known=" "
for line in "${layers[@]}"; do
    read -r layer rest <<<"$line"
    known="$known$layer "
    pattern=$(echo "$layer $rest iobm" | tr ' ' '|')
    # Names with a slash are ours; those without are of the same folder, made
    # by configure, or a library's in angle brackets.
    bad=$(grep -rnE '^ *# *include "[^"]+/' "src/$layer" |
        grep -vE "include \"($pattern)/")
    is "$bad" "" "src/$layer includes only: ${rest:-itself} (and iobm/)"
done

unknown=""
for folder in src/*/; do
    name=$(basename "$folder")
    case $known in *" $name "*) ;; *) unknown="$unknown $name" ;; esac
done
is "$unknown" "" "every folder of src is a layer"

is "$(grep -rnE '^ *# *include "' include | grep -v '"iobm/')" "" \
    "include/iobm includes nothing but itself"

for line in "${doors[@]}"; do
    read -r header places <<<"$line"
    pattern=$(echo "$places" | tr ' ' '|')
    bad=$(grep -rnE "^ *# *include [<\"]${header}[>\"]" src include |
        grep -vE "^($pattern)")
    is "$bad" "" "$header is included only in $places"
done

# The test, too, must see what is wrong.
mkdir -p "$TMPDIR/src/base" && echo '#include "par/comm.h"' \
    >"$TMPDIR/src/base/bad.c"
is "$(grep -rnE '^ *# *include "[^"]+/' "$TMPDIR/src/base" |
    grep -cvE 'include "(base|iobm)/')" 1 "a forbidden include is found"

# Choices are made by configure and in one header; guards and C++ aside.
is "$(grep -rnE '^ *# *if(def|ndef)? ' src include |
    grep -vE '_H$|src/base/compat\.h' | grep -v backend-list)" "" \
    "#if only in src/base/compat.h"

is "$(grep -rnE '(^|[^_a-z])(exit|_exit|abort) *\(' src --include='*.c' |
    grep -vE '^src/(cli/|par/comm\.c)|^[^:]*:[0-9]*: *(/?\*|//)')" "" \
    "nothing below src/cli exits, but for the emergency exit of par"
is "$(grep -rnE '(^|[^_a-z])(printf|puts|putchar|perror) *\(' src \
    --include='*.c' | grep -vE '^src/cli/|^[^:]*:[0-9]*: *(/?\*|//)')" "" \
    "nothing below src/cli prints"

# A file in src/backend that declares a back end is known to configure.
missing=""
for file in src/backend/*.c; do
    name=$(sed -n 's/^const struct iobm_backend iobm_backend_\([a-z0-9]*\) .*/\1/p' \
        "$file")
    [ -z "$name" ] || grep -q "^IOBM_BACKEND(\[$name\]" configure.ac ||
        missing="$missing $name"
done
is "$missing" "" "every back end has a line in configure.ac"

bad=""
flags=$(sed -n 's/^\(MPI\|HDF5\)_CFLAGS = //p' "$IOBM_BUILD/config.mk")
for header in include/iobm/*.h src/*/*.h; do
    # shellcheck disable=SC2086 # a list of flags
    ${CC:-gcc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only \
        -Iinclude -Isrc $flags -x c "$header" 2>"$TMPDIR/said" ||
        bad="$bad $header $(head -n 3 "$TMPDIR/said")"
done
is "$bad" "" "every header compiles alone"
