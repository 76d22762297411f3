"""Whether packets of an application cross between the sites, and what the report says if not."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny

from flowsweep.render import page
from flowsweep.warehouse import Warehouse

WEST, EAST = "10.77.1.1", "10.77.2.1"


@pytest.mark.parametrize(
    ("receiver", "crossing"), [("10.77.1.2", 0), (EAST, 20), ("192.0.2.1", 20)]
)
def test_what_crosses_between_sites_is_known_of_hosts_of_known_sites(
    tmp_path: Path, receiver: str, crossing: int
) -> None:
    """A program whose ranks did not find each other must not appear to need 0 Mbit/s."""
    hosts = [*tiny.HOSTS, {"name": "pc2", "site": "west", "address": "10.77.1.2"}]
    tiny.runs(tmp_path, [tiny.run(name, baseline=name == "a", hosts=hosts,
                                  rtt_asked_ns=(1 + 9 * (name != "a")) * tiny.MS)
                         for name in "ab"])  # fmt: skip
    for run in "ab":
        tiny.table(tmp_path, "captures", run, "pc1", [tiny.capture()])
        tiny.table(tmp_path, "flows", run, "pc1", [tiny.flow(WEST, receiver, packets=10)])
    (row,) = Warehouse(tmp_path).rows("requirement").rows(named=True)
    assert row["crossing_packets"] == crossing
    is_stated = "no packet crossed between the sites" in page.build(tmp_path).first
    assert is_stated == (crossing == 0)


def test_captures_without_hosts_in_two_sites_cross_nothing_that_is_known(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("a", baseline=True, hosts=tiny.HOSTS[:1])])
    tiny.table(tmp_path, "captures", "a", "pc1", [tiny.capture()])
    tiny.table(tmp_path, "flows", "a", "pc1", [tiny.flow(WEST, EAST)])
    (row,) = Warehouse(tmp_path).rows("requirement").rows(named=True)
    assert row["crossing_packets"] is None
