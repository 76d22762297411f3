"""Contradictory lengths are counted, and give no rate above what a link can carry."""

from __future__ import annotations

import struct

import pytest
from build import SECTION, datagram, enhanced, ethernet, interface, ip, option, pcap, tcp
from hypothesis import given, settings
from hypothesis import strategies as st
from made_captures import Tables, flow_rows, tables, thread

V4, V6 = ("10.0.0.1", "10.0.0.2"), ("2001:db8::1", "2001:db8::2")
FCS = b"\xde\xad\xbe\xef"


def conflicts(found: Tables) -> int:
    return int(found["captures"]["length_conflict_packets"].sum())


def test_udp_ends_where_its_ip_packet_does() -> None:
    found = thread("17")
    assert flow_rows(found, "packets", "payload_bytes", "wire_bytes") == [(2, 40, 124)]
    assert conflicts(found) == 1
    assert found["captures"]["malformed_packets"].to_list() == [0]


def test_an_original_length_of_4_gib_is_that_of_the_ip_packet() -> None:
    found = thread("47")
    assert found["packets"]["wire_bytes"].to_list() == [72, 72, 72]
    assert found["captures"].select("wire_bytes", "snapped_packets").rows() == [(216, 0)]
    assert found["throughput"]["wire_bytes"].sum() == 216
    assert conflicts(found) == 1


def test_a_frame_is_no_shorter_than_what_was_captured_of_it() -> None:
    found = thread("23")
    assert flow_rows(found, "wire_bytes", "ip_bytes", "payload_bytes") == [(84, 70, 42)]
    assert conflicts(found) == 1


@pytest.mark.parametrize("name", ["21", "22"])
def test_a_frame_check_sequence_is_no_part_of_a_length(name: str) -> None:
    found = thread(name)
    assert flow_rows(found, "packets", "wire_bytes", "payload_bytes") == [(3, 426, 300)]
    captures = found["captures"].select("wire_bytes", "captured_bytes", "snapped_packets")
    assert captures.rows() == [(426, 426, 0)]
    assert conflicts(found) == 0


@pytest.mark.parametrize(
    ("fcs_len", "flags", "expected"),
    [
        (None, 0, 118),
        (4, None, 114),
        (2, None, 116),
        # In bits, as in drafts of the format.
        (32, None, 114),
        (None, 4, 114),
        # The packet's option has precedence; 0 means unknown.
        (4, 2, 116),
        (4, 0, 114),
    ],
)
def test_packet_and_interface_tell_the_length_of_the_fcs(
    fcs_len: int | None, flags: int | None, expected: int
) -> None:
    frame = ethernet(ip(*V4, 17, datagram(5, 6, 72))) + FCS
    about = [] if fcs_len is None else [option(13, bytes([fcs_len]))]
    options = [] if flags is None else [option(2, struct.pack("<I", flags << 5))]
    found = tables(SECTION + interface(*about) + enhanced(7, frame, *options) + enhanced(8, frame))
    assert found["packets"]["wire_bytes"].to_list()[0] == expected
    assert conflicts(found) == 0


@pytest.mark.parametrize("words", [1, 2])
def test_the_word_of_the_link_type_tells_the_length_of_the_fcs(words: int) -> None:
    frame = ethernet(ip(*V4, 17, datagram(5, 6, 200))) + FCS
    frames = [(number, frame) for number in range(3)]
    link = words << 28 | 0x0400_0000 | 1
    whole, cut = tables(pcap(frames, link=link)), tables(pcap(frames, link=link, snaplen=96))
    for found in (whole, cut):
        assert found["packets"]["wire_bytes"].to_list() == [246 - 2 * words] * 3
        assert conflicts(found) == 0
    assert cut["captures"]["captured_bytes"].to_list() == [288]
    # A length whose presence bit is not set.
    assert tables(pcap(frames, link=words << 28 | 1))["captures"]["wire_bytes"].to_list() == [738]


@given(
    v6=st.booleans(),
    back=st.booleans(),
    vlan=st.none() | st.integers(1, 4094),
    over_tcp=st.booleans(),
    payload=st.integers(0, 1400),
    stated=st.none() | st.integers(0, 0xFFFF),
    original=st.none() | st.integers(0, 2**32 - 1),
    snaplen=st.sampled_from([96, 262_144]),
)
@settings(deadline=None, max_examples=60)
def test_no_length_makes_a_packet_longer_than_it_was(
    v6: bool,
    back: bool,
    vlan: int | None,
    over_tcp: bool,
    payload: int,
    stated: int | None,
    original: int | None,
    snaplen: int,
) -> None:
    ends = V6 if v6 else V4
    ends = ends[::-1] if back else ends
    if over_tcp:
        stated = None
        plain = tcp(ends[0], 5, ends[1], 6, payload=payload)[14:]
    else:
        plain = ip(*ends, 17, datagram(5, 6, payload, length=stated))
    frame = ethernet(plain, vlan=vlan)
    originals = [len(frame), len(frame) if original is None else original]
    found = tables(pcap([(0, frame), (9, frame)], snaplen=snaplen, originals=originals))
    rows = found["packets"].select("wire_bytes", "payload_bytes").rows()
    for number, (wire, bytes_) in enumerate(rows):
        assert bytes_ <= payload
        assert min(snaplen, len(frame)) <= wire <= len(frame) + 128
        if originals[number] == len(frame):
            assert wire == len(frame)
    right = stated is None or 8 <= stated <= payload + 8
    fits = len(frame) <= originals[1] <= len(frame) + 128
    assert conflicts(found) == (not right) + (not right or not fits)
    if right and stated is not None:
        assert rows[0][1] == stated - 8
    sums = found["captures"]["wire_bytes"].sum()
    assert sums == found["packets"]["wire_bytes"].sum() == found["flows"]["wire_bytes"].sum()


def test_an_ip_packet_longer_than_its_frame_is_believed_and_counted() -> None:
    """The tool that truncated the trace did not change the header."""
    frame = ethernet(ip(*V4, 17, datagram(5, 6, 1000)))[:96]
    found = tables(pcap([(0, frame)]))
    assert flow_rows(found, "wire_bytes", "ip_bytes", "payload_bytes") == [(96, 1028, 1000)]
    assert conflicts(found) == 1


def test_frames_that_are_not_ip_are_bounded_too() -> None:
    frame = bytes(12) + b"\x08\x06" + bytes(46)
    found = tables(pcap([(0, frame), (1, frame)], originals=[60, 2**32 - 1]))
    assert found["packets"]["wire_bytes"].to_list() == [60, 60]
    assert conflicts(found) == 1
