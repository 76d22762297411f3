"""Throughput of hosts and of the wide-area link from bins: over time, distributed, in windows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from compare import Expected
from distributions import steps
from flows import POINT_DECIMALS, SHARES
from raw import BIN_NS, Raw

SERIES = ["point", "host", "from_site", "to_site", "direction"]
#: Widths in bins: 10 ms, 100 ms, 1 s, 1 min, 5 min.
WIDTHS = (1, 10, 100, 6_000, 30_000)


def recompute(raw: Raw) -> dict[str, Expected]:
    """Returns the rows of `throughput_cdf`, `monitoring` and `throughput_series`."""
    return {
        "throughput_cdf": _distributions(raw),
        "monitoring": _windows(raw),
        "throughput_series": _shown(raw),
    }


def bin_bytes(raw: Raw) -> Iterator[tuple[dict[str, object], np.ndarray]]:
    """Yields bytes by bin of each run's time, of each host in its own capture and between sites.

    Yields:
        `run` and SERIES, and the bytes, of shape (bins).
    """
    bins = raw.bins.filter(pl.col("bin").is_between(0, pl.col("bins") - 1))
    own = pl.col("host")
    for run, point, count in raw.windows.select("run", "point", "bins").iter_rows():
        run_bins = bins.filter(pl.col("run") == run)
        key = {"run": run, "point": point, "host": None, "from_site": None, "to_site": None}
        for name in sorted(run_bins["host"].unique()):
            for direction, side in (("in", "receiver"), ("out", "sender")):
                at = run_bins.filter(own == name, pl.col(side) == name)
                yield key | {"host": name, "direction": direction}, _filled(at, count)
        across = run_bins.filter(own == pl.col("sender"), pl.col("from_site") != pl.col("to_site"))
        for (one, other), at in across.group_by("from_site", "to_site"):
            sites = {"from_site": one, "to_site": other, "direction": "between"}
            yield key | sites, _filled(at, count)


def _filled(bins: pl.DataFrame, count: int) -> np.ndarray:
    weights = bins["wire_bytes"].to_numpy().astype(np.float64)
    return np.bincount(bins["bin"].to_numpy(), weights=weights, minlength=count)


def _rates(bins: np.ndarray, width: int) -> np.ndarray:
    """Returns Mbit/s of steps of `width` bins; the last step is padded with silence."""
    padded = np.pad(bins, (0, -len(bins) % width))
    return padded.reshape(-1, width).sum(axis=1) * 8e3 / (width * BIN_NS)


def _distributions(raw: Raw) -> Expected:
    values = [
        pl.DataFrame(key | {"bin_ms": width * 10.0}, schema_overrides={"host": pl.String}).select(
            pl.all().repeat_by(len(rates)).explode()
        ).with_columns(mbit_s=pl.Series(rates))
        for key, bins in bin_bytes(raw)
        for width in WIDTHS[:3]
        for rates in [_rates(bins, width)]
    ]  # fmt: skip
    frame = pl.concat(values, how="vertical_relaxed")
    keys = [*SERIES, "bin_ms"]
    rows = steps(frame, keys, "mbit_s", unit=1e6, has_zero=True)
    empty = frame.group_by(keys).agg(empty_bins=(pl.col("mbit_s") == 0).sum())
    rows = rows.join(empty, on=keys, nulls_equal=True)
    beyond = [
        pl.when(pl.col("of_all") >= least).then(
            pl.col("mbit_s").filter(pl.col("share") >= share - 5e-7).min().over(keys)
        ).alias(name)
        for name, share, least in (
            ("p99_mbit_s", 0.99, 100),
            ("p999_mbit_s", 0.999, 1_000),
            ("p9999_mbit_s", 0.9999, 10_000),
        )
    ]  # fmt: skip
    rows = rows.with_columns(beyond).rename({"of_all": "bins"}).drop("in_step")
    return Expected(rows.join(raw.points, on="point"), [*keys, "mbit_s"], POINT_DECIMALS | SHARES)


def _windows(raw: Raw) -> Expected:
    found = []
    for key, bins in bin_bytes(raw):
        for width in WIDTHS:
            if width == 10:
                continue
            rates = _rates(bins, width)
            found.append(
                key
                | {
                    "window_ms": width * 10.0,
                    "is_shorter": width > len(bins),
                    "peak": rates.max(),
                    "p99": _exceeded_in_one_percent(rates),
                    "mean": bins.sum() * 8e3 / (len(rates) * width * BIN_NS),
                }
            )
    keys = [*SERIES, "window_ms"]
    rows = pl.DataFrame(found, infer_schema_length=None).group_by(keys).agg(
        run=None,
        runs=pl.len(),
        shorter_runs=pl.col("is_shorter").sum(),
        peak_mbit_s=pl.col("peak").median(),
        peak_mbit_s_min=pl.col("peak").min(),
        peak_mbit_s_max=pl.col("peak").max(),
        p99_mbit_s=pl.col("p99").median(),
        mean_mbit_s=pl.col("mean").median(),
    )  # fmt: skip
    first = pl.col("peak_mbit_s").sort_by("window_ms").first().over(SERIES)
    rows = rows.with_columns(peak_share=pl.col("peak_mbit_s") / first)
    return Expected(rows.join(raw.points, on="point"), keys, POINT_DECIMALS | {"peak_share": 6})


def _exceeded_in_one_percent(rates: np.ndarray) -> float:
    """Returns the least top of a step of the distribution that at most 1 % of the rates exceed."""
    frame = pl.DataFrame({"run": "", "mbit_s": rates})
    tops = steps(frame, ["run"], "mbit_s", unit=1e6, has_zero=True)["mbit_s"]
    return min(top for top in tops if (rates > top).sum() <= len(rates) * 0.01 + 1e-6)


def _shown(raw: Raw) -> Expected:
    """Returns the columns over the time of the shown run at the shown host."""
    run, host = raw.shown_run, raw.shown_host
    window = raw.windows.filter(pl.col("run") == run).row(0, named=True)
    first = raw.runs.filter(pl.col("run") == run).row(0, named=True)
    count, start = window["bins"], window["work_start_ns"]
    assert count <= 400, "each bin has a column of its own"

    def second(place: int) -> float:
        return ((window["first_bin"] + place) * BIN_NS - start) / 1e9

    rows = []
    for direction, side in (("in", "receiver"), ("out", "sender")):
        host_bins = raw.bins.filter(
            pl.col("run") == run, pl.col("host") == host, pl.col(side) == host
        )
        places = dict(host_bins.group_by("bin").agg(pl.col("wire_bytes").sum()).iter_rows())
        spans = [(place, place + 1, True) for place in range(count)]
        early, late = [[one for one in places if one < 0], [one for one in places if one >= count]]
        spans += [(min(early), 0, False)] if early else []
        spans += [(count, max(late) + 1, False)] if late else []
        inside = sum(size for place, size in places.items() if 0 <= place < count)
        for begin, end, is_within in spans:
            busy = {place: places[place] for place in range(begin, end) if place in places}
            most = max(busy.values(), default=0)
            at = min((place for place, size in busy.items() if size == most), default=None)
            rows.append(
                {
                    "app": first["app"],
                    "problem": first["problem"],
                    "run": run,
                    "host": host,
                    "direction": direction,
                    "start_s": second(begin),
                    "end_s": second(end),
                    "is_within": is_within,
                    "bins": end - begin,
                    "busy_bins": len(busy),
                    "wire_bytes": sum(busy.values()),
                    "max_mbit_s": most * 8e3 / BIN_NS,
                    "mean_mbit_s": sum(busy.values()) * 8e3 / ((end - begin) * BIN_NS),
                    "max_at_s": None if at is None else second(at),
                    "run_mean_mbit_s": inside * 8e3 / (count * BIN_NS),
                    "bin_ms": 10.0,
                    "cut_before_s": 0.0,
                    "shortest_ms": None,
                    "is_borrowed": False,
                }
            )
    decimals = {"start_s": 6, "end_s": 6, "max_at_s": 6, "max_mbit_s": 4, "mean_mbit_s": 4}
    return Expected(
        pl.DataFrame(rows, infer_schema_length=None),
        ["direction", "start_s"],
        decimals | {"run_mean_mbit_s": 7},
    )
