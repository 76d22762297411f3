"""An experiment of two points whose runs have critical paths, written by hand."""

from __future__ import annotations

from pathlib import Path

import tiny

#: Seconds of the parts of a path, in the order of the query.
PARTS = (
    "computing", "sender stall", "serialisation", "queueing", "loss recovery", "propagation",
    "not explained",
)  # fmt: skip


def path(
    directory: Path, run: str, seconds: dict[str, float], *, messages: int = 1, peer: str = "pc3"
) -> None:
    """Writes a critical path with one piece per part; propagation has one piece per message."""
    pieces = [
        (part, round(part_s * 1e9) // count, peer if part != "computing" else None)
        for part, part_s in seconds.items()
        for count in [messages if part == "propagation" else 1]
        for _ in range(count)
    ]
    rows = [
        {"step": step, "part": part, "duration_ns": duration, "receiver": receiver}
        for step, (part, duration, receiver) in enumerate(pieces)
    ]
    tiny.table(directory, "critical_path", run, "pc1", rows)


def make(
    directory: Path, *, far: dict[str, float] | None = None, apps: int = 1, messages: int = 10
) -> Path:
    """Makes a baseline with 0.9 s of computing, and a point at 16 ms.

    Args:
        directory: The folder of the experiment.
        far: Seconds of the parts at the second point.
        apps: Number of applications.
        messages: Number of messages on each path.
    """
    near = {"computing": 0.9, "serialisation": 0.05, "queueing": 0.02, "propagation": 0.01}
    far = far or {**near, "propagation": 0.6}
    rows = []
    for number in range(apps):
        for name, parts, rtt in (("near", near, 1), ("far", far, 16)):
            run = f"app{number}-{name}"
            time = {"rtt_asked_ns": rtt * tiny.MS, "rtt_measured_ns": rtt * tiny.MS}
            about = {"app": f"app{number}", "baseline": rtt == 1, **time}
            rows.append(tiny.run(run, completion_s=sum(parts.values()), **about))
            path(directory, run, parts, messages=messages)
    return tiny.runs(directory, rows)
