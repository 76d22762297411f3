"""Embeds style sheet, script and rows in the page, under a Content-Security-Policy.

The policy lets the browser use the page's own style sheet and script, identified by their hashes,
and nothing else: injected code does not run even if escaping was forgotten somewhere.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from typing import TYPE_CHECKING

from markupsafe import Markup

from flowsweep.render import theme

if TYPE_CHECKING:
    from pathlib import Path

#: Visible substitutes for control characters, which have no glyph and are not allowed in XML.
_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"}
_PICTURES |= {0x7F: 0x2421, **dict.fromkeys((*range(0x80, 0xA0), 0xFFFE, 0xFFFF), 0xFFFD)}


def styles(folder: Path) -> Markup:
    """Returns the style sheet: colours of both themes, and page.css of the folder `reports`."""
    dark = theme.css_variables(dark=True)
    text = "\n".join(
        (
            f":root {{\n  {theme.css_variables(dark=False)}\n}}",
            "@media screen and (prefers-color-scheme: dark) {",
            f':root:not([data-theme="light"]) {{\n  {dark}\n}}\n}}',
            f'@media screen {{\n:root[data-theme="dark"] {{\n  {dark}\n}}\n}}',
            theme.css_classes(),
            (folder / "page.css").read_text(encoding="utf-8"),
        )
    )
    return Markup(text)  # noqa: S704 - our own files


def script(folder: Path) -> Markup:
    """Returns the script: page.js of the folder `reports`, and the files of `explore` by name."""
    paths = [folder / "page.js", *sorted((folder / "explore").glob("*.js"))]
    return Markup("\n".join(path.read_text(encoding="utf-8") for path in paths))  # noqa: S704 - our own files


def policy(style: Markup, code: Markup) -> str:
    """Returns the Content-Security-Policy for this style sheet and this script alone."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src {digest(style)}",
            f"script-src {digest(code)}",
            "img-src data:",  # the icon, and a figure on its way to a PNG
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def digest(text: str) -> str:
    """Returns the source of a Content-Security-Policy that allows this text."""
    found = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(found).decode()}'"


def pack(text: str) -> str:
    """Packs text as gzip in base64, for a `<script>` with data, which nothing in it can close."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def printable(text: str) -> str:
    """Replaces control characters by visible ones, and lone surrogates by escapes."""
    return text.encode("utf-8", "backslashreplace").decode().translate(_PICTURES)
