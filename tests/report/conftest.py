"""Experiments that the tests of the report share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import synthetic
import told

from flowsweep.warehouse import Warehouse


@pytest.fixture(scope="session")
def one_app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs a point, one of them invalid, one capture with drops."""
    plan = synthetic.Plan(
        repetitions=3,
        invalid=("nqueens-rtt_16ms-r2",),
        failed=("nqueens-rate_5Mbit-r1",),
        damaged=(("nqueens-rate_10Mbit-r1", "pc3"),),
    )
    return synthetic.make(tmp_path_factory.mktemp("one"), plan)


@pytest.fixture(scope="session")
def warehouse(one_app: Path) -> Warehouse:
    """The tables of `one_app`: its models are made once for all that ask."""
    return Warehouse(one_app)


@pytest.fixture(scope="session")
def two_apps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six runs a point: intervals are given."""
    plan = synthetic.Plan(
        apps=(synthetic.NQUEENS, synthetic.TASKGRAPH),
        rtts_ms=(1, 4, 16, 64),
        rates_mbit_s=(100, 20, 5),
        repetitions=6,
    )
    return synthetic.make(tmp_path_factory.mktemp("two"), plan)


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs whose applications tell all that they can."""
    return told.make(tmp_path_factory.mktemp("full"))
