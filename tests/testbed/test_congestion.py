"""A congestion control that the kernel lacks fails its points, but not the sweep."""

from __future__ import annotations

import json

import pytest

WARNING = "warning: this kernel has no congestion control {} (available: "


@pytest.fixture
def lacking(experiment):
    """An experiment with a congestion control that no kernel has."""
    experiment.write_text(experiment.read_text().replace(": reno", ": nosuch"))
    return experiment


def test_a_point_that_the_kernel_cannot_make_is_a_failed_run(lacking, flowsweep, tmp_path):
    done = flowsweep("run", lacking, "-o", tmp_path / "one")
    assert done.returncode == 1, done.stderr
    assert WARNING.format("nosuch") in done.stderr
    record = json.loads((tmp_path / "one" / "run.json").read_text())
    assert record["status"] == "failed"
    assert record["completion_s"] is None
    assert record["reason"].startswith("tcp.congestion_control: this kernel cannot use nosuch")
    assert "modprobe tcp_nosuch as root" in record["reason"]
    assert record["tcp"]["congestion_control"] != "nosuch"
    # The workflow parses the captures of every run.
    for host in ("pc1", "pc2", "pc3"):
        manifest = json.loads((tmp_path / "one" / f"{host}.capture.json").read_text())
        assert manifest["status"] == "complete"


def test_the_plan_warns_of_one_that_another_kernel_may_have(experiment, flowsweep):
    experiment.write_text(experiment.read_text().replace(": reno", ": bbr1"))
    done = flowsweep("plan", experiment)
    assert done.returncode == 0
    assert WARNING.format("bbr1") in done.stderr
    assert " runs will fail; modprobe tcp_bbr1 as root" in done.stderr


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("cubicc", "write cubic"), ("new-reno", "write reno"), ("nosuch", "modprobe tcp_nosuch")],
)
def test_the_plan_refuses_one_that_no_kernel_has(experiment, flowsweep, name, remedy):
    experiment.write_text(experiment.read_text().replace(": reno", f": {name}"))
    for more in ([], ["--format", "json"]):
        done = flowsweep("plan", experiment, *more)
        assert done.returncode == 2
        assert f"{experiment}: no congestion control is called {name}" in done.stderr
        assert remedy in done.stderr
