"""RDMA in report and `show`: hosts and what they send to each other's queue pairs."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import tiny

from flowsweep.analysis.capture_summary import summarise
from flowsweep.render.terminal import capture
from flowsweep.warehouse import Warehouse

WEST, EAST = "10.77.1.1", "10.77.2.1"
THREADS = Path(__file__).parents[1] / "data" / "threads"


def test_each_pair_of_hosts_has_a_row_from_the_captures_that_know_most(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    # The network loses two packets between the captures.
    for host, lost, marked in (("pc1", 0, 0), ("pc3", 2, 4)):
        rtt = 20_000 if host == "pc1" else 3000
        tiny.table(tmp_path, "rdma", "r", host, [
            tiny.queue_pair(WEST, EAST, lost_packets=lost, ce_packets=marked, resent_packets=1,
                 repeated_packets=5, rtt_samples=3, rtt_min_ns=rtt, rtt_mean_ns=rtt + 1000),
            tiny.queue_pair(WEST, EAST, destination_qp=18, rtt_samples=1, rtt_min_ns=rtt + 3000,
                 rtt_mean_ns=rtt + 5000),
            tiny.queue_pair(EAST, WEST, destination_qp=34, messages=0, message_bytes=0,
                 sequence_nak_packets=1, rnr_nak_packets=2, other_nak_packets=3, cnp_packets=7),
        ])  # fmt: skip
        tiny.table(tmp_path, "flows", "r", host, [tiny.flow(WEST, EAST, protocol="udp")])
    sent, answers = Warehouse(tmp_path).rows("rdma").sort("sender").to_dicts()
    assert (sent["sender"], sent["receiver"], sent["run"]) == ("pc1", "pc3", "r")
    assert (sent["queue_pairs"], sent["messages"], sent["message_bytes"]) == (2, 6, 18_000)
    assert (sent["lost_packets"], sent["marked_packets"]) == (2, 4)
    assert (sent["resent_packets"], sent["repeated_packets"]) == (6, 5)
    assert (sent["nak_packets"], sent["cnp_packets"], answers["nak_packets"]) == (6, 7, 0)
    assert (sent["rtt_samples"], sent["least_rtt_us"]) == (4, 20.0)
    assert math.isclose(sent["mean_rtt_us"], (3 * 21 + 25) / 4)
    assert answers["mean_rtt_us"] is None


def test_results_of_an_earlier_version_have_no_such_table(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    tiny.table(tmp_path, "flows", "r", "pc1", [tiny.flow(WEST, EAST)])
    assert Warehouse(tmp_path).rows("rdma").is_empty()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("45-roce-write", "1 message (2.5 kB) to 2 queue pairs; 1 CNP; RTT 20 µs"),
        (
            "46-roce-nak",
            "1 message (2.5 kB) to 2 queue pairs; 1 lost, 2 sent again (1 not asked for); 1 NAK",
        ),
    ],
)
def test_show_has_a_line_on_rdma(
    name: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capture.print_summaries([summarise(THREADS / f"{name}.pcap")])
    lines = capsys.readouterr().out.splitlines()
    assert expected in " ".join(" ".join(lines).split())
    assert all(len(line) <= 80 for line in lines)


def test_show_says_nothing_of_rdma_where_there_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    capture.print_summaries([summarise(THREADS / "44-ce-marks.pcap")])
    assert "rdma" not in capsys.readouterr().out
