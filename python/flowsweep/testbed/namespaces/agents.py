"""Runs the emulator and the capture agents as processes and reads their counters."""

from __future__ import annotations

import contextlib
import json
import select
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep.testbed import emulation, kernel
from flowsweep.testbed import spec as specs
from flowsweep.testbed.launch import program_path
from flowsweep.testbed.namespaces.steering import Steering
from flowsweep.testbed.tools import KILLED, ended
from flowsweep.testbed.transient import TransientError

if TYPE_CHECKING:
    from flowsweep.testbed.spec import HostSpec, Spec

# Far more than any step takes, even if this machine was paused for a while.
START_LIMIT_S = 60.0
STOP_LIMIT_S = 60.0
POLL_S = 0.001
EMULATOR_PRIORITY = 50


class Agent:
    """A process that prints "ready" when it works, and ends cleanly on SIGTERM."""

    def __init__(self, name: str, argv: Sequence[object], namespace: Path) -> None:
        self.name = name
        self._log = specs.LOGS / f"{name}.log"
        with self._log.open("wb") as log, kernel.network_namespace(namespace):
            self._process = subprocess.Popen(
                [str(word) for word in argv],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                # Out of reach of the terminal's Ctrl-C, but in the session of the ranks: the
                # scheduler divides cores among sessions first, and only within a session does an
                # agent that wakes preempt an idle-class rank at once.
                process_group=0,
            )

    def wait_ready(self) -> None:
        """Waits for the line "ready"."""
        line = self._line(START_LIMIT_S)
        if line != "ready":
            raise self._failure("did not start", line)

    def _line(self, limit_s: float) -> str:
        """Returns the next line that it prints; empty if there is none in time."""
        stdout = self._process.stdout
        readable = stdout and select.select([stdout], [], [], limit_s)[0]
        return stdout.readline().decode(errors="replace").strip() if stdout and readable else ""

    def check_alive(self) -> None:
        """Raises if the process has ended."""
        if self._process.poll() is not None:
            raise self._failure("ended too early", ended(self._process.returncode))

    def ask_to_stop(self) -> None:
        """Sends SIGTERM; `wait_stopped` waits for the end."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)

    def wait_stopped(self) -> None:
        """Waits for a clean end."""
        try:
            code = self._process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise self._failure("did not stop", f"running {STOP_LIMIT_S:g} s later") from None
        if code not in (0, 1):  # 1: data was lost, and the manifest says how much
            raise self._failure("failed", ended(code))

    def _failure(self, what: str, found: str) -> TransientError:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        killed = self._process.returncode == -signal.SIGKILL
        reason, remedy = _read_failure(lines)
        return TransientError(
            f"testbed: {self.name} {what}",
            found=found if killed else reason or found or "no output",
            expected="ready" if what == "did not start" else "running until it is stopped",
            remedy=KILLED if killed else remedy or "flowsweep testbed check",
        )


def _read_failure(lines: list[str]) -> tuple[str, str]:
    """Returns a program's last output, and the remedy that its error message names, if any."""
    begin = max(
        (place for place, line in enumerate(lines) if line.startswith("error: ")), default=0
    )
    if not lines or not lines[begin].startswith("error: "):
        return " / ".join(lines[-3:]), ""
    parts = dict(line.split(maxsplit=1) for line in lines[begin + 1 :] if len(line.split()) > 1)
    words = [lines[begin].removeprefix("error: "), parts.get("found", "")]
    return ": ".join(filter(None, words)), parts.get("remedy", "")


class Emulator(Agent):
    """flowsweep-wan between the uplinks of all sites."""

    def __init__(self, spec: Spec, *, undisturbed: bool = False) -> None:
        # The idle emulator has its own files: it may still be ending when the next one starts.
        name = "wan-idle" if undisturbed else "wan"
        self._control = specs.STATE / f"{name}.sock"
        self._stats = specs.STATE / f"{name}.stats.json"
        config = specs.STATE / f"{name}.json"
        config.write_text(json.dumps(emulation.config(spec, undisturbed=undisturbed)))
        argv = [
            program_path("flowsweep-wan"),
            *("--config", config),
            *("--control", self._control),
            *("--stats", self._stats),
            *("--priority", str(EMULATOR_PRIORITY)),
        ]
        if spec.fates and not undisturbed:
            argv += ["--fates", Path(spec.folder) / "wan.fates"]
        super().__init__("flowsweep-wan", argv, specs.NETNS / specs.WAN)
        self._steering = Steering.from_spec(spec)

    def wait_ready(self) -> None:
        """Waits for the line "ready", and binds the emulator to its core.

        Not earlier: until it has real-time priority, the kernel may move it to any core.
        """
        super().wait_ready()
        if self._steering is not None:
            self._steering.place(self._process.pid)

    def stats(self) -> dict[str, Any]:
        """Returns the current counters."""
        return self._ask("stats")

    def _ask(self, line: str) -> dict[str, Any]:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as control:
            control.settimeout(STOP_LIMIT_S)
            try:
                control.connect(str(self._control))
                control.sendall(f"{line}\n".encode())
                with control.makefile("r") as answer:
                    record: dict[str, Any] = json.loads(answer.readline())
            except (OSError, ValueError) as error:
                raise self._failure("did not answer", str(error)) from None
        if "error" in record:
            raise self._failure(f'refused "{line}"', str(record["error"]))
        return record

    def start_schedule(self) -> None:
        """Starts the clock of scheduled changes."""
        self._ask("start")

    def final_stats(self) -> dict[str, Any]:
        """Stops the emulator; returns its final counters.

        It writes them when everything is delivered and no more frames arrive. The kernel then
        needs some 15 ms to close each socket; this does not wait for that.
        """
        self.ask_to_stop()
        end = time.monotonic() + STOP_LIMIT_S
        while not self._stats.exists() and time.monotonic() < end:
            if self._process.poll() is not None:
                break
            time.sleep(POLL_S)
        if not self._stats.exists():
            self.wait_stopped()
            raise self._failure("failed", "no statistics")
        record: dict[str, Any] = json.loads(self._stats.read_text())
        return record


class Capture(Agent):
    """flowsweep-capture on the experiment interface of one host."""

    def __init__(self, spec: Spec, host: HostSpec) -> None:
        folder = Path(spec.folder)
        self.host = host
        self.manifest_path = folder / f"{host.name}.capture.json"
        capture = folder / f"{host.name}.pcap.zst"
        # A failed set-up may have left these; the agent would keep them under other names.
        for path in (self.manifest_path, capture.with_name(f"{capture.name}.part")):
            path.unlink(missing_ok=True)
        argv = [
            program_path("flowsweep-capture"),
            *("-i", specs.EXPERIMENT_INTERFACE),
            *("-w", capture),
            *("--snaplen", str(spec.snaplen)),
            *("--buffer", str(spec.capture_buffer_bytes)),
            *("--manifest", self.manifest_path),
        ]
        if spec.capture_filter:
            argv += ["--filter", spec.capture_filter]
        super().__init__(f"capture-{host.name}", argv, host.namespace)

    def wait_closed(self) -> None:
        """Waits, after `ask_to_stop`, until the agent accepts no more packets."""
        line = self._line(STOP_LIMIT_S)
        if line != "closed":
            raise self._failure("did not stop", line)

    def manifest(self) -> dict[str, Any]:
        """Returns what was captured and lost, after the end."""
        record: dict[str, Any] = json.loads(self.manifest_path.read_text())
        return record
