"""The emulator in network namespaces: delay, rate, conservation, transparency, and its end."""

from __future__ import annotations

import json
import re
import signal
import statistics
import subprocess
import time

import pytest
from laboratory import read_fates

MS = 1_000_000
EAST = "10.77.2.1"


def round_trips_ms(laboratory, count=50):
    """Returns RTTs of pings from west to east, after one that resolves the address."""
    laboratory.run("west", "ping", "-q", "-c", 1, EAST)
    text = laboratory.run("west", "ping", "-c", count, "-i", 0.01, EAST)
    times = [float(time) for time in re.findall(r"time=([\d.]+)", text)]
    assert len(times) == count, text
    return times


@pytest.mark.parametrize("rtt_ms", [0, 0.3, 2, 16, 64])
def test_ping_gives_the_asked_round_trip_time(laboratory, measurement, rtt_ms):
    def measure():
        with laboratory.wan(delay_ns=int(rtt_ms * MS / 2)) as emulator:
            return round_trips_ms(laboratory), emulator.stop()["lateness_ns"]["p50"] / MS

    def check(found):
        times, late_ms = found
        assert min(times) >= rtt_ms
        # The median, because a shared machine delays single packets. The emulator's lateness
        # counts both directions together.
        assert statistics.median(times) - 2 * late_ms <= rtt_ms * 1.05 + 0.2, late_ms

    measurement(measure).holds(check)


@pytest.mark.parametrize(
    ("rate", "frame_bytes", "queue_bytes"),
    [(80e3, 200, 2_000), (1e6, 1_000, 20_000), (10e6, 1_514, 200_000), (100e6, 1_514, 1_000_000)],
)
def test_flood_at_twice_the_rate_gives_the_asked_rate(
    laboratory, measurement, rate, frame_bytes, queue_bytes
):
    link = {"delay_ns": MS, "rate_bit_s": rate, "queue_bytes": queue_bytes}
    file = laboratory.folder / "flood.bin"

    def measure():
        sent_before = laboratory.frames("west", "tx_packets")
        taken_before = laboratory.frames("east", "rx_packets")
        with laboratory.wan(options=("--fates", file), **link) as emulator:
            receiver = laboratory.python("east", "udp.py", "receive")
            assert receiver.stdout.readline() == "ready\n"
            sender = laboratory.python("west", "udp.py", "send", EAST, 2 * rate, 1.5, frame_bytes)
            while sender.poll() is None:
                emulator.stats()  # the invariant holds in mid-flight, too
                time.sleep(0.05)
            frame_bytes_came, span_ns = map(int, receiver.communicate()[0].split())
            stats = emulator.stop()
        west, east = stats["ports"][:2]
        there = stats["links"][0]
        assert there["in_flight"] == 0
        sent = laboratory.frames("west", "tx_packets") - sent_before
        assert sent == there["received"] + west["filtered"] + west["kernel_dropped"]
        assert laboratory.frames("east", "rx_packets") - taken_before == there["delivered"]
        assert east["kernel_dropped"] == 0
        return frame_bytes_came, span_ns, idle_ns(file, frame_bytes), there["dropped_queue"]

    def check(found):
        frame_bytes_came, span_ns, idle_ns, dropped = found
        assert dropped > 0
        assert frame_bytes_came * 8e9 / (span_ns - idle_ns) == pytest.approx(rate, rel=0.02), found

    measurement(measure).holds(check)


def idle_ns(file, frame_bytes):
    """Returns how long the line to the east was idle because the sender did not get the CPU.

    From the first to the last delivered frame of this length.
    """
    frames = read_fates(file)
    ours = frames[(frames["link"] == 0) & (frames["fate"] == 0) & (frames["bytes"] == frame_bytes)]
    gaps = ours["arrive_ns"][1:] - ours["depart_ns"][:-1]
    return int(gaps[gaps > 0].sum())


def test_frames_arrive_byte_for_byte(laboratory):
    mac = {
        site: laboratory.run(site, "cat", "/sys/class/net/exp0/address").strip().replace(":", "")
        for site in ("west", "east")
    }
    pair = mac["east"] + mac["west"]
    body = bytes(range(256)).hex()
    frames = [
        pair + "88b5" + body,
        pair + "8100" + "2064" + "88b5" + body,  # VLAN 100, priority 1
        pair + "88a8" + "00c8" + "8100" + "0064" + "88b5" + body,  # two tags
        "ffffffffffff" + mac["west"] + "88b5" + body,
        "3333000000fb" + mac["west"] + "86dd" + body,
        pair + "0005" + "aabb03" + "00" * 43,  # 802.3 length instead of a type
        pair + "88b5" + bytes(9_000).hex(),
        pair + "8100" + "0064" + "88b5" + bytes(8_996).hex(),
    ]
    laboratory.forget_neighbours()
    with laboratory.wan(delay_ns=MS):
        receiver = laboratory.python("east", "frames.py", "receive")
        assert receiver.stdout.readline() == "ready\n"
        sender = laboratory.command("west", "python3", laboratory.script("frames.py"), "send")
        subprocess.run(sender, input="\n".join(frames), text=True, check=True)
        received = receiver.communicate()[0].split()
    assert received == frames


def test_three_sites_learn_where_a_host_is(laboratory):
    with laboratory.wan(sites=3, delay_ns=MS) as emulator:
        round_trips_ms(laboratory, count=20)
        stats = emulator.stop()
    frames = {(link["from"], link["to"]): link["received"] for link in stats["links"]}
    assert len(frames) == 6
    assert frames["west", "east"] >= 21
    # Only frames before the address was known, such as the ARP request, go everywhere.
    assert frames["west", "north"] <= 3
    assert frames["east", "north"] == frames["north", "west"] == 0


def test_signal_ends_after_delivering_what_is_queued(laboratory):
    # Long enough for a late sender.
    with laboratory.wan(delay_ns=2_000 * MS) as emulator:
        laboratory.run(
            "west", "ip", "neigh", "replace", EAST, "lladdr", "02:00:00:00:00:99", "dev", "exp0"
        )
        sender = laboratory.python("west", "udp.py", "send", EAST, 1e6, 0.2, 1_000)
        sent = int(sender.communicate()[0])
        assert emulator.stats()["links"][0]["in_flight"] > 0
        stats = emulator.stop()
        laboratory.run("west", "ip", "neigh", "del", EAST, "dev", "exp0")
    link = stats["links"][0]
    assert link["in_flight"] == 0
    assert link["delivered"] >= sent > 0
    assert not emulator.control.exists()


def test_second_signal_ends_at_once(laboratory):
    with laboratory.wan(delay_ns=30_000 * MS) as emulator:
        laboratory.python("west", "udp.py", "send", EAST, 1e6, 0.1, 1_000).communicate()
        assert emulator.signal(signal.SIGTERM, signal.SIGTERM) == 0
        stats = json.loads(emulator.stats_file.read_text())
    assert stats["links"][0]["in_flight"] > 0


def test_socket_left_by_a_killed_emulator_is_replaced(laboratory):
    with laboratory.wan() as emulator:
        emulator.signal(signal.SIGKILL)
        assert emulator.control.exists()
        assert not emulator.stats_file.exists()
    with laboratory.wan() as emulator:
        assert emulator.stats()["links"][0]["received"] == 0
        emulator.stop()
    assert not emulator.control.exists()


def test_missing_interface_ends_with_a_remedy(laboratory, tmp_path):
    config = {
        "ports": [{"name": "a", "interface": "up-west"}, {"name": "b", "interface": "up-nowhere"}],
        "links": [{"a": "a", "b": "b"}],
    }
    (tmp_path / "wan.json").write_text(json.dumps(config))
    arguments = ["--config", tmp_path / "wan.json", "--control", tmp_path / "wan.sock"]
    program = laboratory.command("hub", laboratory.program, *arguments)
    result = subprocess.run(program, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "interface up-nowhere does not exist" in result.stderr
    assert "remedy" in result.stderr
    assert result.stdout == ""
    assert not (tmp_path / "wan.sock").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "EOF while parsing"),
        ('{"ports": [], "links": [], "port": 1}', "unknown field `port`"),
        ('{"ports": [{"name": "a", "interface": "x"}], "links": []}', "at least two"),
    ],
)
def test_bad_configuration_ends_with_place_and_remedy(wan_program, tmp_path, text, message):
    (tmp_path / "wan.json").write_text(text)
    arguments = ["--config", tmp_path / "wan.json", "--control", tmp_path / "wan.sock"]
    result = subprocess.run([wan_program, *arguments], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    for part in ("error: ", "wan.json", message, "found", "expected", "remedy"):
        assert part in result.stderr
