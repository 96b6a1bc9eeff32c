#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Read a result file of iobm with h5py and pandas.

    examples/read_results.py [iobm-results.h5]

Prints every phase, the median of repeats, and the slowest ranks of the last
run.  Needs python3-h5py and python3-pandas.
"""

import sys

import h5py
import pandas

MIB = 1024**2


def table(dataset):
    """A compound dataset as a data frame; its texts are UTF-8 bytes."""
    frame = pandas.DataFrame(dataset[:])
    for column in frame.columns:
        if frame[column].dtype == object:
            frame[column] = frame[column].str.decode("utf-8")
    return frame


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "iobm-results.h5"
    with h5py.File(path, "r") as file:
        # One row per phase of every run in the file, with all parameters and
        # figures as columns; their units are in their names.
        results = table(file["results"])
        names = sorted(file["runs"])
        ranks = table(file["runs"][names[-1]]["ranks"])

    # A failed phase has no bandwidth that means anything.
    good = results[results["status"] == "complete"].copy()
    good["MiB/s"] = good["bw_wall_Bps"] / MIB
    good["naive"] = good["bw_naive_Bps"] / MIB
    print(f"{len(results)} phases of {len(names)} runs in {path}")
    shown = ["run", "label", "op", "repeat", "ranks", "seconds", "MiB/s",
             "naive"]
    print(good[shown].round(3).to_string(index=False))

    # What can be compared: the same thing done several times.
    same = ["label", "op", "api", "ranks", "transfer_bytes"]
    print("\nmedian over repeats")
    print(good.groupby(same)["MiB/s"].agg(["median", "min", "max", "count"])
          .round(2).to_string())

    ranks["MiB/s"] = ranks["rate_Bps"] / MIB
    print(f"\nslowest ranks of run {names[-1]}")
    print(ranks.sort_values("MiB/s").head(5)[["op", "repeat", "rank", "node",
                                              "MiB/s"]]
          .round(2).to_string(index=False))


if __name__ == "__main__":
    main()
