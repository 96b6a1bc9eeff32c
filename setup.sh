#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# From a fresh machine to a working iobm.  Asks nothing; says what it installs.

set -eu

usage() {
    cat <<'END'
usage: ./setup.sh [build | demo | check] [--no-install] [--keep]

  build   install what is missing and build ./iobm (the default)
  demo    build, then write and read a file per rank in ./iobm-demo
  check   build, then run all tests (installs what the tests need, too)

  --no-install  install nothing: use what is here
  --keep        demo: leave the data files for another run
END
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
goal=build install=yes keep=no
for word in "$@"; do
    case $word in
    build | demo | check) goal=$word ;;
    --no-install) install=no ;;
    --keep) keep=yes ;;
    -h | --help) usage; exit 0 ;;
    *) echo "setup.sh: unknown word '$word'" >&2; usage >&2; exit 2 ;;
    esac
done

say() { printf '\n== %s\n' "$*"; }

# ---- packages: one list to build, one more to test, per package manager
choose_packages() {
    if command -v apt-get >/dev/null; then
        manager=apt
        packages="gcc make libc6-dev autoconf pkg-config libopenmpi-dev
            openmpi-bin libhdf5-openmpi-dev zlib1g-dev"
        test_packages="git perl python3 python3-h5py python3-pandas
            libcmocka-dev fuse3 libfuse3-dev hdf5-tools xfsprogs iproute2
            util-linux procps slurm-wlm slurm-wlm-torque munge shellcheck fio
            strace valgrind mandoc clang libclang-rt-dev clang-format
            clang-tidy cppcheck"
    elif command -v dnf >/dev/null; then
        manager=dnf
        packages="gcc make autoconf pkgconf-pkg-config openmpi-devel
            hdf5-openmpi-devel zlib-devel"
        test_packages="git perl-Test-Harness python3 python3-h5py
            python3-pandas libcmocka-devel fuse3 fuse3-devel hdf5 xfsprogs
            iproute util-linux procps-ng slurm slurm-slurmctld slurm-slurmd
            munge ShellCheck fio strace valgrind mandoc clang compiler-rt
            clang-tools-extra cppcheck"
    elif command -v zypper >/dev/null; then
        manager=zypper
        packages="gcc make autoconf pkg-config openmpi4-devel
            hdf5-openmpi4-devel zlib-devel"
        test_packages="git perl python3 python3-h5py python3-pandas
            libcmocka-devel fuse3 fuse3-devel hdf5 xfsprogs iproute2
            util-linux procps slurm slurm-node munge ShellCheck fio strace
            valgrind mandoc clang cppcheck"
    else
        manager=none packages="" test_packages=""
    fi
}

is_installed() {
    case $manager in
    apt) [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = \
        installed ] ;;
    *) rpm -q --quiet --whatprovides "$1" ;;
    esac
}

list_missing() {
    local name
    for name in "$@"; do
        is_installed "$name" || printf '%s ' "$name"
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

install_apt() {
    local name known=""
    as_root apt-get update -q
    # Releases differ in what they have beyond what the build needs.
    for name in "$@"; do
        if apt-cache show "$name" >/dev/null 2>&1; then
            known="$known $name"
        else
            echo "this release has no package '$name'"
        fi
    done
    # shellcheck disable=SC2086 # a list of names
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
        --no-install-recommends $known
}

install_dnf() {
    # Where HDF5 with MPI lives on RHEL and its kin; absent on Fedora.
    as_root dnf install -y -q epel-release || true
    as_root dnf config-manager --set-enabled crb 2>/dev/null || true
    as_root dnf install -y --setopt=strict=0 "$@"
}

install_zypper() {
    as_root zypper --non-interactive install --no-recommends "$@"
}

install_packages() {
    local wanted missing
    choose_packages
    wanted=$packages
    if [ "$goal" = check ]; then wanted="$packages $test_packages"; fi
    # shellcheck disable=SC2086 # lists of names
    missing=$(list_missing $wanted)
    if [ -z "$missing" ]; then return; fi
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
        say "not root and no sudo: going on without these packages"
        echo "$missing"
        return
    fi
    say "installing with $manager"
    echo "$missing"
    # shellcheck disable=SC2086 # a list of names
    install_$manager $missing
    # Let configure look again.
    if [ -e "$root/configure" ]; then touch "$root/configure"; fi
}

# ---- what MPI needs to start here
prepare_mpi() {
    # Where Open MPI is until a module is loaded.
    PATH=$PATH:/usr/lib64/openmpi/bin:/usr/lib64/mpi/gcc/openmpi4/bin
    export PATH
    if [ "$(id -u)" = 0 ]; then
        # mpirun refuses to run as root, as in a container, without these.
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    fi
}

build() {
    say "building in $root"
    make --no-print-directory -C "$root" -j"$(nproc)"
}

# ---- the demo
demo() {
    local mib ranks dir=iobm-demo iobm=$root/iobm
    if [ "$PWD" = "$root" ]; then iobm=./iobm; fi
    local free largest=2048 smallest=64
    free=$(($(df --output=avail -B1M "$PWD" | tail -n 1)))
    mib=$((free / 4))
    if [ $mib -gt $largest ]; then mib=$largest; fi
    if [ $mib -lt $smallest ]; then mib=$smallest; fi
    if [ $free -lt $((mib + mib / 4)) ]; then
        echo "setup.sh: '$PWD' has $free MiB free, the demo needs" \
            "$((mib + mib / 4)) MiB" >&2
        exit 1
    fi
    ranks=$(nproc)
    if [ "$ranks" -gt 4 ]; then ranks=4; fi
    mkdir -p "$dir"
    local clean=--clean
    if [ $keep = yes ]; then clean=--keep; fi
    local run=(mpirun --oversubscribe -np "$ranks" "$iobm"
        -n "${mib}M" -f "$dir/test" -w -r "$clean"
        -o "$dir/iobm-results.h5" --label demo)
    say "$mib MiB on $ranks ranks: write, then read ($free MiB are free here)"
    echo "${run[*]}"
    echo
    "${run[@]}"
    say "the result is in $dir/iobm-results.h5"
    cat <<END
next:
  $iobm list $dir/iobm-results.h5
  $iobm show $dir/iobm-results.h5
  $iobm --help
END
    if [ $keep = yes ]; then echo "  $iobm clean -f $dir/test"; fi
}

if [ $install = yes ]; then install_packages; fi
prepare_mpi
build
case $goal in
build) say "built: $root/iobm"; echo "next: ./setup.sh demo" ;;
demo) demo ;;
check)
    say "testing"
    make --no-print-directory -C "$root" -j"$(nproc)" check
    ;;
esac
