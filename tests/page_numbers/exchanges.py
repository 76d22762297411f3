"""Rates, sizes and answers of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from compare import Expected
from distributions import quantile, steps
from flows import POINT_DECIMALS, SHARES

if TYPE_CHECKING:
    from raw import Raw

CONNECTION = ["run", "host", "connection", "direction"]


def recompute(raw: Raw) -> dict[str, Expected]:
    """Returns the rows of `message_rate`, `message_sizes`, `message_rate_series`, `think_times`."""
    return {
        "message_rate": _rates(raw),
        "message_sizes": _sizes(raw),
        "message_rate_series": _series(raw),
        "think_times": _answers(raw),
    }


def _rates(raw: Raw) -> Expected:
    evidence = pl.col("evidence").str.split("+")
    messages = raw.table("messages").sort("first_time", "last_time", maintain_order=True)
    # a turn after a turn is one write; else at most as many as the smallest sure one fits in
    is_turn = evidence.list.contains("turn")
    is_single = is_turn & is_turn.shift(1, fill_value=True).over(CONNECTION)
    sure = pl.col("bytes").filter(~pl.col("merged_possible")).min().over(CONNECTION)
    most = (
        pl.when(~pl.col("merged_possible") | is_single)
        .then(1)
        .otherwise((pl.col("bytes") / sure).ceil())
    )
    own = raw.sent.filter("is_on_path").select(CONNECTION)
    messages = messages.join(own, on=CONNECTION, maintain_order="left").with_columns(
        most=pl.when(pl.col("merged_possible").is_not_null()).then(most),
        is_guessed=~evidence.list.eval(pl.element().is_in(["turn", "short", "close"])).list.any(),
    )
    keys = [*CONNECTION, "first_time", "last_time"]
    messages = raw.messages.join(
        messages.select(*keys, "most", "is_guessed"), on=keys, how="left"
    ).with_columns(is_merged=pl.col("merged_possible").fill_null(True))
    seconds = (pl.col("work_end_ns") - pl.col("work_start_ns")).first() / 1e9
    run_rows = messages.group_by("point", "run").agg(
        rate=pl.len() / seconds,
        most=pl.when(pl.col("most").null_count() == 0).then(pl.col("most").sum()) / seconds,
    )
    rates = run_rows.group_by("point").agg(
        runs=pl.len(),
        messages_s=pl.col("rate").median(),
        messages_s_min=pl.col("rate").min(),
        messages_s_max=pl.col("rate").max(),
        messages_s_most=pl.when(pl.col("most").null_count() == 0).then(pl.col("most").median()),
    )
    sums = messages.group_by("point").agg(
        messages=pl.len(),
        mean_bytes=pl.col("bytes").mean(),
        max_bytes=pl.col("bytes").max(),
        guessed_share=pl.col("is_guessed").mean(),
        merged_share=pl.col("is_merged").mean(),
        merged_bytes_share=pl.col("bytes").filter("is_merged").sum() / pl.col("bytes").sum(),
        far_share=pl.lit(0.0),
        doubtful_captures=pl.lit(0),
        refused_captures=pl.lit(0),
        udp_share=pl.lit(0.0),
    )
    sizes = pl.DataFrame(
        [
            {"point": point}
            | {f"p{percent}_bytes": quantile(group["bytes"], percent / 100)
               for percent in (10, 50, 90, 99)}
            for (point,), group in messages.group_by("point")
        ]
    )  # fmt: skip
    rows = rates.join(sums, on="point").join(sizes, on="point").with_columns(run=None)
    shares = ["guessed_share", "merged_share", "merged_bytes_share"]
    return Expected(
        rows.join(raw.points, on="point"),
        ["point"],
        POINT_DECIMALS | dict.fromkeys(shares, 6) | {"mean_bytes": 1},
        frozenset({"messages_s", "messages_s_min", "messages_s_max", "messages_s_most"}),
    )


def _sizes(raw: Raw) -> Expected:
    rows = steps(raw.messages, ["point", "direction"], "bytes")
    rows = rows.rename({"in_step": "messages", "of_all": "of_messages"})
    return Expected(
        rows.join(raw.points, on="point"),
        ["point", "direction", "bytes"],
        POINT_DECIMALS | SHARES,
    )


def _series(raw: Raw) -> Expected:
    """Counts messages by the step in which they began: 10 ms, as all runs last 1 to 10 s."""
    length = pl.col("work_end_ns") - pl.col("work_start_ns")
    runs = raw.runs.select("run", "point", length=length)
    assert runs["length"].is_between(10**9, 10**10).all()
    wide = 10**7
    rows = []
    for (point,), point_rows in runs.group_by("point"):
        counted: dict[int, list[tuple[int, int, int]]] = {}
        for run, length_ns in point_rows.select("run", "length").iter_rows():
            count = max((length_ns + wide // 2) // wide, 1)
            messages = raw.messages.filter(pl.col("run") == run)
            step = (messages["first_ns"] - messages["work_start_ns"]).to_numpy() // wide
            step = np.minimum(step, count - 1)
            number = np.bincount(step, minlength=count)
            size = np.bincount(step, weights=messages["bytes"].to_numpy(), minlength=count)
            for place in range(count):
                end = (place + 1) * wide if place < count - 1 else length_ns
                counted.setdefault(place, []).append((int(number[place]), int(size[place]), end))
        for place, runs_there in counted.items():
            rates = [number * 1e9 / (end - place * wide) for number, _, end in runs_there]
            last = place == max(counted)
            rows.append(
                {
                    "point": point,
                    "run": None,
                    "start_s": place * wide / 1e9,
                    "end_s": (max(end for *_, end in runs_there) if last else (place + 1) * wide)
                    / 1e9,
                    "runs": len(runs_there),
                    "messages": sum(number for number, *_ in runs_there),
                    "bytes": sum(size for _, size, _ in runs_there),
                    "messages_s": sum(rates) / len(rates),
                    "messages_s_min": min(rates),
                    "messages_s_max": max(rates),
                    "cut_s": 0.0,
                }
            )
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return Expected(
        frame.join(raw.points, on="point"),
        ["point", "start_s"],
        POINT_DECIMALS,
        frozenset({"messages_s", "messages_s_min", "messages_s_max"}),
    )


def _answers(raw: Raw) -> Expected:
    """Returns times from a message to its answer, at the answering and at the asking host."""
    one = ["run", "host", "connection"]
    messages = raw.table("messages").sort("first_time", "last_time", "direction")
    messages = messages.with_columns(
        before=pl.col("direction").shift(1).over(one), end=pl.col("last_time").shift(1).over(one)
    )
    flows = raw.flows.filter("is_on_path").select(*CONNECTION, "sender")
    turns = messages.join(flows, on=CONNECTION).join(
        raw.runs.select("run", "point", "work_start_ns", "work_end_ns"), on="run"
    )
    turns = turns.filter(
        pl.col("before") != pl.col("direction"),
        pl.col("first_time").dt.epoch("ns").is_between("work_start_ns", "work_end_ns"),
    ).with_columns(
        side=pl.when(pl.col("sender") == pl.col("host")).then(pl.lit("think")).otherwise(
            pl.lit("wait")
        ),
        time_s=(pl.col("first_time") - pl.col("end")).dt.total_nanoseconds() / 1e9,
    )  # fmt: skip
    keys = ["point", "side", "direction"]
    rows = steps(turns.filter(pl.col("time_s") >= 0), keys, "time_s")
    # messages that crossed each other have a negative time
    crossed = turns.group_by(keys).agg(crossed=(pl.col("time_s") < 0).sum())
    rows = rows.rename({"in_step": "answers", "of_all": "of_answers"}).join(crossed, on=keys)
    return Expected(rows.join(raw.points, on="point"), [*keys, "time_s"], POINT_DECIMALS | SHARES)
