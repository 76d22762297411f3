"""One line of what `flowsweep testbed check` finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """One line of the result: "bad" says that experiments cannot run, or not validly."""

    level: Literal["ok", "note", "bad"]
    name: str
    text: str
    remedy: str | None = None
