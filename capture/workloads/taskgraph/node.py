"""The process of a worker that has its data: serves outputs, fetches inputs, computes.

Every transfer has its own connection: the number of a task one way, its output back. The worker's
rank sends orders and receives results as lines of JSON over a socket pair.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import time
import traceback
from typing import Any

import graph

NUMBER_BYTES = 4
BACKLOG = 1024


def address() -> str:
    """Returns the address of this host in the captured network."""
    pairs = os.environ.get("FLOWSWEEP_HOSTS", "").split(",")
    hosts = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    return hosts.get(os.uname().nodename, "127.0.0.1")


def start(tasks: list[graph.Task], unit_rounds: int, unit_s: float) -> tuple[socket.socket, int]:
    """Forks the process, before MPI starts; returns the rank's socket, and the port for outputs.

    `unit_s`: with compute: paced, seconds of a unit of time; 0: its real time.
    """
    ours, theirs = socket.socketpair()
    listening = socket.create_server((address(), 0), backlog=BACKLOG)
    port = listening.getsockname()[1]
    if os.fork():
        theirs.close()
        listening.close()
        ours.setblocking(False)
        return ours, port
    ours.close()
    code = 1
    try:
        asyncio.run(Node(tasks, unit_rounds, unit_s).run(theirs, listening))
        code = 0
    except BaseException as error:  # noqa: BLE001 - the rank sees the end of this process
        traceback.print_exc()
        sys.stderr.write(f"error: taskgraph: {type(error).__name__}: {error}\n")
    finally:
        sys.stderr.flush()
        os._exit(code)


class Node:
    """The outputs of this worker, and its running tasks."""

    def __init__(self, tasks: list[graph.Task], unit_rounds: int, unit_s: float) -> None:
        self._tasks = tasks
        self._rounds = unit_rounds
        self._unit_s = unit_s
        self._outputs: dict[int, bytes] = {}

    async def run(self, control: socket.socket, listening: socket.socket) -> None:
        """Serves until the rank closes its socket, or a task fails."""
        reader, writer = await asyncio.open_unix_connection(sock=control)
        server = await asyncio.start_server(self._serve, sock=listening)
        async with server, asyncio.TaskGroup() as group:
            while line := await reader.readline():
                group.create_task(self._task(json.loads(line), writer))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = int.from_bytes(await reader.readexactly(NUMBER_BYTES), "big")
        writer.write(self._outputs[number])
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def _task(self, order: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        """Fetches all inputs of the task at once, computes it, and reports."""
        task = self._tasks[order["task"]]
        fetched = await asyncio.gather(*(self._input(*place) for place in order["inputs"]))
        begin = time.monotonic_ns()
        inputs = [graph.digest(data) for data, _ in fetched]
        output = await asyncio.to_thread(graph.compute, task, inputs, self._rounds)
        spent_s = (time.monotonic_ns() - begin) / 1e9
        await asyncio.sleep(max(0.0, task.time * self._unit_s - spent_s))
        self._outputs[task.number] = output
        message = {
            "task": task.number,
            "digest": graph.digest(output).hex(),
            "span_ns": [begin, time.monotonic_ns()],
            "transfers": [span for _, span in fetched if span is not None],
        }
        writer.write(json.dumps(message).encode() + b"\n")

    async def _input(
        self, number: int, rank: int, host: str, port: int
    ) -> tuple[bytes, dict[str, Any] | None]:
        """Returns an output, from this worker or over a new connection."""
        if number in self._outputs:
            return self._outputs[number], None
        begin = time.monotonic_ns()
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(number.to_bytes(NUMBER_BYTES, "big"))
        data = await reader.read()
        writer.close()
        await writer.wait_closed()
        size = self._tasks[number].size
        if len(data) != size:
            raise ValueError(
                f"output of task {number} from rank {rank}: {len(data)} of {size} bytes"
            )
        span = {"task": number, "from": rank, "bytes": len(data)}
        return data, {**span, "span_ns": [begin, time.monotonic_ns()]}
