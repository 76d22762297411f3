"""Computes the output of a task graph's last task on workers (Kitatsuji, section 2).

Rank 0 gives each task whose inputs exist, longest remaining path first, to the worker with the most
free memory. Workers fetch inputs from one another, each over a new connection (see `node`).
"""

from __future__ import annotations

import heapq
import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import common
import graph
import mpi
import node
import rounds

APP = "taskgraph"
MAX_TASKS = 10_000
MAX_BYTES = 1 << 28
ADDRESS, ORDER, RESULT, STOP = range(1, 5)


class Scheduler:
    """The master: knows ready tasks, workers with free memory, and the places of outputs."""

    def __init__(self, ranks: mpi.Ranks, tasks: list[graph.Task], memory_mb: int) -> None:
        self.ranks = ranks
        self.tasks = tasks
        self.places = {
            rank: json.loads(bytes(ranks.receive(rank, ADDRESS)[2]))
            for rank in range(1, ranks.size)
        }
        self.free = dict.fromkeys(self.places, memory_mb)
        self.priorities = graph.priorities(tasks)
        self.followers = graph.followers(tasks)
        self.missing = [len(task.inputs) for task in tasks]
        self.ready = [(-self.priorities[t.number], t.number) for t in tasks if not t.inputs]
        heapq.heapify(self.ready)
        self.owner: dict[int, int] = {}
        self.running = self.most_running = 0
        self.last_digest = ""

    def run(self) -> float:
        """Runs until the last task is done; returns the seconds that it took."""
        done = 0
        while done < len(self.tasks):
            self._give()
            worker, _, data = self.ranks.receive(tag=RESULT)
            message = json.loads(bytes(data))
            self._take(worker, self.tasks[message["task"]], message["digest"])
            done += 1
        end = self.ranks.now()
        for worker in self.places:
            self.ranks.send(b"", worker, STOP)
        return end

    def _give(self) -> None:
        """Hands out tasks by priority, as long as a worker has enough memory for the first."""
        while self.ready:
            task = self.tasks[self.ready[0][1]]
            worker = max(self.free, key=lambda rank: (self.free[rank], -rank))
            if self.free[worker] < task.memory:
                return
            heapq.heappop(self.ready)
            self.free[worker] -= task.memory
            self.owner[task.number] = worker
            inputs = [
                [before, self.owner[before], *self.places[self.owner[before]]]
                for before in task.inputs
            ]
            order = {"task": task.number, "inputs": inputs}
            self.ranks.post(json.dumps(order).encode(), worker, ORDER)
            self.running += 1
            self.most_running = max(self.most_running, self.running)

    def _take(self, worker: int, task: graph.Task, digest: str) -> None:
        self.running -= 1
        self.free[worker] += task.memory
        self.last_digest = digest if task.number == len(self.tasks) - 1 else self.last_digest
        for follower in self.followers[task.number]:
            self.missing[follower] -= 1
            if self.missing[follower] == 0:
                heapq.heappush(self.ready, (-self.priorities[follower], follower))


def work(ranks: mpi.Ranks, control: socket.socket) -> None:
    """Forwards orders to the process with the data, and its results to the master."""
    base_ns = time.monotonic_ns() - ranks.now() * 1e9
    text = b""
    fetched = tasks = 0

    def span_s(span_ns: list[int]) -> tuple[float, float]:
        return (span_ns[0] - base_ns) / 1e9, (span_ns[1] - base_ns) / 1e9

    while True:
        message = ranks.poll(0)
        if message is not None and message[1] == STOP:
            break
        if message is not None:
            control.sendall(bytes(message[2]) + b"\n")
            continue
        try:
            new = control.recv(1 << 16)
        except BlockingIOError:
            ranks.wait()
            continue
        if not new:
            raise RuntimeError("the process with the data ended")
        *lines, text = (text + new).split(b"\n")
        for line in lines:
            record = json.loads(line)
            ranks.phase("task", *span_s(record.pop("span_ns")), task=record["task"])
            for transfer in record.pop("transfers"):
                name, size = f"output {transfer['task']}", transfer["bytes"]
                span = span_s(transfer["span_ns"])
                ranks.transfer(name, transfer["from"], ranks.rank, size, span)
                fetched += size
            tasks += 1
            ranks.post(json.dumps(record).encode(), 0, RESULT)
    control.close()
    os.wait()
    ranks.notes = {"tasks": tasks, "fetched_bytes": fetched}


def main(problem: dict[str, Any], compute: str, output: Path) -> None:
    """Checks the problem and runs this rank's part."""
    names = ("graph", "tasks", "reach", "seed", "unit_ms", "unit_rounds", "memory_mb")
    common.only(problem, *names, "least_bytes", "most_bytes")
    seed = common.whole_number(problem, "seed", 1, 0, 10**6)
    count = common.whole_number(problem, "tasks", 100, 1, MAX_TASKS)
    reach = common.whole_number(problem, "reach", graph.REACH, 1, MAX_TASKS)
    unit_ms = common.number(problem, "unit_ms", 20, 0.001, 60_000)
    unit_rounds = common.whole_number(problem, "unit_rounds", 200, 1, 10**8)
    memory_mb = common.whole_number(problem, "memory_mb", 1024, 1, 10**6)
    most = common.whole_number(problem, "most_bytes", 1 << 20, 1, MAX_BYTES)
    least = common.whole_number(problem, "least_bytes", min(100, most), 1, most)
    given = common.text(problem, "graph")
    path = Path(__file__).parent / given if given else None
    bare = graph.read(path) if path else graph.generate(count, seed, reach)
    # The largest task fits into an idle worker; about four of the usual size run at once.
    tasks = graph.furnish(bare, seed, least, most, (max(1, memory_mb // 8), max(1, memory_mb // 2)))
    workers = common.ranks_started() - 1
    if not 1 <= workers <= len(tasks) - 2:
        expected = f"a master and 1 to {len(tasks) - 2} workers: the graph has no more tasks"
        raise common.BadProblemError("ranks", f"{workers} workers", expected)
    if int(os.environ.get("OMPI_COMM_WORLD_RANK", "0")) > 0:
        unit_s = unit_ms / 1e3 if compute == "paced" else 0.0
        control, port = node.start(tasks, unit_rounds, unit_s)
        ranks = mpi.Ranks(APP, problem, compute)
        ranks.send(json.dumps([node.address(), port]).encode(), 0, ADDRESS)
        rounds.start(ranks)
        work(ranks, control)
        ranks.finish(output, {})
        return
    ranks = mpi.Ranks(APP, problem, compute)
    scheduler = Scheduler(ranks, tasks, memory_mb)
    start = rounds.start(ranks)
    end = scheduler.run()
    ranks.phase("schedule", 0.0, end)
    expected = graph.reference(tasks, unit_rounds).hex()
    answer = {
        "output": scheduler.last_digest,
        "expected": expected,
        "tasks": len(tasks),
        "longest_way_units": max(scheduler.priorities),
        "most_at_once": scheduler.most_running,
    }
    result = {
        "start": common.utc(start),
        "end": common.utc(start + round(end * 1e9)),
        "completion_s": end,
        "answer": answer,
        "correct": scheduler.last_digest == expected,
    }
    ranks.finish(output, result)


if __name__ == "__main__":
    common.run(APP, main)
