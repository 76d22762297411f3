"""Deliberately damaged captures of the kept demo: records, times, addresses."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from ipaddress import ip_address
from pathlib import Path

from flowsweep import _parsers

DEMO = Path(__file__).parents[2] / "workflows/experiments/captured/demo/runs"
HEADER = 24
#: Nanoseconds, little-endian.
MAGIC = 0xA1B23C4D
#: Maps a record's number (from 0) and its time in ns to its new time; None removes the record.
Change = Callable[[int, int], int | None]


def copy_run(run: Path, folder: Path) -> Path:
    """Copies a run's captures, manifests and run.json, and returns the copy."""
    folder.mkdir(parents=True)
    for pattern in ("*.pcap.zst", "*.capture.json", "run.json"):
        for path in run.glob(pattern):
            shutil.copy(path, folder)
    return folder


def change(run: Path, host: str, change: Change) -> None:
    """Replaces the capture of `host` by one with changed times, and removes its manifest."""

    def rewrite(content: bytes) -> Iterator[bytes]:
        for number, (time, lengths, frame) in enumerate(_records(content)):
            if (new := change(number, time)) is not None:
                yield struct.pack("<II", *divmod(new, 10**9)) + lengths + frame

    _rewrite(run, host, rewrite)


def translate(run: Path, host: str, addresses: Mapping[str, str]) -> None:
    """Replaces IPv4 addresses in the capture of `host`, as a router with NAT does."""
    packed = {ip_address(old).packed: ip_address(new).packed for old, new in addresses.items()}

    def rewrite(content: bytes) -> Iterator[bytes]:
        for time, lengths, frame in _records(content):
            if frame[12:14] == b"\x08\x00":
                source, destination = (packed.get(one, one) for one in (frame[26:30], frame[30:34]))
                parts = (frame[:26], source, destination, frame[34:])
            else:
                parts = (frame,)
            yield b"".join((struct.pack("<II", *divmod(time, 10**9)), lengths, *parts))

    _rewrite(run, host, rewrite)


def _records(content: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yields time in ns, both length fields, and bytes of each record."""
    at = HEADER
    while at < len(content):
        seconds, rest, captured = struct.unpack_from("<III", content, at)
        end = at + 16 + captured
        yield seconds * 10**9 + rest, content[at + 8 : at + 16], content[at + 16 : end]
        at = end


def _rewrite(run: Path, host: str, rewrite: Callable[[bytes], Iterable[bytes]]) -> None:
    packed, plain = run / f"{host}.pcap.zst", run / f"{host}.pcap"
    unpacked = _parsers.Unpacked(packed, packed.name)
    content = b"".join(iter(unpacked.part, b""))
    assert struct.unpack_from("<I", content) == (MAGIC,)
    packed.unlink()
    (run / f"{host}.capture.json").unlink()
    plain.write_bytes(content[:HEADER] + b"".join(rewrite(content)))
