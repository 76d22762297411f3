"""Matches all runs of an experiment, one after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep.errors import FlowsweepError
from flowsweep.matching import delays, hosts, tables
from flowsweep.runs import records, run_folder

if TYPE_CHECKING:
    from flowsweep._parsers import MatchSummary


@dataclass(frozen=True)
class MatchedRun:
    """The fate of the packets of one run.

    Attributes:
        name: Name of the run.
        summary: Counts, and clocks.
        delays: A row for each path, from `delays.summarise`.
        between: The same for all packets between sites together, or for all packets if run.json
            names no sites; None if no delay is known.
    """

    name: str
    summary: MatchSummary
    delays: list[dict[str, Any]]
    between: dict[str, Any] | None


def find_runs(folder: Path) -> list[Path] | None:
    """Returns the folders of an experiment's runs with captures; None if `folder` has no `runs`.

    Raises:
        FlowsweepError: It contains the results of runs that are stored elsewhere.
    """
    runs = folder / "runs"
    if not runs.is_dir():
        if (folder / "tables" / "runs.parquet").is_file():
            raise FlowsweepError(
                f"{folder}: the captures of this experiment lie elsewhere",
                found="its tables, and no folder runs",
                expected="runs/<run>/<host>.pcap of two hosts or more",
                remedy="name the folder that `captured` in its experiment file names",
            )
        return None
    found = sorted(path for path in runs.iterdir() if path.is_dir() and path.name[0] != ".")
    return [path for path in found if run_folder.captures_by_host(path)]


def match_runs(
    runs: Sequence[Path],
    output: Path,
    stated: Mapping[str, Sequence[str]],
    *,
    window_ns: int,
    window_packets: int,
) -> Iterator[MatchedRun | FlowsweepError]:
    """Matches each run into `output/run=<run>/<table>.parquet`; yields errors of failed runs."""
    for run in runs:
        folder = output / f"run={run.name}"
        try:
            summary = tables.write(
                hosts.find([run], stated),
                folder,
                window_ns=window_ns,
                window_packets=window_packets,
            )
            sites = _sites(run / "run.json")
        except FlowsweepError as error:
            yield error
            continue
        yield MatchedRun(
            run.name, summary, delays.summarise(folder), delays.summarise_between(folder, sites)
        )


def _sites(path: Path) -> dict[str, str]:
    """Returns the site of each host, if run.json states it."""
    record, _ = records.read(path) or ({}, "")
    sites = record.get("sites")
    return {
        str(host): str(site)
        for site, members in (sites.items() if isinstance(sites, dict) else ())
        for host in (members if isinstance(members, list) else ())
    }
