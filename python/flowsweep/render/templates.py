"""Fills the Jinja templates of the folder reports; text is escaped unless it is `Markup`."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

NBSP = "\u00a0"
_UNIT = re.compile(
    r"(?<=\d) (?=(?:%|[kMG]?bit/s|[nµm]?s|min|[kMG]?B(?:/s)?|[KMG]iB|[kM])(?![\w%/]))"
)


def fill(folder: Path, name: str, **values: Any) -> Markup:
    """Fills a template with its values.

    Args:
        folder: The folder `reports`.
        name: Name of the template's file.
        values: All values that the template names; a missing one is an error.
    """
    return Markup(_environment(folder).get_template(name).render(values))  # noqa: S704 - autoescape


@cache
def _environment(folder: Path) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["bound"] = bind_units
    return environment


def bind_units(text: str) -> str:
    """Keeps the numbers of a text or markup on one line with their unit."""
    return type(text)(_UNIT.sub(NBSP, text))
