"""Stores the points that refinement adds to a sweep in the folder of its runs.

`runs/.refined/1.json` contains the points of the first pass of refinement, as settings of `--set`.
If an experiment is loaded with its folder of runs, its plan ends with these points, so that a
refined point has ordinary runs: with an id, a seed and a block.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from flowsweep.errors import FlowsweepError
from flowsweep.experiment.quantities import Model
from flowsweep.files import inputs
from flowsweep.files.outputs import explaining, write_file

FOLDER = ".refined"
KIND = "the points of a pass of refinement"
EXAMPLE = '{"points": [{"set": {"workload": "nqueens", "rtt": "8ms"}}]}'
#: The most points of a pass: two levels for each line of a large sweep.
MOST_POINTS = 1_000


class Point(Model):
    """A point as settings of `--set`, and why it was chosen."""

    settings: dict[str, str] = Field(alias="set", min_length=1)
    why: str = ""


class _Pass(Model):
    points: list[Point] = Field(max_length=MOST_POINTS)


def path(runs: Path, number: int) -> Path:
    """Returns the file of a pass.

    Args:
        runs: The folder of the runs.
        number: 1 for the first pass of refinement.
    """
    return runs / FOLDER / f"{number}.json"


def keep(runs: Path, number: int, points: Sequence[Point]) -> None:
    """Writes the points of a pass; does not replace the points of an existing pass."""
    file = path(runs, number)
    with explaining(f"cannot write {file}"):
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists():
            # Its runs may exist already, so a newer run of the sweep must not choose again.
            file.touch()
            return
        listed = [point.model_dump(by_alias=True) for point in points]
        _checked({"points": listed}, file)
        write_file(file, inputs.object_text({"points": listed}, file, KIND, EXAMPLE))


def passes(most: int, runs: Path) -> list[list[Point]]:
    """Returns the points of each chosen pass, up to the number that the experiment asks for.

    Args:
        most: The number of passes that the experiment asks for.
        runs: The folder of its runs.

    Raises:
        FlowsweepError: A file contains something else.
    """
    found = []
    for number in range(1, most + 1):
        file = path(runs, number)
        if not file.exists():
            break
        record, _ = inputs.read_object(file, KIND, EXAMPLE)
        found.append(_checked(record, file))
    return found


def _checked(record: dict[str, Any], file: Path) -> list[Point]:
    try:
        return _Pass.model_validate(record).points
    except ValidationError as error:
        fault = error.errors()[0]
        raise FlowsweepError(
            f"{file}: {inputs.place_of(fault['loc'])}: {fault['msg'].lower()}",
            found=inputs.shorten_value(fault["input"]),
            expected=EXAMPLE,
            remedy=f"rm {file}; the same snakemake command chooses anew",
        ) from None
