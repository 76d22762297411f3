"""Builds TCP conversations: a handshake, pings, a close.

In a ping the client sends 1,000 bytes, and the server acknowledges them. The captures of
`tests/data/threads` have the same parts.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import build
import polars as pl
from hypothesis import strategies as st

from flowsweep.captures import Table
from flowsweep.parsing import Settings

MS = 1_000_000
US = 1_000
RTT = 10 * MS
FIN, SYN, RST, ACK = 1, 2, 4, 16
#: Bytes of one ping.
PING = 1000


@dataclass(frozen=True)
class Kind:
    """What varies between conversations."""

    v6: bool = False
    vlan: int | None = None
    #: The client has the higher address, so the parser's flow keys reverse its packets.
    turned: bool = False
    #: IPv4 identifications increase; if False, all are 0.
    identified: bool = True
    client_isn: int = 1000
    server_isn: int = 500_000
    snaplen: int = 262_144


#: What no rule on sequence numbers may depend on: address family, tag, order, ISN, snap length.
KINDS = st.builds(
    Kind,
    v6=st.booleans(),
    vlan=st.sampled_from([None, 7]),
    turned=st.booleans(),
    client_isn=st.sampled_from([1000, 2**32 - 900]),
    snaplen=st.sampled_from([96, 262_144]),
)


@dataclass
class Conversation:
    """Packets of (time, frame), and what each side has sent so far."""

    kind: Kind = field(default_factory=Kind)
    packets: list[tuple[int, bytes]] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    ident: int = 100

    def __post_init__(self) -> None:
        self.sent = [self.kind.client_isn, self.kind.server_isn]

    def frame(
        self, side: int, flags: int, seq: int, ack: int, payload: int = 0, ttl: int = 64
    ) -> bytes:
        """Returns a frame of one side; side 0 is the client."""
        ends = [("10.0.0.1", 40000), ("10.0.0.2", 80)]
        if self.kind.turned:
            ends = [("10.0.0.9", 40000), ("10.0.0.2", 80)]
        if self.kind.v6:
            ends = [(f"fd00::{address.rsplit('.', 1)[1]}", port) for address, port in ends]
        (source, sport), (target, dport) = ends[side], ends[1 - side]
        frame = bytearray(
            build.tcp(
                source,
                sport,
                target,
                dport,
                flags,
                seq % 2**32,
                payload,
                ack % 2**32,
                window=65_535,
            )
        )
        network = 14
        transport = network + (40 if self.kind.v6 else 20)
        if not self.kind.v6:
            self.ident += 1
            ident = self.ident if self.kind.identified else 0
            frame[network + 4 : network + 6] = struct.pack(">H", ident)
        frame[network + (7 if self.kind.v6 else 8)] = ttl
        checksum = zlib.crc32(bytes(frame[transport:])) & 0xFFFF
        frame[transport + 16 : transport + 18] = struct.pack(">H", checksum)
        if self.kind.vlan is not None:
            frame[12:12] = struct.pack(">HH", 0x8100, self.kind.vlan)
        return bytes(frame)

    def send(self, time: int, side: int, flags: int = ACK, payload: int = 0) -> None:
        """Sends the next segment of a side; it acknowledges everything the other side sent."""
        ack = self.sent[1 - side] if flags & ACK else 0
        self.packets.append((time, self.frame(side, flags, self.sent[side], ack, payload)))
        self.sent[side] += payload + bool(flags & SYN) + bool(flags & FIN)

    def open(self, time: int) -> None:
        """Sends a SYN, a SYN-ACK after a round trip, and an ACK."""
        self.send(time, 0, SYN)
        self.send(time + RTT, 1, SYN | ACK)
        self.send(time + RTT + 10 * US, 0)

    def ping(self, time: int) -> None:
        """Sends 1,000 bytes, acknowledged after a round trip."""
        self.send(time, 0, payload=PING)
        self.send(time + RTT, 1)

    def close(self, time: int) -> None:
        """Sends a FIN, the other FIN after a round trip, and an ACK."""
        self.send(time, 0, FIN | ACK)
        self.send(time + RTT, 1, FIN | ACK)
        self.send(time + RTT + 10 * US, 0)

    def again(self, kind: Kind | None = None) -> Conversation:
        """Returns another connection on the same ports, whose packets follow these."""
        return Conversation(kind or self.kind, self.packets, ident=self.ident)

    def write(self, path: Path) -> Path:
        """Writes the capture and returns its path."""
        path.write_bytes(build.pcap(self.packets, snaplen=self.kind.snaplen))
        return path


def whole(kind: Kind, pings: int = 2) -> Conversation:
    """Returns a conversation from handshake to close, with a ping every 100 ms."""
    made = Conversation(kind)
    made.open(0)
    for number in range(pings):
        made.ping((number + 1) * 100 * MS)
    made.close((pings + 1) * 100 * MS)
    return made


def tables(path: Path, **settings: object) -> dict[str, pl.DataFrame]:
    """Returns all tables of a capture."""
    names = ("captures", "flows", "throughput", "packets", "messages")
    chosen = Settings(**settings)  # type: ignore[arg-type]
    return {name: pl.DataFrame(Table(name, (path,), chosen)) for name in names}
