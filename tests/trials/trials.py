"""Disturbs commands at their writes, renames, removals and syncs; prints what held.

In a series of writes of one file, or of calls in one hidden folder, the first and the last calls
are killed, and some in between.

Example: tests/trials/trials.py --points 6 --command ingest --command runs
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import agent
import beside
from commands import COMMANDS, Command
from trial import Subject, Trial

SHARED_MEMORY = "/dev/shm"
SEED = 2006
#: Concurrent trials per command.
TIMES = 10
#: Seconds between two lines of progress on stderr.
PROGRESS_S = 60
LINE = "{:<24} {:<12} {:>6} {:>6} {:>6}  {}"


@dataclass
class Row:
    """The trials of one command by one kind of disturbance."""

    command: str
    kind: str
    points: int
    tried: int = 0
    held: int = 0
    #: Violations, by rule: the trials' calls and faults.
    faults: dict[str, list[str]] = field(default_factory=dict)

    def __str__(self) -> str:
        rules = ", ".join(f"{rule} {len(faults)}" for rule, faults in self.faults.items())
        counts = (self.points, self.tried, self.held)
        return LINE.format(self.command, self.kind, *counts, rules)

    def add(self, trial: Trial) -> None:
        """Counts a trial, unless the command did not reach its call."""
        if not trial.call:
            return
        self.tried += 1
        self.held += not trial.faults
        for rule, faults in trial.faults.items():
            at = f"at {trial.at}, {trial.call}: "
            self.faults.setdefault(rule, []).append(at + "; ".join(faults))


def choose(points: Sequence[int], most: int | None, seed: str) -> Sequence[int]:
    """Returns all points, or `most` in even steps from one that the seed draws."""
    if most is None or most >= len(points):
        return points
    step = len(points) / most
    first = random.Random(seed).random() * step
    return [points[int(first + number * step)] for number in range(most)]


def rows_of(
    commands: list[Command],
    most: int | None = None,
    seed: int = SEED,
    kinds: list[str] | None = None,
) -> Iterator[Row]:
    """Yields a row for each command and kind."""
    for command in commands:
        # A sync that waits for a disk would take most of a trial's time. The hosts of a testbed
        # mount their own folder over this one.
        in_memory = not command.has_hosts and os.access(SHARED_MEMORY, os.W_OK)
        with tempfile.TemporaryDirectory(
            prefix="trials-", dir=SHARED_MEMORY if in_memory else None
        ) as temporary:
            is_agent = command is agent.COMMAND
            folder = Path(temporary)
            subject = agent.Agent(folder) if is_agent else Subject(folder, command)
            try:
                for kind in command.kinds:
                    if kinds and kind.label not in kinds:
                        continue
                    row = Row(command.name, kind.label, subject.points)
                    points = subject.kill_points if kind.kills else range(1, subject.points + 1)
                    chosen = choose(points, most, f"{seed} {row.command} {row.kind}")
                    for at in with_progress(chosen, f"{row.command}, {row.kind}"):
                        row.add(subject.attempt(kind, at))
                    yield row
                if not is_agent and not kinds:
                    yield from rows_beside(subject, min(most or TIMES, TIMES))
            finally:
                subject.end()


def with_progress(points: Sequence[int], name: str) -> Iterator[int]:
    """Yields the points; prints on stderr how many are done and the time left, once a minute."""
    start = shown = time.monotonic()
    for done, point in enumerate(points):
        now = time.monotonic()
        if done and now - shown >= PROGRESS_S:
            left = (now - start) / done * (len(points) - done)
            print(f"{name}: {done} of {len(points)}, {left / 60:.0f} min left", file=sys.stderr)
            shown = now
        yield point


def rows_beside(subject: Subject, times: int) -> Iterator[Row]:
    """Yields the rows of a command with a concurrent one."""
    for attempt in (beside.run_twice, beside.read_meanwhile):
        trials = [attempt(subject, number) for number in range(times)]
        row = Row(subject.command.name, trials[0].kind, times)
        for trial in trials:
            row.add(trial)
        yield row


def wanted(begins: list[str] | None) -> list[Command]:
    """Returns the commands whose names begin so; reports and omits those impossible here."""
    found = [one for one in (*COMMANDS, agent.COMMAND) if one.name.startswith(tuple(begins or ""))]
    if not found:
        names = "; ".join(one.name for one in (*COMMANDS, agent.COMMAND))
        raise SystemExit(f"no command begins with {' or '.join(begins or [])}: {names}")
    reason = agent.why_not() if any(one.has_hosts for one in found) else None
    for one in found:
        if reason and one.has_hosts:
            print(f"{one.name}: skipped: {reason}", file=sys.stderr)
    return [one for one in found if not (reason and one.has_hosts)]


def main() -> int:
    """Returns 1 if a rule was violated."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, help="So many of each; all otherwise.")
    parser.add_argument("--seed", type=int, default=SEED, help="Draws the points.")
    parser.add_argument("--command", action="append", help="Those whose name begins so.")
    parser.add_argument("--kind", action="append", help="Such as kill or EIO; all otherwise.")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    options = parser.parse_args()
    if options.format == "table":
        print(LINE.format("command", "kind", "points", "tried", "held", "not held"))
    found = []
    commands = wanted(options.command)
    for row in rows_of(commands, options.points, options.seed, options.kind):
        found.append(row)
        if options.format == "table":
            print(row, flush=True)
    if options.format == "json":
        print(json.dumps([asdict(row) for row in found], indent=1))
    else:
        for row in found:
            for rule, faults in row.faults.items():
                print(f"\n{row.command}, {row.kind}: {rule}, {len(faults)} times, such as")
                print(f"  {faults[0]}")
    return int(any(row.faults for row in found))


if __name__ == "__main__":
    sys.exit(main())
