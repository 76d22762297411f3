"""Each set of hosts has a rule of the workflow, whose runs are the planned and the refined ones."""

from __future__ import annotations

import re
from pathlib import Path

from flowsweep import experiment
from flowsweep.workflow import list_capture_rules

EXPERIMENT = """\
sites: {uva: 2, vu: 2, lu: 2}
link: {rtt: 1ms, rate: 100Mbit/s}
workload:
  - {app: nqueens, hosts: {uva: 2, vu: 1}}
  - {app: jigsaw, hosts: {uva: 1, lu: 2}, axes: {hosts: [1]}}
axes: {rtt: [8ms]}
repetitions: 1
warmup: 0
"""
OWN = ("uva1", "uva2", "vu1")


def rules(tmp_path: Path, more: str = "") -> dict[str, tuple[tuple[str, ...], str]]:
    path = tmp_path / "x.yaml"
    path.write_text(EXPERIMENT + more)
    loaded = experiment.load(path)
    found = list_capture_rules(loaded, {run.id: run for run in loaded.plan()})
    return {rule.name: (rule.hosts, "|".join(rule.patterns)) for rule in found}


def test_sets_of_as_many_hosts_have_rules_of_their_own(tmp_path: Path) -> None:
    found = rules(tmp_path)
    assert {name: hosts for name, (hosts, _) in found.items()} == {
        "capture_on_3_hosts": OWN,
        "capture_on_3_hosts_2": ("uva1", "lu1", "lu2"),
        "capture_on_2_hosts": ("uva1", "lu1"),
    }
    assert re.fullmatch(found["capture_on_3_hosts"][1], "nqueens-rtt_8ms-r1")
    assert re.fullmatch(found["capture_on_2_hosts"][1], "jigsaw-hosts_1-r1")


def test_a_point_that_refinement_chooses_has_the_hosts_of_its_workload(tmp_path: Path) -> None:
    found = rules(tmp_path, "refine: 1\n")
    for run, name in (
        ("nqueens-rtt_4ms-r1", "capture_on_3_hosts"),
        ("jigsaw-rtt_4ms-r1", "capture_on_3_hosts_2"),
        ("jigsaw-hosts_1-r1", "capture_on_2_hosts"),
    ):
        matching = [one for one, (_, text) in found.items() if re.fullmatch(text, run)]
        assert matching == [name]
