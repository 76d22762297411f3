"""Gives up a sweep whose program has failed in all runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep.errors import FlowsweepError
from flowsweep.testbed.run_folder import read_record
from flowsweep.units import counted

if TYPE_CHECKING:
    from flowsweep.experiment import Run

#: A sweep is given up after this many failed runs, if one of them is at the baseline.
LEAST = 3


def check(run: Run, folder: Path) -> None:
    """Raises if all runs so far of the same application have failed, the baseline included.

    Such a sweep answers nothing: a slowdown needs the baseline.

    Args:
        run: The next run of a plan.
        folder: The folder of the plan's runs.
    """
    failed, is_of_baseline, reason = 0, False, None
    for one in run.experiment.plan():
        record = read_record(folder / one.id) if one.app == run.app else None
        if record is None or record.get("spec_hash") != one.spec_hash():
            continue
        if record.get("status") != "failed":
            return
        failed, reason = failed + 1, record.get("reason")
        is_of_baseline |= one.baseline and not one.warmup
    if failed < LEAST or not is_of_baseline:
        return
    raise FlowsweepError(
        f"{folder}: the sweep is given up, as {run.app} failed wherever it was run, "
        "the baseline included",
        found=f"{counted(failed, 'run')} that failed; the last: {reason}",
        expected="a program that ends well at the baseline, to which all else is compared",
        remedy=f"correct it; then flowsweep retry --failed {folder.parent}, and the sweep again",
    )
