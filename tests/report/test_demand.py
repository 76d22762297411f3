"""Queries on what crosses between sites and on what the application tells, against numbers
that are worked out here in another way."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
import tiny

from flowsweep import run_records
from flowsweep.analysis import uklight
from flowsweep.cli.report import query
from flowsweep.warehouse import Warehouse, figure_names, reports_folder

HOSTS = [
    {"name": "pc1", "site": "west", "address": "10.77.1.1"},
    {"name": "pc2", "site": "west", "address": "10.77.1.2"},
    {"name": "pc3", "site": "east", "address": "10.77.2.1"},
    {"name": "pc4", "site": "north", "address": "10.77.3.1"},
]
ADDRESS = {host["name"]: host["address"] for host in HOSTS}
SITE = {host["name"]: host["site"] for host in HOSTS}
PC1, PC2, PC3, PC4 = ADDRESS.values()


def rows(directory: Path, name: str, **wanted: Any) -> list[dict[str, Any]]:
    """The rows of a query that have the values wanted."""
    found = Warehouse(directory).rows(name).rows(named=True)
    return [row for row in found if all(row[key] == value for key, value in wanted.items())]


def one_run(directory: Path, bins: dict[str, list[dict[str, Any]]], **changes: Any) -> Path:
    """One run of 1 s with the throughput that each host captured."""
    tiny.runs(directory, [tiny.run("r", **{"baseline": True, "hosts": HOSTS} | changes)])
    for host, series in bins.items():
        tiny.table(directory, "captures", "r", host, [tiny.capture()])
        tiny.table(directory, "throughput", "r", host, series)
    return directory


def told(**application: Any) -> str:
    """run.json as text, with what the application told."""
    start = {"start": "2026-01-01T00:00:00.000000000Z", "end": "2026-01-01T00:00:10.000000000Z"}
    return json.dumps({"application": start | application})


RANKS = [
    {"rank": 0, "host": "pc1"}, {"rank": 1, "host": "pc1"}, {"rank": 2, "host": "pc3"},
    {"rank": 3, "host": "pc4"},
]  # fmt: skip


def test_wide_area_throughput_is_taken_where_it_was_sent(tmp_path: Path) -> None:
    sent = {0: 12_500, 5: 12_500, 10: 50_000}
    one_run(tmp_path, {
        "pc1": tiny.bins(PC1, PC3, sent) + tiny.bins(PC1, PC2, {1: 777_777}),
        "pc3": tiny.bins(PC1, PC3, {0: 999_999}),
    })  # fmt: skip
    found = rows(tmp_path, "wan_throughput")
    # 10 steps of 100 ms: 25 000 and 50 000 bytes, then silence; nothing within the site
    assert [row["max_mbit_s"] for row in found] == [2.0, 4.0, *[0.0] * 8]
    assert [row["mean_mbit_s"] for row in found] == [2.0, 4.0, *[0.0] * 8]
    assert [row["start_s"] for row in found] == [number / 10 for number in range(10)]
    assert {(row["from_site"], row["to_site"], row["step_ms"]) for row in found} == {
        ("west", "east", 100.0)
    }
    assert {row["run_mean_mbit_s"] for row in found} == {0.6}
    # of 10 steps the 5th, and the 10th for 95 % and 99 %
    quantiles = {(r["run_p50_mbit_s"], r["run_p95_mbit_s"], r["run_p99_mbit_s"]) for r in found}
    assert quantiles == {(0.0, 4.0, 4.0)}
    assert not any(row["is_far_side"] for row in found)


def test_what_an_uncaptured_host_sent_is_taken_from_the_receiver(tmp_path: Path) -> None:
    one_run(tmp_path, {"pc3": tiny.bins(PC1, PC3, {0: 12_500})})
    found = rows(tmp_path, "wan_throughput")
    assert found[0]["run_peak_mbit_s"] == 1.0
    assert all(row["is_far_side"] for row in found)


def test_a_capture_with_many_drops_is_said(tmp_path: Path) -> None:
    one_run(tmp_path, {"pc1": tiny.bins(PC1, PC3, {0: 12_500})})
    tiny.table(tmp_path, "captures", "r", "pc1", [tiny.capture(dropped_kernel=5_000)])
    assert all(row["is_doubtful"] for row in rows(tmp_path, "wan_throughput"))
    for name in ("peak_by_ranks", "lightpaths", "throughput_per_core"):
        assert {row["doubtful_runs"] for row in rows(tmp_path, name)} == {1}


def test_captures_alone_are_enough_without_sites(tmp_path: Path) -> None:
    """A person's own: nothing but an axis and a time, hosts guessed from the captures."""
    tiny.runs(tmp_path, [{"run": "r", "rtt_asked_ns": 5 * tiny.MS, "completion_s": 1.0}])
    for host, address, there, size in (("n7", "192.0.2.7", "192.0.2.9", 125_000),
                                       ("n9", "192.0.2.9", "192.0.2.7", 250_000)):  # fmt: skip
        tiny.table(tmp_path, "captures", "r", host, [tiny.capture(dropped_kernel=None)])
        tiny.table(tmp_path, "flows", "r", host, [
            tiny.flow(address, there), tiny.flow(address, "198.51.100.1", packets=1, connection=1)
        ])  # fmt: skip
        tiny.table(tmp_path, "throughput", "r", host, [
            *tiny.bins(address, there, {0: size}), *tiny.bins(address, "198.51.100.1", {0: 1250})
        ])  # fmt: skip
    peaks = {
        (row["from_site"], row["to_site"]): row["run_peak_mbit_s"]
        for row in rows(tmp_path, "wan_throughput")
    }
    assert peaks == {
        ("n7", "n9"): 10.0, ("n9", "n7"): 20.0, ("n7", "elsewhere"): 0.1, ("n9", "elsewhere"): 0.1
    }  # fmt: skip
    # no rate is named: the scale is assumed and said so; each host counts as one rank
    (row,) = rows(tmp_path, "lightpaths", site_a="n7", site_b="n9")
    assert (row["lightpath_mbit_s"], row["is_rate_assumed"], row["peak_mbit_s"]) == (1000, True, 20)
    assert (row["lightpaths"], row["share_of_time"], row["capacity_mbit_s"]) == (1, 1.0, None)
    (row,) = rows(tmp_path, "peak_by_ranks")
    assert (row["ranks"], row["is_ranks_guessed"], row["peak_mbit_s"]) == (2.0, True, 30.2)


@pytest.mark.parametrize(("bin_ms", "step_ms"), [(10, 100), (30, 90), (100, 100), (250, 250)])
def test_a_step_is_whole_bins(tmp_path: Path, bin_ms: int, step_ms: int) -> None:
    bin_ns = bin_ms * tiny.MS
    first = -(-tiny.T0 // bin_ns)
    one_run(tmp_path, {"pc1": [
        {"bin_start": (first + n) * bin_ns, "bin_ns": bin_ns, "src_ip": PC1, "dst_ip": PC3,
         "packets": 1, "wire_bytes": bin_ms * 125, "payload_bytes": 1}
        for n in range(950 // bin_ms)
    ]})  # fmt: skip
    found = rows(tmp_path, "wan_throughput")
    assert {row["step_ms"] for row in found} == {step_ms}
    # 125 bytes a millisecond are 1 Mbit/s
    assert found[0]["max_mbit_s"] == 1.0


def test_one_site_has_no_wide_area(tmp_path: Path) -> None:
    one_run(tmp_path, {"pc1": tiny.bins(PC1, PC2, {0: 1})}, hosts=HOSTS[:2])
    assert rows(tmp_path, "wan_throughput") == []
    assert "two sites" in str(Warehouse(tmp_path).lack("wan_throughput"))


class Traffic:
    """Random traffic of two runs, and what it comes to by plain loops."""

    STEPS = 20

    def __init__(self, directory: Path) -> None:
        chance = random.Random(7)
        self.steps: dict[str, dict[tuple[str, str], list[int]]] = {}
        names = list(ADDRESS)
        for run in ("a", "b"):
            sums: dict[tuple[str, str], list[int]] = {}
            for sender in names:
                series = []
                for receiver in names:
                    sizes = {
                        number: chance.randrange(20_000)
                        for number in range(self.STEPS * 10)
                        if receiver != sender and chance.random() < 0.2
                    }
                    series += tiny.bins(ADDRESS[sender], ADDRESS[receiver], sizes)
                    pair = (SITE[sender], SITE[receiver])
                    if pair[0] != pair[1]:
                        mine = sums.setdefault(pair, [0] * self.STEPS)
                        for number, size in sizes.items():
                            mine[number // 10] += size
                tiny.table(directory, "captures", run, sender, [tiny.capture()])
                tiny.table(directory, "throughput", run, sender, series)
            self.steps[run] = sums
        links = {"between": ["west", "east"], "rate_bit_s": 1e6, "links": 2}
        record = json.loads(told(ranks=RANKS)) | {"links": [links]}
        end = tiny.T0 + self.STEPS * 100 * tiny.MS
        del record["application"]["start"], record["application"]["end"]
        tiny.runs(directory, [
            tiny.run(run, baseline=True, hosts=HOSTS, end=end, json=json.dumps(record),
                     rate_asked_bit_s=2e6)
            for run in ("a", "b")
        ])  # fmt: skip

    def rates(self, run: str, keep: Any) -> list[float]:
        """Mbit/s of each step, over the directions that are kept."""
        kept = [sizes for pair, sizes in self.steps[run].items() if keep(*pair)]
        return [sum(sizes) * 8 / 0.1 / 1e6 for sizes in zip(*kept, strict=True)]


@pytest.fixture(scope="module")
def traffic(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Traffic]:
    directory = tmp_path_factory.mktemp("traffic")
    return directory, Traffic(directory)


def quantile(series: list[float], share: float) -> float:
    return sorted(series)[math.ceil(share * len(series)) - 1]


def test_every_direction_agrees_with_plain_loops(traffic: tuple[Path, Traffic]) -> None:
    directory, truth = traffic
    found = rows(directory, "wan_throughput")
    assert len(found) == 2 * 6 * truth.STEPS
    for run in ("a", "b"):
        for pair in truth.steps[run]:
            series = truth.rates(run, lambda *other, pair=pair: other == pair)
            mine = [r for r in found if (r["run"], r["from_site"], r["to_site"]) == (run, *pair)]
            assert [row["max_mbit_s"] for row in mine] == pytest.approx(series, abs=1e-4)
            for row in mine:
                assert row["run_mean_mbit_s"] == pytest.approx(sum(series) / 20, abs=1e-4)
                assert row["run_p50_mbit_s"] == pytest.approx(quantile(series, 0.5), abs=1e-4)
                assert row["run_p95_mbit_s"] == pytest.approx(quantile(series, 0.95), abs=1e-4)
                assert row["run_peak_mbit_s"] == pytest.approx(max(series), abs=1e-4)


def test_the_peak_of_all_links_is_of_the_sum_and_not_the_sum_of_peaks(
    traffic: tuple[Path, Traffic],
) -> None:
    directory, truth = traffic
    (row,) = rows(directory, "peak_by_ranks")
    sums = [truth.rates(run, lambda *_: True) for run in ("a", "b")]
    peaks = sorted(map(max, sums))
    assert row["peak_mbit_s"] == pytest.approx(sum(peaks) / 2, abs=1e-4)
    assert [row["peak_mbit_s_min"], row["peak_mbit_s_max"]] == pytest.approx(peaks, abs=1e-4)
    assert row["mean_mbit_s"] == pytest.approx(sum(map(sum, sums)) / 40, abs=1e-4)
    assert (row["ranks"], row["hosts"], row["is_ranks_guessed"]) == (4.0, 4, False)
    assert row["peak_mbit_s_per_rank"] == pytest.approx(sum(peaks) / 8, abs=1e-4)
    busiest = [
        max(max(truth.rates(run, lambda *o, p=pair: o == p)) for pair in truth.steps[run])
        for run in ("a", "b")
    ]
    assert row["direction_peak_mbit_s"] == pytest.approx(sum(busiest) / 2, abs=1e-4)


def test_lightpaths_are_counted_step_by_step(traffic: tuple[Path, Traffic]) -> None:
    directory, truth = traffic
    for a, b, scale, capacity in (("east", "west", 1.0, 2.0), ("east", "north", 2.0, 2.0)):
        demand = []
        for run in ("a", "b"):
            there = truth.rates(run, lambda *o, p=(a, b): o == p)
            back = truth.rates(run, lambda *o, p=(b, a): o == p)
            demand += map(max, there, back)
        found = rows(directory, "lightpaths", site_a=a, site_b=b)
        needed = [math.ceil(one / scale - 1e-9) for one in demand]
        assert [row["lightpaths"] for row in found] == sorted({1, *(n for n in needed if n > 0)})
        for row in found:
            share = sum(n <= row["lightpaths"] for n in needed) / len(needed)
            assert row["share_of_time"] == pytest.approx(share, abs=1e-6)
            assert (row["lightpath_mbit_s"], row["capacity_mbit_s"]) == (scale, capacity)
            assert row["is_supply_limited"] == (max(demand) > 0.8 * capacity)
            for name, q in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("peak", 1.0)):
                value = quantile(demand, q)
                assert row[f"{name}_mbit_s"] == pytest.approx(value, abs=1e-4)
                assert row[f"{name}_lightpaths"] == math.ceil(value / scale - 1e-9)
        assert found[-1]["share_of_time"] == 1.0


def test_throughput_per_core_divides_by_the_ranks_of_the_site(
    traffic: tuple[Path, Traffic],
) -> None:
    directory, truth = traffic
    found = {row["site"]: row for row in rows(directory, "throughput_per_core")}
    assert set(found) == {None, "west", "east", "north"}
    for site, ranks in (("west", 2), ("east", 1), ("north", 1), (None, 4)):
        out = [truth.rates(run, lambda a, _, s=site: s in (None, a)) for run in ("a", "b")]
        into = [truth.rates(run, lambda _, b, s=site: s in (None, b)) for run in ("a", "b")]
        row = found[site]
        assert (row["ranks"], row["runs"]) == (ranks, 2)
        assert row["sent_mbit_s"] == pytest.approx(sum(map(sum, out)) / 40 / ranks, abs=1e-4)
        assert row["received_mbit_s"] == pytest.approx(sum(map(sum, into)) / 40 / ranks, abs=1e-4)
        assert row["sent_peak_mbit_s"] == pytest.approx(sum(map(max, out)) / 2 / ranks, abs=1e-4)


@pytest.mark.parametrize(
    ("changes", "ranks", "guessed"),
    [
        ({"json": '{"ranks": ["pc1", "pc1", "pc3"]}'}, 3.0, False),
        ({"ranks_per_host": 4}, 16.0, False),
        ({"ranks": 6}, 6.0, False),
        ({}, 4.0, True),
    ],
)
def test_ranks_are_known_from_several_places(
    tmp_path: Path, changes: dict[str, Any], ranks: float, guessed: bool
) -> None:
    one_run(tmp_path, {"pc1": tiny.bins(PC1, PC3, {0: 1})}, **changes)
    (row,) = rows(tmp_path, "peak_by_ranks")
    assert (row["ranks"], row["is_ranks_guessed"]) == (ranks, guessed)


SPANS = [
    # source and receiver as ranks, bytes, start and end in s of a run of 10 s
    (0, 2, 1_000_000, 0.0, 2.0), (1, 2, 2_000_000, 1.0, 3.0), (0, 3, 500_000, 2.95, 7.1),
    (0, 2, 1_500_000, 2.0, 2.5), (1, 3, 700, 9.0, 12.0), (0, 2, 4_000_000, 5.55, 5.55),
]  # fmt: skip


def with_transfers(directory: Path) -> Path:
    spans = [
        {"name": "job", "from": a, "to": b, "bytes": size, "start_s": start, "end_s": end}
        for a, b, size, start, end in SPANS
    ]
    record = told(ranks=RANKS, transfers=spans)
    tiny.runs(directory, [
        tiny.run("r", baseline=True, hosts=HOSTS, json=record, completion_s=10.0)
    ])  # fmt: skip
    return directory


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
            # the number can only grow where one begins, or be there from before
            moments = [begin + 1e-9, *(s[3] for s in chosen if begin <= s[3] < end - 1e-9)]
            most = max(sum(s[3] <= t < s[4] for s in chosen) for t in moments)
            assert row["max_active"] == most
    assert rows(tmp_path, "transfer_activity", role="sending", place="pc3") == []


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
    # 2 MB in 2 s; what took no time has no goodput
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
    found = rows(tmp_path, "transfer_activity", role="sending")
    # the run lasts 1 s: hundredths 10 to 34 are busy
    assert [n for n, row in enumerate(found) if row["mean_active"]] == list(range(10, 35))
    assert {(row["place"], row["transfers"]) for row in found} == {("pc1", 1)}


def test_phases_are_summed_over_their_spans(tmp_path: Path) -> None:
    phases = [
        {"name": name, "rank": rank, "start_s": start, "end_s": end}
        for name, rank, start, end in (
            ("busy", 2, 1.0, 3.0), ("sync", 2, 3.0, 3.5), ("busy", 2, 4.0, 4.5), ("init", 0, 0, 1),
        )
    ]  # fmt: skip
    tiny.runs(tmp_path, [
        tiny.run("r", baseline=True, hosts=HOSTS, json=told(ranks=RANKS, phases=phases),
                 completion_s=5.0)
    ])  # fmt: skip
    found = [
        (row["rank"], row["site"], row["phase"], row["spans"], row["phase_s"], row["share"])
        for row in rows(tmp_path, "phase_times")
    ]
    assert found == [
        (0, "west", "init", 1, 1.0, 0.2),
        (2, "east", "busy", 2, 2.5, 0.5),
        (2, "east", "sync", 1, 0.5, 0.1),
    ]
    busy = rows(tmp_path, "phase_times", phase="busy")[0]
    assert (busy["longest_s"], busy["first_start_s"], busy["last_end_s"]) == (2.0, 1.0, 4.5)


def test_mpi_costs_per_call(tmp_path: Path) -> None:
    mpi = {"send": {"calls": 4, "seconds": 0.002}, "probe_found": {"calls": 0, "seconds": 0.0}}
    ranks = [RANKS[0] | {"mpi": mpi}, RANKS[2]]
    tiny.runs(tmp_path, [
        tiny.run("r", baseline=True, hosts=HOSTS, json=told(ranks=ranks), completion_s=0.5)
    ])  # fmt: skip
    found = rows(tmp_path, "mpi_costs")
    assert [(row["primitive"], row["calls"], row["call_us"], row["share"]) for row in found] == [
        ("probe_found", 0, None, 0.0), ("send", 4, 500.0, 0.004)
    ]  # fmt: skip
    assert {(row["rank"], row["host"], row["site"]) for row in found} == {(0, "pc1", "west")}


def test_the_transfer_table_of_the_paper(tmp_path: Path) -> None:
    """Three repetitions of every cell of the paper's tables, its time the middle one."""
    runs = []
    published = uklight.published()
    for number, (cell, seconds) in enumerate(sorted(published.items())):
        for repetition, factor in enumerate((0.5, 1.0, 3.0)):
            size = {"message_bytes": cell.message_mb << 20, "mean_s": seconds * factor}
            runs.append(tiny.run(
                f"{number:02}-{repetition}", repetition=repetition, app="pingpong",
                rtt_asked_ns=round((10.1 + cell.latency_ms) * 1e6),
                loss=cell.loss_percent / 100, buffer_bytes=110_592,
                jitter_ns=round(cell.jitter_fraction * cell.latency_ms * 1e6),
                json=told(answer={"sizes": [size]}),
            ))  # fmt: skip
    tiny.runs(tmp_path, runs)
    found = Warehouse(tmp_path).rows("transfer_table")
    keys = ["message_mb", "loss_percent", "jitter_fraction", "latency_ms", "transfer_s"]
    assert found.columns[:5] == keys
    assert {uklight.Cell(*row[:4]): row[4] for row in found.select(keys).rows()} == published
    assert set(found["runs"]) == {3}
    low = found["transfer_s_min"] / found["transfer_s"]
    assert low.to_list() == pytest.approx([0.5] * found.height, abs=1e-4)


def test_jitter_without_latency_is_a_share_of_nothing(tmp_path: Path) -> None:
    size = {"message_bytes": 1 << 20, "mean_s": 1.0}
    tiny.runs(tmp_path, [tiny.run("r", jitter_ns=tiny.MS, json=told(answer={"sizes": [size]}))])
    (row,) = rows(tmp_path, "transfer_table")
    assert (row["latency_ms"], row["jitter_fraction"], row["jitter_ms"]) == (0.0, None, 1.0)


def test_app_json_beside_a_hand_written_record_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "mine"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"axes": {"rtt": "5ms"}, "hosts": [{"name": "pc1"}]}')
    phases = [{"name": "busy", "rank": 0, "start_s": 0.5, "end_s": 2.0}]
    application = json.loads(told(ranks=RANKS, phases=phases))["application"]
    (folder / "app.json").write_text(json.dumps(application | {"completion_s": 3.0}))
    run_records.write_table(tmp_path / "runs", tmp_path / "tables" / "runs.parquet", None)
    (row,) = rows(tmp_path, "phase_times")
    assert (row["phase"], row["phase_s"], row["share"], row["rtt_ms"]) == ("busy", 1.5, 0.5, 5.0)


def test_runs_that_do_not_count_are_in_none_of_them(tmp_path: Path) -> None:
    with_transfers(tmp_path)
    record = told(
        ranks=RANKS, answer={"sizes": [{"message_bytes": 1, "mean_s": 1.0}]},
        phases=[{"name": "busy", "rank": 0, "start_s": 0, "end_s": 1}],
    )  # fmt: skip
    one_run(tmp_path, {"pc1": tiny.bins(PC1, PC3, {0: 1})}, json=record, status="invalid")
    for name in NEW:
        assert rows(tmp_path, name) == [], name


NEW = (
    "wan_throughput", "peak_by_ranks", "lightpaths", "throughput_per_core", "transfer_activity",
    "transfer_times", "phase_times", "mpi_costs", "transfer_table",
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("wan_throughput", "no throughput tables"),
        ("lightpaths", "no throughput tables"),
        ("transfer_activity", "no transfers are known"),
        ("phase_times", "application.phases"),
        ("mpi_costs", "app.json"),
        ("transfer_table", "pingpong"),
        ("completion_by_rate", "the rate was not varied"),
        ("limits", "no flow tables"),
    ],
)
def test_an_empty_answer_has_its_header_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, why: str
) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    query([name, str(tmp_path), "--format", "csv"], standalone_mode=False)
    said = capsys.readouterr()
    assert said.out.splitlines()[0].split(",")[0] in ("app", "message_mb")
    assert len(said.out.splitlines()) == 1
    assert said.err.startswith(f"note: {name} has no rows: ")
    assert "; needed: " in said.err
    assert why in said.err
    query([name, str(tmp_path), "--format", "json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out) == []


def test_no_run_that_counts_is_said_first(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", status="failed")])
    assert "no run counts" in str(Warehouse(tmp_path).lack("mpi_costs"))


def test_every_need_is_described(tmp_path: Path) -> None:
    import yaml

    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    warehouse = Warehouse(tmp_path)
    known = yaml.safe_load((reports_folder() / "needs.yaml").read_text(encoding="utf-8"))
    for name in figure_names():
        path = reports_folder() / "figures" / f"{name}.yaml"
        for need in yaml.safe_load(path.read_text(encoding="utf-8")).get("needs", []):
            assert isinstance(warehouse.select(known[need]["ask"]).item(), bool)
            assert set(known[need]) == {"ask", "lacks", "wants"}
