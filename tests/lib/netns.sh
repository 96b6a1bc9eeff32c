# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Three hosts n1 n2 n3 on one machine, each with its own network, name and
# (on request) monotonic clock, joined by a switch.  A host is a process that
# sleeps in its namespaces: nothing has a name in the rest of the system, and
# when the process ends, everything is gone.  Needs tap.sh, root, iproute2.
#     netns_up [SKEW_NS [RATE]] || plan_skip "$netns_why"
#     at_exit netns_down
#     netns_on n2 COMMAND...
#     netns_mpirun -np 6 PROGRAM...

netns_hosts=(n1 n2 n3)
netns_net=10.77.41         # seen by nobody outside
netns_life_s=900           # should the test be killed before it cleans up
netns_why=''               # why netns_up failed
netns_dir=''
netns_switch=''            # process that is the switch
declare -A netns_pid=()    # process that is the host

# netns_wait PID FILE: until the process has made the file.
netns_wait() {
    local i
    for ((i = 0; i < 500; i++)); do
        [ -e "$2" ] && return 0
        kill -0 "$1" 2>/dev/null || return 1
        sleep 0.01
    done
    return 1
}

# netns_plug NUMBER RATE: give a host its network card.
netns_plug() {
    local host=${netns_hosts[$1]}
    local pid=${netns_pid[$host]}
    local in=(nsenter -t "$pid" --net) at=(nsenter -t "$netns_switch" --net)

    "${at[@]}" ip link add "p$1" type veth peer name eth0 netns "$pid" &&
        "${at[@]}" ip link set "p$1" master br0 up &&
        "${in[@]}" ip link set lo up &&
        "${in[@]}" ip addr add "$netns_net.$(($1 + 1))/24" dev eth0 &&
        "${in[@]}" ip link set eth0 up || return 1
    [ -n "$2" ] || return 0
    "${in[@]}" tc qdisc add dev eth0 root handle 1: htb default 1 &&
        "${in[@]}" tc class add dev eth0 parent 1: classid 1:1 htb rate "$2"
}

# netns_park NUMBER SKEW_NS: start a host.  Without a skew all have the clock
# of the machine.
netns_park() {
    local host=${netns_hosts[$1]} clock=()

    [ "$2" = 0 ] ||
        clock=("$IOBM_BUILD/tests/bin/timens" "$((($1 + 1) * $2))")
    # shellcheck disable=SC2016 # for the inner shell
    unshare --net --uts --mount --propagation private "${clock[@]}" sh -c '
        hostname "$1" && mount --bind "$2/hosts" /etc/hosts &&
            touch "$2/$1.up" && exec sleep "$3"' \
        sh "$host" "$netns_dir" "$netns_life_s" \
        </dev/null >"$netns_dir/$host.log" 2>&1 &
    netns_pid[$host]=$!
    echo $! >"$netns_dir/$host.pid"
    netns_wait $! "$netns_dir/$host.up"
}

# What Open MPI calls in place of ssh: AGENT HOST COMMAND...
netns_agent() {
    cat <<EOF
#!/bin/sh
pid=\$(cat "$netns_dir/\$1.pid") || exit 255
shift
exec nsenter -t "\$pid" --net --uts --mount --time -- /bin/sh -c "\$*"
EOF
}

netns_start() {
    local skew=$1 rate=$2 i

    unshare --net sh -c "touch '$netns_dir/switch.up' &&
        exec sleep $netns_life_s" </dev/null >"$netns_dir/switch.log" 2>&1 &
    netns_switch=$!
    netns_wait "$netns_switch" "$netns_dir/switch.up" || return 1
    nsenter -t "$netns_switch" --net ip link add br0 type bridge &&
        nsenter -t "$netns_switch" --net ip link set br0 up || return 1
    for i in "${!netns_hosts[@]}"; do
        netns_park "$i" "$skew" && netns_plug "$i" "$rate" || return 1
    done
}

netns_up() {
    local skew=${1:-0} rate=${2:-} name i

    [ "$(id -u)" = 0 ] || { netns_why="needs root"; return 1; }
    for name in ip nsenter unshare; do
        command -v "$name" >/dev/null || { netns_why="no '$name'"; return 1; }
    done
    netns_dir=$(mktemp -d "${TMPDIR:-/tmp}/netns.XXXXXX") || return 1
    echo "127.0.0.1 localhost" >"$netns_dir/hosts"
    for i in "${!netns_hosts[@]}"; do
        echo "$netns_net.$((i + 1)) ${netns_hosts[i]}" >>"$netns_dir/hosts"
        echo "${netns_hosts[i]} slots=16" >>"$netns_dir/hostfile"
    done
    netns_agent >"$netns_dir/agent"
    chmod +x "$netns_dir/agent"
    netns_start "$skew" "$rate" >"$netns_dir/log" 2>&1 && return 0
    # shellcheck disable=SC2034 # for the test
    netns_why="no namespaces here: $(cat "$netns_dir"/*log | tail -n 1)"
    netns_down
    return 1
}

# netns_on HOST COMMAND...: in the current folder.
netns_on() {
    local pid=${netns_pid[$1]}
    shift
    # shellcheck disable=SC2016 # nsenter goes to /
    nsenter -t "$pid" --net --uts --mount --time -- \
        sh -c 'cd "$0" && exec "$@"' "$PWD" "$@"
}

# netns_mpirun ARGUMENT...: mpirun on n1, ranks dealt out over the hosts.
netns_mpirun() {
    netns_on n1 mpirun --mca plm_rsh_agent "$netns_dir/agent" \
        --mca plm_rsh_no_tree_spawn 1 --mca oob_tcp_if_include eth0 \
        --mca btl self,vader,tcp --mca btl_tcp_if_include eth0 \
        --mca hwloc_base_binding_policy none --hostfile "$netns_dir/hostfile" \
        --map-by node "$@"
}

# Ends the hosts and, with them, their networks; to be called any time.
netns_down() {
    local pid
    for pid in ${netns_pid[@]+"${netns_pid[@]}"} $netns_switch; do
        kill "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
    netns_pid=()
    netns_switch=''
    [ -z "$netns_dir" ] || rm -rf "$netns_dir"
    netns_dir=''
    return 0
}
