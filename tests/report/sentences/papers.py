"""Sentences under the figures that set a paper's values beside ours."""
# ruff: noqa: E501 - sentences stand as they are printed

from __future__ import annotations

import polars as pl

from sentences.asked import Asked, N, Sentence, always

QUERY = "paper_figures"


def _shown(asked: Asked) -> pl.DataFrame:
    """Returns the rows of the panels that have a value of ours."""
    is_here = pl.col("ours").is_not_null().any().over("paper", "item", "panel")
    return asked.rows(QUERY).filter(is_here)


PAPERS = [
    *always(QUERY, r"Each panel has the axes of the paper's figure or the entries of its table\.",
            r"Values that are not judged are drawn, too: the table below says which, and why\."),
    Sentence(QUERY, r"Published rates are multiplied by .+?: our links are slower by that factor\.",
             lambda asked, _: (_shown(asked)["scale"] != 1).any()),
    Sentence(QUERY, r"Where ours is missing, it was not measured or counts something else\.",
             lambda asked, _: _shown(asked)["ours"].null_count() > 0),
    Sentence(QUERY, rf"({N}) of ({N}) values are drawn; panels without a value of ours are not; all: "
             r"flowsweep query paper_figures DIR\.",
             lambda asked, match: [int(match[1]), int(match[2])]
             == [_shown(asked).height, asked.rows(QUERY).height]),
]  # fmt: skip
