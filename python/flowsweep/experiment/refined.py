"""Points that are added to a sweep after its first pass, kept beside its runs.

`runs/.refined/1.json` holds the points of the first pass of refinement, as settings of `--set`.
The plan of an experiment that is loaded with its folder of runs has them behind its own, so that a
refined point is an ordinary run: an id, a seed, a block.
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
#: Points of a pass: two levels for each line of a large sweep.
MOST_POINTS = 1_000


class Point(Model):
    """A point as settings of `--set`, and why it was chosen."""

    settings: dict[str, str] = Field(alias="set", min_length=1)
    why: str = ""


class _Pass(Model):
    points: list[Point] = Field(max_length=MOST_POINTS)


def path(runs: Path, number: int) -> Path:
    """The file of a pass.

    Args:
        runs: The folder of the runs.
        number: 1 for the first pass of refinement.
    """
    return runs / FOLDER / f"{number}.json"


def keep(runs: Path, number: int, points: Sequence[Point]) -> None:
    """Writes the points of a pass; one that was chosen already stays as it is."""
    file = path(runs, number)
    with explaining(f"cannot write {file}"):
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists():
            # Its runs may be there. A newer run of the sweep does not choose again.
            file.touch()
            return
        listed = [point.model_dump(by_alias=True) for point in points]
        _checked({"points": listed}, file)
        write_file(file, inputs.object_text({"points": listed}, file, KIND, EXAMPLE))


def passes(most: int, runs: Path) -> list[list[Point]]:
    """The points of each pass that was chosen, as far as the experiment asks for passes.

    Args:
        most: How many it asks for.
        runs: The folder of its runs.

    Raises:
        FlowsweepError: A file that holds something else.
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
