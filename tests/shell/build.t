#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# From a clean copy of the sources: bootstrap, in-tree and out-of-tree builds
# with gcc and clang, sanitizers, install, dist, distclean, setup.sh; and what
# is said when something is missing.
# timeout: 600

. "$IOBM_SRC/tests/lib/tap.sh"
need git autoconf
plan 27
export MAKEFLAGS=-j2 SOURCE_DATE_EPOCH=1000000000

copy_sources() {
    local from=$IOBM_SRC
    (cd "$from" && if [ -e .git ]; then git ls-files -co --exclude-standard
    else find Makefile configure.ac config.mk.in setup.sh LICENSE .ci \
        .gitignore .clang-format bench docs examples include jobscripts src \
        tests -name '*.o' -prune -o -type f -print; fi |
        while read -r f; do [ ! -e "$f" ] || echo "$f"; done |
        tar cf - --files-from=-) | tar xf - -C "$1"
}
# What git would show as new or, with --ignored, as made.
strays() { git -C src status --porcelain "$@" | grep -v '^A '; }

mkdir src && copy_sources src
git -C src init -q && git -C src add -A
version=$(sed -n 's/^AC_INIT(\[iobm\], \[\(.*\)\])/\1/p' src/configure.ac)

# ---- in the source tree, from nothing
ok "make bootstraps and builds with gcc -Werror" \
    make -C src CONFIGURE_FLAGS=--enable-werror || exit 1
run src/iobm --version
is "$status" 0 "--version exits with 0"
like "$out" "$version" "it says the version of configure.ac"
like "$out" 'HDF5 +[0-9]' "and the HDF5 that it was built with"
ok "the test programs build with -Werror" make -C src testprogs
is "$(strays)" "" "git sees nothing of an in-tree build"
ok "make help" make -C src help

cp src/iobm first
rm -rf src/obj src/iobm
make -C src >/dev/null 2>&1
ok "two builds in one place are the same bytes" cmp first src/iobm

# ---- install, dist
ok "make install" make -C src install DESTDIR="$PWD/dest" PREFIX=/opt/iobm
is "$(cd dest && find . -name iobm -type f && find . -name '*.[15]' | sort)" "./opt/iobm/bin/iobm
./opt/iobm/share/man/man1/iobm.1
./opt/iobm/share/man/man5/iobm-results.5" "program and man pages are there"
ok "the installed program runs" dest/opt/iobm/bin/iobm --version
make -C src uninstall DESTDIR="$PWD/dest" PREFIX=/opt/iobm >/dev/null
is "$(find dest -type f)" "" "uninstall takes everything away"

ok "make dist" make -C src dist
tarball=src/iobm-$version.tar.gz
is "$(tar tzf "$tarball" | sed "s,^iobm-$version/,," | LC_ALL=C sort)" \
    "$( (git -C src ls-files; echo configure) | LC_ALL=C sort -u)" \
    "it holds the sources and configure"
ok "make distclean" make -C src distclean
is "$(strays --ignored)" "" "distclean leaves what was there"

# ---- out of the source tree, from the tarball
make -C src dist >/dev/null 2>&1
tar xzf "$tarball"
mkdir b
if command -v clang >/dev/null; then compiler=clang; else compiler=gcc; fi
cd b || exit 1
run "../iobm-$version/configure" CC=$compiler --enable-werror \
    CFLAGS="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
is "$status" 0 "configure in another folder" || diag "$err"
like "$out" '^  back ends on +mmap mpiio null posix' "it says what is on"
ok "make there with $compiler -Werror" make
ok "unit and contract tests under ASan and UBSan" make unit
is "$(cd "../iobm-$version" && find . -newer configure -type f)" "" \
    "the source tree was left alone"
cd .. || exit 1

# ---- what is missing is said
mkdir c && cd c || exit 1
run ../src/configure PKG_CONFIG=/bin/false
[ "$status" = 0 ] || run "../iobm-$version/configure" PKG_CONFIG=/bin/false
like "$out" 'HDF5 +[0-9.]+ .*h5p?cc' "without pkg-config HDF5 is found by h5pcc"
run make -j1 check
like "$status $err" '^2 .*needs? cmocka.*libcmocka-dev' \
    "make check without cmocka says what to install"
run "../iobm-$version/configure" --with-hdf5="$PWD/none"
like "$status $err" "^1 .*no usable HDF5 in '.*/none'" "a wrong --with-hdf5"
run "../iobm-$version/configure" MPICC="$PWD/none" PKG_CONFIG=/bin/false
like "$status $err" '^1 .*MPI not found: install' "no MPI"
cd .. || exit 1

# ---- setup.sh
run "iobm-$version/setup.sh" nonsense
is "$status" 2 "setup.sh: an unknown word is a usage error"
if is_root && unshare --mount true 2>/dev/null; then
    mkdir small
    run unshare --mount bash -c "mount -t tmpfs -o size=300m tmpfs small &&
        cd small && ../iobm-$version/setup.sh demo --no-install && ls iobm-demo"
    like "$status $out" '^0 .*' "setup.sh demo on a small disk" ||
        diag "$err"
else
    skip 1 "not root: no small disk"
fi
