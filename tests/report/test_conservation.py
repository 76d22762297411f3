"""Packets between the sites: what the emulator's counters explain, and what they do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tiny

from flowsweep.render import page
from flowsweep.warehouse import Warehouse, script

WEST, EAST = "10.77.1.1", "10.77.2.1"
LINK = {"from": "west", "to": "east", "received": 100, "delivered": 100, "in_flight": 0}


def conserved(
    directory: Path, link: dict[str, Any], sent: int, arrived: int, **more: Any
) -> dict[str, Any]:
    """Returns the row of a run with one link, whose captures have so many packets."""
    record = {"emulator": {"links": [LINK | link], **more}}
    tiny.runs(directory, [tiny.run("r", json=json.dumps(record))])
    tiny.table(directory, "flows", "r", "pc1", [tiny.flow(WEST, EAST, packets=sent)])
    tiny.table(directory, "flows", "r", "pc3", [tiny.flow(WEST, EAST, packets=arrived)])
    (row,) = Warehouse(directory).select("from conservation").rows(named=True)
    return row


@pytest.mark.parametrize(
    "cause", ["queue", "codel", "loss", "uplink", "downlink", "send", "oversize"]
)
def test_drops_of_every_cause_explain_what_is_missing(tmp_path: Path, cause: str) -> None:
    link = {"delivered": 93, f"dropped_{cause}": 7, f"dropped_{cause}_bytes": 9_000}
    row = conserved(tmp_path, link, sent=100, arrived=93)
    assert (row["dropped_frames"], row["missing_packets"]) == (7, 7)
    assert (row["unexplained_packets"], row["unexplained_frames"]) == (0, 0)


def test_duplicates_explain_packets_that_arrive_and_were_not_sent(tmp_path: Path) -> None:
    link = {"duplicated": 6, "delivered": 104, "dropped_loss": 2, "dropped_queue": 0}
    row = conserved(tmp_path, link, sent=100, arrived=104)
    assert (row["unexplained_packets"], row["unexplained_frames"]) == (0, 0)


def test_all_kinds_together(tmp_path: Path) -> None:
    causes = ("queue", "codel", "loss", "uplink", "downlink", "send", "oversize")
    drops = {f"dropped_{cause}": place + 1 for place, cause in enumerate(causes)}
    link = {"duplicated": 9, "delivered": 100 + 9 - 28 - 2, "in_flight": 2, **drops}
    row = conserved(tmp_path, link, sent=100, arrived=79)
    assert (row["dropped_frames"], row["unexplained_packets"]) == (28, 0)
    assert row["unexplained_frames"] == 0


@pytest.mark.parametrize(("arrived", "unexplained"), [(90, 3), (93, 0), (95, -2)])
def test_what_the_counters_do_not_explain_is_reported(
    tmp_path: Path, arrived: int, unexplained: int
) -> None:
    row = conserved(tmp_path, {"delivered": 93, "dropped_loss": 7}, sent=100, arrived=arrived)
    assert row["unexplained_packets"] == unexplained


def test_a_drop_before_the_emulator_is_explained(tmp_path: Path) -> None:
    ports = [{"name": "west", "kernel_dropped": 4}]
    link = {"received": 96, "delivered": 96}
    row = conserved(tmp_path, link, sent=100, arrived=96, ports=ports)
    assert (row["dropped_before_frames"], row["unexplained_packets"]) == (4, 0)


def test_frames_that_a_capture_filter_left_out_may_be_those_dropped(tmp_path: Path) -> None:
    link = {"received": 110, "delivered": 105, "dropped_loss": 5}
    row = conserved(tmp_path, link, sent=100, arrived=98)
    assert (row["uncaptured_frames"], row["unexplained_packets"]) == (10, 0)
    # more are missing than were dropped, whichever they were
    row = conserved(tmp_path, link, sent=100, arrived=93)
    assert row["unexplained_packets"] == 2


def test_nothing_is_reported_of_a_network_without_counters(tmp_path: Path) -> None:
    """On real machines, or in anybody's captures, nobody counted the drops in between."""
    record = {"links": [{"between": ["west", "east"]}]}
    tiny.runs(tmp_path, [tiny.run("r", json=json.dumps(record))])
    for host, packets in (("pc1", 100), ("pc3", 90)):
        tiny.table(tmp_path, "captures", "r", host, [tiny.capture()])
        tiny.table(tmp_path, "flows", "r", host, [tiny.flow(WEST, EAST, packets=packets)])
    warehouse = Warehouse(tmp_path)
    (row,) = warehouse.select("from conservation").rows(named=True)
    assert (row["missing_packets"], row["unexplained_packets"]) == (10, None)
    assert set(warehouse.rows("run_quality")["unexplained_packets"]) == {None}
    assert "every packet sent between the sites arrived" not in page.build(tmp_path).html.replace(
        "\u00a0", " "
    )


def test_nothing_is_reported_where_one_end_was_not_captured(tmp_path: Path) -> None:
    link = {"delivered": 93, "dropped_loss": 7}
    tiny.runs(tmp_path, [tiny.run("r", json=json.dumps({"emulator": {"links": [LINK | link]}}))])
    tiny.table(tmp_path, "flows", "r", "pc1", [tiny.flow(WEST, EAST, packets=100)])
    (row,) = Warehouse(tmp_path).select("from conservation").rows(named=True)
    assert (row["dropped_frames"], row["unexplained_packets"]) == (7, None)


def test_the_quality_table_adds_up_the_directions(tmp_path: Path) -> None:
    conserved(tmp_path, {"delivered": 90, "dropped_loss": 7}, sent=100, arrived=90)
    tiny.table(tmp_path, "captures", "r", "pc1", [tiny.capture()])
    (row,) = Warehouse(tmp_path).rows("run_quality").rows(named=True)
    assert (row["unexplained_packets"], row["unexplained_frames"]) == (3, 3)
    html = page.build(tmp_path).html.replace("\u00a0", " ")
    assert "in 1 of 1 run some packets sent between the sites neither arrived nor" in html


def test_the_script_of_the_quality_table_has_the_fates_as_values(tmp_path: Path) -> None:
    conserved(tmp_path, {"delivered": 93, "dropped_codel": 7}, sent=100, arrived=93)
    text = script.write_script(Warehouse(tmp_path), "run_quality")
    assert "('r', 'west', 'east', 100, 0, 93, 7, 0, 0, 0)" in text
