"""The keeper: a shell script that runs on each machine during a run.

Its parts in this folder are joined and sent to the machine as one text, because no file on the
machine is trusted before it was checked.
"""

from __future__ import annotations

from pathlib import Path

#: The name of the script on a machine.
NAME = "keeper.sh"
PARTS = ("ownership.sh", "record.sh", "overlay.sh", "settings.sh", "keeper.sh")


def script() -> bytes:
    """Joins the parts of the script."""
    return b"\n".join(Path(__file__).with_name(part).read_bytes() for part in PARTS)
