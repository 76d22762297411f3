"""Reads drop counters from the manifest that a capture agent leaves beside a capture."""

from __future__ import annotations

from pathlib import Path

from flowsweep.errors import FlowsweepError
from flowsweep.files import inputs

EXAMPLE = '{"dropped_kernel": 0, "dropped_interface": 0}'


def drops(path: Path) -> tuple[int | None, int | None]:
    """Packets dropped by kernel and by interface; None for a count that the manifest lacks.

    Checked by hand: importing pydantic for two numbers takes as long as parsing a small capture.

    Raises:
        FlowsweepError: It is no JSON object that can be used, or a count is none.
    """
    about, _ = inputs.read_object(path, "a manifest", EXAMPLE)
    return drops_in(about, path)


def drops_in(about: dict[str, object], path: Path) -> tuple[int | None, int | None]:
    """As `drops`, of a manifest that was read already from `path`."""
    return _count(about, "dropped_kernel", path), _count(about, "dropped_interface", path)


def _count(about: dict[str, object], key: str, path: Path) -> int | None:
    value = about.get(key)
    if value is None:
        return None
    if type(value) is not int or not 0 <= value < 2**63:
        raise FlowsweepError(
            f"{path}: {key}: not a number of packets",
            found=inputs.shorten_value(value),
            expected="a whole number of 0 or more, without quotes, or null",
            remedy=f"correct it, or remove {path.name}: the counts are then unknown",
        )
    return value
