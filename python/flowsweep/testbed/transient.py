"""Failures of the testbed itself that may not recur, and reports of unexpected ones."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

from flowsweep.errors import FlowsweepError

PARTS = ("what", "found", "expected", "remedy")
PACKAGE = Path(__file__).parents[1]
AGAIN = "run it again; if it comes again, it is a fault of flowsweep: report it with these lines"


class TransientError(FlowsweepError):
    """A part of the testbed failed that may work the next time, so a retry is worthwhile.

    `in_program`: the program had started; otherwise only the set-up is repeated.
    """

    in_program = False

    @property
    def line(self) -> str:
        """`what` and `found` in one line, as the reason of an invalid run."""
        return f"{self.what}: {self.found}" if self.found else self.what


def unexpected(error: Exception) -> TransientError:
    """Describes an unexpected exception: its type, its message, and the places in our code."""
    message = "".join(traceback.format_exception_only(error)).strip()
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(PACKAGE)]
    # Innermost first; a place outside our code only if the exception was raised there.
    inner = [] if not frames or frames[-1] in ours else [frames[-1]]
    places = [
        f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}"
        for frame in [*inner, *reversed(ours)]
    ]
    return TransientError(
        "testbed: a fault that was not foreseen",
        found=f"{' / '.join(message.splitlines())} ({', '.join(places)})",
        expected="a testbed that is set up, measured and taken down",
        remedy=AGAIN,
    )


def to_event(error: FlowsweepError) -> dict[str, Any]:
    """Returns the event by which the hub reports an error."""
    return {
        "event": "error",
        "transient": isinstance(error, TransientError),
        **{name: getattr(error, name) for name in PARTS},
    }


def from_event(event: dict[str, Any]) -> FlowsweepError:
    """Returns the error that the hub reported."""
    kind = TransientError if event["transient"] else FlowsweepError
    return kind(event["what"], **{name: event[name] for name in PARTS[1:]})
