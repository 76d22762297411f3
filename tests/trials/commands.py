"""The commands under test: initial state, words, and commands that must work afterwards."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from control import Kind

import flowsweep

DATA = Path(__file__).parents[1] / "data"
DEMO = Path(__file__).parents[2] / "workflows/experiments/captured/demo/runs"
LOGS = DATA / "oracle/zeek-8.0.10/seladb-PcapPlusPlus/Pcap++Test/PcapExamples"
#: Small captures without a common row.
OLD, NEW, OTHER = (
    DATA / "threads/01-late-syn.pcap",
    DATA / "threads/04-replayed.pcap",
    DATA / "arkime-arkime/tcpseq_synthetic.pcap",
)
EVERY = (Kind.KILL, Kind.NO_SPACE, Kind.IO_ERROR, Kind.FULL)
QUERY = "query totals exp --format csv"
RUNS = "runs new -o exp/tables/runs.parquet"
#: Periods that `watch` has parsed before the one that makes too many parts.
PARTS = 8
HOUR_S = 3_600

#: A step before the trial: a command, or a function of the folder.
Step = str | Callable[[Path], None]


@dataclass(frozen=True)
class Command:
    """One row of the table of trials; all paths are relative to the trial's folder.

    Attributes:
        name: Name in the output.
        words: The command that is disturbed, and run again afterwards.
        before: The steps that create its input.
        after: The next commands, which must print the same as after an undisturbed run.
        reader: Runs at every other point, before the command is run again.
        kinds: The disturbances.
        is_piecewise: Its files are replaced one by one: a reader without a lock may find some from
            one writing and some from the other.
        is_listed: The list of runs is written after their tables: a reader in between finds the
            new tables and the older list.
        check: Returns the faults in its outputs, if these differ from run to run.
        is_result: Returns whether its outputs record a failure of the measured program, which is
            a result and is not repeated.
        is_slow: Only `make trials` runs its trials.
    """

    name: str
    words: str
    before: Sequence[Step] = ()
    after: Sequence[str] = ()
    reader: str | None = None
    kinds: Sequence[Kind] = EVERY
    is_piecewise: bool = False
    is_listed: bool = False
    check: Callable[[Path], list[str]] | None = None
    is_result: Callable[[Path], bool] | None = None
    is_slow: bool = False

    @property
    def has_hosts(self) -> bool:
        """Whether it needs namespaces for a testbed's hosts or a cable."""
        return self.check is not None


def make_runs(folder: Path) -> None:
    """Creates two versions of the runs r1 and r2, with two hosts each; they differ in r1."""
    for name, first in (("old", OLD), ("new", NEW)):
        for run, capture in (("r1", first), ("r2", OTHER)):
            (folder / name / run).mkdir(parents=True)
            shutil.copy(capture, folder / name / run / "pc1.pcap")
            shutil.copy(OTHER, folder / name / run / "pc2.pcap")
    shutil.rmtree(folder / "old/r2")


def make_talks(folder: Path) -> None:
    """Creates the runs `old` and `new`, with two hosts each that exchange messages."""
    for name, run in (("old", "nqueens-rtt_64ms-r1"), ("new", "nqueens-rtt_64ms-r2")):
        (folder / name).mkdir()
        for host in ("pc1", "pc2"):
            shutil.copy(DEMO / run / f"{host}.pcap.zst", folder / name)


def make_logs(folder: Path) -> None:
    """Creates Zeek's logs of two captures, uncompressed."""
    for name, capture in (
        ("old", "nanosecs_big_endian.pcap"),
        ("new", "one_tcp_stream_max_seq.pcap"),
    ):
        (folder / name).mkdir()
        for log in (LOGS / capture).glob("*.log.gz"):
            (folder / name / log.stem).write_bytes(gzip.decompress(log.read_bytes()))


def remove_logs(folder: Path) -> None:
    """Removes all logs except that of the connections: other tables of Zeek disappear."""
    for log in (folder / "new").glob("*.log"):
        if log.stem != "conn":
            log.unlink()


def copy(source: Path, place: str) -> Callable[[Path], None]:
    """Returns a step that copies a capture, with an old modification time."""

    def do(folder: Path) -> None:
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder / place)
        os.utime(folder / place, (1_700_000_000, 1_700_000_000))

    return do


def capture_hour(number: int) -> Callable[[Path], None]:
    """Returns a step that adds another hour's capture to the watched folder."""

    def do(folder: Path) -> None:
        data = bytearray(OLD.read_bytes())
        shift_packets(data, number * HOUR_S)
        path = folder / f"ring/pc1-{number:05}.pcap"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (1_700_000_000, 1_700_000_000))

    return do


def shift_packets(data: bytearray, seconds: int) -> None:
    """Makes the packets of a pcap `seconds` later."""
    at = 24
    while at < len(data):
        time = int.from_bytes(data[at : at + 4], "little") + seconds
        data[at : at + 4] = time.to_bytes(4, "little")
        at += 16 + int.from_bytes(data[at + 8 : at + 12], "little")


EXPERIMENT = """\
sites: {west: [pc1], east: [pc2]}
link: {rtt: 1ms, rate: 100Mbit/s}
tcp: {congestion_control: reno}
workload:
  app: nqueens
  problem: {board: 8, node_ns: 5000}
axes: {rtt: [16ms]}
repetitions: 1
warmup: 0
timeout: 60s
limits: {other_programs: 100%, cpu_pressure: 100%}
"""


def write_experiment(folder: Path) -> None:
    """Writes an experiment of two hosts whose run takes a second."""
    (folder / "small.yaml").write_text(EXPERIMENT)


def is_failed(folder: Path) -> bool:
    """Returns whether the run exists, and its program failed."""
    record = folder / "exp/runs/one/run.json"
    return record.exists() and json.loads(record.read_text())["status"] == "failed"


def faults_of_run(folder: Path) -> list[str]:
    """Reads manifests and captures of a published run; returns the first error."""
    run = folder / "exp/runs/one"
    if not run.exists():
        return []
    try:
        hosts = [host["name"] for host in json.loads((run / "run.json").read_text())["hosts"]]
        for host in hosts:
            json.loads((run / f"{host}.capture.json").read_text())
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                pl.DataFrame(flowsweep.read_captures(run / f"{host}.pcap.zst"))
    except (Warning, OSError, ValueError, KeyError, flowsweep.FlowsweepError) as error:
        return [f"exp/runs/one: {error}"]
    return []


WATCH = "watch ring -o exp --once"
WATCHED: list[Step] = [step for number in range(PARTS) for step in (capture_hour(number), WATCH)]
RUNS_OF_PARTS = "runs exp/runs -o exp/tables/runs.parquet"


def add_run(number: int) -> list[Step]:
    """Returns the steps that add tables of another run."""
    run = f"exp/runs/r{number}"
    return [copy(OLD, f"{run}/pc1.pcap"), f"ingest {run} -o exp/tables", RUNS_OF_PARTS]


REPORTED = [step for number in range(PARTS) for step in (*add_run(number), "report exp")]
ASKED = [step for number in range(PARTS) for step in (*add_run(number), QUERY)]
SHOWN = (QUERY, "query run_table exp --format csv")


def export(name: str, to: str, ending: str) -> Command:
    """Exports a run's messages over those of another; then once more elsewhere."""
    words = f"export exp --run {{}} --to {to} --format json -o {{}}.{ending}"
    tables = [f"ingest {one} -o exp/tables --match" for one in ("old", "new")]
    return Command(
        name, words.format("new", "messages"),
        [make_talks, *tables, words.format("old", "messages")], [words.format("old", "other")],
    )  # fmt: skip


COMMANDS = (
    Command(
        "parse, new folder", "parse new.pcap -o tables", [copy(NEW, "new.pcap")],
        ["show new.pcap"],
    ),
    Command(
        "parse, over tables", "parse new.pcap -o tables",
        [copy(OLD, "old.pcap"), copy(NEW, "new.pcap"), "parse old.pcap -o tables --packets"],
        ["show new.pcap"], is_piecewise=True,
    ),
    Command(
        "ingest, new folder", "ingest new/r1 -o exp/tables", [make_runs], [RUNS, *SHOWN],
        is_slow=True,
    ),
    Command(
        "ingest, over tables", "ingest new/r1 -o exp/tables",
        [make_runs, "ingest new/r2 -o exp/tables", "ingest old/r1 -o exp/tables", RUNS],
        [RUNS, *SHOWN], QUERY,
    ),
    Command(
        "runs", RUNS,
        [make_runs, "ingest new/r1 -o exp/tables", "ingest new/r2 -o exp/tables",
         "runs old -o exp/tables/runs.parquet"],
        [*SHOWN], QUERY,
    ),
    Command(
        "query", QUERY,
        [make_runs, "ingest old/r1 -o exp/tables", RUNS, QUERY, "ingest new/r1 -o exp/tables"],
        [*SHOWN], QUERY, is_slow=True,
    ),
    Command(
        "query, ninth part", QUERY, [*ASKED, *add_run(PARTS)], [*SHOWN], QUERY, is_slow=True,
    ),
    Command(
        "ingest, with logs", "ingest new -o exp/tables",
        [make_logs, copy(NEW, "new/pc2.pcap"),
         "ingest new -o exp/tables", "runs . -o exp/tables/runs.parquet", remove_logs],
        SHOWN, QUERY, is_slow=True,
    ),
    Command("zeek-logs, new folder", "zeek-logs new -o tables", [make_logs]),
    Command(
        "zeek-logs, over tables", "zeek-logs new -o tables",
        [make_logs, "zeek-logs old -o tables"], is_piecewise=True,
    ),
    Command(
        "report", "report exp",
        [make_runs, "ingest old/r1 -o exp/tables", RUNS, "report exp",
         "ingest new/r1 -o exp/tables"],
        ["ingest new/r2 -o exp/tables", RUNS, *SHOWN], QUERY, is_slow=True,
    ),
    Command(
        "watch, ninth part", WATCH, [*WATCHED, capture_hour(PARTS)],
        SHOWN, QUERY, (Kind.KILL, Kind.KILL_GROUP, *EVERY[1:]), is_listed=True, is_slow=True,
    ),
    Command(
        "report, ninth part", "report exp", [*REPORTED, *add_run(PARTS)],
        SHOWN, QUERY, is_slow=True,
    ),
    export("export, perfetto", "perfetto", "json.gz"),
    export("export, goal", "goal", "goal"),
    Command(
        "run, namespaces", "run small.yaml -o exp/runs/one", [write_experiment],
        ["ingest exp/runs/one -o exp/tables", RUNS_OF_PARTS, QUERY],
        kinds=(Kind.KILL, Kind.KILL_GROUP, *EVERY[1:]), check=faults_of_run,
        is_result=is_failed, is_slow=True,
    ),
)  # fmt: skip
