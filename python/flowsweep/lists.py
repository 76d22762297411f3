"""Lists that may be too long for a message or a sentence."""

from __future__ import annotations

from collections.abc import Sequence


def shorten_list(items: Sequence[str], most: int) -> list[str]:
    """The first `most` items and, where there are others, `3 more` behind them."""
    more = len(items) - most
    return [*items[:most], *([f"{more} more"] if more > 0 else [])]
