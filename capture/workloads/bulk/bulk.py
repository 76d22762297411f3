"""Sends a file to another site as fast as the path allows: LambdaStream, UDP or TCP (EVL 2006).

The first half of the ranks sends, the second half receives: rank i to rank i + n/2; with
`both_ways` all ranks do both. A TCP flow beside a transfer shows whether the transfer is fair.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import channels
import common
from job import Job
from stream import Stream, together

APP = "bulk"
RESULT = 2


def judge(job: Job, sent: list[dict[str, Any]], got: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the answer: each stream's speed, and whether its content arrived unchanged."""
    streams = []
    for sender in sent:
        receiver = next(
            r for r in got if (r["rank"], r["peer"]) == (sender["peer"], sender["rank"])
        )
        share = receiver.get("arrived", 1) / receiver.get("blocks", 1)
        # With plain UDP, the receiver's time includes its timeout at the end.
        seconds = sender["seconds"] if job.transport == "udp" else receiver["seconds"]
        stream = {
            "from": sender["rank"],
            "to": sender["peer"],
            "mbit_s": 8e-6 * job.bytes * share / seconds,
            "arrived_share": share,
            "identical": sender["digest"] == receiver["digest"],
            "repeated": sender.get("repeated"),
            "lowered": sender.get("lowered"),
        }
        if job.beside:
            stream["beside_mbit_s"] = receiver["beside_mbit_s"]
        streams.append(stream)
    identical = all(stream["identical"] for stream in streams)
    end = max(r["end_s"] for r in (sent if job.transport == "udp" else got))
    return {
        "completion_s": end,
        "answer": {
            "mbit_s": sum(stream["mbit_s"] for stream in streams),
            "identical": identical,
            "streams": streams,
        },
        # Plain UDP guarantees nothing.
        "correct": identical or job.transport == "udp",
    }


def main(problem: dict[str, Any], compute: str, output: Path) -> None:
    """Checks the problem and runs this rank's transfers."""
    job = Job(problem)
    ranks = channels.Ranks(APP, problem, compute)
    half = ranks.size // 2
    first = ranks.rank < half
    peer = ranks.rank + half if first else ranks.rank - half
    streams = [
        Stream(ranks, job, peer, sends=sends)
        for sends in (True, False)
        if job.both_ways or sends == first
    ]
    for stream in streams:
        if not stream.sends:
            stream.accepted([ranks.accept() for _ in range(1 + job.beside)])
    for stream in streams:
        stream.open_udp()
    for stream in streams:
        stream.connect_udp()
    ranks.start()
    with together(*(stream.run for stream in streams)):
        pass
    for stream in streams:
        ranks.phase("send" if stream.sends else "receive", *stream.span)
        stream.account()
    results = [(stream.sends, stream.result()) for stream in streams]
    result: dict[str, Any] = {}
    if ranks.rank:
        ranks.control[0].send(RESULT, json.dumps(results).encode())
    else:
        for other in range(1, ranks.size):
            results += json.loads(bytes(ranks.control[other].expect(RESULT).data))
        sent = [found for sends, found in results if sends]
        result = judge(job, sent, [found for sends, found in results if not sends])
        result["start"] = common.utc(ranks.started_ns)
        result["end"] = common.utc(ranks.started_ns + round(result["completion_s"] * 1e9))
    ranks.finish(output, result)


if __name__ == "__main__":
    common.run(APP, main)
