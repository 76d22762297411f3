"""Ranks that use MPI: counts messages, waits cheaply, times each primitive."""

from __future__ import annotations

import ctypes
import json
import os
import time
from collections import deque
from pathlib import Path
from typing import Any

import framing
from arrivals import Arrivals
from record import Record, add_report

# MPI's own waiting would keep a core busy per rank. A waiting rank sleeps on its connections, and
# polls at these intervals what no connection signals: shared memory, unsent data.
IDLE_POLL_S = 5e-3
PUSHING_POLL_S = 100e-6
# A message that the network does not take at once is retried without sleep for this long.
SPIN_NS = 2_000_000
# Open MPI checks its connections only in every eighth call.
LOOKS = 8
PR_SET_TIMERSLACK = 29
# The timed primitives, as in Verstoep et al., table 1.
PRIMITIVES = ("send", "receive", "probe_failed", "probe_found")
REPORT_TAG = 32_000
ANY = -1


class Ranks(Record):
    """All ranks, from the view of one of them; counts what it sends and receives."""

    def __init__(
        self, app: str, problem: dict[str, Any], compute: str, *, never_blocks: bool = False
    ) -> None:
        """`never_blocks`: only `post` is used, so no MPI call waits, and none needs to yield."""
        import mpi4py

        if never_blocks:
            # A yield in every probe takes 20 times as long as the probe.
            os.environ["OMPI_MCA_mpi_yield_when_idle"] = "0"  # noqa: SIM112 - MPI's name

        mpi4py.rc.thread_level = "single"
        from mpi4py import MPI

        super().__init__(app, problem, compute)
        self._mpi = MPI
        self._world = MPI.COMM_WORLD
        self._status = MPI.Status()
        self.rank: int = self._world.Get_rank()
        self.size: int = self._world.Get_size()
        self._costs = {name: [0, 0] for name in PRIMITIVES}
        self._posted: dict[int, deque[tuple[Any, bytes | bytearray]]] = {}
        self._reports: dict[int, bytearray] = {}
        self._arrivals = Arrivals()
        # Otherwise the timer slack adds 50 us to each sleep.
        ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)

    def send(self, data: bytes | bytearray | memoryview, to: int, tag: int) -> None:
        """Sends one message; the caller may reuse the data at once."""
        size = len(data)
        if size > framing.EAGER_PAYLOAD_BYTES:
            raise ValueError(f"{size} bytes: a message of a workload is at most eager")
        begin = time.perf_counter_ns()
        request = self._world.Isend([data, self._mpi.BYTE], dest=to, tag=tag)
        while not any(request.Test() for _ in range(LOOKS)):
            # MPI's own waiting would keep a core busy for as long as a slow link takes.
            if time.perf_counter_ns() - begin > SPIN_NS:
                self._arrivals.wait(IDLE_POLL_S, room=True)
        self._cost("send", begin)
        self.count_sent(to, size)

    def post(self, data: bytes | bytearray, to: int, tag: int) -> Any:
        """Starts to send one message (MPI_Isend); `data` must not change afterwards.

        Returns MPI's request: `Test()` returns whether the network has taken the message.
        """
        begin = time.perf_counter_ns()
        request = self._world.Isend([data, self._mpi.BYTE], dest=to, tag=tag)
        self._cost("send", begin)
        self._posted.setdefault(to, deque()).append((request, data))
        self.count_sent(to, len(data))
        return request

    def posted(self, to: int | None = None) -> int:
        """Counts messages to one rank, or to all, that MPI has not yet passed to the network."""
        queues = list(self._posted.values()) if to is None else [self._posted.get(to, deque())]
        for queue in queues:
            while queue and queue[0][0].Test():
                queue.popleft()
        return sum(map(len, queues))

    def _cost(self, primitive: str, begin_ns: int) -> None:
        cost = self._costs[primitive]
        cost[0] += 1
        cost[1] += time.perf_counter_ns() - begin_ns

    def receive(
        self, source: int = ANY, tag: int = ANY, *, pushing: bool = False
    ) -> tuple[int, int, bytearray]:
        """Waits for a message; returns its sender, tag and content.

        `pushing`: this rank has just sent much data, which MPI forwards only during its calls.
        """
        message = self.poll(source, tag)
        while message is None:
            limit = PUSHING_POLL_S if pushing else IDLE_POLL_S
            self._arrivals.wait(limit, room=self.posted() > 0)
            message = self.poll(source, tag)
        return message

    def poll(self, source: int = ANY, tag: int = ANY) -> tuple[int, int, bytearray] | None:
        """Returns an arrived message, or None; also lets MPI forward unsent data."""
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
        self.count_received(len(data))
        if found_tag == REPORT_TAG:
            # A finished rank reports while others still work.
            self._reports[sender] = data
            return None
        return sender, found_tag, data

    def _probe(self, source: int, tag: int, status: Any) -> bool:
        begin = time.perf_counter_ns()
        found = bool(self._world.Iprobe(source, tag, status))
        self._cost("probe_found" if found else "probe_failed", begin)
        return found

    def wait(self, limit_s: float = IDLE_POLL_S) -> None:
        """Sleeps until data may have arrived or can be sent, or for `limit_s`."""
        self._arrivals.wait(limit_s, room=self.posted() > 0)

    def receive_into(self, room: bytearray, source: int, tag: int) -> None:
        """Waits for one message of exactly the length of `room`, eager or not (MPI_Irecv)."""
        begin = time.perf_counter_ns()
        request = self._world.Irecv([room, self._mpi.BYTE], source=source, tag=tag)
        while not any(request.Test() for _ in range(LOOKS)):
            self._arrivals.wait(IDLE_POLL_S)
        self._cost("receive", begin)
        self.count_received(len(room))

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
            # With many spans, a report is longer than `send` accepts.
            self.post(json.dumps(self.report()).encode(), 0, REPORT_TAG)
            self.flush()
            return
        while len(self._reports) < self.size - 1:
            if self.poll() is None:
                self._arrivals.wait(IDLE_POLL_S)
        texts = [data for _, data in sorted(self._reports.items())]
        reports = [self.report(), *(json.loads(bytes(data)) for data in texts)]
        for report, size in zip(reports[1:], map(len, texts), strict=True):
            add_report(report, size)
        self.write(output, result, reports)

    def report(self) -> dict[str, Any]:
        """Returns this rank's part of app.json, with the time in each primitive."""
        costs = {
            name: {"calls": calls, "seconds": spent / 1e9}
            for name, (calls, spent) in self._costs.items()
        }
        return {**super().report(), "mpi": costs}
