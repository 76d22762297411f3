"""One finding of `flowsweep testbed check`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """One line of the result; "bad" means that experiments cannot run, or cannot be valid."""

    level: Literal["ok", "note", "bad"]
    name: str
    text: str
    remedy: str | None = None
