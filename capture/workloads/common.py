"""What every workload shares: counted messages, cheap waiting, timed phases, app.json.

A workload is a program that each rank runs as
    PROGRAM --problem '{"board": 13}' --compute paced --output app.json
Rank 0 writes the truth that packet analysis is tested against.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import select
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

# Framing of Open MPI's TCP transport (BTL tcp, PML ob1) around what a program sends.
# Every message up to the eager limit is one fragment with two headers.
FRAGMENT_HEADER_BYTES = 8
MATCH_HEADER_BYTES = 14
MESSAGE_OVERHEAD_BYTES = FRAGMENT_HEADER_BYTES + MATCH_HEADER_BYTES
# Each side of a new connection first says who it is.
HANDSHAKE_BYTES = 24
# A side that ends a connection says so first (Open MPI 5); one that was told does not.
GOODBYE_BYTES = 8
# A message of at most this payload is sent eagerly: one fragment, no answer needed.
EAGER_PAYLOAD_BYTES = 65_536 - MATCH_HEADER_BYTES

# MPI's own waiting would burn a core per rank. A waiting rank sleeps on its connections, and
# looks again after these times where no connection can wake it: shared memory, unsent data.
IDLE_POLL_S = 5e-3
PUSHING_POLL_S = 100e-6
RESCAN_S = 20e-3
# Open MPI looks at its connections in every eighth call only.
LOOKS = 8
PR_SET_TIMERSLACK = 29
REPORT_TAG = 32_000
ANY = -1


def wire_payload_bytes(messages: int, message_bytes: int, connections: int = 1) -> range:
    """TCP payload from one rank to another as a capture sees it: every value that is possible.

    Args:
        messages: Messages sent, each at most EAGER_PAYLOAD_BYTES.
        message_bytes: The sum of their sizes, as in app.json.
        connections: Connections between the two; ranks of different hosts have one.
    """
    least = message_bytes + MESSAGE_OVERHEAD_BYTES * messages + HANDSHAKE_BYTES * connections
    return range(least, least + GOODBYE_BYTES * connections + 1, GOODBYE_BYTES)


class BadProblemError(Exception):
    """A parameter that cannot be: name, found, expected."""

    def __init__(self, name: str, found: object, expected: str) -> None:
        super().__init__(f"problem: {name}: found {found!r}, expected {expected}")


class Ranks:
    """All ranks of the program as one of them sees them; counts what it sends and receives."""

    def __init__(self, app: str, problem: dict[str, Any], compute: str) -> None:
        import mpi4py

        mpi4py.rc.thread_level = "single"
        from mpi4py import MPI

        self._mpi = MPI
        self._world = MPI.COMM_WORLD
        self._status = MPI.Status()
        self.app = app
        self.problem = problem
        self.compute = compute
        self.rank: int = self._world.Get_rank()
        self.size: int = self._world.Get_size()
        self.host: str = os.uname().nodename
        self.received_messages = 0
        self.received_bytes = 0
        self.phases: list[dict[str, Any]] = []
        self.notes: dict[str, Any] = {}
        self._sent: dict[int, list[int]] = {}
        self._reports: dict[int, bytearray] = {}
        self._arrivals = Arrivals()
        self._start = time.monotonic_ns()
        # Sleeps of microseconds would otherwise take 50 more.
        ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)

    def send(self, data: bytes | bytearray | memoryview, to: int, tag: int) -> None:
        """Sends one message; the data may be reused at once."""
        size = len(data)
        if size > EAGER_PAYLOAD_BYTES:
            raise ValueError(f"{size} bytes: a message of a workload is at most eager")
        self._world.Send([data, self._mpi.BYTE], dest=to, tag=tag)
        self._count(to, size)

    def _count(self, to: int, size: int) -> None:
        count = self._sent.setdefault(to, [0, 0])
        count[0] += 1
        count[1] += size

    def receive(
        self, source: int = ANY, tag: int = ANY, *, pushing: bool = False
    ) -> tuple[int, int, bytearray]:
        """Waits for a message: its sender, tag and content.

        `pushing`: this rank has just sent much, which MPI moves on only when it is called.
        """
        message = self.poll(source, tag)
        while message is None:
            self._arrivals.wait(PUSHING_POLL_S if pushing else IDLE_POLL_S)
            message = self.poll(source, tag)
        return message

    def poll(self, source: int = ANY, tag: int = ANY) -> tuple[int, int, bytearray] | None:
        """A message that is here, or None; also moves on what is being sent."""
        status = self._status
        any_source, any_tag = self._mpi.ANY_SOURCE, self._mpi.ANY_TAG
        source = any_source if source == ANY else source
        tag = any_tag if tag == ANY else tag
        if not any(self._world.Iprobe(source, tag, status) for _ in range(LOOKS)):
            return None
        sender, found_tag = status.Get_source(), status.Get_tag()
        data = bytearray(status.Get_count(self._mpi.BYTE))
        self._world.Recv([data, self._mpi.BYTE], source=sender, tag=found_tag)
        self.received_messages += 1
        self.received_bytes += len(data)
        if found_tag == REPORT_TAG:
            # A rank that has finished reports while others still work.
            self._reports[sender] = data
            return None
        return sender, found_tag, data

    def start_clock(self) -> None:
        """Times of phases count from here."""
        self._start = time.monotonic_ns()

    def now(self) -> float:
        """Seconds since `start_clock` on this rank."""
        return (time.monotonic_ns() - self._start) / 1e9

    def phase(self, name: str, start_s: float, end_s: float) -> None:
        """Records a span of this rank."""
        self.phases.append({"name": name, "rank": self.rank, "start_s": start_s, "end_s": end_s})

    def finish(self, output: Path, result: dict[str, Any]) -> None:
        """Collects the counts of all ranks; rank 0 writes `output`.

        `result` (rank 0): completion_s, start, end, answer, correct.
        """
        if self.rank != 0:
            self.send(json.dumps(self._report()).encode(), 0, REPORT_TAG)
            return
        while len(self._reports) < self.size - 1:
            if self.poll() is None:
                self._arrivals.wait(IDLE_POLL_S)
        texts = [data for _, data in sorted(self._reports.items())]
        reports = [self._report(), *(json.loads(bytes(data)) for data in texts)]
        # A rank cannot count the message that carries its counts.
        for report, size in zip(reports[1:], map(len, texts), strict=True):
            to_master = report["to"].setdefault("0", {"messages": 0, "bytes": 0})
            for counts, prefix in ((report, "sent_"), (to_master, "")):
                counts[f"{prefix}messages"] += 1
                counts[f"{prefix}bytes"] += size
        phases = [phase for report in reports for phase in report.pop("phases")]
        record = {
            "app": self.app,
            "problem": self.problem,
            "compute": self.compute,
            **result,
            "phases": phases,
            "ranks": reports,
        }
        partial = output.with_name(f".{output.name}.part")
        partial.write_text(json.dumps(record, indent=1) + "\n")
        partial.replace(output)

    def _report(self) -> dict[str, Any]:
        to = {
            str(rank): {"messages": count, "bytes": size}
            for rank, (count, size) in sorted(self._sent.items())
        }
        return {
            "rank": self.rank,
            "host": self.host,
            "sent_messages": sum(counts["messages"] for counts in to.values()),
            "sent_bytes": sum(counts["bytes"] for counts in to.values()),
            "received_messages": self.received_messages,
            "received_bytes": self.received_bytes,
            "to": to,
            "phases": self.phases,
            **self.notes,
        }


class Arrivals:
    """Waits until something may have come in on a TCP connection of this process.

    MPI does not tell its sockets, but the kernel does. A false alarm costs one look.
    """

    def __init__(self) -> None:
        self._sockets: dict[str, str] = {}
        self._poll = select.poll()
        self._next_scan = 0.0

    def wait(self, limit_s: float) -> None:
        """Returns at an arrival, and after `limit_s` at the latest."""
        if time.monotonic() >= self._next_scan:
            self._scan()
        if limit_s < 1e-3 or not self._sockets:
            time.sleep(limit_s)
        else:
            self._poll.poll(limit_s * 1e3)

    def _scan(self) -> None:
        """Connections come and go while MPI works."""
        self._next_scan = time.monotonic() + RESCAN_S
        found = {}
        for entry in Path("/proc/self/fd").iterdir():
            try:
                target = str(entry.readlink())
            except OSError:
                continue
            if target.startswith("socket:"):
                found[entry.name] = target
        if found == self._sockets:
            return
        self._sockets = found
        self._poll = select.poll()
        for name in found:
            self._poll.register(int(name), select.POLLIN)


def sleep_until(deadline_ns: int) -> None:
    """Waits without computing until `time.monotonic_ns()` is `deadline_ns`."""
    while (left := deadline_ns - time.monotonic_ns()) > 0:
        time.sleep(left / 1e9)


def utc(nanoseconds: int) -> str:
    """Nanoseconds since the epoch as RFC 3339 with nanoseconds."""
    seconds, fraction = divmod(nanoseconds, 10**9)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{fraction:09d}Z"


def kernels() -> ctypes.CDLL:
    """The compiled inner loops: FLOWSWEEP_KERNELS, or as installed beside Python."""
    name = "libflowsweep_kernels.so"
    path = Path(os.environ.get("FLOWSWEEP_KERNELS", Path(sys.prefix) / "lib/flowsweep" / name))
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        fail(f"kernels: {error}; expected {path}; remedy: make build")


def whole_number(problem: dict[str, Any], name: str, default: int, low: int, high: int) -> int:
    """A parameter of the problem within its bounds."""
    value = problem.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise BadProblemError(name, value, f"a whole number from {low} to {high}")
    return value


def fail(message: str) -> NoReturn:
    """Ends this rank with a message; mpirun then ends the others."""
    # One write: lines of several ranks do not mix.
    sys.stderr.write(f"error: {message}\n")
    sys.stderr.flush()
    raise SystemExit(2)


def run(app: str, work: Callable[[dict[str, Any], str, Path], None]) -> None:
    """The `main` of a workload: reads the arguments; no failure leaves a rank waiting."""
    parser = argparse.ArgumentParser(prog=app)
    parser.add_argument("--problem", type=json.loads, default={}, help="parameters as JSON")
    parser.add_argument("--compute", choices=("busy", "paced"), default="paced")
    parser.add_argument("--output", type=Path, default=Path("app.json"))
    options = parser.parse_args()
    try:
        work(options.problem, options.compute, options.output)
    except BadProblemError as error:
        fail(f"{app}: {error}")
    except Exception:  # noqa: BLE001 - no rank may be left waiting, whatever happened
        traceback.print_exc()
        sys.stderr.flush()
        if "mpi4py.MPI" in sys.modules:
            # The others may wait for this rank for ever.
            sys.modules["mpi4py.MPI"].COMM_WORLD.Abort(1)
        raise SystemExit(1) from None
