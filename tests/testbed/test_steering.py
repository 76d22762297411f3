"""On fast paths, and only there, hosts receive on cores other than the emulator's."""

from __future__ import annotations

import os

import pytest

from flowsweep.testbed.namespaces.steering import DEFAULT_MASK, Steering

STATUS = "$(grep -l ^flowsweep-wan /proc/[0-9]*/comm | sed s/comm/status/)"
SCRIPT = f"""
on pc1 cat /sys/class/net/exp0/queues/rx-0/rps_cpus
grep -h ^Cpus_allowed: {STATUS} | cut -f2 | sort -u
"""


def masks(flowsweep, experiment, rate: str) -> list[int]:
    """Returns masks: the cores that receive for a host, and those the emulator may use."""
    words = [experiment, "--set", f"rate={rate}", "--", "sh", "-c", SCRIPT]
    done = flowsweep("testbed", "shell", *words)
    assert done.returncode == 0, done.stderr
    return [int(line.replace(",", ""), 16) for line in done.stdout.split()]


def test_fast_paths_are_steered(flowsweep, experiment):
    cores = os.sched_getaffinity(0)
    if len(cores) < 2 or not DEFAULT_MASK.exists() or os.geteuid() != 0:
        pytest.skip("needs two cores, net.core.rps_default_mask and real-time priority")
    receiving = sum(1 << core for core in cores - {max(cores)})
    assert masks(flowsweep, experiment, "1Gbit/s") == [receiving, 1 << max(cores)]
    assert DEFAULT_MASK.read_text().strip().strip("0,") == ""


def test_slow_paths_are_not(flowsweep, experiment):
    assert masks(flowsweep, experiment, "100Mbit/s")[0] == 0


def test_mask_has_a_word_for_32_cores():
    assert Steering(0, frozenset({1, 3})).mask == "0000000a"
    assert Steering(0, frozenset({1, 33})).mask == "00000002,00000002"
