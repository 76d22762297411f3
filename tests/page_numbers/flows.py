"""Sizes, durations and rates of flows, what limits them, and the totals of each point."""

from __future__ import annotations

import polars as pl
from compare import Expected
from distributions import steps
from raw import BIN_NS, Raw

ENDS = ["point", "direction"]
LIMITS = ("app", "sender", "receiver", "network", "unknown")
#: Parts of the application's time, and of its waits for the other side.
WAITS = ("own", "wait", "wait_rtt", "wait_link", "wait_queue", "wait_peer")
POINT_DECIMALS = {"rtt_ms": 4, "rate_mbit_s": 4}
SHARES = {"share": 6, "share_low": 6, "share_high": 6}


def recompute(raw: Raw) -> dict[str, Expected]:
    """Returns the rows of `flow_sizes`, `flow_durations`, `flow_rates`, `limits` and `totals`."""
    flows = valued(raw)
    return {
        "flow_durations": _steps(raw, flows, "duration_s"),
        "flow_rates": _steps(raw, flows.filter(pl.col("duration_s") > 0), "mbit_s"),
        "flow_sizes": _sizes(raw, flows),
        "limits": _limits(raw),
        "totals": _totals(raw),
    }


def valued(raw: Raw) -> pl.DataFrame:
    """Returns each flow direction with its point and values; the demo has only complete flows."""
    assert set(raw.sent["start"]) == {"syn"}
    assert set(raw.sent["end"]) <= {"fin", "rst"}
    return raw.sent.join(raw.runs.select("run", "point"), on="run").with_columns(
        duration_s=pl.col("duration_ns") / 1e9,
        mbit_s=pl.col("payload_bytes") * 8e3 / pl.col("duration_ns"),
    )


def _steps(raw: Raw, flows: pl.DataFrame, column: str) -> Expected:
    rows = steps(flows, ENDS, column).rename({"in_step": "flows", "of_all": "of_flows"})
    rows = rows.with_columns(
        pl.lit(0).alias(f"{name}_flows")
        for name in ("censored", "open", "begun_before", "cut", "of_censored")
    )
    return Expected(rows.join(raw.points, on="point"), [*ENDS, column], POINT_DECIMALS | SHARES)


def _sizes(raw: Raw, flows: pl.DataFrame) -> Expected:
    """Returns one row per flow, with the share of flows that are at most as large."""
    alike = pl.col("payload_bytes")
    ordered = flows.with_columns(
        share=alike.rank("max").over(ENDS) / pl.len().over(ENDS),
        of_flows=pl.len().over(ENDS),
        runs=pl.col("run").n_unique().over(ENDS),
    )
    shares = []
    for (point, direction), group in ordered.group_by(ENDS):
        sizes = group["payload_bytes"].unique()
        for size in sizes:
            own = group.group_by("run").agg((alike <= size).mean().alias("share"))["share"]
            shares.append((point, direction, size, own.min(), own.max()))
    frame = pl.DataFrame(
        shares, schema=[*ENDS, "payload_bytes", "share_low", "share_high"], orient="row"
    )
    rows = ordered.join(frame, on=[*ENDS, "payload_bytes"]).select(
        *ENDS, "run", "payload_bytes", "duration_s", "share", "share_low", "share_high", "runs",
        "of_flows",
        is_cell=pl.lit(False),
        flows=pl.lit(1),
        source=pl.format("{}:{}", "src_ip", "src_port"),
        destination=pl.format("{}:{}", "dst_ip", "dst_port"),
        is_cut=pl.lit(False),
        censored_flows=pl.lit(0),
        is_far_side=pl.lit(False),
        is_of_zeek=pl.lit(False),
    )  # fmt: skip
    return Expected(
        rows.join(raw.points, on="point"),
        ["run", "source", "destination"],
        POINT_DECIMALS | SHARES,
    )


def _limits(raw: Raw) -> Expected:
    """Returns shares of time, with each direction weighted by its payload."""
    flows = raw.sent.filter("is_on_path", pl.col("payload_bytes") > 0)
    flows = flows.join(raw.runs.select("run", "point"), on="run")
    sending = pl.sum_horizontal(f"{name}_limited_ns" for name in LIMITS)
    flows = _waits(raw, flows.with_columns(sending=sending))
    is_known = pl.col("sending") > 0
    weight = pl.col("payload_bytes").filter(is_known).sum()
    rows = flows.group_by("point").agg(
        pl.col("run").n_unique().alias("runs"),
        directions=pl.len(),
        unknown_directions=pl.lit(0),
        unknown_because=pl.when((pl.col("unknown_limited_ns") > 0).any()).then(
            pl.lit("headers do not show it")
        ),
        sending_s=pl.col("sending").sum() / 1e9,
        most_held_share=(
            1 - (pl.col("own_limited_ns") + pl.col("unknown_limited_ns")) / pl.col("sending")
        ).filter(is_known).max(),
        udp_share=pl.lit(0.0),
        **{
            f"{name}_share": (
                pl.col("payload_bytes") * pl.col(f"{name}_limited_ns") / pl.col("sending")
            ).filter(is_known).sum()
            / weight
            for name in (*LIMITS, *WAITS)
        },
    )  # fmt: skip
    rows = rows.with_columns(run=None).join(_link_shares(raw), on="point")
    shares = [f"{name}_share" for name in (*LIMITS, *WAITS)]
    names = ["link_share", *shares, "most_held_share", "sending_s"]
    return Expected(
        rows.join(raw.points, on="point"), ["point"], POINT_DECIMALS | dict.fromkeys(names, 6)
    )


def _waits(raw: Raw, flows: pl.DataFrame) -> pl.DataFrame:
    """Splits the application's time into its own and waits for answers, and the waits by cause.

    All hosts of the demo are captured, and no two of its connections have the same ports.
    """
    ends = ("ip", "port")
    back = flows.select(
        "run",
        *(pl.col(f"{one}_{end}").alias(f"{other}_{end}")
          for one, other in (("src", "dst"), ("dst", "src")) for end in ends),
        back_payload="payload_bytes",
        back_own=pl.col("app_limited_ns") - pl.col("peer_wait_ns"),
        back_unknown="unknown_limited_ns",
    )  # fmt: skip
    keys = ["run", *(f"{one}_{end}" for one in ("src", "dst") for end in ends)]
    assert not back.select(keys).is_duplicated().any()
    joined = flows.join(back, on=keys, how="left").join(
        raw.runs.select("run", "rate_asked_mbit_s"), on="run"
    )
    wait = pl.col("peer_wait_ns")
    payload = pl.col("payload_bytes") + pl.col("back_payload").fill_null(0)
    return (
        joined.with_columns(
            own_limited_ns=pl.col("app_limited_ns") - wait,
            wait_limited_ns=wait,
            # every SYN of the demo was captured
            wait_rtt_limited_ns=pl.min_horizontal(
                wait, (pl.col("peer_waits") * pl.col("rtt_min_ns")).fill_null(0)
            ),
        )
        .with_columns(
            wait_peer_limited_ns=pl.min_horizontal(
                wait - pl.col("wait_rtt_limited_ns"), pl.col("back_own").fill_null(0)
            ),
            path=pl.max_horizontal(
                (wait - pl.col("back_own") - pl.col("back_unknown")).fill_null(0),
                pl.col("wait_rtt_limited_ns"),
            ),
        )
        .with_columns(
            wait_link_limited_ns=pl.min_horizontal(
                pl.col("path") - pl.col("wait_rtt_limited_ns"),
                payload * 8e3 / pl.col("rate_asked_mbit_s"),
            )
        )
        .with_columns(
            wait_queue_limited_ns=pl.col("path")
            - pl.col("wait_rtt_limited_ns")
            - pl.col("wait_link_limited_ns")
        )
    )


def _link_shares(raw: Raw) -> pl.DataFrame:
    """Returns the share of its rate that the busier direction between the sites used in a run."""
    across = raw.bins.filter(
        pl.col("host") == pl.col("sender"),
        pl.col("from_site") != pl.col("to_site"),
        pl.col("bin").is_between(0, pl.col("bins") - 1),
    )
    used = across.group_by("run", "point", "from_site").agg(
        mean=pl.col("wire_bytes").sum() * 8e3 / (pl.col("bins").first() * BIN_NS)
    )
    rate = raw.runs.select("run", "rate_asked_mbit_s")
    run_rows = (
        used.join(rate, on="run")
        .group_by("run", "point")
        .agg(link_share=(pl.col("mean") / pl.col("rate_asked_mbit_s")).max())
    )
    return run_rows.group_by("point").agg(pl.col("link_share").median())


def _totals(raw: Raw) -> Expected:
    host = raw.shown_host
    wire = pl.col("wire_bytes")
    run_rows = raw.sent.group_by("run").agg(
        into=wire.filter(pl.col("receiver") == host).sum(),
        out=wire.filter(pl.col("sender") == host).sum(),
        all=wire.sum(),
        packets=pl.col("packets").sum(),
        # a retransmitted SYN or FIN counts as one retransmitted byte
        data=(
            pl.col("payload_bytes")
            - pl.col("retransmitted_bytes")
            + (pl.col("syn_packets") - 1).clip(0)
            + (pl.col("fin_packets") - 1).clip(0)
        ).sum(),
    )
    run_rows = run_rows.join(
        raw.runs.select("run", "point", "is_baseline", "completion_s"), on="run"
    )
    rows = run_rows.group_by("point").agg(
        runs_used=pl.len(),
        in_mb=pl.col("into").median() / 1e6,
        in_mbit_s=(pl.col("into") * 8e-6 / pl.col("completion_s")).median(),
        out_mb=pl.col("out").median() / 1e6,
        out_mbit_s=(pl.col("out") * 8e-6 / pl.col("completion_s")).median(),
        all_mb=pl.col("all").median() / 1e6,
        all_packets=pl.col("packets").median(),
        completion_s=pl.col("completion_s").median(),
        data_mb=pl.col("data").median() / 1e6,
    )
    base = rows.filter(pl.col("point") == run_rows.filter("is_baseline")["point"][0]).row(
        0, named=True
    )
    rows = rows.select(
        pl.all(),
        run=None,
        host=pl.lit(host),
        bytes_change=pl.col("all_mb") / base["all_mb"] - 1,
        packets_change=pl.col("all_packets") / base["all_packets"] - 1,
        data_change=pl.col("data_mb") / base["data_mb"] - 1,
    )
    decimals = dict.fromkeys(["in_mb", "out_mb", "all_mb", "data_mb"], 6)
    decimals |= dict.fromkeys(["completion_s", "bytes_change", "packets_change"], 4)
    return Expected(
        rows.join(raw.points, on="point"),
        ["point"],
        POINT_DECIMALS | decimals | {"all_packets": 0},
        frozenset({"in_mbit_s", "out_mbit_s", "data_change"}),
    )
