"""What the verdict says of where the time goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import critical
import pytest

from flowsweep.render import verdict_time
from flowsweep.warehouse import Warehouse


def sentences(directory: Path, **how: Any) -> list[str]:
    rows = Warehouse(critical.make(directory, **how)).rows("time_shares").rows(named=True)
    labels = {(row["app"], row["problem"]): row["app"] for row in rows}
    found = verdict_time.sentences(rows, labels)
    return [sentence.replace("\u00a0", " ") for sentence in found]


@pytest.mark.parametrize(
    ("far", "sentence"),
    [
        (
            {"computing": 0.9, "propagation": 0.6},
            (
                "At 16.0 ms **app0** computes for **60 %** of its time; propagation takes 40 %; "
                "10 messages between the sites follow one after the other."
            ),
        ),
        (
            {"computing": 0.9, "queueing": 0.56, "loss recovery": 0.5, "propagation": 0.04},
            (
                "At 16.0 ms **app0** computes for **45 %** of its time; queueing takes 28 %, "
                "loss recovery takes 25 %."
            ),
        ),
        (
            {"computing": 1.8, "propagation": 0.02},
            "At 16.0 ms **app0** computes for **49 %** of its time; not explained is 49 %.",
        ),
        ({"computing": 0.9, "propagation": 0.5e-3}, None),
    ],
)
def test_the_slowest_point_is_divided(
    far: dict[str, float], sentence: str | None, tmp_path: Path
) -> None:
    assert sentences(tmp_path, far=far) == ([] if sentence is None else [sentence])


def test_more_applications_than_a_reader_wants_are_in_the_figure_alone(tmp_path: Path) -> None:
    assert len(sentences(tmp_path, apps=6)) == verdict_time.MAX_APPS


def test_the_verdict_of_the_page_has_the_sentence(tmp_path: Path) -> None:
    from flowsweep.render import page

    html = page.build(critical.make(tmp_path)).html.replace("\u00a0", " ")
    start = html.index('<section id="verdict"')
    verdict = html[start : html.index("</section>", start)]
    assert "<b>app0</b> computes for" in verdict or "<strong>app0</strong> computes for" in verdict
