"""Real captures, split, compressed, piped and shared among threads: the same tables."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import random
import struct
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from collection import PCAPS, by_size

from flowsweep import _parsers
from flowsweep.parsing import Settings

TABLES = ("captures", "flows", "intervals", "throughput", "messages", "rdma", "packets")
#: Byte orders, pcapng, tunnels, tags, fragments, losses, a loopback interface.
SMALL = (
    "CESNET-ipfixprobe/functional/inputs/http.pcap",
    "OISF-suricata-verify/vxlan-decoder-03/vxlan.pcap",
    "m-lab-packet-headers/large-ndt.pcap",
    "seladb-PcapPlusPlus/Pcap++Test/PcapExamples/nanosecs_big_endian.pcap",
    "seladb-PcapPlusPlus/Pcap++Test/PcapExamples/one_tcp_stream_max_seq.pcap",
    "threads/46-roce-nak.pcap",
    "zeek-zeek/contentline/contentline-irc-5k-line.pcap",
    "zeek-zeek/dhcp/dhcp-unique-xid-join-data-growth.pcapng",
    "zeek-zeek/pppoe-over-qinq.pcap",
    "zeek-zeek/trunc/mpls-6in6-broken.pcap.gz",
)
#: More of each, times that go back, and a flood.
LARGE = (
    "appneta-tcpreplay/test.rewrite_l7fuzzing",
    "arkime-arkime/arkime_synthetic.pcap",
    "blitz-tcptrace/first_seg_ooo.dmp.gz",
    "blitz-tcptrace/hardware_dups.dmp.gz",
    "cisco-mercury/pppoe_double_vlan_tagging.pcap",
    "m-lab-packet-headers/large-ndt.pcap",
    "nfstream-nfstream/ftp.pcap",
    "ntop-nDPI/ip_fragmented_garbage.pcap",
    "ntop-nDPI/reasm_crash_anon.pcapng",
    "ntop-nDPI/synscan.pcap",
    "wireshark-wireshark/grpc_stream_reassembly_sample.pcapng.gz",
    "zeek-zeek/irc-dcc-send.pcapng",
    "zeek-zeek/tcp/timestamp.pcap",
    "zeek-zeek/trunc/mpls-6in6-broken.pcap.gz",
)
FILES = by_size(SMALL, LARGE)
#: Columns with a packet's place in its file.
PLACES = ("file", "interface", "file_offset")
CUTS = 4

Tables = dict[str, bytes]


def parse(folder: Path, *paths: Path, threads: int = 1) -> Tables:
    """Returns the tables' bytes; all files get the same name, which is part of the tables."""
    folder.mkdir(exist_ok=True)
    files = {table: folder / f"{table}.parquet" for table in TABLES}
    for path in files.values():
        path.unlink(missing_ok=True)
    _parsers.parse(
        [(path, "capture") for path in paths],
        {table: (path, str(path)) for table, path in files.items()},
        Settings(),
        threads=threads,
        manifests={},
        notes=[],
        progress=None,
    )
    return {table: path.read_bytes() for table, path in files.items()}


def plain(path: Path) -> bytes:
    """Returns the uncompressed bytes of a capture."""
    content = path.read_bytes()
    return gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content


def by_pyarrow(kind: str) -> Callable[[bytes], bytes]:
    """Returns a compressor that Python itself lacks."""

    def compress(content: bytes) -> bytes:
        pyarrow = pytest.importorskip("pyarrow")
        packed = pyarrow.BufferOutputStream()
        with pyarrow.CompressedOutputStream(packed, kind) as stream:
            stream.write(content)
        return bytes(packed.getvalue())

    return compress


PACKED = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lambda content: lzma.compress(content, preset=0),
    "zstd": by_pyarrow("zstd"),
    "lz4": by_pyarrow("lz4"),
}


@pytest.fixture(scope="module", params=FILES)
def capture(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Tables]:
    """A plain capture and its tables, made with one thread."""
    path = tmp_path_factory.mktemp("plain") / "capture"
    path.write_bytes(plain(PCAPS / request.param))
    return path, parse(path.parent / "tables", path)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads(capture: tuple[Path, Tables], tmp_path: Path, threads: int) -> None:
    path, tables = capture
    assert parse(tmp_path, path, threads=threads) == tables


def long_packets(kind: str) -> bytes:
    """Returns a capture of 12 MB with long packets that look like captures inside."""
    chance = random.Random(kind)
    pcapng = kind == "pcapng"
    section = struct.pack("<IIIIII", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, *[2**32 - 1] * 2)
    section += struct.pack("<IIIIIII", 28, 1, 20, 1, 0, 20, 6)[:-4]
    parts = [section if pcapng else struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)]

    def record(second: int, frame: bytes) -> bytes:
        if not pcapng:
            return struct.pack("<IIII", second, second % 1000, len(frame), len(frame)) + frame
        padded = frame + bytes(-len(frame) % 4)
        head = struct.pack("<IIIII", 0, 0, second, len(frame), len(frame))
        length = struct.pack("<I", 12 + len(head) + len(padded))
        return struct.pack("<I", 6) + length + head + padded + length

    for second in range(9000):
        inside = bytes(1200)
        if chance.random() < 0.5:
            inside = b"".join(record(chance.randrange(99), bytes(60)) for _ in range(15))
        inside += chance.randbytes(chance.randrange(300))
        ports = struct.pack(">HH", 1024 + chance.randrange(5), 80)
        udp = ports + struct.pack(">HH", 8 + len(inside), 0) + inside
        ip = struct.pack(">BBHIBBHII", 0x45, 0, 20 + len(udp), 0, 64, 17, 0, 1, 2) + udp
        parts.append(record(second, bytes(12) + b"\x08\x00" + ip))
        if pcapng and chance.random() < 0.001:
            parts.append(section)
    return b"".join(parts)


@pytest.mark.parametrize("cut", [0, 3, 700])
@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_long_packets(tmp_path: Path, kind: str, cut: int) -> None:
    """Several threads read ahead in a large file."""
    path = tmp_path / kind
    content = long_packets(kind)
    path.write_bytes(content[: len(content) - cut])
    tables = parse(tmp_path / "one", path)
    assert parse(tmp_path / "two", path, threads=2) == tables
    assert parse(tmp_path / "four", path, threads=4) == tables
    rows = pl.read_parquet(tmp_path / "one" / "captures.parquet")
    assert rows["packets"].sum() == (8999 if cut else 9000)
    assert rows["undecoded_packets"].sum() == 0


@pytest.mark.parametrize("kind", PACKED)
def test_compression(capture: tuple[Path, Tables], tmp_path: Path, kind: str) -> None:
    path, tables = capture
    packed = tmp_path / "packed"
    packed.write_bytes(PACKED[kind](path.read_bytes()))
    assert parse(tmp_path / "tables", packed, threads=2) == tables


def test_pipe(capture: tuple[Path, Tables], tmp_path: Path) -> None:
    path, tables = capture
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    feeder = threading.Thread(target=pipe.write_bytes, args=[path.read_bytes()])
    feeder.start()
    found = parse(tmp_path / "tables", pipe)
    feeder.join()
    assert found == tables


def test_several_files(capture: tuple[Path, Tables], tmp_path: Path) -> None:
    path, tables = capture
    chance = random.Random(path.stat().st_size)
    cuts = cuts_of(path)
    for cut in chance.sample(cuts, min(CUTS, len(cuts))):
        same_from(tmp_path, parts(path.read_bytes(), [cut], [0, 1]), path, tables)


@pytest.mark.parametrize("hands", [3, 70])
def test_files_by_turns(capture: tuple[Path, Tables], tmp_path: Path, hands: int) -> None:
    path, tables = capture
    chance = random.Random(path.stat().st_size)
    cuts = cuts_of(path)
    turns = [chance.randrange(hands) for _ in range(len(cuts) + 1)]
    same_from(tmp_path, parts(path.read_bytes(), cuts, turns), path, tables)


def cuts_of(path: Path) -> list[int]:
    cuts = clean_cuts(frames(path.parent / "tables")["packets"])
    if not cuts:
        pytest.skip("nowhere are all packets before earlier than all behind")
    return cuts


def same_from(folder: Path, parts: list[bytes], path: Path, tables: Tables) -> None:
    """Asserts that the parts give the tables of `path`, except for the places of packets."""
    paths = [folder / f"part{number}" for number in range(len(parts))]
    for part, packets in zip(paths, parts, strict=True):
        part.write_bytes(packets)
    found = parse(folder / "tables", *paths, threads=2)
    for table in TABLES[1:5]:
        assert found[table] == tables[table], table
    joined, whole = frames(folder / "tables"), frames(path.parent / "tables")
    assert (
        joined["packets"]
        .drop(PLACES, strict=False)
        .equals(whole["packets"].drop(PLACES, strict=False))
    )
    assert totals(joined["captures"]).equals(totals(whole["captures"]))


def frames(folder: Path) -> dict[str, pl.DataFrame]:
    """Returns the tables that contain packets' places."""
    return {
        table: pl.read_parquet(folder / f"{table}.parquet") for table in ("captures", "packets")
    }


def totals(captures: pl.DataFrame) -> pl.DataFrame:
    """Returns the additive counts; super-packets are not, as they depend on MSSs seen before."""
    numbers = captures.select(pl.selectors.numeric()).drop(
        "interface", "snaplen", "ts_resolution_ns", "super_packets", "largest_step_back_ns"
    )
    return numbers.sum()


def clean_cuts(packets: pl.DataFrame) -> list[int]:
    """Returns indexes where all earlier packets have earlier times than all later ones."""
    times = packets["time"].dt.epoch("ns")
    before = times.cum_max().shift(1)
    behind = times.cum_min(reverse=True)
    clean = (before < behind).fill_null(False)
    return [int(place) for place in clean.arg_true()]


def parts(content: bytes, cuts: list[int], turns: list[int]) -> list[bytes]:
    """Returns captures of the packets between `cuts`, from 0; `turns` assigns each piece to one."""
    ends, head = (pcapng_ends if content.startswith(b"\n\r\r\n") else pcap_ends)(content)
    found: dict[int, bytes] = {}
    places = [head, *(ends[cut] for cut in cuts), len(content)]
    for turn, (begin, end) in zip(turns, pairwise(places), strict=True):
        found[turn] = found.get(turn, content[:head]) + content[begin:end]
    return list(found.values())


def pcap_ends(content: bytes) -> tuple[list[int], int]:
    """Returns where each record of a classic capture begins, and where the first does."""
    order = "<" if content[0] in (0xD4, 0x4D) else ">"
    places, at = [], 24
    while at + 16 <= len(content):
        places.append(at)
        at += 16 + struct.unpack_from(f"{order}I", content, at + 8)[0]
    return places, 24


def pcapng_ends(content: bytes) -> tuple[list[int], int]:
    """Returns the same for blocks with a packet, in one section that begins with its interfaces."""
    order = "<" if content[8] == 0x4D else ">"
    places, at = [], 0
    while at + 12 <= len(content):
        kind, length = struct.unpack_from(f"{order}II", content, at)
        if kind in (2, 3, 6):
            places.append(at)
        at += length
    return places, places[0]
