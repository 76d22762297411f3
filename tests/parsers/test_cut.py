"""A truncated compressed capture is read up to the cut and reported as truncated."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import warnings
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from build import pcap, tcp

import flowsweep
from flowsweep.parsing import CaptureError

PACKETS = 1_000
PACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
    "lz4": lambda data: pa.compress(data, codec="lz4", asbytes=True),
}


@pytest.mark.parametrize("suffix", PACK)
def test_where_the_end_lacks_it_is_reported(tmp_path: Path, suffix: str) -> None:
    draw = random.Random(1)
    frame = tcp("10.0.0.1", 1000, "10.0.0.2", 80, payload=60)
    frames = [frame[:54] + draw.randbytes(60) for _ in range(PACKETS)]
    plain = pcap([(number * 1_000, frame) for number, frame in enumerate(frames)])
    # A format with independent blocks is also cut between two blocks.
    packed = PACK[suffix](plain)
    cuts = {1, 2, 3, 4, 8, 12, *draw.sample(range(16, len(packed)), 30)}
    path = tmp_path / f"cut.pcap.{suffix}"
    for left in sorted(cuts):
        path.write_bytes(packed[: len(packed) - left])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = pl.DataFrame(flowsweep.read_captures(path))["packets"].sum()
            except CaptureError:
                continue  # not even the file header is left
        assert [one.category for one in caught] == [flowsweep.DamagedCaptureWarning], left
        assert found <= PACKETS
    path.write_bytes(packed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pl.DataFrame(flowsweep.read_captures(path))["packets"].sum() == PACKETS


def test_lz4_that_is_cut_between_two_blocks_is_reported(tmp_path: Path) -> None:
    """The block ends with a record: only the missing end mark shows that more followed."""
    draw = random.Random(1)
    frame = tcp("10.0.0.1", 1000, "10.0.0.2", 80, payload=954)
    # The file header takes 24 bytes and each record header 16.
    sizes = [1024 - 16 - 24, *[1024 - 16] * 3_000]
    frames = [frame[:54] + draw.randbytes(size - 54) for size in sizes]
    packed = PACK["lz4"](pcap([(number * 1_000, frame) for number, frame in enumerate(frames)]))
    at, ends = 7, []
    while size := int.from_bytes(packed[at : at + 4], "little"):
        at += 4 + (size & 0x7FFF_FFFF)
        ends.append(at)
    assert len(ends) > 10
    assert at + 4 == len(packed)
    path = tmp_path / "cut.pcap.lz4"
    for number, end in enumerate(ends, start=1):
        path.write_bytes(packed[:end])
        with pytest.warns(flowsweep.DamagedCaptureWarning, match="end mark"):
            found = pl.DataFrame(flowsweep.read_captures(path))
        assert found["packets"].sum() == min(64 * number, len(frames))
