"""Explains counts of a capture that a reader may not expect, and that lower no grade."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from flowsweep.analysis import odd_connections
from flowsweep.units import counted

if TYPE_CHECKING:
    import polars as pl


def find(captures: pl.DataFrame, flows: pl.DataFrame) -> Iterator[str]:
    """Yields the text of each remark.

    Args:
        captures: The table `captures`.
        flows: The table `flows`.
    """
    fcs = int(captures["fcs_bytes"].max() or 0)  # type: ignore[arg-type]
    if fcs:
        yield f"packets end with {fcs} B of frame check sequence, which no length counts"
    again = odd_connections.count_reused_ports(flows)
    if again:
        yield f"{counted(again, 'connection')} on ports that an earlier one used"
    probes = int(window_probes(flows).sum())
    if probes:
        yield f"{counted(probes, 'window probe')}; a byte of a probe that is sent again is no loss"


def window_probes(flows: pl.DataFrame) -> pl.Series:
    """Of each row of `flows`: its window probes; 0 in tables that do not know them."""
    import polars as pl

    known = "window_probes" in flows.columns
    return flows["window_probes"].fill_null(0) if known else pl.zeros(flows.height, eager=True)
