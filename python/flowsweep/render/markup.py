"""Converts the markup of the verdict's sentences to HTML and to plain text.

`**number**` is printed bold, `[[interval]]` muted. Names come from anyone: `shield` keeps theirs
from being read as markup, up to the conversion.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from markupsafe import Markup, escape

NBSP = "\u00a0"
#: Each character of the markup, and one that Unicode reserves for a program's own use.
_SHIELDS = {"*": "\ufdd0", "[": "\ufdd1", "]": "\ufdd2"}
_SHIELD, _RESTORE = str.maketrans(_SHIELDS), str.maketrans({v: k for k, v in _SHIELDS.items()})


def shield(text: str) -> str:
    """Replaces the characters of the markup in a name by others, one by one."""
    return text.translate(_SHIELD)


def shield_rows(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Shields all texts in rows of a query."""
    return [
        {name: shield(value) if isinstance(value, str) else value for name, value in row.items()}
        for row in rows
    ]


def restore(text: str) -> str:
    """Returns a text without markup, with names as they were before they were shielded."""
    return text.translate(_RESTORE)


def plain(text: str) -> str:
    """Removes the markup of a sentence."""
    return restore(re.sub(r"\*\*|\[\[|\]\]", "", text))


def to_html(sentence: str) -> Markup:
    """Converts the markup of a sentence to HTML."""
    text = str(escape(sentence))
    # A number stays on one line with its unit.
    text = re.sub(r"\*\*([\d.,]+) (\S+)\*\*", rf"**\1{NBSP}\2**", text)
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", text)
    text = re.sub(r"\[\[(.+?\]?)\]\]", r'<span class="interval">\1</span>', text)
    return Markup(restore(text))  # noqa: S704 - escaped first
