#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# timeout: 240
# The documents against the program: options, exit statuses, columns, groups
# of the result file, sections, links, and the command lines of README.md.

. "$IOBM_SRC/tests/lib/tap.sh"
need mpirun h5dump
docs=$IOBM_SRC/docs
readme=$IOBM_SRC/README.md
texts=("$readme" "$IOBM_SRC/CONTRIBUTING.md" "$docs/method.md")
pages=("$docs/iobm.1" "$docs/iobm-results.5")
plan 42

# ---- form
# Lines of OPTIONS in iobm(1) are generated, paragraph by paragraph.
is "$(awk '/^\.\\" options: begin/ { made = 1 } /^\.\\" options: end/ { made = 0 }
    length > 80 && !made { print FILENAME ":" FNR }' "${texts[@]}" \
    "${pages[@]}")" "" "no line is longer than 80 columns"
is "$(LC_ALL=C grep -nP '[^\x20-\x7e]' "${texts[@]}" "${pages[@]}")" "" \
    "plain ASCII, no tabs"
if command -v mandoc >/dev/null; then
    ok "mandoc finds nothing" mandoc -T lint -W warning "${pages[@]}"
    is "$(mandoc -T ascii -O width=78 "${pages[@]}" | col -b -x |
        awk 'length > 80')" "" "man pages fit 80 columns"
elif man --warnings -l /dev/null >/dev/null 2>&1; then
    is "$(for page in "${pages[@]}"; do MANWIDTH=80 man --warnings -E UTF-8 \
        -l "$page" 2>&1 >/dev/null; done)" "" "man finds nothing"
    is "$(for page in "${pages[@]}"; do MANWIDTH=80 man -E UTF-8 -l "$page"
        done | col -b -x | awk 'length > 80')" "" "man pages fit 80 columns"
else skip 2 "neither mandoc nor man here"; fi

# Links to files of the source, and to headings.
bad=""
for text in "${texts[@]}"; do
    grep -oE '\]\([^)]+\)' "$text" | sed 's/^](//; s/)$//' >links
    while read -r link; do
        file=${link%%#*} anchor=""
        case $link in *://*) continue ;; *#*) anchor=${link#*#} ;; esac
        target=${text%/*}/$file
        [ -n "$file" ] || target=$text
        [ -e "$target" ] || bad="$bad $link"
        [ -z "$anchor" ] || sed -n 's/^#* //p' "$target" |
            tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 -]//g; s/ /-/g' |
            grep -qx -e "$anchor" || bad="$bad $link"
    done <links
done
is "$bad" "" "links lead somewhere"

# ---- the layers, as layers.t checks them
sed -nE '/^layers=/,/^\)/s/^ +"([a-z]+) ?(.*)"$/\1: \2/p' \
    "$IOBM_SRC/tests/shell/layers.t" | grep -v '^cli:' >layers
like "$(cat layers)" '^guard: base env par$' "layers.t says which layers"
is "$(sed -nE 's/^\| ([a-z]+) \| .* \| ([a-z, -]+) \|$/\1: \2/p' \
    "$IOBM_SRC/CONTRIBUTING.md" | sed 's/,//g; s/-$//' |
    grep -vE '^(cli|folder):')" "$(cat layers)" "CONTRIBUTING.md has the same"

# ---- sections of the method
is "$(sed -nE 's/^## ([0-9]+)\. .*/\1/p' "$docs/method.md" | tr '\n' ' ')" \
    "1 2 3 4 5 6 7 8 9 10 11 12 13 " "method.md has sections 1 to 13"
is "$(awk '/^## [0-9]/ { title = $0; n = 0 } NF && title && ++n == 2 &&
    !/^\*\*Today:\*\*/ { print title }' "$docs/method.md")" "" \
    "each begins with what is there today"
is "$(grep -rhoE 'method(\.md)?,? section [0-9]+|\(method [0-9]+\)' \
    "$IOBM_SRC/src" "$IOBM_SRC/include" | grep -oE '[0-9]+' |
    awk '$1 < 1 || $1 > 13')" "" "code refers to sections that exist"

# ---- options
"$IOBM" --help=man >options
sed -n '/^\.\\" options: begin$/,/^\.\\" options: end$/p' "$docs/iobm.1" |
    sed '1d;$d' >section
ok "OPTIONS of iobm(1) is what --help=man prints" cmp options section ||
    diag "$(diff options section | head -n 20)"
long=$("$IOBM" --help=all | grep -oE '^ +(-[a-z], |    )--[a-z-]+' |
    grep -oE '\-\-[a-z-]+')
num "$(echo "$long" | wc -l) >= 30" "--help=all lists options"
is "$(for option in $long; do grep -qE -e "(^|[^-a-z])$option([^-a-z]|\$)" \
    "$readme" || echo "$option"; done)" "" \
    "README.md has every long option"

# And the other way round: no option that is not there.  Some are those of
# another command, of mpirun, setup.sh, configure or sbatch.
{
    echo "$long"
    echo --help --no-NAME --oversubscribe --no-install --with-hdf --export |
        tr ' ' '\n'
    for command in list show "file recover" clean self-test; do
        # shellcheck disable=SC2086 # words
        "$IOBM" $command --help
    done
} | grep -oE '\-\-[a-zA-Z-]+' | sort -u >known
is "$(sed 's/\\-/-/g' "$readme" "$docs/iobm.1" |
    grep -oE '(^|[^-a-z])--[a-z][a-zA-Z-]*' | grep -oE '\-\-[a-zA-Z-]+' |
    sort -u | grep -vxF -f known)" "" \
    "README.md and iobm(1) have no option that the program lacks"

# ---- exit statuses: cli.h, README.md's table, iobm(1)
statuses=$(sed -nE 's/^ *EXIT_[A-Z]+ = ([0-9]+),.*/\1/p' \
    "$IOBM_SRC/src/cli/cli.h" | tr '\n' ' ')
num "$(echo "$statuses" | wc -w) >= 5" "cli.h has exit statuses"
is "$(sed -n '/^## Exit status/,/^## [^E]/p' "$readme" |
    sed -nE 's/^\| ([0-9]+) \|.*/\1/p' | tr '\n' ' ')" "$statuses" \
    "README.md lists them"
is "$(sed -n '/^\.SH EXIT STATUS/,/^\.SH E[^X]/p' "$docs/iobm.1" |
    sed -nE 's/^\.B ([0-9]+)$/\1/p' | tr '\n' ' ')" "$statuses" \
    "iobm(1) lists them"
run "$IOBM" --help
is "$status" 0 "help is status 0, as documented"
run mpi 1 "$IOBM" -w -r -f x
is "$status" 2 "a usage error is status 2, as documented"
run mpi 1 "$IOBM" -f missing/x -n 1M -w
like "$status" '^[12]$' "what cannot work is status 1 or 2, as documented"

# ---- the checks of the certificate
checks=$(grep -oE 'add\(&?list, "[a-z]+"' "$IOBM_SRC/src/judge/certificate.c" |
    sed -E 's/.*"(.*)"/\1/' | sort -u)
num "$(echo "$checks" | wc -l) >= 20" "certificate.c has checks"
is "$(for name in $checks; do
    for text in "$readme" "$docs/method.md"; do
        grep -q "^| .*\`$name\`.* |\$" "$text" || echo "$name: $text"
    done
done)" "" "README.md and method.md list every check"

# ---- README.md: what is marked as runnable runs, with little data
blocks() { # MARK: the code blocks with that mark
    awk -v open="\`\`\`$1" '
        $0 == open { on = 1; next }
        /^```/ { on = 0 }
        on' "$readme"
}
ln -s "$IOBM" iobm
blocks "sh runnable" | sed -E 's/(^| )-n [0-9.]+[A-Za-z]*( |$)/\1-n 8M\2/' >commands
num "$(grep -c '^mpirun' commands) >= 4" "README.md has commands to run"
is "$(grep -cE ' -n [0-9]+( |$)' commands)" 0 "all of them made small"
# Where the file system refuses O_DIRECT, the rest is tried.
dd if=/dev/zero of=probe bs=4096 count=1 oflag=direct 2>/dev/null ||
    sed -i 's/ -d$//' commands
mapfile -t lines <commands
failed="" text=""
for line in "${lines[@]}"; do
    text="$text$line"
    # A line that goes on.
    case $line in *\\) text="${text%\\}"; continue ;; esac
    if [ -n "$text" ]; then
        { bash -c "$text" </dev/null; echo "status $?"; } >said 2>&1
        cat said >>printed
        [ "$(tail -n 1 said)" = "status 0" ] ||
            failed="$failed$text"$'\n'"$(cat said)"$'\n'
    fi
    text=""
done
is "$failed" "" "each of them ends with status 0"

# What is shown as their output is what they print, numbers and times aside.
shape() {
    # The word behind a rank is its node.
    sed -E 's/^( *[0-9]+  )[^ ]+/\1NODE/; s/-?[0-9][0-9.e+-]*/N/g
        s/N (us|ms|ns|s|[KMGT]iB)\>/N UNIT/g; s/ +/ /g'
}
blocks text | shape | grep -v '^$' | sort -u >shown
shape <printed | sort -u >real
num "$(wc -l <shown) >= 20" "README.md shows output"
# Lines that come and go with the figures begin as the program's texts do, or,
# where a sentence goes on, are a part of one.
cat "$IOBM_SRC"/src/{report,cli,judge,stats}/*.c | tr '\n' ' ' |
    sed 's/" *"//g' >sources
is "$(comm -23 shown real | while read -r line; do
    start=$(echo "$line" | sed -E 's/^(INVALID|WARN|NOTE) [a-z, ]+(: |\()//
        s/^(note|warn|cold|mostly-cold|mixed|cached|slow-down|unsteady): //
        s/ ?N .*//; s/;.*//; s/steady: .*/steady:/')
    grep -qF -e "${start:-nothing}" sources || echo "$line"
done)" "" "README.md shows what is printed" || diag "$(cat real)"

python=""
for name in /usr/bin/python3 python3; do
    if "$name" -c 'import h5py, pandas' 2>/dev/null; then
        python=$name
        break
    fi
done
if [ -n "$python" ]; then
    blocks "python runnable" >script.py
    run "$python" script.py
    is "$status" 0 "the Python of README.md runs" || diag "$err"
    like "$out" 'write' "and finds the runs"
    sed -n '/^import h5py/,/^\.fi/p' "$docs/iobm-results.5" |
        sed 's/\\-/-/g; /^\.fi/d' >script5.py
    run "$python" script5.py
    is "$status" 0 "the Python of iobm-results(5) runs" || diag "$err"
else
    skip 3 "no python3 with h5py and pandas here"
fi

# ---- the result file of those runs: every group and attribute is described
groups=$(h5dump -n iobm-results.h5 |
    sed -nE 's/^ *(group|dataset) +([^ ]+).*/\2/p' |
    sed -E 's,^/runs/[^/]+,/runs/NAME,' | sort -u)
like "$groups" '^/runs/NAME/environment/nodes$' "the result file has groups"
is "$(for group in $groups; do
    grep -qE -e "(^| |/)$(basename "$group")/?( |\$)" "$docs/iobm-results.5" ||
        echo "$group"
done)" "" "iobm-results(5) names every group and dataset"
run_group=$(h5dump -n iobm-results.h5 |
    sed -nE 's,^ *group +(/runs/[^/ ]+)$,\1,p' | head -n 1)
attributes=$(h5dump -A -g "$run_group" iobm-results.h5 |
    awk '/GROUP "|DATASET "/ { depth++ } depth == 1 &&
        match($0, /ATTRIBUTE "[^"]+/) {
            print substr($0, RSTART + 11, RLENGTH - 11)
        }')
like "$attributes" '^started_utc$' "runs have attributes"
is "$(for name in $attributes; do
    grep -qE -e "^\.BR? .*$name" "$docs/iobm-results.5" || echo "$name"
done)" "" "iobm-results(5) names every attribute of a run"
facts=$(h5dump -A iobm-results.h5 |
    sed -nE 's/^ *ATTRIBUTE "([a-z0-9_]+\.).*/\1/p' | sort -u)
like "$facts" '^mount\.$' "runs have facts"
is "$(for name in $facts; do
    grep -qF "$name*" "$docs/iobm-results.5" || echo "$name"
done)" "" "iobm-results(5) names every kind of them"

# ---- columns: what the file says of each, against the page
stored() { # DATASET WHAT: that attribute of each column, in order
    h5dump -A -w 0 -d "$1" iobm-results.h5 | awk -v what="_$2\"" '
        /ATTRIBUTE "/ {
            on = index($0, what) > 0
            split($0, part, "_"); at = part[2] + 0
        }
        on && /^ *\(0\): "/ {
            sub(/^ *\(0\): "/, ""); sub(/"$/, "")
            text[at] = $0; if (at > last) last = at
        }
        END { for (i = 0; i <= last; i++) print text[i] }'
}
described() { # TABLE: "name unit: text" of each column, of the page
    awk -v heading=".SS Table $1" '
        function flush() { if (line) print line; line = "" }
        $0 == heading { on = 1; next }
        on && /^\.(S[SH]|PP)/ && seen { flush(); exit }
        on && /^\.TP 24/ {
            flush(); getline; seen = 1
            gsub(/[()"]/, ""); line = $2 " " ($3 ? $3 : 1) ":"; next
        }
        on && seen { line = line " " $0 }
        ' "$docs/iobm-results.5"
}
for table in /results ranks clock environment/nodes log; do
    case $table in /*) path=$table ;; *) path=$run_group/$table ;; esac
    described $table >page
    wanted=$(paste -d ' ' <(stored "$path" NAME) <(stored "$path" UNITS |
        sed 's/^$/text/'))
    is "$(sed 's/: .*//' page)" "${wanted:-no columns found}" \
        "iobm-results(5) has the columns of $table"
done
described /results | sed 's/^[^:]*: //' >page
is "$(cat page)" "$(stored /results HELP)" \
    "and explains them as the file itself does"
