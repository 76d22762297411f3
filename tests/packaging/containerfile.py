"""Parses the instructions that our Containerfile uses."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
KNOWN = {"FROM", "RUN", "WORKDIR", "COPY", "ENV", "ENTRYPOINT", "CMD"}


@dataclass
class Stage:
    """One `FROM` and the following pairs of an instruction and its text."""

    base: str
    name: str
    steps: list[tuple[str, str]] = field(default_factory=list)

    def packages(self) -> set[str]:
        """Returns the Debian packages that its steps install with apt-get."""
        found: set[str] = set()
        for instruction, text in self.steps:
            for command in re.split("&&|;", text) if instruction == "RUN" else ():
                words = shlex.split(command)
                if words[:2] == ["apt-get", "install"]:
                    found |= {word for word in words[2:] if not word.startswith("-")}
        return found


def stages(text: str | None = None) -> list[Stage]:
    """Returns every stage of the checkout's Containerfile, or of another text."""
    if text is None:
        text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    found: list[Stage] = []
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if not line.strip():
            continue
        instruction, _, rest = line.partition(" ")
        if instruction not in KNOWN:
            raise ValueError(f"{instruction}: an instruction that nothing here knows")
        if instruction == "FROM":
            base, *named = rest.split()
            found.append(Stage(base, named[1] if named else ""))
        else:
            found[-1].steps.append((instruction, rest.strip()))
    return found
