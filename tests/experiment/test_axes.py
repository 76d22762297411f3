"""Axes of a sweep, the points made from them, and the specification of each run."""

from __future__ import annotations

import json

import pytest

from flowsweep import experiment
from flowsweep.errors import FlowsweepError
from flowsweep.testbed import describe, emulation, workloads

BASE = """\
sites:
  vu: [a, b]
  uva: 2
  lu: {hosts: [c], uplink: {rate: 500Mbit/s}}
link: {rtt: 1ms, rate: 100Mbit/s}
pairs:
  - {between: [lu, vu], rtt: 5ms}
workload: {app: nqueens, problem: {board: 9, split: 2}}
repetitions: 1
warmup: 0
"""


@pytest.fixture
def load(tmp_path):
    def write(more: str, base: str = BASE):
        path = tmp_path / "three.yaml"
        path.write_text(base + more)
        return experiment.load(path)

    return write


def ids(loaded) -> set[str]:
    return {run.id.removesuffix("-r1") for run in loaded.plan() if not run.id.endswith("r2")}


def test_every_axis_can_be_swept_one_at_a_time(load):
    loaded = load("""
axes:
  rtt: [8ms]
  rate: [80kbit/s]
  loss: [0.1%, 0.01]
  jitter: [20%, 0.5ms]
  links: [2]
  queue: [64KiB]
  buffer: [16KiB]
  congestion: [cubic]
  hosts: [1]
  ranks: [2]
  placement: [vu]
  beside: [nqueens]
  problem: [{board: 8}, {board: 8, split: 3}]
""")
    assert ids(loaded) == {
        "nqueens-baseline",
        "nqueens-rtt_8ms",
        "nqueens-rate_80kbit",
        "nqueens-loss_0.1pct",
        "nqueens-loss_1pct",
        "nqueens-jitter_20pct",
        "nqueens-jitter_500us",
        "nqueens-links_2",
        "nqueens-queue_64KiB",
        "nqueens-buffer_16KiB",
        "nqueens-congestion_cubic",
        "nqueens-hosts_1",
        "nqueens-ranks_2",
        "nqueens-placement_vu",
        "nqueens-beside_nqueens",
        "nqueens-board_8",
        "nqueens-board_8-split_3",
    }


def test_groups_are_grids_and_other_axes_stand_alone(load):
    loaded = load("""
axes: {rtt: [2ms, 4ms], loss: [1%], jitter: [10%], rate: [10Mbit/s]}
design: [[rtt, loss], [rtt, jitter]]
""")
    points = [run.point for run in loaded.plan() if not run.baseline]
    # 3 x 2 and 3 x 2 share the 3 points without loss and jitter; the rate; less the baseline.
    assert len(points) == 6 + 6 - 3 + 1 - 1
    assert not any(point.loss and point.jitter for point in points)
    assert all(point.rtt_ns == 1_000_000 for point in points if point.rate_bit_s == 1e7)


def test_a_group_of_something_unknown_is_refused(load):
    with pytest.raises(FlowsweepError, match='no axis is called "los"'):
        load("design: [[rtt, los]]\n")


def test_a_pair_of_its_own_keeps_it_while_the_axis_moves_the_others(load):
    run = load("").run_at({"rtt": "8ms", "loss": "1%"})
    rtts = {pair: link.rtt_ns for pair, link in run.links.items()}
    assert rtts == {("vu", "uva"): 8_000_000, ("lu", "vu"): 5_000_000, ("uva", "lu"): 8_000_000}
    assert {link.loss for link in run.links.values()} == {0.01}


@pytest.mark.parametrize(
    ("more", "part"),
    [
        ("pairs:\n  - {between: [vu, leiden], rtt: 1ms}\n", 'no site is called "leiden"'),
        ("pairs:\n  - {between: [vu, vu], rtt: 1ms}\n", "no link to itself"),
        (
            "pairs:\n  - {between: [vu, lu]}\n  - {between: [lu, vu]}\n",
            "lu and vu is there twice",
        ),
        ("schedule: [{at: 1s, between: [vu, x], links: 2}]\n", 'no site is called "x"'),
        ("axes: {hosts: [3]}\n", "no site has 3 hosts"),
        ("axes: {links: [0]}\n", "0 is not possible here"),
        ("axes: {loss: [130%]}\n", "not a share"),
        ("axes: {jitter: [7]}\n", "7"),
        ("axes: {placement: [delft]}\n", 'no site is called "delft"'),
        ("axes: {schedule: [x]}\n", 'no schedule is called "x"'),
        ("schedules: {x: [{at: 1s, between: [vu, y], links: 2}]}\n", 'no site is called "y"'),
        ("axes: {placement: [2]}\n", "placement"),
        ("axes: {ranks: [4], ranks_per_host: [2]}\n", "ranks are counted in two ways"),
    ],
)
def test_what_cannot_be_is_refused(load, more, part):
    base = BASE.replace("pairs:\n  - {between: [lu, vu], rtt: 5ms}\n", "")
    with pytest.raises(FlowsweepError) as caught:
        load(more, base)
    assert part in str(caught.value)
    assert "line" in str(caught.value)


def test_a_way_back_can_differ_and_follows_the_axes_in_the_rest(load):
    base = BASE.replace("rtt: 5ms}", "rtt: 5ms, back: {rate: 1Mbit/s, loss: 1%}}")
    run = load("", base).run_at({"rate": "10Mbit/s"})
    (back,) = run.ways_back.values()
    assert (back.rate_bit_s, back.loss, back.rtt_ns) == (1e6, 0.01, 5_000_000)
    assert run.links["lu", "vu"].rate_bit_s == 1e7
    with pytest.raises(FlowsweepError, match="no RTT of its own"):
        load("", BASE.replace("rtt: 5ms}", "back: {rtt: 1ms}}"))


def test_hosts_are_the_first_of_each_site(load):
    run = load("").run_at({"hosts": "1"})
    assert [host.name for host in run.hosts] == ["a", "uva1", "c"]
    assert run.sites == {"vu": ["a"], "uva": ["uva1"], "lu": ["c"]}


SOME_HOSTS = BASE.replace("split: 2}}", "split: 2}, hosts: {vu: 1, uva: 2}}")


def test_a_workload_may_run_on_some_hosts_of_some_sites(load):
    loaded = load(
        "axes: {hosts: [1], placement: [uva]}\n"
        "schedule: [{at: 1s, rate: 10Mbit/s}, {at: 2s, between: [vu, lu], rate: 1Mbit/s}]\n",
        SOME_HOSTS.replace(
            "{between: [lu, vu], rtt: 5ms}", "{between: [lu, vu], back: {loss: 1%}}"
        ),
    )
    run = loaded.run_at({})
    assert run.sites == {"vu": ["a"], "uva": ["uva1", "uva2"]}
    assert run.workers == {"a": 1, "uva1": 1, "uva2": 1}
    spec = run.spec()
    assert spec["axes"]["hosts"] == {"asked": "2"}
    # What concerns another site is in no run.
    assert [link["between"] for link in spec["links"]] == [["vu", "uva"]]
    assert spec["uplinks"] == {}
    assert [change["at_ns"] for change in spec["schedule"]] == [10**9]
    testbed = describe.spec_of(run)
    assert (testbed.sites, testbed.uplinks) == (["vu", "uva"], {})
    assert loaded.run_at({"hosts": "1"}).workers == {"a": 1, "uva1": 1}
    assert loaded.run_at({"placement": "uva"}).workers == {"uva1": 2, "uva2": 1}
    with pytest.raises(FlowsweepError, match='no site is called "lu"'):
        loaded.run_at({"placement": "lu"})


def test_the_program_beside_runs_on_the_same_hosts(load):
    workload = "workload: {app: nqueens, problem: {board: 9, split: 2}}"
    both = "workload:\n- {app: nqueens, hosts: {vu: 1, uva: 2}}\n- {app: jigsaw}"
    loaded = load("axes: {beside: [jigsaw]}\n", BASE.replace(workload, both))
    beside = loaded.find_run("nqueens-beside_jigsaw-r1").beside
    assert beside.workers == {"a": 1, "uva1": 1, "uva2": 1}


@pytest.mark.parametrize(
    ("hosts", "more", "part"),
    [
        ("{vu: 1, delft: 1}", "", 'no site is called "delft"'),
        ("{vu: 3, uva: 1}", "", "nqueens: vu has 2 hosts"),
        ("{vu: 1, uva: 0}", "", "hosts"),
        ("{vu: 2}", "", "nqueens: 1 site cannot be a network"),
        ("{vu: 1, uva: 1}", "axes: {hosts: [2]}\n", "no site has 2 hosts"),
        ("{vu: 1, uva: 1}", "axes: {placement: [lu]}\n", 'no site is called "lu"'),
    ],
)
def test_hosts_that_a_workload_cannot_have_are_refused(load, hosts, more, part):
    base = BASE.replace("split: 2}}", f"split: 2}}, hosts: {hosts}}}")
    with pytest.raises(FlowsweepError) as caught:
        load(more, base)
    assert part in str(caught.value)
    assert "line" in str(caught.value)


def test_ranks_in_all_are_dealt_over_sites_then_hosts(load):
    loaded = load("")
    assert loaded.run_at({}).workers == {"a": 1, "b": 1, "uva1": 1, "uva2": 1, "c": 1}
    assert loaded.run_at({"ranks": "2"}).workers == {"a": 1, "uva1": 1}
    assert loaded.run_at({"ranks": "6"}).workers == {"a": 2, "b": 1, "uva1": 1, "uva2": 1, "c": 1}
    assert sum(loaded.run_at({"ranks_per_host": "3"}).workers.values()) == 15


def test_one_cluster_has_the_ranks_of_all_sites(load):
    loaded = load("axes: {placement: [uva]}\n")
    run = loaded.run_at({"placement": "uva"})
    assert run.workers == {"uva1": 3, "uva2": 2}
    assert sum(run.workers.values()) == sum(loaded.run_at({}).workers.values())
    assert run.first_host == "uva1"
    assert loaded.run_at({}).first_host == "a"
    assert loaded.run_at({"placement": "lu", "ranks": "3"}).workers == {"c": 3}
    assert loaded.run_at({"placement": "vu", "ranks_per_host": "2"}).workers == {"a": 5, "b": 5}
    spec = run.spec()
    assert spec["axes"]["placement"] == {"asked": "uva"}
    assert spec["axes"]["ranks"] == {"asked": "5"}
    assert "ranks_per_host" not in spec["axes"]
    # The other hosts exist but are idle: the network is the same.
    assert spec["sites"] == loaded.run_at({}).spec()["sites"]
    with pytest.raises(FlowsweepError, match='no site is called "delft"'):
        loaded.run_at({"placement": "delft"})


def test_a_master_is_at_the_site_of_the_ranks(load, tmp_path):
    base = BASE.replace("nqueens, problem: {board: 9, split: 2}", "nqueens, problem: {board: 8}")
    run = load("", base).run_at({"placement": "uva"})
    made = workloads.find(run.workload).on(describe.spec_of(run), run, tmp_path / "app.json")
    assert made.ranks == ["uva1", "uva1", "uva1", "uva1", "uva2", "uva2"]


SCHEDULES = """
schedules:
  at-start: [{at: 2s, rate: 10Mbit/s}]
  on-demand: [{at: 2s, between: [vu, uva], links: 2}, {at: 4s, links: 1}]
schedule: [{at: 9s, links: 3}]
"""


def test_a_schedule_by_name_is_a_point_and_stands_in_place_of_the_common_one(load):
    loaded = load(SCHEDULES + "axes: {schedule: [at-start, on-demand]}\n")
    assert ids(loaded) == {
        "nqueens-baseline",
        "nqueens-schedule_at_start",
        "nqueens-schedule_on_demand",
    }
    base, start, demand = (
        loaded.run_at({"schedule": name} if name else {}) for name in ("", "at-start", "on-demand")
    )
    assert [change["at_ns"] for change in base.spec()["schedule"]] == [9 * 10**9]
    assert start.spec()["schedule"] == [{"at_ns": 2 * 10**9, "between": None, "rate_bit_s": 1e7}]
    assert start.spec()["axes"]["schedule"] == {"asked": "at-start"}
    assert "schedule" not in base.spec()["axes"]
    assert len({run.spec_hash() for run in (base, start, demand)}) == 3
    # The links begin as at the baseline; each change has a pair and its new values.
    assert start.links == base.links
    made = describe.spec_of(demand).schedule
    assert [(one.at_ns, one.link.a, one.link.b, one.link.links, one.changed) for one in made] == [
        (2 * 10**9, "vu", "uva", 2, ["links"]),
        (4 * 10**9, "vu", "uva", 1, ["links"]),
    ]


def test_the_record_says_what_each_change_made_of_which_link(load):
    spec = describe.spec_of(load(SCHEDULES).run_at({"schedule": "on-demand"}))
    record = {"changes": [{"time_ns": 7, "change": "schedule[1]"}], "seed": 3}
    assert emulation.with_links(spec, record) == {
        "seed": 3,
        "changes": [
            {"time_ns": 7, "change": "schedule[1]", "between": ["vu", "uva"],
             "rtt_ns": 1_000_000, "rate_bit_s": 1e8, "links": 1},
        ],
    }  # fmt: skip


def test_a_number_of_ranks_that_is_the_baseline_is_no_point_of_its_own(load):
    assert "nqueens-ranks_5" not in ids(load("axes: {ranks: [2, 5]}\n"))


def test_workloads_have_axes_and_problems_of_their_own(load):
    base = BASE.replace(
        "workload: {app: nqueens, problem: {board: 9, split: 2}}",
        "workload:\n"
        "  - {app: nqueens, axes: {rate: [1Mbit/s], problem: [{board: 8}]}}\n"
        "  - {app: lu, problem: {size: 100, grid: [2, 2]}}",
    )
    loaded = load("axes: {rate: [10Mbit/s], rtt: [8ms]}\n", base)
    assert ids(loaded) == {
        "nqueens-baseline",
        "nqueens-rtt_8ms",
        "nqueens-rate_1Mbit",
        "nqueens-board_8",
        "lu-baseline",
        "lu-rtt_8ms",
        "lu-rate_10Mbit",
    }
    assert loaded.run_at({"workload": "lu", "problem.size": "7"}).spec()["problem"] == {
        "size": 7,
        "grid": [2, 2],
    }


def test_each_problem_has_a_baseline(load):
    runs = load("axes: {problem: [{board: 8}], rtt: [8ms]}\ndesign: grid\n").plan()
    assert {run.id for run in runs if run.baseline} == {
        "nqueens-baseline-r1",
        "nqueens-baseline-r2",
        "nqueens-board_8-r1",
    }


VARIANTS = (
    "workload: {app: nqueens, problem: {board: 9, split: 2}}",
    "workload: {app: nqueens, problem: {board: 9, split: 2}, variants: %s}",
)


def varied(load, variants: str, more: str = ""):
    return load(more, BASE.replace(VARIANTS[0], VARIANTS[1] % variants))


def test_a_variant_is_a_point_of_the_same_problem(load):
    loaded = varied(load, "{no-split: {split: 1}, b: {board: 8}}", "axes: {rtt: [8ms]}\n")
    assert ids(loaded) == {
        "nqueens-baseline", "nqueens-rtt_8ms", "nqueens-variant_no_split", "nqueens-variant_b"
    }  # fmt: skip
    run = loaded.run_at({"variant": "no-split"})
    assert json.loads(run.problem) == {"board": 9, "split": 1}
    spec = run.spec()
    assert spec["problem"] == {"board": 9, "split": 2}
    assert spec["variant"] == {"split": 1}
    assert spec["axes"]["variant"] == {"asked": "no-split"}
    assert not spec["baseline"]
    assert "variant=no-split" in run.summary()
    # The definition behind a name decides the outcome.
    other = varied(load, "{no-split: {split: 3}}").run_at({"variant": "no-split"})
    assert run.spec_hash() != other.spec_hash()


def test_variants_cross_other_axes(load):
    loaded = varied(load, "{x: {split: 1}}", "axes: {rtt: [8ms]}\ndesign: [[rtt, variant]]\n")
    assert "nqueens-rtt_8ms-variant_x" in ids(loaded)


def test_a_problem_without_variants_has_the_runs_that_it_had(load):
    spec = load("").run_at({}).spec()
    assert "variant" not in spec
    assert "variant" not in spec["axes"]


@pytest.mark.parametrize(("variants", "parts"), [
    ("{a: {split: 2}}", ["variant a is the same as `problem`", '{"split": 2}', "other values"]),
    ("{a: {split: 1}, b: {split: 1}}", ["variant b is the same as variant a"]),
    ("{a: {}}", ["variant a is the same as `problem`"]),
    ("{A_b: {split: 1}}", ["A_b", "variants"]),
    ("[{split: 1}]", ["workload.variants"]),
    ("{a: 1}", ["workload.variants.a"]),
])  # fmt: skip
def test_variants_that_cannot_be_are_refused(load, variants, parts):
    with pytest.raises(FlowsweepError) as caught:
        varied(load, variants)
    for part in [*parts, "three.yaml, line", "found", "expected", "remedy"]:
        assert part in str(caught.value)


def test_a_variant_that_the_workload_has_not_is_refused(load):
    with pytest.raises(FlowsweepError, match='no variant "y"') as caught:
        varied(load, "{x: {split: 1}}").run_at({"variant": "y"})
    assert "one of x" in str(caught.value)


def test_variants_stand_beside_the_axes(load):
    with pytest.raises(FlowsweepError, match="unknown key"):
        load("axes: {variant: [x]}\n")


def test_long_problems_have_short_ids_that_differ(load):
    long = ", ".join(f"parameter{number}: {number}" for number in range(20))
    loaded = load(f"axes: {{problem: [{{{long}, x: 1}}, {{{long}, x: 2}}, {{file: a/b}}]}}\n")
    runs = [run.id for run in loaded.plan()]
    assert len(set(runs)) == len(runs)
    assert all(len(run) < 100 and "/" not in run for run in runs)


def test_a_workload_is_an_app_or_a_command(load):
    base = BASE.replace("app: nqueens", "app: nqueens, command: date")
    with pytest.raises(FlowsweepError, match="one of `app` and `command`"):
        load("", base)
    assert load("", BASE.replace("app: nqueens", "command: date")).plan()[0].app == "command"
