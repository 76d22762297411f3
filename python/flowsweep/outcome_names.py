"""The rule for the name of an outcome, and the name that every part knows: completion time."""

from __future__ import annotations

from typing import Literal

#: The first outcome of a run that has one: `completion_s` in its record.
COMPLETION = "completion_time"
PATTERN = r"^[a-z][a-z0-9_]{0,39}$"
MOST = 32
MOST_UNIT = 20

Better = Literal["less", "more"]
