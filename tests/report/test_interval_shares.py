"""The shares in the titles of `packet_intervals`, against the gaps behind them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny

from flowsweep.render import page, theme
from flowsweep.render.figure import Context
from flowsweep.render.figures import packet_intervals
from flowsweep.warehouse import Warehouse

WEST, EAST = "10.77.1.1", "10.77.2.1"
RATE, RTT_MS = 1e8, 4.0
#: 1,514 bytes at 100 Mbit/s take 121.12 µs; a quarter more is still back to back.
BACK_NS, NEAR = 121_120, 1.25


def buckets(gaps: list[int]) -> list[dict[str, Any]]:
    """Puts gaps into the parser's buckets: exact below 128 ns, then 64 in each octave."""
    found: dict[tuple[int, int], int] = {}
    for value in gaps:
        shift = max(value.bit_length() - 7, 0)
        low = value >> shift << shift
        key = (low, low + (1 << shift) if low else 1)
        found[key] = found.get(key, 0) + 1
    return [
        {"connection": 0, "direction": "forward", "bucket_low_ns": low, "bucket_high_ns": high,
         "count": count}
        for (low, high), count in sorted(found.items())
    ]  # fmt: skip


def made(directory: Path, gaps: list[int], frame: int = 1_400, **changes: Any) -> Path:
    """Makes one run with one flow of these gaps and frames, captured at the receiver."""
    times = {"rtt_asked_ns": round(RTT_MS * 1e6), "rtt_measured_ns": round(RTT_MS * 1e6)}
    tiny.runs(directory, [tiny.run("r", baseline=True, rate_measured_bit_s=RATE, **times)])
    packets = len(gaps) + 1
    flow = tiny.flow(WEST, EAST, packets=packets, wire_bytes=packets * frame)
    tiny.table(directory, "flows", "r", "pc3", [flow])
    tiny.table(directory, "captures", "r", "pc3", [tiny.capture(**changes)])
    tiny.table(directory, "throughput", "r", "pc3", tiny.bins(WEST, EAST, {0: 1_000}))
    tiny.table(directory, "intervals", "r", "pc3", buckets(gaps))
    return directory


@pytest.mark.parametrize("seed", range(6))
def test_shares_hold_the_true_ones_within_a_bucket(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    near = random.lognormal(math.log(BACK_NS * NEAR), 0.2, 3_000)
    far = random.lognormal(math.log(RTT_MS * 1e6 * NEAR), 0.3, 2_000)
    gaps = [int(gap) for gap in np.concatenate([near, far, np.zeros(50)])]
    rows = Warehouse(made(tmp_path, gaps)).rows("packet_intervals")
    row = rows.row(0, named=True)
    values = np.array(gaps)
    for column, low, high in (
        ("back_to_back_share", 0, BACK_NS * NEAR),
        ("near_rtt_share", RTT_MS * 1e6 / NEAR, RTT_MS * 1e6 * NEAR),
    ):
        true = float(((values >= low) & (values <= high)).mean())
        least, most = row[column], row[f"{column}_most"]
        assert least - 1e-6 <= true <= most + 1e-6
        # They differ by gaps in the buckets at the limits, each 1.6 % wide.
        doubtful = [limit for limit in (low, high) if limit]
        inside = sum(
            float(((values > limit / 1.016) & (values < limit * 1.016)).mean())
            for limit in doubtful
        )
        assert 0 < most - least <= inside + 1e-6


def test_a_limit_within_a_coarse_bucket_does_not_move_the_share(tmp_path: Path) -> None:
    # The limit is 151.4 µs; the drawn bucket of 1/20 decade extends to 158.5 µs.
    gaps = [140_000] * 757 + [156_000] * 24 + [1_000_000] * 219
    context = Context(Warehouse(made(tmp_path, gaps)), [])
    rows = context.rows("packet_intervals")
    title, _ = packet_intervals._peaks(rows, RTT_MS)
    assert title == "RTT 4.00 ms: 76 % back to back, 0 % near RTT"
    assert rows["back_to_back_share"][0] == rows["back_to_back_share_most"][0] == 0.757


def test_a_bucket_on_the_limit_is_reported_as_a_range(tmp_path: Path) -> None:
    gaps = [100_000] * 50 + [151_500] * 25 + [4_000_000] * 25
    rows = Warehouse(made(tmp_path, gaps)).rows("packet_intervals")
    title, _ = packet_intervals._peaks(rows, RTT_MS)
    assert title == "RTT 4.00 ms: 50 to 75 % back to back, 25 % near RTT"


def test_small_packets_are_not_called_back_to_back(tmp_path: Path) -> None:
    """A link of 100 Mbit/s sends a frame of 140 bytes in 11 µs."""
    gaps = [100_000] * 75 + [4_000_000] * 25
    context = Context(Warehouse(made(tmp_path, gaps, frame=140)), [])
    rows = context.rows("packet_intervals")
    title, places = packet_intervals._peaks(rows, RTT_MS)
    assert title == "RTT 4.00 ms: 25 % near RTT"
    assert [place["text"] for place in places] == ["RTT"]
    columns = [name for name in rows.columns if name.startswith(("back_to", "near_serial"))]
    assert rows[columns].null_count().row(0) == (rows.height,) * 6


def test_the_counts_add_up_to_the_table(tmp_path: Path) -> None:
    gaps = [0, 5, 127, 128, 900, 121_120, 151_400, 4_000_000, 10**9]
    rows = Warehouse(made(tmp_path, gaps)).rows("packet_intervals")
    assert rows["count"].sum() == len(gaps) == rows["of_count"][0]


@pytest.mark.parametrize(
    ("changes", "grade"),
    [({"time_regressions": 3}, "C"), ({"dropped_kernel": 50}, "C"), ({"dropped_kernel": 500}, "D")],
)
def test_gaps_are_not_reported_of_a_capture_whose_grade_forbids_it(
    tmp_path: Path, changes: dict[str, int], grade: str
) -> None:
    warehouse = Warehouse(made(tmp_path, [100_000] * 9, **changes))
    assert warehouse.rows("packet_intervals").is_empty()
    assert "good enough for claims about gaps" in str(warehouse.lack("packet_intervals"))
    figure = packet_intervals.draw(Context(warehouse, [theme.Series("app", "n 1", "app", 0)]))
    assert figure is not None
    assert figure.caption == f"Left out: 1 capture of grade {grade} (why: see the quality table)."
    html = page.build(tmp_path).html.replace("\u00a0", " ")
    assert figure.caption in html
