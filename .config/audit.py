"""Audits what flowsweep depends on: licences, sources, and known faults of versions.

`cargo deny` checks crates by the policy in deny.toml, and `pip-audit` the Python packages of every
requirements.lock; the stages of the container must agree on one digest of their base image. An
audit whose program or network is missing is skipped, with the reason.
The exit code is 1 if something was found.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DENY = "cargo-deny", "cargo install --locked cargo-deny"
PIP_AUDIT = "pip-audit", "pipx install pip-audit"
#: Folders with the locks of other projects.
LEFT_OUT = {".venv", "target", ".cargo-home", "node_modules"}


def main() -> int:
    """Runs all audits; prints the result of each on a line."""
    found = images((ROOT / "Containerfile").read_text(encoding="utf-8"))
    found |= has(*DENY) and crates()
    if has(*PIP_AUDIT):
        for lock in sorted(ROOT.rglob("requirements.lock")):
            if not LEFT_OUT & {*lock.relative_to(ROOT).parts}:
                found |= packages(lock)
    return int(found)


def images(text: str) -> bool:
    """Returns whether the stages of a Containerfile begin with different versions of an image."""
    locked: dict[str, set[str]] = {}
    for image in sorted({*re.findall(r"^FROM +([^ \n]+)", text, re.MULTILINE)}):
        name, _, digest = image.partition("@")
        locked.setdefault(name, set()).add(digest)
    found = False
    for name, digests in locked.items():
        about = f"digest of the image {name}"
        if digests == {""}:
            # Only a registry, or an engine that has the image, knows the digest.
            skip(about, "Containerfile names none; `docker buildx imagetools inspect "
                 f"{name}` prints it: write FROM {name}@sha256:...")  # fmt: skip
        else:
            found |= report(about, is_found=len(digests) > 1, text=" and ".join(sorted(digests)))
    return found


def crates() -> bool:
    """Returns whether the crates of Cargo.lock break the policy."""
    found = False
    for checks in (["licenses", "bans", "sources"], ["advisories"]):
        name = f"crates: {', '.join(checks)}"
        if checks == ["advisories"]:
            fetched = run("cargo-deny", "fetch", "db")
            if fetched.returncode:
                skip(name, "the database of advisories cannot be fetched")
                continue
        done = run("cargo-deny", "--log-level", "error", "check", "--hide-inclusion-graph", *checks)
        found |= report(name, is_found=done.returncode != 0, text=done.stdout + done.stderr)
    return found


def packages(lock: Path) -> bool:
    """Returns whether a package of a lock has a known fault."""
    name = f"packages of {lock.relative_to(ROOT)}"
    done = run("pip-audit", "--disable-pip", "--require-hashes", "-r", lock, "--format", "json")
    try:
        listed = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        skip(name, "the database of advisories cannot be asked")
        return False
    # The exit code is 0 even if the database knows none of the packages.
    unknown = [one["name"] for one in listed if "skip_reason" in one]
    if unknown:
        skip(f"{len(unknown)} of {len(listed)} {name}", "the database does not know them")
    faults = [f"{one['name']} {one['version']}: {fault['id']}"
              for one in listed for fault in one.get("vulns", ())]  # fmt: skip
    if len(unknown) == len(listed):
        return False
    return report(name, is_found=bool(faults), text="\n".join(faults))


def has(program: str, remedy: str) -> bool:
    """Returns whether a program is installed; if not, prints what is skipped."""
    if shutil.which(program):
        return True
    skip(program, f"it is not installed: {remedy}")
    return False


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a program at the root of the checkout."""
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)


def report(name: str, *, is_found: bool, text: str) -> bool:
    """Prints the result of an audit; returns whether it found something."""
    print(f"audit: {name}: {'FOUND' if is_found else 'nothing found'}", flush=True)
    if is_found:
        print(text.strip(), file=sys.stderr)
    return is_found


def skip(name: str, reason: str) -> None:
    """Prints what was not audited."""
    print(f"audit: {name}: skipped: {reason}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
