"""Locked packages for different purposes are compatible: all are installed into one place."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_lock_names_one_version_of_a_package() -> None:
    versions: dict[str, dict[str, str]] = {}
    locks = [
        path for path in ROOT.rglob("requirements.lock") if not {".venv", "target"} & {*path.parts}
    ]
    assert len(locks) > 1
    for path in locks:
        found = re.findall(r"^([\w.-]+)==(\S+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        for name, version in found:
            package = re.sub(r"[-_.]+", "-", name).lower()
            versions.setdefault(package, {})[str(path.relative_to(ROOT))] = version
    differing = {
        name: by_file for name, by_file in versions.items() if len(set(by_file.values())) > 1
    }
    assert not differing
