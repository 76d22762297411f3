"""MPI ranks whose messages are known: a master that hands out tasks, and a worker.

`message_ranks.py COUNT FOLDER`, under mpirun with two ranks. Every rank writes the sizes of its
messages, in order, into the JSON file FOLDER/RANK.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path

from mpi4py import MPI

TASK, RESULT = 8, 20_000


def main(count: int, folder: Path) -> None:
    """Sends ping-pong of small and of large messages, tasks, and results without an answer."""
    world = MPI.COMM_WORLD
    rank, other = world.rank, 1 - world.rank
    sent: list[int] = []
    room = bytearray(1 << 17)

    def send(size: int) -> None:
        world.Send([bytes(size), MPI.BYTE], other)
        sent.append(size)

    def receive() -> None:
        world.Recv([room, MPI.BYTE], other)

    for size in (100, RESULT, 50_000):
        for _ in range(count):
            if rank == 0:
                send(size)
                receive()
            else:
                receive()
                send(size)
    chance = random.Random(2006)
    for _ in range(count):
        if rank == 0:
            send(TASK)
            receive()
        else:
            receive()
            time.sleep(chance.uniform(0.001, 0.01))
            send(RESULT)
    for _ in range(count):
        if rank == 0:
            receive()
        else:
            time.sleep(chance.uniform(0.01, 0.06))
            send(RESULT)
    (folder / str(rank)).write_text(json.dumps(sent))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
