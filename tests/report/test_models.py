"""The models on tables of a few rows: which runs are the baseline, whose capture is used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiny

from flowsweep import numbers
from flowsweep.analysis import adds_up
from flowsweep.errors import FlowsweepError
from flowsweep.render import page
from flowsweep.warehouse import Warehouse, figure_names

WEST, EAST = "10.77.1.1", "10.77.2.1"


def rows(directory: Path, model: str) -> list[dict[str, object]]:
    return Warehouse(directory).select(f"select * from {model} order by all").rows(named=True)


def test_flagged_runs_are_the_baseline_even_if_a_milder_point_was_tried(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [
        tiny.run("a", baseline=True, rtt_asked_ns=4 * tiny.MS, completion_s=2.0),
        tiny.run("b", rtt_asked_ns=1 * tiny.MS),
    ])  # fmt: skip
    (baseline,) = rows(tmp_path, "baselines")
    assert (baseline["rtt_asked_ms"], baseline["completion_s"]) == (4.0, 2.0)


def test_without_a_flag_the_mildest_point_is_the_baseline(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [
        tiny.run("a", rtt_asked_ns=1 * tiny.MS, rate_asked_bit_s=1e7),
        tiny.run("b", rtt_asked_ns=1 * tiny.MS, rate_asked_bit_s=1e8),
        tiny.run("c", rtt_asked_ns=9 * tiny.MS, rate_asked_bit_s=1e9),
    ])  # fmt: skip
    found = {row["run"]: row["is_baseline"] for row in rows(tmp_path, "runs")}
    assert found == {"a": False, "b": True, "c": False}


def test_a_hand_written_record_with_only_an_axis_and_a_time_is_enough(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [
        {"run": "near", "rtt_asked_ns": 1 * tiny.MS, "completion_s": 10.0},
        {"run": "far", "rtt_asked_ns": 50 * tiny.MS, "completion_s": 12.0},
    ])  # fmt: skip
    points = Warehouse(tmp_path).rows("completion_by_rtt").rows(named=True)
    assert [(row["rtt_ms"], row["slowdown"]) for row in points] == [(1.0, 1.0), (50.0, 1.2)]


def test_warm_up_and_invalid_runs_never_enter_a_median(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [
        tiny.run("w", baseline=True, warmup=True, completion_s=99.0),
        tiny.run("a", baseline=True, completion_s=1.0),
        tiny.run("b", baseline=True, completion_s=3.0),
        tiny.run("c", baseline=True, completion_s=50.0, status="invalid", reason="late"),
        tiny.run("d", baseline=True, completion_s=None, status="failed", reason="timeout"),
        tiny.run("e", rtt_asked_ns=4 * tiny.MS, completion_s=4.0),
    ])  # fmt: skip
    (baseline,) = rows(tmp_path, "baselines")
    assert (baseline["completion_s"], baseline["runs_used"]) == (2.0, 2)
    mild, hard = Warehouse(tmp_path).rows("completion_by_rtt").rows(named=True)
    assert (mild["runs_used"], mild["runs_left_out"]) == (2, 2)
    assert mild["left_out_because"] == "late; timeout"
    assert hard["slowdown"] == 2.0


def test_a_line_keeps_the_other_axes_at_the_baseline(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [
        tiny.run("base", baseline=True),
        tiny.run("rtt", rtt_asked_ns=4 * tiny.MS),
        tiny.run("rate", rate_asked_bit_s=1e7),
        tiny.run("both", rtt_asked_ns=4 * tiny.MS, rate_asked_bit_s=1e7),
    ])  # fmt: skip
    found = {(row["axis"], row["run"]) for row in rows(tmp_path, "sweep_runs")}
    assert found == {("rtt", "base"), ("rtt", "rtt"), ("rate", "base"), ("rate", "rate")}


def test_a_queue_that_follows_from_the_rate_is_no_axis(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [
        tiny.run("base", baseline=True, queue_bytes=1000),
        tiny.run("slow", rate_asked_bit_s=1e7, queue_bytes=100),
    ])  # fmt: skip
    assert {row["run"] for row in rows(tmp_path, "sweep_runs")} == {"base", "slow"}


def test_a_queue_that_is_varied_makes_no_point_of_another_axis(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [
        tiny.run("base", baseline=True, queue_bytes=1000),
        tiny.run("deep", queue_bytes=9000),
        tiny.run("slow", rate_asked_bit_s=1e7, queue_bytes=1000),
    ])  # fmt: skip
    assert {row["run"] for row in rows(tmp_path, "sweep_runs")} == {"base", "slow"}


def test_the_axis_carries_the_median_of_what_was_measured(tmp_path: Path) -> None:
    far = {"rtt_asked_ns": 16 * tiny.MS}
    tiny.runs(tmp_path, [
        tiny.run("base", baseline=True),
        tiny.run("a", **far, rtt_measured_ns=16_100_000),
        tiny.run("b", **far, rtt_measured_ns=16_300_000),
        tiny.run("c", **far, rtt_measured_ns=16_200_000),
    ])  # fmt: skip
    points = Warehouse(tmp_path).rows("completion_by_rtt")
    assert points["rtt_ms"].to_list() == [1.0, 16.2]
    assert points["rtt_asked_ms"].to_list() == [1.0, 16.0]


def test_a_flow_is_taken_from_the_capture_of_its_sender(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r")])
    for host, there, back in (("pc1", 11, 21), ("pc3", 12, 22)):
        tiny.table(tmp_path, "flows", "r", host, [
            tiny.flow(WEST, EAST, packets=there),
            tiny.flow(EAST, WEST, direction="backward", src_port=2000, dst_port=1000, packets=back),
        ])  # fmt: skip
    counted = [row for row in rows(tmp_path, "flows") if row["is_counted"]]
    assert {(row["sender"], row["host"], row["packets"]) for row in counted} == {
        ("pc1", "pc1", 11),
        ("pc3", "pc3", 22),
    }


def test_a_flow_whose_sender_was_not_captured_is_taken_from_the_receiver(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r")])
    tiny.table(tmp_path, "flows", "r", "pc3", [tiny.flow(WEST, EAST)])
    (row,) = rows(tmp_path, "flows")
    assert (row["is_counted"], row["is_at_sender"], row["is_at_receiver"]) == (True, False, True)


def test_the_path_is_between_the_sites_or_everything_where_there_is_one(tmp_path: Path) -> None:
    near = [{"name": "pc2", "site": "east", "address": "10.77.2.2"}]
    tiny.runs(tmp_path, [
        tiny.run("two", hosts=tiny.HOSTS + near), tiny.run("one", hosts=tiny.HOSTS[1:] + near)
    ])  # fmt: skip
    inside = tiny.flow(EAST, "10.77.2.2")
    tiny.table(tmp_path, "flows", "two", "pc3", [
        inside, tiny.flow(EAST, WEST, connection=1, src_port=9)
    ])  # fmt: skip
    tiny.table(tmp_path, "flows", "one", "pc3", [inside])
    found = {(row["run"], row["dst_ip"]): row["is_on_path"] for row in rows(tmp_path, "flows")}
    assert found == {("two", "10.77.2.2"): False, ("two", WEST): True, ("one", "10.77.2.2"): True}


def test_a_message_is_taken_from_the_capture_of_its_sender(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r")])
    # the two hosts number the connection differently
    for host, connection, size in (("pc1", 4, 100), ("pc3", 0, 99)):
        key = {"connection": connection}
        tiny.table(tmp_path, "flows", "r", host, [tiny.flow(WEST, EAST, **key)])
        tiny.table(tmp_path, "messages", "r", host, [tiny.message(size, **key)])
    (row,) = rows(tmp_path, "messages")
    assert (row["host"], row["sender"], row["receiver"], row["bytes"]) == ("pc1", "pc1", "pc3", 100)
    assert (row["first_ns"], row["is_at_sender"]) == (tiny.T0, True)


def test_the_shown_host_is_the_first_of_the_second_site(tmp_path: Path) -> None:
    hosts = [
        {"name": name, "site": site, "address": f"10.0.0.{number}"}
        for number, (name, site) in enumerate(
            [("pc1", "west"), ("pc2", "west"), ("pc3", "east"), ("pc4", "east")]
        )
    ]
    tiny.runs(tmp_path, [tiny.run("r", hosts=hosts), tiny.run("s", hosts=hosts[:2])])
    for run, host in (("r", 0), ("r", 2), ("r", 3), ("s", 0), ("s", 1)):
        flow = tiny.flow(f"10.0.0.{host}", "192.0.2.1", wire_bytes=1000 + host)
        tiny.table(tmp_path, "flows", run, f"pc{host + 1}", [flow])
    # a run without that host shows the host with the most traffic over all runs
    shown = {str(row["run"]): row["host"] for row in rows(tmp_path, "shown_hosts")}
    assert shown == {"r": "pc3", "s": "pc1"}


def test_runs_with_other_hosts_each_show_their_own(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [
        tiny.run(run, hosts=None, baseline=run == "a", rtt_asked_ns=(1 + (run == "b")) * tiny.MS)
        for run in "ab"
    ])  # fmt: skip
    for run, host in (("a", "alpha"), ("b", "beta")):
        tiny.table(tmp_path, "captures", run, host, [tiny.capture()])
        tiny.table(tmp_path, "flows", run, host, [tiny.flow(WEST, EAST, packets=20)])
        tiny.table(tmp_path, "throughput", run, host, tiny.bins(WEST, EAST, {1: 500, 7: 500}))
    warehouse = Warehouse(tmp_path)
    assert warehouse.rows("throughput_series")["host"].unique().to_list() == ["alpha"]
    totals = warehouse.rows("totals").rows(named=True)
    assert [(row["host"], row["out_mb"]) for row in totals] == [("alpha", 0.01), ("beta", 0.01)]
    made = page.build(tmp_path)
    html, first = made.html.replace("\u00a0", " "), made.first
    assert "hold no packet" not in html + first
    assert "into the host shown" in html


def test_what_is_sent_again_is_no_other_data(tmp_path: Path) -> None:
    """Retransmissions on a lossy link must not appear as other data of the application."""
    tiny.runs(tmp_path, [
        tiny.run("a", baseline=True), tiny.run("b", rtt_asked_ns=9 * tiny.MS),
        tiny.run("c", rtt_asked_ns=99 * tiny.MS),
    ])  # fmt: skip
    again = {"retransmitted_bytes": 3_001, "syn_packets": 2, "wire_bytes": 14_000}
    for run, changes in (
        ("a", {}), ("b", again | {"payload_bytes": 12_000}), ("c", {"payload_bytes": 12_000})
    ):  # fmt: skip
        tiny.table(tmp_path, "flows", run, "pc1", [tiny.flow(WEST, EAST, **changes)])
    totals = Warehouse(tmp_path).rows("totals")
    assert totals["bytes_change"].to_list() == [0, 0.4, 0]
    assert totals["data_change"].to_list() == [0, 0, 0.3333]
    html = page.build(tmp_path).html.replace("\u00a0", " ")
    assert "<b>+33 %</b>" in html
    assert "<b>+40 %</b>" not in html


@pytest.mark.parametrize("packets", [0, 1724])
def test_captures_hold_no_packet_only_where_they_do(tmp_path: Path, packets: int) -> None:
    """Runs last 3 ms, and any packets lie in a bin after their end."""
    end = tiny.T0 + 3 * tiny.MS
    runs = [
        tiny.run(f"{point}{number}", baseline=point == "a", end=end, completion_s=0.003,
                 rtt_asked_ns=(1 + (point == "b")) * tiny.MS)
        for point in "ab" for number in range(3)
    ]  # fmt: skip
    tiny.runs(tmp_path, runs)
    for run in runs:
        tiny.table(tmp_path, "captures", run["run"], "pc3", [tiny.capture(packets=packets)])
        if packets:
            tiny.table(tmp_path, "throughput", run["run"], "pc3", tiny.bins(WEST, EAST, {9: 500}))
    (row,) = Warehouse(tmp_path).rows("requirement").rows(named=True)
    assert row["peak_mbit_s"] is None
    assert row["baseline_packets"] == 3 * packets
    first = page.build(tmp_path).first
    assert ("hold no packet" in first) == (packets == 0), first


def test_runs_at_other_points_are_never_one_row(tmp_path: Path) -> None:
    """Ranks, loss etc. are axes like RTT and rate, also where no run is flagged as the baseline."""
    changes = ({}, {"ranks": 12}, {"ranks": 3}, {"loss": 0.01}, {"jitter_ns": tiny.MS},
               {"congestion": "bbr"}, {"links": 2}, {"hosts_per_site": 2})  # fmt: skip
    tiny.runs(tmp_path, [
        tiny.run(f"r{n}", **({"baseline": None} | change)) for n, change in enumerate(changes)
    ])  # fmt: skip
    for number in range(len(changes)):
        tiny.table(tmp_path, "flows", f"r{number}", "pc1", [tiny.flow(WEST, EAST)])
    warehouse = Warehouse(tmp_path)
    totals = warehouse.rows("totals").rows(named=True)
    assert len(totals) == len(changes)
    assert sum(row["is_baseline"] for row in totals) == 1
    assert {row["runs_used"] for row in totals} == {1}
    (baseline,) = rows(tmp_path, "baselines")
    assert baseline["runs_used"] == 1


def test_captures_without_run_json_are_traffic_that_counts(tmp_path: Path) -> None:
    """Figures of traffic have rows; figures of completion times say why they have none."""
    tiny.runs(tmp_path, [
        {"run": run, "status": "no record", "reason": "no run.json", "completion_s": None}
        for run in "ab"
    ])  # fmt: skip
    for run, host in (("a", "alpha"), ("b", "beta")):
        tiny.table(tmp_path, "captures", run, host, [tiny.capture()])
        flow = tiny.flow(WEST, EAST, app_limited_ns=5, sender_limited_ns=0,
                         receiver_limited_ns=0, network_limited_ns=5)  # fmt: skip
        tiny.table(tmp_path, "flows", run, host, [flow])
        tiny.table(tmp_path, "messages", run, host, [tiny.message(100)])
        tiny.table(tmp_path, "throughput", run, host, tiny.bins(WEST, EAST, {1: 500, 7: 500}))
    warehouse = Warehouse(tmp_path)
    for name in ("totals", "limits", "message_rate", "throughput_series", "wan_throughput"):
        assert warehouse.rows(name).height > 0, name
    html = page.build(tmp_path).html.replace("\u00a0", " ")
    assert "No messages" not in html
    assert "No time that held a sender back" not in html
    assert not adds_up.contradictions(warehouse, figure_names())


@pytest.mark.parametrize(
    ("changes", "grade"),
    [
        ({}, "A"),
        ({"dropped_kernel": 1}, "B"),
        ({"super_packets": 100}, "B"),
        ({"dropped_kernel": 50}, "C"),
        ({"super_packets": 600}, "C"),
        ({"time_regressions": 1}, "C"),
        ({"truncated_tail": True}, "C"),
        ({"dropped_interface": 200}, "D"),
        ({"undecoded_packets": 101}, "D"),
        ({"dropped_kernel": None, "dropped_interface": None}, numbers.NONE),
        ({"dropped_kernel": None, "dropped_interface": None, "truncated_tail": True}, "D"),
    ],
)
def test_a_capture_has_the_grade_of_its_worst_fault(
    tmp_path: Path, changes: dict[str, object], grade: str
) -> None:
    tiny.runs(tmp_path, [tiny.run("r")])
    tiny.table(tmp_path, "captures", "r", "pc1", [tiny.capture(**changes)])
    (row,) = rows(tmp_path, "captures")
    assert row["grade"] == grade
    assert bool(row["reasons"]) == (grade != "A")


def test_a_flow_from_before_the_capture_lowers_the_grade_to_b(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r")])
    tiny.table(tmp_path, "captures", "r", "pc1", [tiny.capture()])
    tiny.table(tmp_path, "flows", "r", "pc1", [tiny.flow(WEST, EAST, start="midstream")])
    (row,) = rows(tmp_path, "captures")
    assert row["grade"] == "B"


def test_packets_are_conserved_between_the_sites(tmp_path: Path) -> None:
    link = '{"from": "west", "to": "east", "received": 10, "delivered": 8, "dropped_queue": 2}'
    tiny.runs(tmp_path, [tiny.run("r", json=f'{{"emulator": {{"links": [{link}]}}}}')])
    tiny.table(tmp_path, "flows", "r", "pc1", [tiny.flow(WEST, EAST, packets=10)])
    tiny.table(tmp_path, "flows", "r", "pc3", [tiny.flow(WEST, EAST, packets=7)])
    (row,) = rows(tmp_path, "conservation")
    assert (row["sent_packets"], row["arrived_packets"], row["dropped_frames"]) == (10, 7, 2)
    assert (row["unexplained_packets"], row["unexplained_frames"]) == (1, 0)


def test_payload_is_compared_with_what_the_ranks_say_they_sent(tmp_path: Path) -> None:
    ranks = [
        {"rank": 0, "host": "pc1", "to": {"1": {"messages": 1, "bytes": 77}}},
        {"rank": 1, "host": "pc1", "to": {"2": {"messages": 2, "bytes": 800}}},
        {"rank": 2, "host": "pc3", "to": {"0": {"messages": 1, "bytes": 200}}},
    ]
    tiny.runs(tmp_path, [tiny.run("r", json=json.dumps({"application": {"ranks": ranks}}))])
    tiny.table(tmp_path, "flows", "r", "pc1", [
        tiny.flow(WEST, EAST, payload_bytes=900, retransmitted_bytes=50)
    ])  # fmt: skip
    tiny.table(tmp_path, "flows", "r", "pc3", [
        tiny.flow(EAST, WEST, src_port=2000, dst_port=1000, payload_bytes=200)
    ])  # fmt: skip
    (row,) = rows(tmp_path, "framing")
    # within a host nothing crosses a wire: 800 + 200 bytes against 850 + 200 bytes
    assert (row["application_bytes"], row["payload_bytes"]) == (1000, 1050)
    assert row["framing_share"] == pytest.approx(0.05)


def test_a_run_without_a_record_makes_no_application_of_its_own(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [
        tiny.run("a", baseline=True),
        tiny.run("b", problem=None, status="no record", completion_s=None, reason="no run.json"),
    ])  # fmt: skip
    assert {row["problem"] for row in rows(tmp_path, "runs")} == {"n 1"}


def test_a_rate_that_was_not_measured_in_every_run_is_the_asked_one(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [
        tiny.run("a", baseline=True, rate_measured_bit_s=1.8e8),
        tiny.run("b", baseline=True, rate_measured_bit_s=None),
        tiny.run("c", rate_asked_bit_s=1e7, rate_measured_bit_s=1.1e7),
    ])  # fmt: skip
    found = Warehouse(tmp_path).rows("completion_by_rate")
    assert found["rate_mbit_s"].to_list() == [100.0, 11.0]


def test_a_table_may_lack_columns_and_have_others(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r")])
    short = {key: value for key, value in tiny.flow(WEST, EAST).items() if key != "start"}
    tiny.table(tmp_path, "flows", "r", "pc1", [short | {"a_later_column": 1}])
    tiny.table(tmp_path, "flows", "r", "pc3", [tiny.flow(EAST, WEST)])
    assert len(rows(tmp_path, "flows")) == 2


def test_a_folder_without_tables_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(FlowsweepError, match="no tables") as caught:
        Warehouse(tmp_path)
    assert caught.value.remedy


def test_missing_sql_is_refused_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny.runs(tmp_path, [tiny.run("r")])
    monkeypatch.setenv("FLOWSWEEP_REPORTS", str(tmp_path))
    with pytest.raises(FlowsweepError, match="reports") as caught:
        Warehouse(tmp_path)
    assert "FLOWSWEEP_REPORTS" in str(caught.value.remedy)


def test_the_parameters_of_a_problem_are_json_and_its_label_is_no_more(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [
        tiny.run("a", problem='{"files": 3, "note": "frames 9, files 7"}'),
        tiny.run("b", problem=None, status="no record", completion_s=None, reason="no run.json"),
    ])  # fmt: skip
    found = Warehouse(tmp_path).select(
        "select run, problem, json_extract(parameters, '$.files')::bigint as files, "
        "json_extract(parameters, '$.frames') as frames from runs order by run"
    )
    label = "files 3, note frames 9, files 7"
    assert found.rows() == [("a", label, 3, None), ("b", label, 3, None)]
