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
from collections import deque
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
FULL_POLL_S = 1e-3
RESCAN_S = 20e-3
# Open MPI looks at its connections in every eighth call only.
LOOKS = 8
PR_SET_TIMERSLACK = 29
MOST_LATE_NS = 5_000_000  # that `Pace` makes up for
# What time is kept of, as in Verstoep et al., table 1.
PRIMITIVES = ("send", "receive", "probe_failed", "probe_found")
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

    def __init__(
        self, app: str, problem: dict[str, Any], compute: str, *, never_blocks: bool = False
    ) -> None:
        """`never_blocks`: only `post` is used, so no call of MPI waits, and none need yield."""
        import mpi4py

        if never_blocks:
            # To yield in every probe takes 20 times as long as to probe.
            os.environ["OMPI_MCA_mpi_yield_when_idle"] = "0"  # noqa: SIM112 - MPI's name

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
        self.transfers: list[dict[str, Any]] = []
        self.notes: dict[str, Any] = {}
        self._costs = {name: [0, 0] for name in PRIMITIVES}
        self._posted: dict[int, deque[tuple[Any, bytes | bytearray]]] = {}
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
        begin = time.perf_counter_ns()
        self._world.Send([data, self._mpi.BYTE], dest=to, tag=tag)
        self._cost("send", begin)
        self._count(to, size)

    def post(self, data: bytes | bytearray, to: int, tag: int) -> Any:
        """Starts to send one message and goes on (MPI_Isend); `data` must not change any more.

        Returns MPI's request: `Test()` says whether the network has taken it.
        """
        begin = time.perf_counter_ns()
        request = self._world.Isend([data, self._mpi.BYTE], dest=to, tag=tag)
        self._cost("send", begin)
        self._posted.setdefault(to, deque()).append((request, data))
        self._count(to, len(data))
        return request

    def posted(self, to: int | None = None) -> int:
        """Messages to one rank, or to all, that MPI has not handed to the network yet."""
        queues = list(self._posted.values()) if to is None else [self._posted.get(to, deque())]
        for queue in queues:
            while queue and queue[0][0].Test():
                queue.popleft()
        return sum(map(len, queues))

    def _cost(self, primitive: str, begin_ns: int) -> None:
        cost = self._costs[primitive]
        cost[0] += 1
        cost[1] += time.perf_counter_ns() - begin_ns

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
            limit = PUSHING_POLL_S if pushing else IDLE_POLL_S
            self._arrivals.wait(limit, room=self.posted() > 0)
            message = self.poll(source, tag)
        return message

    def poll(self, source: int = ANY, tag: int = ANY) -> tuple[int, int, bytearray] | None:
        """A message that is here, or None; also moves on what is being sent."""
        status = self._status
        any_source, any_tag = self._mpi.ANY_SOURCE, self._mpi.ANY_TAG
        source = any_source if source == ANY else source
        tag = any_tag if tag == ANY else tag
        if not any(self._probe(source, tag, status) for _ in range(LOOKS)):
            return None
        sender, found_tag = status.Get_source(), status.Get_tag()
        data = bytearray(status.Get_count(self._mpi.BYTE))
        begin = time.perf_counter_ns()
        self._world.Recv([data, self._mpi.BYTE], source=sender, tag=found_tag)
        self._cost("receive", begin)
        self.received_messages += 1
        self.received_bytes += len(data)
        if found_tag == REPORT_TAG:
            # A rank that has finished reports while others still work.
            self._reports[sender] = data
            return None
        return sender, found_tag, data

    def _probe(self, source: int, tag: int, status: Any) -> bool:
        begin = time.perf_counter_ns()
        found = bool(self._world.Iprobe(source, tag, status))
        self._cost("probe_found" if found else "probe_failed", begin)
        return found

    def wait(self, limit_s: float = IDLE_POLL_S) -> None:
        """Sleeps until something may have come in or can go out, or `limit_s`."""
        self._arrivals.wait(limit_s, room=self.posted() > 0)

    def start_clock(self) -> None:
        """Times of phases count from here."""
        self._start = time.monotonic_ns()

    def now(self) -> float:
        """Seconds since `start_clock` on this rank."""
        return (time.monotonic_ns() - self._start) / 1e9

    def phase(self, name: str, start_s: float, end_s: float, **more: object) -> None:
        """Records a span of this rank; `more`: which of several of this name."""
        span = {"name": name, "rank": self.rank, "start_s": start_s, "end_s": end_s}
        self.phases.append({**span, **more})

    def transfer(
        self, name: str, source: int, to: int, size: int, span_s: tuple[float, float]
    ) -> None:
        """Records that `size` bytes moved between two ranks in a span, as this rank saw it."""
        start_s, end_s = span_s
        span = {"name": name, "from": source, "to": to, "bytes": size}
        self.transfers.append({**span, "start_s": start_s, "end_s": end_s})

    def receive_into(self, room: bytearray, source: int, tag: int) -> None:
        """Waits for one message of any size and of exactly `room`'s length (MPI_Irecv)."""
        begin = time.perf_counter_ns()
        request = self._world.Irecv([room, self._mpi.BYTE], source=source, tag=tag)
        while not any(request.Test() for _ in range(LOOKS)):
            self._arrivals.wait(IDLE_POLL_S)
        self._cost("receive", begin)
        self.received_messages += 1
        self.received_bytes += len(room)

    def flush(self) -> None:
        """Waits until the network has taken everything that was posted."""
        while self.posted():
            for _ in range(LOOKS):
                self._world.Iprobe(self._mpi.ANY_SOURCE, self._mpi.ANY_TAG)
            if self.posted():
                self._arrivals.wait(IDLE_POLL_S, room=True)

    def finish(self, output: Path, result: dict[str, Any]) -> None:
        """Collects the counts of all ranks; rank 0 writes `output`.

        `result` (rank 0): completion_s, start, end, answer, correct.
        """
        if self.rank != 0:
            # With many spans it is longer than what `send` takes.
            self.post(json.dumps(self._report()).encode(), 0, REPORT_TAG)
            self.flush()
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
        write_record(output, self, result, reports)

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
            "mpi": {
                name: {"calls": calls, "seconds": spent / 1e9}
                for name, (calls, spent) in self._costs.items()
            },
            "phases": self.phases,
            "transfers": self.transfers,
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

    def wait(self, limit_s: float, *, room: bool = False) -> None:
        """Returns at an arrival, and after `limit_s` at the latest.

        `room`: also when a full connection can take more.
        """
        if time.monotonic() >= self._next_scan:
            self._scan()
        if room:
            self._poll_for_room().poll(min(limit_s, FULL_POLL_S) * 1e3)
        elif limit_s < 1e-3 or not self._sockets:
            time.sleep(limit_s)
        else:
            self._poll.poll(limit_s * 1e3)

    def _poll_for_room(self) -> select.poll:
        poll = select.poll()
        for name in self._sockets:
            poll.register(int(name), select.POLLOUT)
        writable = {descriptor for descriptor, _ in poll.poll(0)}
        for descriptor in map(int, self._sockets):
            full = descriptor not in writable
            poll.modify(descriptor, select.POLLIN | select.POLLOUT if full else select.POLLIN)
        return poll

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


class Pace:
    """Makes work last as long as it would on a slower core; `unit_ns` None: as long as it takes."""

    def __init__(self, unit_ns: float | None) -> None:
        self._unit_ns = unit_ns
        self._late_ns = 0
        self.computing_ns = 0

    def work(self, begin_ns: int, units: int) -> None:
        """Work that began at `time.monotonic_ns() == begin_ns` is done: waits out the rest."""
        if self._unit_ns is not None:
            # Waking up late once makes the next wait shorter.
            deadline = begin_ns - self._late_ns + round(units * self._unit_ns)
            sleep_until(deadline)
            self._late_ns = min(time.monotonic_ns() - deadline, MOST_LATE_NS)
        self.computing_ns += time.monotonic_ns() - begin_ns


def write_record(
    output: Path, ranks: Any, result: dict[str, Any], reports: list[dict[str, Any]]
) -> None:
    """Writes app.json; spans of all ranks stand together. `ranks`: app, problem and compute."""
    spans = {
        kind: [span for report in reports for span in report.pop(kind)]
        for kind in ("phases", "transfers")
    }
    record = {
        "app": ranks.app,
        "problem": ranks.problem,
        "compute": ranks.compute,
        **result,
        **spans,
        "ranks": reports,
    }
    partial = output.with_name(f".{output.name}.part")
    partial.write_text(json.dumps(record, indent=1) + "\n")
    partial.replace(output)


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


def number(problem: dict[str, Any], name: str, default: float, low: float, high: float) -> float:
    """A parameter of the problem within its bounds; need not be whole."""
    value = problem.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise BadProblemError(name, value, f"a number from {low:g} to {high:g}")
    return float(value)


def switch(problem: dict[str, Any], name: str, *, default: bool) -> bool:
    """A parameter of the problem that is on or off."""
    value = problem.get(name, default)
    if not isinstance(value, bool):
        raise BadProblemError(name, value, "true or false")
    return value


def choice(problem: dict[str, Any], name: str, values: tuple[str, ...]) -> str:
    """A parameter of the problem that is one of several words; the first is the default."""
    value = problem.get(name, values[0])
    if value not in values:
        raise BadProblemError(name, value, f"one of {', '.join(values)}")
    return str(value)


def only(problem: dict[str, Any], *names: str) -> None:
    """Refuses parameters that there are not."""
    for name in sorted(set(problem) - set(names)):
        raise BadProblemError(name, problem[name], f"one of {', '.join(names)}")


def ranks_started() -> int:
    """How many ranks there are, known before MPI starts."""
    return int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1"))


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
    except Exception as error:  # noqa: BLE001 - no rank may be left waiting, whatever happened
        traceback.print_exc()
        # The line that the run's record keeps.
        sys.stderr.write(f"error: {app}: {type(error).__name__}: {error}\n")
        sys.stderr.flush()
        if "mpi4py.MPI" in sys.modules:
            # The others may wait for this rank for ever.
            sys.modules["mpi4py.MPI"].COMM_WORLD.Abort(1)
        raise SystemExit(1) from None
