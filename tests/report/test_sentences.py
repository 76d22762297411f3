"""Every sentence under a figure is known and true of the tables; those that are due are printed."""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import critical
import in_flight
import made
import polars as pl
import pytest
import reconfigured
import tiny
from grid import PC1, PC3, one_run
from hypothesis import given
from sentences import SENTENCES, Asked, Sentence

from flowsweep.analysis.adds_up import contradictions
from flowsweep.render import distributions, page
from flowsweep.render.figure import Context, Figure
from flowsweep.render.sections import Section, sections
from flowsweep.warehouse import Warehouse, figure_names

#: By conditional sentence: whether it was printed, and whether not, where its figure was drawn.
SEEN: dict[tuple[str, str], set[bool]] = defaultdict(set)


@pytest.fixture(scope="module", autouse=True)
def _distributions_of_few() -> Iterator[None]:
    """Draws distributions of any size, as made-up runs have only a handful of flows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distributions, "LEAST_VALUES", 1)
        yield


def captions(directory: Path, are_rendered: bool = True) -> Iterator[tuple[Asked, str, str]]:
    """Yields the tables, and each figure's query and caption; may render the figures."""
    warehouse = Warehouse(directory)
    # As in a report: else each query would first check whether the tables have changed.
    with warehouse.reading():
        warehouse.keep_facts()
        context = Context(warehouse, page._series(warehouse, ""))
        for section in sections(warehouse.catalog.folder):
            found = _rendered(section, context) if are_rendered else _worded(section, context)
            for name, caption in found:
                yield Asked(warehouse), name, caption


def _rendered(section: Section, context: Context) -> Iterator[tuple[str, str]]:
    for part in page._parts(section, context, count(1)):
        if part["kind"] == "figure":
            yield part["name"], f"{part['caption']} {part['notes']}".strip()


def _worded(section: Section, context: Context) -> Iterator[tuple[str, str]]:
    for part in section.parts:
        figure = part.draw(context)
        if isinstance(figure, Figure):
            yield figure.name, figure.words


def read(asked: Asked, query: str, caption: str) -> set[str]:
    """Returns the patterns of a caption's sentences, each of which must be known and true."""
    found, at = set(), 0
    known = [one for one in SENTENCES if one.query == query]
    while at < len(caption):
        matches = [
            (match.end(), one, match)
            for one in known
            if (match := re.compile(one.pattern).match(caption, at))
            and caption[match.end() : match.end() + 1] in ("", " ")
        ]
        assert matches, f"{query}: no condition is known for: {caption[at:]}"
        end, sentence, match = max(matches, key=lambda item: item[0])
        if sentence.holds is not None:
            assert sentence.holds(asked, match), f"{query}: not true: {match[0]}"
        found.add(sentence.pattern)
        at = end + 1
    return found


def check(directory: Path, are_rendered: bool = True) -> Asked | None:
    """Checks all sentences of an experiment.

    Returns:
        The experiment's tables; None if no figure has a caption.
    """
    asked = None
    for asked, query, caption in captions(directory, are_rendered):
        if not asked.rows(query).height:
            continue
        found = read(asked, query, caption)
        for sentence in (one for one in SENTENCES if one.query == query and one.due):
            printed = sentence.pattern in found
            assert printed == sentence.due(asked), f"{query}: {sentence.pattern}: {caption}"  # type: ignore[misc]
            SEEN[query, sentence.pattern].add(printed)
    return asked


@pytest.mark.parametrize("name", ["one_app", "two_apps", "full"])
def test_sentences_are_true_of_made_up_sweeps(name: str, request: pytest.FixtureRequest) -> None:
    # Other tests render all of their figures.
    check(request.getfixturevalue(name), are_rendered=False)


def test_sentences_are_true_of_more_than_is_drawn_one_by_one(tmp_path: Path) -> None:
    check(made.write(tmp_path, made.large()))


def test_sentences_are_true_where_neither_rate_nor_rtt_is_known(tmp_path: Path) -> None:
    [alone] = made.large()
    one_connection = tuple(replace(packet, port=1) for packet in alone.packets)
    check(made.write(tmp_path, [replace(alone, packets=one_connection)]))


def test_sentences_are_true_of_links_that_change(tmp_path: Path) -> None:
    check(reconfigured.make(tmp_path))


@pytest.mark.parametrize(("window", "has_rate"), [(65_000, False), (None, True)])
def test_sentences_are_true_of_bytes_in_flight(
    tmp_path: Path, window: int | None, has_rate: bool
) -> None:
    check(in_flight.make(tmp_path, window, has_rate=has_rate))


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"messages": 1},
        {"apps": 2, "far": {"computing": 1.2, "queueing": 0.2, "propagation": 0.4}},
        {"far": {"computing": 0.5, "loss recovery": 0.2, "propagation": 0.4}},
        {"far": {"not explained": 3.0}},
    ],
)
def test_sentences_are_true_of_critical_paths(tmp_path: Path, how: dict[str, Any]) -> None:
    check(critical.make(tmp_path, **how))


def test_sentences_are_true_of_several_buffers(tmp_path: Path) -> None:
    check(made.write(tmp_path, made.buffers()))


def test_sentences_are_true_of_applications_that_share_a_path(tmp_path: Path) -> None:
    """One run is alone, and another application ran beside the other one."""
    [alone] = made.large()
    both = [replace(alone, axes={**alone.axes, "beside_app": name}) for name in (None, "other")]
    check(made.write(tmp_path, both))


def test_sentences_are_true_of_udp_beside_tcp(tmp_path: Path) -> None:
    """Every second connection of one run is UDP."""
    directory = made.write(tmp_path, made.large())
    for path in directory.glob("tables/*/*/flows.parquet"):
        kind = pl.when(pl.col("connection") % 2 == 0).then(pl.lit("udp")).otherwise(pl.lit("tcp"))
        pl.read_parquet(path).with_columns(protocol=kind).write_parquet(path)
    check(directory)


@pytest.mark.parametrize(("slower", "rates"), [(0.1, (100, 20, None)), (0.0, (100, 20, 5))])
def test_sentences_are_true_of_pairs_of_rtt_and_rate(
    tmp_path: Path, slower: float, rates: tuple[float | None, ...]
) -> None:
    """One sweep gets slower with the RTT, and has a rate without a limit."""
    check(tiny.runs(tmp_path, [
        tiny.run(
            f"{rtt}-{rate}", baseline=(rtt, rate) == (1, 100), completion_s=8 + slower * rtt,
            rtt_asked_ns=rtt * tiny.MS, rtt_measured_ns=rtt * tiny.MS,
            rate_asked_bit_s=rate and rate * 1e6, rate_measured_bit_s=rate and rate * 1e6,
        )
        for rtt in (1, 4, 16, 64)
        for rate in rates
    ]))  # fmt: skip


@pytest.mark.parametrize("is_harsh", [False, True])
def test_sentences_are_true_of_an_axis_beside_rtt_and_rate(tmp_path: Path, is_harsh: bool) -> None:
    """One sweep has too few runs for an interval, a time beyond the scale, and a failed point."""
    slowest = 90.0 if is_harsh else 3.0
    times = {None: 2.0, 0.001: 2.2, 0.01: slowest}
    check(tiny.runs(tmp_path, [
        tiny.run(
            f"{loss}-{number}", baseline=loss is None, loss=loss, completion_s=time + 0.01 * number,
            status="failed" if is_harsh and loss == 0.001 else "valid",
        )
        for loss, time in times.items()
        for number in range(1 if is_harsh else 3)
    ]))  # fmt: skip


def test_sentences_are_true_of_runs_of_which_one_is_shorter_than_a_window(tmp_path: Path) -> None:
    ends = {"short": 500, "long": 5_000}
    tiny.runs(tmp_path, [
        tiny.run(name, baseline=True, repetition=number, end=tiny.T0 + end * tiny.MS)
        for number, (name, end) in enumerate(ends.items(), start=1)
    ])  # fmt: skip
    for name in ends:
        tiny.table(tmp_path, "captures", name, "pc3", [tiny.capture()])
        bins = tiny.bins("10.77.2.1", "10.77.1.1", dict.fromkeys(range(40), 125_000))
        tiny.table(tmp_path, "throughput", name, "pc3", bins)
    check(tmp_path)


def test_sentences_are_true_of_a_run_longer_than_every_window(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True, end=tiny.T0 + 600_000 * tiny.MS)])
    tiny.table(tmp_path, "captures", "r", "pc3", [tiny.capture()])
    tiny.table(
        tmp_path, "throughput", "r", "pc3", tiny.bins("10.77.2.1", "10.77.1.1", {500: 125_000})
    )
    check(tmp_path)


def test_sentences_are_true_of_addresses_of_no_site(tmp_path: Path) -> None:
    one_run(tmp_path, {"pc1": tiny.bins(PC1, PC3, {0: 10_000})})
    tiny.table(tmp_path, "flows", "r", "pc1", [
        tiny.flow(PC1, PC3), tiny.flow(PC1, "10.77.9.9", src_port=1)
    ])  # fmt: skip
    check(tmp_path)


@made.some(15)
@given(made.experiments())
def test_sentences_are_true_of_random_experiments(experiment: list[made.Run]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        directory = made.write(Path(folder), experiment)
        asked = check(directory)
        # The tables are made already, so `test_adds_up` needs fewer experiments of this kind.
        warehouse = asked.warehouse if asked else Warehouse(directory)
        assert [str(one) for one in contradictions(warehouse, figure_names())] == []


def test_every_condition_was_met_and_not_met() -> None:
    """Runs after the tests above, which meet the conditions."""
    if not SEEN:
        pytest.skip("the tests that print the sentences did not run")
    sentences: list[Sentence] = [one for one in SENTENCES if one.due]
    missing = [
        (one.query, one.pattern, SEEN[one.query, one.pattern])
        for one in sentences
        if SEEN[one.query, one.pattern] != {True, False}
    ]
    assert missing == []
