"""Claims allow for the rounding of the numbers that they compare, and for no more."""

from __future__ import annotations

from pathlib import Path

import in_flight
import pytest
import tiny

from flowsweep.analysis import adds_up
from flowsweep.warehouse import Warehouse

#: Values on both sides of 0.1, below which rounding keeps three digits instead of four decimals.
VALUES = [0.00100449, 0.00999, 0.0123456, 0.0652, 0.0999501, 0.1, 1.23456, 99.99996]


def test_a_rounded_value_is_no_further_away_than_its_error(tmp_path: Path) -> None:
    warehouse = Warehouse(tiny.runs(tmp_path, [tiny.run("r")]))
    exact = [sign * value for value in VALUES for sign in (1, -1, 1.0000001)]
    rows = warehouse.select(
        "select x, rounded(x) as near, rounding_error(near) as error"
        f" from (select unnest({exact})::double as x)"
    )
    for x, near, error in rows.rows():
        assert abs(near - float(x)) <= error * (1 + 1e-9)
        assert error <= max(0.00005, 0.00501 * abs(x))


def test_little_traffic_contradicts_nothing(tmp_path: Path) -> None:
    runs = []
    for in_flight_bytes in (813, 130, 15, 1249):
        for sent in (150, 1_730, 12_500):
            for rtt in (1, 3):
                name = f"{in_flight_bytes}-{sent}-{rtt}"
                in_flight.capture(tmp_path, name, sent, in_flight_bytes, 65_000)
                runs.append(
                    tiny.run(
                        name, app=f"app-{in_flight_bytes}-{sent}", baseline=rtt == 1,
                        rtt_asked_ns=rtt * tiny.MS, rtt_measured_ns=rtt * tiny.MS,
                    )
                )  # fmt: skip
    warehouse = Warehouse(tiny.runs(tmp_path, runs))
    names = ("bytes_in_flight", "path_throughput")
    assert all(warehouse.rows(name).height == len(runs) for name in names)
    assert adds_up.contradictions(warehouse, names) == []


@pytest.mark.parametrize("better", ["more", "less"])
def test_small_outcomes_contradict_nothing(tmp_path: Path, better: str) -> None:
    runs = [
        tiny.run(
            f"{rtt}", baseline=rtt == 1, completion_s=None,
            rtt_asked_ns=rtt * tiny.MS, rtt_measured_ns=rtt * tiny.MS,
            outcomes=[{"name": "p99", "unit": "s", "better": better, "value": value}],
        )
        for rtt, value in enumerate(VALUES, start=1)
    ]  # fmt: skip
    warehouse = Warehouse(tiny.runs(tmp_path, runs))
    assert warehouse.rows("outcome_slowdowns").height == len(VALUES)
    assert adds_up.contradictions(warehouse, ["outcome_slowdowns"]) == []
