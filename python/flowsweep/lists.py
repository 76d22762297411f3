"""Formats lists for people: shortened for a sentence, in natural sort order."""

from __future__ import annotations

import re
from collections.abc import Sequence


def shorten_list(items: Sequence[str], most: int) -> list[str]:
    """Returns the first `most` items, followed by `3 more` if there are others."""
    more = len(items) - most
    return [*items[:most], *([f"{more} more"] if more > 0 else [])]


def join_words(words: Sequence[str], separator: str = ", ") -> str:
    """Joins words to `a`, `a and b`, `a, b and c`."""
    *first, last = words
    return f"{separator.join(first)} and {last}" if first else last


def natural_key(text: str) -> list[tuple[int, int | str]]:
    """Returns a sort key that puts pc9 before pc10."""
    parts = [part for part in re.split(r"(\d+)", text) if part]
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in parts]
