"""An experiment with all kinds of records of applications: messages, streams, phases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tiny

MB = 1 << 20
WEST, EAST = (host["address"] for host in tiny.HOSTS)


def make(directory: Path) -> Path:
    """Writes the tables and returns the folder."""
    rows = [
        *_pingpong(),
        _bulk("udp", "udp", beside=20.0),
        _bulk("tcp", "tcp", beside=50.0),
        _bulk("alone", "tcp", beside=None),
        *_farm(),
        _film(),
    ]
    tiny.runs(directory, rows)
    about = "title: All that applications tell\npapers: [uklight]\n"
    (directory / "experiment.yaml").write_text(about, encoding="utf-8")
    for row in rows:
        for host in ("pc1", "pc3"):
            tiny.table(directory, "captures", row["run"], host, [tiny.capture()])
    return directory


def _run(name: str, app: str, application: dict[str, Any], **changes: Any) -> dict[str, Any]:
    record = json.dumps({"application": application})
    return tiny.run(name, **{"app": app, "json": record} | changes)


def _pingpong() -> list[dict[str, Any]]:
    found = []
    for latency, seconds, loss in ((0, 0.7, 0.0), (2, 0.9, 0.0), (4, 1.0, 0.0), (4, 3.0, 0.01)):
        sizes = [{"message_bytes": size * MB, "mean_s": size / 4 * seconds} for size in (4, 16)]
        found.append(
            _run(f"ping-{latency}-{loss:g}", "pingpong", {"answer": {"sizes": sizes}},
                 baseline=latency == 0, rtt_asked_ns=(5 + latency) * tiny.MS,
                 rate_asked_bit_s=3e8, loss=loss)
        )  # fmt: skip
    return found


def _bulk(name: str, transport: str, *, beside: float | None) -> dict[str, Any]:
    stream = {"mbit_s": 40.0, "beside_mbit_s": beside}
    application = {"problem": {"transport": transport}, "answer": {"streams": [stream]}}
    return _run(f"bulk-{name}", "bulk", application, baseline=True)


def _farm() -> list[dict[str, Any]]:
    found = []
    for problem in (1, 2):
        ranks = [
            {"rank": n, "host": host["name"],
             "mpi": {name: {"calls": 3 + n, "seconds": 0.1} for name in ("send", "receive")}}
            for n, host in enumerate(tiny.HOSTS)
        ]  # fmt: skip
        application = {
            "ranks": ranks,
            "phases": [
                {"name": name, "rank": rank, "start_s": start, "end_s": start + 0.25}
                for rank in (0, 1)
                for name, start in (("send", 0.0), ("work", 0.25))
            ],
            "transfers": [
                {"from": 0, "to": 1, "bytes": size, "start_s": 0.1 * n, "end_s": 0.1 * n + 0.2}
                for n, size in enumerate((1000, 20_000, 3_000_000))
            ],
        }
        found.append(
            _run(f"farm-{problem}", "farm", application, baseline=True,
                 problem=f'{{"n": {problem}}}', completion_s=float(problem))
        )  # fmt: skip
    return found


def _film() -> dict[str, Any]:
    spans = [
        {"name": "frame", "from": 0, "to": 1, "bytes": 1000, "start_s": start, "end_s": start + 0.1}
        for start in (0.0, 0.25, 0.5)
    ]
    ranks = [{"rank": n, "host": host["name"]} for n, host in enumerate(tiny.HOSTS)]
    application = {"ranks": ranks, "transfers": spans}
    return _run("film", "film", application, baseline=True, problem='{"fps": 4, "frames": 3}')
