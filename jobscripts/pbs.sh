#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# iobm under PBS: write a file per rank, then read what another node wrote.
#     qsub -v IOBM_DIR=/scratch/me jobscripts/pbs.sh

# Site: what yours asks for; take out one "#" of each.
##PBS -A PROJECT
##PBS -q NAME
#PBS -N iobm
#PBS -j oe
#PBS -l walltime=00:30:00
# OpenPBS and PBS Professional: 2 nodes with 4 ranks each, nobody else there.
#PBS -l select=2:ncpus=4:mpiprocs=4
#PBS -l place=scatter:excl
# Torque: take out the two lines above and one "#" of the next.
##PBS -l nodes=2:ppn=4

set -u

# Site: the Open MPI and HDF5 that iobm was built with, where they are modules.
# module load openmpi hdf5

# PBS starts jobs in the home folder.
cd "$PBS_O_WORKDIR" || exit 1

# The program; the folder to test, on the file system you want to know about;
# the file that collects the results of all jobs.
iobm=${IOBM:-iobm}
folder=${IOBM_DIR:-$PBS_O_WORKDIR}/iobm-$PBS_JOBID
results=${IOBM_RESULTS:-$PBS_O_WORKDIR/iobm-results.h5}
# Bytes per rank; see slurm.sh about memory.
size=${IOBM_SIZE:-16G}

# Many builds of Open MPI (Debian's and RHEL's, too) cannot ask PBS for the
# nodes: give them the list, one line per rank.
hosts=()
if [ -n "${PBS_NODEFILE:-}" ]; then
    hosts=(-machinefile "$PBS_NODEFILE" -np "$(wc -l <"$PBS_NODEFILE")")
fi

mkdir -p "$folder" || exit 1

mpirun ${hosts[@]+"${hosts[@]}"} "$iobm" -a -n "$size" -f "$folder/test" \
    -w -r -i 3 --clean -o "$results" --label "pbs $PBS_JOBID"
status=$?

rmdir "$folder"
exit $status
