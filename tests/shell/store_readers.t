#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Others can read the result file: h5py with pandas, h5dump, and Octave, R and
# PyTables where they are installed; also the partial file of a run.
# timeout: 120

. "$IOBM_SRC/tests/lib/tap.sh"
driver=$IOBM_BUILD/tests/bin/store_driver
plan 22

"$IOBM" -n 3M -b 1M -f data -w -r -i 2 -o r.h5 --label 'a "label"' \
    --tag where=here >/dev/null 2>&1
"$driver" run r.h5 3 4 'second' >/dev/null 2>&1
run "$IOBM" list r.h5
is "$(printf '%s\n' "$out" | grep -c '^ *[12] ')" 2 "a file with two runs"

"$driver" pause p.h5 >said 2>&1 &
at_exit kill -9 $!
for ((i = 0; i < 100; i++)); do grep -q phase said && break; sleep 0.05; done
part=$(find . -name 'p.h5.*.part')

# ---- h5py and pandas
python=''
for name in /usr/bin/python3 python3; do
    if command -v $name >/dev/null && $name -c 'import h5py' 2>/dev/null; then
        python=$name
        break
    fi
done
cat >look.py <<'END'
import sys
import h5py

path, what = sys.argv[1:3]
f = h5py.File(path, "r")
plain = []


def text(value):
    """Texts of fixed length are bytes to numpy."""
    return value.decode("utf-8") if isinstance(value, bytes) else value


def members(t):
    return [t.get_member_type(i) for i in range(t.get_nmembers())]


def check(name, item):
    """Flat tables of int64, float64 and fixed UTF-8; shuffle and deflate."""
    if not isinstance(item, h5py.Dataset) or name.endswith("config/json"):
        return
    t = item.id.get_type()
    assert isinstance(t, h5py.h5t.TypeCompoundID), name
    assert item.ndim == 1 and item.chunks and item.shuffle, name
    assert item.compression == "gzip" and not item.fletcher32, name
    assert text(item.attrs["CLASS"]) == "TABLE", name
    assert item.attrs["VERSION"] and item.attrs["TITLE"], name
    for i, m in enumerate(members(t)):
        if isinstance(m, h5py.h5t.TypeStringID):
            assert not m.is_variable_str(), name
            assert m.get_cset() == h5py.h5t.CSET_UTF8, name
        elif isinstance(m, h5py.h5t.TypeIntegerID):
            assert m.get_size() == 8, name
            assert m.get_sign() == h5py.h5t.SGN_2, name
        else:
            assert isinstance(m, h5py.h5t.TypeFloatID), (name, m)
            assert m.get_size() == 8, name
        column = t.get_member_name(i).decode()
        assert text(item.attrs["FIELD_%d_NAME" % i]) == column, name
        units = text(item.attrs["FIELD_%d_UNITS" % i])
        for end, unit in (("_ns", "ns"), ("_s", "s"), ("_bytes", "B"),
                          ("_Bps", "B/s"), ("_pct", "%")):
            if column.endswith(end) and not column.endswith("_per_s"):
                assert units == unit, (name, column, units)
    plain.append(name)


f.visititems(check)
if what == "form":
    print(len(plain))
elif what == "runs":
    for name, run in sorted(f["runs"].items()):
        print(run.attrs["number"], text(run.attrs["status"]),
              text(run.attrs["label"]), len(run["phases"]),
              len(run["ranks"]))
elif what == "config":
    import json
    run = f["runs"][sorted(f["runs"])[0]]
    config = json.loads(text(run["config/json"][()]))
    assert list(config) == sorted(config)
    for key, value in config.items():
        first = value if isinstance(value, str) else value[0]
        assert text(run["config"].attrs[key]) == first, key
    print(config["api"], text(run["tags"].attrs["where"]),
          text(run["environment"].attrs["hdf5.version"]) != "")
elif what == "pandas":
    import pandas
    t = pandas.DataFrame(f["results"][:])
    assert len(t) == 7 and str(t["bytes"].dtype) == "int64"
    assert str(t["bw_wall_Bps"].dtype) == "float64"
    t["op"] = t["op"].str.decode("utf-8")
    ours = t[t["run"] == 1].groupby("op")["bytes"].sum()
    assert ours["write"] == ours["read"] == 6 << 20
    one = t[t["run"] == 1]
    assert (abs(one["bytes"] / one["seconds"] / one["bw_wall_Bps"] - 1)
            < 1e-9).all()
    print(sorted(set(t["run"])))
elif what == "tables":
    for name, run in sorted(f["runs"].items()):
        print(run.attrs["number"], " ".join(
            "%s:%d" % (k, len(v)) for k, v in run.items()
            if isinstance(v, h5py.Dataset)))
elif what == "detail":
    # What the tables beside the phases say of them must add up to theirs.
    run = f["runs"][sorted(f["runs"])[0]]
    table = {k: v[:] for k, v in run.items() if isinstance(v, h5py.Dataset)}
    for p in table["phases"]:
        def of(name):
            return table[name][table[name]["phase"] == p["phase"]]
        s = of("series")
        all_ranks = (s["rank"] < 0) & (s["node"] < 0)
        assert s["bytes"][all_ranks].sum() == p["bytes"]
        assert s["bytes"][s["rank"] >= 0].sum() == p["bytes"]
        assert (s["start_ns"][all_ranks][0] == p["first_start_ns"])
        assert of("seconds")["bytes"].sum() == p["bytes"]
        assert of("seconds")["ops"].sum() == p["ops"]
        for c in of("latency_summary"):
            b = of("latency")
            b = b[b["op_class"] == c["op_class"]]
            assert b["ops"].sum() == c["ops"] and (b["ops"] > 0).all()
            assert b["low_ns"][0] <= c["min_s"] * 1e9 + 1
            assert c["max_s"] * 1e9 - 1 < b["high_ns"][-1]
        assert of("evidence")["bytes"].sum() == p["bytes"]
        assert len(of("checks")) > 5
    assert (table["checks"]["phase"] == -1).sum() > 0
    print([text(op) for op in table["repeats"]["op"]],
          table["repeats"]["repeats"])
END
cat >page.py <<'END'
import sys
import h5py


def described(name, page):
    """Column and unit of each column of a table, as iobm-results(5) has it."""
    on, columns = False, []
    for line, after in zip(page, page[1:]):
        if line.startswith((".SS", ".SH")):
            on = line == ".SS Table " + name
        elif on and line == ".TP 24":
            words = after.replace('"', "").split()
            columns.append((words[1], words[2][1:-1] if words[2:] else "1"))
    return columns


f = h5py.File(sys.argv[1], "r")
page = open(sys.argv[2]).read().splitlines()
run = f["runs"][sorted(f["runs"])[1]]
n = 0
for name, item in run.items():
    if not isinstance(item, h5py.Dataset) or name == "phases":
        continue
    n += 1
    a = {k: v.decode() if isinstance(v, bytes) else v
         for k, v in item.attrs.items()}
    has = [(a["FIELD_%d_NAME" % i], a["FIELD_%d_UNITS" % i] or "text")
           for i in range(len(item.dtype))]
    if has != described(name, page):
        print(name, set(has) ^ set(described(name, page)))
print(n)
END
cat >document.py <<'END'
import json
import sys


def once(pairs):
    """Of two members of one name most readers see the last alone."""
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


d = json.load(open(sys.argv[1]), object_pairs_hook=once)
for p in d["phases"]:
    assert sum(x["bytes"] for x in p["series_rows"]) == p["bytes"]
    assert all(x["rank"] == x["node"] == -1 for x in p["series_rows"])
    assert sum(x["ops"] for x in p["second_rows"]) == p["ops"]
    assert p["op"] in [x["op_class"] for x in p["latency_rows"]]
    assert p["change_rows"] == p["finding_rows"] == []
    assert len(p["evidence_rows"]) == p["nodes"] == 1
    assert "errors" in [x["name"] for x in p["check_rows"]]
    assert {x["phase"] for x in p["check_rows"]} == {p["phase"]}
assert {x["phase"] for x in d["checks"]} == {-1}
print([x["op"] for x in d["repeats"]], len(d["phases"]))
END
if [ -n "$python" ]; then
    run $python look.py r.h5 form
    num "${out:-0} >= 27" "h5py: all tables are flat and plain"
    is "$err" "" "without a word of complaint"
    run $python look.py r.h5 runs
    is "$out" '1 complete a "label" 4 4
2 complete second 3 12' "the runs"
    run $python look.py r.h5 config
    is "$out$err" "posix here True" "parameters, tags, environment"
    run $python look.py r.h5 tables
    is "$(sed -n '2s/ /\n/gp' <<<"$out" | grep -vE '^(2|ranks:.*)$' |
        tr '\n' ' ')" "changes:3 checks:16 clock:0 evidence:6 latency:15 \
latency_summary:6 log:0 phases:3 repeats:2 seconds:9 series:27 verify:6 " \
        "all tables of a run"
    unlike "$(sed -n 1p <<<"$out")" 'verify|changes' \
        "a table without rows is not there"
    run $python look.py r.h5 detail
    is "$out$err" "['write', 'read'] [2 2]" "they add up to the phases"
    run $python page.py r.h5 "$IOBM_SRC/docs/iobm-results.5"
    is "$out$err" 12 "iobm-results(5) has their columns and units"
    "$IOBM" show r.h5 1 --json >document
    run $python document.py document
    is "$out$err" "['write', 'read'] 4" "so they do as JSON"
    run $python look.py "$part" tables
    like "$out" '^0 .*checks:4 .*series:9 ' "the tables of a partial file"
    run $python look.py "$part" runs
    is "$out" "0 running paused 1 2" "a partial file"
    if $python -c 'import pandas' 2>/dev/null; then
        run $python look.py r.h5 pandas
        is "$out$err" "[1, 2]" "pandas: /results as a data frame"
    else skip 1 "no pandas here"; fi
else skip 12 "no h5py here"; fi

# ---- h5dump
if command -v h5dump >/dev/null; then
    run h5dump -d /results r.h5
    is "$status" 0 "h5dump reads /results"
    like "$out" 'bw_wall_Bps' "with its columns"
    unlike "$out" 'H5T_VARIABLE|H5T_ENUM|H5T_ARRAY' "none of them odd"
    run h5dump r.h5
    is "$status$err" 0 "h5dump reads all of it"
    run h5dump -B -A 0 "$part"
    is "$status" 0 "h5dump reads a partial file"
    like "$out" 'SUPERBLOCK_VERSION [012]$' "in a format that 1.8 knows"
else skip 6 "no h5dump here"; fi

# ---- others
if [ -n "$python" ] && $python -c 'import tables' 2>/dev/null; then
    run $python -c 'import tables
t = tables.open_file("r.h5").root.results
print(t.nrows, t.cols.run[6])'
    is "$out" "7 2" "PyTables"
else skip 1 "no PyTables here"; fi
if command -v octave >/dev/null; then
    run octave --no-gui --eval 's = load("r.h5"); disp(s.results.run(7))'
    is "$out" 2 "Octave"
else skip 1 "no Octave here"; fi
if command -v Rscript >/dev/null && Rscript -e 'library(rhdf5)' 2>/dev/null
then
    # shellcheck disable=SC2016 # the dollar sign is R's
    run Rscript -e 'library(rhdf5); t <- h5read("r.h5", "results",
        bit64conversion="double"); cat(t$run[7])'
    is "$out" 2 "R"
else skip 1 "no R with rhdf5 here"; fi
