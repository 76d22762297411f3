"""Every number in the verdict and the captions of the demo's page, as it must be printed.

The values come from recomputed rows. Their format (three figures, `41.6 k`, shares in percent) is
implemented here again, without flowsweep.numbers.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import matched
import polars as pl

if TYPE_CHECKING:
    from compare import Expected
    from raw import Raw

NUMBER = re.compile(r"[-\N{MINUS SIGN}+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")
#: Numbers in texts that do not depend on any run: in every caption, and in one.
IN_ALL = frozenset({"10", "50", "95", "99", "1"})
CONSTANTS: dict[str, frozenset[str]] = {
    "verdict": frozenset({"80"}),
    "monitoring": frozenset({"3"}),
    "wan_throughput": frozenset({"100"}),
    "throughput_per_core": frozenset({"100"}),
    "flow_sizes": frozenset({"0"}),
    "message_rate": frozenset({"90", "20"}),
    "message_rate_series": frozenset({"3", "0.01"}),
    "packet_intervals": frozenset({"20", "1,514", "1.25", "1.6", "5"}),
}


def texts(page: str) -> dict[str, str]:
    """Returns the verdict and each caption, without markup and without names of runs and hosts."""
    start = page.index('<section id="verdict"')
    found = {"verdict": page[start : page.index("</section>", start)]}
    for figure in re.finditer(r'<figure id="figure-(\w+)">(.*?)</figure>', page, re.DOTALL):
        caption = re.search(r"<figcaption[^>]*>(.*?)</figcaption>", figure[2], re.DOTALL)
        found[figure[1]] = caption[1] if caption else ""
    return {name: _plain(text) for name, text in found.items()}


def _plain(text: str) -> str:
    text = html.unescape(re.sub(r"<[^>]+>", " ", text))
    return re.sub(r"\b(nqueens-\S+|pc\d|flowsweep query \w+)", " ", text)


def numbers(text: str) -> set[str]:
    """Returns the numbers of a text, as they are written."""
    return set(NUMBER.findall(text))


def expected(raw: Raw, rows: Mapping[str, Expected]) -> dict[str, set[str]]:
    """Returns the numbers that the verdict and each caption must print."""
    frames = {name: one.rows for name, one in rows.items()}
    return {
        "verdict": _verdict(raw, frames),
        "thresholds": set(),
        "time_shares": set(),
        "completion_by_rtt": _completion(frames, "rtt"),
        "completion_by_rate": _completion(frames, "rate"),
        **_traffic(raw, frames),
        **_flows(raw, frames),
        **_messages(raw, frames),
        **_others(raw, frames),
    }


def _verdict(raw: Raw, frames: Mapping[str, pl.DataFrame]) -> set[str]:
    found = set()
    for row in frames["thresholds"].iter_rows(named=True):
        # the verdict states the 50 % threshold only where both ends are known
        if row["level"] < 1.5 or row["state"] == "found":
            found |= {figures(row[name]) for name in ("low", "high") if row[name]}
            found |= _estimate(row)
        found |= {percent(row["spread"])}
        found |= {change(row[name]) for name in ("drift_low", "drift_high")}
    found |= _slowest(frames["time_shares"])
    path = frames["lightpaths"].filter("is_baseline").row(0, named=True)
    return found | {str(path["p99_lightpaths"]), f"{path['lightpath_mbit_s']:.0f}"}


def _estimate(row: Mapping[str, float | None]) -> set[str]:
    """Formats a threshold: the narrower its interval, the more digits; none for the whole range."""
    value, low, high = (row[name] for name in ("estimate", "low", "high"))
    if not value or {low, high} == {row["mildest"], row["hardest"]}:
        return set()
    factor = high / low if low and high else math.inf
    for digits in range(1 if factor >= 4 else 2 if factor > 1.5 else 3, 4):
        rounded = float(f"{value:.{digits}g}")
        if (low or 0) <= rounded <= (high or math.inf):
            break
    return {figures(rounded, digits)}


def _slowest(rows: pl.DataFrame) -> set[str]:
    """Returns the numbers for the parts of 5 % or more of the time of each axis' slowest point."""
    found = set()
    base = rows.filter("is_baseline").row(0, named=True)
    for axis, other in (("rtt", "rate"), ("rate", "rtt")):
        asked, fixed = (
            next(name for name in rows.columns if name.startswith(f"{one}_asked"))
            for one in (axis, other)
        )
        line = rows.filter(pl.col(fixed) == base[fixed], pl.col(asked) != base[asked])
        slowest = line.sort("path_s").row(-1, named=True)
        shares = {name: slowest[name] / slowest["path_s"] for name in matched.PARTS.values()}
        found |= {percent(share) for share in shares.values() if share >= 0.05}
        found |= {figures(slowest[asked.replace("_asked", "")])}
        del shares["computing_s"], shares["not_explained_s"]
        if max(shares, key=shares.__getitem__) == "propagation_s":
            found |= {f"{slowest['crossings']:.0f}"}
    return found


def _completion(frames: Mapping[str, pl.DataFrame], axis: str) -> set[str]:
    rows = frames[f"completion_by_{axis}"]
    base = rows.filter("is_baseline").row(0, named=True)
    runs = rows["runs_used"]
    return {
        *(str(one) for one in (runs.min(), runs.max(), runs.sum())),
        *(figures(base[name]) for name in ("baseline_s", "rtt_ms", "rate_mbit_s")),
    }


def _traffic(raw: Raw, frames: Mapping[str, pl.DataFrame]) -> dict[str, set[str]]:
    series, wan = frames["throughput_series"], frames["wan_throughput"]
    outside = series.filter(~pl.col("is_within"))["wire_bytes"].sum()
    crossed = wan.filter(~pl.col("is_within"), pl.col("run") == raw.shown_run)["wire_bytes"].sum()
    bins = frames["throughput_cdf"].filter(
        pl.col("host") == raw.shown_host, pl.col("bin_ms") == 10, pl.col("direction") == "in"
    )
    cores = frames["throughput_per_core"].filter(pl.col("site").is_null())
    peak = max(cores["sent_peak_mbit_s"].max(), cores["received_peak_mbit_s"].max())
    return {
        "throughput_series": {size(outside)},
        "throughput_cdf": {count(bins.unique("point")["bins"].sum())},
        "monitoring": {points(raw)},
        "wan_throughput": {size(crossed)},
        "path_throughput": set(),
        "throughput_per_core": {
            f"{cores['ranks'][0]:.0f}", figures(peak), figures(peak / 8),
        },
    }  # fmt: skip


def _flows(raw: Raw, frames: Mapping[str, pl.DataFrame]) -> dict[str, set[str]]:
    limits, sizes = frames["limits"], frames["flow_sizes"]
    lasting = frames["flow_rates"].unique(["point", "direction"])["of_flows"].sum()
    return {
        "flow_sizes": {count(sizes.filter(pl.col("run") == raw.shown_run).height)},
        "flow_durations": {count(sizes.height)},
        "flow_rates": {count(lasting)},
        "bytes_in_flight": {count(_hidden(frames["bytes_in_flight"]))},
        "limits": {count(limits["directions"].sum()), percent(limits["most_held_share"].max())},
    }


def _hidden(rows: pl.DataFrame) -> int:
    """Counts rows with less in flight than a ten thousandth of the largest number drawn."""
    top = max(rows["in_flight_bytes"].max(), rows["bdp_bytes"].max())
    return rows.filter(pl.col("in_flight_bytes") < 1e-4 * top).height


def _messages(raw: Raw, frames: Mapping[str, pl.DataFrame]) -> dict[str, set[str]]:
    rates = frames["message_rate"]
    all_messages = count(rates["messages"].sum())
    shares = {
        percent(rates[name].__getattribute__(end)())
        for name in ("merged_bytes_share", "guessed_share")
        for end in ("min", "max")
    }
    answers = frames["think_times"].unique(["point", "side", "direction"])["of_answers"].sum()
    return {
        "message_rate": {all_messages, str(raw.runs.height), *shares},
        "message_sizes": {all_messages},
        "message_rate_series": {all_messages, points(raw)},
        "think_times": {count(answers)},
    }


def _others(raw: Raw, frames: Mapping[str, pl.DataFrame]) -> dict[str, set[str]]:
    ranks = frames["phase_times"].unique(["run", "rank"])
    gaps = frames["packet_intervals"].unique(["point", "stream"])["of_count"].sum()
    return {
        "phase_times": {
            str(ranks.filter(pl.col("run") == raw.shown_run).height),
            str(raw.runs.height),
            str(ranks.filter(pl.col("overlap_s") > 0).height),
            str(ranks.height),
        },
        "packet_intervals": {count(gaps), str(raw.runs.height), points(raw)},
    }


def points(raw: Raw) -> str:
    """Returns the number of points of the sweep."""
    return str(raw.points.height)


def figures(value: float, digits: int = 3) -> str:
    """Formats a value with `digits` significant figures."""
    places = max(digits - 1 - math.floor(math.log10(float(f"{value:.{digits - 1}e}"))), 0)
    return f"{value:,.{places}f}"


def count(value: float) -> str:
    """Formats a count: exact up to 9,999, then in thousands with three figures, without the `k`."""
    return f"{value:,}" if value <= 9_999 else figures(value / 1e3)


def size(count: int) -> str:
    """Formats a size: in bytes up to 999, then in kB with three figures."""
    return str(count) if count < 1_000 else figures(count / 1e3)


def percent(share: float) -> str:
    """Formats a share: whole percent from 10 to 99, else one decimal; 0 for nothing."""
    value = share * 100
    if value == 0:
        return "0"
    return f"{value:.0f}" if 9.95 <= value < 99.5 else f"{value:.1f}"


def change(share: float) -> str:
    """Formats a change in percent with its sign."""
    sign = "+" if share > 0 else "\N{MINUS SIGN}"
    return f"{sign}{percent(abs(share))}"


def unexplained(name: str, found: Iterable[str], printed: set[str]) -> set[str]:
    """Returns numbers of a text that are neither values of its rows nor constants."""
    return printed - set(found) - IN_ALL - CONSTANTS.get(name, frozenset())
