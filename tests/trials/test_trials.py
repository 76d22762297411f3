"""A command that is killed or fails at a call leaves complete files, and the next ones work.

`make trials` tries every call, and the commands that take seconds.
"""

from __future__ import annotations

import shutil

import pytest
import trials
from commands import COMMANDS

#: Points of each kind, and number of concurrent trials; fewer if the next commands are slow.
POINTS, FEWER = 3, 1


@pytest.mark.parametrize(
    "command", [one for one in COMMANDS if not one.is_slow], ids=lambda one: one.name
)
def test_a_command_that_is_disturbed_or_not_alone(command):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler here")
    rows = list(trials.rows_of([command], FEWER if command.reader else POINTS))
    assert sum(row.tried for row in rows) > len(command.kinds)
    faults = [f"{row.kind}: {row.faults}" for row in rows if row.faults]
    assert not faults, "\n".join(faults)
