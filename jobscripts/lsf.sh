#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# iobm under LSF: write a file per rank, then read what another node wrote.
#     IOBM_DIR=/scratch/me bsub < jobscripts/lsf.sh

# Site: what yours asks for; take out one "#" of each.
##BSUB -P PROJECT
##BSUB -q NAME
#BSUB -J iobm
#BSUB -W 00:30
#BSUB -o iobm-%J.out
# 8 ranks, 4 on each node, nobody else there.
#BSUB -n 8
#BSUB -R "span[ptile=4]"
#BSUB -x
# Two minutes before the time is up LSF sends SIGUSR2; mpirun passes it on,
# iobm ends in order and keeps what it has measured.
#BSUB -wt 2
#BSUB -wa USR2

set -u

# Site: the Open MPI and HDF5 that iobm was built with, where they are modules.
# module load openmpi hdf5

# "bsub < script" runs a copy: go where it was submitted.
cd "$LS_SUBCWD" || exit 1

# The program; the folder to test, on the file system you want to know about;
# the file that collects the results of all jobs.
iobm=${IOBM:-iobm}
folder=${IOBM_DIR:-$LS_SUBCWD}/iobm-$LSB_JOBID
results=${IOBM_RESULTS:-$LS_SUBCWD/iobm-results.h5}
# Bytes per rank; see slurm.sh about memory.
size=${IOBM_SIZE:-16G}

mkdir -p "$folder" || exit 1

# The list of hosts, one line per rank, also serves a build of Open MPI that
# cannot ask LSF.  The shell must outlive the warning that it gets as well,
# and mpirun must not read on in this script, should it be the standard input.
trap : USR2
mpirun -hostfile "$LSB_DJOB_HOSTFILE" -np "$LSB_DJOB_NUMPROC" "$iobm" \
    -a -n "$size" -f "$folder/test" -w -r -i 3 --clean -o "$results" \
    --label "lsf $LSB_JOBID" </dev/null
status=$?

rmdir "$folder"
exit $status
