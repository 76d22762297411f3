"""Congestion marks in report and `show`, as seen by the capture nearest to the receiver."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny

from flowsweep.analysis.capture_summary import summarise
from flowsweep.render.terminal import capture
from flowsweep.warehouse import Warehouse

WEST, EAST = "10.77.1.1", "10.77.2.1"
THREAD = Path(__file__).parents[1] / "data" / "threads" / "44-ce-marks.pcap"


def directions(marked: int, *, capable: int = 100) -> list[dict[str, object]]:
    """Returns a connection that sends to the east, which echoes each of ten marks twice."""
    counts = {"ece_packets": 0, "cwr_packets": 3, "ecn_capable_packets": capable}
    sent = tiny.flow(WEST, EAST, ce_packets=marked, **counts)
    answers = {"src_port": 2000, "dst_port": 1000, "direction": "backward"}
    counts = {"ece_packets": 20, "cwr_packets": 0, "ecn_capable_packets": 0, "ce_packets": 0}
    return [sent, tiny.flow(EAST, WEST, **answers, **counts)]


def test_marks_are_counted_where_most_of_them_are_seen(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    # The queue that marks is between the two captures.
    for host, marked in (("pc1", 0), ("pc3", 10)):
        tiny.table(tmp_path, "flows", "r", host, directions(marked))
    (row,) = Warehouse(tmp_path).rows("congestion_marks").to_dicts()
    assert (row["sender"], row["receiver"], row["run"]) == ("pc1", "pc3", "r")
    assert (row["capable_packets"], row["marked_packets"]) == (100, 10)
    assert row["marked_share"] == pytest.approx(0.1)
    assert (row["echo_packets"], row["reduced_packets"]) == (20, 3)


def test_echoes_are_not_known_where_a_flow_has_a_counter_in_their_place(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    hidden = {"ece_packets": None, "cwr_packets": None, "connection": 1, "src_port": 1001}
    hidden |= {"ecn_capable_packets": 5, "ce_packets": 1}
    rows = [*directions(10), tiny.flow(WEST, EAST, **hidden)]
    rows.append(tiny.flow(EAST, WEST, **hidden | {"direction": "backward"}))
    tiny.table(tmp_path, "flows", "r", "pc3", rows)
    first, _ = Warehouse(tmp_path).rows("congestion_marks").to_dicts()
    assert (first["sender"], first["marked_packets"]) == ("pc1", 11)
    assert (first["echo_packets"], first["reduced_packets"]) == (None, None)


def test_tables_of_an_earlier_version_have_no_marks(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    tiny.table(tmp_path, "flows", "r", "pc1", [tiny.flow(WEST, EAST)])
    assert Warehouse(tmp_path).rows("congestion_marks").is_empty()


def test_show_has_a_line_on_marks(capsys: pytest.CaptureFixture[str]) -> None:
    capture.print_summaries([summarise(THREAD)])
    text = " ".join(capsys.readouterr().out.split())
    assert "3 of 10 ECN-capable packets marked (30.0 %); echoed by 3 segments" in text


def test_show_says_that_no_packet_was_marked(capsys: pytest.CaptureFixture[str]) -> None:
    capture.print_summaries([summarise(THREAD.with_name("45-roce-write.pcap"))])
    text = " ".join(capsys.readouterr().out.split())
    assert "0 of 5 ECN-capable packets marked (0 %)" in text
