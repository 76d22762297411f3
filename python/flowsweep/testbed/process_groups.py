"""Ends processes that lead their own groups, with everything that they started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def wait_or_kill(processes: Sequence[subprocess.Popen[bytes]], limit_s: float) -> None:
    """Waits for processes that were asked to end; then kills the rest of their groups.

    Args:
        processes: The leaders of the groups.
        limit_s: How long to wait for all of them together.
    """
    end = time.monotonic() + limit_s
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, end - time.monotonic()))
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
