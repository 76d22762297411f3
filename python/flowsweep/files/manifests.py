"""Reads drop counters from the manifest that a capture agent writes next to a capture."""

from __future__ import annotations

from pathlib import Path

from flowsweep.errors import FlowsweepError
from flowsweep.files import inputs

EXAMPLE = '{"dropped_kernel": 0, "dropped_interface": 0}'


def drops(path: Path) -> tuple[int | None, int | None]:
    """Returns the packets dropped by kernel and interface; None for a missing count.

    Packets that the agent received and could not write, as on a full disk, count as dropped by the
    kernel: the capture lacks them in the same way.

    Checked by hand: importing pydantic for two numbers takes as long as parsing a small capture.

    Raises:
        FlowsweepError: The file is no usable JSON object, or a count is not valid.
    """
    about, _ = inputs.read_object(path, "a manifest", EXAMPLE)
    return drops_in(about, path)


def drops_in(about: dict[str, object], path: Path) -> tuple[int | None, int | None]:
    """Returns the same as `drops`, for a manifest that was already read from `path`."""
    kernel = _count(about, "dropped_kernel", path)
    # While an agent runs, packets that are not counted as written may only wait in its buffer.
    if kernel is not None and about.get("status") == "incomplete":
        kernel += _count(about, "lost_writing", path) or 0
    return kernel, _count(about, "dropped_interface", path)


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
