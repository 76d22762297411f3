"""Delays, losses and the parts of the completion time, from the matched tables of the demo."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl
from bottlenecks import find_rate
from compare import Expected
from flows import POINT_DECIMALS

if TYPE_CHECKING:
    from raw import Raw

#: Parts of a critical path in the table, and their columns in the queries.
PARTS = {
    "computing": "computing_s",
    "sender stall": "stall_s",
    "serialisation": "serialisation_s",
    "queueing": "queueing_s",
    "loss recovery": "recovery_s",
    "propagation": "propagation_s",
    "not explained": "not_explained_s",
}
NETWORK = ["stall_s", "serialisation_s", "queueing_s", "recovery_s", "propagation_s"]
WAY = ["sender", "receiver"]
DELAYS = ["delay_min_ms", "delay_p50_ms", "delay_p99_ms", "delay_error_ms"]


def recompute(raw: Raw) -> dict[str, Expected]:
    """Returns the rows of `one_way_delay`, `losses_by_place`, `time_path` and `time_shares`."""
    paths = _paths(raw)
    return {
        "one_way_delay": _delays(raw),
        "losses_by_place": _losses(raw),
        "time_path": Expected(paths.join(raw.points, on="point"), ["point", "run"], POINT_DECIMALS),
        "time_shares": _shares(raw, paths),
    }


def _by_place(raw: Raw, rows: pl.DataFrame, order: list[str]) -> Expected:
    """Adds to rows of points and directions whether a direction leads from site to site."""
    sites = raw.hosts.unique("owner")
    for end in WAY:
        site = sites.select(pl.col("owner").alias(end), pl.col("site").alias(f"{end}_site"))
        rows = rows.join(site, on=end)
    rows = rows.with_columns(is_between_sites=pl.col("sender_site") != pl.col("receiver_site"))
    rows = rows.drop("sender_site", "receiver_site").with_columns(run=pl.lit(None))
    return Expected(rows.join(raw.points, on="point"), order, POINT_DECIMALS)


def _delays(raw: Raw) -> Expected:
    runs = []
    sent = (
        raw.table("fates").drop_nulls([*WAY, "packet_sent"]).filter(pl.col("fate") != "duplicated")
    )
    rates = {
        way: find_rate(packets.sort("packet_sent")) for way, packets in sent.group_by("run", *WAY)
    }
    for (run, *ends), packets in raw.table("one_way").group_by("run", *WAY):
        delays, queues = packets["delay_ns"].sort(), packets["queue_ns"].sort()
        assert delays.null_count() == queues.null_count() == 0
        runs.append(
            {
                "run": run, **dict(zip(WAY, ends, strict=True)),
                "packets": packets.height,
                "delay_min_ms": delays[0],
                "delay_p50_ms": _least_above(delays, 0.5),
                "delay_p99_ms": _least_above(delays, 0.99),
                "delay_error_ms": packets["delay_error_ns"].max(),
                "queue_p50_ms": _least_above(queues, 0.5),
                "queue_p99_ms": _least_above(queues, 0.99),
                "queue_max_ms": queues[-1],
                "bottleneck_mbit_s": rates[run, *ends],
            }
        )  # fmt: skip
        # With so large an error, the delay counts as unknown.
        if runs[-1]["delay_error_ms"] > 1.25 * runs[-1]["delay_min_ms"]:
            runs[-1] |= dict.fromkeys(DELAYS)
    labelled = pl.DataFrame(runs).join(raw.runs.select("run", "point"), on="run")
    medians = [*DELAYS[:-1], "queue_p50_ms", "queue_p99_ms"]
    rows = labelled.group_by("point", *WAY).agg(
        pl.len().alias("runs_used"),
        pl.col("packets").sort().get((pl.len() - 1) // 2),
        *(pl.col(name).median() / 1e6 for name in medians),
        *(pl.col(name).max() / 1e6 for name in ("delay_error_ms", "queue_max_ms")),
        pl.col("bottleneck_mbit_s").median(),
    )
    return _by_place(raw, rows, ["point", *WAY])


def _least_above(values: pl.Series, share: float) -> float:
    """Returns the least of sorted values at or below which this share of them lies."""
    return float(values[max(math.ceil(share * len(values)) - 1, 0)])


def _losses(raw: Raw) -> Expected:
    fates = raw.table("fates").drop_nulls(WAY).join(raw.runs.select("run", "point"), on="run")
    bursts = []
    for (run, *ends), packets in fates.group_by("run", *WAY):
        longest = length = count = 0
        for fate in packets.sort("time_sent", "packet_sent")["fate"]:
            count += fate == "lost" and length == 0
            length = length + 1 if fate == "lost" else 0
            longest = max(longest, length)
        bursts.append({"run": run, **dict(zip(WAY, ends, strict=True)), "count": count,
                       "longest": longest})  # fmt: skip
    labelled = pl.DataFrame(bursts).join(raw.runs.select("run", "point"), on="run")
    longest = labelled.group_by("point", *WAY).agg(
        loss_bursts=pl.col("count").sum(),
        longest_loss_burst=pl.when(pl.col("longest").max() > 0).then(pl.col("longest").max()),
    )
    has_end = pl.col("fate").is_in(["delivered", "lost"])
    rows = fates.group_by("point", *WAY).agg(
        pl.col("run").n_unique().alias("runs_used"),
        pl.len().alias("packets"),
        *(
            (pl.col("fate") == fate).sum().alias(fate)
            for fate in ("delivered", "lost", "not_captured", "duplicated", "unknown")
        ),
        lost_share=(pl.col("fate") == "lost").sum() / has_end.sum(),
        lost_bytes_share=pl.col("payload_bytes").filter(pl.col("fate") == "lost").sum()
        / pl.col("payload_bytes").filter(has_end).sum(),
        reordered=(pl.col("reordered_by") > 0).sum(),
        sent_again=pl.col("is_retransmission").sum(),
    )
    return _by_place(raw, rows.join(longest, on=["point", *WAY]), ["point", *WAY])


def _paths(raw: Raw) -> pl.DataFrame:
    """Returns one row per run: the parts of its critical path, which must be as long as the run."""
    steps = raw.table("critical_path")
    sites = dict(raw.hosts.select("owner", "site").unique().iter_rows())
    rows = []
    for (run,), steps_of_run in steps.group_by("run"):
        lengths = dict(steps_of_run.group_by("part").agg(pl.col("duration_ns").sum()).iter_rows())
        assert set(lengths) <= set(PARTS)
        messages = steps_of_run.filter(part="propagation").select("host", "receiver").rows()
        rows.append(
            {
                "run": run,
                **{column: lengths.get(part, 0) / 1e9 for part, column in PARTS.items()},
                "path_s": steps_of_run["duration_ns"].sum() / 1e9,
                "messages": len(messages),
                "crossings": sum(sites[here] != sites[there] for here, there in messages),
            }
        )
    paths = pl.DataFrame(rows).join(raw.runs.select("run", "point", "completion_s"), on="run")
    assert ((paths["path_s"] - paths["completion_s"]).abs() < 1e-6).all()
    return paths


def _shares(raw: Raw, paths: pl.DataFrame) -> Expected:
    base_point = raw.points.filter("is_baseline")["point"][0]
    base_s = paths.filter(point=base_point)["computing_s"].mean()
    assert (paths["not_explained_s"] == 0).all()
    rows = []
    for run in paths.iter_rows(named=True):
        due = run["computing_s"] if run["point"] == base_point else base_s
        network = sum(run[name] for name in NETWORK)
        more = max(run["computing_s"] - due, 0)
        beside = min(max(due - run["computing_s"], 0), network)
        rows.append(
            {
                "point": run["point"], "path_s": run["path_s"],
                "computing_s": run["computing_s"] - more,
                **{name: run[name] * (1 - beside / network) for name in NETWORK},
                "not_explained_s": more + beside,
                "messages": run["messages"], "crossings": run["crossings"],
            }
        )  # fmt: skip
    means = pl.DataFrame(rows).group_by("point").agg(pl.len().alias("runs_used"), pl.all().mean())
    parts = pl.sum_horizontal("computing_s", *NETWORK, "not_explained_s")
    assert means.select(((parts - pl.col("path_s")).abs() < 1e-9).all()).item()
    means = means.with_columns(base_computing_s=pl.lit(base_s))
    return Expected(means.join(raw.points, on="point"), ["point"], POINT_DECIMALS)
