"""Reading: how a capture is split into files and among threads changes no number."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest
from build import pcap, tcp, udp
from test_parse_command import TABLES, flowsweep, tables_of

#: More packets than three chunks of the smallest size, most of different connections.
PACKETS, CONNECTIONS = 30_000, 4_000


@pytest.fixture(scope="module")
def packets() -> list[tuple[int, bytes]]:
    """Segments of many connections in a seeded order, with repeats, holes and equal times."""
    chance = random.Random(7)
    sent = [[1, 1] for _ in range(CONNECTIONS)]
    found, time = [], 0
    for _ in range(PACKETS):
        time += chance.choice([0, 1_000, 40_000, 3_000_000])
        number, back = chance.randrange(CONNECTIONS), chance.random() < 0.4
        state, payload = sent[number], chance.choice([0, 10, 1460])
        seq = state[back] - chance.choice([0, 0, 0, 10])
        here, there = ("10.0.0.1", 1024 + number), ("10.0.0.2", 80)
        ends = (*there, *here) if back else (*here, *there)
        frame = tcp(*ends, seq=max(seq, 0), ack=state[not back], payload=payload)
        found.append((time, frame))
        state[back] += payload + chance.choice([0, 0, 0, 1460])
    return found


def parse(
    folder: Path, *files: Path | str, threads: int = 1, data: bytes | None = None
) -> dict[str, pl.DataFrame]:
    options = ("--output", folder, "--packets", "--threads", threads)
    done = flowsweep("parse", *files, *options, data=data)
    assert done.returncode == 0, done.stderr
    return {name: pl.read_parquet(folder / f"{name}.parquet") for name in (*TABLES, "packets")}


@pytest.fixture(scope="module")
def whole(packets: list[tuple[int, bytes]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of `whole.pcap` and its tables, written with one thread."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "whole.pcap").write_bytes(pcap(packets))
    parse(folder / "tables", folder / "whole.pcap")
    return folder


@pytest.mark.parametrize("threads", [2, 3, 4])
def test_any_number_of_threads_gives_the_same_bytes(
    whole: Path, tmp_path: Path, threads: int
) -> None:
    parse(tmp_path, whole / "whole.pcap", threads=threads)
    assert tables_of(tmp_path) == tables_of(whole / "tables")


def test_a_pipe_gives_the_same_bytes_at_any_number_of_threads(tmp_path: Path) -> None:
    """The SYN comes after rows of its connection were written, which cannot be changed any more."""
    chance = random.Random(8)
    found = []
    for place in range(PACKETS * 4):
        # The number of connections grows and then shrinks, so that the chunk size does, too.
        number = chance.randrange(1 + min(place, PACKETS * 4 - place) // 2)
        late = place > PACKETS * 2 and chance.random() < 0.1
        client, server = ("10.0.0.1", 1024 + number), ("10.0.0.2", 80)
        ends = (*client, *server) if late else (*server, *client)
        # The SYN has the number 0, which the server acknowledges.
        numbers = {"flags": 2} if late else {"seq": place, "ack": 1}
        found.append((place * 1000, tcp(*ends, **numbers, payload=9)))
    data = pcap(found)
    (tmp_path / "whole.pcap").write_bytes(data)
    parse(tmp_path / "file", tmp_path / "whole.pcap")
    parse(tmp_path / "one", "-", data=data)
    for threads in (2, 3):
        parse(tmp_path / "more", "-", threads=threads, data=data)
        assert tables_of(tmp_path / "more") == tables_of(tmp_path / "one"), threads
    directions = [
        pl.read_parquet(tmp_path / name / "packets.parquet")["direction"].to_list()
        for name in ("file", "one")
    ]
    assert directions[0] != directions[1], "no row depends on the chunks: this tests nothing"


@pytest.mark.parametrize("deal", ["one after the other", "in turns"])
def test_several_files_are_one_capture(
    packets: list[tuple[int, bytes]], whole: Path, tmp_path: Path, deal: str
) -> None:
    # In turns; packets of equal time stay together, as their order across files is undefined.
    parts: list[list[tuple[int, bytes]]] = [[], [], []]
    for place, packet in enumerate(packets):
        part = place * 3 // len(packets) if deal.startswith("one") else packet[0] // 1_000 % 3
        parts[part].append(packet)
    files = []
    for number, part in enumerate(parts):
        files.append(tmp_path / f"{number}.pcap")
        files[-1].write_bytes(pcap(part))
    tables = parse(tmp_path / "tables", *reversed(files), threads=2)
    for name in ("flows", "intervals", "throughput", "messages"):
        expected = pl.read_parquet(whole / "tables" / f"{name}.parquet")
        assert tables[name].equals(expected), name
    times = tables["packets"]["time"]
    assert times.is_sorted()
    assert tables["packets"]["packet"].to_list() == list(range(1, PACKETS + 1))


def test_messages_hold_every_byte_once(whole: Path) -> None:
    flows = pl.read_parquet(whole / "tables/flows.parquet")
    messages = pl.read_parquet(whole / "tables/messages.parquet")
    total = flows["payload_bytes"].sum() - flows["retransmitted_bytes"].sum()
    assert messages["bytes"].sum() == total


def fragment(frame: bytes, *, offset: int, more: bool, ident: int) -> bytes:
    """Returns the same frame as one fragment of a packet."""
    word = (offset // 8 | (0x2000 if more else 0)).to_bytes(2, "big")
    return frame[:18] + ident.to_bytes(2, "big") + word + frame[22:]


def test_fragments_go_to_the_connection_of_the_first_one(tmp_path: Path) -> None:
    whole = udp("10.0.0.1", 5, "10.0.0.2", 6, payload=1400)
    other = udp("10.0.0.1", 7, "10.0.0.2", 6, payload=1400)
    path = tmp_path / "a.pcap"
    path.write_bytes(
        pcap(
            [
                (0, fragment(whole, offset=0, more=True, ident=1)),
                (1, fragment(other, offset=0, more=True, ident=2)),
                (2, fragment(whole, offset=1400, more=False, ident=1)),
                (3, fragment(whole, offset=1400, more=False, ident=9)),
            ]
        )
    )
    flows = parse(tmp_path / "tables", path)["flows"]
    found = flows.select("protocol", "src_port", "packets").rows()
    assert found == [("udp", 5, 2), ("udp", 7, 1), ("fragment", None, 1)]
