"""Runs a program of .venv/bin by forking a process that has already imported its modules.

Starting Python and importing what a query or Snakemake needs takes longer than most of the work
that tests give them. A fork is a process of its own, with the arguments, folder, environment and
pipes of a normal start, and saves only the imports. Each test process has one server per program.
"""

from __future__ import annotations

import atexit
import functools
import gc
import io
import json
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

BIN = Path(sys.executable).parent
#: The module with the `main` of each program, and what else most of its starts import.
MODULES = {
    "flowsweep": (
        "flowsweep.cli",
        *("flowsweep.cli.query", "flowsweep.cli.report", "flowsweep.cli.ingest"),
        *("flowsweep.cli.runs", "flowsweep.cli.plan", "flowsweep.cli.export"),
        *("flowsweep.render.page", "flowsweep.render.terminal.capture", "flowsweep.testbed.kinds"),
        *("polars", "vl_convert", "rich.console", "rich.table"),
    ),
    "snakemake": ("snakemake.cli", "snakemake.workflow", "snakemake.dag", "flowsweep.workflow"),
}
#: Prefixes of variables that Python or a library reads at its start.
AT_START = ("PYTHON", "LC_", "LANG", "LD_", "TZ", "POLARS_", "OMP_", "OPENBLAS_")


def run(
    program: str,
    *words: object,
    cwd: Path | str | None = None,
    data: bytes | None = None,
    timeout: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end, like `subprocess.run` with its output captured as text."""
    arguments = [str(BIN / program), *map(str, words)]
    line, environment = _server(program)
    if environment != _at_start():
        done = subprocess.run(
            arguments, cwd=cwd, input=data, timeout=timeout, capture_output=True, check=False
        )
    else:
        request = {"words": arguments, "cwd": str(cwd or Path.cwd()), "environment": {**os.environ}}
        ends, end = _begin(line, request, data is not None)
        done = _wait(ends, end, arguments, data, timeout)
    return subprocess.CompletedProcess(
        arguments, done.returncode, _to_text(done.stdout), _to_text(done.stderr)
    )


def _to_text(output: bytes) -> str:
    return io.TextIOWrapper(io.BytesIO(output), encoding="utf-8").read()


def _wait(
    ends: list[int],
    line: socket.socket,
    words: list[str],
    data: bytes | None,
    timeout: float | None,
) -> subprocess.CompletedProcess[bytes]:
    """Writes the input and reads the output of a program until it has ended."""
    with line, ThreadPoolExecutor() as pool:
        fed = pool.submit(_write, ends[0], data)
        out, err = (pool.submit(_read, end) for end in ends[1:])
        number = int(line.recv(64))
        line.settimeout(timeout)
        try:
            status = int(line.recv(64))
        except TimeoutError:
            os.kill(number, signal.SIGKILL)
            line.settimeout(None)
            line.recv(64)  # otherwise the server would send the exit code to a closed socket
            raise subprocess.TimeoutExpired(words, timeout or 0) from None
        fed.result()
        return subprocess.CompletedProcess(words, status, out.result(), err.result())


def _begin(
    server: socket.socket, request: dict[str, object], has_data: bool
) -> tuple[list[int], socket.socket]:
    """Requests a program; returns our ends of its pipes, and the socket that reports its end."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    given, fed = os.pipe() if has_data else (os.dup(0), os.open(os.devnull, os.O_WRONLY))
    (read_out, out), (read_err, err) = os.pipe(), os.pipe()
    text = json.dumps(request).encode()
    with theirs:
        socket.send_fds(server, [str(len(text)).encode()], [given, out, err, theirs.fileno()])
        server.sendall(text)
    for end in (given, out, err):
        os.close(end)
    return [fed, read_out, read_err], ours


def _read(end: int) -> bytes:
    with open(end, "rb") as pipe:
        return pipe.read()


def _write(end: int, data: bytes | None) -> None:
    try:
        with open(end, "wb") as pipe:
            pipe.write(data or b"")
    except BrokenPipeError:  # the program did not read all its input
        pass


def _at_start() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(AT_START)}


@functools.cache
def _server(program: str) -> tuple[socket.socket, dict[str, str]]:
    """Starts the server of a program; returns the socket to it and its `AT_START` variables."""
    ours, theirs = socket.socketpair()
    words = [sys.executable, __file__, program, str(theirs.fileno())]
    process = subprocess.Popen(words, pass_fds=[theirs.fileno()])
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours, _at_start()


def _serve(program: str, line: socket.socket) -> None:
    """Forks for each request; returns only in the fork, which then runs the program."""
    # The folder of the program, as in a normal start, and not that of this file.
    sys.path[0] = str(BIN)
    plugins = [one.name for one in iter_modules() if one.name.startswith(f"{program}_")]
    for name in (*MODULES[program], *plugins):
        import_module(name)
    gc.freeze()
    while True:
        size, ends, *_ = socket.recv_fds(line, 32, 4)
        if not size:
            os._exit(0)  # skips the interpreter's end, where DuckDB would report leaks
        length, _, text = size.partition(b"{")
        whole = b"{" + text if text else b""
        while len(whole) < int(length):
            whole += line.recv(int(length) - len(whole))
        status = socket.socket(fileno=ends[3])
        process = os.fork()
        if not process:
            line.close()
            status.close()
            _become(json.loads(whole), ends[:3])
            return
        for end in ends[:3]:
            os.close(end)
        _tell(status, process)


def _tell(status: socket.socket, process: int) -> None:
    """Sends the ID of a process, and its exit code once it has ended."""
    with status:
        status.send(str(process).encode())
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        status.send(str(code).encode())


def _become(request: dict, ends: list[int]) -> None:
    """Sets the pipes, folder, environment and arguments of the requested process."""
    for number, end in enumerate(ends):
        os.dup2(end, number)
        os.close(end)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = request["words"]


if __name__ == "__main__":
    _serve(sys.argv[1], socket.socket(fileno=int(sys.argv[2])))
    import_module(MODULES[Path(sys.argv[0]).name][0]).main()
