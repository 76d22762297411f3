"""Converts times of a host's clock to the reference clock, from the delays of its packets."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

#: One packet per interval of this length is kept: within it, clock drift is linear.
STEP_NS = 10_000_000


class Clock:
    """Converts times of a host to the reference clock.

    Args:
        one_way: The table of packets that the host sent.
    """

    def __init__(self, one_way: pl.DataFrame) -> None:
        import polars as pl

        time = pl.col("time_sent").dt.epoch("ns")
        behind = pl.col("time_sent_reference").dt.epoch("ns") - time
        points = (
            one_way.select(time.alias("time"), behind.alias("behind"))
            .drop_nulls()
            .sort("time", "behind")
            .group_by(pl.col("time") // STEP_NS, maintain_order=True)
            .agg(pl.col("time").first().alias("at"), pl.col("behind").first())
        )
        self._times: list[int] = points["at"].to_list()
        self._behind: list[int] = points["behind"].to_list()

    @property
    def is_known(self) -> bool:
        """Whether any packet shows the clock offset."""
        return bool(self._times)

    def to_reference(self, time: int) -> int:
        """Converts a time to the reference clock; returns `time` itself if no offset is known.

        The offset is interpolated linearly between two packets; before the first and after the
        last packet it is constant.
        """
        if not self._times:
            return time
        place = bisect_right(self._times, time)
        if place in (0, len(self._times)):
            return time + self._behind[0 if place == 0 else -1]
        (start, end), (low, high) = (
            (some[place - 1], some[place]) for some in (self._times, self._behind)
        )
        return time + low + (high - low) * (time - start) // (end - start)
