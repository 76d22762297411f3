"""Output and exit codes of `flowsweep match`: counts, and inputs that cannot be matched."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest
from build import pcap, udp
from spoiled import DEMO, copy_run

RUN = DEMO / "nqueens-rtt_64ms-r1"


def test_json_has_hosts_records_and_paths(match):
    done = match(RUN, "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found["records"]) == ["pc1", "pc2", "pc3", "pc4"]
    assert found["records"]["pc1"] == 3304
    assert found["addresses"]["pc3"] == ["10.77.2.1"]
    paths = {(path["sender"], path["receiver"]): path for path in found["paths"]}
    assert paths["pc1", "pc2"]["fates"] == {"delivered": 136}
    assert found["damage"] == []


def test_delays_of_the_paths_are_those_of_the_table(match, table):
    done = match(RUN, "--format", "json")
    paths = {(path["sender"], path["receiver"]): path for path in json.loads(done.stdout)["delays"]}
    rows = table("one_way")
    assert set(paths) == set(rows.select("sender", "receiver").unique().iter_rows())
    for (sender, receiver), path in paths.items():
        own = rows.filter(sender=sender, receiver=receiver)
        delays, queues = (own[name].sort().to_list() for name in ("delay_ns", "queue_ns"))
        assert path["packets"] == len(delays)
        assert path["delay_min_ns"] == delays[0]
        # Half of the values are at most the median, and 99 % at most the p99.
        assert delays[(len(delays) - 1) // 2] == path["delay_p50_ns"]
        assert queues[math.ceil(0.99 * len(queues)) - 1] == path["queue_p99_ns"]
    # The emulator's link delays by half of 64 ms, and a site's own network does not.
    assert 32_000_000 < paths["pc1", "pc3"]["delay_min_ns"] < 32_100_000
    assert paths["pc1", "pc2"]["delay_min_ns"] < 100_000


def test_text_says_delays_and_clocks(match):
    done = match(RUN)
    lines = [line.split() for line in done.stdout.splitlines()]
    least = {(line[0], line[1]): float(line[2]) for line in lines if len(line) == 7}
    assert 32 < least["pc3", "pc1"] < 32.1
    assert "clock of pc3: 0.008 ms behind pc1's (± 32.037 ms), drift +0.9 ppm" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_captures_by_name_need_no_record_of_the_run(match, table):
    done = match(RUN / "pc1.pcap.zst", RUN / "pc3.pcap.zst")
    assert done.returncode == 0, done.stderr
    rows = table("fates")
    assert rows.filter(fate="delivered").height == 652 + 282
    # pc2 and pc4 were captured, too, but not given.
    assert rows.filter(fate="outside").height == 3304 - 652 - 282


def test_the_same_captures_give_the_same_bytes(match, tmp_path):
    file = tmp_path / "matched" / "fates.parquet"
    assert match(RUN).returncode == 0
    first = file.read_bytes()
    assert match(RUN).returncode == 0
    assert file.read_bytes() == first


def test_a_window_that_is_too_small_makes_fates_unknown_not_wrong(match, table):
    assert match(RUN, "--window-packets", 16).returncode == 0
    rows = table("fates")
    # Both captures are whole, and no packet was lost.
    assert set(rows["fate"]) == {"delivered", "unknown"}
    assert rows.filter(evidence="window").height > 100


def test_a_damaged_capture_proves_no_loss(match, table, tmp_path):
    run = copy_run(RUN, tmp_path / "run")
    path = run / "pc3.pcap.zst"
    path.write_bytes(path.read_bytes()[:-8000])
    done = match(run)
    assert done.returncode == 1
    assert "pc3.pcap.zst: damaged at packet" in done.stderr
    assert table("fates").filter(fate="lost").is_empty()
    assert table("fates").filter(fate="delivered").height > 2000


def _pair(folder: Path, one: str, two: str) -> list[Path]:
    paths = [folder / "a.pcap", folder / "b.pcap"]
    for path, address in zip(paths, (one, two), strict=True):
        frames = [udp(address, 1, "10.9.9.9", 2, payload=size) for size in (5, 6, 7)]
        path.write_bytes(pcap(list(enumerate(frames))))
    return paths


def test_captures_with_nothing_in_common_are_an_answer(match, tmp_path):
    done = match(*_pair(tmp_path, "10.0.0.1", "10.0.0.2"))
    assert done.returncode == 1
    assert "no packet was found at two hosts" in done.stderr
    assert "--address" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{a}"], "expected  captures of two hosts or more"),
        (["{missing}", "{a}"], "no capture"),
        (["{a}", "{b}"], "do not show whose capture it is"),
        (["{a}", "{b}", "--address", "a"], "HOST=ADDRESS"),
        (["{a}", "{b}", "--address", "c=10.0.0.1"], "no capture is of this host"),
        (
            ["{a}", "{b}", "--address", "a=10.0.0.1", "--address", "b=10.0.0.1"],
            "is an address of a and of b",
        ),
        (["{a}", "{b}", "--window", "0s"], "--window"),
        (["{a}", "{b}", "--window-packets", "0"], "--window-packets"),
        (["{text}", "{a}", "--address", "text=::1", "--address", "a=::2"], "not a packet capture"),
    ],
)
def test_what_cannot_be_matched_is_refused_with_its_remedy(match, tmp_path, words, message):
    one, two = _pair(tmp_path, "10.0.0.1", "10.0.0.1")
    text = tmp_path / "text.pcap"
    text.write_text("hello\n")
    places = {"a": one, "b": two, "text": text, "missing": tmp_path / "none.pcap"}
    if "--window" in words or "--window-packets" in words:
        words = [*words, "--address", "a=10.0.0.1", "--address", "b=10.0.0.2"]
    done = match(*(word.format(**places) for word in words))
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "matched").exists()


def test_an_address_of_run_json_that_is_none_names_its_place(match, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    for name in ("pc1", "pc2"):
        shutil.copy(RUN / f"{name}.pcap.zst", run)
    record = {"hosts": [{"name": "pc1", "address": "10.77.1.1"}, {"name": "pc2", "address": "x"}]}
    (run / "run.json").write_text(json.dumps(record))
    done = match(run)
    assert done.returncode == 2
    assert "run.json: hosts[1].address" in done.stderr


def test_a_host_may_have_two_addresses_in_run_json(match, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    for name in ("pc1", "pc2"):
        shutil.copy(RUN / f"{name}.pcap.zst", run)
    own = [("pc1", "10.77.1.1"), ("pc1", "192.168.7.1"), ("pc2", "10.77.1.2")]
    record = {"hosts": [{"name": name, "address": address} for name, address in own]}
    (run / "run.json").write_text(json.dumps(record))
    done = match(run, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["addresses"]["pc1"] == ["10.77.1.1", "192.168.7.1"]
