"""Compares the fates and delays that `match` finds with the emulator's log, packet by packet.

    python tests/truth/fates.py RESULTS...

RESULTS is the folder of an experiment whose file has `emulation: {fates: true}`. The log entry of
a packet is found by the CRC-32 of the first 64 bytes of its frame. Prints a line for each run:
packets between sites, right, unknown and wrong fates, and the difference from the log's delays,
which lack the path between the hosts' captures and the emulator. Exits with 1 if a fate is
wrong.
"""

from __future__ import annotations

import argparse
import json
import struct
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from flowsweep import _parsers
from flowsweep.matching import hosts, tables

CHECKED_BYTES = 64
HEADER = 24
#: By fate in the log: what the hosts' captures show of it. Other fates are invisible to them.
SEEN = {"delivered": "delivered"} | dict.fromkeys(
    ("loss", "queue", "codel", "uplink", "downlink", "send"), "lost"
)
KEY = ["from", "to", "crc32", "place"]


def read_log(path: Path) -> pl.DataFrame:
    """Returns the first delivery, or the loss, of each frame, with the sites of its link."""
    with path.open("rb") as text:
        header = json.loads(text.readline())
    records = np.fromfile(path, [tuple(pair) for pair in header["dtype"]], offset=header["offset"])
    links = header["links"]
    log = pl.DataFrame({name: records[name] for name in records.dtype.names})
    return (
        log.with_columns(
            pl.col("fate").replace_strict(dict(enumerate(header["fates"]))),
            pl.col("link")
            .replace_strict({i: one["from"] for i, one in enumerate(links)})
            .alias("from"),
            pl.col("link")
            .replace_strict({i: one["to"] for i, one in enumerate(links)})
            .alias("to"),
        )
        .filter(pl.col("fate") != "duplicate")
        .sort("arrive_ns", "number")
    )


def read_checksums(path: Path) -> Iterator[int]:
    """Yields the CRC-32 of each record of an agent's capture."""
    content = b"".join(iter(_parsers.Unpacked(path, path.name).part, b""))
    at = HEADER
    while at < len(content):
        captured = struct.unpack_from("<I", content, at + 8)[0]
        yield zlib.crc32(content[at + 16 : at + 16 + min(captured, CHECKED_BYTES)])
        at += 16 + captured


def count_places(frame: pl.DataFrame, begin: str) -> pl.DataFrame:
    """Numbers identical frames in the order of their times."""
    return frame.sort(begin).with_columns(
        pl.int_range(pl.len()).over("from", "to", "crc32").alias("place")
    )


def read_matched(run: Path) -> pl.DataFrame:
    """Returns the packets sent to other sites: what `match` finds, and their CRC-32."""
    record = json.loads((run / "run.json").read_text())
    sites = {host["name"]: host["site"] for host in record["hosts"]}
    with tempfile.TemporaryDirectory() as folder:
        found = hosts.find([run], {})
        tables.write(found, Path(folder))
        fates = read_table(Path(folder) / "fates.parquet")
        delays = read_table(Path(folder) / "one_way.parquet")
    checksums = pl.concat(
        pl.DataFrame({"crc32": pl.Series([*read_checksums(host.captures[0])], dtype=pl.UInt32)})
        .with_row_index("packet_sent", 1)
        .with_columns(pl.col("packet_sent").cast(pl.Int64), pl.lit(host.name).alias("sender"))
        for host in found
    )
    where = {"return_dtype": pl.String, "default": None}
    key = ["sender", "packet_sent"]
    return (
        fates.with_columns(
            pl.col("sender").replace_strict(sites, **where).alias("from"),
            pl.col("receiver").replace_strict(sites, **where).alias("to"),
        )
        .filter(
            pl.col("packet_sent").is_not_null(),
            pl.col("from") != pl.col("to"),
            ~pl.col("fate").is_in(["duplicated", "outside"]),
        )
        .join(checksums, on=key, how="left")
        .join(delays.select(*key, "delay_ns"), on=key, how="left")
    )


def read_table(path: Path) -> pl.DataFrame:
    """Returns a table with strings in place of categories."""
    frame = pl.read_parquet(path)
    kinds = [name for name, kind in frame.schema.items() if kind in (pl.Categorical, pl.Enum)]
    return frame.with_columns(pl.col(kinds).cast(pl.String))


def compare(run: Path) -> dict[str, Any]:
    """Compares what `match` finds in the captures of a run with the log, and counts."""
    log = count_places(read_log(run / "wan.fates"), "arrive_ns")
    packets = count_places(read_matched(run), "time_sent")
    both = packets.join(log, on=KEY, how="left", suffix="_log").with_columns(
        pl.col("fate_log").replace_strict(SEEN, default=None, return_dtype=pl.String).alias("truth")
    )
    known = both.filter(pl.col("truth").is_not_null())
    right = known.filter(pl.col("fate") == pl.col("truth"))
    unknown = known.filter(fate="unknown")
    wrong = known.filter((pl.col("fate") != pl.col("truth")) & (pl.col("fate") != "unknown"))
    timed = right.filter(truth="delivered").drop_nulls("delay_ns")
    off_us = (timed["delay_ns"] - (timed["sent_ns"] - timed["arrive_ns"])) / 1e3
    return {
        "run": run.name,
        "packets": packets.height,
        "in_log": known.height,
        "right": right.height,
        "unknown": unknown.height,
        "wrong": wrong.height,
        "lost": known.filter(truth="lost").height,
        "delay_off_us": None if off_us.is_empty() else round(off_us.median(), 1),
        "delay_off_p99_us": None if off_us.is_empty() else round(off_us.abs().quantile(0.99), 1),
        "wrong_as": Counter(wrong.select("truth", "fate").rows()),
    }


def main() -> int:
    """Compares the runs of the folders."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("results", nargs="+", type=Path)
    folders = parser.parse_args().results
    runs = [log.parent for folder in folders for log in sorted(folder.glob("runs/*/wan.fates"))]
    found = []
    for run in runs:
        found.append(compare(run))
        print(*(f"{name}={value}" for name, value in found[-1].items() if value != {}), flush=True)
    sums = {
        name: sum(one[name] for one in found)
        for name in ("packets", "in_log", "right", "unknown", "wrong", "lost")
    }
    print("all", f"runs={len(found)}", *(f"{name}={value}" for name, value in sums.items()))
    return 1 if sums["wrong"] or not found else 0


if __name__ == "__main__":
    sys.exit(main())
