"""Fuzzes the Python readers for some time each, and prints one line for each.

    python tests/fuzz/fuzz.py [--seconds 60] [--seed 1] [TARGET...]

Batches of inputs come from increasing seeds, so that a run can be repeated from its first one.
Each target is a process of its own: one that dies from a signal, or hangs, is a fault, too.
Failing inputs are in target/fuzz/TARGET/found, minimised by Hypothesis.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "inputs")]

from hypothesis import HealthCheck, Phase, errors, given, seed, settings  # noqa: E402
from invariant import Fault, hold  # noqa: E402
from readers import ROOT, TARGETS, place, renew  # noqa: E402

FOLDER = ROOT / "target" / "fuzz"
BATCH = 200
#: Wall-clock seconds after which an input counts as hanging.
HANG_S = 120
#: A file system in memory.
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
#: Limit of the address space, so that the machine stays usable.
MOST_BYTES = 8 << 30


def fuzz(name: str, seconds: float, first: int, work: Path) -> dict[str, int]:
    """Runs batches of a target until the time is over; returns counts by outcome."""
    target = TARGETS[name]
    folder = FOLDER / name
    path, output = place(work, name)
    known: set[str] = set()
    last: list[Any] = []
    counts: Counter[str] = Counter()
    end = time.monotonic() + seconds

    def one(content: bytes) -> None:
        if time.monotonic() > end:
            return
        path.write_bytes(content)
        signal.alarm(HANG_S)
        counts["inputs"] += 1
        try:
            counts["answered"] += hold(target.read, path, output, target.commands)
        except Fault as fault:
            if fault.key not in known:
                last[:] = [fault, content]
                raise
        finally:
            signal.alarm(0)
            renew(output)

    def noted(batch: Callable[[], None]) -> None:
        try:
            batch()
        except (Fault, errors.Flaky):  # Flaky if the time ended during minimisation
            fault, content = last
            known.add(fault.key)
            counts["faults"] += 1
            place = keep(content, folder)
            print(f"{name}: {fault}\n  input     {place}", file=sys.stderr, flush=True)

    for content in target.seeds:
        noted(partial(one, content))
    number = first
    while time.monotonic() < end:
        noted(seed(number)(_SETTINGS(given(content=target.inputs())(one))))
        number += 1
    return {"batches": number - first, **counts}


_SETTINGS = settings(
    max_examples=BATCH, deadline=None, database=None, report_multiple_bugs=False,
    phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck),
)  # fmt: skip


def keep(content: bytes, folder: Path) -> Path:
    """Saves an input that shows a fault; returns its path."""
    found = folder / "found" / hashlib.sha256(content).hexdigest()[:12]
    found.parent.mkdir(parents=True, exist_ok=True)
    found.write_bytes(content)
    return found


def child(name: str, seconds: float, first: int, work: Path) -> None:
    """Fuzzes, and prints the counts as JSON."""
    warnings.simplefilter("ignore", errors.HypothesisWarning)
    faulthandler.enable()
    faulthandler.register(signal.SIGALRM, chain=True)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    sys.dont_write_bytecode = True
    print(json.dumps(fuzz(name, seconds, first, work)))


def parent(name: str, seconds: float, first: int, work: Path) -> Counter[str]:
    """Starts children until the time is over; keeps the last input of one that dies."""
    counts: Counter[str] = Counter()
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 1 or not counts:
        words = [
            sys.executable,
            __file__,
            "--child",
            work,
            "--seconds",
            str(left),
            "--seed",
            str(first),
            name,
        ]
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode == 0:
            counts += Counter(json.loads(done.stdout.splitlines()[-1]))
            break
        counts["died"] += 1
        inputs = [one for one in work.rglob(TARGETS[name].name) if one.is_file()]
        kept = keep(inputs[0].read_bytes(), FOLDER / name) if inputs else "none"
        print(f"{name}: ended with {done.returncode}\n  input     {kept}", file=sys.stderr)
        first += 10_000
    return counts


def main() -> int:
    """Returns 1 if a fault was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    asked = parser.parse_args()
    if unknown := [one for one in asked.targets if one not in TARGETS]:
        parser.error(f"unknown target {unknown[0]}; there are {', '.join(TARGETS)}")
    if asked.child:
        child(asked.targets[0], asked.seconds, asked.seed, asked.child)
        return 0
    status = 0
    lines = [
        f"{'target':<12} {'seconds':>8} {'inputs':>8} {'answered':>8} {'faults':>8} {'died':>8}"
    ]
    for name in asked.targets or TARGETS:
        start = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="flowsweep-fuzz-", dir=MEMORY) as work:
            counts = parent(name, asked.seconds, asked.seed, Path(work, "a"))
        figures = [round(time.monotonic() - start)]
        figures += [counts[key] for key in ("inputs", "answered", "faults", "died")]
        lines.append(f"{name:<12} " + " ".join(f"{figure:>8}" for figure in figures))
        status |= bool(counts["faults"] or counts["died"])
    print("\n".join(lines))
    return status


if __name__ == "__main__":
    sys.exit(main())
