"""Messages found from recorded headers, compared with programs that counted what they sent."""

from __future__ import annotations

import messages as bench
import pytest
from messages import Found

FOUND = list(bench.judged(bench.KEPT))
COUNTED = [found for found in FOUND if found.program not in bench.QUEUING]


def _name(found: Found) -> str:
    return f"{found.program}, {found.point}"


def test_every_program_and_congestion_control_is_there() -> None:
    assert {found.congestion for found in FOUND} == {"reno", "cubic", "bbr"}
    assert len({found.program for found in COUNTED}) == 14
    assert len({found.program for found in FOUND}) == 14 + len(bench.QUEUING)
    assert bench.skipped(bench.KEPT) == {}


@pytest.mark.parametrize("found", COUNTED, ids=_name)
def test_what_a_program_counts_is_found_in_its_sender_s_headers(found: Found) -> None:
    assert bench.is_near(found.near, found.truth, bench.GOAL)


@pytest.mark.parametrize("found", COUNTED, ids=_name)
def test_far_from_the_sender_a_tenth_may_be_wrong(found: Found) -> None:
    assert bench.is_near(found.far, found.truth, bench.FAR_GOAL)


@pytest.mark.parametrize("found", FOUND, ids=_name)
def test_what_was_queued_is_a_lower_bound_with_an_upper_one(found: Found) -> None:
    assert found.holds
    assert found.flagged
    # queued messages are rarely separated, and never split into more than were sent
    assert found.near <= found.truth + 1


def test_what_queued_up_is_less_than_what_was_written() -> None:
    queued = [found for found in FOUND if found.program == "bursts" and found.congestion == "bbr"]
    assert queued
    assert all(found.near < found.truth for found in queued)
    assert all(found.most is None or found.most >= found.truth for found in queued)
