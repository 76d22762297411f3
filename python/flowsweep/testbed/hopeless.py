"""Gives up a sweep whose program failed in all of its runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep.errors import FlowsweepError
from flowsweep.testbed.run_folder import read_record
from flowsweep.units import counted

if TYPE_CHECKING:
    from flowsweep.experiment import Run

#: Runs that must have failed, one of them at the baseline, before a sweep is given up.
LEAST = 3


def check(run: Run, folder: Path) -> None:
    """Raises where all runs of the same application that were made have failed, the baseline too.

    Such a sweep answers nothing: a slowdown needs the baseline.

    Args:
        run: The next one, of a plan.
        folder: Of the runs of the plan.
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
