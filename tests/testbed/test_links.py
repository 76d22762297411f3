"""From an experiment's links to flowsweep-wan's input and to the commands for netem."""

from __future__ import annotations

import math
import shutil
import subprocess

import pytest

from flowsweep import experiment
from flowsweep.errors import FlowsweepError
from flowsweep.experiment.axes import AXES
from flowsweep.testbed import describe, emulation, netem
from flowsweep.testbed.slurm import links as slurm_links

EXPERIMENT = """\
sites: {west: 2, east: 1}
link: {rtt: 20ms, rate: 100Mbit/s}
workload: {app: nqueens}
"""
THREE = EXPERIMENT.replace("east: 1", "east: 1, south: 1")


@pytest.fixture
def spec(tmp_path):
    def make(text: str = EXPERIMENT, **settings: str):
        path = tmp_path / "links.yaml"
        path.write_text(text)
        return describe.spec_of(experiment.load(path).run_at(settings))

    return make


def link_with(spec, more: str):
    return spec(EXPERIMENT.replace("100Mbit/s}", f"100Mbit/s, {more}}}"))


def test_a_plain_link_is_delay_rate_and_queue(spec):
    assert emulation.config(spec())["links"] == [
        {"a": "west", "b": "east", "delay_ns": 10_000_000, "rate_bit_s": 100_000_000,
         "queue_bytes": 250_000}
    ]  # fmt: skip


def test_what_is_asked_for_reaches_the_emulator(spec):
    asked = (
        "loss: 1%, loss_burst: 4, jitter: 20%, jitter_law: pareto, duplicate: 0.1%, links: 2, "
        "discipline: codel, queue_packets: 50, reorder: true"
    )
    (link,) = emulation.config(link_with(spec, asked))["links"]
    assert link["jitter"] == {"std_ns": 2_000_000, "law": "pareto"}
    assert link["loss"]["r"] == 0.25
    mean = link["loss"]["p"] / (link["loss"]["p"] + link["loss"]["r"])
    assert mean == pytest.approx(0.01)
    assert (link["duplicate"], link["parallel"], link["reorder"]) == (0.001, 2, True)
    assert link["queue"] == {
        "bytes": 250_000,
        "packets": 50,
        "discipline": "codel",
        "target_ns": 5_000_000,
        "interval_ns": 100_000_000,
    }


def test_every_axis_of_sockets_is_in_the_description(spec):
    """Fields come from AXES, so that a new axis cannot be forgotten."""
    made = vars(spec(buffer="64KiB", congestion="reno"))
    sockets = {
        axis.field: made[axis.field] for axis in AXES.values() if axis.applies_to == "sockets"
    }
    asked = {field: value for field, value in sockets.items() if value is not None}
    assert asked == {"buffer_bytes": 65_536, "congestion": "reno"}


def test_hosts_are_reported_alike_of_every_kind(spec):
    """All kinds of testbed apply the settings in the specification and derive none themselves."""
    assert spec().asked_settings == {}
    asked = spec(buffer="64KiB").asked_settings
    assert asked == dict.fromkeys(("tcp_rmem", "tcp_wmem"), "4096 65536 65536")
    small = spec(buffer="2KiB").asked_settings
    assert small["tcp_wmem"] == "2048 2048 2048"


def test_settings_of_a_workload_are_distinguished_from_those_of_routes(spec):
    text = EXPERIMENT.replace("nqueens}", "nqueens, tcp: {tcp_sack: 0, quickack: 1}}")
    made = spec(text, congestion="reno")
    assert made.asked_settings == {"tcp_sack": "0"}
    assert made.route_options == "congctl reno quickack 1"
    assert (spec().asked_settings, spec().route_options) == ({}, "")


def test_routes_of_real_machines_stay_as_they_are(tmp_path):
    path = tmp_path / "machines.yaml"
    path.write_text(
        "sites: {west: [pc1], east: [pc2]}\n"
        "testbed: {kind: ssh, hosts: {pc1: {login: a, address: 192.0.2.1}, "
        "pc2: {login: b, address: 192.0.2.2}}}\n"
        "workload: {app: nqueens, tcp: {quickack: 1}}\n"
    )
    with pytest.raises(FlowsweepError, match="routes of real machines stay as they are"):
        experiment.load(path)


def test_the_disciplines_of_either_way_are_tried(spec):
    assert "codel" not in netem.list_trials(spec())
    back = "pairs: [{between: [east, west], back: {discipline: codel}}]\n"
    assert "codel" in netem.list_trials(spec(EXPERIMENT + back))


def test_a_way_back_says_only_what_differs(spec):
    own = "pairs: [{between: [east, west], back: {rate: 1Mbit/s, queue: 64KiB}}]\n"
    made = spec(EXPERIMENT + own)
    (link,) = emulation.config(made)["links"]
    assert (link["a"], link["b"], link["rate_bit_s"]) == ("east", "west", 100_000_000)
    assert link["b_to_a"] == {"rate_bit_s": 1_000_000, "queue_bytes": 65_536}
    rates = [line for line in netem.commands(made) if " htb rate" in line]
    assert ["dev up-west" in line for line in rates] == [
        "rate 1000000bit" in line for line in rates
    ]


def test_the_idle_path_is_measured_without_what_disturbs(spec):
    made = link_with(spec, "loss: 1%, jitter: 1ms, duplicate: 1%, links: 2")
    (link,) = emulation.config(made, undisturbed=True)["links"]
    assert set(link) == {"a", "b", "delay_ns", "rate_bit_s", "queue_bytes", "parallel"}


def test_a_schedule_changes_only_what_it_says(spec):
    text = (
        THREE + "schedule:\n  - {at: 5s, between: [east, west], links: 2}\n  - {at: 9s, rtt: 4ms}\n"
    )
    config = emulation.config(spec(text))
    assert config["schedule_waits"] is True
    assert config["schedule"][0] == {"at_ns": 5 * 10**9, "a": "west", "b": "east", "parallel": 2}
    later = [(entry["a"], entry["b"], entry["delay_ns"]) for entry in config["schedule"][1:]]
    assert later == [("west", "east", 2_000_000), ("west", "south", 2_000_000),
                     ("east", "south", 2_000_000)]  # fmt: skip


def test_netem_between_nodes_of_slurm_has_the_words_that_it_has_in_namespaces(spec):
    made = link_with(spec, "loss: 1%")
    commands = {name: text.splitlines() for name, text in slurm_links.batches(made).items()}
    assert commands["netem.tc"] == netem.commands(made)
    assert (
        "qdisc add dev wan-east root handle 11: netem limit 4167 delay 10000.000us loss random 1%"
        in (commands["netem.tc"])
    )
    assert any(" htb rate 100000000bit " in line for line in commands["netem.tc"])
    # Every interface with a discipline is created, and each bridge learns each host once.
    made_here = " ".join(commands["netem.ip"])
    assert all(device in made_here for device in netem.devices(made))
    for host in made.hosts:
        assert [line.split()[4] for line in commands["netem.bridge"] if host.mac in line] == [
            f"vx-{host.site}",
            f"wan-{host.site}",
        ]


def test_netem_is_refused_between_nodes_where_it_cannot_make_the_links(spec):
    text = EXPERIMENT.replace("100Mbit/s}", "100Mbit/s, links: 2}")
    with pytest.raises(FlowsweepError, match="netem cannot be used") as refused:
        slurm_links.overlay(spec(text + "emulation: {backend: netem}\n"), [], "10.0.0.1")
    assert refused.value.found == "netem cannot do parallel links"


def test_links_between_nodes_of_slurm_have_no_schedule(spec):
    changing = spec(EXPERIMENT + "schedule: [{at: 5s, links: 2}]\n")
    with pytest.raises(FlowsweepError, match="do not change while a program runs"):
        slurm_links.overlay(changing, [], "10.0.0.1")


def test_overhead_and_uplinks(spec):
    text = EXPERIMENT.replace("east: 1", "east: {hosts: 1, uplink: {rate: 1Gbit/s, links: 2}}")
    config = emulation.config(spec(text + "emulation: {overhead: ethernet}\n"))
    assert (config["overhead_bytes"], config["least_frame_bytes"]) == (24, 60)
    assert config["ports"][1]["uplink"]["parallel"] == 2
    assert "uplink" not in config["ports"][0]


def test_netem_has_room_for_twice_the_bandwidth_delay_product(spec):
    (link,) = spec(rate="1Gbit/s", rtt="64ms").links
    in_flight = 1e9 * 32e-3 / 8 / 1514
    assert netem.limit_packets(link) >= 2 * in_flight
    assert netem.limit_packets(spec().links[0]) >= 1000


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("jitter: 1ms, jitter_law: normal", ["1000.000us distribution normal", "rate 100gbit"]),
        ("jitter: 1ms, jitter_law: uniform", [f"{1000 * math.sqrt(3):.3f}us", "rate 100gbit"]),
        ("loss: 1%", ["loss random 1%"]),
        ("loss: 1%, loss_burst: 5", ["loss gemodel 0.2020202% 20% 100% 0%"]),
        ("duplicate: 2%", ["duplicate 2%"]),
    ],
)
def test_netem_gets_what_is_asked(spec, asked, words):
    line = netem.netem(link_with(spec, asked).links[0])
    assert all(word in line for word in words), line


def test_netem_reorders_only_if_asked(spec):
    assert "rate" not in netem.netem(link_with(spec, "jitter: 1ms, reorder: true").links[0])


@pytest.mark.parametrize("more", ["links: 2", "queue_packets: 10"])
def test_netem_is_not_taken_for_what_it_cannot_do(spec, more):
    assert netem.find_unable(spec()) is None
    assert netem.find_unable(link_with(spec, more)) is not None


def test_disciplines_lie_between_the_sites_in_the_middle(spec):
    lines = netem.commands(spec())
    devices = {line.split(" dev ")[1].split()[0] for line in lines}
    assert devices == {"up-west", "up-east", "wan-west", "wan-east"}
    assert all("dev wan-" in line for line in lines if "netem" in line)
    assert all("dev up-" in line for line in lines if "htb" in line)


def test_with_three_sites_each_origin_and_destination_has_its_own(spec):
    lines = netem.commands(spec(THREE))
    to_south = [line for line in lines if line.startswith("filter add dev wan-south")]
    assert [line.split("match ")[1] for line in to_south] == [
        "ip src 10.77.1.0/24 flowid 1:1",
        "ip src 10.77.2.0/24 flowid 1:2",
    ]
    assert sum("netem" in line for line in lines) == 6


def test_tc_reads_every_command(spec, namespaces):
    """The kernel may lack a discipline; `tc` itself must understand every word."""
    if shutil.which("tc") is None:
        pytest.skip("no `tc`")
    asked = (
        "loss: 1%, loss_burst: 4, jitter: 1ms, jitter_law: normal, duplicate: 0.1%, "
        "discipline: codel"
    )
    text = THREE.replace("100Mbit/s}", f"100Mbit/s, {asked}}}")
    ip, _ = netem.bridge_commands(spec(text))
    lines = netem.commands(spec(text + "emulation: {overhead: ethernet}\n"))
    links = [
        f"link add up-{site} type veth peer name wan-{site}" for site in ("west", "east", "south")
    ]
    script = (
        "printf '%s\\n' \"$1\" | ip -batch - || exit 9; printf '%s\\n' \"$2\" | tc -force -batch -"
    )
    done = subprocess.run(
        ["unshare", "--user", "--map-current-user", "--keep-caps", "--net",
         "sh", "-c", script, "sh", "\n".join([*links, *ip]), "\n".join(lines)],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode != 9, done.stderr
    errors = [line for line in done.stderr.splitlines() if not line.startswith("Command failed")]
    # Errors of a kernel without a discipline, and the errors that follow for its children.
    lacking = ("qdisc kind is unknown", "class not found", "Failed to find specified qdisc",
               "Parent Qdisc doesn't exist", "We have an error talking to the kernel",
               "TC classifier not found")  # fmt: skip
    assert [line for line in errors if not any(known in line for known in lacking)] == []


def test_counters_of_both_stages_make_one_link():
    queue = {"packets": 100, "drops": 7, "qlen": 2}
    delay = {"packets": 98, "drops": 3, "qlen": 1}
    link = netem.link_record("west", "east", queue, delay)
    assert link["received"] == 109
    assert link["duplicated"] == 2
    dropped = link["dropped_queue"] + link["dropped_loss"]
    total = link["delivered"] + dropped + link["in_flight"]
    assert link["received"] + link["duplicated"] == total
