"""Prints the part of requirements.lock, with its hashes, that flowsweep needs at run time.

    .venv/bin/python .config/runtime_lock.py [EXTRA...]

The requirements of an extra come from the packages installed in this environment.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]


def needed(extras: Iterable[str]) -> set[str]:
    """Returns the names of all packages that the project needs with these extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pending = [Requirement(f"{project['name']}[{','.join(extras)}]")]
    seen: set[tuple[str, str]] = set()
    while pending:
        one = pending.pop()
        name = canonicalize_name(one.name)
        for extra in ("", *one.extras):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            if name == project["name"]:
                texts = (
                    project["optional-dependencies"][extra] if extra else project["dependencies"]
                )
            else:
                texts = metadata.requires(name) or []
            found = map(Requirement, texts)
            pending += [
                more
                for more in found
                if more.marker is None or more.marker.evaluate({"extra": extra})
            ]
    return {name for name, _ in seen} - {project["name"]}


def entries(text: str) -> dict[str, list[str]]:
    """Returns the entries of a lock by package; one may have several, for different Pythons."""
    found: dict[str, list[str]] = {}
    for entry in re.findall(r"^[A-Za-z0-9][^\n]*(?:\n[ ]+[^\n]*)*", text, re.MULTILINE):
        name = canonicalize_name(entry.partition("==")[0].partition("[")[0])
        found.setdefault(name, []).append(entry)
    return found


def main() -> None:
    """Prints the entries; fails if the lock lacks a package."""
    locked = entries((ROOT / "requirements.lock").read_text(encoding="utf-8"))
    for name in sorted(needed(sys.argv[1:])):
        print("\n".join(locked[name]))


if __name__ == "__main__":
    main()
