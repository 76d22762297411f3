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
    probes = int(flows["retransmitted_probes"].sum())
    if probes:
        packets = counted(probes, "packet")
        yield f"{packets} with a byte of a keep-alive or window probe again: no loss"
