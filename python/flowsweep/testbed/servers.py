"""Starts a workload's servers before its program, waits for them, and ends them after it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep.testbed import kernel, process_groups
from flowsweep.testbed import spec as specs
from flowsweep.testbed.tools import ended

if TYPE_CHECKING:
    from flowsweep.testbed.spec import ServerSpec, Spec

END_LIMIT_S = 5.0
ASK_S = 0.02  # interval of checks whether a port is open
REASON_BYTES = 4096
#: Where the kernel lists the sockets of the reader's network namespace (proc(5)).
SOCKETS = tuple(f"net/{name}" for name in ("tcp", "tcp6", "udp", "udp6"))
# States in these files (net/tcp_states.h): TCP_LISTEN, and TCP_CLOSE, which UDP without a peer has.
WAITING = {"0A", "07"}

#: Returns the words that start a server on a host, and additional environment variables.
Start = Callable[["ServerSpec", str], tuple[list[str], dict[str, str]]]


class ServerError(Exception):
    """A server cannot be used, so the run fails."""


@dataclass
class _Started:
    server: ServerSpec
    host: str
    process: subprocess.Popen[bytes]
    log: Path
    log_begins: int

    def check(self) -> None:
        """Raises if it failed. A command that ended well may still serve in the background."""
        code = self.process.poll()
        if code:
            last_line = self._last_line()
            why = f"{ended(code)}{f': {last_line}' if last_line else ''}"
            raise ServerError(f"the server on {self.host} failed: {why}")

    def _last_line(self) -> str:
        with self.log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(self.log_begins, size - REASON_BYTES))
            lines = file.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


class Servers:
    """All servers of a run.

    Args:
        spec: Names them, and the run directory, which gets their output as `serve-<host>.log`.
        environment: Their environment, to which `start` adds.
        folder: Their working directory.
        start: Returns how to start a server on a host.
        sockets: Returns the text of the files `SOCKETS` on a host.
    """

    def __init__(
        self,
        spec: Spec,
        environment: Mapping[str, str],
        folder: Path,
        start: Start,
        sockets: Callable[[str], str],
    ) -> None:
        self._bed = spec
        self._environment = environment
        self._folder = folder
        self._start = start
        self._sockets = sockets
        self._started: list[_Started] = []

    def start(self) -> str | None:
        """Starts the servers in order, as each may need earlier ones; returns why that failed.

        It fails if a server ends with an error, or does not open its port within the run's time
        limit.
        """
        try:
            self._start_all()
        except ServerError as error:
            return str(error)
        return None

    def _start_all(self) -> None:
        for server in self._bed.servers:
            for host in server.hosts:
                self._started.append(self._start_one(server, host))
            if server.port is not None:
                for host in server.hosts:
                    self._wait(host, server.port)
            if server.wait_ns:
                time.sleep(server.wait_ns / 1e9)
            self.check()

    def check(self) -> None:
        """Raises a `ServerError` if a server has failed."""
        for one in self._started:
            one.check()

    def failure(self) -> str | None:
        """Returns why a server has failed, or None."""
        try:
            self.check()
        except ServerError as error:
            return str(error)
        return None

    def end(self) -> None:
        """Ends all servers that still run, last one first, with everything in their groups."""
        running = [one.process for one in reversed(self._started) if one.process.poll() is None]
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        process_groups.wait_or_kill(running, END_LIMIT_S)

    def _start_one(self, server: ServerSpec, host: str) -> _Started:
        words, more = self._start(server, host)
        log = Path(self._bed.folder) / f"serve-{host}.log"
        with log.open("ab") as file:
            begins = file.tell()
            process = subprocess.Popen(
                words,
                env={**self._environment, **more},
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                process_group=0,
            )
        return _Started(server, host, process, log, begins)

    def _wait(self, host: str, port: int) -> None:
        until = time.monotonic() + self._bed.timeout_s
        while port not in open_ports(self._sockets(host)):
            self.check()
            if time.monotonic() > until:
                raise ServerError(
                    f"the server on {host} has not opened port {port}"
                    f" after {self._bed.timeout_s:g} s"
                )
            time.sleep(ASK_S)


def in_namespaces(spec: Spec, environment: Mapping[str, str], priority: Sequence[str]) -> Servers:
    """Returns the servers of a testbed in namespaces; `priority` as for `program.run`."""
    namespaces = {host.name: host.namespace for host in spec.hosts}

    def start(server: ServerSpec, host: str) -> tuple[list[str], dict[str, str]]:
        words = [str(specs.SCRIPTS / "on"), host, *priority, "/bin/sh", "-c", server.command]
        return words, {"FLOWSWEEP_PROBLEM": spec.problem, "FLOWSWEEP_HOST": host}

    def sockets(host: str) -> str:
        with kernel.network_namespace(namespaces[host]):
            return "".join(Path("/proc/thread-self", name).read_text() for name in SOCKETS)

    return Servers(spec, environment, specs.STATE / "t", start, sockets)


def open_ports(text: str) -> set[int]:
    """Returns ports of listening TCP and of UDP without a peer, from the text of `SOCKETS`."""
    found = set()
    for line in text.splitlines():
        words = line.split()
        if len(words) > 3 and words[3] in WAITING and ":" in words[1]:
            found.add(int(words[1].rpartition(":")[2], 16))
    return found
