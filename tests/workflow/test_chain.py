"""From a running program to a report: all links of the chain must agree."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from flowsweep.runs import link_balance

from .conftest import TINY


def records(results: Path) -> dict[str, dict]:
    return {
        path.parent.name: json.loads(path.read_text())
        for path in sorted(results.glob("runs/*/run.json"))
    }


def times_of(results: Path, pattern: str) -> dict[str, int]:
    return {
        str(path.relative_to(results)): path.stat().st_mtime_ns for path in results.glob(pattern)
    }


def starts(results: Path) -> dict[str, str]:
    """Returns when each run was made; a repeated run has another start."""
    return {run: record["start"] for run, record in records(results).items()}


def test_every_run_of_the_plan_is_there_and_valid(swept):
    found = records(swept)
    assert set(found) == {
        "nqueens-baseline-r1",
        "nqueens-baseline-r2",
        "nqueens-rtt_16ms-r1",
        "nqueens-rate_2Mbit-r1",
    }
    assert {run: record["status"] for run, record in found.items()} == dict.fromkeys(found, "valid")
    assert all(record["application"]["correct"] for record in found.values())


def test_the_scheduler_looks_for_work_only_where_something_has_changed(swept):
    """Any more of its work would take CPU time from the emulated hosts."""
    log = (swept.parents[1] / "snakemake.log").read_text()
    selected = [int(count) for count in re.findall("^Selected jobs: ([0-9]+)", log, re.MULTILINE)]
    assert sum(selected) >= 10  # runs, their tables, the list of runs, the report
    assert len(selected) <= sum(selected) + 2


def test_the_report_shows_the_completion_times_of_the_application(swept, command):
    truth = {run: record["application"]["completion_s"] for run, record in records(swept).items()}
    result = command("flowsweep", "query", "run_table", swept, "--format", "json")
    rows = {row["run"]: row for row in json.loads(result.stdout)}
    for run, completion in truth.items():
        assert rows[run]["completion_s"] == pytest.approx(completion, rel=0.01)
    html = (swept / "report.html").read_text()
    assert all(run in html for run in truth)


def test_the_bytes_of_the_flows_are_what_the_ranks_sent_plus_framing(swept, root):
    """First transmissions at the sender = messages + Open MPI's headers (workloads/README.md)."""
    flows = f"read_parquet('{swept}/tables/*/*/flows.parquet', hive_partitioning = true)"
    specification = importlib.util.spec_from_file_location(
        "framing", root / "capture/workloads/framing.py"
    )
    framing = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(framing)
    compared = 0
    for run, record in records(swept).items():
        address = {host["name"]: host["address"] for host in record["hosts"]}
        ranks = record["application"]["ranks"]
        for rank in ranks:
            for peer, sent in rank["to"].items():
                here, there = rank["host"], ranks[int(peer)]["host"]
                if here == there:
                    continue  # not on the wire
                # A repeated SYN or FIN is one repeated byte, and no payload.
                again = "greatest(syn_packets - 1, 0) + greatest(fin_packets - 1, 0)"
                [(found,)] = duckdb.sql(
                    f"select sum(payload_bytes - retransmitted_bytes + {again}) from {flows} "
                    f"where run = '{run}' and host = '{here}' "
                    f"and src_ip = '{address[here]}' and dst_ip = '{address[there]}'"
                ).fetchall()
                assert found in framing.wire_payload_bytes(sent["messages"], sent["bytes"])
                compared += 1
    assert compared == 4 * 6  # runs; three slaves on other hosts, both directions


def test_frames_sent_are_frames_delivered_and_dropped(swept):
    """Between sites: captured at the senders = received by the emulator, and so on."""
    flows = (
        f"(select * from read_parquet('{swept}/tables/*/*/flows.parquet', "
        "hive_partitioning = true))"
    )
    for run, record in records(swept).items():
        site = {host["address"]: host["site"] for host in record["hosts"]}
        owner = {host["address"]: host["name"] for host in record["hosts"]}
        rows = duckdb.sql(
            f"select src_ip, dst_ip, host, sum(packets) from {flows} "
            f"where run = '{run}' group by all"
        ).fetchall()
        for link in link_balance.balances(record["emulator"]):
            crossing = [
                row
                for row in rows
                if site.get(row[0]) == link.from_site and site.get(row[1]) == link.to_site
            ]
            sent = sum(count for src, _, host, count in crossing if owner[src] == host)
            arrived = sum(count for _, dst, host, count in crossing if owner[dst] == host)
            assert sent > 0
            assert sent == link.received
            assert arrived == link.delivered
            assert sent + link.duplicated == arrived + link.dropped


def test_a_second_start_does_nothing_and_says_so(swept, snakemake):
    before = times_of(swept, "**/*")
    result = snakemake(swept.parents[1], swept.parents[1] / "tiny.yaml")
    assert result.returncode == 0
    assert "Nothing to be done" in result.stdout + result.stderr
    assert times_of(swept, "**/*") == before


def test_a_database_that_is_gone_is_made_again_and_no_run(swept, snakemake):
    before = times_of(swept, "runs/*/run.json") | times_of(swept, "tables/run=*/host=*/*.parquet")
    database = swept / f"{swept.name}.duckdb"
    database.unlink()
    result = snakemake(swept.parents[1], swept.parents[1] / "tiny.yaml")
    assert result.returncode == 0, result.stderr
    assert database.is_file()
    after = times_of(swept, "runs/*/run.json") | times_of(swept, "tables/run=*/host=*/*.parquet")
    assert after == before


def test_after_touching_one_capture_only_its_run_is_parsed_again(swept, snakemake):
    tables = "tables/run=*/host=*/*.parquet"
    before = times_of(swept, tables)
    records_before = times_of(swept, "runs/*/run.json")
    assert before
    touched = "nqueens-rtt_16ms-r1"
    os.utime(swept / "runs" / touched / "pc3.pcap.zst")
    result = snakemake(swept.parents[1], swept.parents[1] / "tiny.yaml")
    assert result.returncode == 0, result.stderr
    after = times_of(swept, tables)
    assert set(after) == set(before)
    parsed = {re.search("run=([^/]+)/", path)[1] for path in after if after[path] != before[path]}
    assert parsed == {touched}
    assert times_of(swept, "runs/*/run.json") == records_before


def test_runs_of_a_point_taken_out_of_the_file_are_kept_and_left_out(swept, snakemake, tmp_path):
    shutil.copytree(swept.parents[1], tmp_path, dirs_exist_ok=True)
    experiment = tmp_path / "tiny.yaml"
    experiment.write_text(TINY.replace("  rate: [2Mbit/s]\n", ""))
    result = snakemake(tmp_path, experiment)
    assert result.returncode == 0, result.stderr
    left_out = "nqueens-rate_2Mbit-r1"
    assert f"not in the report: {left_out}" in result.stdout + result.stderr
    results = tmp_path / "results/tiny"
    assert starts(results) == starts(swept)
    html = (results / "report.html").read_text()
    lines = [line for line in html.split("\n") if left_out in line]
    assert lines == [f"    <p><code>{left_out}</code></p>"]
    assert "3 runs, 3 valid" in html


def test_an_invalid_run_can_be_made_anew(swept, snakemake, command, tmp_path):
    shutil.copytree(swept.parents[1], tmp_path, dirs_exist_ok=True)
    results = tmp_path / "results/tiny"
    spoiled = "nqueens-rtt_16ms-r1"
    file = results / "runs" / spoiled / "run.json"
    reason = "other programs used 90 % of the cores"
    record = json.loads(file.read_text()) | {"status": "invalid", "reason": reason}
    file.write_text(json.dumps(record))
    result = snakemake(tmp_path, tmp_path / "tiny.yaml")
    assert f"{spoiled}: {reason}\n  remedy" in result.stdout + result.stderr
    remedy = command("flowsweep", "retry", results)
    assert (remedy.returncode, remedy.stdout.split()) == (0, [spoiled])
    result = snakemake(tmp_path, tmp_path / "tiny.yaml")
    assert result.returncode == 0, result.stderr
    before, after = starts(swept), starts(results)
    assert {run for run in after if after[run] != before[run]} == {spoiled}
    assert records(results)[spoiled]["status"] == "valid"
    assert "4 runs, 4 valid" in (results / "report.html").read_text()


def test_killed_at_any_moment_it_continues_and_runs_nothing_twice(
    namespaces, root, command, tmp_path
):
    experiment = tmp_path / "tiny.yaml"
    experiment.write_text(TINY)
    arguments = ["--snakefile", root / "Snakefile", "--configfile", experiment]
    results = tmp_path / "results/tiny"
    survived: dict[str, str] = {}
    for finished_runs in (1, 2):
        process = subprocess.Popen(
            [Path(sys.executable).parent / "snakemake", *map(str, arguments)],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 300
        while len(list(results.glob("runs/*/run.json"))) < finished_runs:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.7)  # in the middle of the next run
        process.send_signal(signal.SIGKILL)
        process.wait()
        now = starts(results)
        assert survived.items() <= now.items()
        survived = now
    result = command("snakemake", *arguments, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    after = starts(results)
    assert survived.items() <= after.items()
    assert len(after) == 4
    assert (results / "report.html").exists()
    assert not list(results.glob("**/*.part*"))


def test_a_fault_in_the_experiment_starts_nothing(snakemake, tmp_path):
    experiment = tmp_path / "tiny.yaml"
    experiment.write_text(TINY.replace("rtt: [16ms]", "rtt: [16]"))
    result = snakemake(tmp_path, experiment)
    assert result.returncode != 0
    message = result.stdout + result.stderr
    assert f"{experiment}, line 12: axes.rtt[0]" in message
    assert "remedy" in message
    assert not (tmp_path / "results").exists()


def test_each_set_of_hosts_has_its_captures(snakemake, tmp_path):
    experiment = tmp_path / "tiny.yaml"
    experiment.write_text(TINY.replace("rate: [2Mbit/s]", "hosts: [1]"))
    result = snakemake(tmp_path, experiment, "--dry-run", "--quiet", "reason")
    assert result.returncode == 0, result.stdout + result.stderr
    output = result.stdout + result.stderr
    for rule, count in (("capture_on_4_hosts", 3), ("capture_on_2_hosts", 1), ("parse_run", 4)):
        assert re.search(rf"^{rule} +{count}$", output, re.MULTILINE), output
