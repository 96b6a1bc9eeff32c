#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 120
# The truth device itself: its speed by its own log and as seen from outside,
# each fault, the page cache, its options, and that nothing of it stays.
. "$IOBM_SRC/tests/lib/tap.sh"
. "$IOBM_SRC/tests/lib/truthfs.sh"
truthfs_usable || plan_skip "$truthfs_why"
python=/usr/bin/python3
need "$python" pgrep
plan 93

# What clients do, in Python: "py CODE" with these at hand.
cat >client.py <<'END'
import errno, hashlib, mmap, os, sys, threading, time

MI = 1 << 20


def name(error):
    return errno.errorcode[error.errno]


def tried(function, *args):
    """What it returned, or the name of its error."""
    try:
        return function(*args)
    except OSError as error:
        return name(error)


def data(size, seed=1):
    return hashlib.shake_128(b"%d" % seed).digest(size)


def make(path, size=MI, seed=1, flags=os.O_TRUNC):
    fd = os.open(path, os.O_CREAT | os.O_WRONLY | flags, 0o644)
    try:
        return os.pwrite(fd, data(size, seed), 0)
    finally:
        os.close(fd)


def move(path, size, request=MI, write=True):
    """Seconds from the first transfer to the end of the last one."""
    fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
    buffer = mmap.mmap(-1, request)  # aligned
    begin = time.monotonic_ns()
    at = 0
    while at < size:
        view = memoryview(buffer)[: min(request, size - at)]
        at += os.pwrite(fd, view, at) if write else os.preadv(fd, [view], at)
    seconds = (time.monotonic_ns() - begin) / 1e9
    os.close(fd)
    return seconds


def spent(function, *args):
    begin = time.monotonic_ns()
    function(*args)
    return (time.monotonic_ns() - begin) / 1e9


def together(*calls):
    """Seconds until all (function, arguments...) have ended."""
    threads = [threading.Thread(target=c[0], args=c[1:]) for c in calls]
    begin = time.monotonic_ns()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (time.monotonic_ns() - begin) / 1e9


def differs(path, wanted):
    """The pieces [from, to) that are not as wanted."""
    with open(path, "rb", buffering=0) as file:
        got = b""
        while len(got) < len(wanted):
            more = file.read(len(wanted) - len(got))
            if not more:
                break
            got += more
    bad = [i for i in range(0, len(wanted), 512)
           if got[i:i + 512] != wanted[i:i + 512]]
    pieces = []
    for i in bad:
        if pieces and pieces[-1][1] == i:
            pieces[-1][1] = i + 512
        else:
            pieces.append([i, i + 512])
    return pieces, got
END
py() { PYTHONPATH=. PYTHONDONTWRITEBYTECODE=1 "$python" -c "
from client import *
$1" "${@:2}"; }
# timed PERCENT NAME CODE WANTED...: the numbers that the code prints, but for
# so much.  The machine may be busy, so it has three tries; a device that is
# not as fast as it should be will not be so by chance.
timed() {
    local percent=$1 name=$2 code=$3 try
    shift 3
    for try in 1 2 3; do
        run py "$code"
        # shellcheck disable=SC2086 # numbers
        set -- "$@" -- $out
        if awk -v percent="$percent" 'BEGIN {
            n = (ARGC - 2) / 2
            bad = n != int(n) || n < 1
            for (i = 1; i <= n && !bad; i++)
                bad = ARGV[n + 1 + i] < ARGV[i] * (1 - percent / 100) ||
                    ARGV[n + 1 + i] > ARGV[i] * (1 + percent / 100)
            exit bad }' "$@"; then
            pass "$name"
            return 0
        fi
        diag "try $try: wanted -- got: $*"
        while [ "${*: -1}" != -- ]; do set -- "${@:1:$#-1}"; done
        set -- "${@:1:$#-1}"
    done
    fail "$name"
}

truthfs_mount gone life=1,store=none

# ---- options
while IFS='|' read -r options wanted; do
    mkdir -p bad
    run "$truthfs" -o "$options" bad
    is "$status" 2 "refused: $options"
    like "$(printf '%s' "$err" | wc -l) $err" "^0 truthfs: .*$wanted" \
        "and one line says why"
done <<'END'
speed=5|unknown option 'speed'
rate=fast|'fast' in rate
rate=|'' in rate
rate=-5|'-5' in rate
slowfile=a|slowfile takes GLOB:RATE
flip=a:1:8|a bit from 0 to 7
fail=chew:a|'chew' in fail is not an operation
fail=write:a:EWHAT|'EWHAT' in fail
cache=some|none, page or writeback
store=./absent|absent
END
run "$truthfs" -o rate=5M ./absent
is "$status" 2 "refused: a folder that is not there"
run "$truthfs" --help
like "$out" 'slowfile=GLOB:RATE' "--help lists the options"

# ---- speed, in three mounts at once
rates=(20 50 200)
for rate in "${rates[@]}"; do
    truthfs_mount "r$rate" \
        "rate=${rate}M,burst_us=100000,store=none,log=$PWD/log$rate"
done
# by_log RATE OP: bytes per second, from the first request to the last answer.
by_log() {
    awk -v op="$2" '$3 == op && $6 > 0 {
        if (!from) from = $1; to = $2; bytes += $6
        if ($6 > most) most = $6 }
        END { printf "%.0f %d\n", bytes / (to - from) * 1e9, most }' "log$1"
}
within() { # within GOT WANTED PERCENT
    awk "BEGIN { exit !($1 >= $2 * (1 - $3 / 100) &&
        $1 <= $2 * (1 + $3 / 100)) }"
}
# try_rates OP: moves 1.6 s of data at each rate; $wrong and $seen say what is
# not within 1 % by the log and within 2 % from outside.
try_rates() {
    local rate jobs=()
    wrong='' seen=''
    for rate in "${rates[@]}"; do
        : >"log$rate"
        truthfs_control "r$rate" reset # or it may begin where it left off
        py 'print(move(sys.argv[1], int(sys.argv[2]), 8 * MI,
            sys.argv[3] == "write"))' \
            "r$rate/f" $((rate * 1600000)) "$1" >"out$rate" &
        jobs+=($!)
    done
    wait "${jobs[@]}"
    for rate in "${rates[@]}"; do
        read -r speed most < <(by_log "$rate" "$1")
        within "$speed" "${rate}e6" 1 || wrong="$wrong $rate: $speed"
        within "$rate*1.6/$(cat "out$rate")" "$rate" 2 ||
            seen="$seen $rate: 1.6 s took $(cat "out$rate")"
    done
}
for what in write read; do
    for try in 1 2 3; do
        try_rates $what
        [ -n "$wrong$seen" ] || break
        diag "try $try: $wrong; $seen"
    done
    is "$wrong" "" "$what at ${rates[*]} MB/s by the device's own log"
    is "$seen" "" "and from outside"
    is "$most" 1048576 "large transfers come as 1 MiB"
done
is "$(truthfs_stat r50 file f read 5)" 80000000 "the bytes are counted"
like "$(awk '$3 == "read" { print $2 }' log50 | tail -n 1)" \
    "^$(truthfs_stat r50 file f read 7)\$" "and the last time noted"
timed 15 "small requests are as fast" 'print(move("r50/g", 4 << 20, 4096))' \
    0.0839

truthfs_mount s store=none,read_rate=100M,write_rate=50M,slowfile=slow*:10M
timed 4 "a write rate that two files share" \
    'print(together((move, "s/w", 20000000), (move, "s/slow1", 4000000)))' 0.48
timed 4 "a read rate" 'print(move("s/w", 20000000, MI, False))' 0.2
timed 4 "a slow file" 'print(move("s/slow1", 2000000, 65536))' 0.2
timed 8 "each has its own rate" 'print(together(
    (move, "s/slow1", 2000000, 65536), (move, "s/slow2", 2000000, 65536)))' 0.2

truthfs_mount l store=none,lat_us=10000,opendelay=late:150:1,meta_us=2000
timed 8 "latency of 10 ms" 'print(move("l/f", 30 * 4096, 4096))' 0.305
timed 25 "that of four files overlaps" 'print(together(*[
    (move, "l/f%d" % i, 20 * 4096, 4096) for i in range(4)]))' 0.23
num "$(py 'print(spent(make, "l/late", 0))') >= 0.15" "a file opens late"
num "$(py 'print(spent(make, "l/soon", 0))') < 0.1" "another one does not"
num "$(py 'print(spent(make, "l/late", 0))') < 0.1" "nor the same again"
truthfs_control l opendelay=one*:250 opendelay=two*:300
timed 20 "two new files in one folder do not wait for each other" '
n = time.monotonic_ns()
print(together((make, "l/one%d" % n), (make, "l/two%d" % n)))' 0.33
num "$(py 'print(spent(os.mkdir, "l/d"))') >= 0.002" "names take their time"
truthfs_control l lat_us=0 stall=10:30000
timed 15 "every tenth transfer stalls" \
    'print(move("l/f", 50 * 4096, 4096))' 0.155

# 10 MB at 100 MB/s, then 20 MB/s.
truthfs_mount c store=none,rate=20M,cliff=10M:100M
timed 5 "a cliff, once" 'open("c/.truth/control", "w").write("reset")
print(move("c/f", 20000000), move("c/f", 2000000))' 0.6 0.1
# While 12.5 MB come in 2.5 MB go out; 2 MB drain in 0.1 s, and then 2.5 MB
# fit in.
truthfs_control c cliff=10M:100M:drain
timed 7 "a cliff that drains, when it is idle, too" '
open("c/.truth/control", "w").write("reset")
print(move("c/f", 14500000), spent(time.sleep, 0.1), move("c/f", 4000000))' \
    0.225 0.1 0.1

# 8 MB in memory; the rest waits, sync pays.
truthfs_mount k store=none,rate=20M,wcache=8M
timed 5 "a write-back cache: what does not fit waits, a sync writes it all" '
open("k/.truth/control", "w").write("reset")
fd = os.open("k/f", os.O_CREAT | os.O_WRONLY)
print(spent(lambda: [os.pwrite(fd, bytes(10**6), i * 10**6)
    for i in range(12)]))
print([line.split()[1] for line in open("k/.truth/stats")
    if line.startswith("dirty")][0])
print(spent(os.fsync, fd))' 0.2 8e6 0.4
num "$(py 'print(spent(os.fsync, os.open("k/f", os.O_WRONLY)))') < 0.02" "once"
truthfs_control k wcache=100M:100M:lazy
timed 10 "a lazy cache takes at its own rate and writes when told to" '
open("k/.truth/control", "w").write("reset")
fd = os.open("k/f", os.O_CREAT | os.O_WRONLY)
print(spent(os.pwrite, fd, bytes(10**7), 0))
time.sleep(0.1)
print(spent(os.fsync, fd))' 0.1 0.5

# ---- what is kept
mkdir backing
truthfs_mount m
truthfs_mount d "store=$PWD/backing"
is "$(py 'make("m/f", 5000000)
print(differs("m/f", data(5000000))[0])')" "[]" "memory keeps what is written"
is "$(py 'make("d/f", 100000)
print(differs("backing/f", data(100000))[0])')" "[]" "a folder as well"
is "$(py 'make("s/z", MI)
print(differs("s/z", data(65536) + bytes(MI - 65536))[0])')" "[]" \
    "no store: zeros but for the head of a file"
# shellcheck disable=SC2016 # for the inner shell
ok "names are as in any file system" bash -ec '
    cd m && mkdir -p a/b && echo x >a/b/c && mv a A && test "$(cat A/b/c)" = x
    test "$(ls A A/b | tr "\n" " ")" = "A: b  A/b: c "
    ! rmdir A 2>/dev/null && mv A/b/c f2 && rmdir A/b A
    chmod 600 f2 && test "$(stat -c %a f2)" = 600
    truncate -s 1 f2 && truncate -s 3 f2
    test "$(od -An -tx1 f2)" = " 78 00 00"
    exec 3<f2 && rm f2 && test "$(cat <&3 | wc -c)" = 3 && ! test -e f2
    test "$(ls -A)" = f'

# ---- faults; each pattern hits one of two files
is "$(py 'os.truncate("m/f", 0)
open("m/.truth/control", "w").write("enospc=2500000\n")
fd = os.open("m/f", os.O_WRONLY)
print([tried(os.pwrite, fd, data(MI), i * MI) for i in range(4)])')" \
    "[1048576, 1048576, 402848, 'ENOSPC']" "no space left"
truthfs_control m clear
is "$(py 'print(make("m/f"))')" 1048576 "and space again"
truthfs_mount e space=1Gi,enospc=1Mi
is "$(stat -f -c '%a %S' e)" "262144 4096" "statfs says what it is told to"

truthfs_control m fail=write:f.1:EIO:1500000 fail=read:f.1:EREMOTEIO:4096
is "$(py 'for n in "f.0", "f.1":
    fd = os.open("m/" + n, os.O_CREAT | os.O_RDWR)
    print([tried(os.pwrite, fd, data(MI), i * MI) for i in range(3)],
          [tried(lambda at: len(os.pread(fd, 4096, at)), at)
           for at in (0, 4096)])')" "[1048576, 1048576, 1048576] [4096, 4096]
[1048576, 'EIO', 1048576] [4096, 'EREMOTEIO']" "errors at an offset of a file"
truthfs_control m clear fail=write:f.0:EIO::2
is "$(py 'print([tried(make, "m/f.0", 10) for i in range(4)])')" \
    "['EIO', 'EIO', 10, 10]" "twice, then no more"
truthfs_control m clear short=write:f.0:1000 short=read:f.1:77
is "$(py 'print(make("m/f.0", 5000), make("m/f.1", 5000), [len(os.pread(
    os.open(n, os.O_RDONLY), 500, 0)) for n in ("m/f.0", "m/f.1")])')" \
    "1000 5000 [500, 77]" "short transfers"
truthfs_control m clear fail=fsync:f.0 fail=close:f.1:EDQUOT
is "$(py 'for n in "m/f.0", "m/f.1":
    fd = os.open(n, os.O_WRONLY)
    print(tried(os.fsync, fd), tried(os.close, fd), end=" ")')" \
    "EIO None None EDQUOT " "a failing sync and a failing close"
truthfs_control m clear fail=open:f.0:EACCES fail=create:z:ENOSPC \
    fail=unlink:f.1:EBUSY 'fail=rename:f.*' fail=mkdir:x:EROFS \
    fail=truncate:f.1 fail=stat:y:ESTALE
is "$(py 'print(tried(os.open, "m/f.0", os.O_RDONLY), tried(make, "m/z"),
    tried(os.unlink, "m/f.1"), tried(os.rename, "m/f.0", "m/g"),
    tried(os.mkdir, "m/x"),
    tried(os.truncate, "m/f.1", 0), tried(os.stat, "m/y"))')" \
    "EACCES ENOSPC EBUSY EIO EROFS EIO ESTALE" "operations on names fail"
truthfs_control m clear

# Wrong contents: before the write and after it.
for when in before after; do
    spoil() { truthfs_control m flip=t.0:1000000:3 lost=t.1:8192 \
        swap=t.2:0:t.2:12288:8192 swap=t.3:4096:t.4:65536; }
    [ $when = after ] || spoil
    py 'for i in range(6): make("m/t.%d" % i, MI, i)'
    [ $when = before ] || spoil
    is "$(py 'pieces, got = differs("m/t.0", data(MI, 0))
print(pieces, got[1000000] ^ data(MI, 0)[1000000])')" \
        "[[999936, 1000448]] 8" "a flipped bit, set $when the write"
    is "$(py 'pieces, got = differs("m/t.1", data(MI, 1))
print(pieces, got[8192:12288] == bytes(4096))')" "[[8192, 12288]] True" \
        "a lost block"
    is "$(py 'pieces, got = differs("m/t.2", data(MI, 2))
d = data(MI, 2)
print(pieces, got[:8192] == d[12288:20480], got[12288:20480] == d[:8192])')" \
        "[[0, 8192], [12288, 20480]] True True" "swapped blocks of one file"
    is "$(py 'a, b = data(MI, 3), data(MI, 4)
p, got = differs("m/t.3", a)
q, had = differs("m/t.4", b)
print(p, q, got[4096:8192] == b[65536:69632],
    had[65536:69632] == a[4096:8192])')" \
        "[[4096, 8192]] [[65536, 69632]] True True" "and of two"
    is "$(py 'print(differs("m/t.5", data(MI, 5))[0])')" "[]" "others are right"
    truthfs_control m clear
done
is "$(py 'print([differs("m/t.%d" % i, data(MI, i))[0] for i in range(6)])')" \
    "[[], [], [], [], [], []]" "cleared, all is as it was written"

truthfs_control m 'stale=u.*:4096:8192'
is "$(py 'for i in range(2):
    make("m/u.%d" % i, MI, i)
print(differs("m/u.0", data(MI, 0))[0], end=" ")
os.unlink("m/u.0")
for i in range(2):
    make("m/u.%d" % i, MI, i + 7)
for i in range(2):
    pieces, got = differs("m/u.%d" % i, data(MI, i + 7))
    print(pieces, got[4096:12288] == data(MI, i)[4096:12288], end=" ")')" \
    "[] [[4096, 12288]] True [[4096, 12288]] True " \
    "stale blocks: as first written, whatever comes later"
py 'make("m/v", MI, 1)'
truthfs_control m 'stale=v:0'
is "$(py 'make("m/v", MI, 2)
pieces, got = differs("m/v", data(MI, 2))
print(pieces, got[:4096] == data(4096, 1))')" "[[0, 4096]] True" \
    "set when the older one is there"

# ---- hanging
# hung N: until so many operations hang.
hung() {
    local i
    for ((i = 0; i < 500; i++)); do
        [ "$(truthfs_stat m hanging 2)" != "$1" ] || return 0
        sleep 0.01
    done
    return 1
}
truthfs_control m clear hang=write:h:4096
is "$(py 'print(make("m/h", 4096), make("m/i", 8192))')" "4096 8192" \
    "what it does not concern goes on"
py 'print(make("m/h", 8192))' >hout &
job=$!
ok "a write hangs" hung 1
touch m/.truth/release
ok "until it is released" wait $job
is "$(cat hout)" 8192 "and is done"
truthfs_control m 'hang=fsync:h*'
py 'together(*[(os.fsync, os.open("m/h%d" % i, os.O_CREAT | os.O_WRONLY))
    for i in range(40)])' &
job=$!
ok "40 at once" hung 40
is "$(py 'print(make("m/i", 8192))')" 8192 "do not keep others waiting"
truthfs_control m release
ok "released by the control file" wait $job
truthfs_control m hang=read:h
py 'print(tried(os.pread, os.open("m/h", os.O_RDONLY), 10, 0))' >hout &
job=$!
hung 1
pid=$(truthfs_stat m pid 2)
truthfs_mount aside store=none
umount -f m 2>/dev/null || umount -f -l m
wait $job
like "$(cat hout)" '^(ECONNABORTED|ENOTCONN|EIO|EINTR)$' \
    "or until the mount goes"
for ((i = 0; i < 300; i++)); do
    truthfs_is_alive "$pid" || break
    sleep 0.01
done
not_ok "and the device with it" truthfs_is_alive "$pid"

# ---- the page cache
for cache in none page writeback; do
    truthfs_mount "p$cache" "cache=$cache"
    run py 'm = sys.argv[1]
def count(op):
    lines = [l.split() for l in open(m + "/.truth/stats")]
    return sum(int(l[3]) for l in lines if l[:2] == ["all", op])
fd = os.open(m + "/f", os.O_CREAT | os.O_RDWR)
os.pwrite(fd, data(MI), 0)
print(count("write"), end=" ")
os.fsync(fd)
print(count("write"), end=" ")
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
for i in range(2):
    got = os.pread(fd, MI, 0)
    print(count("read"), got == data(MI), end=" ")' "p$cache"
    case $cache in
    none) wanted="1048576 1048576 1048576 True 2097152 True" ;;
    page) wanted="1048576 1048576 1048576 True 1048576 True" ;;
    *) wanted="0 1048576 1048576 True 1048576 True" ;;
    esac
    is "${out% }" "$wanted" "page cache: $cache" || diag "$err"
done

# ---- control and log
run truthfs_control s 'flip=a'
is "$status $err" "1 flip takes GLOB:OFFSET[:BIT]" "a bad line is refused"
run truthfs_control s 'store=ram'
is "$status $err" "1 store cannot be changed while mounted" \
    "one that is late, too"
is "$(cd s/.truth && echo ./*) $(find s -name '.truth' | wc -l)" \
    "./control ./release ./stats 0" "the control files are not listed"
truthfs_control s reset
is "$(truthfs_stat s all write 3) $(truthfs_stat s file w write 4)" "0 0" \
    "reset forgets the counts"
like "$(grep ' read ' log20 | head -n 1)" \
    '^[0-9]+ [0-9]+ read 0 1048576 1048576 f$' "a line of the log"

is "$(grep -c "$PWD/gone " /proc/mounts)" 0 "a short-lived mount has gone"
truthfs_unmount_all
is "$(grep -c "$PWD" /proc/mounts)" 0 "nothing stays mounted"
is "$(pgrep -f "$PWD/")" "" "no process stays"
