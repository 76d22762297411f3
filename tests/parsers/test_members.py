"""Compressed streams of many members, most of them empty."""

from __future__ import annotations

import bz2
import gzip
import lzma
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from build import pcap, tcp

EMPTY = {
    "gz": gzip.compress(b"", mtime=0),
    "bz2": bz2.compress(b"", 9),
    "xz": lzma.compress(b""),
    "zst": bytes.fromhex("28b52ffd2400010000 99e9d851".replace(" ", "")),
    "lz4": bytes.fromhex("04224d18 604082 00000000".replace(" ", "")),
}
#: A complete zstd frame without compression: the header, one raw block, no checksum.
RAW = bytes.fromhex("28b52ffd a0")


def packed(kind: str, content: bytes) -> bytes:
    """Returns `content` as one member."""
    if kind == "zst":
        # Single segment, 4 bytes of length; one raw block, which is the last.
        block = (len(content) << 3 | 1).to_bytes(3, "little")
        return RAW + len(content).to_bytes(4, "little") + block + content
    if kind == "lz4":
        # No checksums; one uncompressed block, and the end mark.
        block = (len(content) | 1 << 31).to_bytes(4, "little")
        return EMPTY["lz4"][:7] + block + content + bytes(4)
    modules: dict[str, Any] = {"gz": gzip, "bz2": bz2, "xz": lzma}
    return bytes(modules[kind].compress(content))


@pytest.fixture(scope="module")
def halves() -> tuple[bytes, bytes]:
    frames = [(number, tcp("10.0.0.1", 5, "10.0.0.2", 80, seq=number)) for number in range(40)]
    whole = pcap(frames)
    return whole[:1000], whole[1000:]


@pytest.mark.parametrize("kind", EMPTY)
@pytest.mark.parametrize("count", [17, 100_000])
def test_what_follows_empty_members_is_read_and_soon(
    tmp_path: Path, halves: tuple[bytes, bytes], kind: str, count: int
) -> None:
    first, second = halves
    path = tmp_path / f"a.pcap.{kind}"
    empty = EMPTY[kind] * count
    path.write_bytes(empty + packed(kind, first) + empty + packed(kind, second) + empty)
    # Slow handling of 400,000 empty members of bzip2 takes 1.5 minutes of CPU time.
    limit = partial(resource.setrlimit, resource.RLIMIT_CPU, (15, 15))
    done = subprocess.run(
        [sys.executable, "-m", "flowsweep", "parse", path, "--output", tmp_path / "tables"],
        capture_output=True, text=True, check=False, preexec_fn=limit,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "40 packets, 1 connection " in done.stderr
