"""Traffic over the wide-area link: over time, per core, and the lightpaths it needs."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from compare import Expected
from flows import POINT_DECIMALS
from rates import bin_bytes
from raw import BIN_NS, Raw

STEP_BINS = 10
Way = tuple[str, str]


def recompute(raw: Raw) -> dict[str, Expected]:
    """Returns the rows of `wan_throughput`, `throughput_per_core` and `lightpaths`."""
    by_run: dict[str, dict[Way, np.ndarray]] = {}
    for key, bins in bin_bytes(raw):
        if key["direction"] == "between":
            by_run.setdefault(key["run"], {})[key["from_site"], key["to_site"]] = bins
    return {
        "wan_throughput": _over_time(raw, by_run),
        "throughput_per_core": _by_core(raw, by_run),
        "lightpaths": _lightpaths(raw, by_run),
    }


def _windows(bins: np.ndarray) -> np.ndarray:
    """Returns Mbit/s over the step that ends with each bin."""
    summed = np.concatenate([[0.0], np.cumsum(bins)])
    ends = np.arange(1, len(summed))
    return (summed[ends] - summed[np.maximum(ends - STEP_BINS, 0)]) * 8e3 / (STEP_BINS * BIN_NS)


def _quantile(rates: np.ndarray, share: float) -> float:
    """Returns the rate that is exceeded for at most 1 - share of the time."""
    ordered = np.sort(rates)[::-1]
    total = len(rates) * BIN_NS
    above = total - math.ceil(total * share - 0.001)
    return float(ordered[math.floor(above / BIN_NS)])


def _over_time(raw: Raw, by_run: dict[str, dict[Way, np.ndarray]]) -> Expected:
    points = raw.points.select("point", "is_baseline", "rtt_ms", "rate_mbit_s")
    runs = raw.runs.select("app", "problem", "run", "point", "work_start_ns").join(
        points, on="point"
    )
    across = raw.bins.filter(
        pl.col("host") == pl.col("sender"), pl.col("from_site") != pl.col("to_site")
    )
    rows = []
    for run in runs.iter_rows(named=True):
        first_bin = raw.windows.filter(pl.col("run") == run["run"])["first_bin"][0]
        for (one, other), bins in by_run[run["run"]].items():
            count = len(bins)
            assert count <= 200 * STEP_BINS, "each step has a column of its own"
            rates = _windows(bins)
            common = {
                **{name: run[name] for name in run if name not in ("point", "work_start_ns")},
                "links": None,
                "from_site": one,
                "to_site": other,
                "step_ms": 100.0,
                "cut_before_s": 0.0,
                "run_mean_mbit_s": bins.sum() * 8e3 / (count * BIN_NS),
                "run_p50_mbit_s": _quantile(rates, 0.5),
                "run_p95_mbit_s": _quantile(rates, 0.95),
                "run_p99_mbit_s": _quantile(rates, 0.99),
                "run_peak_mbit_s": rates.max(),
                "is_far_side": False,
                "is_doubtful": False,
                "shortest_ms": None,
            }
            spans = [
                (begin, min(begin + STEP_BINS, count), bins[begin : begin + STEP_BINS].sum())
                for begin in range(0, count, STEP_BINS)
            ]
            sent = across.filter(
                pl.col("run") == run["run"], pl.col("from_site") == one, pl.col("to_site") == other
            )
            early, late = sent.filter(pl.col("bin") < 0), sent.filter(pl.col("bin") >= count)
            if early.height:
                spans.append((early["bin"].min(), 0, early["wire_bytes"].sum()))
            if late.height:
                spans.append((count, late["bin"].max() + 1, late["wire_bytes"].sum()))
            for begin, end, size in spans:
                is_within = 0 <= begin < count
                mean = size * 8e3 / ((end - begin) * BIN_NS)
                start_s, end_s = (
                    ((first_bin + place) * BIN_NS - run["work_start_ns"]) / 1e9
                    for place in (begin, end)
                )
                rows.append(
                    common
                    | {
                        "start_s": start_s,
                        "end_s": end_s,
                        "is_within": is_within,
                        "wire_bytes": int(size),
                        "max_mbit_s": mean if is_within else None,
                        "mean_mbit_s": mean,
                        "steps": int(is_within),
                    }
                )
    names = ("max", "mean", "run_mean", "run_p50", "run_p95", "run_p99", "run_peak")
    return Expected(
        pl.DataFrame(rows, infer_schema_length=None),
        ["run", "from_site", "start_s"],
        POINT_DECIMALS | {f"{name}_mbit_s": 4 for name in names} | {"start_s": 6, "end_s": 6},
    )


def _by_core(raw: Raw, by_run: dict[str, dict[Way, np.ndarray]]) -> Expected:
    """Returns mean and peak rate per rank, of each site and of all sites together."""
    found = []
    for run, ways in by_run.items():
        record = raw.records[run]
        at = [rank["host"] for rank in record["application"]["ranks"]]
        for site in [None, *record["sites"]]:
            names = [
                host["name"] for host in record["hosts"] if site is None or host["site"] == site
            ]
            ranks = sum(host in names for host in at)
            row = {"run": run, "site": site, "hosts": len(names), "ranks": ranks}
            for side, place in (("sent", 0), ("received", 1)):
                summed = sum(sizes for way, sizes in ways.items() if site in (None, way[place]))
                row[f"{side}_mbit_s"] = summed.sum() * 8e3 / (len(summed) * BIN_NS) / ranks
                row[f"{side}_peak_mbit_s"] = _windows(summed).max() / ranks
            found.append(row)
    names = [f"{side}_{kind}mbit_s" for side in ("sent", "received") for kind in ("", "peak_")]
    rows = pl.DataFrame(found, infer_schema_length=None).join(
        raw.runs.select("run", "point"), on="run"
    )
    rows = rows.group_by("point", "site").agg(
        pl.col("hosts", "ranks").first(),
        pl.col(names).median(),
        runs=pl.len(),
        is_ranks_guessed=pl.lit(False),
        doubtful_runs=pl.lit(0),
        shortest_ms=None,
        is_peak_known=pl.lit(True),
    )
    return Expected(
        rows.join(raw.points.drop("ranks"), on="point"),
        ["point", "site"],
        POINT_DECIMALS | dict.fromkeys(names, 4),
    )


def _lightpaths(raw: Raw, by_run: dict[str, dict[Way, np.ndarray]]) -> Expected:
    """Returns the share of time for which each number of baseline lightpaths is enough."""
    assert not any("links" in record for record in raw.records.values())
    lightpath = raw.runs.filter("is_baseline")["rate_asked_mbit_s"][0]
    rows = []
    for point in raw.points.iter_rows(named=True):
        runs = raw.runs.filter(pl.col("point") == point["point"])["run"].to_list()
        demand = np.concatenate(
            [np.maximum.reduce([_windows(one) for one in by_run[run].values()]) for run in runs]
        )
        peaks = [_windows(one).max() for run in runs for one in by_run[run].values()]
        capacity = point["rate_asked_mbit_s"]
        needed = np.ceil(demand / lightpath - 1e-9).astype(int)
        sites = sorted(next(iter(by_run[runs[0]])))
        quantiles = {
            "p50": _quantile(demand, 0.5),
            "p95": _quantile(demand, 0.95),
            "p99": _quantile(demand, 0.99),
            "peak": demand.max(),
        }
        common = {
            "run": None,
            "site_a": sites[0],
            "site_b": sites[1],
            "lightpath_mbit_s": lightpath,
            "is_rate_assumed": False,
            "silent_share": float((demand == 0).mean()),
            **{f"{name}_mbit_s": rate for name, rate in quantiles.items()},
            **{
                f"{name}_lightpaths": math.ceil(rate / lightpath - 1e-9)
                for name, rate in quantiles.items()
            },
            "capacity_mbit_s": capacity,
            "is_supply_limited": max(peaks) > 0.8 * capacity,
            "runs": len(runs),
            "steps": len(demand),
            "step_ms": 100.0,
            "doubtful_runs": 0,
            "shortest_ms": None,
        }
        rows += [
            point | common | {"lightpaths": count, "share_of_time": float((needed <= count).mean())}
            for count in sorted({1, *needed[needed > 0].tolist()})
        ]
    decimals = {f"{name}_mbit_s": 4 for name in ("p50", "p95", "p99", "peak", "capacity")}
    return Expected(
        pl.DataFrame(rows, infer_schema_length=None),
        ["point", "lightpaths"],
        POINT_DECIMALS | decimals | {"share_of_time": 6, "silent_share": 6},
    )
