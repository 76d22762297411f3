"""What the parser finds wrong with a capture is a note of its grade, in show and report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import tiny

from flowsweep.analysis import claims, grades
from flowsweep.analysis.capture_summary import facts
from flowsweep.warehouse import Warehouse

#: By column of `captures`, for 20 of 10,000 packets: the note, the grade, what it forbids.
CAPTURE_COUNTS = {
    "duplicate_packets": ("20 packets recorded twice", "B", []),
    "distant_duplicate_packets": ("20 packets recorded again more than 1 ms later", "B", []),
    "reordered_packets": ("20 packets out of time order in the file, put back in order", "B", []),
    "late_packets": ("too late to be reordered", "C", [claims.GAPS]),
    "length_conflict_packets": ("20 packets whose lengths contradict each other", "B", []),
    "times_out_of_range": ("20 packets with an impossible time", "C", [claims.GAPS]),
    "untimed_packets": ("20 packets with no recorded time", "C", [claims.GAPS]),
}
FLOW_COUNTS = {
    "outside_window_packets": "20 outside the window",
    "stray_syn_packets": "20 SYN with another number in a live connection",
    "stray_syn_ack_packets": "20 SYN-ACK with another number in a live connection",
    "stray_rst_packets": "20 RST outside the window",
}


def both_ways(**forward: int) -> list[dict[str, Any]]:
    """Returns a connection whose other side only acknowledges."""
    return [
        tiny.graded_flow("10.77.1.1", "10.77.2.1", **forward),
        tiny.graded_flow("10.77.2.1", "10.77.1.1", direction="backward", payload_bytes=0),
    ]


def made(directory: Path, capture: dict[str, int], flow: dict[str, int]) -> Path:
    tiny.runs(directory, [tiny.run("r", baseline=True)])
    tiny.table(directory, "captures", "r", "pc1", [tiny.capture(**capture)])
    tiny.table(directory, "flows", "r", "pc1", both_ways(**flow))
    bins = tiny.bins("10.77.1.1", "10.77.2.1", {0: 900})
    tiny.table(directory, "throughput", "r", "pc1", bins)
    return directory


def shown(directory: Path) -> grades.Grade:
    """Returns the grade of `flowsweep show`."""
    tables = [
        pl.read_parquet(directory / f"tables/run=r/host=pc1/{name}.parquet")
        for name in ("captures", "flows", "throughput")
    ]
    return grades.combine(facts(*tables))


@pytest.mark.parametrize("column", CAPTURE_COUNTS)
def test_a_count_of_packets_is_stated_and_graded(tmp_path: Path, column: str) -> None:
    sentence, letter, forbidden = CAPTURE_COUNTS[column]
    made(tmp_path, {column: 20}, {})
    (row,) = Warehouse(tmp_path).rows("run_quality").to_dicts()
    assert row[column] == 20
    assert (row["grade"], sentence in row["grade_reasons"]) == (letter, True)
    grade = shown(tmp_path)
    assert (grade.letter, grade.forbidden) == (letter, forbidden)
    assert sum(sentence in note.text for note in grade.notes) == 1


def test_packets_that_were_put_back_in_order_forbid_no_claim_on_gaps(tmp_path: Path) -> None:
    made(tmp_path, {"reordered_packets": 40, "time_regressions": 20}, {})
    grade = shown(tmp_path)
    assert (grade.letter, grade.forbidden) == ("B", [])
    assert "earlier than the one before" not in grade.reasons


@pytest.mark.parametrize("column", FLOW_COUNTS)
def test_segments_that_change_no_state_are_stated(tmp_path: Path, column: str) -> None:
    made(tmp_path, {}, {column: 20})
    (row,) = Warehouse(tmp_path).rows("run_quality").to_dicts()
    assert "20 segments that a receiver would not accept" in row["grade_reasons"]
    assert FLOW_COUNTS[column] in row["grade_reasons"]
    grade = shown(tmp_path)
    assert (grade.letter, grade.forbidden) == ("B", [])
    assert grade.reasons == row["grade_reasons"]


@pytest.mark.parametrize(("unseen", "letter"), [(1, "B"), (10, "C"), (10_000, "D")])
def test_acknowledged_bytes_without_a_packet_are_stated(
    tmp_path: Path, unseen: int, letter: str
) -> None:
    made(tmp_path, {}, {"unseen_acked_bytes": unseen, "payload_bytes": 90_000})
    (row,) = Warehouse(tmp_path).rows("run_quality").to_dicts()
    assert "of TCP acknowledged but missing from the capture" in row["grade_reasons"]
    assert (row["grade"], row["unseen_acked_bytes"]) == (letter, unseen)
    grade = shown(tmp_path)
    assert (grade.letter, grade.reasons) == (letter, row["grade_reasons"])


def test_what_older_tables_do_not_tell_is_not_stated(tmp_path: Path) -> None:
    made(tmp_path, {}, {})
    (row,) = Warehouse(tmp_path).rows("run_quality").to_dicts()
    assert (row["grade"], row["grade_reasons"]) == ("A", "")


def test_a_probe_repeats_nothing_that_was_lost(tmp_path: Path) -> None:
    counts = {"retransmitted_packets": 60, "retransmitted_bytes": 8_000, "window_probes": 60}
    for probes, letter in ((0, "D"), (60, "A")):
        directory = tmp_path / str(probes)
        made(directory, {}, {})
        flows = both_ways(retransmitted_probes=probes, **counts)
        tiny.table(directory, "flows", "r", "pc1", flows)
        (row,) = Warehouse(directory).rows("run_quality").to_dicts()
        assert (row["grade"], shown(directory).letter) == (letter, letter)
