#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What iobm, fio and IOR say about a device of known speed (tests/truthfs),
# each against what that device really did while it ran.
#     bench/truth.sh        or: make truth
# A file per rank, at 20, 50 and 200 MB/s, writes with a final fsync but for
# "read":
#     plain   one rate for all
#     read    the same, of files that were just written
#     late    each rank has its share of the rate, and the ranks open their
#             files 0 to 2 s late, the last one latest
#     slow    each has its share, the last one half of that
#     cliff   the first quarter of the bytes is four times as fast
# The truth comes from the device's log: bytes / (first start to last end),
# the losses by the formulas of docs/method.md section 1.  "*": the device
# itself was not as fast as it should have been; the machine was busy.
# RATES (20 50 200), RANKS (1 2 4), SCENARIOS, TOOLS (iobm fio ior), QUICK=1:
# iobm alone, no read and no cliff, shorter; CSV=FILE: the rows; IOBM, TRUTHFS.
# Exit status 1: iobm is off by more than 1 % (2 % under 5 s), or a loss by
# more than 2 percentage points; 2: it cannot be tried here.

set -u

here=$(cd "$(dirname "$0")/.." && pwd)
iobm=${IOBM:-./iobm}
quick=${QUICK:-}
read -ra rates <<<"${RATES:-20 50 200}"
read -ra counts <<<"${RANKS:-1 2 4}"
if [ -n "$quick" ]; then
    scenarios="plain late slow" tools=iobm
else
    scenarios="plain read late slow cliff" tools="iobm fio ior"
fi
read -ra scenarios <<<"${SCENARIOS:-$scenarios}"
read -ra tools <<<"${TOOLS:-$tools}"
transfer=$((256 * 1024))
late_s=2
export OMPI_MCA_mpi_yield_when_idle=1
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

work=$(mktemp -d) || exit 2
end() { truthfs_unmount_all; rm -rf --one-file-system "$work"; }
trap end EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
. "$here/tests/lib/truthfs.sh"
truthfs_usable || { echo "truth.sh: $truthfs_why" >&2; exit 2; }

# plan_cell SCENARIO RATE RANKS: $bytes of all ranks, a whole number of
# transfers each; device $options; what it should do: $seconds, $ramp, $tail.
plan_cell() {
    local scenario=$1 rate=$2 ranks=$3 time i own last patterns
    time=6
    [ -z "$quick" ] || time=1.6
    case $scenario$quick in
    slow) time=3 ;; # it takes twice that
    slow?*) time=1 ;;
    late?*) [ "$ranks" = 1 ] || time=2.8 ;;
    esac
    bytes=$(awk -v s=$time -v r="$rate" -v n="$ranks" -v t=$transfer \
        'BEGIN { printf "%.0f", int(s * r * 1e6 / n / t + 0.5) * t * n }')
    own=$((rate * 1000000 / ranks)) last=$((ranks - 1))
    options="store=none,burst_us=50000"
    case $scenario in
    plain) options=$options,rate=${rate}M ;;
    read) options=$options,read_rate=${rate}M ;;
    late)
        options="$options,slowfile=t.*:$own"
        for ((i = 0; i < ranks; i++)); do
            delay=$((late_s * 1000 * (ranks > 1 ? i : 1) / (last ? last : 1)))
            for patterns in "t.$i" "t.0000000$i"; do
                options="$options,opendelay=$patterns:$delay:1"
            done
        done
        ;;
    slow)
        for patterns in "t.$last" "t.0000000$last"; do
            options="$options,slowfile=$patterns:$((own / 2))"
        done
        options="$options,slowfile=t.*:$own"
        ;;
    cliff) options=$options,rate=${rate}M,cliff=$((bytes / 4)):$((4 * rate))M ;;
    esac
    read -r seconds ramp tail < <(awk -v s="$scenario" -v n="$ranks" \
        -v d=$late_s -v t="$(awk "BEGIN { print $bytes / $rate / 1e6 }")" '
        BEGIN {
            ramp = tail = 0
            if (s == "late" && n > 1) {
                t += d
                ramp = tail = d / 2 / t
            } else if (s == "slow") {
                t *= 2
                tail = (n - 1) / (2 * n - 1)
            } else if (s == "cliff")
                t *= 3 / 4 + 1 / 16
            print t, ramp, tail
        }')
}

# Each prints its bandwidth in bytes per second; iobm the two losses as well.
run_iobm() { # FOLDER RANKS BYTES write|read
    local phases=(-w)
    [ "$4" = write ] || phases+=(-r)
    mpirun --oversubscribe --bind-to none -np "$2" "$iobm" -n "${3}B" \
        -b "${transfer}B" -f "$1/t" "${phases[@]}" -o none --csv \
        2>"$1.err" |
        awk -F, -v what="$4" '
            NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
            NR > 1 && $at["op"] == what {
                r = $at["loss_ramp_pct"]
                t = $at["loss_tail_pct"]
                printf "%.0f %s %s\n", $at["bw_wall_Bps"],
                    r == "" ? "-" : r / 100, t == "" ? "-" : t / 100
            }'
}
run_fio() {
    local i field=48 jobs=()
    for ((i = 0; i < $2; i++)); do jobs+=("--name=w$i" "--filename=t.$i"); done
    if [ "$4" = read ]; then field=7
    else jobs=(--create_on_open=1 --end_fsync=1 "${jobs[@]}"); fi
    fio --directory="$1" --ioengine=psync --rw="$4" --bs=$transfer \
        --size=$(($3 / $2)) --fallocate=none --group_reporting \
        --output-format=terse --terse-version=3 "${jobs[@]}" 2>"$1.err" |
        awk -F\; -v field=$field 'NF > 50 { printf "%.0f\n", $field * 1024 }'
}
run_ior() {
    local phases=(-w -e)
    [ "$4" = write ] || phases+=(-r)
    mpirun --oversubscribe --bind-to none -np "$2" ior -a POSIX -F -k \
        "${phases[@]}" -t $transfer -b $(($3 / $2)) -o "$1/t" 2>"$1.err" |
        awk -v what="$4" 'tolower($1 " " $2) == "max " what ":" {
            printf "%.0f\n", $3 * 1048576 }'
}

# truth LOG write|read: bytes per second, seconds, ramp and tail loss.
truth() {
    awk -v what="$2" '
    $3 != what && ($3 != "fsync" || what != "write") { next }
    $7 !~ /^t\.[0-9]+$/ { next }
    {
        n++
        from[n] = $1 - base; to[n] = $2; size[n] = $3 == what ? $6 : 0
        if (n == 1) { base = $1; from[n] = 0 }
        to[n] -= base
        if (!($7 in start)) start[$7] = from[n]
        end[$7] = to[n]
        bytes += size[n]
    }
    # All bytes at a time; an operation moves them evenly.
    function at(t,    i, sum, share) {
        for (i = 1; i <= n; i++) {
            share = to[i] > from[i] ? (t - from[i]) / (to[i] - from[i]) : 1
            sum += size[i] * (share < 0 ? 0 : share > 1 ? 1 : share)
        }
        return sum
    }
    END {
        if (!n) exit
        for (f in start) {
            if (first++ == 0) { s0 = s1 = start[f]; e0 = e1 = end[f] }
            if (start[f] < s0) s0 = start[f]
            if (start[f] > s1) s1 = start[f]
            if (end[f] < e0) e0 = end[f]
            if (end[f] > e1) e1 = end[f]
        }
        steady = (at(e0) - at(s1)) / (e0 - s1)
        printf "%.0f %.4f %.4f %.4f\n", bytes / (e1 - s0) * 1e9,
            (e1 - s0) / 1e9,
            (steady * (s1 - s0) - at(s1)) / (steady * (e1 - s0)),
            (steady * (e1 - e0) - (bytes - at(e0))) / (steady * (e1 - s0))
    }' "$1"
}

# run_cells TOOL SCENARIO RANKS: at all rates at once; a line in $work/rows.
run_cells() {
    local tool=$1 scenario=$2 ranks=$3 rate at what=write jobs=()
    [ "$scenario" != read ] || what="read"
    for rate in "${rates[@]}"; do
        at=$work/$tool.$rate
        plan_cell "$scenario" "$rate" "$ranks"
        echo "$seconds $ramp $tail" >"$at.plan"
        rm -f "$at.log"
        truthfs_mount "$at" "$options,log=$at.log" || exit 2
        "run_$tool" "$at" "$ranks" "$bytes" $what >"$at.out" &
        jobs+=($!)
    done
    wait "${jobs[@]}"
    for rate in "${rates[@]}"; do
        at=$work/$tool.$rate
        truthfs_unmount "$at"
        [ -s "$at.out" ] || { echo "- - -" >"$at.out"
            echo "truth.sh: $tool failed: $(head -n 1 "$at.err")" >&2; }
        echo "$scenario $rate $ranks $tool $(truth "$at.log" $what)" \
            "$(cat "$at.plan") $(cat "$at.out")" >>"$work/rows"
    done
}

# The rows of a scenario and a number of ranks, as lines of the table.
print_cells() {
    awk -v scenario="$1" -v ranks="$2" -v order="${rates[*]}" '
    function tool(name,    k, off) {
        k = rate SUBSEP name
        if (!((k) in said) || said[k] !~ /^[0-9]/)
            return sprintf("%7s%6s", "-", "-")
        off = 100 * (said[k] / real[k] - 1)
        return sprintf(off > 9.99 || off < -9.99 ? "%7.2f%+6.1f" : \
            "%7.2f%+6.2f", said[k] / 1e6, off)
    }
    $1 == scenario && $3 == ranks {
        k = $2 SUBSEP $4
        real[k] = $5; late[k] = $6 > $9 * 1.01 || $6 < $9 * 0.99
        ramp[k] = $7; tail[k] = $8; said[k] = $12; r[k] = $13; l[k] = $14
    }
    END {
        m = split(order, rates, " ")
        for (i = 1; i <= m; i++) {
            rate = rates[i]
            k = rate SUBSEP "iobm"
            printf "%-5s%4d%2d%7.2f%s%s%s%s", scenario, rate, ranks,
                real[k] / 1e6, late[k] ? "*" : " ", tool("iobm"),
                tool("fio"), tool("ior")
            if (r[k] ~ /^-?[0-9]/)
                printf "%5.1f%+5.1f%6.1f%+5.1f\n", 100 * ramp[k],
                    100 * (r[k] - ramp[k]), 100 * tail[k],
                    100 * (l[k] - tail[k])
            else
                printf "%5s%5s%6s%5s\n", "-", "-", "-", "-"
        }
    }' "$work/rows"
}

missing=()
for tool in "${tools[@]}"; do
    if [ "$tool" = iobm ] || command -v "$tool" >/dev/null; then
        have+=("$tool")
    else missing+=("$tool"); fi
done
[ ${#missing[@]} = 0 ] || echo "not installed: ${missing[*]}"
printf '%-5s%4s%2s%7s %7s%6s%7s%6s%7s%6s%10s%11s\n' '' MB/s '' true iobm error \
    fio error IOR error 'ramp loss' 'tail loss'
printf '%-5s%4s%2s%7s %7s%6s%7s%6s%7s%6s%5s%5s%6s%5s\n' '' '' n MB/s MB/s % \
    MB/s % MB/s % % +pp % +pp
: >"$work/rows"
for scenario in "${scenarios[@]}"; do
    for ranks in "${counts[@]}"; do
        for tool in "${have[@]}"; do
            run_cells "$tool" "$scenario" "$ranks"
        done
        print_cells "$scenario" "$ranks"
    done
done

if [ -n "${CSV:-}" ]; then
    {
        echo "scenario,rate_MBps,ranks,tool,true_Bps,true_s,true_ramp,\
true_tail,plan_s,plan_ramp,plan_tail,said_Bps,said_ramp,said_tail"
        tr ' ' , <"$work/rows"
    } >"$CSV"
fi
awk '
    function off(a, b) { return a > b ? a - b : b - a }
    $4 == "iobm" && ($12 !~ /^[0-9]/ || $13 !~ /^-?[0-9]/ ||
        off($12 / $5, 1) > ($6 < 5 ? 0.02 : 0.01) ||
        off($13, $7) > 0.02 || off($14, $8) > 0.02) {
        print "off: " $1 " at " $2 " MB/s with " $3 " ranks"
        bad = 1
    }
    END { exit bad }' "$work/rows"
