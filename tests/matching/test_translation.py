"""Addresses that a router translates between two captures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from spoiled import DEMO, copy_run, translate

from flowsweep.matching import hosts, tables

if TYPE_CHECKING:
    from flowsweep._parsers import MatchSummary

RUN = DEMO / "nqueens-rtt_64ms-r1"
PC1, PC3, PC4 = "10.77.1.1", "10.77.2.1", "10.77.2.2"
PUBLIC, FIREWALL = "203.0.113.1", "198.51.100.7"
#: Replaced addresses, by the host in whose capture they are replaced.
Translated = Mapping[str, Mapping[str, str]]


@pytest.fixture
def matched(tmp_path: Path) -> Callable[[Translated], tuple[MatchSummary, list[pl.DataFrame]]]:
    """Matches the run with replaced addresses in some captures; returns summary and tables."""

    def match(translated: Translated) -> tuple[MatchSummary, list[pl.DataFrame]]:
        run = copy_run(RUN, tmp_path / f"run-{len(list(tmp_path.iterdir()))}")
        for host in ("pc1", "pc2", "pc3", "pc4"):
            translate(run, host, translated.get(host, {}))
        output = run.with_name(f"{run.name}-matched")
        summary = tables.write(hosts.find([run], {}), output)
        return summary, [pl.read_parquet(output / f"{name}.parquet") for name in tables.TABLES]

    return match


def _found(summary: MatchSummary) -> list[tuple[Any, ...]]:
    return [(found["host"], found["seen"], found["own"]) for found in summary["translations"]]


@pytest.mark.parametrize(
    "translated",
    [
        {"pc3": {PC1: PUBLIC}, "pc4": {PC1: PUBLIC}},
        {"pc1": {PC3: FIREWALL}},
        {"pc1": {PC3: FIREWALL, PC4: "198.51.100.8"}, "pc3": {PC1: PUBLIC}},
    ],
    ids=["client", "server", "both"],
)
def test_a_translated_address_is_followed(translated: Translated, matched: Callable) -> None:
    plain, expected = matched({})
    summary, rows = matched(translated)
    assert _found(plain) == []
    assert _found(summary) == sorted(
        (host, seen, own) for host, all_of in translated.items() for own, seen in all_of.items()
    )
    for found, wanted in zip(rows, expected, strict=True):
        assert_frame_equal(found, wanted)
    assert summary["paths"] == plain["paths"]


def test_an_address_of_several_hosts_is_followed_by_its_ports(matched: Callable) -> None:
    summary, rows = matched({"pc1": {PC3: FIREWALL, PC4: FIREWALL}})
    plain, expected = matched({})
    assert _found(summary) == [("pc1", FIREWALL, PC3), ("pc1", FIREWALL, PC4)]
    for found, wanted in zip(rows, expected, strict=True):
        assert_frame_equal(found, wanted)
    assert summary["paths"] == plain["paths"]


def test_the_command_says_it(tmp_path: Path, match: Callable) -> None:
    run = copy_run(RUN, tmp_path / "run")
    translate(run, "pc3", {PC1: PUBLIC})
    done = match(run)
    assert done.returncode == 0, done.stderr
    assert f"{PUBLIC} in the capture of pc3 is {PC1}: translated (NAT)\n" in done.stdout
