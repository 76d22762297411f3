"""`flowsweep watch`: keeps the report of a folder into which agents capture up to date."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep import signals
from flowsweep.cli.arguments import Parser, add_output
from flowsweep.errors import FlowsweepError
from flowsweep.parsing import DamagedCaptureError, Options
from flowsweep.runs.run_folder import note_passed_over
from flowsweep.units import parse_time

if TYPE_CHECKING:
    from flowsweep.runs.arrivals import Arrival, Folder
    from flowsweep.runs.periods import Periods

SECOND = 10**9
#: Longest time of an option: nobody waits longer, and timers have a limit.
MOST_S = 366 * 86_400
#: Shortest time between two checks of the folder.
PAUSE_S = 0.01


def arguments(parser: Parser) -> None:
    """Adds the options and arguments of this command."""
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="Folder of the captures.")
    add_output(parser, "Folder of the results. Default: results/FOLDER.", required=False)
    parser.add_argument("--once", action="store_true", help="End when all that is whole is parsed.")
    parser.add_argument(
        "--no-report",
        dest="is_reporting",
        action="store_false",
        help="Update only the tables; `flowsweep report` makes the report when it is wanted.",
    )
    for option, default, about in (
        ("--interval", "1min", "Time from look to look."),
        ("--period", "1h", "Length of a run, in whole seconds."),
        ("--quiet", "1min", "A file to which nothing was written for this long is whole."),
    ):
        parser.add_argument(
            option, metavar="TIME", type=_seconds, default=default,
            help=f"{about} Default: %(default)s.",
        )  # fmt: skip


def watch(
    *,
    folder: Path,
    output: Path | None,
    once: bool,
    is_reporting: bool,
    interval: float,
    period: float,
    quiet: float,
) -> int:
    """Parse what arrives in FOLDER, and keep results/FOLDER with tables and report up to date.

    flowsweep-capture writes rotated files into FOLDER, on one host or several; a folder in it holds
    the files of the host that it is named after. Each hour of the clock (--period) is a run of all
    hosts, parsed once it is over and its files are whole, and again only if files are added or
    changed. The tables keep what an agent's ring of files removes; files that it removed before
    they were parsed are reported.

    Started again after a signal ended it, it continues where it was.

    Example: flowsweep watch /var/lib/private/flowsweep/eth0
    """
    from flowsweep.experiment.claim import claim
    from flowsweep.runs.arrivals import Folder
    from flowsweep.runs.periods import Periods

    if period < 1 or period % 1:
        raise FlowsweepError(
            f"--period {period:g}s: not a number of whole seconds",
            expected="1s or more, such as 1h",
        )
    log = _Log()
    captures = Folder(folder, quiet, log.failed)
    captures.arrivals()  # raises now if there is no such folder
    results = output or Path("results") / folder.resolve().name
    claim(results)
    periods = Periods(folder, results, int(period))
    watched = _Watch(captures, periods, results, log, is_reporting=is_reporting)
    try:
        while True:
            watched.look()
            if once:
                return watched.status()
            time.sleep(max(interval, PAUSE_S))
    except KeyboardInterrupt as stop:
        signals.end(stop)
        return 0


class _Log:
    """Prints each note and warning only once, and not again at the next look."""

    def __init__(self) -> None:
        self.status = 0
        self._notes: set[str] = set()

    def failed(self, error: FlowsweepError) -> None:
        """Prints an error; the exit code of a single look is that of the worst error."""
        print(f"error: {error}", file=sys.stderr)
        self.status = max(self.status, error.exit_code)

    def note(self, text: str) -> None:
        """Prints a line once."""
        if text not in self._notes:
            self._notes.add(text)
            print(text, file=sys.stderr)

    def lost(self, text: str) -> None:
        """Prints a line about lost data once."""
        self.note(text)
        self.status = max(self.status, 1)


class _Watch:
    """Checks the folder, and brings the results up to date."""

    def __init__(
        self,
        captures: Folder,
        periods: Periods,
        results: Path,
        log: _Log,
        *,
        is_reporting: bool = True,
    ) -> None:
        self._captures, self._periods = captures, periods
        self._results, self._log = results, log
        self._is_reporting = is_reporting
        last = "report.html" if is_reporting else "tables/runs.parquet"
        self._is_current = _is_current(results, results / last)

    def status(self) -> int:
        """Returns the exit code of a single look."""
        return self._log.status

    def look(self) -> None:
        """Parses what is ready; updates the table of the runs and the report if outdated."""
        try:
            arrivals = self._captures.arrivals()
        except FlowsweepError as error:
            self._log.failed(error)
            return
        if not arrivals:
            self._log.note(f"{self._captures.path}: no captures there yet")
        for run, some in self._periods.ready(arrivals, time.time_ns()).items():
            if self._attempt(partial(self._parse, run, some)):
                self._is_current = False
        self._tell(arrivals)
        if not self._is_current and self._periods.has_any():
            self._is_current = self._conclude()

    def _tell(self, arrivals: list[Arrival]) -> None:
        """Prints which captures have no tables, and why."""
        for one in arrivals:
            if not one.is_whole:
                self._log.note(f"{one.path}: is being written, and waits until it is whole")
        for path in sorted(self._captures.passed_over):
            self._log.note(note_passed_over(path))
        for run, path in self._periods.left_out(arrivals):
            self._log.note(
                f"note: {path}: came when run {run} was parsed and other captures of it were gone; "
                "it is left out"
            )
        for host, count, removed in self._periods.lost(arrivals):
            self._log.lost(
                f"{self._captures.path}: captures of {host} were removed before they were parsed\n"
                f"  found     {count:,} of the {removed:,} files that its ring removed are in no "
                "table\n"
                "  expected  files that stay until their period is over and parsed\n"
                "  remedy    more room for the ring (--max-disk of flowsweep-capture), a shorter "
                "--period, or a watch that runs all the time"
            )

    def _attempt(self, work: Callable[[], None]) -> bool:
        """Returns whether `work` succeeded. A full disk, say, must not end it."""
        try:
            work()
        except FlowsweepError as error:
            self._log.failed(error)
            return False
        return True

    def _parse(self, run: str, arrivals: list[Arrival]) -> None:
        from flowsweep.cli import ingest
        from flowsweep.runs.recordings import Recordings

        hosts: dict[str, list[Path]] = {}
        for one in arrivals:
            hosts.setdefault(one.host, []).append(one.path)
            if one.is_cut:
                self._log.note(
                    f"note: {one.path}: its agent ended before the file did; parsed as far as it is"
                )
        drops = self._periods.drops(run, arrivals)
        recordings = Recordings(run, hosts, {}, drops)
        try:
            ingest.write(recordings, self._results / "tables", "native", Options())
        except DamagedCaptureError as damaged:
            self._log.failed(damaged)
        self._periods.record(run, arrivals, drops)

    def _conclude(self) -> bool:
        """Rebuilds runs.parquet and the report, by the commands of the workflow's rules.

        Returns whether both were made.

        The commands have their own processes, because a report's memory is never freed.
        """
        results, table = self._results, self._results / "tables" / "runs.parquet"
        experiment = f"--experiment={results / 'experiment.yaml'}"
        commands = [["runs", experiment, "--output", table, "--", results / "runs"]]
        if self._is_reporting:
            commands.append(["report", "--", results])
        for words in commands:
            done = subprocess.run(
                [sys.executable, "-m", "flowsweep", *map(str, words)], check=False
            )
            if done.returncode < 0:
                name = signal.Signals(-done.returncode).name
                self._log.failed(
                    FlowsweepError(
                        f"{table if words[0] == 'runs' else results / 'report.html'}: was not made",
                        found=f"flowsweep {words[0]}: killed by {name}",
                        expected="a process that ends by itself",
                        remedy="dmesg shows whether memory ran out; the next look tries again",
                    )
                )
            if done.returncode:
                self._log.status = max(self._log.status, done.returncode)
                return False
        return True


def _is_current(results: Path, last: Path) -> bool:
    """Returns whether the last output is newer than all periods; a kill may come in between."""
    if not last.exists():
        return False
    made_ns = last.stat().st_mtime_ns
    return all(path.stat().st_mtime_ns <= made_ns for path in results.glob("runs/*/run.json"))


def _seconds(text: str) -> float:
    """Reads a time in seconds; `argparse` adds the option's name to errors."""
    try:
        seconds = parse_time(text) / SECOND
    except FlowsweepError as error:
        raise argparse.ArgumentTypeError(f"{error.what}; expected {error.expected}") from None
    if seconds > MOST_S:
        raise argparse.ArgumentTypeError(f"{text} is too long; expected at most a year")
    return seconds
