#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 300
# The checks of par_driver with 1 to 16 ranks: with the real clock, with wrong
# clocks on all or some ranks, with a wall clock that is stepped, and with
# both MPI-IO components.  Their TAP lines become those of this test.

. "$IOBM_SRC/tests/lib/tap.sh"
. "$IOBM_SRC/tests/lib/driver.sh"
need mpirun

driver=$IOBM_BUILD/tests/ranks/par_driver
wrong= # RANK:OFFSET_NS:PPM of every rank, 1 s and 100 ppm apart
for rank in {0..15}; do
    wrong+=$rank:$((rank * 1000000007 - 5000000000)):$((rank % 2 * 100 - 50)),
done
wrong=${wrong%,}

for ranks in 1 2 4 7 16; do
    drive "$ranks ranks" mpi "$ranks" "$driver" phases=2
done
export IOBM_FAKE_CLOCK=$wrong
for ranks in 2 4 7 16; do
    drive "$ranks wrong clocks" mpi "$ranks" "$driver" domains="$ranks"
done
drive "tree of 16 clocks" mpi 16 "$driver" domains=16 star=4
export IOBM_FAKE_CLOCK=1:10000000000:50,2:-1000000000:-50
drive "two wrong clocks of seven" mpi 7 "$driver" domains=3
export IOBM_FAKE_STEP=-5@100000000
drive "stepped wall clock" mpi 2 "$driver" domains=2
unset IOBM_FAKE_CLOCK IOBM_FAKE_STEP
export OMPI_MCA_io=romio321
drive "romio321" mpi 3 "$driver" phases=2
unset OMPI_MCA_io

# Lines that were lost would not be missed otherwise: 13 runs of 39 each.
is "$tap_count" 507 "every check was made"
echo "1..$tap_count"
