"""Fits the thresholds of the classifier of limits, and measures its error on held-out kinds.

`fit_limits.py FOLDER PACKAGE`: recordings of `record_limits.py FOLDER --buffers`, and a folder
with a copy of the package `flowsweep` whose `_parsers` has the feature `fit`:

    cargo build --release -p flowsweep-python --features fit

Each threshold of FITTED is tried at each of FACTORS times its value, all others as in
`thresholds.rs`. For each fold, which leaves out writers or a congestion control, the factor with
the least cost on the rest is used if it saves at least LEAST_SAVED; the error on the flows left
out is measured with these values, and with the table as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from limits import compare_folder, wrong_and_unknown

TABLE = Path(__file__).parents[2] / "parsers/src/track/tcp/limits/thresholds.rs"
FITTED = (
    *("own_clock", "queue", "clumped", "own_some", "little_room"),
    *("paced", "rare", "large_waking"),
)
FACTORS = (0.7, 1.4)
#: An unclassified second costs a quarter of a wrongly classified one.
UNKNOWN_COST = 0.25
#: Share of the cost; a smaller saving is noise of the recordings.
LEAST_SAVED = 0.01
#: Groups of similar writers, by the beginnings of their names.
KINDS = {
    "send buffer": ("buffer-1", "buffer-3", "buffer-6"),
    "buffer and window": ("buffer-a", "buffer-b"),
    "small writes": ("buffer-s", "small", "no-delay"),
    "window": ("window", "slow"),
    "bulk": ("iperf", "phases"),
    "own pace": ("steady", "segments", "seldom", "bursts"),
    "questions": ("ask", "answer", "questions"),
}
Matrices = dict[str, np.ndarray]


def measured(folder: Path, every: int) -> Matrices:
    """Returns truth by class found for every `every`-th recording, by its name."""
    folders = sorted(path.parent for path in folder.glob("*/flow.json"))[::every]
    with ProcessPoolExecutor() as pool:
        found = pool.map(compare_folder, folders, chunksize=4)
        return {path.name: one.matrix for path, one in zip(folders, found, strict=True)}


def with_values(values: dict[str, float], options: argparse.Namespace) -> Matrices:
    """Returns the same with these thresholds, from a process that reads them when it starts."""
    given = " ".join(f"{name}={value:.4g}" for name, value in values.items())
    environment = os.environ | {"FLOWSWEEP_LIMITS": given, "PYTHONPATH": str(options.package)}
    command = [sys.executable, __file__, str(options.folder), str(options.package)]
    command += ["--measure", "--every", str(options.every)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    return {name: np.array(matrix) for name, matrix in json.loads(done.stdout).items()}


def cost(matrices: Matrices, names: set[str]) -> float:
    """Returns the cost of the wrong and the unclassified time of these recordings."""
    wrong, unknown = wrong_and_unknown(sum(matrices[name] for name in names))
    return wrong + UNKNOWN_COST * unknown


def folds(names: set[str]) -> dict[str, set[str]]:
    """Returns the recordings that each fold leaves out."""
    found = {
        f"writers: {kind}": {name for name in names if name.startswith(begins)}
        for kind, begins in KINDS.items()
    }
    for congestion in ("reno", "cubic", "bbr"):
        found[f"congestion control: {congestion}"] = {
            name for name in names if name.split(",")[1] == congestion
        }
    return {title: left for title, left in found.items() if left}


def table() -> dict[str, float]:
    """Returns names and values from `thresholds.rs`."""
    rows = re.findall(r"^ +(\w+): \w+ = ([\d._]+);", TABLE.read_text(), re.MULTILINE)
    return {name: float(value) for name, value in rows}


def main() -> int:
    """Prints a line for each fold, and the error over all folds by writers and by controls."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("package", type=Path)
    parser.add_argument("--every", type=int, default=1, help="only every so-manyth recording")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        found = measured(options.folder, options.every)
        print(json.dumps({name: matrix.tolist() for name, matrix in found.items()}))
        return 0
    values = table()
    standing = with_values({}, options)
    tried = {
        (name, factor): with_values({name: values[name] * factor}, options)
        for name in FITTED
        for factor in FACTORS
    }
    known: dict[tuple[Any, ...], Matrices] = {}
    sums: dict[str, list[np.ndarray]] = {}
    print(f"{len(standing)} recordings; wrong and cannot tell of the kind left out, in %")
    print(f"{'left out':32}{'table':>14}{'fitted':>14}  values fitted on the rest")
    for title, left in folds(set(standing)).items():
        rest = set(standing) - left
        best = {}
        for name in FITTED:
            factor = min(FACTORS, key=lambda one, name=name: cost(tried[name, one], rest))
            if cost(tried[name, factor], rest) < (1 - LEAST_SAVED) * cost(standing, rest):
                best[name] = values[name] * factor
        chosen = tuple(best.items())
        if chosen not in known:
            known[chosen] = with_values(best, options) if best else standing
        parts = [sum(one[name] for name in left) for one in (standing, known[chosen])]
        sums.setdefault(title.split(":")[0], []).append(np.array(parts))
        print(f"{title:32}" + _cells(parts) + f"  {_shown(best)}")
    for axis, found in sums.items():
        print(f"{'all, by ' + axis:32}" + _cells(sum(found)))
    return 0


def _cells(matrices: Any) -> str:
    pairs = (wrong_and_unknown(matrix) for matrix in matrices)
    return "".join(f"{wrong:8.1%}{unknown:6.1%}" for wrong, unknown in pairs)


def _shown(values: dict[str, float]) -> str:
    return " ".join(f"{name}={value:.3g}" for name, value in values.items()) or "as the table"


if __name__ == "__main__":
    sys.exit(main())
