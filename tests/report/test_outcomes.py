"""Outcomes besides completion time: what each query, figure and sentence makes of them."""

from __future__ import annotations

import html
import re
import statistics
from pathlib import Path
from typing import Any

import pytest
import tiny

from flowsweep.render import page
from flowsweep.warehouse import Warehouse

RTTS, RATES = (1, 2, 4, 16), (100, 40, 10)
SCATTER = (0.99, 1.0, 1.02)
BASE = {"rtt_measured_ns": tiny.MS, "rate_measured_bit_s": 1e8}


def tps(rtt: float, rate: float) -> float:
    """Returns an outcome of which more is better."""
    return 1000 / rtt**0.5 * min(1.0, rate / 20)


def latency(rtt: float, rate: float) -> float:
    """Returns an outcome in ms of which less is better; the rate does not matter."""
    return 2.0 + rtt + 0 * rate


def outcomes(rtt: float, rate: float, factor: float) -> list[dict[str, Any]]:
    return [
        {"name": "tps", "unit": "1/s", "better": "more", "value": tps(rtt, rate) / factor},
        {"name": "latency", "unit": "ms", "better": "less", "value": latency(rtt, rate) * factor},
    ]


def runs(completion_s: float | None = None, **more: Any) -> list[dict[str, Any]]:
    """Makes three runs at every pair of RTT and rate."""
    return [
        tiny.run(
            f"{rtt}-{rate}-{number}", baseline=(rtt, rate) == (1, 100), repetition=number,
            rtt_asked_ns=rtt * tiny.MS, rtt_measured_ns=rtt * tiny.MS,
            rate_asked_bit_s=rate * 1e6, rate_measured_bit_s=rate * 1e6,
            completion_s=completion_s, outcomes=outcomes(rtt, rate, factor), **more,
        )
        for rtt in RTTS
        for rate in RATES
        for number, factor in enumerate(SCATTER)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes an application that runs for a fixed time, so has no completion time; two losses."""
    lossy = [
        tiny.run(
            f"loss-{loss}-{number}", completion_s=None, loss=loss, rtt_asked_ns=tiny.MS,
            rate_asked_bit_s=1e8, outcomes=outcomes(1, 100, factor * (1 + 60 * loss)), **BASE,
        )
        for loss in (0.001, 0.01)
        for number, factor in enumerate(SCATTER)
    ]  # fmt: skip
    other = [
        tiny.run(
            f"bbr-{number}", completion_s=None, congestion="bbr", rtt_asked_ns=tiny.MS,
            rate_asked_bit_s=1e8, outcomes=outcomes(1, 100, factor * 2), **BASE,
        )
        for number, factor in enumerate(SCATTER)
    ]  # fmt: skip
    directory = tmp_path_factory.mktemp("database")
    return tiny.runs(directory, [*runs(), *lossy, *other])


@pytest.fixture(scope="module")
def warehouse(database: Path) -> Warehouse:
    return Warehouse(database, is_anew=True)


def test_every_outcome_of_every_run_is_a_row(warehouse: Warehouse) -> None:
    found = warehouse.rows("outcomes").rows(named=True)
    assert {row["name"] for row in found} == {"tps", "latency"}
    by_run = {(row["run"], row["name"]): row for row in found}
    assert len(by_run) == len(found) == 2 * 3 * (len(RTTS) * len(RATES) + 3)
    for rtt in RTTS:
        for number, factor in enumerate(SCATTER):
            row = by_run[f"{rtt}-10-{number}", "tps"]
            assert row["value"] == pytest.approx(tps(rtt, 10) / factor)
            assert (row["unit"], row["better"], row["is_used"]) == ("1/s", "more", True)


def test_how_much_worse_grows_whichever_way_is_better(warehouse: Warehouse) -> None:
    found = [row for row in warehouse.rows("outcome_slowdowns").rows(named=True)
             if row["axis"] == "rtt"]  # fmt: skip
    assert len(found) == 2 * len(RTTS)
    for row in found:
        exact = {"tps": tps, "latency": latency}[row["outcome"]]
        here, there = exact(row["x"], 100), exact(1, 100)
        worse = there / here if row["better"] == "more" else here / there
        assert row["slowdown"] == pytest.approx(worse, rel=1e-3)
        assert row["slowdown_low"] <= row["slowdown"] <= row["slowdown_high"]
        scale = statistics.median(SCATTER)
        value = here / scale if row["better"] == "more" else here * scale
        assert row["value"] == pytest.approx(value, rel=1e-3)
    assert warehouse.rows("completion").is_empty()


def test_a_slowdown_and_its_interval_are_of_one_quantity(tmp_path: Path) -> None:
    """The median of two rates is not the inverse of the median of their inverses."""
    rates = {1: (40.0, 40.0), 2: (30.0, 40.0), 4: (20.0, 40.0)}
    tiny.runs(tmp_path, [
        tiny.run(
            f"{rtt}-{n}", baseline=rtt == 1, rtt_asked_ns=rtt * tiny.MS,
            rtt_measured_ns=rtt * tiny.MS, completion_s=None,
            outcomes=[{"name": "tps", "unit": "1/s", "better": "more", "value": rate}],
        )
        for rtt, values in rates.items()
        for n, rate in enumerate(values)
    ])  # fmt: skip
    warehouse = Warehouse(tmp_path)
    expected = [1.0, (40 / 30 + 1) / 2, 1.5]
    drawn = warehouse.rows("outcome_slowdowns").sort("x")["slowdown"].to_list()
    along = warehouse.select("select slowdown from sweep_points order by x")["slowdown"].to_list()
    assert drawn == pytest.approx(expected, rel=1e-4)
    assert along == pytest.approx(expected)
    assert set(warehouse.rows("thresholds")["largest_slowdown"]) == {1.5}


@pytest.mark.parametrize(("runs_each", "is_even"), [(2, True), (3, False)])
def test_a_ratio_that_is_not_that_of_the_medians_is_explained(
    tmp_path: Path, runs_each: int, *, is_even: bool
) -> None:
    rows = [row for row in runs() if int(row["run"][-1]) < runs_each]
    tiny.runs(tmp_path, rows)
    text = page.build(tmp_path).html.replace("\u00a0", " ")
    assert ("of an even number of runs, that is not exactly the ratio" in text) == is_even


def test_each_outcome_has_thresholds_of_its_own(warehouse: Warehouse) -> None:
    found = {
        (row["outcome"], row["axis"], row["level"]): row
        for row in warehouse.rows("thresholds").rows(named=True)
    }
    assert len(found) == 2 * 2 * 2
    # sqrt(rtt) = 1.1 lies between 1 and 2 ms; linear between 1 and sqrt(2).
    rtt = found["tps", "rtt", 1.1]
    assert (rtt["state"], rtt["easier"], rtt["harder"]) == ("found", 1, 2)
    assert rtt["estimate"] == pytest.approx(1 + 0.1 / (2**0.5 - 1), rel=1e-3)
    # (2 + rtt) / 3 = 1.5
    assert found["latency", "rtt", 1.5]["estimate"] == pytest.approx(2.5, rel=1e-3)
    assert found["latency", "rate", 1.1]["state"] == "never"
    assert found["tps", "rate", 1.5]["state"] == "found"


def test_loss_has_thresholds_of_each_outcome(warehouse: Warehouse) -> None:
    found = warehouse.rows("axis_thresholds").rows(named=True)
    assert [row["outcome"] for row in found] == ["tps", "tps", "latency", "latency"]
    assert all(row["easier"] == 0.001 and row["harder"] == 0.01 for row in found)


def test_the_plane_and_a_pair_of_names_have_rows_of_each_outcome(warehouse: Warehouse) -> None:
    tried = [row for row in warehouse.rows("frontier").rows(named=True) if row["kind"] == "tried"]
    assert len(tried) == 2 * len(RTTS) * len(RATES)
    for row in tried:
        exact = {"tps": tps, "latency": latency}[row["outcome"]]
        here, there = exact(row["rtt_ms"], row["rate_mbit_s"]), exact(1, 100)
        worse = there / here if row["outcome"] == "tps" else here / there
        assert row["slowdown"] == pytest.approx(worse, rel=1e-3)
    side = warehouse.rows("side_by_side").rows(named=True)
    assert [(row["outcome"], round(row["ratio"], 6)) for row in side] == [
        ("tps", 2.0), ("latency", 2.0)
    ]  # fmt: skip


def test_two_experiments_are_compared_by_each_outcome(tmp_path: Path, database: Path) -> None:
    slower = tiny.runs(tmp_path / "slower", [
        row | {"outcomes": [one | {"value": one["value"] / 2} for one in row["outcomes"]]}
        for row in runs()
    ])  # fmt: skip
    found = Warehouse(slower, against=database).rows("against").rows(named=True)
    shared = [row for row in found if row["side"] == "both"]
    assert {(row["outcome"], round(row["ratio"], 6)) for row in shared} == {
        ("tps", 2.0), ("latency", 0.5)
    }  # fmt: skip
    assert all(row["value"] == pytest.approx(row["other_value"] / 2, rel=1e-3) for row in shared)


def test_the_report_speaks_of_no_completion_time_where_there_is_none(database: Path) -> None:
    made = page.build(database)
    assert not made.contradictions
    text = made.html.replace("\u00a0", " ")
    for part in ("pre", "script", "style"):
        text = re.sub(rf"<{part}.*?</{part}>", "", text, flags=re.DOTALL)
    words = html.unescape(re.sub("<[^>]+>", " ", text))
    assert "tps" in words
    assert not re.findall(r".{0,40}(?:completion time|time \(s\)|slower|faster).{0,40}", words)
    assert made.first == (
        "app needs about 30 Mbit/s (95 % interval 10.0 to 40.0) and tolerates an RTT of about "
        "1.2 ms (1.00 to 2.00) with tps at 91 % of the baseline or more."
    )
    assert "How outcomes react to every axis" in words
    assert "the same share of their value" in words
    # A tps that is 1.5 times worse is 67 % of its baseline, a latency 150 % of it.
    assert "1.5\N{MULTIPLICATION SIGN} worse" in words
    assert "for 50 %" not in words
    caption = "Where more is better, the limits are 91 % and 67 % of the baseline."
    assert words.count(caption) == 4
    for row in ("tps, 91 %", "tps, 67 %", "latency, 10 %", "latency, 50 %"):
        assert row in made.html
    kept = "with <b>latency</b> within 10 % of the baseline, all else as at the baseline."
    assert kept in made.html.replace("\u00a0", " ")


def test_completion_time_comes_first_beside_others(tmp_path: Path) -> None:
    tiny.runs(tmp_path, runs(completion_s=10.0))
    warehouse = Warehouse(tmp_path)
    assert [row["outcome"] for row in warehouse.rows("requirement").rows(named=True)] == [
        "completion_time", "tps", "latency"
    ]  # fmt: skip
    assert warehouse.rows("completion_by_rtt").height == len(RTTS)
    made = page.build(tmp_path)
    assert not made.contradictions
    assert made.first.startswith("app stayed within 10 % at every rate tried")


def test_a_value_of_zero_has_no_ratio_and_is_listed(tmp_path: Path) -> None:
    rows = [
        tiny.run(
            f"{rtt}-{number}", baseline=rtt == 1, completion_s=None, rtt_asked_ns=rtt * tiny.MS,
            outcomes=[{"name": "errors", "unit": "", "better": "less", "value": float(rtt - 1)}],
        )
        for rtt in (1, 4)
        for number in range(3)
    ]  # fmt: skip
    tiny.runs(tmp_path, rows)
    warehouse = Warehouse(tmp_path)
    assert warehouse.rows("outcomes")["value"].to_list() == [0.0] * 3 + [3.0] * 3
    states = warehouse.rows("thresholds")
    assert states["state"].unique().to_list() == ["cannot tell"]
    made = page.build(tmp_path)
    assert not made.contradictions
    assert made.first == (
        "The RTT that app tolerates with errors within 10 % of the baseline cannot be "
        "determined: it is 0 in 3 of 3 runs at the baseline, and a ratio to 0 means nothing."
    )


def test_medians_hold_zeros_and_what_is_zero_in_a_run_has_no_threshold(tmp_path: Path) -> None:
    """Fewer retransmissions, as counted by iperf3, and more requests are better."""
    values = {(2, 100): (0, 17, 0, 28, 27, 0), (2, 20): (0, 0, 0), (20, 100): (448, 401, 502)}
    requests = {(2, 100): (10, 20, 30, 40, 50, 60), (2, 20): (8, 9, 10), (20, 100): (0, 5, 6)}
    rows = [
        tiny.run(
            f"{rtt}-{rate}-{number}", baseline=(rtt, rate) == (2, 100), completion_s=None,
            rtt_asked_ns=rtt * tiny.MS, rtt_measured_ns=rtt * tiny.MS, rate_asked_bit_s=rate * 1e6,
            rate_measured_bit_s=rate * 1e6, loss=0.0,
            outcomes=[
                {"name": "resent", "unit": "", "better": "less", "value": float(value)},
                {"name": "requests", "unit": "", "better": "more",
                 "value": float(requests[rtt, rate][number])},
            ],
        )
        for (rtt, rate), own in values.items()
        for number, value in enumerate(own)
    ]  # fmt: skip
    lossy = [
        row | {"run": f"lossy-{row['run']}", "baseline": False, "loss": 0.01}
        for row in rows if row["baseline"]
    ]  # fmt: skip
    tiny.runs(tmp_path, [*rows, *lossy])
    warehouse = Warehouse(tmp_path)
    found = {
        (row["outcome"], row["axis"], row["shown"]): row
        for row in warehouse.rows("outcome_slowdowns").rows(named=True)
    }
    resent, lower = (found["resent", "rate", shown] for shown in ("100.0", "20.0"))
    assert (resent["value"], resent["runs_used"], resent["runs_left_out"]) == (8.5, 6, 0)
    assert (lower["value"], lower["runs_used"], lower["slowdown"]) == (0, 3, None)
    # The median of 1/value, as for the interval: of six runs, the mean of the middle two.
    worse = 9 * (1 / 30 + 1 / 40) / 2
    assert found["requests", "rate", "20.0"]["slowdown"] == pytest.approx(1 / worse, rel=1e-4)
    base = {row["outcome"]: row["baseline_value"] for row in
            warehouse.rows("requirement").rows(named=True)}  # fmt: skip
    assert base == {"resent": 8.5, "requests": 35}
    at_baseline = "it is 0 in 3 of 6 runs at the baseline, and a ratio to 0 means nothing"
    reasons = {
        (row["outcome"], row["axis"]): (row["state"], row["reason"])
        for name in ("thresholds", "axis_thresholds")
        for row in warehouse.rows(name).rows(named=True)
    }
    for axis in ("rate", "rtt", "loss"):
        assert reasons["resent", axis] == ("cannot tell", at_baseline)
    on_line = "it is 0 in 1 of 9 runs of this line, and a ratio of 0 has no interval"
    assert reasons["requests", "rtt"] == ("cannot tell", on_line)
    made = page.build(tmp_path)
    assert not made.contradictions
    left_out = (
        "4 points without a valid run, or with an outcome of 0, of its own or at the baseline"
    )
    assert left_out in made.html.replace("\u00a0", " ")


def test_two_experiments_are_compared_by_medians_with_zeros(tmp_path: Path) -> None:
    sides = [
        tiny.runs(tmp_path / name, [
            tiny.run(f"{name}-{number}", baseline=True, completion_s=None, outcomes=[
                {"name": "errors", "unit": "", "better": "less", "value": float(value)}
            ])
            for number, value in enumerate(values)
        ])
        for name, values in (("a", (0, 3, 5)), ("b", (1, 2, 3)))
    ]  # fmt: skip
    [row] = Warehouse(sides[0], against=sides[1]).rows("against").rows(named=True)
    assert (row["value"], row["other_value"], row["ratio"]) == (3, 2, None)
    assert (row["runs_used"], row["other_runs"]) == (3, 3)
