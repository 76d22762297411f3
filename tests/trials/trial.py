"""One command, disturbed at one call, and the rules that must hold then."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import states
from control import Control, Kind

if TYPE_CHECKING:
    from commands import Command, Step

SERVER = Path(__file__).parent / "server.py"
#: Words that may not occur in an error.
_UNFIT = re.compile(r"Traceback|panicked|a fault of flowsweep")


class Ended(NamedTuple):
    """The end of a command; `code` is None if it hung."""

    code: int | None
    out: str
    err: str


@dataclass
class Trial:
    """One trial, and its faults by the name of the violated rule.

    Attributes:
        kind: The disturbance, as printed.
        call: The disturbed call; empty if the command did not reach it.
    """

    command: str
    kind: str
    at: int
    call: str = ""
    faults: dict[str, list[str]] = field(default_factory=dict)

    def note(self, rule: str, *faults: str) -> None:
        """Notes violations of a rule."""
        if faults:
            self.faults.setdefault(rule, []).extend(faults)


class Bench:
    """A folder in which commands are tried, and the process that starts them."""

    def __init__(self, temporary: Path) -> None:
        self.folder = temporary / "trial"
        self.control = Control(temporary)
        self._server = subprocess.Popen(
            [sys.executable, SERVER],
            env=self.control.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, *commands: str) -> list[Ended]:
        """Starts commands in the folder at once, and waits for them."""
        request = {"folder": str(self.folder), "commands": [one.split() for one in commands]}
        print(json.dumps(request), file=self._server.stdin, flush=True)
        return [Ended(*one) for one in json.loads(self._server.stdout.readline())]

    def end(self) -> None:
        """Ends the process."""
        self._server.stdin.close()
        self._server.wait()


class Subject:
    """A command, and its results without a disturbance.

    Attributes:
        points: The calls that may be disturbed.
        kill_points: The calls at which a kill may leave other files than at the previous one.
        rows_before: The rows for a reader without locks before the command.
        rows_done: The rows after it.
        readings: The output of the command's reader before and after it.
    """

    def __init__(self, temporary: Path, command: Command) -> None:
        self.bench, self.command = Bench(temporary), command
        bench, self._saved = self.bench, temporary / "saved"
        self._prepare(command.before)
        self._before = states.state_of(bench.folder)
        self.rows_before = states.rows_of(bench.folder)
        readers = [command.reader] if command.reader else []
        # A reader of the older writing; it may create its own files.
        self.readings = {one.out for one in bench.run(*readers)}
        self.points, self._done, self.rows_done, self._after, self._printed = self._undisturbed()
        self.readings |= {one.out for one in bench.run(*readers)}
        _, done, _, after, printed = self._undisturbed()
        assert isinstance(self.rows_before, dict), self.rows_before
        assert isinstance(self.rows_done, dict), self.rows_done
        if printed != self._printed and command.check is None:
            raise AssertionError(f"{command.name}: two undisturbed runs print other rows")
        self._vary = states.varying(self._after, after) | states.varying(self._done, done)
        self._known = [self._before, self._done, self._after]

    def end(self) -> None:
        """Ends the process that starts the commands."""
        self.bench.end()

    def _prepare(self, steps: Sequence[Step]) -> None:
        folder = self.bench.folder
        shutil.rmtree(folder, ignore_errors=True)
        (folder / states.TEMPORARY).mkdir(parents=True)
        for step in steps:
            if isinstance(step, str):
                self._succeed(step)
            else:
                step(folder)
        shutil.rmtree(self._saved, ignore_errors=True)
        shutil.copytree(folder, self._saved)

    def _undisturbed(self) -> tuple[int, states.State, states.Rows | str, states.State, list[str]]:
        self.restore()
        self.bench.control.arm(self.bench.folder)
        self._succeed(self.command.words)
        points, _ = self.bench.control.disarm()
        self.kill_points = self.bench.control.kill_points(points)
        done, rows = states.state_of(self.bench.folder), states.rows_of(self.bench.folder)
        printed = [self._succeed(words) for words in self.command.after]
        return points, done, rows, states.state_of(self.bench.folder), printed

    def restore(self) -> None:
        """Restores the command's input."""
        folder = self.bench.folder
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self._saved, folder)

    def _succeed(self, words: str) -> str:
        """Runs a command that must succeed, and returns its output."""
        ended = self.bench.run(words)[0]
        if ended.code != 0:
            raise AssertionError(f"flowsweep {words}: exit code {ended.code}: {ended.err}")
        return ended.out

    def attempt(self, kind: Kind, at: int) -> Trial:
        """Disturbs the command at one call, and checks all rules."""
        trial = Trial(self.command.name, kind.label, at)
        folder = self.bench.folder
        self.restore()
        self.bench.control.arm(folder, kind, at)
        ended = self.bench.run(self.command.words)[0]
        _, trial.call = self.bench.control.disarm()
        trial.call = trial.call.replace(f"{folder}/", "")
        is_result = self.command.is_result is not None and self.command.is_result(folder)
        if not is_result:
            self._check_end(trial, ended, kills=kind.kills)
        seen = states.state_of(folder)
        trial.note("whole", *states.torn(folder, seen, *self._known, vary=self._vary))
        if self.command.check is None:
            self.check_rows(trial, "plain", states.rows_of(folder))
        else:
            trial.note("whole", *self.command.check(folder))
        if self.command.reader and at % 2:
            self._check_reader(trial)
        if is_result:
            trial.note("leftovers", *filter(states.is_hidden, seen.keys() - self._after.keys()))
        else:
            self.check_next(trial)
        return trial

    def check_rows(
        self, trial: Trial, rule: str, rows: states.Rows | str, *, each: bool = False
    ) -> None:
        """Checks that rows read without locks come from one writing; `each`: table by table."""
        known = (self.rows_before, self.rows_done)
        is_whole = rows in known
        if isinstance(rows, dict):
            tables = set().union(rows, *known)
            listed = {states.LIST} if self.command.is_listed else set()
            pieces = [tables - listed, listed]
            if each or self.command.is_piecewise:
                pieces = [{table} for table in rows]
            is_whole = all(
                any(_rows_in(state, piece) == _rows_in(rows, piece) for state in known)
                for piece in pieces
            )
        if not is_whole:
            trial.note(rule, self.mixed(rows))

    def mixed(self, rows: states.Rows | str) -> str:
        """Formats for each table whether its rows are the old ones, the new ones or neither."""
        if isinstance(rows, str):
            return rows
        words = []
        for table, found in sorted(rows.items()):
            known = {"old": self.rows_before, "new": self.rows_done}
            same = [name for name, state in known.items() if state.get(table) == found]
            words.append(f"{table} {'/'.join(same) or f'{found[0]} rows'}")
        gone = [name for name in self.rows_done if name not in rows]
        return ", ".join([*words, *(f"{name} lacks" for name in gone)])

    def _check_end(self, trial: Trial, ended: Ended, *, kills: bool) -> None:
        """Checks that a failed command gives a reason, and that a killed one is gone."""
        reason = f"exit code {ended.code}: {ended.err.strip()[-600:]}"
        if ended.code == -9 and kills:
            return
        is_helpful = not ended.code or self._is_helpful(ended.err)
        if ended.code not in {0, 1, 2} or _UNFIT.search(ended.err) or not is_helpful:
            trial.note("message", reason)
        state = states.state_of(self.bench.folder)
        lacking = [
            name
            for name, found in states.without_bytes(self._done, self._vary).items()
            if ended.code == 0
            and not states.is_hidden(name)
            and states.without_bytes(state, self._vary).get(name) != found
        ]
        trial.note("whole", *(f"exit code 0 without {name}" for name in lacking))

    def _is_helpful(self, message: str) -> bool:
        """Returns whether the message names a path of the command, and a remedy."""
        places = {word.partition("/")[0] for word in self.command.words.split()[1:]}
        _, _, error = message.partition("error: ")
        names = [str(self.bench.folder), *places]
        return "  remedy " in error and any(name in error for name in names)

    def _check_reader(self, trial: Trial) -> None:
        ended = self.bench.run(self.command.reader)[0]
        if ended.code != 0:
            trial.note("reader", f"exit code {ended.code}: {ended.err.strip()}")
        elif ended.out not in self.readings:
            trial.note("reader", f"rows of no writing:\n{ended.out}")

    def check_next(self, trial: Trial) -> None:
        """Checks that the same command and the next ones work as usual."""
        words = [self.command.words, *self.command.after]
        ended = [self.bench.run(one)[0] for one in words]
        for one, end in zip(words, ended, strict=True):
            if end.code != 0:
                trial.note("again", f"{one}: exit code {end.code}: {end.err.strip()}")
        if self.command.check is not None:
            trial.note("again", *self.command.check(self.bench.folder))
        elif [end.out for end in ended[1:]] != self._printed:
            trial.note("again", "the next commands print other rows")
        found = states.without_bytes(states.state_of(self.bench.folder), self._vary)
        wanted = states.without_bytes(self._after, self._vary)
        more = sorted(found.keys() - wanted.keys())
        trial.note("leftovers", *more, *states.orphans_of(self.bench.folder))
        differing = sorted(name for name in wanted if found.get(name) != wanted[name])
        trial.note("again", *(f"{name} is another" for name in differing))


def _rows_in(rows: states.Rows, tables: set[str]) -> states.Rows:
    """Returns the rows of some tables."""
    return {table: found for table, found in rows.items() if table in tables}
