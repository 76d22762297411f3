"""What the verdict says about the lightpaths that carry an application's traffic."""

from __future__ import annotations

from typing import Any

import pytest

from flowsweep.render import verdict_lightpaths
from flowsweep.render.verdict import plain


def lightpath(app: str, number: int, peak: int, **changes: Any) -> dict[str, Any]:
    row = {
        "app": app, "problem": "", "site_a": "east", "site_b": "west", "is_baseline": True,
        "is_rate_assumed": False, "doubtful_runs": 0, "lightpath_mbit_s": 100.0,
        "p99_lightpaths": number, "peak_lightpaths": peak, "is_supply_limited": False,
        "capacity_mbit_s": None, "peak_mbit_s": 100.0 * peak, "p50_mbit_s": 10.0,
    }  # fmt: skip
    return row | changes


def lightpaths(*rows: dict[str, Any], has_sites: bool = True) -> str | None:
    labels = dict.fromkeys((row["app"], row["problem"]) for row in rows)
    sentence = verdict_lightpaths.sentence(
        rows, {key: key[0] for key in labels}, has_sites=has_sites
    )
    return sentence and plain(sentence)


def test_lightpaths_that_carry_all_are_reported_together() -> None:
    rows = [lightpath("lu", 1, 1), lightpath("lu", 0, 1, site_b="north"), lightpath("farm", 1, 1)]
    assert lightpaths(*rows) == (
        "At the baseline, 1 lightpath of 100 Mbit/s between any two sites carries all that lu and "
        "farm send."
    )


def test_pairs_of_sites_with_another_rate_are_named() -> None:
    """What carries one pair says nothing of another pair, whose links are slower."""
    rows = [
        lightpath("lu", 1, 1),
        lightpath("lu", 1, 2, site_b="north", lightpath_mbit_s=10.0),
        lightpath("lu", 0, 1, site_a="north", lightpath_mbit_s=10.0),
        lightpath("farm", 1, 1, site_b="north"),
    ]
    assert lightpaths(*rows) == (
        "At the baseline, 1 lightpath of 100 Mbit/s between east and west carries all that lu "
        "sends; 1 lightpath of 10 Mbit/s between east and north and between north and west carries "
        "what lu sends for 99 % of the time (2 at the peak); 1 lightpath of 100 Mbit/s between any "
        "two sites carries all that farm sends."
    )


def test_hosts_without_sites_are_not_called_sites() -> None:
    assert lightpaths(lightpath("lu", 1, 1), has_sites=False) == (
        "At the baseline, 1 lightpath of 100 Mbit/s between the hosts (no sites are known) carries "
        "all that lu sends."
    )


def test_lightpaths_that_a_peak_exceeds_are_reported_with_it() -> None:
    assert lightpaths(lightpath("lu", 2, 3, lightpath_mbit_s=10.0)) == (
        "At the baseline, 2 lightpaths of 10 Mbit/s between the sites carry what lu sends for 99 % "
        "of the time (3 at the peak)."
    )


def test_who_fills_the_links_might_use_more() -> None:
    rows = [lightpath("lu", 1, 1), lightpath("film", 2, 2, is_supply_limited=True)]
    assert lightpaths(*rows) == (
        "At the baseline, 1 lightpath of 100 Mbit/s between the sites carries all that lu sends; "
        "2 lightpaths of 100 Mbit/s between the sites carry what film sends for 99 % of the time, "
        "but the peak exceeds 80 % of the capacity: a faster path might carry more."
    )


def test_who_takes_all_that_the_links_have_has_no_need_that_is_known() -> None:
    bulk = {"capacity_mbit_s": 100.0, "p50_mbit_s": 98.0, "is_supply_limited": True}
    assert lightpaths(lightpath("iperf3", 2, 2, **bulk)) == (
        "At the baseline, iperf3 fills 1 lightpath of 100 Mbit/s between the sites, and a faster "
        "path might carry more."
    )


def test_links_that_carried_all_are_enough() -> None:
    """The verdict must not ask for two lightpaths where one carried all the traffic."""
    burst = {"is_supply_limited": True, "peak_mbit_s": 177.4}
    assert lightpaths(lightpath("lu", 2, 2, capacity_mbit_s=100.0, **burst)) == (
        "At the baseline, 1 lightpath of 100 Mbit/s between the sites carries all that lu sends, "
        "but in bursts of up to 177 Mbit/s, which queue before the link or are dropped there: a "
        "faster one might carry more."
    )
    farm = lightpath("farm", 2, 3, capacity_mbit_s=100.0, peak_mbit_s=231.4)
    assert lightpaths(lightpath("lu", 2, 2, capacity_mbit_s=100.0, **burst), farm) == (
        "At the baseline, 1 lightpath of 100 Mbit/s between the sites carries all that lu and farm "
        "send, but in bursts of up to 231 Mbit/s, which queue before the link or are dropped "
        "there: a faster one might carry more."
    )
    two = lightpaths(lightpath("lu", 2, 2, capacity_mbit_s=200.0, **burst))
    assert two.startswith(
        "At the baseline, 2 lightpaths of 100 Mbit/s between the sites carry what"
    )


@pytest.mark.parametrize(
    "changes", [{"is_baseline": False}, {"is_rate_assumed": True}, {"doubtful_runs": 1}]
)
def test_lightpaths_of_another_point_or_an_assumed_rate_are_not_reported(
    changes: dict[str, Any],
) -> None:
    assert lightpaths(lightpath("lu", 1, 1, **changes)) is None
