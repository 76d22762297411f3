"""`flowsweep sequence`: the segments of a connection by sequence number and kind."""

from __future__ import annotations

import subprocess
from pathlib import Path

import forks
import polars as pl
import pytest
from collection import PCAPS, rows
from conversation import ACK, MS, RST, RTT, Conversation, Kind, whole
from hypothesis import given, settings
from hypothesis import strategies as st

import flowsweep
from flowsweep.analysis import sequence
from flowsweep.analysis.sequence import AGAIN, FILLING, NEW, OUTSIDE

#: Larger captures take long, and add no other kind of segment.
LARGEST_B = 1_000_000
#: Segments that repeat some bytes and add others: flows count them as both or as repeated.
PARTLY = {"blitz-tcptrace/first_seg_ooo.dmp.gz", "wireshark-wireshark/retrans-tls.pcap"}
#: Segments outside the window according to another connection's acknowledgements.
WILD = {"ntop-nDPI/reasm_crash_anon.pcapng", "arkime-arkime/tcpseq_synthetic.pcap"}
SENT = 1_000


def read(made: Conversation, folder: Path) -> sequence.Connection:
    return sequence.read([made.write(folder / "a.pcap")])


@pytest.mark.parametrize("kind", [Kind(), Kind(v6=True), Kind(turned=True, vlan=5)])
@pytest.mark.parametrize("isn", [1_000, 2**32 - 1_001, 2**31 - 500, 2**32 - 1])
def test_bytes_count_from_the_first_one(kind: Kind, isn: int, tmp_path: Path) -> None:
    made = whole(Kind(kind.v6, kind.vlan, kind.turned, client_isn=isn), pings=3)
    client, server = read(made, tmp_path).sides
    assert client.segments["low"].to_list() == [0, 1_000, 2_000]
    assert client.segments["high"].to_list() == [1_000, 2_000, 3_000]
    assert client.segments["time_ns"].to_list() == [100 * MS, 200 * MS, 300 * MS]
    # a FIN takes a sequence number, too
    assert client.acknowledged["high"].to_list() == [0, 1_000, 2_000, 3_000, 3_001]
    assert client.windows["high"][0] == 65_535
    assert client.counts == {NEW: 3, AGAIN: 0, FILLING: 0, OUTSIDE: 0}
    assert server.segments.is_empty()


def test_text_in_a_reset_is_no_data(tmp_path: Path) -> None:
    made = whole(Kind(), pings=2)
    made.send(900 * MS, 1, RST | ACK, payload=40)
    _, server = read(made, tmp_path).sides
    assert server.segments.is_empty()


@given(
    order=st.lists(st.integers(0, 11), max_size=30),
    isn=st.sampled_from([5, 2**32 - 4_000]),
)
@settings(max_examples=60, deadline=None)
def test_kinds_are_those_of_the_bytes_that_were_captured(
    order: list[int], isn: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Segments of 1,000 bytes in any order, checked against the set of captured bytes."""
    made = Conversation(Kind(client_isn=isn))
    made.open(0)
    seen: set[int] = set()
    expected = []
    for number, place in enumerate(order):
        frame = made.frame(0, ACK, isn + 1 + place * SENT, 500_001, SENT)
        made.packets.append((RTT + (number + 1) * MS, frame))
        above = place > max(seen, default=-1)
        expected.append(AGAIN if place in seen else NEW if above else FILLING)
        seen.add(place)
    client, _ = read(made, tmp_path_factory.mktemp("order")).sides
    assert client.segments["kind"].to_list() == expected
    assert client.segments["low"].to_list() == [place * SENT for place in order]


def test_a_segment_beyond_the_window_does_not_make_the_others_repetitions(tmp_path: Path) -> None:
    made = whole(Kind(), pings=1)
    wild = made.frame(0, ACK, made.kind.client_isn + 5_000_000, made.sent[1], 10)
    made.packets.insert(3, (50 * MS, wild))
    client, _ = read(made, tmp_path).sides
    assert client.segments["kind"].to_list() == [OUTSIDE, NEW]


CAPTURES = [
    row["file"]
    for row in rows("oracle/files.csv")
    if row["file"] not in PARTLY | WILD
    and row["container"] in ("pcap", "pcapng")
    and (PCAPS / row["file"]).stat().st_size < LARGEST_B
]


@pytest.mark.parametrize("name", CAPTURES)
@pytest.mark.filterwarnings("ignore::flowsweep.DamagedCaptureWarning")
def test_counts_are_those_of_flows(name: str) -> None:
    """For sides without a repeated SYN or FIN, probes of a closed window or keep-alives."""
    path = PCAPS / name
    plain = pl.DataFrame(flowsweep.read_flows(path)).filter(
        pl.col("syn_packets") < 2,
        pl.col("fin_packets") < 2,
        protocol="tcp",
        window_probes=0,
        keep_alives=0,
    )
    for number in plain["connection"].unique().sort().head(5):
        found = sequence.read([path], number)
        for way, side in zip(("forward", "backward"), found.sides, strict=True):
            for row in plain.filter(connection=number, direction=way).iter_rows(named=True):
                counts = side.counts
                assert counts[AGAIN] == row["retransmitted_packets"]
                assert counts[FILLING] == row["out_of_order_packets"]
                assert counts[OUTSIDE] == row["outside_window_packets"]


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return forks.run("flowsweep", "sequence", *words)


def test_each_format_is_written(tmp_path: Path) -> None:
    capture = whole(Kind()).write(tmp_path / "a.pcap")
    begins = {"svg": b"<svg", "pdf": b"%PDF", "png": b"\x89PNG"}
    for suffix, begin in begins.items():
        output = tmp_path / f"a.{suffix}"
        done = command(str(capture), "-o", str(output), "--width", "88")
        assert done.returncode == 0, done.stderr
        assert output.read_bytes().startswith(begin)
        assert "10.0.0.1:40000 → 10.0.0.2:80: 2 new data" in done.stdout
    assert 'width="88mm"' in (tmp_path / "a.svg").read_text()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("-o", "a.txt"), ".svg, .pdf, .png"),
        (("-o", "a.svg", "--connection", "7"), "no TCP connection has the number 7"),
        (("-o", "a.svg", "--from", "150ms", "--to", "160ms"), "no segment with payload"),
        (("-o", "a.svg", "--from", "2s", "--to", "1s"), "no segment with payload"),
    ],
)
def test_what_cannot_be_drawn_is_an_error(
    words: tuple[str, ...], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    capture = whole(Kind()).write(tmp_path / "a.pcap")
    done = command(str(capture), *words)
    assert done.returncode == 2
    assert text in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.pcap"]


def test_a_cut_capture_is_drawn_and_reported(tmp_path: Path) -> None:
    capture = whole(Kind()).write(tmp_path / "a.pcap")
    capture.write_bytes(capture.read_bytes()[:-20])
    done = command(str(capture), "-o", str(tmp_path / "a.svg"))
    assert done.returncode == 1
    assert done.stderr.count("warning") == 1
    assert (tmp_path / "a.svg").exists()
