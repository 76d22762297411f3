"""Times messages of one size by sending them back and forth (UKLight, section 2.2).

Rank 0 sends to the last rank, which returns what it received, like PingPong of the Intel MPI
Benchmarks. Nothing else is in transit meanwhile; the other ranks wait.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import common
import mpi
import rounds

APP = "pingpong"
MAX_BYTES = 1 << 30
MAX_REPETITIONS = 1_000_000
PING, PONG, OVER = 1, 2, 3


def transmit(ranks: mpi.Ranks, data: bytearray, to: int, tag: int) -> None:
    """Sends one message; its span ends when the network has taken all of it."""
    begin = ranks.now()
    ranks.post(data, to, tag)
    ranks.flush()
    ranks.transfer("message", ranks.rank, to, len(data), (begin, ranks.now()))


def serve(ranks: mpi.Ranks, peer: int, size: int, warmup: int, repetitions: int) -> list[float]:
    """Sends one size back and forth; returns the one-way seconds of each measured repetition.

    Raises:
        ValueError: A message came back changed.
    """
    # Pseudo-random content, which no fault produces by chance.
    sent = bytearray().join(common.content(size, size))
    times = []
    for number in range(warmup + repetitions):
        sent[:8] = number.to_bytes(8, "little")[:size]
        back = bytearray(size)
        begin = time.monotonic_ns()
        transmit(ranks, sent, peer, PING)
        ranks.receive_into(back, peer, PONG)
        end = time.monotonic_ns()
        if back != sent:
            raise ValueError(f"{size} bytes came back changed in repetition {number}")
        if number >= warmup:
            times.append((end - begin) / 2e9)
    return times


def answer_back(ranks: mpi.Ranks, size: int, times: int) -> None:
    """Sends the messages of `serve` back, on the other rank."""
    data = bytearray(size)
    for _ in range(times):
        ranks.receive_into(data, 0, PING)
        transmit(ranks, data, 0, PONG)


def message_sizes(problem: dict[str, Any]) -> list[int]:
    """Returns the message sizes of the problem, which has one size or a list."""
    given = problem.get("message_bytes", 1 << 20)
    sizes = given if isinstance(given, list) else [given]
    if not sizes:
        raise common.BadProblemError("message_bytes", given, "a size or a list of sizes")
    for size in sizes:
        common.whole_number({"message_bytes": size}, "message_bytes", 0, 0, MAX_BYTES)
    return sizes


def main(problem: dict[str, Any], compute: str, output: Path) -> None:
    """Checks the problem and runs this rank's part; there is nothing to compute."""
    common.only(problem, "message_bytes", "repetitions", "warmup")
    sizes = message_sizes(problem)
    repetitions = common.whole_number(problem, "repetitions", 10, 1, MAX_REPETITIONS)
    warmup = common.whole_number(problem, "warmup", 1, 0, MAX_REPETITIONS)
    if common.ranks_started() < 2:
        raise common.BadProblemError("ranks", common.ranks_started(), "at least 2")
    ranks = mpi.Ranks(APP, problem, compute)
    last = ranks.size - 1
    start = rounds.start(ranks)
    if ranks.rank == 0:
        table = []
        for size in sizes:
            begin = ranks.now()
            times = serve(ranks, last, size, warmup, repetitions)
            ranks.phase("exchange", begin, ranks.now(), message_bytes=size)
            table.append(
                {
                    "message_bytes": size,
                    "repetitions": repetitions,
                    "least_s": min(times),
                    "mean_s": sum(times) / repetitions,
                    "most_s": max(times),
                }
            )
        end = ranks.now()
        for waiting in range(1, last):
            ranks.send(b"", waiting, OVER)
        result = {
            "start": common.utc(start),
            "end": common.utc(start + round(end * 1e9)),
            "completion_s": end,
            "answer": {"sizes": table},
            "correct": True,
        }
        ranks.finish(output, result)
        return
    begin = ranks.now()
    if ranks.rank == last:
        for size in sizes:
            answer_back(ranks, size, warmup + repetitions)
        ranks.phase("exchange", begin, ranks.now())
    else:
        ranks.receive(0, OVER)
        ranks.phase("wait", begin, ranks.now())
    ranks.finish(output, {})


if __name__ == "__main__":
    common.run(APP, main)
