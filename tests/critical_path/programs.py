"""Distributed programs of known length: the packets of their hosts, by arithmetic alone.

A host computes, sends one packet, and continues when the message that it waits for has arrived.
All links have the same rate, and no message queues behind others.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from flowsweep.critical_path.packets import HostPackets

MS = 1_000_000
SIZE = 1_486  # with Ethernet's 14 bytes 1,500
RATE = 12e6  # 1 ms for each message
SERIALISATION = MS
HANDSHAKES = pl.DataFrame(
    schema={
        "sender": pl.String,
        "receiver": pl.String,
        "opened": pl.Int64,
        "answered": pl.Int64,
        "is_repeated": pl.Boolean,
    }
)


@dataclass
class Program:
    """Collects the messages that the hosts of a generated program send.

    Attributes:
        delay: Delay of each link, ns.
        delays: Delays of exceptional links, by sender and receiver.
    """

    delay: int
    delays: dict[tuple[str, str], int] = field(default_factory=dict)
    rows: list[dict[str, object]] = field(default_factory=list)

    def send(self, sender: str, receiver: str, at: int) -> int:
        """Sends a message at time `at`; returns its arrival."""
        base = self.delays.get((sender, receiver), self.delay)
        arrival = at + SERIALISATION + base
        self.rows.append(
            {
                "sender": sender, "receiver": receiver, "payload_bytes": SIZE - 40, "began": at,
                "first_sent": at, "sent": at, "arrival": arrival, "base_ns": base,
                "ip_bytes_so_far": SIZE, "queued_ns_so_far": SERIALISATION, "is_in_order": True,
                "is_explained": True,
            }
        )  # fmt: skip
        return arrival

    def hosts(self) -> dict[str, HostPackets]:
        """Returns the packets of each host."""
        frames = pl.DataFrame(self.rows).partition_by("sender", as_dict=True)
        return {name: HostPackets(rows, HANDSHAKES, 0) for (name,), rows in frames.items()}

    def rates(self) -> dict[tuple[str, str], float]:
        """Returns the rate of each used link, which is the same for all."""
        return {(str(row["sender"]), str(row["receiver"])): RATE for row in self.rows}


def ping_pong(delay: int, exchanges: int, think: int) -> tuple[Program, int]:
    """Returns two hosts that answer each other, and the end; the program begins at 0."""
    program, at = Program(delay), 0
    for _ in range(exchanges):
        at = program.send("a", "b", at + think)
        at = program.send("b", "a", at + think)
    return program, at


def ring(delay: int, hosts: int, rounds: int, think: int) -> tuple[Program, int]:
    """Returns a token ring in which each host holds the token for a while, and the end."""
    program, at = Program(delay), 0
    for step in range(hosts * rounds):
        at = program.send(f"h{step % hosts}", f"h{(step + 1) % hosts}", at + think)
    return program, at


def fork_join(program: Program, works: list[int], rounds: int) -> int:
    """Adds a master that waits for all of its workers in each round; returns the end."""
    at = 0
    for _ in range(rounds):
        jobs = [program.send("m", f"w{number}", at) for number in range(len(works))]
        at = max(
            program.send(f"w{number}", "m", job + work)
            for number, (job, work) in enumerate(zip(jobs, works, strict=True))
        )
    return at


def pipeline(delay: int, stages: list[int], items: int) -> tuple[Program, int]:
    """Returns stages that pass items on at once, and the last stage's end."""
    program = Program(delay)
    ready = [0] * items
    for number, work in enumerate(stages):
        free = 0
        for item in range(items):
            free = max(free, ready[item]) + work
            is_last = number == len(stages) - 1
            ready[item] = free if is_last else program.send(f"s{number}", f"s{number + 1}", free)
    return program, ready[-1]


def ahead(delay: int, jobs: int, work: int) -> tuple[Program, int]:
    """Returns a worker that gets its next job ahead of time, and the last result's arrival."""
    program = Program(delay)
    arrivals = [program.send("m", "w", 0), program.send("m", "w", 0)]
    free = at = 0
    for job in range(jobs):
        free = max(free, arrivals[job]) + work
        at = program.send("w", "m", free)
        arrivals.append(program.send("m", "w", at))
    return program, at
