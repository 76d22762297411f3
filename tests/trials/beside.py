"""Concurrent commands: a second writer of the same output, or a reader meanwhile."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import states
from trial import Subject, Trial

#: Accepted messages of the second command where only one may work on a folder.
_REFUSED = re.compile(r"in use|another sweep or report works here")


def run_twice(subject: Subject, number: int) -> Trial:
    """Starts the command twice at once."""
    trial = Trial(subject.command.name, "two at once", number, "together")
    subject.restore()
    ended = subject.bench.run(subject.command.words, subject.command.words)
    for one in ended:
        if one.code != 0 and not (one.code == 2 and _REFUSED.search(one.err)):
            trial.note("message", f"exit code {one.code}: {one.err.strip()}")
    if all(one.code != 0 for one in ended):
        trial.note("message", "both were refused")
    subject.check_next(trial)
    return trial


def read_meanwhile(subject: Subject, number: int) -> Trial:
    """Reads while the command writes: repeatedly without locks, and with the command's reader."""
    trial = Trial(subject.command.name, "with readers", number, "together")
    subject.restore()
    commands = [one for one in (subject.command.words, subject.command.reader) if one]
    found = []
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(subject.bench.run, *commands)
        while not done.done():
            found.append(states.rows_of(subject.bench.folder))
    if subject.command.check is None:
        # DuckDB opens a file twice, and refuses one that was replaced in between. Tables that it
        # reads one after another may come from two writings.
        for rows in found:
            if isinstance(rows, dict):
                subject.check_rows(trial, "plain", rows, each=True)
    writer, *readers = done.result()
    if writer.code != 0:
        trial.note("message", f"exit code {writer.code}: {writer.err.strip()}")
    for one in readers:
        if one.code != 0 or one.out not in subject.readings:
            trial.note("reader", f"exit code {one.code}: {one.err}{one.out}")
    subject.check_next(trial)
    return trial
