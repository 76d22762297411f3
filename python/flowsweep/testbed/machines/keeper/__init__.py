"""The keeper of a machine: a script of a shell that is there during a run.

It reaches the machine as one text, because nothing that lies there is trusted before it was
checked: the parts beside this file, one behind the other.
"""

from __future__ import annotations

from pathlib import Path

#: The name of the script on a machine.
NAME = "keeper.sh"
PARTS = ("ownership.sh", "record.sh", "overlay.sh", "settings.sh", "keeper.sh")


def script() -> bytes:
    """The whole script."""
    return b"\n".join(Path(__file__).with_name(part).read_bytes() for part in PARTS)
