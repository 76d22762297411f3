"""The fuzzed readers, and their inputs."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import mutations
import yaml
from hypothesis import strategies as st
from mutate import edited, numbers_and_texts

from flowsweep import experiment, printing
from flowsweep.cli import zeek_logs
from flowsweep.experiment import estimate
from flowsweep.experiment.load import about
from flowsweep.files import manifests, names
from flowsweep.runs import link_balance, run_folder, run_records
from flowsweep.zeek import convert, hosts, quality, summary

ROOT = Path(__file__).parents[2]
EXPERIMENTS = ROOT / "workflows" / "experiments"
DEMO = EXPERIMENTS / "captured" / "demo" / "runs"
DATA = ROOT / "tests" / "data"
SEEDS = Path(__file__).with_name("seeds")
#: Files of each kind, because runs of one sweep are much alike.
MOST_FILES = 20
#: Real logs are cut to this many lines, so that most edits hit their headers.
MOST_LINES = 12
#: Bytes of a name; Linux accepts no longer path.
MOST_NAME = 4096
BIN_NS = 10_000_000


@dataclass(frozen=True)
class Target:
    """One reader.

    Attributes:
        name: Name of the file, in its own folder; a reader may depend on it.
        read: Reads the file and writes below the folder in its second argument.
        seeds: Real files.
        tokens: Words of the format.
        wrong: Values to insert into documents; none if the format has no documents.
        commands: The number of commands that `read` stands for; each has its time.
    """

    name: str
    read: Callable[[Path, Path], None]
    seeds: list[bytes]
    tokens: list[bytes] = field(default_factory=list)
    wrong: list[object] = field(default_factory=list)
    commands: int = 1

    def inputs(self) -> st.SearchStrategy[bytes]:
        """Draws edited seeds, documents with faults, and documents with valid syntax only."""
        kinds = [edited(self.seeds, self.tokens)]
        if self.wrong:
            documents = [yaml.safe_load(seed) for seed in self.seeds]
            documents = [one for one in documents if isinstance(one, dict)]
            kinds.append(mutations.contents(documents, self.wrong))
            keys = st.sampled_from(sorted(_keys(documents)))
            made = st.dictionaries(keys, numbers_and_texts(), max_size=6)
            kinds.append(made.map(lambda document: json.dumps(document).encode()))
        return st.one_of(*kinds)


def _keys(documents: list[dict[str, object]]) -> set[str]:
    return {str(key) for document in documents for key in document}


def read_experiment(path: Path, output: Path) -> None:
    """Reads like `flowsweep plan`, and like the head of a report."""
    about(path.read_bytes().decode("utf-8", "replace"))
    loaded = experiment.load(path)
    runs = loaded.plan()
    for run in runs[:10]:
        json.dumps(run.spec())
        run.spec_hash()
        run.summary().encode()
    str(estimate.estimate(runs[:10], output))


def read_run(path: Path, output: Path) -> None:
    """Reads like `flowsweep runs` on one run, and like `flowsweep retry`."""
    folder = path.parents[1]
    run_records.write_table(folder, output / "runs.parquet", None)
    run_records.with_status(folder, {"invalid"})
    run_records.find_misspelt(folder)
    for row in run_records.read_rows(folder):
        link_balance.rows([(row["run"], row["json"])])


def read_application(path: Path, output: Path) -> None:
    """Reads like `flowsweep runs` if the application wrote its own file."""
    run_records.write_table(path.parents[1], output / "runs.parquet", None)
    run_records.find_misspelt(path.parents[1])


def read_manifest(path: Path, _: Path) -> None:
    """Reads like `flowsweep ingest` with a capture."""
    manifests.drops(path)


def read_log(path: Path, output: Path) -> None:
    """Reads like `flowsweep zeek-logs` and `flowsweep ingest`."""
    log = convert.look(path)
    if log is None:
        return
    done = convert.convert([log], output / "log.parquet")
    with contextlib.redirect_stderr(io.StringIO()):
        zeek_logs.tell(done)
    quality.dropped_packets([path])
    logs = [path] if log.kind == "conn" else [CONNECTIONS, path]
    hosts.write(
        logs, lambda table: output / "tables" / f"{table}.parquet", BIN_NS, has_capture=False
    )
    for line in summary.lines(summary.summarise(path)):
        line.encode()


def read_names(path: Path, output: Path) -> None:
    """Reads names of runs, hosts and captures, separated by zero bytes."""
    run = output / "run"
    run.mkdir()
    parts = [part[:MOST_NAME] for part in path.read_bytes().split(b"\0")[:12]]
    for number, part in enumerate(parts):
        name = os.fsdecode(part)
        printing.visible(name).encode()
        if b"/" not in part and part not in (b"", b".", b"..") and len(part) <= names.MOST_BYTES:
            place = os.path.join(os.fsencode(run), part)  # noqa: PTH118 - of bytes
            if os.path.exists(place):  # noqa: PTH110
                continue
            if number % 4 == 3:
                os.mkdir(place)  # noqa: PTH102
            else:
                shutil.copyfile(RECORDINGS[number % 4], place)
    for host, files in run_folder.recorded_files(run).items():
        spelled = names.partition("host", host)
        assert not set(spelled) & set("/*?[]{}\"' \n#:"), spelled
        hosts.select_recognised(
            {host: [one for one in files if convert.LOG_NAME.fullmatch(one.name)]}
        )
    [run_folder.note_passed_over(one) for one in run_folder.find_overlooked(run, ())]
    for kind in ("a run", "a host", names.EXPERIMENT):
        for part in parts:
            names.check(os.fsdecode(part), kind, path)


CONNECTIONS = SEEDS / "zeek" / "conn.log"
RECORDINGS = [
    DATA / "threads" / "01-late-syn.pcap",
    CONNECTIONS,
    DATA / "MANIFEST.csv",
]


def _kept(name: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted((SEEDS / name).iterdir())]


def _real(folder: Path, pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.glob(pattern))[:MOST_FILES]]


def _begin(path: Path) -> bytes:
    """Returns the first lines of a compressed log."""
    return b"\n".join(gzip.decompress(path.read_bytes()).split(b"\n")[:MOST_LINES]) + b"\n"


_LOGS = [_begin(path) for path in sorted((DATA / "oracle" / "zeek-8.0.10").rglob("*.log.gz"))]
_RUN_NAME = "a"

TARGETS = {
    "experiment": Target(
        "x.yaml",
        read_experiment,
        _kept("experiment") + _real(EXPERIMENTS, "*.yaml"),
        b"&a |*a|<<: |!!int |!!set |? |- |> |16ms|100Mbit/s|1%|command: |axes:|captured: .|--- |..."
        b"|0x1|1:2|.nan|~".split(b"|"),
        [*mutations.WRONG, *mutations.WRONG_YAML],
    ),
    "run": Target(
        "run.json",
        read_run,
        _kept("run") + _real(DEMO, "*/run.json"),
        b'null|true|"axes": |"asked": |{}|[]|"start": |"emulator": '.split(b"|"),
        mutations.WRONG,
    ),
    "application": Target(
        "app.json",
        read_application,
        _kept("application")
        + [
            json.dumps(json.loads(one)["application"]).encode() for one in _real(DEMO, "*/run.json")
        ],
        b'null|true|"phases": |"ranks": |{}|[]|"to": |"mpi": '.split(b"|"),
        mutations.WRONG,
    ),
    "manifest": Target(
        "pc1.capture.json",
        read_manifest,
        _kept("manifest") + _real(DEMO, "*/*.capture.json"),
        b'null|true|"dropped_kernel": |{}|[]'.split(b"|"),
        mutations.WRONG,
    ),
    "zeek": Target(
        "conn.log",
        read_log,
        _kept("zeek") + _LOGS,
        b"#separator |#fields\t|#types\t|#path\t|#set_separator\t|#empty_field\t|#unset_field\t"
        b"|#close|\\x09|\\x2c|set[|vector[string]|time|port|count|bool|interval|addr|enum|(empty)|id.orig_h"
        b'|uid|missed_bytes|is_orig|first|"ts":|[1,2]|{"a":1}|true|null'.split(b"|"),
        commands=3,
    ),
    "names": Target(
        "names",
        read_names,
        _kept("names"),
        b".pcap|.pcapng|.log|.zst|-00001|_00001|20261120|-2026-11-20|23:40|.conn.log|..|-|=".split(
            b"|"
        ),
    ),
}


def place(folder: Path, name: str) -> tuple[Path, Path]:
    """Creates and returns a target's input path below `folder`, and its output folder."""
    path = folder / "in" / "mine" / "runs" / _RUN_NAME / TARGETS[name].name
    shutil.rmtree(folder, ignore_errors=True)
    path.parent.mkdir(parents=True)
    output = folder / "out"
    output.mkdir()
    if name == "application":
        (path.parent / "run.json").write_text('{"status": "valid"}')
    return path, output


def renew(output: Path) -> None:
    """Empties the folder of outputs."""
    shutil.rmtree(output)
    output.mkdir()
