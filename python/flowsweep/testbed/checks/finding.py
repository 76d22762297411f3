"""One line of the answer to what this machine can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """One line of the answer: "bad" says that experiments cannot run, or not validly."""

    level: Literal["ok", "note", "bad"]
    name: str
    text: str
    remedy: str | None = None
