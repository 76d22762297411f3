"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path

import click

PATH = click.Path(path_type=Path)
EXPERIMENT = click.argument("experiment", type=PATH)
SETTINGS = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="AXIS=VALUE",
    help="A point other than the baseline.",
)
CHECKSUMS = click.option(
    "--verify-checksums",
    is_flag=True,
    help="Leave packets with a wrong checksum out of all flows, and count them.",
)
