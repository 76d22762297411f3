"""RTT samples: an acknowledgement that was delayed for another reason gives none."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from build import pcap, tcp
from test_parse_command import flowsweep

SENDER, RECEIVER = ("10.0.0.1", 1000), ("10.0.0.2", 80)
SYN, SYN_ACK = 0x02, 0x12
MS = 1_000_000


def data(seq: int) -> bytes:
    """Returns 100 bytes of the sender."""
    return tcp(*SENDER, *RECEIVER, seq=seq, ack=1, payload=100)


def ack(number: int, sack: tuple[int, int] | None = None) -> bytes:
    """Returns an acknowledgement of the receiver."""
    return tcp(*RECEIVER, *SENDER, seq=1, ack=number, sack=sack)


def flow(tmp_path: Path, packets: list[tuple[int, bytes]], threads: int = 1) -> dict[str, int]:
    """Returns the sender's row of `flows`."""
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(packets))
    done = flowsweep("parse", path, "--output", tmp_path / "tables", "--threads", threads)
    assert done.returncode == 0, done.stderr
    flows = pl.read_parquet(tmp_path / "tables" / "flows.parquet")
    return flows.filter(pl.col("src_ip") == SENDER[0]).row(0, named=True)


@pytest.mark.parametrize("threads", [1, 2])
def test_sack_blocks_last_until_their_packets_are_counted(tmp_path: Path, threads: int) -> None:
    # More bytes follow than are read at a time, so the packets of the first part wait for them.
    late = [(number, tcp("10.0.9.9", 1, "10.0.9.8", 2, payload=1400)) for number in range(700)]
    packets = [
        (0, data(1)),
        (1 * MS, data(201)),
        (11 * MS, ack(1, (201, 301))),
        (50 * MS, ack(301)),
        *((60 * MS + offset, frame) for offset, frame in late),
    ]
    row = flow(tmp_path, packets, threads)
    assert (row["rtt_samples"], row["rtt_max_ns"]) == (1, 10 * MS)


def test_an_acknowledgement_is_one_sample_of_the_segment_that_made_it(tmp_path: Path) -> None:
    packets = [
        (0, data(1)),
        # The receiver did not acknowledge the first at once, but with the segment after the hole.
        (30 * MS, data(201)),
        (40 * MS, ack(101, (201, 301))),
    ]
    row = flow(tmp_path, packets)
    assert (row["rtt_samples"], row["rtt_min_ns"], row["rtt_max_ns"]) == (1, 10 * MS, 10 * MS)


def test_a_block_that_was_reported_before_leaves_the_sample_to_what_is_new(tmp_path: Path) -> None:
    packets = [
        *((number * MS, data(1 + number * 100)) for number in range(4)),
        (10 * MS, ack(101)),
        # The fourth overtook the second, and the third is lost.
        (13 * MS, ack(101, (301, 401))),
        (21 * MS, ack(201, (301, 401))),
    ]
    row = flow(tmp_path, packets)
    assert (row["rtt_samples"], row["rtt_min_ns"], row["rtt_max_ns"]) == (3, 10 * MS, 20 * MS)


def test_an_acknowledgement_that_waited_for_a_hole_measures_nothing(tmp_path: Path) -> None:
    packets = [
        (0, data(1)),
        (1 * MS, ack(101)),
        (10 * MS, data(201)),
        (40 * MS, data(101)),
        (41 * MS, ack(301)),
        (50 * MS, data(301)),
        (52 * MS, ack(401)),
    ]
    row = flow(tmp_path, packets)
    assert row["out_of_order_packets"] == 1
    assert (row["rtt_samples"], row["rtt_min_ns"], row["rtt_max_ns"]) == (2, 1 * MS, 2 * MS)


def test_a_syn_captured_behind_its_answer_measures_no_handshake(tmp_path: Path) -> None:
    packets = [
        (0, tcp(*RECEIVER, *SENDER, flags=SYN_ACK, seq=0, ack=1)),
        (1, tcp(*SENDER, *RECEIVER, flags=SYN, seq=0)),
        (2 * MS, data(1)),
        (70 * MS, ack(101)),
    ]
    row = flow(tmp_path, packets)
    assert row["handshake_rtt_ns"] is None
    assert (row["rtt_samples"], row["rtt_min_ns"]) == (1, 68 * MS)
