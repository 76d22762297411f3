"""Fates of generated segments that the sender's interface splits and the receiver's merges."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field, replace

import polars as pl
import pytest
from build import ethernet, ip, pcap

PORTS = (1000, 80)
ADDRESSES = {4: ("10.0.0.1", "10.0.0.2"), 6: ("fd00::1", "fd00::2")}
MSS = 1448
US, MS = 1_000, 1_000_000
#: From sending to arrival, and until a retransmission.
DELAY, TIMEOUT = 20 * MS, 60 * MS


@dataclass
class Part:
    """One packet on the wire."""

    seq: int
    payload: int
    ident: int
    tsval: int
    is_copy: bool = False


@dataclass
class Transfer:
    """A bulk transfer from A to B over a path that drops, duplicates and reorders packets.

    Attributes:
        lost: Lost bytes of each segment that A sent, by sequence number and time.
        copies: Records in B's capture with bytes that had already arrived in the same part.
    """

    seed: int
    version: int = 4
    has_timestamps: bool = True
    has_idents: bool = True
    is_cut: bool = True
    is_merged: bool = True
    doubled: float = 0.01
    first_seq: int = (1 << 32) - 3_000_000
    lost: dict[tuple[int, int], int] = field(default_factory=dict)
    copies: int = 0

    def frame(self, part: Part, *, answers: bool = False) -> bytes:
        """Returns a segment, or an acknowledgement of the bytes before `part.seq`."""
        ends = ADDRESSES[self.version][:: -1 if answers else 1]
        ports = PORTS[:: -1 if answers else 1]
        numbers = (1, part.seq % 2**32) if answers else (part.seq % 2**32, 1)
        options = struct.pack(">BBBBII", 1, 1, 8, 10, part.tsval, 7) if self.has_timestamps else b""
        offset = 5 + len(options) // 4
        header = struct.pack(">HHIIHHHH", *ports, *numbers, offset << 12 | 0x10, 512, 0, 0)
        ident = part.ident % 2**16 if self.has_idents and self.version == 4 else 0
        return ethernet(ip(*ends, 6, header + options + bytes(part.payload), ident=ident))

    def make(self) -> tuple[list[tuple[int, bytes]], list[tuple[int, bytes]]]:
        """Returns the captures of A and of B."""
        drawn = random.Random(self.seed)
        waiting = []
        seq = self.first_seq
        for number in range(300):
            payload = min(drawn.randint(1, 40 * MSS), 64_000)
            step = payload if self.is_cut else MSS
            for offset in range(0, payload, step):
                time = number * 3 * MS + offset // MSS * 12 * US
                waiting.append((time, len(waiting), seq + offset, min(step, payload - offset)))
            seq += payload
        ident, order = 65_000, len(waiting)
        at_a, arrivals = [], []
        while waiting:
            time, _, first, payload = waiting.pop(0)
            parts = []
            for offset in range(0, payload, MSS):
                size = min(MSS, payload - offset)
                parts.append(Part(first + offset, size, ident, time // MS))
                # 0 means no identification
                ident = ident % 65_535 + 1
            whole = Part(first, payload, parts[0].ident, parts[0].tsval)
            at_a.append((time, self.frame(whole), whole))
            lost = 0
            for place, part in enumerate(parts):
                left = time + place * 12 * US
                if drawn.random() < 0.02:
                    lost += part.payload
                    waiting.append((left + TIMEOUT, order, part.seq, part.payload))
                    waiting.sort()
                    order += 1
                    continue
                late = 400 * US if drawn.random() < 0.01 else 0
                arrivals.append((left + DELAY + late, part))
                if drawn.random() < self.doubled:
                    arrivals.append((left + DELAY + 2 * MS, replace(part, is_copy=True)))
            self.lost[(first, time)] = lost
        arrivals.sort(key=lambda arrival: arrival[0])
        merged = self._merge(arrivals)
        self.copies = sum(part.is_copy for _, part in merged)
        at_b = [(time, self.frame(part)) for time, part in merged]
        acks = self._acknowledge(merged)
        at_b += [(time, frame) for time, frame in acks]
        sent = [(time, frame) for time, frame, _ in at_a]
        sent += [(time + DELAY, frame) for time, frame in acks]
        return sorted(sent, key=lambda p: p[0]), sorted(at_b, key=lambda p: p[0])

    def _merge(self, arrivals: list[tuple[int, Part]]) -> list[tuple[int, Part]]:
        """Merges arriving parts as the interface of B does."""
        found: list[tuple[int, Part]] = []
        for time, part in arrivals:
            last_time, last = found[-1] if found else (0, part)
            fits = (
                self.is_merged
                and time - last_time < 50 * US
                and last.seq + last.payload == part.seq
                and last.tsval == part.tsval
                and last.payload + part.payload < 64_000
            )
            if fits:
                payload = last.payload + part.payload
                is_copy = last.is_copy or part.is_copy
                found[-1] = (time, replace(last, payload=payload, is_copy=is_copy))
            else:
                found.append((time, part))
        return found

    def _acknowledge(self, arrivals: list[tuple[int, Part]]) -> list[tuple[int, bytes]]:
        expected, beyond, frames = self.first_seq, {}, []
        for number, (time, part) in enumerate(arrivals):
            beyond[part.seq] = max(part.seq + part.payload, beyond.get(part.seq, 0))
            for begin in sorted(beyond):
                if begin <= expected:
                    expected = max(expected, beyond.pop(begin))
            answer = Part(expected, 0, number + 1, time // MS)
            frames.append((time + 5 * US, self.frame(answer, answers=True)))
        return frames


@pytest.fixture
def matched(tmp_path, match, table):
    """Matches the captures of a transfer; returns the rows of A's segments in sending order."""

    def run(transfer: Transfer, lacking: float = 0, offset: int = 0) -> pl.DataFrame:
        drawn = random.Random(transfer.seed)
        at_a, at_b = transfer.make()
        kept = [(time + offset, frame) for time, frame in at_b if drawn.random() >= lacking]
        for name, packets in (("a", at_a), ("b", kept)):
            (tmp_path / f"{name}.pcap").write_bytes(pcap(packets, snaplen=96))
        ends = zip("ab", ADDRESSES[transfer.version], strict=True)
        options = [f"--address={name}={address}" for name, address in ends]
        done = match(tmp_path / "a.pcap", tmp_path / "b.pcap", *options)
        assert done.returncode == 0, done.stderr
        rows = table("fates").filter(pl.col("sender") == "a", pl.col("payload_bytes") > 0)
        return rows.sort(pl.coalesce("packet_sent", pl.lit(0)), "packet_received")

    return run


def check(transfer: Transfer, rows: pl.DataFrame) -> pl.DataFrame:
    """Compares the known fates with the truth, and returns the rows whose fate is unknown."""
    sent = rows.filter(pl.col("packet_sent").is_not_null())
    truth = list(transfer.lost.values())
    assert sent.height == len(truth)
    sent = sent.with_columns(truth=pl.Series(truth))
    known = sent.filter(pl.col("fate") != "unknown")
    expected = pl.when(pl.col("truth") > 0).then(pl.lit("lost")).otherwise(pl.lit("delivered"))
    wrong = known.filter(pl.col("fate") != expected)
    assert wrong.is_empty(), wrong
    lost = known.filter(fate="lost")
    assert lost["lost_bytes"].to_list() == lost["truth"].to_list()
    alone = rows.filter(pl.col("packet_sent").is_null())
    assert set(alone["fate"]) <= {"duplicated", "unknown"}
    return rows.filter(fate="unknown")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "about",
    [
        {"version": 6},
        {"is_merged": False},
        {"is_cut": False},
        {"has_timestamps": False},
        {"has_idents": False},
    ],
    ids=",".join,
)
def test_the_fate_of_each_segment_is_that_of_its_bytes(seed, about, matched):
    transfer = Transfer(seed, **about)
    rows = matched(transfer)
    assert check(transfer, rows).is_empty()
    assert rows.filter(fate="lost").height > 50
    assert rows.filter(fate="duplicated").height == transfer.copies


@pytest.mark.parametrize("seed", range(3))
def test_without_timestamps_and_identifications_no_fate_is_wrong(seed, matched):
    # A second copy could be one of a retransmission.
    transfer = Transfer(seed, version=6, has_timestamps=False, doubled=0)
    unknown = check(transfer, rows := matched(transfer))
    assert set(unknown["evidence"]) <= {"alike"}
    assert 0 < unknown.height < 0.6 * rows.height


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("about", [{}, {"is_cut": False}], ids=["cut", "merged"])
def test_records_that_a_capture_lacks_are_not_called_lost(seed, about, matched):
    transfer = Transfer(seed, **about)
    rows = matched(transfer, lacking=0.01)
    truth = pl.Series(transfer.lost.values())
    sent = rows.filter(pl.col("packet_sent").is_not_null()).with_columns(truth=truth)
    assert sent.filter(pl.col("fate") == "lost", pl.col("truth") == 0).is_empty()
    assert sent.filter(pl.col("fate") == "delivered", pl.col("truth") > 0).is_empty()
    assert sent.filter(fate="not_captured").height > 0


@pytest.mark.parametrize("offset", [-50 * MS, 3_600_000 * MS])
def test_they_do_not_depend_on_the_clocks(offset, matched):
    transfer = Transfer(1)
    assert check(transfer, matched(transfer, offset=offset)).is_empty()
