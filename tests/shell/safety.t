#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 120
# Nothing that iobm did not make is lost, whatever stands where it wants to
# write, and nothing there makes it hang.
. "$IOBM_SRC/tests/lib/tap.sh"
need mpirun python3
plan 52

# go ARGS...: two ranks; $said is what iobm itself said.
go() {
    run timeout -s KILL 30 mpirun --oversubscribe -np 2 "$IOBM" -n 64K "$@"
    said=$(printf '%s\n' "$err" | grep '^iobm: ')
}

# refused REGEX NAME: a usage error, in one line.
refused() {
    is "$status" 2 "$2: refused"
    like "$(printf '%s\n' "$said" | tr '\n' '~')" "^iobm: [^~]*$1[^~]*~\$" \
        "$2: one line says why"
}

# What stands at the name of a test file, and what is said about it; none of
# them gives way to --force.
echo precious >target
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket.1")'
ln -s target link.1
ln -s nowhere dangling.1
ln -s loop.1 loop.1
ln -s /dev/null null.1
mkdir folder.1
mkfifo fifo.1
for name in "link:a symbolic link" "dangling:a symbolic link" \
    "loop:a symbolic link" "null:a symbolic link" "folder:a directory" \
    "fifo:a pipe" "socket:a socket"; do
    go -f "${name%%:*}" -w -o none --force
    refused "/${name%%:*}\.1.*${name#*:}" "${name%%:*}"
done
for name in link dangling fifo folder; do
    go -f $name.1 -s -w -o none --force
    is "$status" 2 "$name as a shared file: refused"
done
is "$(cat target)" precious "what a link leads to is as it was"
ok "nothing was made behind a dangling one" test ! -e nowhere
is "$(compgen -G '*.0')" "" "no other rank has written"
for device in null full; do
    go -f /dev/$device -s -w -o none --force
    refused 'character device' "/dev/$device"
done
ok "/dev/null is a device still" test -c /dev/null

# Regular files, and more names of one.
echo precious >mine.1
ln mine.1 other
go -f mine -w -o none
refused 'mine\.1.* iobm did not make it' "a foreign file"
is "$(cat mine.1)" precious "it is as it was"
go -f mine -w -o none --force
is "$status" 0 "with --force it is replaced" || diag "$err"
is "$(cat other)" precious "its other name keeps the data"

# At the manifest's name.
echo precious >m.iobm
mkfifo p.iobm
go -f m -w -o none
refused 'm\.iobm.*no manifest' "a foreign file at the manifest's name"
is "$(cat m.iobm)" precious "it is as it was"
go -f p -w -o none --force
refused 'p\.iobm.*no regular file' "a pipe at the manifest's name"
run timeout 20 "$IOBM" clean -f p
is "$status" 1 "clean does not wait for it either"

# At the result file's name, or the same name for both.
echo precious >result
mkfifo pipe
ln -s nowhere lost
for name in result pipe lost /dev/null /dev/full .; do
    go -f new -w -o $name
    num "$status == 1 || $status == 2" "-o $name: refused"
done
is "$(cat result)" precious "a foreign result file is as it was"
is "$(compgen -G 'new*')" "" "no test file was written before"
go -f r.h5 -s -w -o ./r.h5 --force
refused "test files" "-f and -o of one name"

# Other runs' files: fewer and more ranks, shared and not, after a crash.
go -f q -w -o none
run mpi 4 "$IOBM" -n 64K -f q -w -o none
is "$(echo q*)" "q.0 q.1 q.2 q.3 q.iobm" "more ranks than before"
echo hello >q.9
go -f q -w -o none
is "$(echo q*)" "q.0 q.1 q.9 q.iobm" "fewer ranks leave only what is not ours"
go -s -f q -w -o none
is "$(echo q*)" "q q.9 q.iobm" "one shared file in place of them"
echo changed >>q
run "$IOBM" clean -f q
is "$status" 2 "clean refuses a file that was changed"
go -s -f q -w -o none --force
run "$IOBM" clean -f q
is "$(echo q*)" q.9 "clean removes ours and nothing else"
