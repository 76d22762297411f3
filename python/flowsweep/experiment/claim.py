"""Ensures that only one sweep, or report of captures, at a time works on a folder of results."""

from __future__ import annotations

import os
from pathlib import Path

from flowsweep.errors import FlowsweepError
from flowsweep.files.locks import free_lock, holder, open_lock
from flowsweep.files.outputs import HIDDEN, explaining

LOCK = f"{HIDDEN}sweep.lock"


def claim(results: Path) -> int:
    """Takes the lock of `results` until this process ends; returns its descriptor.

    Raises:
        FlowsweepError: Another process holds the lock.
    """
    with explaining(f"cannot write to {results}"):
        results.mkdir(parents=True, exist_ok=True)
        descriptor = free_lock(results / LOCK)
    if descriptor is not None:
        return descriptor
    descriptor = open_lock(results / LOCK)
    try:
        user = holder(descriptor)
    finally:
        os.close(descriptor)
    raise FlowsweepError(
        f"{results}: another sweep or report works here",
        found=user,
        expected="one at a time",
        remedy="wait until it is done, and start again",
    )
