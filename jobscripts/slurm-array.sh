#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How bandwidth grows with the number of ranks: a Slurm job array, one element
# per rank count, all in one result file.
#     sbatch --export=ALL,IOBM_DIR=/scratch/me jobscripts/slurm-array.sh
#     iobm list iobm-results.h5

# Site: what yours asks for; take out one "#" of each.
##SBATCH --account=PROJECT
##SBATCH --partition=NAME
#SBATCH --job-name=iobm-scaling
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=4
#SBATCH --time=00:30:00
#SBATCH --output=iobm-%A_%a.out
#SBATCH --exclusive
# Elements 0 to 4 of "counts" below; %1: one at a time, or they would
# disturb each other.
#SBATCH --array=0-4%1
# Two minutes before the time is up; see slurm.sh.
#SBATCH --signal=B:USR2@120

set -u

# Site: the Open MPI and HDF5 that iobm was built with, where they are modules.
# module load openmpi hdf5

counts=(1 2 4 8 16)
ranks=${counts[$SLURM_ARRAY_TASK_ID]}

# The program, the folder to test, the results: see slurm.sh.
iobm=${IOBM:-iobm}
folder=${IOBM_DIR:-$SLURM_SUBMIT_DIR}/iobm-$SLURM_JOB_ID
results=${IOBM_RESULTS:-$SLURM_SUBMIT_DIR/iobm-results.h5}
# The same bytes per rank at each count (weak scaling).  For the same total
# (strong scaling) leave -a out below.
size=${IOBM_SIZE:-16G}

mkdir -p "$folder" || exit 1

# Ranks go to the nodes in turn, so that 4 ranks use 4 nodes' links.
mpirun -np "$ranks" --map-by node "$iobm" -a -n "$size" -f "$folder/test" \
    -w -r -i 3 --clean -o "$results" --label "scaling $ranks" \
    --tag "array=$SLURM_ARRAY_JOB_ID" &
mpirun_pid=$!
trap 'kill -USR2 $mpirun_pid' USR2
wait $mpirun_pid
status=$?
while kill -0 $mpirun_pid 2>/dev/null; do
    wait $mpirun_pid
    status=$?
done

rmdir "$folder"
exit $status
