"""Queries on transfers and messages, reported by the application or seen as connections."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiny
from grid import HOSTS, PC1, PC3, SPANS, make_record, rows, with_transfers

from flowsweep import numbers
from flowsweep.render import page
from flowsweep.render.figure import Context
from flowsweep.render.figures import transfer_errors
from flowsweep.warehouse import Warehouse


def test_transfers_under_way_agree_with_counting(tmp_path: Path) -> None:
    with_transfers(tmp_path)
    for role, place, chosen in (
        ("receiving", "east", [s for s in SPANS if s[1] == 2]),
        ("receiving", "north", [s for s in SPANS if s[1] == 3]),
        ("sending", "pc1", SPANS),
    ):
        found = rows(tmp_path, "transfer_activity", role=role, place=place)
        assert len(found) == 100
        assert {(row["transfers"], row["source"]) for row in found} == {
            (len(chosen), "application")
        }
        for number, row in enumerate(found):
            begin, end = number / 10, (number + 1) / 10
            assert (row["start_s"], row["end_s"]) == pytest.approx((begin, end))
            overlap = sum(max(min(s[4], end) - max(s[3], begin), 0) for s in chosen)
            assert row["mean_active"] == pytest.approx(overlap / 0.1, abs=1e-4)
            # the number is greatest at the start of the step or where a transfer begins
            moments = [begin + 1e-9, *(s[3] for s in chosen if begin <= s[3] < end - 1e-9)]
            most = max(sum(s[3] <= t < s[4] for s in chosen) for t in moments)
            assert row["max_active"] == most
    assert rows(tmp_path, "transfer_activity", role="sending", place="pc3") == []


def test_a_row_for_each_rank_agrees_with_counting(tmp_path: Path) -> None:
    with_transfers(tmp_path)
    assert {
        (row["site"], row["host"], row["rank"], row["transfers"])
        for row in rows(tmp_path, "transfer_raster")
    } == {("east", "pc3", 2, 3 + 1), ("north", "pc4", 3, 2)}
    for rank in (2, 3):
        found = rows(tmp_path, "transfer_raster", rank=rank)
        assert len(found) == 100
        chosen = [span for span in SPANS if span[1] == rank]
        for number, row in enumerate(found):
            begin, end = number / 10, (number + 1) / 10
            overlap = sum(max(min(s[4], end) - max(s[3], begin), 0) for s in chosen)
            assert row["mean_active"] == pytest.approx(overlap / 0.1, abs=1e-4)


def test_transfer_times_by_class_of_size(tmp_path: Path) -> None:
    with_transfers(tmp_path)
    found = rows(tmp_path, "transfer_times", from_site="west", to_site="east")
    assert [(row["low_bytes"], row["high_bytes"], row["transfers"]) for row in found] == [
        (1_000_000, 2_000_000, 2), (2_000_000, 5_000_000, 2)
    ]  # fmt: skip
    small, large = found
    assert (small["duration_s_min"], small["duration_s_max"], small["bytes"]) == (
        0.5, 2.0, 2_500_000
    )  # fmt: skip
    # 1.5 MB in 0.5 s and 1 MB in 2 s
    assert (small["goodput_mbit_s_p10"], small["goodput_mbit_s_p90"]) == (4.0, 24.0)
    # 2 MB in 2 s; a transfer that took no time has no goodput
    assert (large["goodput_mbit_s_p10"], large["goodput_mbit_s_p90"]) == (8.0, 8.0)
    assert large["duration_s_min"] == 0.0
    (row,) = rows(tmp_path, "transfer_times", to_site="north", low_bytes=500)
    assert (row["high_bytes"], row["goodput_mbit_s_p50"]) == (1000, round(700 * 8e-6 / 3, 4))


def test_without_a_record_connections_with_payload_are_transfers(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True, hosts=HOSTS)])
    there = {"first_time": tiny.T0 + 100 * tiny.MS, "last_time": tiny.T0 + 350 * tiny.MS}
    silent = {"connection": 1, "src_port": 7, "payload_bytes": 0}
    back = {"direction": "backward", "src_port": 2000, "dst_port": 1000, "payload_bytes": 40}
    for host in ("pc1", "pc3"):
        tiny.table(tmp_path, "captures", "r", host, [tiny.capture()])
        tiny.table(tmp_path, "flows", "r", host, [
            tiny.flow(PC1, PC3, payload_bytes=25_000, **there),
            tiny.flow(PC3, PC1, **there | back),
            tiny.flow(PC1, PC3, **silent),
        ])  # fmt: skip
    (row,) = rows(tmp_path, "transfer_times")
    assert (row["source"], row["transfers"], row["bytes"]) == ("connections", 1, 25_000)
    assert (row["duration_s_p50"], row["goodput_mbit_s_p50"]) == (0.25, 0.8)
    assert rows(tmp_path, "transfer_raster") == []
    found = rows(tmp_path, "transfer_activity", role="sending")
    # the run lasts 1 s: hundredths 10 to 34 are busy
    assert [n for n, row in enumerate(found) if row["mean_active"]] == list(range(10, 35))
    assert {(row["place"], row["transfers"]) for row in found} == {("pc1", 1)}


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes three runs of every cell of the paper's tables, the middle one 10 % too long."""
    runs = []
    folder = tmp_path_factory.mktemp("paper")
    tiny.runs(folder, [tiny.run("r")])
    cells = Warehouse(folder).select("select * from published_messages").rows(named=True)
    assert len(cells) == 64
    for number, cell in enumerate(cells):
        for repetition, factor in enumerate((0.5, 1.1, 3.0)):
            seconds = factor * cell["published_s"]
            size = {"message_bytes": int(cell["message_mb"]) << 20, "mean_s": seconds}
            runs.append(tiny.run(
                f"{number:02}-{repetition}", repetition=repetition, app="pingpong",
                rtt_asked_ns=round((10.1 + cell["latency_ms"]) * 1e6),
                rate_asked_bit_s=3e8, loss=cell["loss_percent"] / 100, buffer_bytes=110_592,
                jitter_ns=round(cell["jitter_ms"] * 1e6),
                json=make_record(answer={"sizes": [size]}),
            ))  # fmt: skip
    return tiny.runs(folder, runs)


def test_the_transfer_table_of_the_paper(paper: Path) -> None:
    warehouse = Warehouse(paper)
    found = warehouse.rows("transfer_table")
    keys = ["message_mb", "loss_percent", "jitter_ms", "latency_ms", "transfer_s"]
    assert found.columns[:2] + found.columns[3:5] == keys[:2] + keys[3:]
    expected = {
        row[:4]: pytest.approx(1.1 * row[4], abs=1e-6)
        for row in warehouse.select("select * from published_messages").rows()
    }
    assert {row[:4]: row[4] for row in found.select(keys).rows()} == expected
    assert set(found["runs"]) == {3}
    low = found["transfer_s_min"] / found["transfer_s"]
    assert low.to_list() == pytest.approx([0.5 / 1.1] * found.height, abs=1e-4)


def test_each_cell_of_the_paper_has_its_error(paper: Path) -> None:
    found = rows(paper, "transfer_errors")
    assert len(found) == 64
    assert {row["error"] for row in found} == {0.1}
    assert sum(row["is_chosen_on"] for row in found) == 5
    (row,) = [
        row for row in found
        if (row["message_mb"], row["loss_percent"], row["latency_ms"]) == (4, 1, 16)
    ]  # fmt: skip
    # halfway to the cell without loss: 1.1 * (4.956 + 1.789) / 2 in place of 4.956
    assert row["one_way_error"] == pytest.approx(1.1 * (4.956 + 1.789) / 2 / 4.956 - 1, abs=1e-4)
    # 4 MB at 300 Mbit/s take 0.112 s, or 0.168 s at 21 ms with 524288 bytes in flight
    stated = {
        row["latency_ms"]: row["stated_s"] for row in found
        if (row["message_mb"], row["loss_percent"], row["jitter_ms"]) == (4, 0, 0)
    }  # fmt: skip
    assert stated == {**dict.fromkeys((0, 2, 4, 8), 0.111848), 16: 0.168}
    assert sum(row["stated_s"] is not None for row in found) == 10
    html = page.build(paper).html.replace("\u00a0", " ")
    assert "-91 % to -84 %".replace("-", numbers.MINUS) in html
    assert (
        "Beside the published times: of 59 cells that nothing was fitted to, the median error is "
        "10 %, the largest 10 %"
    ) in html


@pytest.mark.parametrize("problems", [["4 MiB", "16 MiB"], ["4 MiB", "16 MiB", "16 MiB twice"]])
def test_a_problem_has_a_column_where_the_size_does_not_tell_it(
    tmp_path: Path, problems: list[str]
) -> None:
    sizes = [{"message_bytes": int(one.split()[0]) << 20, "mean_s": 1.0} for one in problems]
    warehouse = Warehouse(tiny.runs(tmp_path, [
        tiny.run(name, problem=json.dumps({"message": name}), rate_asked_bit_s=3e8,
                 rtt_asked_ns=round(10.1 * tiny.MS), json=make_record(answer={"sizes": [size]}))
        for name, size in zip(problems, sizes, strict=True)
    ]))  # fmt: skip
    drawn = transfer_errors.draw(Context(warehouse, page._series(warehouse, "")))
    assert (">problem<" in str(drawn)) == (len(problems) > 2)


def test_the_set_up_nearest_to_the_paper_is_first(tmp_path: Path) -> None:
    """Two set-ups have a cell with loss; one of them also has cells with jitter."""
    measured = [
        # app, schedule, loss in %, jitter and added latency in ms, seconds
        ("plain", None, 1, 0, 16, 4.956 * 1.4), ("plain", None, 0, 0, 0, 9.0),
        ("plain", "overtaking", 0, 0.8, 16, 1.872 * 0.8),
        ("plain", None, 0, 0.8, 16, 1.872 * 2), ("plain", None, 0, 0.8, 4, 1.117 * 1.5),
        ("sackless", None, 1, 0, 16, 4.956 * 0.9), ("sackless", None, 0, 0, 0, 9.0),
    ]  # fmt: skip
    runs = [
        tiny.run(
            f"r{number}", app=app, schedule=schedule, loss=loss / 100, rate_asked_bit_s=3e8,
            rtt_asked_ns=round((10.1 + latency) * 1e6), jitter_ns=round(jitter * 1e6),
            json=make_record(answer={"sizes": [{"message_bytes": 4 << 20, "mean_s": seconds}]}),
        )
        for number, (app, schedule, loss, jitter, latency, seconds) in enumerate(measured)
    ]  # fmt: skip
    found = [
        (
            row["disturbed_by"], row["place"], row["app"], row["schedule"], row["cells"],
            row["mean_error"], row["mean_distance"], row["lowest_error"], row["highest_error"],
        )
        for row in rows(tiny.runs(tmp_path, runs), "transfer_setups")
    ]  # fmt: skip
    assert found == [
        ("loss", 1, "sackless", None, 1, -0.1, 0.1, -0.1, -0.1),
        ("loss", 2, "plain", None, 1, 0.4, 0.4, 0.4, 0.4),
        ("jitter", 1, "plain", "overtaking", 1, -0.2, 0.2, -0.2, -0.2),
        ("jitter", 2, "plain", None, 2, 0.75, 0.75, 0.5, 1.0),
    ]


def test_no_other_link_is_compared_with_the_paper(tmp_path: Path) -> None:
    size = {"message_bytes": 4 << 20, "mean_s": 0.703}
    tiny.runs(tmp_path, [tiny.run("r", json=make_record(answer={"sizes": [size]}))])
    assert len(rows(tmp_path, "transfer_table")) == 1
    assert rows(tmp_path, "transfer_errors") == []


def test_jitter_without_latency_is_a_share_of_nothing(tmp_path: Path) -> None:
    size = {"message_bytes": 1 << 20, "mean_s": 1.0}
    tiny.runs(
        tmp_path, [tiny.run("r", jitter_ns=tiny.MS, json=make_record(answer={"sizes": [size]}))]
    )
    (row,) = rows(tmp_path, "transfer_table")
    assert (row["latency_ms"], row["jitter_fraction"], row["jitter_ms"]) == (0.0, None, 1.0)


def test_frames_a_second_are_those_between_the_first_and_the_last(full: Path) -> None:
    """Three frames end at 0.1, 0.35 and 0.6 s: two intervals in half a second."""
    (row,) = Warehouse(full).rows("frame_rates").rows(named=True)
    assert (row["app"], row["frames"], row["frame_bytes"]) == ("film", 3, 1000)
    assert row["frames_s"] == row["frames_s_min"] == row["frames_s_max"] == pytest.approx(4)
    assert row["goodput_mbit_s"] == pytest.approx(3 * 8e-3 / 0.5)
