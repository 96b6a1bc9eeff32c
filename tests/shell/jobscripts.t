#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The job scripts as users submit them: Slurm ones on a private cluster of two
# nodes, the PBS one through qsub of that cluster and in PBS's environment,
# the LSF one in LSF's environment.
# timeout: 240

. "$IOBM_SRC/tests/lib/tap.sh"
. "$IOBM_SRC/tests/lib/slurm.sh"

why=$(slurm_usable) || plan_skip "$why"
slurm_enter "$0" "$@"
plan 23
scripts=$IOBM_SRC/jobscripts
export IOBM_SIZE=1M IOBM
mkdir data home
export IOBM_DIR=$TMPDIR/data

# job_ran NAME STATE RESULTS LABEL: a job that ended well, left its result and
# nothing else.
job_ran() {
    is "$2" COMPLETED "$1: the job completes" || diag "$(cat ./*.out ./*.o* |
        tail -n 30)"
    like "$("$IOBM" list "$3" 2>&1)" " (ok|complete) .* $4\$" \
        "$1: its result is listed"
    is "$(ls data)" "" "$1: no test files are left"
}

ok "the cluster starts" slurm_start 2 4 || exit 1

id=$(sbatch --parsable --ntasks-per-node=2 "$scripts/slurm.sh")
job_ran slurm "$(slurm_wait "$id" 60)" iobm-results.h5 "slurm $id"
like "$(cat "iobm-$id.out")" '4 ranks on 2 nodes' "slurm: 4 ranks on 2 nodes"
is "$(grep -cE '  read( repeat .)?  file per rank' "iobm-$id.out")" 3 \
    "slurm: three repeats of the read"

# A job that is told to end: the wrapper makes it linger after its first write.
cat >linger <<END
#!/bin/bash
exec "$IOBM" "\$@" --delay 10m
END
chmod +x linger
id=$(IOBM=$PWD/linger IOBM_RESULTS=$PWD/warned.h5 sbatch --parsable \
    --ntasks-per-node=2 "$scripts/slurm.sh")
for ((i = 0; i < 150; i++)); do
    grep -q 'MiB/s' "iobm-$id.out" 2>/dev/null && break
    sleep 0.2
done
scancel --batch --signal=USR2 "$id"
is "$(slurm_wait "$id" 60)" FAILED "slurm, warned: the job ends as failed"
like "$("$IOBM" list warned.h5 2>&1)" ' stopped | interrupted ' \
    "slurm, warned: what it had measured is kept as interrupted"

rm -f iobm-results.h5
id=$(sbatch --parsable --nodes=2 --array=0-2%1 "$scripts/slurm-array.sh")
job_ran array "$(slurm_wait "$id" 90)" iobm-results.h5 "scaling 1"
listed=$("$IOBM" list iobm-results.h5 2>&1)
like "$listed" 'scaling 2' "array: 2 ranks are in the same file"
like "$listed" 'scaling 4' "array: 4 ranks are in the same file"

if command -v qsub >/dev/null; then
    id=$(qsub "$scripts/pbs.sh")
    job_ran qsub "$(slurm_wait "$id" 60)" iobm-results.h5 "pbs $id"
else
    skip 3 "no qsub here"
fi

# What PBS and LSF set; both may start a job elsewhere.
printf '%s\n' head head >nodes
state=COMPLETED
(cd home && env PBS_O_WORKDIR="$TMPDIR" PBS_JOBID=42 \
    PBS_NODEFILE="$TMPDIR/nodes" bash "$scripts/pbs.sh") >pbs.out 2>&1 ||
    state=FAILED
job_ran pbs $state iobm-results.h5 "pbs 42"
like "$(cat pbs.out)" '2 ranks on 1 node' "pbs: a rank for each line of nodes"

state=COMPLETED
(cd home && env LS_SUBCWD="$TMPDIR" LSB_JOBID=77 LSB_DJOB_NUMPROC=2 \
    LSB_DJOB_HOSTFILE="$TMPDIR/nodes" bash -s <"$scripts/lsf.sh") \
    >lsf.out 2>&1 || state=FAILED
job_ran lsf $state iobm-results.h5 "lsf 77"
