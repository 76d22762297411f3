"""Keeps flowsweep in memory and forks for every command, which makes a trial quick.

Reads requests, one JSON line each: `folder`, where commands start together, and `commands`, a
list of their arguments. Answers with a list of each one's exit code, stdout and stderr.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

#: Only a hang takes longer.
LIMIT_S = 120.0
MODULES = (
    *("cli.parse", "cli.ingest", "cli.runs", "cli.report", "cli.query", "cli.zeek_logs"),
    *("cli.show", "render.page", "zeek.convert", "files.file_sets", "warehouse"),
    *("cli.export", "exports.goal", "exports.perfetto", "matching.by_host", "cli.watch"),
)


def start(words: list[str], folder: str, out: Path, err: Path) -> int:
    """Starts a command in its own process group; returns its process ID."""
    process = os.fork()
    if process:
        return process
    os.setsid()
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    os.chdir(folder)
    os.environ["TMPDIR"] = f"{folder}/tmp"
    tempfile.tempdir = None
    import_module("flowsweep.cli.watch").subprocess = SimpleNamespace(run=run_plainly)
    return do_plainly(words)


def do_plainly(words: list[str]) -> NoReturn:
    """Runs a command in this process."""
    import_module("flowsweep.render.page")._build = build_plainly
    sys.argv = ["flowsweep", *words]
    import_module("flowsweep.cli").main()
    raise AssertionError


def run_plainly(command: list[str], *, check: bool) -> subprocess.CompletedProcess[bytes]:
    """Runs a command's subprocess, such as the report of `watch`, in its own process."""
    python, _, _, *words = command
    return subprocess.run([python, __file__, *words], check=check)


def build_plainly(warehouse: Any) -> Any:
    """Returns the page without its figures, which take most of a report's time."""
    page, owned = import_module("flowsweep.render.page"), import_module("flowsweep.files.owned")
    warehouse.keep_facts()
    rows = warehouse.rows("totals").write_csv()
    return page.Page(f"{owned.REPORT_MARK.decode()}\n{rows}", "", [])


def wait(process: int, until: float) -> int | None:
    """Returns the exit code, or the negative number of a signal; None if the process hangs."""
    pidfd = os.pidfd_open(process)
    ready, _, _ = select.select([pidfd], [], [], max(0, until - time.monotonic()))
    os.close(pidfd)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) if ready else None
    # Also kills the subprocesses that a killed command left.
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)
    if code is None:
        os.waitpid(process, 0)
    return code


def answer(request: dict) -> list[tuple[int | None, str, str]]:
    """Executes a request."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [
            (Path(folder, f"{number}.out"), Path(folder, f"{number}.err"))
            for number, _ in enumerate(request["commands"])
        ]
        processes = [
            start(words, request["folder"], *pair)
            for words, pair in zip(request["commands"], paths, strict=True)
        ]
        until = time.monotonic() + LIMIT_S
        codes = [wait(process, until) for process in processes]
        texts = [[path.read_text(errors="replace") for path in pair] for pair in paths]
    return [(code, *pair) for code, pair in zip(codes, texts, strict=True)]


if __name__ == "__main__":
    if sys.argv[1:]:
        do_plainly(sys.argv[1:])
    for name in MODULES:
        import_module(f"flowsweep.{name}")
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
