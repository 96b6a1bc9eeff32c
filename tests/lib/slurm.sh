# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# A private Slurm cluster for a test, on this machine: one controller, N
# nodes n1 ... nN with host names of their own.  Its processes, network and
# /run live in namespaces that end with the test.  Root only.
#     . "$IOBM_SRC/tests/lib/slurm.sh"
#     slurm_enter "$0" "$@"      # starts the test anew inside the namespaces
#     slurm_start 2 2            # nodes, CPUs per node
#     id=$(sbatch --parsable job.sh); slurm_wait "$id" 60

slurm_usable() {
    local name
    [ "$(id -u)" = 0 ] || { echo "not root"; return 1; }
    for name in slurmctld slurmd sbatch munged unshare ip; do
        PATH=$PATH:/usr/sbin:/sbin command -v $name >/dev/null ||
            { echo "no '$name' here"; return 1; }
    done
    unshare --net --uts --pid --mount --fork --kill-child --mount-proc true ||
        { echo "no namespaces here"; return 1; }
}

slurm_enter() {
    if [ -z "${IOBM_SLURM_INSIDE:-}" ]; then
        IOBM_SLURM_INSIDE=1 exec unshare --net --uts --pid --mount --fork \
            --kill-child --mount-proc bash "$@"
    fi
    PATH=$PATH:/usr/sbin:/sbin
    hostname head
    mount -t tmpfs -o mode=755 tmpfs /run
    # A network of one bridge: Open MPI leaves the loopback device alone.
    ip link set lo up
    ip link add br0 type bridge
    ip addr add 10.99.0.1/24 dev br0
    ip link set br0 up
}

slurm_config() {
    local nodes=$1 cpus=$2 i
    cat <<END
ClusterName=iobm
SlurmctldHost=head(127.0.0.1)
SlurmctldPort=6817
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm_dir/munge/sock
CredType=cred/munge
StateSaveLocation=$slurm_dir/state
SlurmdSpoolDir=$slurm_dir/spool-%n
SlurmctldPidFile=$slurm_dir/slurmctld.pid
SlurmdPidFile=$slurm_dir/slurmd-%n.pid
SlurmctldLogFile=$slurm_dir/slurmctld.log
SlurmdLogFile=$slurm_dir/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
ReturnToService=2
MpiDefault=none
KillWait=2
MinJobAge=3600
MailProg=/bin/true
PlugStackConfig=$slurm_dir/plugstack.conf
SlurmdParameters=config_overrides
END
    if ls /usr/lib/*/slurm*/job_submit_pbs.so >/dev/null 2>&1; then
        echo "JobSubmitPlugins=pbs"
    fi
    for ((i = 1; i <= nodes; i++)); do
        echo "NodeName=n$i NodeAddr=127.0.0.1 Port=$((7000 + i)) CPUs=$cpus" \
            "RealMemory=1000 State=UNKNOWN"
    done
    echo "PartitionName=main Nodes=n[1-$nodes] Default=YES MaxTime=30 State=UP"
}

slurm_munge() {
    local munge=$slurm_dir/munge i
    mkdir -m 0755 "$munge"
    (umask 077 && head -c 1024 /dev/urandom >"$munge/key")
    munged --key-file="$munge/key" --socket="$munge/sock" \
        --pid-file="$munge/pid" --log-file="$munge/log" \
        --seed-file="$munge/seed" --num-threads=2 || return 1
    for ((i = 0; i < 100; i++)); do
        [ -S "$munge/sock" ] && return 0
        sleep 0.05
    done
    return 1
}

# slurm_start NODES CPUS
slurm_start() {
    local i
    slurm_dir=/run/iobm-slurm
    mkdir -p "$slurm_dir/state" || return 1
    slurm_munge || return 1
    : >"$slurm_dir/plugstack.conf"
    if ls /usr/lib/*/slurm*/spank_pbs.so >/dev/null 2>&1; then
        echo "optional spank_pbs.so" >"$slurm_dir/plugstack.conf"
    fi
    slurm_config "$1" "$2" >"$slurm_dir/slurm.conf"
    export SLURM_CONF=$slurm_dir/slurm.conf
    slurmctld -c >/dev/null || return 1
    for ((i = 1; i <= $1; i++)); do
        mkdir "$slurm_dir/spool-n$i"
        unshare --uts sh -c "hostname n$i && exec slurmd -N n$i" || return 1
    done
    for ((i = 0; i < 200; i++)); do
        [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = "$1" ] && return 0
        sleep 0.1
    done
    diag "$(sinfo 2>&1)" "$(tail -n 5 "$slurm_dir"/*.log)"
    return 1
}

# slurm_wait ID SECONDS: until the job has ended; prints its state.
slurm_wait() {
    local i state
    for ((i = 0; i < $2 * 5; i++)); do
        state=$(squeue -h -t all -j "$1" -o %T 2>/dev/null | sort -u |
            tr '\n' ' ')
        case $state in
        *PENDING* | *RUNNING* | *COMPLETING* | *CONFIGURING*) sleep 0.2 ;;
        *) echo "${state% }"; return 0 ;;
        esac
    done
    scancel "$1"
    echo "${state}after $2 s"
    return 1
}
