"""Experiments captured elsewhere: the demo in the repository, and a user's own pcaps."""

from __future__ import annotations

import json
import shutil

import polars as pl
import pytest

import flowsweep


def test_the_captured_demo_is_small_enough_for_a_repository(root):
    files = (root / "workflows/experiments/captured/demo").rglob("*")
    assert sum(path.stat().st_size for path in files if path.is_file()) <= 5_000_000


def test_the_captured_demo_has_a_verdict(captured_demo):
    html = (captured_demo / "report.html").read_text()
    assert "needs about" in html
    assert "tolerates an RTT of about" in html


def test_its_completion_times_are_those_of_the_program(captured_demo, command):
    result = command("flowsweep", "query", "run_table", captured_demo, "--format", "json")
    rows = {row["run"]: row["completion_s"] for row in json.loads(result.stdout)}
    records = sorted((captured_demo / "runs").glob("*/run.json"))
    assert len(records) == 16
    for path in records:
        truth = json.loads(path.read_text())["application"]["completion_s"]
        assert rows[path.parent.name] == pytest.approx(truth, rel=0.01)


def test_own_pcaps_without_anything_else_give_a_report(root, snakemake, tmp_path):
    demo = root / "workflows/experiments/captured/demo/runs"
    experiment = tmp_path / "mine"
    for number, run in enumerate(["nqueens-baseline-r1", "nqueens-rtt_64ms-r1"]):
        folder = experiment / "runs" / f"try{number}"
        folder.mkdir(parents=True)
        for host in ("pc1", "pc3"):
            shutil.copy(demo / run / f"{host}.pcap.zst", folder)
    (experiment / "experiment.yaml").write_text("title: from tcpdump\n")
    result = snakemake(tmp_path, experiment / "experiment.yaml")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "results/mine/report.html").exists()


def test_the_bytes_between_the_sites_are_those_of_the_senders_captures(captured_demo, command):
    """To the byte, counted again from the packets of the captures."""
    sites = {"pc1": "west", "pc2": "west", "pc3": "east", "pc4": "east"}
    expected = {}
    for record in sorted((captured_demo / "runs").glob("*/run.json")):
        hosts = {one["address"]: one["name"] for one in json.loads(record.read_text())["hosts"]}
        for host, site in sites.items():
            capture = record.parent / f"{host}.pcap.zst"
            flows = pl.DataFrame(flowsweep.read_flows(capture)).select(
                "connection", "direction", "src_ip", "dst_ip"
            )
            packets = pl.DataFrame(flowsweep.read_packets(capture)).join(
                flows, on=["connection", "direction"]
            )
            for src, dst, size in packets.select("src_ip", "dst_ip", "wire_bytes").iter_rows():
                there = hosts.get(src), hosts.get(dst)
                if there[0] == host and there[1] and site != sites[there[1]]:
                    key = record.parent.name, site, sites[there[1]]
                    expected[key] = expected.get(key, 0) + size
    result = command("flowsweep", "query", "wan_throughput", captured_demo, "--format", "json")
    found = {}
    for row in json.loads(result.stdout):
        key = row["run"], row["from_site"], row["to_site"]
        found[key] = found.get(key, 0) + row["wire_bytes"]
    assert found == expected
    assert len(found) == 32


def test_foreign_captures_fill_every_section_that_can_be_filled(root, snakemake, command, tmp_path):
    """Four captures with other host names and nothing else: no run.json, no sites, no axes."""
    demo = root / "workflows/experiments/captured/demo/runs"
    experiment = tmp_path / "mine"
    names = ("alpha", "beta", "gamma", "delta")
    for name, run, host in zip(
        names, sorted(demo.iterdir()), ("pc1", "pc2", "pc3", "pc4"), strict=False
    ):
        (experiment / "runs" / f"of-{name}").mkdir(parents=True)
        shutil.copy(
            run / f"{host}.pcap.zst", experiment / "runs" / f"of-{name}" / f"{name}.pcap.zst"
        )
    (experiment / "experiment.yaml").write_text("title: foreign\n")
    result = snakemake(tmp_path, experiment / "experiment.yaml")
    assert result.returncode == 0, result.stderr
    directory = tmp_path / "results/mine"
    for name in (
        "totals",
        "throughput_series",
        "throughput_cdf",
        "wan_throughput",
        "lightpaths",
        "flow_sizes",
        "limits",
        "message_rate",
        "packet_intervals",
        "run_table",
        "run_quality",
        "requirement",
        "transfer_times",
    ):
        printed = command("flowsweep", "query", name, directory, "--format", "json")
        assert json.loads(printed.stdout), name
    html = (directory / "report.html").read_text()
    for section in (
        "traffic",
        "wan",
        "flows",
        "limits",
        "messages",
        "intervals",
        "runs",
        "quality",
    ):
        assert f'<section id="{section}">' in html
    assert "hold no packet" not in html
    assert "This report contradicts" not in html
    assert "which network these programs need" in html
    for name in names:
        assert f"<b>of-{name}</b> sent" in html


def test_axes_and_completion_by_hand_are_enough_for_a_sensitivity(
    root, snakemake, command, tmp_path
):
    demo = root / "workflows/experiments/captured/demo/runs"
    experiment = tmp_path / "mine"
    for rtt, seconds in (("1ms", 10.0), ("16ms", 10.5), ("64ms", 14.0)):
        folder = experiment / "runs" / f"rtt-{rtt}"
        folder.mkdir(parents=True)
        shutil.copy(demo / "nqueens-baseline-r1/pc3.pcap.zst", folder)
        record = {"axes": {"rtt": rtt}, "completion_s": seconds}
        (folder / "run.json").write_text(json.dumps(record))
    (experiment / "experiment.yaml").write_text("title: by hand\n")
    result = snakemake(tmp_path, experiment / "experiment.yaml")
    assert result.returncode == 0, result.stderr
    # Linear between 16 and 64 ms: 1.05 + (1.4 - 1.05) * (x - 16) / 48 = 1.1
    expected = 16 + 48 * 0.05 / 0.35
    results = tmp_path / "results/mine"
    rows = command("flowsweep", "query", "thresholds", results, "--format", "json")
    (row,) = (row for row in json.loads(rows.stdout) if row["level"] == 1.1)
    assert row["estimate"] == pytest.approx(expected, rel=5e-6)  # six digits
    # One digit, because the tried values around it differ by a factor of four.
    beside = '<span class="interval">(between the tried 16.0 and 64.0; n = 1, no interval)'
    html = (results / "report.html").read_text()
    assert f"about <b>20\N{NO-BREAK SPACE}ms</b> {beside}" in html


def test_a_folder_without_captures_is_refused(snakemake, tmp_path):
    (tmp_path / "mine/runs/one").mkdir(parents=True)
    (tmp_path / "mine/experiment.yaml").write_text("title: nothing here\n")
    result = snakemake(tmp_path, tmp_path / "mine/experiment.yaml")
    assert result.returncode != 0
    assert "without <host>.pcap" in result.stdout + result.stderr


def test_a_cut_capture_does_not_stop_the_sweep(root, snakemake, tmp_path):
    demo = root / "workflows/experiments/captured/demo/runs/nqueens-baseline-r1"
    experiment = tmp_path / "mine"
    for run in ("r1", "r2"):
        (experiment / "runs" / run).mkdir(parents=True)
        shutil.copy(demo / "pc1.pcap.zst", experiment / "runs" / run)
    whole = experiment / "runs/r1/pc1.pcap.zst"
    whole.write_bytes(whole.read_bytes()[:-1000])
    (experiment / "experiment.yaml").write_text("title: one capture is cut\n")
    result = snakemake(tmp_path, experiment / "experiment.yaml")
    assert result.returncode == 0, result.stderr
    assert "damaged" in (tmp_path / "results/mine/logs/parse_run/r1.log").read_text()
    assert (tmp_path / "results/mine/report.html").exists()
