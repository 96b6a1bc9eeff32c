# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Mounts of the truth device (tests/truthfs), which go when the script ends.
#     truthfs_usable || plan_skip "$truthfs_why"
#     truthfs_mount m rate=50M,store=none
#     truthfs_control m 'flip=t.0:4096' 'fail=write:t.1'
#     truthfs_stat m all write 4           # 3 operations, 4 bytes, 5 first,
#     truthfs_stat m file t.0 write 7      # 6 last ns, 7 errors; +1 for a file
#     truthfs_unmount m
# Mount in the main shell, not in a subshell: it is the one that cleans up.

truthfs=${TRUTHFS:-${IOBM_BUILD:-.}/tests/truthfs/truthfs}
truthfs_why=''
truthfs_mounts=()
truthfs_life_s=${TRUTHFS_LIFE:-600} # should the script be killed

# shellcheck disable=SC2034 # truthfs_why is for the caller
truthfs_usable() {
    if [ ! -x "$truthfs" ]; then
        truthfs_why="truthfs was not built: no libfuse 3 here"
    elif [ ! -w /dev/fuse ]; then
        truthfs_why="no /dev/fuse here"
    elif [ "$(id -u)" != 0 ] && ! command -v fusermount3 >/dev/null; then
        truthfs_why="no 'fusermount3' here"
    elif ! truthfs_try; then
        truthfs_why="cannot mount with FUSE here"
    else
        return 0
    fi
    return 1
}

truthfs_try() {
    local folder
    folder=$(mktemp -d "${TMPDIR:-/tmp}/truthfs.XXXXXX") || return 1
    if truthfs_mount "$folder" store=none 2>/dev/null; then
        truthfs_unmount "$folder"
        rmdir "$folder"
    else
        rmdir "$folder"
        return 1
    fi
}

# truthfs_mount FOLDER [OPTIONS]: it is ready when this returns.
truthfs_mount() {
    local folder=$1 options="life=$truthfs_life_s"
    [ -z "${2:-}" ] || options=$options,$2
    mkdir -p "$folder" || return 1
    folder=$(cd "$folder" && pwd) || return 1
    if [ ${#truthfs_mounts[@]} = 0 ]; then
        if declare -F at_exit >/dev/null; then
            at_exit truthfs_unmount_all
        elif [ -z "$(trap -p EXIT)" ]; then
            trap truthfs_unmount_all EXIT
            trap 'exit 143' TERM
            trap 'exit 130' INT
        fi
    fi
    "$truthfs" -o "$options" "$folder" </dev/null || return 1
    truthfs_mounts+=("$folder")
    [ -e "$folder/.truth/stats" ]
}

# A process that has ended and waits to be reaped is none.
truthfs_is_alive() {
    [[ $(cat "/proc/$1/stat" 2>/dev/null) == *') '[!ZX]* ]]
}

# truthfs_unmount FOLDER: what still hangs in it gets an error.
truthfs_unmount() {
    local folder pid i
    folder=$(cd "$1" 2>/dev/null && pwd) || folder=$1
    pid=$(truthfs_stat "$folder" pid 2 2>/dev/null)
    (echo clear >"$folder/.truth/control") 2>/dev/null
    if [ "$(id -u)" = 0 ]; then
        umount "$folder" 2>/dev/null || umount -f -l "$folder" 2>/dev/null
    else
        fusermount3 -u "$folder" 2>/dev/null ||
            fusermount3 -u -z "$folder" 2>/dev/null
    fi
    [ -n "$pid" ] || return 0
    for ((i = 0; i < 150; i++)); do
        truthfs_is_alive "$pid" || return 0
        [ $i != 50 ] || kill "$pid" 2>/dev/null
        [ $i != 100 ] || kill -9 "$pid" 2>/dev/null
        sleep 0.01
    done
}

truthfs_unmount_all() {
    local folder
    for folder in ${truthfs_mounts[@]+"${truthfs_mounts[@]}"}; do
        ! grep -q " $folder fuse.truthfs " /proc/mounts ||
            truthfs_unmount "$folder"
    done
    truthfs_mounts=()
}

# truthfs_control FOLDER LINE...: all of them, or it fails and says why.
truthfs_control() {
    local folder=$1 line
    shift
    for line in "$@"; do
        (echo "$line" >"$folder/.truth/control") 2>/dev/null || {
            cat "$folder/.truth/control" >&2
            return 1
        }
    done
}

# truthfs_stat FOLDER [WORD...] FIELD: a field of the line of .truth/stats
# that begins with these words.  0 when there is none.
truthfs_stat() {
    local folder=$1 field=${*: -1}
    local words=("${@:2:$#-2}")
    awk -v words="${words[*]}" -v field="$field" '
        index($0 " ", words " ") == 1 { print $field; found = 1; exit }
        END { if (!found) print 0 }' "$folder/.truth/stats"
}
