"""The jigsaw puzzle: every solution, and small exchanges whose number falls with the RTT."""

from __future__ import annotations

import itertools
import math
import struct

import jigsaw
import polars as pl
import puzzle
import pytest

from .launch import alone, captured, counts_agree

PC3 = "10.77.2.1"
PROBLEM = {"side": 12, "colours": 500, "node_ns": 40_000}  # 197 683 pieces laid: 2 s on 4 slaves


def ways(pieces: list[puzzle.Edges], side: int) -> int:
    """Counts all solutions by trying piece after piece in an independent way."""

    def lay(laid: tuple[int, ...]) -> int:
        if len(laid) == side * side:
            return int(puzzle.fits(pieces, side, laid))
        place, used = len(laid), {number // 4 for number in laid}
        found = 0
        for piece, turn in itertools.product(range(side * side), range(4)):
            edges = puzzle.turned(pieces[piece], turn)
            above = place >= side and puzzle.turned(
                pieces[laid[place - side] // 4], laid[place - side] % 4
            )
            left = place % side and puzzle.turned(pieces[laid[-1] // 4], laid[-1] % 4)
            if piece in used or (above and above[2] != -edges[0]):
                continue
            if not left or left[1] == -edges[3]:
                found += lay((*laid, 4 * piece + turn))
        return found

    return lay(())


@pytest.mark.parametrize(("side", "colours", "compute"), [(3, 6, "busy"), (2, 1, "paced")])
def test_every_way_of_laying_the_puzzle_is_found(tmp_path, side, colours, compute):
    pieces, _ = puzzle.cut(side, colours, 1)
    done, record = alone("jigsaw", {"side": side, "colours": colours}, tmp_path, compute=compute)
    assert record is not None, done.stderr
    assert record["correct"] is True
    assert record["answer"]["solutions"] == ways(pieces, side)
    assert record["answer"]["wrong"] == 0
    assert counts_agree(record)


def test_turning_a_right_puzzle_gives_a_right_puzzle():
    pieces, planted = puzzle.cut(5, 4, 3)
    laid = planted
    for _ in range(4):
        assert puzzle.fits(pieces, 5, laid)
        laid = puzzle.quarter(laid, 5)
    assert laid == planted
    assert not puzzle.fits(pieces, 5, [*planted[1:], planted[0]])


def test_a_report_has_the_whole_board():
    side = 5
    pieces, planted = puzzle.cut(side, 6, 1)
    search = jigsaw.Search(pieces, side)
    search.start(planted[0])
    assert len(search.deepest()) == 2 * side * side
    assert jigsaw.pieces_in(search.deepest()) == 1
    before = 1
    while not search.is_done:
        search.step(1)
        laid = jigsaw.pieces_in(search.deepest())
        assert before <= laid <= side * side
        before = laid
    # The original puzzle begins with this piece.
    assert before == side * side
    assert list(struct.unpack(f"<{side * side}H", search.deepest())) == planted


@pytest.mark.parametrize("number", [0, 1, 255, 256, 4 * 64 * 64 - 1])
def test_no_piece_is_taken_for_an_empty_place(number):
    board = struct.pack("<H", number) + 3 * jigsaw.NO_PIECE
    assert jigsaw.pieces_in(board) == 1
    assert jigsaw.pieces_in(4 * jigsaw.NO_PIECE) == 0


@pytest.fixture(scope="module")
def measured(namespaces, tmp_path_factory, measurement):
    """The same puzzle at three RTTs."""
    return measurement(
        lambda: {
            rtt: captured("jigsaw", PROBLEM, tmp_path_factory.mktemp("jigsaw"), f"rtt={rtt}ms")
            for rtt in (4, 16, 64)
        }
    )


def exchanges(run) -> int:
    """Returns the segments with payload from pc3, whose slave is remote from the master."""
    flows = run.table("pc3", "flows", "--packets").filter(pl.col("src_ip") == PC3)
    packets = run.table("pc3", "packets", "--packets").filter(pl.col("payload_bytes") > 0)
    return packets.join(flows, on=["connection", "direction"]).height


def test_exchanges_fall_with_the_round_trip_time_and_the_time_does_not_rise(measured):
    """Kitatsuji, table 2: packets at 4.3, 16.3 and 64.3 ms fall by 3.4 and 3.5."""
    assert all(run.application["correct"] for run in measured.value.values())

    def check(sweep):
        counts = {rtt: exchanges(run) for rtt, run in sweep.items()}
        exponent = math.log(counts[64] / counts[4]) / math.log(64 / 4)
        assert -1.1 <= exponent <= -0.7, counts
        times = [run.application["completion_s"] for run in sweep.values()]
        assert max(times) <= 1.25 * min(times), times

    measured.holds(check)


def test_exchanges_are_small_and_steady(measured):
    def check(sweep):
        flows = sweep[4].table("pc3", "flows").filter(pl.col("payload_bytes") > 1000)
        # One connection, both directions.
        assert flows.height == 2
        # In each direction, a report has a board of 144 places and a header; ACKs are extra.
        sizes = (flows["payload_bytes"] / flows["packets"]).sort()
        assert sizes[0] < 100
        assert 100 < sizes[1] < 350
        # Data flow in both directions in nearly every tenth of a second.
        tenths = sweep[4].bins("pc3", PC3).group_by(pl.col("bin") // 10).sum()
        both = tenths.filter((pl.col("in") > 0) & (pl.col("out") > 0)).height
        assert both / tenths.height > 0.9

    measured.holds(check)
