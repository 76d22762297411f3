"""The rows behind the figures, against numbers worked out by hand."""

from __future__ import annotations

import itertools
from pathlib import Path

import duckdb
import forks
import polars as pl
import pytest
import tiny

from flowsweep.errors import FlowsweepError
from flowsweep.experiment import axes
from flowsweep.warehouse import Warehouse, figure_names, figures, reports_folder, script

WEST, EAST = "10.77.1.1", "10.77.2.1"
CONTRACT = {
    "throughput_series", "throughput_cdf", "flow_sizes", "packet_intervals", "completion_by_rtt",
    "completion_by_rate", "completion_by_problem", "thresholds", "totals", "requirement",
    "run_quality", "message_rate", "limits", "wan_throughput", "peak_by_ranks", "lightpaths",
    "transfer_activity", "transfer_times", "throughput_per_core", "phase_times", "mpi_costs",
    "transfer_table",
}  # fmt: skip


def one_run(directory: Path, sizes: dict[int, int]) -> Path:
    """Writes one run of 100 bins in which pc3 sends `sizes` bytes."""
    tiny.runs(directory, [tiny.run("r", baseline=True)])
    tiny.table(directory, "captures", "r", "pc3", [tiny.capture()])
    tiny.table(directory, "throughput", "r", "pc3", tiny.bins(EAST, WEST, sizes))
    return directory


def test_every_name_of_the_contract_answers(warehouse: Warehouse) -> None:
    assert set(figure_names()) >= CONTRACT
    for name in figure_names():
        assert warehouse.rows(name).width > 3


@pytest.mark.parametrize("name", figure_names())
def test_every_column_is_described(warehouse: Warehouse, name: str) -> None:
    described = figures.read_description(reports_folder(), name)
    assert described["description"].endswith(".")
    assert list(described["columns"]) == warehouse.rows(name).columns


def test_no_two_points_have_the_same_axes_or_label(two_apps: Path) -> None:
    rows = Warehouse(two_apps).select("select * from points order by point")
    assert rows["point"].to_list() == list(range(1, rows.height + 1))
    assert rows.select("app", "problem", *axes.names_in_points()).n_unique() == rows.height
    assert rows.select("app", "problem", "label").n_unique() == rows.height
    first = rows.row(0, named=True)
    assert (first["label"], first["is_baseline"]) == ("baseline", True)
    assert "RTT 16 ms" in rows["label"].to_list()


def test_every_query_answers_without_any_capture(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    bare = Warehouse(tmp_path)
    for name in figure_names():
        assert bare.rows(name).width > 3, name


@pytest.mark.parametrize("name", figure_names())
def test_the_whole_script_gives_the_same_rows_in_plain_duckdb(
    warehouse: Warehouse, name: str
) -> None:
    plain = duckdb.connect()
    found = plain.execute(script.write_script(warehouse, name)).fetchall()
    assert [tuple(row) for row in found] == [tuple(row) for row in warehouse.rows(name).rows()]


def test_a_script_needs_nothing_that_was_asked_before(one_app: Path) -> None:
    for name in ("throughput_series", "engines", "thresholds"):
        assert script.write_script(Warehouse(one_app), name).endswith(";\n"), name


def test_a_column_of_the_series_keeps_the_peak_and_counts_empty_bins(tmp_path: Path) -> None:
    # 1,000 bins of 10 ms in 400 columns: the first column has bins 0, 1 and 2
    directory = one_run(tmp_path, {0: 12_500, 1: 2_500, 3: 25_000})
    row = tiny.run("r", baseline=True, end=tiny.T0 + 10_000 * tiny.MS)
    tiny.runs(directory, [row])
    series = Warehouse(directory).rows("throughput_series").filter(pl.col("direction") == "out")
    assert series.height == 400
    assert int(series["bins"].sum()) == 1000
    first, second = series.head(2).rows(named=True)
    assert (first["bins"], first["busy_bins"]) == (3, 2)
    assert first["max_mbit_s"] == pytest.approx(10.0)
    assert first["mean_mbit_s"] == pytest.approx((10 + 2) / 3, rel=1e-3)
    assert second["max_mbit_s"] == pytest.approx(20.0)
    assert series["max_mbit_s"].tail(300).to_list() == [0.0] * 300


def test_the_series_covers_the_run_and_not_only_its_packets(tmp_path: Path) -> None:
    series = Warehouse(one_run(tmp_path, {50: 1000})).rows("throughput_series")
    out = series.filter(pl.col("direction") == "out")
    assert (out["start_s"][0], out["end_s"][-1]) == (0.0, 1.0)
    assert out.filter(pl.col("max_mbit_s") > 0)["start_s"].to_list() == [0.5]
    assert series.filter(pl.col("direction") == "in")["max_mbit_s"].max() == 0.0


def test_the_series_leaves_out_the_start_up_of_the_ranks(tmp_path: Path) -> None:
    directory = one_run(tmp_path, {10: 500, 50: 1000})
    work = '{"start": "2026-01-01T00:00:00.400000000Z", "end": "2026-01-01T00:00:00.900000000Z"}'
    tiny.runs(directory, [tiny.run("r", baseline=True, json=f'{{"application": {work}}}')])
    out = Warehouse(directory).rows("throughput_series").filter(pl.col("direction") == "out")
    work_time = out.filter("is_within")
    assert (work_time["start_s"][0], work_time["end_s"][-1]) == (0.0, 0.5)
    assert work_time.filter(pl.col("max_mbit_s") > 0)["start_s"].to_list() == [0.1]
    # earlier traffic has a row of its own
    assert out.filter(~pl.col("is_within")).select("start_s", "end_s", "wire_bytes").rows() == [
        (-0.3, 0.0, 500)
    ]


def out_steps(directory: Path) -> pl.DataFrame:
    """Returns the distribution of what pc3 sends, in bins of 10 ms."""
    rows = Warehouse(directory).rows("throughput_cdf")
    return rows.filter((pl.col("direction") == "out") & (pl.col("bin_ms") == 10))


def test_the_distribution_counts_empty_bins_and_ends_at_one(tmp_path: Path) -> None:
    # 100 bins: 96 empty, two of 1 Mbit/s, one of 2, one of 4
    directory = one_run(tmp_path, {3: 1250, 40: 1250, 41: 2500, 99: 5000})
    steps = out_steps(directory)
    assert list(zip(steps["mbit_s"], steps["share"], strict=True)) == [
        (0.0, 0.96),
        (1.0, 0.98),
        (2.0, 0.99),
        (4.0, 1.0),
    ]
    assert set(steps["bins"]) == {100}
    assert set(steps["p99_mbit_s"]) == {2.0}


def test_a_direction_without_traffic_is_empty_all_the_time(tmp_path: Path) -> None:
    steps = Warehouse(one_run(tmp_path, {3: 1250})).rows("throughput_cdf")
    silent = steps.filter((pl.col("direction") == "in") & (pl.col("bin_ms") == 10))
    assert (silent["mbit_s"].to_list(), silent["share"].to_list()) == ([0.0], [1.0])


def test_a_long_distribution_has_steps_of_a_hundredth(tmp_path: Path) -> None:
    directory = one_run(tmp_path, {0: 1000})
    tiny.runs(directory, [tiny.run("r", baseline=True, end=tiny.T0 + 100_000 * tiny.MS)])
    sizes = {number: 1000 + number for number in range(9_000)}
    tiny.table(directory, "throughput", "r", "pc3", tiny.bins(EAST, WEST, sizes))
    steps = out_steps(directory)
    assert steps["share"][0] == pytest.approx(0.1)
    assert steps["share"][-1] == 1.0
    rates = steps["mbit_s"][1:].to_list()
    assert max(after / one for one, after in itertools.pairwise(rates)) < 1.0225
    # the exact rank of every step: byte counts are 1000, 1001, ...
    for rate, share in zip(rates, steps["share"][1:], strict=True):
        rank = round(rate * 1e6 / 800) - 999
        assert share == pytest.approx((1_000 + rank) / 10_000)


def test_only_the_traffic_of_the_shown_host_is_drawn(tmp_path: Path) -> None:
    directory = one_run(tmp_path, {3: 1250})
    tiny.table(directory, "throughput", "r", "pc1", tiny.bins(WEST, EAST, {3: 999_999}))
    assert Warehouse(directory).rows("throughput_series")["max_mbit_s"].max() == 1.0


def test_flow_sizes_have_one_row_per_direction(tmp_path: Path) -> None:
    directory = one_run(tmp_path, {0: 1})
    tiny.table(directory, "flows", "r", "pc1", [
        tiny.flow(WEST, EAST, payload_bytes=0, duration_ns=0, end="open"),
        tiny.flow(WEST, EAST, connection=1, src_port=1001, payload_bytes=500),
    ])  # fmt: skip
    found = Warehouse(directory).rows("flow_sizes")
    assert found["payload_bytes"].to_list() == [500.0, 0.0]
    assert found["duration_s"].to_list() == [0.5, 0.0]
    assert found["is_cut"].to_list() == [False, True]


def test_many_flows_become_cells_that_count_them(tmp_path: Path) -> None:
    directory = one_run(tmp_path, {0: 1})
    flows = [
        tiny.flow(WEST, EAST, connection=n, src_port=n, payload_bytes=1000, duration_ns=tiny.MS)
        for n in range(2004)
    ]
    flows[0] |= {"payload_bytes": 0}
    # Zeek leaves the payload out
    for flow in flows[1:4]:
        flow["payload_bytes"] = None
    tiny.table(directory, "flows", "r", "pc1", flows)
    found = Warehouse(directory).rows("flow_sizes")
    assert sorted(found["flows"].to_list()) == [1, 3, 2000]
    assert found.filter(pl.col("flows") == 3).select("payload_bytes", "duration_s").rows() == [
        (None, 0.001)
    ]
    assert found.filter(pl.col("flows") == 2000)["payload_bytes"][0] == pytest.approx(1000)


def test_gaps_are_counted_where_the_packets_arrived(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    for host, low in (("pc1", 64_000), ("pc3", 120_000)):
        tiny.table(tmp_path, "captures", "r", host, [tiny.capture()])
        tiny.table(tmp_path, "throughput", "r", host, tiny.bins(WEST, EAST, {0: 1}))
        tiny.table(tmp_path, "flows", "r", host, [tiny.flow(WEST, EAST)])
        key = {"connection": 0, "direction": "forward"}
        tiny.table(tmp_path, "intervals", "r", host, [
            key | {"bucket_low_ns": 0, "bucket_high_ns": 1, "count": 1},
            key | {"bucket_low_ns": low, "bucket_high_ns": low + 1000, "count": 3},
        ])  # fmt: skip
    found = Warehouse(tmp_path).rows("packet_intervals")
    assert found["stream"].to_list() == ["data", "data"]
    assert found["share"].to_list() == [0.25, 0.75]
    assert (found["low_us"][0], found["high_us"][0]) == (0.0, 0.0)
    # the 1/20 decade that contains 120.5 µs
    assert found["low_us"][1] < 120.5 < found["high_us"][1]
    assert found["high_us"][1] / found["low_us"][1] == pytest.approx(10 ** (1 / 20), rel=1e-4)


def test_totals_are_medians_over_the_runs_of_a_point(tmp_path: Path) -> None:
    names = ("a", "b", "c")
    tiny.runs(tmp_path, [tiny.run(name, baseline=True, completion_s=2.0) for name in names])
    for name, size in zip(names, (1_000_000, 3_000_000, 2_000_000), strict=True):
        tiny.table(tmp_path, "flows", name, "pc3", [
            tiny.flow(EAST, WEST, wire_bytes=size, packets=100)
        ])  # fmt: skip
    (row,) = Warehouse(tmp_path).rows("totals").rows(named=True)
    assert (row["out_mb"], row["out_mbit_s"], row["in_mb"]) == (2.0, 8.0, 0.0)
    assert (row["all_packets"], row["runs_used"], row["host"]) == (100, 3, "pc3")


def test_thresholds_of_a_made_up_law_are_found(tmp_path: Path) -> None:
    # 1 s at the baseline plus 1 % per ms: 10 % at 11 ms, 50 % beyond the tried RTTs
    tiny.runs(tmp_path, [
        tiny.run(
            f"{rtt}-{n}", baseline=rtt == 1, rtt_asked_ns=rtt * tiny.MS,
            rtt_measured_ns=rtt * tiny.MS, completion_s=1 + 0.01 * (rtt - 1),
        )
        for rtt in (1, 4, 16, 32)
        for n in range(6)
    ])  # fmt: skip
    gradual, severe = Warehouse(tmp_path).rows("thresholds").rows(named=True)
    assert (gradual["state"], severe["state"]) == ("found", "never")
    assert gradual["estimate"] == 11.0
    assert (gradual["low"], gradual["high"]) == (4.0, 16.0)
    assert (gradual["easier"], gradual["harder"], gradual["first_reached"]) == (4.0, 16.0, 16.0)
    assert severe["hardest"] == 32.0


@pytest.mark.parametrize(("factors", "lowest"), [
    ((1.001, 1.009, 1.006), 10.0),
    ((1.011, 1.012, 1.0115), 10.115),  # differs from the set rate by more than its scatter
    ((1.006,), 10.06),  # one run shows no scatter
])  # fmt: skip
def test_a_rate_is_called_as_it_was_set_where_its_measurements_agree(
    tmp_path: Path, factors: tuple[float, ...], lowest: float
) -> None:
    """A limit set to 100 must not be "101 Mbit/s" in the verdict."""
    tiny.runs(tmp_path, [
        tiny.run(
            f"{rate}-{n}", baseline=rate == 100, rate_asked_bit_s=rate * 1e6,
            rate_measured_bit_s=rate * 1e6 * factor, completion_s=10 + 40 / rate + n / 1000,
        )
        for rate in (100, 50, 20, 10)
        for n, factor in enumerate(factors)
    ])  # fmt: skip
    warehouse = Warehouse(tmp_path)
    for row in warehouse.rows("thresholds").rows(named=True):
        assert (row["mildest"], row["hardest"]) == pytest.approx((10 * lowest, lowest))
    measured = warehouse.rows("completion_by_rate")["rate_mbit_s"].to_list()
    assert measured[-1] == pytest.approx(10 * sorted(factors)[len(factors) // 2])


def test_problems_are_compared_only_where_there_are_several(tmp_path: Path) -> None:
    small = tiny.run("a", baseline=True, problem='{"n": 9}')
    tiny.runs(tmp_path, [small])
    assert Warehouse(tmp_path).rows("completion_by_problem").is_empty()
    tiny.runs(tmp_path, [
        small, tiny.run("b", baseline=True, problem='{"n": 10}', completion_s=4.0)
    ])  # fmt: skip
    found = Warehouse(tmp_path).rows("completion_by_problem")
    assert found["completion_s"].to_list() == [1.0, 4.0]
    assert found["problem"].to_list() == ["n 9", "n 10"]


def test_an_unknown_name_is_answered_with_the_nearest(one_app: Path) -> None:
    with pytest.raises(FlowsweepError) as caught:
        Warehouse(one_app).rows("treshold")
    assert "thresholds" in str(caught.value.remedy)
    assert "flowsweep query --help" in str(caught.value.expected)


@pytest.mark.parametrize("form", ["csv", "json", "table"])
def test_the_command_prints_rows(one_app: Path, form: str) -> None:
    done = forks.run("flowsweep", "query", "thresholds", one_app, "--format", form)
    assert (done.returncode, done.stderr) == (0, "")
    if form == "json":
        assert pl.read_json(done.stdout.encode()).height == 4
    else:
        assert len(done.stdout.strip().splitlines()) == 5


def test_thresholds_of_a_line_off_the_baseline_know_the_baselines_runs(tmp_path: Path) -> None:
    # The baseline has larger buffers and is not on this line, but its spread still counts.
    def rows(baseline: list[float]) -> list[dict[str, object]]:
        tiny.runs(tmp_path, [
            tiny.run(f"base-{n}", baseline=True, buffer_bytes=2**20, completion_s=time)
            for n, time in enumerate(baseline)
        ] + [
            tiny.run(
                f"{rtt}-{n}", rtt_asked_ns=rtt * tiny.MS, rtt_measured_ns=rtt * tiny.MS,
                buffer_bytes=2**16, completion_s=time + 0.001 * n,
            )
            for rtt, time in ((1, 1.0), (16, 1.3))
            for n in range(3)
        ])  # fmt: skip
        found = Warehouse(tmp_path).rows("thresholds").rows(named=True)
        return [row for row in found if row["buffer_bytes"] == 2**16 and row["level"] == 1.1]

    assert [row["state"] for row in rows([1.0, 1.001, 1.002])] == ["found"]
    assert [row["state"] for row in rows([0.8, 1.001, 1.3])] == ["cannot tell"]


def test_a_point_whose_runs_all_failed_is_not_called_within_the_level(tmp_path: Path) -> None:
    for status, state in (("valid", "never"), ("failed", "cannot tell")):
        tiny.runs(tmp_path, [
            tiny.run(
                f"{rtt}-{n}", baseline=rtt == 1, rtt_asked_ns=rtt * tiny.MS,
                rtt_measured_ns=rtt * tiny.MS, status=status if rtt == 64 else "valid",
            )
            for rtt in (1, 4, 16, 64)
            for n in range(3)
        ])  # fmt: skip
        row, _ = Warehouse(tmp_path).rows("thresholds").rows(named=True)
        assert (row["state"], row["reason"]) == (
            state,
            None if state == "never" else "no run is valid at 64.0 ms",
        )


def test_a_run_in_which_the_host_received_nothing_counts_as_none(tmp_path: Path) -> None:
    """pc3 receives 0, 0 and 30,000 bytes; one of the runs took no time that can be divided by."""
    times = [1.0, 1.0, 0.0]
    tiny.runs(tmp_path, [
        tiny.run(f"r{n}", baseline=True, completion_s=time) for n, time in enumerate(times)
    ])  # fmt: skip
    for n in range(3):
        tiny.table(tmp_path, "captures", f"r{n}", "pc3", [tiny.capture()])
        sent = [tiny.flow(EAST, WEST)]
        back = tiny.flow(WEST, EAST, direction="backward", wire_bytes=30_000)
        tiny.table(tmp_path, "flows", f"r{n}", "pc3", [*sent, back] if n == 2 else sent)
        bins = tiny.bins(EAST, WEST, {0: 10_000})
        tiny.table(tmp_path, "throughput", f"r{n}", "pc3", bins)
    (row,) = Warehouse(tmp_path).rows("totals").to_dicts()
    assert (row["in_mb"], row["in_mbit_s"]) == (0.0, 0.0)
    # each run lasts 1 s
    assert (row["out_mb"], row["out_mbit_s"]) == (0.01, 0.08)
    # Zeek's flows state no bytes on the wire
    for n in range(3):
        flow = tiny.flow(EAST, WEST, wire_bytes=None)
        tiny.table(tmp_path, "flows", f"r{n}", "pc3", [flow])
    (row,) = Warehouse(tmp_path).rows("totals").to_dicts()
    assert (row["in_mb"], row["out_mb"]) == (None, None)
