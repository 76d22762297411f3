"""Packets that a host dropped count once, in the period in which they were dropped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flowsweep.runs.arrivals import Arrival, Counters
from flowsweep.runs.periods import Periods

if TYPE_CHECKING:
    from flowsweep.parsing import Drops

HOUR_S = 3_600


def arrival(hour: int, drops: Drops) -> list[Arrival]:
    """Returns the capture of one hour, with the counters since the start of the agent."""
    counters = Counters("2026-03-29T00:00:00Z", drops, "pc1", removed=0)
    first_ns = hour * HOUR_S * 10**9
    path = Path(f"pc1-{hour:05}.pcap")
    return [Arrival("pc1", path, 100, first_ns, is_whole=True, counters=counters)]


@pytest.mark.parametrize(
    ("counted", "increases"),
    [
        ([(5, 1), (7, 1), (7, 4)], [(5, 1), (2, 0), (0, 3)]),
        ([(5, None), (7, None), (7, None)], [(5, None), (2, None), (0, None)]),
        ([(None, 5), (None, 7), (None, 9)], [(None, 5), (None, 2), (None, 2)]),
        # What was unknown until then belongs to the period in which it becomes known.
        ([(5, None), (7, 3), (8, 4)], [(5, None), (2, 3), (1, 1)]),
        ([(None, None), (7, 3)], [(None, None), (7, 3)]),
    ],
)
def test_each_counter_adds_its_increase_whether_or_not_the_other_is_known(
    counted: list[Drops], increases: list[Drops], tmp_path: Path
) -> None:
    folder, results = tmp_path / "ring", tmp_path / "results/ring"
    folder.mkdir()
    found = []
    for hour, drops in enumerate(counted):
        # a new start each time, which reads what the one before it wrote
        periods = Periods(folder, results, HOUR_S)
        run, arrivals = f"1970-01-01-{hour:02}h00m00s", arrival(hour, drops)
        by_host = periods.drops(run, arrivals)
        periods.record(run, arrivals, by_host)
        found.append(by_host["pc1"])
    assert found == increases
