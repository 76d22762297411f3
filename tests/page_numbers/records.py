"""What captures and applications report about themselves: quality, phases, the first table."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from compare import Expected
from flows import POINT_DECIMALS
from rates import bin_bytes
from sweep import baseline_s, thresholds

if TYPE_CHECKING:
    from raw import Raw

COPIED = (
    "file", "interface", "packets", "wire_bytes", "snaplen", "dropped_kernel", "dropped_interface",
    "super_packets", "duplicate_packets", "distant_duplicate_packets", "reordered_packets",
    "late_packets", "length_conflict_packets", "times_out_of_range", "untimed_packets",
    "time_regressions",
)  # fmt: skip


def recompute(raw: Raw) -> dict[str, Expected]:
    """Returns the rows of `run_quality`, `phase_times` and `requirement`."""
    return {
        "run_quality": _quality(raw),
        "phase_times": _phases(raw),
        "requirement": _requirement(raw),
    }


def _quality(raw: Raw) -> Expected:
    unseen = raw.table("flows").group_by("run", "host").agg(pl.sum("unseen_acked_bytes"))
    captures = raw.table("captures").select(
        "run", "host", *COPIED,
        is_truncated="truncated_tail",
        undecoded_packets=pl.col("undecoded_packets") - pl.col("not_ip_packets"),
    )  # fmt: skip
    runs = raw.runs.select(
        "run", "app", "problem", "repetition", "rtt_asked_ms", "rtt_ms", "rate_asked_mbit_s",
        "rate_mbit_s",
        is_warmup=pl.lit(False),
        status=pl.lit("valid"),
        reason=None,
        is_used=pl.lit(True),
    )  # fmt: skip
    captures = captures.join(unseen, on=["run", "host"])
    rows = runs.join(captures, on="run").join(_fates(raw), on="run").join(_framing(raw), on="run")
    return Expected(
        rows, ["run", "host"], POINT_DECIMALS | {"framing_share": 6, "emulator_late_p99_us": 1}
    )


def _fates(raw: Raw) -> pl.DataFrame:
    """Counts frames and packets whose fate is unknown, and frames that the emulator dropped."""
    across = raw.flows.filter("is_on_path")
    rows = []
    for run, record in raw.records.items():
        frames = packets = dropped_all = 0
        for link in record["emulator"]["links"]:
            dropped = sum(
                count for name, count in link.items()
                if name.startswith("dropped") and not name.endswith("bytes")
            )  # fmt: skip
            dropped_all += dropped
            kept = link["delivered"] + dropped + link["in_flight"]
            frames += abs(link["received"] - kept)
            crossing = across.filter(
                pl.col("run") == run,
                pl.col("from_site") == link["from"],
                pl.col("to_site") == link["to"],
            )
            sent, arrived = (
                crossing.filter(pl.col(side) == pl.col("host"))["packets"].sum()
                for side in ("sender", "receiver")
            )
            # a dropped frame may have no captured packet, such as ARP
            extra = max(link["received"] - sent, 0)
            lost = sent - arrived
            beyond = lost - dropped - link["in_flight"]
            packets += max(beyond, 0) if beyond > 0 else max(-beyond - extra, 0)
        rows.append(
            {
                "run": run,
                "unexplained_frames": frames,
                "unexplained_packets": packets,
                "emulator_dropped": dropped_all,
                "emulator_late_p99_us": record["emulator"]["lateness_ns"]["p99"] / 1e3,
            }
        )
    return pl.DataFrame(rows)


def _framing(raw: Raw) -> pl.DataFrame:
    """Returns bytes that ranks sent to ranks on other hosts, and the payload that carried them."""
    rows = []
    for run, record in raw.records.items():
        ranks = {str(rank["rank"]): rank for rank in record["application"]["ranks"]}
        sent = sum(
            there["bytes"]
            for rank in ranks.values()
            for peer, there in rank["to"].items()
            if ranks[peer]["host"] != rank["host"]
        )
        flows = raw.sent.filter(pl.col("run") == run)
        again = (flows["syn_packets"] - 1).clip(0) + (flows["fin_packets"] - 1).clip(0)
        carried = (flows["payload_bytes"] - flows["retransmitted_bytes"] + again).sum()
        rows.append(
            {
                "run": run,
                "application_bytes": sent,
                "payload_bytes": carried,
                "framing_share": carried / sent - 1,
            }
        )
    return pl.DataFrame(rows)


def _phases(raw: Raw) -> Expected:
    rows = []
    for run, record in raw.records.items():
        sites = {host["name"]: host["site"] for host in record["hosts"]}
        hosts = {rank["rank"]: rank["host"] for rank in record["application"]["ranks"]}
        spans = record["application"]["phases"]
        for rank in sorted({span["rank"] for span in spans}):
            rank_spans = [span for span in spans if span["rank"] == rank]
            overlap = sum(map(_length, rank_spans)) - _covered(rank_spans)
            for phase in sorted({span["name"] for span in rank_spans}):
                own = [span for span in rank_spans if span["name"] == phase]
                phase_s = sum(map(_length, own))
                rows.append(
                    {
                        "run": run,
                        "rank": rank,
                        "host": hosts[rank],
                        "site": sites[hosts[rank]],
                        "phase": phase,
                        "spans": len(own),
                        "phase_s": phase_s,
                        "share": phase_s / record["completion_s"],
                        "longest_s": max(map(_length, own)),
                        "first_start_s": min(span["start_s"] for span in own),
                        "last_end_s": max(span["end_s"] for span in own),
                        "overlap_s": overlap,
                        "completion_s": record["completion_s"],
                    }
                )
    frame = pl.DataFrame(rows).join(raw.runs.select("run", "point"), on="run")
    names = ["phase_s", "share", "longest_s", "first_start_s", "last_end_s", "overlap_s",
             "completion_s"]  # fmt: skip
    return Expected(
        frame.join(raw.points, on="point"),
        ["run", "rank", "phase"],
        POINT_DECIMALS | dict.fromkeys(names, 6),
    )


def _length(span: dict[str, Any]) -> float:
    return span["end_s"] - span["start_s"]


def _covered(spans: list[dict[str, Any]]) -> float:
    """Returns for how long at least one of the spans lasts."""
    ends = sorted({span[end] for span in spans for end in ("start_s", "end_s")})
    return sum(
        after - before
        for before, after in itertools.pairwise(ends)
        if any(span["start_s"] <= before and after <= span["end_s"] for span in spans)
    )


def _requirement(raw: Raw) -> Expected:
    row: dict[str, Any] = {"run": None, "buffer_bytes": None, "baseline_s": baseline_s(raw)}
    base = raw.points.filter("is_baseline").row(0, named=True)
    row |= {name: base[name] for name in ("app", "problem")}
    row |= {"outcome": "completion_time", "outcome_unit": "s", "better": "less"}
    row["baseline_value"] = row["baseline_s"]
    row |= {f"baseline_{name}": base[name] for name in ("rtt_ms", "rate_mbit_s")}
    for one in thresholds(raw):
        axis, unit = one["axis"], {"rtt": "ms", "rate": "mbit_s"}[one["axis"]]
        name = f"{axis}_{one['deterioration']}"
        row |= {f"{name}_{unit}": one["estimate"], f"{name}_state": one["state"]}
        row |= {f"{name}_{end}_{unit}": one[end] for end in ("low", "high")}
        row[{"rtt": "highest_rtt_ms", "rate": "lowest_rate_mbit_s"}[axis]] = one["hardest"]
    rates = {
        key["direction"]: bins * 8e3 / 1e7
        for key, bins in bin_bytes(raw)
        if key["run"] == raw.shown_run and key["host"] == raw.shown_host
    }
    busier = max(rates, key=lambda direction: rates[direction].sum())
    ordered = np.sort(rates[busier])
    captures = raw.table("captures").join(raw.runs.select("run", "is_baseline"), on="run")
    row |= {
        "busier_direction": busier,
        "peak_mbit_s": ordered[-1],
        "p99_mbit_s": ordered[int(np.ceil(len(ordered) * 0.99)) - 1],
        "mean_mbit_s": ordered.mean(),
        "bin_ms": 10.0,
        "shortest_ms": None,
        "is_borrowed": False,
        "runs_used": raw.runs.height,
        "runs_left_out": 0,
        "baseline_packets": captures.filter("is_baseline")["packets"].sum(),
        "crossing_packets": raw.sent.filter("is_on_path")["packets"].sum(),
    }
    return Expected(
        pl.DataFrame([row], infer_schema_length=None),
        ["problem"],
        dict.fromkeys(
            ("baseline_s", "baseline_value", "baseline_rtt_ms", "baseline_rate_mbit_s"), 4
        ),
        frozenset({"peak_mbit_s", "p99_mbit_s", "mean_mbit_s"}),
    )
