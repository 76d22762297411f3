"""Packets that offloading merged or did not split yet, also in UDP and inside tunnels."""

from __future__ import annotations

import struct

import pytest
from build import datagram, ethernet, ip, pcap, tcp
from made_captures import Tables, tables, thread

V4, V6 = ("10.0.0.1", "10.0.0.2"), ("2001:db8::1", "2001:db8::2")
MS = 1_000_000


def datagrams(
    payloads: list[int],
    *,
    ends: tuple[str, str] = V4,
    vlan: int | None = None,
    tunnel: str | None = None,
    before: list[bytes] = [],  # noqa: B006
    snaplen: int = 262_144,
) -> Tables:
    """Returns UDP datagrams of one flow, a millisecond apart, after the frames `before`."""
    frames = [*before]
    for payload in payloads:
        frame = ethernet(ip(*ends, 17, datagram(50_000, 443, payload)), vlan=vlan)
        if tunnel == "vxlan":
            content = struct.pack(">II", 0x08 << 24, 7 << 8) + frame
            outer = struct.pack(">HHHH", 50_001, 4789, 8 + len(content), 0) + content
            frame = ethernet(ip("192.0.2.1", "192.0.2.2", 17, outer))
        elif tunnel == "4in4":
            frame = ethernet(ip("192.0.2.1", "192.0.2.2", 41 if ":" in ends[0] else 4, frame[14:]))
        frames.append(frame)
    return tables(pcap([(n * MS, frame) for n, frame in enumerate(frames)], snaplen=snaplen))


def super_packets(found: Tables) -> int:
    return int(found["captures"]["super_packets"].sum())


def test_merged_datagrams_are_super_packets() -> None:
    found = thread("18")
    assert super_packets(found) == 1
    assert found["flows"]["largest_packet_bytes"].to_list() == [8428]


def test_ipv6_without_a_length_is_one() -> None:
    found = thread("20")
    assert super_packets(found) == 1
    row = found["flows"].select("payload_bytes", "ip_bytes", "largest_packet_bytes").row(0)
    assert row == (80_000, 80_060, 80_060)


@pytest.mark.parametrize("ends", [V4, V6])
@pytest.mark.parametrize("tunnel", [None, "vxlan", "4in4"])
@pytest.mark.parametrize("snaplen", [262_144, 128])
@pytest.mark.parametrize(
    ("payloads", "expected"),
    [
        ([1400, 8400, 1400], 1),
        ([8400, 1400, 1400], 1),
        ([1200, 1200, 2400, 4800, 1200, 5000, 100], 3),
        ([1252] * 5 + [6260, 3000], 2),
    ],
)
def test_multiples_of_what_a_flow_mostly_sends(
    ends: tuple[str, str], tunnel: str | None, snaplen: int, payloads: list[int], expected: int
) -> None:
    assert super_packets(datagrams(payloads, ends=ends, tunnel=tunnel, snaplen=snaplen)) == expected


@pytest.mark.parametrize("vlan", [None, 7])
@pytest.mark.parametrize(
    "payloads",
    [[8972] * 9, [8972, 8972, 1200] * 3, [8192, 60, 4096, 60], [1400, 1472, 900]],
)
def test_jumbo_frames_are_none(payloads: list[int], vlan: int | None) -> None:
    assert super_packets(datagrams(payloads, vlan=vlan)) == 0


@pytest.mark.parametrize(("mss", "expected"), [(1460, 2), (8960, 0), (4000, 1)])
def test_the_mss_tells_how_long_a_packet_may_be(mss: int, expected: int) -> None:
    syn = tcp("10.0.0.1", 1, "10.0.0.2", 2, flags=2, mss=mss)
    assert super_packets(datagrams([8000, 3000], before=[syn])) == expected


@pytest.mark.parametrize(("mtu", "expected"), [(1500, 2), (9000, 0)])
def test_fragments_tell_how_long_a_packet_may_be(mtu: int, expected: int) -> None:
    room = (mtu - 20) // 8 * 8
    part = ip(*V4, 17, datagram(5, 6, 20_000)[:room], ident=7, fragment=0x2000)
    assert super_packets(datagrams([8000, 3000], before=[ethernet(part)])) == expected


@pytest.mark.parametrize("ends", [V4, V6])
@pytest.mark.parametrize("snaplen", [262_144, 128])
def test_a_frame_of_many_segments_whose_headers_are_of_one(
    ends: tuple[str, str], snaplen: int
) -> None:
    """GSO_PARTIAL: the interface repeats the headers of the tunnel as they are."""
    one = tcp(ends[0], 5, ends[1], 6, payload=1000)[14:]
    outer = ethernet(ip("192.0.2.1", "192.0.2.2", 41 if ":" in ends[0] else 4, one))
    frames = [(0, outer), (1, outer + bytes(9000))]
    found = tables(pcap(frames, snaplen=snaplen))
    assert super_packets(found) == 1
    assert found["packets"]["payload_bytes"].to_list() == [1000, 10_000]
    assert found["captures"]["length_conflict_packets"].to_list() == [0]


LOCAL = [("10.0.0.1", "10.0.0.1"), ("10.0.0.1", "127.0.0.3"), ("::1", "::1"), (V6[0], V6[0])]


@pytest.mark.parametrize("ends", LOCAL)
def test_a_host_sends_64_kib_to_itself_in_one_packet(ends: tuple[str, str]) -> None:
    """Also in a capture of all interfaces, another of which has a smaller MTU."""
    syn = tcp("10.0.0.1", 1, "10.0.0.2", 2, flags=2, mss=1460)
    segments = [tcp(ends[0], 5, ends[1], 6, payload=size) for size in (3000, 60_000)]
    assert super_packets(datagrams([5000, 60_000], ends=ends, before=[syn, *segments])) == 0


@pytest.mark.parametrize("ends", LOCAL)
def test_what_a_host_announces_to_itself_holds_for_no_network(ends: tuple[str, str]) -> None:
    syn = tcp(ends[0], 1, ends[1], 2, flags=2, mss=65_476)
    other = tcp("10.0.0.1", 5, "10.0.0.2", 6, flags=2, mss=1460)
    merged = tcp("10.0.0.1", 5, "10.0.0.2", 6, payload=2920)
    assert super_packets(datagrams([], before=[syn, other, merged])) == 1


@pytest.mark.parametrize("ends", LOCAL)
def test_a_host_that_announces_less_to_itself_merges(ends: tuple[str, str]) -> None:
    syn = tcp(ends[0], 5, ends[1], 6, flags=2, mss=1460)
    sizes = (1460, 2920, 60_000)
    segments = [tcp(ends[0], 5, ends[1], 6, payload=size) for size in sizes]
    assert super_packets(datagrams([], before=[syn, *segments])) == 2


def test_the_largest_packet_of_each_direction() -> None:
    there, back = ("10.0.0.1", 5, "10.0.0.2", 6), ("10.0.0.2", 6, "10.0.0.1", 5)
    frames = [tcp(*there, payload=10), tcp(*there, payload=900), tcp(*back), tcp(*there)]
    found = tables(pcap(list(enumerate(frames))))
    assert found["flows"]["largest_packet_bytes"].to_list() == [940, 40]
