"""Summarises the RDMA over UDP in a capture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

NAKS = ("sequence_nak_packets", "rnr_nak_packets", "other_nak_packets")


def summarise(pairs: pl.DataFrame) -> dict[str, Any]:
    """Sums up the table `rdma`; empty if it has no rows.

    `rtt_ns` is the mean of all samples in ns, None without samples.
    """
    import polars as pl

    if pairs.is_empty():
        return {}
    samples = int(pairs["rtt_samples"].sum())
    sums = pairs.select(rtt=(pl.col("rtt_mean_ns") * pl.col("rtt_samples")).sum())
    return {
        "queue_pairs": pairs.select("dst_ip", "destination_qp").n_unique(),
        "messages": int(pairs["messages"].sum()),
        "message_bytes": int(pairs["message_bytes"].sum()),
        "lost": int(pairs["lost_packets"].sum()),
        "resent": int(pairs["resent_packets"].sum()),
        "repeated": int(pairs["repeated_packets"].sum()),
        "naks": sum(int(pairs[name].sum()) for name in NAKS),
        "cnps": int(pairs["cnp_packets"].sum()),
        "rtt_ns": int(sums["rtt"][0]) / samples if samples else None,
    }
