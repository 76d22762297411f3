"""The axis `beside`: another workload of the file that runs at the same time as the run's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flowsweep.validation import refused

if TYPE_CHECKING:
    from flowsweep.experiment.workload import Workload


def check(name: str, workloads: Sequence[Workload]) -> None:
    """Raises unless the workload of this name can run beside another one.

    Args:
        name: A value of the axis.
        workloads: The workloads of the file.
    """
    found = next((workload for workload in workloads if workload.name == name), None)
    if found is None:
        known = ", ".join(workload.name for workload in workloads)
        raise refused(f'beside: no workload is called "{name}"', f'"{name}"', f"one of {known}")
    if found.serve:
        raise refused(
            f"beside: {name} needs servers, which are started for the workload of a run alone",
            "`serve` in this workload",
            "a workload without servers",
        )
