"""LU decomposition: small residual; on-off traffic, equal in both directions, buffer-sensitive."""

from __future__ import annotations

import matrix
import numpy as np
import polars as pl
import pytest

from .launch import alone, captured, counts_agree

PC3 = "10.77.2.1"
PROBLEM = {"rows": 768, "block": 128, "flop_ns": 16}  # 0.30 Gflop: 1.2 s on 4 ranks


@pytest.mark.parametrize(
    ("problem", "ranks", "compute"),
    [
        ({"rows": 200, "block": 16}, 4, "busy"),
        ({"rows": 97, "block": 10, "seed": 5}, 3, "paced"),
        ({"rows": 2, "block": 1}, 2, "busy"),
    ],
)
def test_factors_multiply_to_the_matrix(tmp_path, problem, ranks, compute):
    done, record = alone("lu", problem, tmp_path, ranks=ranks, compute=compute)
    assert record is not None, done.stderr
    assert record["correct"] is True
    assert 0 <= record["answer"]["residual"] < 16
    assert counts_agree(record)
    assert sum(rank["flops"] for rank in record["ranks"]) > 0
    assert {phase["name"] for phase in record["phases"]} == {"factor", "broadcast", "update"}


def test_residual_tells_a_wrong_factor_from_a_right_one():
    """Checks the check on one block: it computes P A x and L U x."""
    rows = 12
    a = matrix.columns(3, rows, 0, rows)
    block = a.copy()
    pivots, _ = matrix.Kernel().factor(block)
    x = np.arange(1.0, rows + 1)
    product = matrix.swapped(x @ a, [(0, pivots)])
    again = matrix.lower_times(block, 0, matrix.upper_times(block, 0, x))
    assert np.abs(product - again).max() < 1e-12
    block[2, 5] += 1e-3
    again = matrix.lower_times(block, 0, matrix.upper_times(block, 0, x))
    assert np.abs(product - again).max() > 1e-5


def test_columns_are_the_same_however_they_are_made():
    whole = matrix.columns(1, 50, 0, 50)
    assert (matrix.columns(1, 50, 20, 7) == whole[20:27]).all()
    assert abs(whole.mean()) < 0.03
    assert -0.5 <= whole.min() < -0.49
    assert 0.49 < whole.max() < 0.5


@pytest.fixture(scope="module")
def measured(namespaces, tmp_path_factory, measurement):
    """Small and large socket buffers, at short and long RTT."""
    settings = {
        (buffer, rtt): (f"buffer={buffer}KiB", f"rtt={rtt}ms")
        for buffer, rtt in ((32, 1), (32, 32), (1024, 32))
    }
    return measurement(
        lambda: {
            point: captured("lu", PROBLEM, tmp_path_factory.mktemp("lu"), *axes)
            for point, axes in settings.items()
        }
    )


def test_traffic_is_on_and_off(measured):
    """Kitatsuji, figure 3: about half of the 10-ms bins carry nothing, the others a lot."""
    assert all(run.application["correct"] for run in measured.value.values())

    def check(sweep):
        bins = sweep[32, 1].bins("pc3", PC3)
        silent = bins.filter(pl.col("in") + pl.col("out") < 20).height / bins.height
        assert 0.3 < silent < 0.9
        busy = bins.filter(pl.col("out") > 0)
        # While it sends, the rate is tens of Mbit/s: 25 kB in 10 ms are 20 Mbit/s.
        assert busy["out"].mean() > 25_000

    measured.holds(check)


def test_traffic_is_equal_both_ways_at_the_same_time(measured):
    def check(sweep):
        bins = sweep[32, 1].bins("pc3", PC3)
        assert 0.9 < bins["in"].sum() / bins["out"].sum() < 1.1
        tenths = bins.group_by(pl.col("bin") // 10).sum()
        assert np.corrcoef(tenths["in"], tenths["out"])[0, 1] > 0.6

    measured.holds(check)


def test_time_depends_on_socket_buffer_where_the_round_trip_time_is_long(measured):
    """Kitatsuji, figure 5: a large buffer is very effective."""

    def check(sweep):
        seconds = {point: run.application["completion_s"] for point, run in sweep.items()}
        assert seconds[32, 32] > 1.5 * seconds[32, 1], seconds
        assert seconds[1024, 32] < 0.8 * seconds[32, 32], seconds

    measured.holds(check)
