"""Clocks and delays from packets: testbed runs with changed timestamps, and generated captures.

The hosts of the kept demo are namespaces of one machine, so their clocks differ by 0. Its
manifests predate the entry that says so: only the packets can show it.
"""

from __future__ import annotations

import json
import random

import polars as pl
import pytest
from build import START_NS, ethernet, ip, pcap, udp
from spoiled import DEMO, change, copy_run

from flowsweep.matching import hosts, tables

MS = 1_000_000
#: Largest median error of the repaired clock.
CLOSE = 5_000
KEYS = ["sender", "packet_sent"]


def write(run, folder):
    """Matches a run; returns its summary, and its tables `clocks` and `one_way`."""
    summary = tables.write(hosts.find([run], {}), folder)
    return summary, *(pl.read_parquet(folder / f"{name}.parquet") for name in ("clocks", "one_way"))


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """Delays of a run without correction: the emulator's hosts share one clock."""
    folder = tmp_path_factory.mktemp("honest")
    found = {}
    for run in ("nqueens-rtt_64ms-r1", "nqueens-baseline-r1"):
        tables.write(hosts.find([DEMO / run], {}), folder / run)
        rows = pl.read_parquet(folder / run / "fates.parquet").filter(fate="delivered")
        delay = (pl.col("time_received") - pl.col("time_sent")).dt.total_nanoseconds()
        found[run] = rows.select(*KEYS, "receiver", "time_sent", true_ns=delay)
    return found


@pytest.mark.parametrize("run", ["nqueens-rtt_64ms-r1", "nqueens-baseline-r1"])
@pytest.mark.parametrize("kind", ["offset", "drift", "step"])
def test_a_changed_clock_is_repaired(kind, run, tmp_path, honest):
    spoiled = copy_run(DEMO / run, tmp_path / "run")
    truth = honest[run]
    begin, end = (truth["time_sent"].dt.timestamp("ns").sort()[n] for n in (0, -1))
    middle = (begin + end) // 2
    changes = {
        "offset": lambda time: time + 50 * MS,
        "drift": lambda time: time + (time - begin) * 30 // 10**6,
        "step": lambda time: time + (MS if time > middle else 0),
    }
    change(spoiled, "pc3", lambda _, time: changes[kind](time))
    _, clocks, rows = write(spoiled, tmp_path / "out")
    rows = rows.join(truth, on=KEYS).filter(pl.col("delay_ns").is_not_null())
    # Nearly all: while a clock is being set, packets in transit are unknown.
    assert rows.height > 0.9 * truth.height
    off = (rows["delay_ns"] - rows["true_ns"]).abs()
    assert off.median() < CLOSE
    assert (off <= rows["delay_error_ns"]).all()
    pieces = clocks.filter(host="pc3")
    if kind == "offset":
        assert ((pieces["offset_ns"] - 50 * MS).abs() <= pieces["offset_error_ns"]).all()
    if kind == "step":
        assert pieces.height == 2
        assert abs(pieces["offset_ns"][1] - pieces["offset_ns"][0] - MS) < 4 * CLOSE


def lab(folder, seed, *, offset=0, drift=0.0, both=True, back_at=None, back_by=0):
    """Builds captures of a and b, 5 ms apart, with a wrong clock at b; true delays by number."""
    drawn = random.Random(seed)
    begin, span = 0, 20 * 10**9
    sent = {"a": [], "b": []}
    seen = {"a": [], "b": []}
    delays = {}

    def stamp(host, time):
        if host == "a":
            return time
        jump = back_by if back_at is not None and time > begin + back_at else 0
        return time + offset + round((time - begin) * drift) - jump

    for sender, receiver in (("a", "b"), ("b", "a"))[: 2 if both else 1]:
        base = drawn.randrange(2 * MS, 8 * MS)
        for number in range(1500):
            time = begin + drawn.randrange(span)
            delay = base + round(drawn.expovariate(1 / 50_000))
            ends = {"a": "10.0.0.1", "b": "10.0.0.2"}
            payload = number.to_bytes(8, "big")
            header = bytes([0, 5, 0, 6, 0, 16, 0, 0])
            frame = ethernet(
                ip(ends[sender], ends[receiver], 17, header + payload, ident=1 + number)
            )
            seen[sender].append((time, frame, True))
            seen[receiver].append((time + delay, frame, False))
            sent[sender].append((time, delay))
    for host, packets in seen.items():
        # In the order of true time.
        packets.sort(key=lambda packet: packet[0])
        content = pcap([(stamp(host, time), frame) for time, frame, _ in packets])
        (folder / f"{host}.pcap").write_bytes(content)
        numbered = (n for n, (_, _, is_sent) in enumerate(packets, 1) if is_sent)
        own = (time for time, _, is_sent in packets if is_sent)
        by_time = dict(sent[host])
        delays |= {(host, n): by_time[time] for n, time in zip(numbered, own, strict=True)}
    places = [folder / "a.pcap", folder / "b.pcap"]
    found = hosts.find(places, {"a": ["10.0.0.1"], "b": ["10.0.0.2"]})
    summary = tables.write(found, folder / "out")
    read = {
        name: pl.read_parquet(folder / "out" / f"{name}.parquet") for name in ("clocks", "one_way")
    }
    rows = read["one_way"]
    true = [delays[key] for key in rows.select(KEYS).iter_rows()]
    return summary, read["clocks"], rows.with_columns(true_ns=pl.Series(true, dtype=pl.Int64))


def test_the_stated_error_holds_the_truth_on_uneven_paths(tmp_path):
    held, beside = 0, 0
    for seed in range(60):
        folder = tmp_path / str(seed)
        folder.mkdir()
        drawn = random.Random(1000 + seed)
        offset, drift = drawn.randrange(-(10**8), 10**8), drawn.uniform(-5e-5, 5e-5)
        _, clocks, rows = lab(folder, seed, offset=offset, drift=drift)
        clock = clocks.filter(host="b").row(0, named=True)
        begin = clocks.filter(host="b")["from"].dt.timestamp("ns")[0] - offset - START_NS
        off = abs(clock["offset_ns"] - offset - begin * drift)
        held += off <= clock["offset_error_ns"]
        delays_off = (rows["delay_ns"] - rows["true_ns"]).abs()
        beside += (delays_off <= rows["delay_error_ns"]).all()
        assert abs(clock["drift_ppm"] - drift * 1e6) < 0.5
        # The split of the RTT is unknown, so all delays of a direction have the same error.
        waits = rows.with_columns(least=pl.col("true_ns").min().over("sender"))
        assert ((waits["queue_ns"] - waits["true_ns"] + waits["least"]).abs() < 5_000).all()
    # Half of an RTT always covers the truth, because no direction takes less than 0.
    assert (held, beside) == (60, 60)


def test_packets_one_way_leave_the_offset_open_but_tell_waits(tmp_path):
    summary, clocks, rows = lab(tmp_path, 1, offset=50 * MS, drift=3e-5, both=False)
    clock = clocks.filter(host="b").row(0, named=True)
    assert (clock["offset_ns"], clock["method"]) == (None, "one_way")
    assert rows["delay_ns"].null_count() == rows.height == 1500
    least = rows["true_ns"].min()
    assert ((rows["queue_ns"] - rows["true_ns"] + least).abs() < 10_000).all()
    assert summary["paths"][0]["unknown_delays"] == 1500


@pytest.mark.parametrize("back_by", [3 * MS, 300 * MS, 1000 * MS])
def test_a_clock_that_jumps_back_makes_no_wrong_delay(back_by, tmp_path):
    _, clocks, rows = lab(tmp_path, 2, back_at=9 * 10**9, back_by=back_by)
    known = rows.drop_nulls("delay_ns")
    assert known.height > 0.8 * rows.height
    assert ((known["delay_ns"] - known["true_ns"]).abs() <= known["delay_error_ns"]).all()
    first, second = clocks.filter(host="b")["offset_ns"]
    assert abs(first - second - back_by) < 10_000


def test_captures_with_nothing_in_common_tell_nothing_of_clocks(tmp_path):
    for name, address in (("a", "10.0.0.1"), ("b", "10.0.0.2")):
        frames = [(n, udp(address, 1, "10.9.9.9", 2, payload=n + 5)) for n in range(3)]
        (tmp_path / f"{name}.pcap").write_bytes(pcap(frames))
    stated = {"a": ["10.0.0.1"], "b": ["10.0.0.2"]}
    found = hosts.find([tmp_path / "a.pcap", tmp_path / "b.pcap"], stated)
    tables.write(found, tmp_path / "out")
    clocks = pl.read_parquet(tmp_path / "out" / "clocks.parquet")
    assert clocks.select("host", "from", "offset_ns", "method").rows() == [
        ("a", None, 0, "reference"), ("b", None, None, "nothing"),
    ]  # fmt: skip
    assert pl.read_parquet(tmp_path / "out" / "one_way.parquet").is_empty()


def manifest(run, host, **clock):
    path = run / f"{host}.capture.json"
    about = json.loads(path.read_text())
    about["clock"] |= clock
    path.write_text(json.dumps(about))


def test_one_kernel_has_one_clock_and_changed_stamps_contradict_it(tmp_path):
    run = copy_run(DEMO / "nqueens-rtt_64ms-r1", tmp_path / "run")
    for host in ("pc1", "pc2", "pc3", "pc4"):
        manifest(run, host, boot_id="one")
    _, clocks, rows = write(run, tmp_path / "out")
    assert {*clocks["method"]} == {"reference", "same_kernel"}
    assert {*clocks["offset_ns"], *clocks["offset_error_ns"], *rows["delay_error_ns"]} == {0}
    kept = (run / "pc3.capture.json").read_text()
    change(run, "pc3", lambda _, time: time + 50 * MS)
    (run / "pc3.capture.json").write_text(kept)
    _, clocks, rows = write(run, tmp_path / "again")
    by_host = dict(clocks.select("host", "method").rows())
    assert by_host["pc3"] == "inconsistent"
    assert "inconsistent" not in {by_host[host] for host in ("pc1", "pc2", "pc4")}
    assert (
        rows.filter((pl.col("sender") == "pc3") | (pl.col("receiver") == "pc3"))[
            "delay_ns"
        ].null_count()
        > 0
    )


def test_one_clock_has_no_steps_however_the_delays_change(tmp_path):
    """Delays fall in one direction and rise as much in the other, as on a busy machine."""

    def out_and_back(boot_ids):
        folder = tmp_path / "-".join(boot_ids)
        folder.mkdir()
        packets = {"a": [], "b": []}
        for number in range(4_000):
            at = number * MS
            change = MS if number >= 2_000 else 0
            ends = [("a", "b", 5 * MS - change), ("b", "a", 5 * MS + change)]
            for place, (sender, receiver, delay) in enumerate(ends):
                addresses = ["10.0.0.1", "10.0.0.2"][:: 1 if sender == "a" else -1]
                payload = b"%08d" % (2 * number + place)
                header = bytes([0, 5, 0, 6, 0, 16, 0, 0])
                frame = ethernet(ip(*addresses, 17, header + payload, ident=1 + 2 * number + place))
                packets[sender].append((at, frame))
                packets[receiver].append((at + delay, frame))
        for (host, some), boot_id in zip(packets.items(), boot_ids, strict=True):
            some.sort(key=lambda packet: packet[0])
            content = pcap([(START_NS + time, frame) for time, frame in some])
            (folder / f"{host}.pcap").write_bytes(content)
            about = {"clock": {"boot_id": boot_id}}
            (folder / f"{host}.capture.json").write_text(json.dumps(about))
        places = [folder / "a.pcap", folder / "b.pcap"]
        found = hosts.find(places, {"a": ["10.0.0.1"], "b": ["10.0.0.2"]})
        tables.write(found, folder / "out")
        clocks = pl.read_parquet(folder / "out" / "clocks.parquet")
        return clocks, pl.read_parquet(folder / "out" / "one_way.parquet")

    clocks, _ = out_and_back(["one", "other"])
    assert clocks.filter(host="b").height == 2
    clocks, rows = out_and_back(["one", "one"])
    assert clocks.select("host", "method").rows() == [("a", "reference"), ("b", "same_kernel")]
    assert rows["delay_ns"].null_count() == 0
    assert {*rows["delay_ns"]} == {4 * MS, 5 * MS, 6 * MS}


def test_the_agents_readings_narrow_what_packets_leave_open(tmp_path):
    run = copy_run(DEMO / "nqueens-rtt_64ms-r1", tmp_path / "run")
    peer = {"address": "10.77.1.1:123", "offset_ns": 100, "round_trip_ns": 20_000}
    start = json.loads((run / "pc3.capture.json").read_text())["start"]
    _, alone, _ = write(run, tmp_path / "alone")
    manifest(run, "pc3", at_start={"time": start, "peer": peer})
    _, clocks, _ = write(run, tmp_path / "out")
    error = {row["host"]: row["offset_error_ns"] for row in clocks.iter_rows(named=True)}
    before = {row["host"]: row["offset_error_ns"] for row in alone.iter_rows(named=True)}
    assert before["pc3"] > 30 * MS
    assert error["pc3"] < MS
    assert clocks.filter(host="pc3")["method"].to_list() == ["packets_and_readings"]
