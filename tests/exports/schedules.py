"""A reader of GOAL schedules as strict as LogGOPSim's txt2bin, and a simulator to replay them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

LABEL, NUMBER = "([a-zA-Z][a-zA-Z0-9_]*)", "([0-9]+)"
RANK = re.compile(rf"rank {NUMBER} \{{")
OPERATION = re.compile(
    rf"{LABEL}: (?:(calc) {NUMBER}|(send|recv) {NUMBER}b (to|from) {NUMBER} tag {NUMBER})"
)
REQUIRES = re.compile(rf"{LABEL} requires {LABEL}")
#: Keywords of the grammar, which cannot be labels.
WORDS = {"rank", "num_ranks", "send", "recv", "calc", "requires", "irequires"}


@dataclass
class Operation:
    kind: str
    #: Nanoseconds of a calculation, or bytes of a message.
    size: int
    peer: int = -1
    tag: int = -1
    needs: list[Operation] = field(default_factory=list)


def read(path: Path) -> list[list[Operation]]:
    """Returns each rank's operations; fails where txt2bin would, and for unmatched messages."""
    lines = iter(path.read_text().splitlines())
    ranks: list[list[Operation]] = []
    counts = [line for line in path.read_text().splitlines() if line.startswith("num_ranks")]
    assert len(counts) == 1
    labels: dict[str, Operation] | None = None
    for line in lines:
        if line.startswith("//") or line == counts[0]:
            continue
        if labels is None:
            begin = RANK.fullmatch(line)
            assert begin, line
            assert int(begin[1]) == len(ranks)
            ranks.append([])
            labels = {}
        elif line == "}":
            assert labels
            labels = None
        elif found := REQUIRES.fullmatch(line):
            # txt2bin resolves labels when it reads the line.
            labels[found[1]].needs.append(labels[found[2]])
        else:
            found = OPERATION.fullmatch(line)
            assert found, line
            label, calc, time, kind, size, way, peer, tag = found.groups()
            assert label not in labels
            assert label not in WORDS
            if calc:
                labels[label] = Operation("calc", int(time))
            else:
                assert (kind, way) in {("send", "to"), ("recv", "from")}
                labels[label] = Operation(kind, int(size), int(peer), int(tag))
                assert 0 < int(tag) < 2**32 - 1
            ranks[-1].append(labels[label])
    assert counts[0] == f"num_ranks {len(ranks)}"
    ends = [
        sorted(
            (*((rank, one.peer) if kind == "send" else (one.peer, rank)), one.tag, one.size)
            for rank, own in enumerate(ranks)
            for one in own
            if one.kind == kind
        )
        for kind in ("send", "recv")
    ]
    assert ends[0] == ends[1]
    assert len({tag for _, _, tag, _ in ends[0]}) == len(ends[0])
    return ranks


def replay(ranks: list[list[Operation]], transfers: dict[int, int]) -> dict[int, int]:
    """Returns when each message is sent, by tag, if its transfer takes `transfers[tag]`.

    Nothing else takes time: an operation starts when all its requirements have ended.
    """
    sends = {one.tag: one for own in ranks for one in own if one.kind == "send"}
    ended: dict[int, int] = {}
    waiting = [one for own in ranks for one in own]
    while waiting:
        blocked = []
        for one in waiting:
            needs = [*one.needs, sends[one.tag]] if one.kind == "recv" else one.needs
            if any(id(other) not in ended for other in needs):
                blocked.append(one)
                continue
            start = max((ended[id(other)] for other in needs), default=0)
            length = {"calc": one.size, "send": 0}.get(one.kind, transfers.get(one.tag, 0))
            ended[id(one)] = start + length
        assert len(blocked) < len(waiting), "operations wait for each other"
        waiting = blocked
    return {tag: ended[id(one)] for tag, one in sends.items()}
