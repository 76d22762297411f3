"""Captures of one run overlap in time and share an address."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsweep.runs import concurrent

START = datetime(2026, 1, 1, tzinfo=UTC)


def span(first: float, last: float) -> concurrent.Span:
    return START + timedelta(hours=first), START + timedelta(hours=last)


def test_captures_that_overlap_by_chance_are_runs_of_their_own() -> None:
    """One capture was merged from packets of several years."""
    spans = {"merged": span(0, 90_000), "a": span(5, 6), "b": span(5, 7), "later": span(8, 9)}
    addresses = {
        "merged": ["192.0.2.1"],
        "a": ["10.0.0.1", "10.0.0.2"],
        "b": ["10.0.0.2", "10.0.0.1"],
        "later": ["10.0.0.1"],
    }
    assert concurrent.group(spans, addresses) == [["merged"], ["a", "b"], ["later"]]


def test_hosts_are_of_one_run_through_a_third_one() -> None:
    spans = {"west": span(0, 2), "east": span(1, 3), "hub": span(0, 9)}
    addresses = {"west": ["1", "2"], "east": ["3", "4"], "hub": ["2", "3"]}
    assert concurrent.group(spans, addresses) == [["west", "hub", "east"]]
    assert len(concurrent.group({**spans, "hub": span(4, 9)}, addresses)) == 3


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(0, 6), st.sets(st.sampled_from("abcd"))),
        max_size=8,
    )
)
def test_groups_are_the_components_of_pairs(hosts: list[tuple[int, int, set[str]]]) -> None:
    spans = {str(n): span(first, first + more) for n, (first, more, _) in enumerate(hosts)}
    addresses = {str(n): found for n, (_, _, found) in enumerate(hosts)}
    components = [{host} for host in spans]
    for one, other in combinations(spans, 2):
        (first, last), (begin, end) = spans[one], spans[other]
        if addresses[one] & addresses[other] and first <= end and begin <= last:
            joined = [part for part in components if part & {one, other}]
            components = [part for part in components if part not in joined]
            components.append(set().union(*joined))
    found = concurrent.group(spans, addresses)
    assert {frozenset(part) for part in found} == {frozenset(part) for part in components}


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ([("10.0.0.1", "224.0.0.251"), ("127.0.0.1", "127.0.0.1")], {"10.0.0.1"}),
        ([("127.0.0.1", "127.0.0.1")], {"127.0.0.1"}),
        ([], set()),
    ],
)
def test_addresses_that_every_host_has_are_left_out(
    ends: list[tuple[str, str]], expected: set[str], tmp_path: Path
) -> None:
    schema = {"src_ip": pl.String, "dst_ip": pl.String}
    pl.DataFrame(ends, schema, orient="row").write_parquet(tmp_path / "flows.parquet")
    assert set(concurrent.read_addresses(tmp_path)) == expected
