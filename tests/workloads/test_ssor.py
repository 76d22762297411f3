"""SSOR, which communicates like NAS LU: right on any ranks; small messages that run as waves."""

from __future__ import annotations

import field
import numpy as np
import polars as pl
import pytest
import ssor

from .launch import alone, captured, counts_agree

HOSTS = {"pc1": "10.77.1.1", "pc2": "10.77.1.2", "pc3": "10.77.2.1", "pc4": "10.77.2.2"}
MPI_BYTES = 22
POINT_BYTES = 40
SIDE, ITERATIONS = 24, 20
PROBLEM = {"side": SIDE, "iterations": ITERATIONS, "point_ns": 2000}
PLANES = SIDE - 2
EDGE_BYTES = PLANES // 2 * POINT_BYTES  # of a plane, on 2 x 2 ranks
RTT_S = 0.032


def test_the_solution_is_the_same_to_the_bit_on_any_ranks(tmp_path):
    errors = set()
    for ranks in (2, 3, 4):
        problem = {"side": 17, "iterations": 6, "seed": 3}
        done, record = alone("ssor", problem, tmp_path, ranks=ranks, compute="busy")
        assert record is not None, done.stderr
        assert record["correct"] is True
        assert counts_agree(record)
        assert {one["name"] for one in record["phases"]} == {
            "residual", "lower", "upper", "exchange",
        }  # fmt: skip
        errors.add(record["answer"]["error"])
    assert len(errors) == 1
    assert 0 < errors.pop() < 0.5**6


def test_a_sweep_without_the_edge_of_a_neighbour_makes_the_error_larger():
    """Checks the check: a missing message makes the answer wrong."""
    points = 8
    exact = field.exact(1, (range(points),) * 3, points)
    right = field.applied(exact)

    def error(*, cut: bool) -> float:
        u, kernel = np.zeros_like(exact), field.Kernel()
        inside = (field.INSIDE,) * 3
        for _ in range(20):
            v = np.zeros_like(u)
            v[inside] = right - field.applied(u)
            for upper in (False, True):
                planes = range(field.GHOSTS, field.GHOSTS + points)
                for plane in reversed(planes) if upper else planes:
                    kernel.sweep(v, plane, upper=upper)
            if cut:
                v[:, :, field.GHOSTS + points // 2] = 0
            u[inside] += field.OMEGA * (2 - field.OMEGA) * v[inside]
        return float(np.abs(u - exact)[inside].max())

    assert error(cut=False) < 0.5**20
    assert error(cut=True) > 0.5**20


def test_ranks_form_the_rectangle_nearest_to_a_square():
    assert [ssor.rectangle(ranks) for ranks in (2, 3, 4, 6, 12)] == [
        (1, 2), (1, 3), (2, 2), (2, 3), (3, 4),
    ]  # fmt: skip
    parts = [ssor.part(34, 4, number) for number in range(4)]
    assert [point for span in parts for point in span] == list(range(34))


@pytest.fixture(scope="module")
def measured(namespaces, tmp_path_factory, measurement):
    """A short and a long RTT."""
    return measurement(
        lambda: {
            rtt: captured("ssor", PROBLEM, tmp_path_factory.mktemp("ssor"), f"rtt={rtt}ms")
            for rtt in (1, 32)
        }
    )


def test_each_plane_is_a_message_of_one_edge_each_way(measured):
    """NPB 3.3, exchange_1.f: 5 doubles a point of the edge, one message a plane and sweep."""
    run = measured.value[1]
    assert run.application["correct"] is True
    for rank in run.application["ranks"]:
        number = rank["rank"]
        for other in {number ^ 1, number ^ 2}:
            sent = rank["to"][str(other)]
            layers = 2 * POINT_BYTES * PLANES * PLANES // 2  # fits in one message
            extra = {0: 1, 1: 4, 2: 4, 3: 4}[number] if 0 in (number, other) else 0
            assert 0 <= sent["messages"] - ITERATIONS * (PLANES + 1) <= extra
            assert sent["bytes"] >= ITERATIONS * (PLANES * EDGE_BYTES + layers)
    flows = run.table("pc3", "flows").filter(
        (pl.col("src_ip") == HOSTS["pc3"]) & (pl.col("dst_ip") == HOSTS["pc1"])
    )
    wave = ITERATIONS * PLANES * (EDGE_BYTES + MPI_BYTES)
    assert wave < flows["payload_bytes"].sum() < 4 * wave


def test_planes_follow_each_other_through_the_ranks(measured):
    """A wave pays the path between sites once per sweep, not once per plane."""

    def check(sweep):
        short, long = (sweep[rtt].application["completion_s"] for rtt in (1, 32))
        ways = (long - short) / ITERATIONS / (RTT_S - 0.001)
        # Down with the lower sweep, up with the upper, twice in the exchange: two round trips.
        assert 1.0 < ways < 4.0, ways

    measured.holds(check)
