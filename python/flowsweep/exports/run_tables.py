"""Finds the tables of the run to export."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from flowsweep.errors import FlowsweepError
from flowsweep.files import layout
from flowsweep.files.names import partition
from flowsweep.lists import natural_key, shorten_list
from flowsweep.runs import run_folder

#: The most runs that an error message names.
MAX_NAMED = 12
EXPECTED = "results/<experiment>, its folder of tables, or its folder of one run"


@dataclass(frozen=True)
class RunTables:
    """The tables of a run.

    Attributes:
        run: The name of the run.
        folder: The folder with the hosts' folders.
    """

    run: str
    folder: Path

    def hosts(self) -> dict[str, Path]:
        """Returns the folder of each host, in natural order of names: pc9 before pc10."""
        found = {unquote(path.name.removeprefix(layout.HOST)): path for path in self._folders()}
        return {host: found[host] for host in sorted(found, key=natural_key)}

    def _folders(self) -> list[Path]:
        return [path for path in self.folder.glob(f"{layout.HOST}*") if path.is_dir()]

    def check_matched(self) -> None:
        """Raises if the captures of the run were not matched."""
        folders = self._folders()
        if not any((folder / "fates.parquet").is_file() for folder in folders):
            raise FlowsweepError(
                f"{self.folder}: the captures of this run were not put together, so that nothing "
                "shows when its messages arrived",
                found=f"tables of {len(folders)} hosts, and no fates and one_way among them",
                expected="the tables of flowsweep ingest --match",
                remedy=f"flowsweep ingest RUNS/{self.run} --output {self.folder.parent} --match, "
                "where RUNS/ has the captures",
            )


def find(path: Path, run: str | None) -> RunTables:
    """Returns the tables of a run in a folder.

    Args:
        path: A folder of an experiment's results, of its tables, or of one run.
        run: The name of the run, if there are several.

    Raises:
        FlowsweepError: There are no tables, no run of this name, or several runs and no name.
    """
    if not path.is_dir():
        raise FlowsweepError(
            f"{path}: no folder of tables",
            found="a file" if path.exists() else "nothing",
            expected=EXPECTED,
        )
    folders = _folders(path)
    if not folders:
        raise _without_tables(path)
    if run is None and len(folders) == 1:
        return RunTables(*next(iter(folders.items())))
    names = sorted(folders)
    listed = ", ".join(shorten_list(names, MAX_NAMED))
    if run is None:
        raise FlowsweepError(
            f"{path}: a trace shows one run",
            found=f"{len(names)} runs: {listed}",
            expected="the name of one of them",
            remedy=f"--run {names[0]}",
        )
    if run not in folders:
        near = difflib.get_close_matches(run, names, n=1)
        raise FlowsweepError(
            f"{path}: no tables of a run {run}",
            found=listed,
            remedy=f"did you mean --run {near[0]}?" if near else None,
        )
    return RunTables(run, folders[run])


def _folders(path: Path) -> dict[str, Path]:
    """Returns the folder of each run's tables, by run."""
    real = path.resolve()
    if real.name.startswith(layout.RUN):
        # For the current folder `.`, only the absolute path contains the run's name.
        found = [path if path.name == real.name else real]
    elif real.parent.name == "runs":
        own = real.parent.parent / "tables" / partition("run", real.name)
        found = [own] if own.is_dir() else []
    else:
        tables = path / "tables" if (path / "tables").is_dir() else path
        found = [Path(entry.path) for entry in layout.run_folders(tables)]
    return {unquote(one.resolve().name.removeprefix(layout.RUN)): one for one in found}


def _without_tables(path: Path) -> FlowsweepError:
    """Returns the error for a folder without tables, with the command that makes them."""
    remedy = "flowsweep ingest RUN --output TABLES --match, then flowsweep export TABLES"
    if (path / "fates.parquet").is_file():
        found = "matched tables, and no messages beside them"
    elif run_folder.captures_by_host(path):
        found, remedy = "captures", remedy.replace("RUN", str(path))
    elif (path / "runs").is_dir():
        found, remedy = "captures of runs", remedy.replace("RUN", f"{path / 'runs'}/<run>")
    else:
        found = "no tables of a run"
    return FlowsweepError(f"{path}: no tables", found=found, expected=EXPECTED, remedy=remedy)
