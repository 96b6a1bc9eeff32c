#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# iobm under Slurm: write a file per rank, then read what another node wrote.
#     sbatch --export=ALL,IOBM_DIR=/scratch/me jobscripts/slurm.sh
# Options on sbatch's command line win over the ones here.

# Site: what yours asks for; take out one "#" of each.
##SBATCH --account=PROJECT
##SBATCH --partition=NAME
#SBATCH --job-name=iobm
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --time=00:30:00
#SBATCH --output=iobm-%j.out
# Nobody else on the nodes: their I/O would be in the figures.
#SBATCH --exclusive
# Two minutes before the time is up, tell this script; iobm then ends in
# order and keeps what it has measured.
#SBATCH --signal=B:USR2@120

set -u

# Site: the Open MPI and HDF5 that iobm was built with, where they are modules.
# module load openmpi hdf5

# The program; the folder to test, on the file system you want to know about;
# the file that collects the results of all jobs.
iobm=${IOBM:-iobm}
folder=${IOBM_DIR:-$SLURM_SUBMIT_DIR}/iobm-$SLURM_JOB_ID
results=${IOBM_RESULTS:-$SLURM_SUBMIT_DIR/iobm-results.h5}
# Bytes per rank.  Durable rates need no more than a few seconds of work; to
# read from the storage and not from memory, write twice the nodes' memory
# or add -d (O_DIRECT) below.
size=${IOBM_SIZE:-16G}

mkdir -p "$folder" || exit 1

# mpirun takes nodes and ranks from Slurm.  It runs in the background, so that
# the shell can pass the warning on.
mpirun "$iobm" -a -n "$size" -f "$folder/test" -w -r -i 3 --clean \
    -o "$results" --label "slurm $SLURM_JOB_ID" &
mpirun_pid=$!
trap 'kill -USR2 $mpirun_pid' USR2
wait $mpirun_pid
status=$?
# A warning ends "wait" early: wait for the true end.
while kill -0 $mpirun_pid 2>/dev/null; do
    wait $mpirun_pid
    status=$?
done

rmdir "$folder"
exit $status
