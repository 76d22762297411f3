"""RDMA packets that hardware sends again at once, a whole window of them: no copies."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import roce
from made_captures import tables
from roce import US, Talk

import flowsweep

WINDOW = 40


@pytest.mark.parametrize("is_one_way", [False, True])
def test_a_window_that_is_sent_again_is_no_copy(is_one_way: bool) -> None:
    """In every fifth window a packet is lost after the capture point."""
    talk = Talk(identified=False)
    again = 0
    for window in range(30):
        time, first = window * 1000 * US, window * WINDOW
        for number in range(WINDOW):
            talk.ask(time + number * US, roce.SEND_ONLY, first + number, 1000)
        if window % 5 == 4:
            again += WINDOW - 3
            for number in range(3, WINDOW):
                talk.ask(time + (60 + number) * US, roce.SEND_ONLY, first + number, 1000)
        if not is_one_way:
            talk.answer(time + 150 * US, first + WINDOW - 1)
    found = tables(talk.capture())
    assert found["captures"]["duplicate_packets"].to_list() == [0]
    [sent] = found["rdma"].filter(pl.col("messages") > 0).rows(named=True)
    assert (sent["repeated_packets"], sent["messages"]) == (again, 30 * WINDOW)


def test_copies_do_not_depend_on_the_tables_that_are_wanted(tmp_path: Path) -> None:
    talk = Talk(identified=False)
    for number in range(60):
        talk.ask(number * US // 3, roce.SEND_ONLY, number, 452)
    talk.answer(20 * US, 5, roce.SEQUENCE_ERROR)
    for number in range(5, 60):
        talk.ask((70 + number) * US // 3, roce.SEND_ONLY, number, 452)
    path = tmp_path / "again.pcap"
    path.write_bytes(talk.capture())
    alone = pl.DataFrame(flowsweep.read_captures(path))
    assert alone["duplicate_packets"].to_list() == [0]
    assert alone.drop("file").equals(tables(path.read_bytes())["captures"].drop("file"))


def test_the_first_packet_that_was_captured_may_be_the_one_that_is_asked_for() -> None:
    talk = Talk()
    for number in (0, 1):
        talk.ask(number * US, roce.SEND_ONLY, number, 452)
    talk.answer(20 * US, 0, roce.SEQUENCE_ERROR)
    for number in (0, 1):
        talk.ask((40 + number) * US, roce.SEND_ONLY, number, 452)
    talk.answer(60 * US, 1)
    [sent] = tables(talk.capture())["rdma"].filter(pl.col("messages") > 0).rows(named=True)
    assert (sent["messages"], sent["resent_packets"], sent["repeated_packets"]) == (2, 1, 1)
