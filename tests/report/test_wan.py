"""Queries on traffic between sites, against numbers computed here in another way."""

from __future__ import annotations

import itertools
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
import tiny
from grid import ADDRESS, HOSTS, PC1, PC2, PC3, PC4, RANKS, SITE, make_record, one_run, rows

from flowsweep.render import page
from flowsweep.warehouse import Warehouse


def test_wide_area_throughput_is_taken_where_it_was_sent(tmp_path: Path) -> None:
    sent = {0: 12_500, 5: 12_500, 10: 50_000}
    one_run(tmp_path, {
        "pc1": tiny.bins(PC1, PC3, sent) + tiny.bins(PC1, PC2, {1: 777_777}),
        "pc3": tiny.bins(PC1, PC3, {0: 999_999}),
    })  # fmt: skip
    found = rows(tmp_path, "wan_throughput")
    # 10 steps of 100 ms: 25,000 and 50,000 bytes, then silence; traffic within a site is left out
    assert [row["wire_bytes"] for row in found] == [25_000, 50_000, *[0] * 8]
    assert [row["max_mbit_s"] for row in found] == [2.0, 4.0, *[0.0] * 8]
    assert [row["mean_mbit_s"] for row in found] == [2.0, 4.0, *[0.0] * 8]
    assert [row["start_s"] for row in found] == [number / 10 for number in range(10)]
    assert {(row["from_site"], row["to_site"], row["step_ms"]) for row in found} == {
        ("west", "east", 100.0)
    }
    assert {row["run_mean_mbit_s"] for row in found} == {0.6}
    # rate over the last 100 ms at each bin: 1 Mbit/s in 5 bins, then 2, 5 and 4 in 5 each, then 0
    names = ("run_p50_mbit_s", "run_p95_mbit_s", "run_p99_mbit_s", "run_peak_mbit_s")
    assert {tuple(row[name] for name in names) for row in found} == {(0.0, 4.0, 5.0, 5.0)}
    assert not any(row["is_far_side"] for row in found)


def test_what_an_uncaptured_host_sent_is_taken_from_the_receiver(tmp_path: Path) -> None:
    one_run(tmp_path, {"pc3": tiny.bins(PC1, PC3, {0: 12_500})})
    found = rows(tmp_path, "wan_throughput")
    assert found[0]["run_peak_mbit_s"] == 1.0
    assert all(row["is_far_side"] for row in found)


def test_a_host_with_two_addresses_is_one_host(tmp_path: Path) -> None:
    """run.json has an entry for each of its addresses; one may be there twice, or lack the site."""
    others = [PC3, "192.168.7.1", PC3]
    hosts = [*HOSTS[:3], *({"name": "pc3", "site": None, "address": one} for one in others)]
    one_run(tmp_path, {"pc3": tiny.bins(PC3, PC1, {0: 12_500})}, hosts=hosts)
    tiny.table(tmp_path, "flows", "r", "pc3", [
        tiny.flow(PC3, PC1, wire_bytes=12_500),
        tiny.flow("192.168.7.1", PC1, wire_bytes=500, src_port=1),
    ])  # fmt: skip
    (host,) = Warehouse(tmp_path).select("select * from hosts where host = 'pc3'").to_dicts()
    assert (host["site"], host["addresses"]) == ("east", [PC3, "192.168.7.1"])
    assert sum(row["wire_bytes"] for row in rows(tmp_path, "wan_throughput")) == 12_500
    assert [row["out_mb"] for row in rows(tmp_path, "totals")] == [0.013]
    counts = {row["site"]: row["hosts"] for row in rows(tmp_path, "throughput_per_core")}
    assert counts == {None: 3, "west": 2, "east": 1}


def test_a_capture_with_many_drops_is_stated(tmp_path: Path) -> None:
    one_run(tmp_path, {"pc1": tiny.bins(PC1, PC3, {0: 12_500})})
    tiny.table(tmp_path, "captures", "r", "pc1", [tiny.capture(dropped_kernel=5_000)])
    assert all(row["is_doubtful"] for row in rows(tmp_path, "wan_throughput"))
    for name in ("peak_by_ranks", "lightpaths", "throughput_per_core"):
        assert {row["doubtful_runs"] for row in rows(tmp_path, name)} == {1}


def test_captures_alone_are_enough_without_sites(tmp_path: Path) -> None:
    """Hand-made runs have only an axis and a time; hosts are guessed from the captures."""
    tiny.runs(tmp_path, [{"run": "r", "rtt_asked_ns": 5 * tiny.MS, "completion_s": 1.0}])
    for host, address, there, size in (("n7", "192.0.2.7", "192.0.2.9", 125_000),
                                       ("n9", "192.0.2.9", "192.0.2.7", 250_000)):  # fmt: skip
        tiny.table(
            tmp_path,
            "captures",
            "r",
            host,
            [tiny.capture(dropped_kernel=None, dropped_interface=None)],
        )
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
    # no rate is known: that of a lightpath is assumed and flagged; each host counts as one rank
    (row,) = rows(tmp_path, "lightpaths", site_a="n7", site_b="n9")
    assert (row["lightpath_mbit_s"], row["is_rate_assumed"], row["peak_mbit_s"]) == (1000, True, 20)
    assert (row["lightpaths"], row["share_of_time"], row["capacity_mbit_s"]) == (1, 1.0, None)
    (row,) = rows(tmp_path, "peak_by_ranks")
    assert (row["ranks"], row["is_ranks_guessed"], row["peak_mbit_s"]) == (2.0, True, 30.2)


@pytest.mark.parametrize(("start_ms", "end_ms"), [(0, 1000), (3, 957), (95, 999), (0, 60)])
def test_steps_cover_the_whole_run_and_all_bytes(
    tmp_path: Path, start_ms: int, end_ms: int
) -> None:
    """The last step is as wide as the rest of the run; traffic outside the run has a row."""
    sizes = {number: 1000 + number for number in range(0, 100, 3)} | {5: 200_000, 99: 70_000}
    one_run(tmp_path, {"pc1": tiny.bins(PC1, PC3, sizes)},
            start=tiny.T0 + start_ms * tiny.MS, end=tiny.T0 + end_ms * tiny.MS)  # fmt: skip
    found = rows(tmp_path, "wan_throughput")
    assert sum(row["wire_bytes"] for row in found) == sum(sizes.values())
    within = [row for row in found if row["is_within"]]
    first, last = start_ms // 10, -(-end_ms // 10)
    assert within[0]["start_s"] == pytest.approx((first * 10 - start_ms) / 1e3)
    assert within[-1]["end_s"] == pytest.approx((last * 10 - start_ms) / 1e3)
    assert all(a["end_s"] == b["start_s"] for a, b in itertools.pairwise(within))
    for row in found:
        width = row["end_s"] - row["start_s"]
        assert row["mean_mbit_s"] == pytest.approx(row["wire_bytes"] * 8e-6 / width, abs=1e-4)
    inside = [sizes.get(number, 0) for number in range(first, last)]
    assert sum(row["wire_bytes"] for row in within) == sum(inside)
    width = min(10, len(inside))
    sums = [sum(inside[max(at - width + 1, 0) : at + 1]) for at in range(len(inside))]
    assert found[0]["run_peak_mbit_s"] == pytest.approx(max(sums) * 8e-4 / width, abs=1e-4)


@pytest.mark.parametrize("shift_ms", range(0, 100, 10))
def test_peaks_do_not_depend_on_where_the_run_begins(tmp_path: Path, shift_ms: int) -> None:
    """A burst of 100 ms has the same peak wherever the run begins."""
    sizes = {40 + number: 10_000 for number in range(10)}
    one_run(tmp_path, {"pc1": tiny.bins(PC1, PC3, sizes)}, start=tiny.T0 + shift_ms * tiny.MS)
    assert {row["run_peak_mbit_s"] for row in rows(tmp_path, "wan_throughput")} == {8.0}
    assert {row["peak_mbit_s"] for row in rows(tmp_path, "lightpaths")} == {8.0}
    assert {row["peak_mbit_s"] for row in rows(tmp_path, "peak_by_ranks")} == {8.0}


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


@pytest.mark.parametrize(("unknown", "expected"), [(40_000, "80 % of the bytes"), (90, "")])
def test_traffic_of_unknown_addresses_is_reported(
    tmp_path: Path, unknown: int, expected: str
) -> None:
    one_run(tmp_path, {"pc1": tiny.bins(PC1, PC3, {0: 10_000})})
    tiny.table(tmp_path, "flows", "r", "pc1", [
        tiny.flow(PC1, PC3, wire_bytes=10_000),
        tiny.flow(PC1, "10.77.9.9", wire_bytes=unknown, src_port=1),
    ])  # fmt: skip
    html = page.build(tmp_path).html.replace("\u00a0", " ")
    assert html.count("went to or came from addresses of no known site") == 2 * bool(expected)
    assert expected in html


@pytest.mark.parametrize(
    ("asked", "capacity", "limited"),
    [
        ({}, 100, set()),
        ({"back": {"rate_bit_s": 20e6, "links": 1}}, 100, set()),
        ({"back": {"rate_bit_s": 0.9e6, "links": 1}}, 100, {"east"}),
        ({"between": ["east", "west"], "back": {"rate_bit_s": 10e6, "links": 1}}, 100, {"east"}),
        ({"between": ["east", "west"], "back": {"rate_bit_s": 5e6, "links": 4}}, 100, set()),
        # An access line limits each direction through it, and the sum of what its site sends.
        ({"uplinks": {"east": {"rate_bit_s": 10e6, "links": 1}}}, 10, {"east"}),
        ({"uplinks": {"west": {"rate_bit_s": 10e6, "links": 2}}}, 20, {"east", "north"}),
        ({"uplinks": {"west": {"rate_bit_s": 30e6, "links": 1}}}, 30, set()),
    ],
)
def test_what_is_near_to_any_limit_may_be_more(
    tmp_path: Path, asked: dict[str, Any], capacity: float, limited: set[str]
) -> None:
    """West sends 9 Mbit/s to each of two sites, east 0.8 back."""
    link = {"between": ["west", "east"], "rate_bit_s": 100e6, "links": 1}
    other = {"between": ["west", "north"], "rate_bit_s": 100e6, "links": 1, "back": None}
    record = {"links": [link | asked, other], "uplinks": asked.get("uplinks", {})}
    every = range(20)
    one_run(tmp_path, {
        "pc1": [*tiny.bins(PC1, PC3, dict.fromkeys(every, 11_250)),
                *tiny.bins(PC1, PC4, dict.fromkeys(every, 11_250))],
        "pc3": tiny.bins(PC3, PC1, dict.fromkeys(every, 1_000)),
    }, json=json.dumps(record))  # fmt: skip
    found = {
        (row["site_a"] if row["site_b"] == "west" else row["site_b"]): row
        for row in rows(tmp_path, "lightpaths")
    }
    assert found["east"]["capacity_mbit_s"] == capacity
    assert {site for site, row in found.items() if row["is_supply_limited"]} == limited


class Traffic:
    """Random traffic of two runs, with its rates computed by plain loops."""

    STEPS = 20

    def __init__(self, directory: Path) -> None:
        chance = random.Random(7)
        self.bins: dict[str, dict[tuple[str, str], list[int]]] = {}
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
                        steps = sums.setdefault(pair, [0] * self.STEPS * 10)
                        for number, size in sizes.items():
                            steps[number] += size
                tiny.table(directory, "captures", run, sender, [tiny.capture()])
                tiny.table(directory, "throughput", run, sender, series)
            self.bins[run] = sums
        links = {"between": ["west", "east"], "rate_bit_s": 1e6, "links": 2}
        record = json.loads(make_record(ranks=RANKS)) | {"links": [links]}
        end = tiny.T0 + self.STEPS * 100 * tiny.MS
        del record["application"]["start"], record["application"]["end"]
        tiny.runs(directory, [
            tiny.run(run, baseline=True, hosts=HOSTS, end=end, json=json.dumps(record),
                     rate_asked_bit_s=2e6)
            for run in ("a", "b")
        ])  # fmt: skip

    def steps(self, run: str, pair: tuple[str, str]) -> list[float]:
        """Returns Mbit/s in each step of one direction."""
        sizes = self.bins[run][pair]
        return [sum(sizes[at : at + 10]) * 8e-5 for at in range(0, len(sizes), 10)]

    def rates(self, run: str, keep: Any) -> list[float]:
        """Returns Mbit/s in the 100 ms up to each bin, summed over the directions kept."""
        kept = [sizes for pair, sizes in self.bins[run].items() if keep(*pair)]
        sums = [sum(sizes) for sizes in zip(*kept, strict=True)]
        return [sum(sums[max(at - 9, 0) : at + 1]) * 8e-5 for at in range(len(sums))]

    def mean(self, run: str, keep: Any) -> float:
        """Returns the mean Mbit/s over the run."""
        kept = [sum(sizes) for pair, sizes in self.bins[run].items() if keep(*pair)]
        return sum(kept) * 8 / (self.STEPS * 0.1) / 1e6


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
        for pair, sizes in truth.bins[run].items():
            series = truth.rates(run, lambda *other, pair=pair: other == pair)
            mean = truth.mean(run, lambda *other, pair=pair: other == pair)
            own = [r for r in found if (r["run"], r["from_site"], r["to_site"]) == (run, *pair)]
            steps = truth.steps(run, pair)
            assert [row["max_mbit_s"] for row in own] == pytest.approx(steps, abs=1e-4)
            assert sum(row["wire_bytes"] for row in own) == sum(sizes)
            for row in own:
                assert row["run_mean_mbit_s"] == pytest.approx(mean, abs=1e-4)
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
    means = [truth.mean(run, lambda *_: True) for run in ("a", "b")]
    assert row["mean_mbit_s"] == pytest.approx(sum(means) / 2, abs=1e-4)
    assert (row["ranks"], row["hosts"], row["is_ranks_guessed"]) == (4.0, 4, False)
    assert row["peak_mbit_s_per_rank"] == pytest.approx(sum(peaks) / 8, abs=1e-4)
    busiest = [
        max(max(truth.rates(run, lambda *o, p=pair: o == p)) for pair in truth.bins[run])
        for run in ("a", "b")
    ]
    assert row["direction_peak_mbit_s"] == pytest.approx(sum(busiest) / 2, abs=1e-4)


def test_lightpaths_are_counted_moment_by_moment(traffic: tuple[Path, Traffic]) -> None:
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
        row = found[site]
        assert (row["ranks"], row["runs"]) == (ranks, 2)
        sent = [truth.mean(run, lambda a, _, s=site: s in (None, a)) for run in ("a", "b")]
        received = [truth.mean(run, lambda _, b, s=site: s in (None, b)) for run in ("a", "b")]
        assert row["sent_mbit_s"] == pytest.approx(sum(sent) / 2 / ranks, abs=1e-4)
        assert row["received_mbit_s"] == pytest.approx(sum(received) / 2 / ranks, abs=1e-4)
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
