"""What the verdict says about where the time goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import critical
import pytest

from flowsweep.render import time_parts, verdict_time
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
            "At 16.0 ms **app0** computes for **49 %** of its time; 49 % is not explained.",
        ),
        ({"computing": 0.9, "propagation": 0.5e-3}, None),
    ],
)
def test_the_slowest_point_is_divided(
    far: dict[str, float], sentence: str | None, tmp_path: Path
) -> None:
    assert sentences(tmp_path, far=far) == ([] if sentence is None else [sentence])


def point(path_s: float, rtt_ms: float, rate_mbit_s: float, **parts: float) -> dict[str, Any]:
    """Returns a row of `time_shares` with only what the sentence needs."""
    parts = dict.fromkeys(time_parts.PARTS, 0.0) | parts
    return {
        "app": "a", "problem": "", "is_baseline": (rtt_ms, rate_mbit_s) == (1, 100),
        "rtt_asked_ms": rtt_ms, "rtt_ms": rtt_ms, "rate_asked_mbit_s": rate_mbit_s,
        "rate_mbit_s": rate_mbit_s, "path_s": path_s, "crossings": 1, **parts,
    }  # fmt: skip


def test_each_axis_has_the_sentence_of_its_slowest_point() -> None:
    rows = [
        point(10, 1, 100, computing_s=10),
        point(20, 64, 100, computing_s=10, propagation_s=10),
        point(15, 16, 100, computing_s=10, propagation_s=5),
        point(40, 1, 10, computing_s=10, serialisation_s=30),
        point(90, 64, 10, computing_s=10, queueing_s=80),
        # faster than at the baseline
        point(9, 1, 200, computing_s=9),
    ]
    labels = {("a", ""): "a"}
    assert [text.replace("\u00a0", " ") for text in verdict_time.sentences(rows, labels)] == [
        "At 64.0 ms **a** computes for **50 %** of its time; propagation takes 50 %.",
        "At 10.0 Mbit/s **a** computes for **25 %** of its time; serialisation takes 75 %.",
    ]
    both = [
        text.replace("\u00a0", " ") for text in verdict_time.sentences([rows[0], rows[4]], labels)
    ]
    assert [text.partition(" **a**")[0] for text in both] == ["At 64.0 ms and 10.0 Mbit/s"]
    assert verdict_time.sentences([rows[0], rows[5]], labels) == []


def test_more_applications_than_a_reader_wants_are_in_the_figure_alone(tmp_path: Path) -> None:
    assert len(sentences(tmp_path, apps=6)) == verdict_time.MAX_SENTENCES


def test_the_verdict_of_the_page_has_the_sentence(tmp_path: Path) -> None:
    from flowsweep.render import page

    html = page.build(critical.make(tmp_path)).html.replace("\u00a0", " ")
    start = html.index('<section id="verdict"')
    verdict = html[start : html.index("</section>", start)]
    assert "<b>app0</b> computes for" in verdict or "<strong>app0</strong> computes for" in verdict
