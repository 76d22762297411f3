"""Messages found from headers, compared with programs that count what they send.

Redis, pgbench, nginx, http.server and MPI log or count their messages; other writers know them by
construction. Prints for each program and congestion control, over all links, the truth, the counts
from the sender's and the receiver's capture, and the bounds. Exits with 1 if a goal is missed.

`--quick` uses the traffic in `data/`; otherwise it is recorded on links of 1 to 64 ms and 10 to
400 Mbit/s. `--traffic FOLDER` uses recordings of `messages_record.py`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import messages_record
import polars as pl

import flowsweep

HERE = Path(__file__).parent
KEPT = HERE / "data" / "messages"
ADDRESSES = {"pc1": "10.77.1.1", "pc2": "10.77.2.1"}
#: Ports that an MPI connection may use.
MPI_PORT, MPI_PORTS = 21_000, 100
#: How far a count may be from the truth, at the sender and at the receiver.
GOAL, FAR_GOAL = 0.02, 0.10
#: Programs that write faster than the link sends, so that queued messages merge. Only their bounds
#: are judged.
QUEUING = ("30 kB", "mixed sizes", "multiples of the MSS", "bursts", "5 kB every 5 ms")


@dataclass(frozen=True)
class Found:
    """One program and direction at one point: the truth, and what both hosts' captures show.

    `most`: the upper bound from the sender's capture; None if there is none.
    """

    program: str
    congestion: str
    point: str
    truth: int
    near: int
    most: int | None
    far: int
    flagged: bool

    @property
    def holds(self) -> bool:
        """Whether the truth is within the bounds."""
        low = self.near <= self.truth or is_near(self.near, self.truth, GOAL)
        return low and (self.most is None or self.truth <= self.most)


def is_near(found: int, truth: int, share: float) -> bool:
    """Returns whether the difference is at most this share of the truth, or one message."""
    return abs(found - truth) <= max(1, share * truth)


def points(folder: Path) -> list[str]:
    """Returns the recorded points."""
    return sorted(path.parent.name for path in folder.glob("*/truth.json"))


def judged(folder: Path) -> Iterator[Found]:
    """Yields every program and direction of every point in `folder`."""
    for point in points(folder):
        truth = json.loads((folder / point / "truth.json").read_text())["truth"]
        seen = {host: _tables(folder / point / f"{host}.pcap.zst") for host in ADDRESSES}
        for row in truth:
            sender = row["sender"]
            (receiver,) = set(ADDRESSES) - {sender}
            near, far = (_sent(*seen[host], row["port"], sender) for host in (sender, receiver))
            yield Found(
                program=row["program"],
                congestion=point.split("-")[0],
                point=point,
                truth=row["count"],
                near=near.height,
                most=most(near),
                far=far.height,
                flagged=bool(near["at_sender"].all()) and not far["at_sender"].any(),
            )


def skipped(folder: Path) -> dict[str, str]:
    """Returns programs that were not recorded, and why."""
    found: dict[str, str] = {}
    for point in points(folder):
        found |= json.loads((folder / point / "truth.json").read_text())["skipped"]
    return found


def _tables(file: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    return pl.DataFrame(flowsweep.read_flows(file)), pl.DataFrame(flowsweep.read_messages(file))


def _sent(flows: pl.DataFrame, messages: pl.DataFrame, port: int, sender: str) -> pl.DataFrame:
    """Returns the messages of a host on connections to or from a port."""
    last = port + (MPI_PORTS if port == MPI_PORT else 1) - 1
    own = flows.filter(
        (pl.col("protocol") == "tcp")
        & (pl.col("src_ip") == ADDRESSES[sender])
        & (pl.col("src_port").is_between(port, last) | pl.col("dst_port").is_between(port, last))
    )
    return messages.join(own.select("connection", "direction"), on=["connection", "direction"])


def most(messages: pl.DataFrame) -> int | None:
    """Returns the upper bound, by the rule of `reports/facts/messages.sql`."""
    total = 0
    for (_,), own in messages.sort("first_time").group_by("connection", maintain_order=True):
        smallest = own.filter(~pl.col("merged_possible"))["bytes"].min()
        turned = True
        for row in own.iter_rows(named=True):
            turn = "turn" in row["evidence"]
            if not row["merged_possible"] or (turn and turned):
                total += 1
            elif smallest is None:
                return None
            else:
                total += -(-row["bytes"] // int(smallest))  # type: ignore[call-overload]
            turned = turn
    return total


def main() -> int:
    """Prints the table; returns 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="judge the traffic that is kept")
    parser.add_argument("--traffic", type=Path, help="judge what was recorded there")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = arguments.traffic or (KEPT if arguments.quick else Path(name))
        if folder == Path(name):
            for point in messages_record.POINTS.values():
                messages_record.record(point, folder / point.name)
        rows = list(judged(folder))
        why = skipped(folder)
    missed = _print(rows)
    for program, reason in why.items():
        print(f"skipped: {program}: {reason}")
    return 1 if missed else 0


def _print(rows: list[Found]) -> int:
    """Prints the rows; returns how many goals were missed."""
    missed = 0
    names = list(dict.fromkeys(row.program for row in rows))
    title = f"{'messages of':<32} {'by':<5} {'truth':>6} {'sender':>6} {'':>7} {'far':>6} {'':>7}"
    print(f"{title}  goal")
    for name in names:
        for congestion in messages_record.CONGESTION:
            own = [row for row in rows if (row.program, row.congestion) == (name, congestion)]
            if own:
                missed += _line(name, congestion, own)
    unflagged = [row for row in rows if not row.flagged]
    print(f"\nnot flagged as far or near: {len(unflagged)} of {len(rows)}; goal 0")
    broken = [row for row in rows if not row.holds]
    unbounded = sum(row.most is None for row in rows)
    print(f"truth outside the bounds: {len(broken)} of {len(rows)}; goal 0")
    print(f"no upper bound: {unbounded} of {len(rows)}")
    for row in unflagged + broken:
        print(f"  {row}")
    return missed + len(unflagged) + len(broken)


def _line(name: str, congestion: str, own: list[Found]) -> int:
    truth, near, far = (sum(getattr(row, key) for row in own) for key in ("truth", "near", "far"))
    limits = (f"{GOAL:.0%}", f"{FAR_GOAL:.0%}") if name not in QUEUING else ("-", "-")
    good = name in QUEUING or (is_near(near, truth, GOAL) and is_near(far, truth, FAR_GOAL))
    print(
        f"{name:<32} {congestion:<5} {truth:>6} {near:>6} {_off(near, truth):>7}"
        f" {far:>6} {_off(far, truth):>7}  {'/'.join(limits) if good else 'MISSED'}"
    )
    return not good


def _off(found: int, truth: int) -> str:
    return f"{(found - truth) / truth:+.1%}"


if __name__ == "__main__":
    sys.exit(main())
