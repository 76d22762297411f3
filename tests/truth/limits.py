"""Truth bench: what limited a flow according to the parser and to the sender's kernel.

Records missing parts of the grid of `record_limits.py` (about 15 minutes, network namespaces),
and compares slices of half a second. `--quick` reads only the flows in `data/`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from cut_pcap import write_prefixes
from limit_truth import CLASSES, FOUND, Truth, confusion, recorded

import flowsweep

DATA = Path(__file__).parent / "data/limits"
SLICE_NS = 500_000_000
#: Shares of all time, and of the application's time of steady writers.
MOST_WRONG, MOST_UNKNOWN, LEAST_STEADY = 0.03, 0.15, 0.9
STEADY = ("steady", "small", "seldom", "no-delay", "segments")
LINE = "{:24}{:>7}{:>8}{:>9}{:>8}{:>8}{:>8}{:>8}"


@dataclass(frozen=True)
class Compared:
    """One flow: nanoseconds of each class of the truth (rows) by class found (columns)."""

    flow: dict[str, Any]
    matrix: np.ndarray


def found_in(file: Path) -> tuple[int, np.ndarray]:
    """Returns the connection that the sender's account is of, and nanoseconds of FOUND."""
    flows = pl.DataFrame(flowsweep.read_flows(file))
    rows = flows.filter(pl.col("direction") == "forward", pl.col("payload_bytes") > 0)
    if rows.is_empty():
        return 0, np.zeros(len(FOUND))
    (row,) = rows.rows(named=True)
    return row["connection"], np.array([row[f"{name}_limited_ns"] for name in FOUND], float)


def compare(content: bytes, flow: dict[str, Any], truth: Truth) -> Compared:
    """Compares slices of the capture; a slice is the difference between two prefixes' accounts."""
    begin, end = truth.borders[0], truth.borders[-1]
    borders = np.append(np.arange(begin + SLICE_NS, end - SLICE_NS // 2, SLICE_NS), end)
    with tempfile.TemporaryDirectory() as folder:
        files = write_prefixes(content, borders, Path(folder))
        found = np.array([found_in(file)[1] for file in files])
    slices = np.diff(found, axis=0, prepend=0)
    # Later packets may move earlier time to another class: a difference may be negative.
    sums_ns = truth.between(np.append(begin, borders[:-1]), borders)
    return Compared(flow, confusion(np.maximum(slices, 0), sums_ns))


def compare_folder(folder: Path, side: str = "sender") -> Compared:
    """Compares a flow that `record_limits.py` recorded."""
    flow, truth = recorded(folder)
    return compare((folder / f"{side}.pcap").read_bytes(), flow, truth)


def compare_data() -> Iterator[Compared]:
    """Compares the flows in `data/`."""
    import lzma

    for file in sorted(DATA.glob("*.json")):
        record = json.loads(file.read_text())
        content = lzma.decompress(file.with_suffix(".pcap.xz").read_bytes())
        yield compare(content, record["flow"], Truth.from_json(record["truth"]))


def wrong_and_unknown(matrix: np.ndarray) -> tuple[float, float]:
    """Returns the shares of time in a wrong class, and in none."""
    unknown = matrix[:, len(CLASSES)].sum()
    return (matrix.sum() - np.trace(matrix) - unknown) / matrix.sum(), unknown / matrix.sum()


def print_rows(title: str, compared: list[Compared], key: Any) -> None:
    """Prints a line for each value of the key."""
    print("\n" + LINE.format(title, "s", "wrong", "unknown", *(f"{n[:7]}" for n in CLASSES)))
    groups: dict[Any, np.ndarray] = {}
    for one in compared:
        groups[key(one)] = groups.get(key(one), 0) + one.matrix
    for name, matrix in sorted(groups.items()):
        wrong, unknown = wrong_and_unknown(matrix)
        right = [
            f"{matrix[i, i] / matrix[i].sum():.0%}" if matrix[i].sum() > 1e8 else "-"
            for i in range(len(CLASSES))
        ]
        cells = f"{matrix.sum() / 1e9:.0f}", f"{wrong:.1%}", f"{unknown:.1%}", *right
        print(LINE.format(str(name), *cells))


def print_matrix(matrix: np.ndarray) -> None:
    """Prints the shares of each class of the truth by class found."""
    print(f"{'truth':12}{'s':>6}" + "".join(f"{name:>11}" for name in FOUND))
    for name, row in zip(CLASSES, matrix, strict=True):
        shares = "".join(f"{share:11.1%}" for share in row / max(row.sum(), 1))
        print(f"{name:12}{row.sum() / 1e9:6.0f}{shares}")


def judge(compared: list[Compared]) -> bool:
    """Prints the goals and the results; returns whether all goals are reached."""
    matrix = sum(one.matrix for one in compared)
    print_matrix(matrix)
    wrong, unknown = wrong_and_unknown(matrix)
    steady = [
        (one.matrix[0, 0] / one.matrix[0].sum(), one.flow)
        for one in compared
        if one.flow["writer"] in STEADY
    ]
    least, where = min(steady, key=lambda item: item[0])
    below = sum(share < LEAST_STEADY for share, _ in steady)
    print(f"\nwrong {wrong:.2%} (goal: at most {MOST_WRONG:.0%})")
    print(f"cannot tell {unknown:.2%} (goal: below {MOST_UNKNOWN:.0%})")
    print(
        f"steady writers: least share of the application's time {least:.1%} in\n"
        f"  {', '.join(str(value) for value in where.values())}\n"
        f"  {below} of {len(steady)} below {LEAST_STEADY:.0%} (goal: none)"
    )
    return wrong <= MOST_WRONG and unknown < MOST_UNKNOWN and below == 0


def main() -> int:
    """Prints the tables; returns 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only the flows of the checkout")
    parser.add_argument("--keep", type=Path, default=Path("results/truth/limits"))
    options = parser.parse_args()
    if options.quick:
        compared = list(compare_data())
        print_rows("flow", compared, lambda one: ",".join(map(str, one.flow.values())))
        return 0 if judge(compared) else 1
    from record_limits import grid, record_all, variants

    record_all(grid() + variants(), options.keep, beds=2)
    folders = [options.keep / flow.name for flow in grid() + variants()]
    with ProcessPoolExecutor() as pool:
        near = list(pool.map(compare_folder, folders, chunksize=8))
        far = list(
            pool.map(compare_folder, folders[::7], ["receiver"] * len(folders[::7]), chunksize=8)
        )
    plain = [one for one in near if not one.flow["variant"]]
    for title, key in (
        ("writer", "writer"),
        ("RTT, ms", "rtt_ms"),
        ("rate, Mbit/s", "rate_mbit"),
        ("congestion control", "congestion"),
    ):
        print_rows(title, plain, lambda one, key=key: one.flow[key])
    varied = [one for one in near if one.flow["variant"]]
    print_rows("variant, 100 Mbit/s", varied, lambda one: one.flow["variant"])
    print_rows("captured at", far, lambda _: "the receiver")
    print()
    return 0 if judge(plain) else 1


if __name__ == "__main__":
    sys.exit(main())
