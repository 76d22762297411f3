"""Runs the command as `python -m flowsweep`, for when its script is not in PATH."""

from __future__ import annotations

from flowsweep.cli import main

main()
