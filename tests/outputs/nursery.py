"""Keeps flowsweep in memory and forks for every command, so that a kill at each step is cheap.

Reads requests, one JSON line each, and answers with one line: see `Ended` in writing.py. A request:

* commands: arguments of `flowsweep`, for one or more commands that start together;
* kill: the number of the step before which each command is killed; 0 for none;
* stop: a signal for all of them, and the seconds before it;
* page: the text of a report, which is then not built from tables and has no database.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

STEPS = ("rename", "replace", "unlink", "rmdir", "mkdir", "fsync")
MODULES = (
    *("cli.parse", "cli.ingest", "cli.runs", "cli.report", "cli.show"),
    *(
        "render.page",
        "render.terminal.capture",
        "files.file_sets",
        "experiment.results",
        "analysis.capture_summary",
    ),
)


def forked(command: list[str], kill: int, page: str | None, counted: int, stderr: int) -> int:
    """Forks a process that runs a command; returns its process ID."""
    process = os.fork()
    if process:
        return process
    os.dup2(stderr, 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    seen = itertools.count(1)

    def step(original: Callable[..., object]) -> Callable[..., object]:
        def counting(*arguments: object, **named: object) -> object:
            os.write(counted, b".")
            if next(seen) == kill:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*arguments, **named)

        return counting

    for name in STEPS:
        setattr(os, name, step(getattr(os, name)))
    if page is not None:
        module = import_module("flowsweep.render.page")
        module.Warehouse = lambda *_, **__: SimpleNamespace(reading=nullcontext)
        module._build = lambda _: module.Page(page, "", [])
        module.database_file.write = lambda _: None
    sys.argv = ["flowsweep", *command]
    import_module("flowsweep.cli").main()
    raise AssertionError


def answer(request: dict) -> dict:
    """Executes a request; returns how its commands ended."""
    with tempfile.TemporaryDirectory() as folder:
        steps = Path(folder, "steps")
        steps.touch()
        counted = os.open(steps, os.O_WRONLY | os.O_APPEND)
        logs = [Path(folder, str(number)) for number, _ in enumerate(request["commands"])]
        processes = []
        for command, path in zip(request["commands"], logs, strict=True):
            stderr = os.open(path, os.O_WRONLY | os.O_CREAT)
            kill, page = request.get("kill", 0), request.get("page")
            processes.append(forked(command, kill, page, counted, stderr))
            os.close(stderr)
        if "stop" in request:
            number, after = request["stop"]
            time.sleep(after)
            for process in processes:
                os.kill(process, number)
        begin = time.monotonic()
        codes = [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes]
        seconds = time.monotonic() - begin
        os.close(counted)
        return {
            "codes": codes,
            "errors": [path.read_text() for path in logs],
            "steps": steps.stat().st_size,
            "seconds": seconds,
        }


if __name__ == "__main__":
    for name in MODULES:
        import_module(f"flowsweep.{name}")
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
