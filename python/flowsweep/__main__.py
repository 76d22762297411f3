"""`python -m flowsweep`: the command, where its script is not on the path."""

from __future__ import annotations

from flowsweep.cli import main

main()
