"""`flowsweep show`: its text on messages, and on what limited the sender."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from build import SECTION, arp, enhanced, ethernet, interface, ip, option, pcap, tcp, udp

import flowsweep
from flowsweep.analysis.capture_summary import LIMITS, Summary, _top, summarise
from flowsweep.render.terminal import capture

KEPT = Path(__file__).parents[1] / "truth" / "data" / "messages"
THREADS = Path(__file__).parents[1] / "data" / "threads"
CLIENT, SERVER = ("10.0.0.1", 1000), ("10.0.0.2", 80)


def test_three_pauses_make_four_messages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(
        pcap([
            (number * 100_000_000, tcp(*CLIENT, *SERVER, seq=number * 10, payload=10))
            for number in range(4)
        ])
    )  # fmt: skip
    summary = summarise(path)
    found = summary.messages
    assert (found["count"], found["p50_bytes"], found["max_bytes"]) == (4, 10, 10)
    capture.print_summaries([summary])
    messages, limits = (
        " ".join(capsys.readouterr().out.split()).split("messages ")[1].split("held by ")
    )
    assert messages.startswith("4 at least: median 10 B, p90 10 B, max 10 B;")
    # no acknowledgement: nothing shows on which side the capture was made
    assert messages.endswith("100 % seen where RTTs do not show how far ")
    assert limits == "cannot tell: no top flow was captured beside its sender"


@pytest.mark.usefixtures("narrow")
def test_messages_that_were_queued_or_seen_far_away_are_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # BBR at both hosts: requests are captured at their sender, responses far from theirs.
    path = KEPT / "bbr-16ms-100Mbit" / "pc1.pcap.zst"
    summary = summarise(path)
    found, rows = summary.messages, pl.DataFrame(flowsweep.read_messages(path))
    queued, far = rows.filter("merged_possible"), rows.filter(~pl.col("at_sender"))
    assert 0 < queued.height < far.height < rows.height == found["count"]
    assert found["queued_share"] * rows.height == pytest.approx(queued.height)
    assert found["queued_bytes_share"] * rows["bytes"].sum() == pytest.approx(queued["bytes"].sum())
    assert found["far_share"] * rows.height == pytest.approx(far.height)
    assert found["unplaced_share"] == 0
    capture.print_summaries([summary])
    text = " ".join(capsys.readouterr().out.split())
    assert f"messages {found['count']} at least: " in text
    assert "waited in a queue, and may be several writes each" in text
    assert f"{100 * found['far_share']:.0f} % seen far from the sender" in text


def flows(rtt_there_ns: int | None, rtt_back_ns: int | None) -> pl.DataFrame:
    """Returns a connection with 3 MB forward, limited by the network for three quarters."""
    shared = {
        "connection": 0, "protocol": "tcp", "duration_ns": 10**9, "packets": 9,
        "ip_bytes": 9,
        "retransmitted_packets": 0, "retransmitted_probes": 0,
        "sender_limited_ns": 0, "receiver_limited_ns": 0,
        "unknown_limited_ns": 0, "peer_wait_ns": 0,
    }  # fmt: skip
    ends = {"src_ip": "a", "src_port": 1, "dst_ip": "b", "dst_port": 2}
    there = {"direction": "forward", "payload_bytes": 3_000_000, "rtt_min_ns": rtt_there_ns,
             "app_limited_ns": 250, "network_limited_ns": 750}  # fmt: skip
    back = {"direction": "backward", "payload_bytes": 5, "rtt_min_ns": rtt_back_ns,
            "app_limited_ns": 1000, "network_limited_ns": 0}  # fmt: skip
    return pl.DataFrame([shared | ends | there, shared | ends | back])


@pytest.mark.parametrize(
    ("there", "back", "line"),
    [
        (5_000_000, 9_000, "application 25.0 %, network 75.0 %  (1 top flow sent from here)"),
        (9_000, 5_000_000, "application 100.0 %  (1 top flow sent from here)"),
        (5_000_000, 4_000_000, "cannot tell: no top flow was captured beside its sender"),
        (None, None, "cannot tell: no top flow was captured beside its sender"),
    ],
)
def test_limits_are_reported_only_beside_the_sender(
    there: int | None, back: int | None, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = Summary("a.pcap", ["ETHERNET"], 96, 1, 1.0, 18, 3_001_000, 1, damaged=False)
    summary.top = _top(flows(there, back))
    capture.print_summaries([summary])
    assert capsys.readouterr().out.splitlines()[-1] == f"held by   {line}"


def shown(path: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Returns the lines that `show` prints for a capture in 80 columns."""
    path.write_bytes(content)
    capture.print_summaries([summarise(path)])
    return capsys.readouterr().out.splitlines()


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.usefixtures("narrow")
def test_long_addresses_stay_whole_in_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    west, east = (f"2001:db8:1234:5678:9abc:def0:1234:567{digit}" for digit in "89")
    frame = tcp(west, 54321, east, 65432, payload=1000)
    lines = shown(tmp_path / "a.pcap", pcap([(0, frame), (10**9, frame)]), capsys)
    assert max(map(len, lines)) <= 80
    flow = lines.index(f"        from  [{west}]:54321")
    assert lines[flow + 1] == f"        to    [{east}]:65432"
    assert lines[flow - 1].split() == ["0", "tcp", "2", "kB", "1", "s", "16", "kbit/s", "1"]


@pytest.mark.usefixtures("narrow")
def test_a_name_longer_than_a_line_loses_its_middle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(tmp_path / f"first-{'x' * 90}-last.pcap", pcap([]), capsys)
    assert len(lines[0]) == 80
    assert lines[0].startswith("first-xxx")
    assert "x...x" in lines[0]
    assert lines[0].endswith("xxx-last.pcap")
    assert lines[1].startswith("  Ethernet, ")


@pytest.mark.usefixtures("narrow")
def test_what_held_senders_back_goes_on_in_the_next_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    summary = Summary("a.pcap", ["ETHERNET"], 96, 1, 1.0, 18, 3_001_000, 1, damaged=False)
    shares = dict.fromkeys(LIMITS, 200)
    summary.top = _top(flows(5_000_000, 9_000).with_columns(**{
        name: pl.lit(share) for name, share in shares.items()
    }))  # fmt: skip
    capture.print_summaries([summary])
    *_, first, second = capsys.readouterr().out.splitlines()
    names = ", ".join(f"{name} 20.0 %" for name in LIMITS.values())
    text = f"held by {names} (1 top flow sent from here)"
    assert f"{first} {second}".split() == text.split()
    assert max(len(first), len(second)) <= 80


@pytest.mark.parametrize(
    ("group", "others"),
    [
        ("224.0.0.251", ("10.0.0.1", "10.0.0.2")),
        ("239.255.255.250", ("10.0.0.1", "10.0.0.2")),
        ("255.255.255.255", ("10.0.0.1", "10.0.0.2")),
        ("10.0.0.255", ("10.0.0.1", "10.0.0.2")),
        ("ff02::fb", ("fe80::1", "fe80::2")),
    ],
)
def test_the_summary_is_of_a_host_and_not_of_a_group(
    tmp_path: Path, group: str, others: tuple[str, str]
) -> None:
    path = tmp_path / "a.pcap"
    frames = [udp(one, 5353, group, 5353, payload=900) for one in (others[0], *others)]
    frames += [udp(others[1], 9, others[0], 9, payload=100)]
    path.write_bytes(pcap([(number * 1_000_000, frame) for number, frame in enumerate(frames)]))
    assert summarise(path).host == others[0]


def test_a_capture_without_ip_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(tmp_path / "a.pcap", pcap([(0, arp()), (2_000_000, arp())]), capsys)
    assert lines[1] == "2 ms  2 packets  120 B on the wire  0 connections"
    text = " ".join(" ".join(lines).split())
    no_ip = "2 packets in which no IP can be read, such as ARP or encrypted frames: in no flow"
    assert text.endswith(f"{no_ip} (100.0 %)")


def test_time_that_goes_back_counts_from_the_earliest_packet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = udp("10.0.0.1", 1, "10.0.0.2", 2)
    day = 24 * 3600 * 10**9
    lines = shown(tmp_path / "a.pcap", pcap([(7 * day, frame), (0, frame)]), capsys)
    assert lines[1].startswith("7 days  2 packets  ")
    remark = "1 packet earlier than the one before (50.0 %), by at most 7 days"
    assert remark in " ".join(" ".join(lines).split())


@pytest.mark.usefixtures("narrow")
def test_damage_is_reported_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = pcap([(0, udp("10.0.0.1", 1, "10.0.0.2", 2))])
    lines = shown(tmp_path / "a.pcap", whole + bytes(7), capsys)
    start = next(number for number, line in enumerate(lines) if line.startswith("  bad "))
    assert " ".join(" ".join(lines[start : start + 2]).split()) == (
        f"bad cut or damaged at packet 2, byte {len(whole)}; what came before was kept"
        " (found 7 bytes, then the end of the file; expected a record header of 16 bytes)"
    )


@pytest.mark.parametrize("times", [1, 2])
def test_packets_that_were_all_captured_twice_are_reported(times: int, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(
        pcap([
            (number * 1_000_000 + copy, tcp(*CLIENT, *SERVER, seq=number * 10, payload=10))
            for number in range(60)
            for copy in range(times)
        ])
    )  # fmt: skip
    texts = [note.text for note in summarise(path).notes]
    remark = (
        "60 packets recorded twice, as on a bridge and its port: copies count in no rate, total,"
        " retransmission or RTT"
    )
    assert (f"{remark} (50.0 %)" in texts) == (times == 2)


def test_brackets_in_a_name_are_not_markup(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(tmp_path / "a[red]b.pcap", pcap([]), capsys)[0].startswith("a[red]b.pcap  ")


def test_no_mean_exceeds_the_busiest_bin(tmp_path: Path) -> None:
    """There are as many bins as packets, and one interval less between the first and the last."""
    frames = [(n * 10_000_000, tcp(*CLIENT, *SERVER, seq=n, payload=1)) for n in range(20)]
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(frames))
    summary = summarise(path)
    assert summary.mean_out_mbit_s == pytest.approx(max(summary.out_mbit_s))


def test_bins_of_other_hosts_are_empty_for_this_one(tmp_path: Path) -> None:
    others = ("10.7.0.1", 1000), ("10.7.0.2", 80)
    frames = [(number, tcp(*CLIENT, *SERVER, seq=number, payload=1)) for number in range(20)]
    frames += [
        (number * 10_000_000, tcp(*others[0], *others[1], seq=number, payload=1))
        for number in range(1, 10)
    ]
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(frames))
    assert summarise(path).empty_bins == pytest.approx(0.9)


@pytest.mark.usefixtures("narrow")
def test_no_rate_rests_on_packets_without_a_time_of_their_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # 2 of 3 packets are Simple Packet Blocks.
    (path,) = THREADS.glob("35-*")
    summary = summarise(path)
    assert summary.borrowed_times == 2
    assert summary.out_mbit_s == summary.in_mbit_s == []
    assert summary.mean_out_mbit_s is None
    assert {row["mbit_s"] for row in summary.top} == {None}
    capture.print_summaries([summary])
    text = " ".join(capsys.readouterr().out.split())
    assert "throughput not measurable: 2 packets with no recorded time" in text
    assert "bit/s" not in text


def test_a_merged_packet_at_the_beginning_makes_no_more_bins_than_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The packet was in transit before the capture began: no bin covers that time."""
    frames = [(0, tcp(*CLIENT, *SERVER, payload=20_000))]
    frames += [
        (number * 10_000_000, tcp(*CLIENT, *SERVER, seq=20_000 + number, payload=1))
        for number in range(1, 15)
    ]
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(frames))
    summary = summarise(path)
    assert summary.shortest_ms is not None
    assert summary.shortest_ms > 100
    assert summary.empty_bins == 0
    capture.print_summaries([summary])
    assert "0 % of" in capsys.readouterr().out


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("protocol", [50, 132])
def test_no_payload_is_named_where_none_was_read(
    protocol: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    big = [ethernet(ip("10.0.0.1", "10.0.0.2", protocol, bytes([0, 9, 0, 9]) * 300, ident=n))
           for n in range(1, 20)]  # fmt: skip
    small = [udp(*CLIENT, "10.0.0.3", 53, payload=10 + number) for number in range(5)]
    packets = [(number * 10**6, frame) for number, frame in enumerate(big + small)]
    lines = shown(tmp_path / "a.pcap", pcap(packets), capsys)
    [row] = [line for line in lines if " esp " in line or " sctp " in line]
    assert lines.index(row) < next(n for n, line in enumerate(lines) if " udp " in line)
    assert " B" not in row
    assert "bit/s" not in row


@pytest.mark.usefixtures("narrow")
def test_cut_segments_have_no_payload_and_no_line_is_too_long(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frames = [tcp("fd00::1", 1, "fd00::2", 2, seq=n * 900, payload=900) for n in range(20)]
    packets = [(number * 10**6, frame) for number, frame in enumerate(frames)]
    lines = shown(tmp_path / "a.pcap", pcap(packets, snaplen=64), capsys)
    assert max(map(len, lines)) <= 80
    [row] = [line for line in lines if "[fd00::1]:1" in line]
    assert " B" not in row


def test_an_rtt_below_the_resolution_of_the_time_stamps_is_not_zero(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "seconds.pcapng"
    frames = [
        tcp(*CLIENT, *SERVER, flags=0x02),
        tcp(*SERVER, *CLIENT, flags=0x12, ack=1),
        tcp(*CLIENT, *SERVER, seq=1, ack=1, payload=10),
        tcp(*SERVER, *CLIENT, seq=1, ack=11),
    ]
    # if_tsresol 0: a tick is a second.
    blocks = [
        SECTION,
        interface(option(9, b"\x00")),
        *(enhanced(1_700_000_000, one) for one in frames),
    ]
    path.write_bytes(b"".join(blocks))
    capture.print_summaries([summarise(path)])
    text = capsys.readouterr().out
    assert "1 s stamps" in text
    assert "<1 s" in text
    # The clock does not show in which 10 ms of a second a packet came.
    assert "1 column of 1 s, height" in text


def test_the_coarsest_time_stamps_of_those_that_were_used_are_named(tmp_path: Path) -> None:
    path = tmp_path / "mixed.pcapng"
    units = [b"\x09", b"\x06", b"\x03"]
    frame = tcp(*CLIENT, *SERVER, flags=0x02)
    described = b"".join(interface(option(9, unit)) for unit in units)
    packets = enhanced(10**18, frame) + enhanced(10**15, frame, number=1)
    path.write_bytes(SECTION + described + packets)
    assert summarise(path).resolution_ns == 1000
