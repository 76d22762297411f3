"""Sweeps in an allocation of a real Slurm: from start to report, and with failures."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import ASKING_SNAKEMAKE, ROOT

# Everything shares one machine's cores, and the kernel measures pressure for all together.
EXPERIMENT = f"""\
sites: {{west: [pc1, pc2], east: [pc3]}}
link: {{rtt: 10ms, rate: 100Mbit/s}}
tcp: {{congestion_control: reno}}
workload: WORKLOAD
testbed:
  kind: slurm
  network: 10.78.0.0/24
  folder: /run/local/flowsweep
  python: {sys.executable}
  MORE
repetitions: 1
warmup: 0
timeout: 60s
limits: {{cpu_pressure: 100%, other_programs: 100%, lateness: 50ms}}
"""
SBATCH = ROOT / "workflows" / "profiles" / "slurm" / "sweep.sbatch"
BIN = Path(sys.executable).parent
# The workflow and the profile of the checkout; the batch script is in its folder.
FROM_HERE = f"--snakefile {ROOT}/Snakefile --profile {ROOT}/workflows/profiles/default"
SWEEP = f"""
sweep() {{
    nodes=$1
    shift
    PATH={BIN}:$PATH timeout 550 sbatch --quiet --wait --nodes=$nodes {SBATCH} "$@" {FROM_HERE}
}}
"""


def write(path: Path, workload: str, more: str = "", axes: str = "") -> None:
    text = EXPERIMENT.replace("WORKLOAD", workload).replace("MORE", more)
    path.write_text(text + (f"axes: {axes}\n" if axes else ""))


def record(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return found


def parts(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob("*") if re.search(r"\.part(ial)?$", path.name)]


def test_the_network_as_it_is_and_every_node_captured(box, tmp_path: Path) -> None:
    command = "echo $FLOWSWEEP_HOST $(hostname); test $FLOWSWEEP_RANK = 0 && "
    command += "ping -q -c 3 -i 0.2 ${FLOWSWEEP_HOSTS##*=} >/dev/null; true"
    write(tmp_path / "one.yaml", f"{{command: {json.dumps(command)}}}", "change_hosts: false")
    box("timeout 60 salloc -Q -N3 --exclusive bash -c 'flowsweep run one.yaml -o one' && "
        "timeout 20 srun -w n1 ls -A /run/local/flowsweep/pc1 >left", nodes=3)  # fmt: skip
    made = record(tmp_path / "one")
    assert made["status"] == "valid", made["reason"]
    assert made["emulator"]["backend"] == "none"
    assert made["emulator"]["backend_reason"] == "real machines"
    assert "asked" not in made["axes"]["rtt"]
    assert [host["address"] for host in made["hosts"]] == [f"10.78.0.1{n}" for n in (1, 2, 3)]
    lines = sorted((tmp_path / "one" / "program.log").read_text().splitlines())
    assert lines == ["pc1 n1", "pc2 n2", "pc3 n3"]
    for host, packets in (("pc1", 26), ("pc2", 0), ("pc3", 26)):
        manifest = json.loads((tmp_path / "one" / f"{host}.capture.json").read_text())
        # Three pings, and five before and after, both ways.
        assert packets <= manifest["packets_written"] <= packets + 8  # with ARP
        assert (tmp_path / "one" / f"{host}.pcap.zst").stat().st_size > 0
    # A capture is copied and compared before it is removed.
    assert "pcap" not in (tmp_path / "left").read_text()


def test_a_full_disk_on_a_node_spoils_the_run_and_is_named(box, tmp_path: Path) -> None:
    send = "import os, socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
    send += "[s.sendto(os.urandom(8000), ('10.78.0.13', 9)) for _ in range(5000)]"
    command = f"python3 -c {shlex.quote(send)}"
    write(
        tmp_path / "one.yaml",
        f"{{command: {json.dumps(command)}, where: first}}",
        "change_hosts: false",
    )
    with (tmp_path / "one.yaml").open("a") as file:
        file.write("retries: 0\ncapture: {snaplen: 9000}\n")
    box(
        "timeout 20 srun -w n3 mount -o remount,size=24M /run/local || exit 9\n"
        "timeout 200 salloc -Q -N3 --exclusive bash -c 'flowsweep run one.yaml -o one'",
        nodes=3,
    )
    made = record(tmp_path / "one")
    assert made["status"] == "invalid"
    assert "capture on pc3 is incomplete: write error: No space left" in made["reason"]
    assert "pc1" not in made["reason"]


def test_outside_of_a_job_it_says_how_to_get_one(flowsweep, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    write(tmp_path / "one.yaml", "{command: 'true'}")
    done = flowsweep("run", tmp_path / "one.yaml", "-o", tmp_path / "one")
    assert done.returncode == 2
    assert "not in a Slurm job" in done.stderr
    assert "sbatch" in done.stderr


def test_links_cannot_be_swept_where_they_are_what_they_are(flowsweep, tmp_path: Path) -> None:
    write(tmp_path / "one.yaml", "{command: 'true'}", axes="{rtt: [20ms]}")
    done = flowsweep("plan", tmp_path / "one.yaml")
    assert done.returncode == 2
    assert "rtt cannot be swept" in done.stderr
    assert "emulate: true" in done.stderr
    write(tmp_path / "one.yaml", "{command: 'true'}", "emulate: true", axes="{rtt: [20ms]}")
    assert flowsweep("plan", tmp_path / "one.yaml").returncode == 0


def test_a_sweep_with_emulated_links_has_the_report_of_a_local_one(box, tmp_path: Path) -> None:
    workload = "{app: nqueens, problem: {board: 10, node_ns: 5000}, compute: paced}"
    write(tmp_path / "there.yaml", workload, "emulate: true", axes="{rtt: [40ms]}")
    here = (tmp_path / "there.yaml").read_text()
    here = re.sub(r"testbed:\n(  .*\n)+", "", here)
    (tmp_path / "here.yaml").write_text(here)
    box(f"{SWEEP}\nsweep 4 there.yaml || {{ cat slurm-*.out; exit 9; }}\n"
        "for i in 1 2 3 4; do on n$i ip -br link; done >links")  # fmt: skip
    box(f"{BIN}/snakemake --configfile here.yaml {FROM_HERE}", nodes=1)
    runs = sorted((tmp_path / "results" / "there" / "runs").glob("*/run.json"))
    assert {path.parent.name for path in runs} == {
        path.parent.name for path in (tmp_path / "results" / "here" / "runs").glob("*/run.json")
    }
    for path in runs:
        made = record(path.parent)
        assert made["status"] == "valid", made["reason"]
        # The remaining node has the emulator.
        assert made["emulator"]["backend_reason"].startswith("between the nodes, on n4")
        asked, measured = (
            float(made["axes"]["rtt"][key].removesuffix("ms")) for key in ("asked", "measured")
        )
        assert asked <= measured < asked + 3
        link = made["emulator"]["links"][0]
        assert link["received"] == link["delivered"] > 5
    assert not re.search("exp0|wan-", (tmp_path / "links").read_text())

    def headings(name: str) -> list[str]:
        text = (tmp_path / "results" / name / "report.html").read_text()
        return re.findall(r"<h[123][^>]*>(.*?)</h[123]>", text, re.DOTALL)

    assert len(headings("here")) > 8
    assert headings("there")[1:] == headings("here")[1:]


def test_a_node_that_dies_spoils_its_run_only(box, tmp_path: Path) -> None:
    """The node's daemon and all its processes die at once, as in a power failure."""
    command = f"test -e {tmp_path}/mark || exec sleep 30"
    write(tmp_path / "one.yaml", f"{{command: {json.dumps(command)}}}", "change_hosts: false")
    script = """
cat >job.sh <<'END'
#!/bin/bash
flowsweep run one.yaml -o first
rm mark
flowsweep run one.yaml -o second 2>said
echo $? >code
END
touch mark
timeout 550 salloc -Q -N3 --exclusive --no-kill bash job.sh & job=$!
until on n3 pgrep -f -x 'sleep 30' >/dev/null; do sleep 0.1; done
ip netns pids n3 | xargs kill -9
wait $job
"""
    box(script, nodes=3)
    assert record(tmp_path / "first")["status"] == "valid"
    errors = (tmp_path / "said").read_text()
    assert (tmp_path / "code").read_text() == "2\n", errors
    assert re.search(r"pc3 \(n3\)", errors), errors
    # The second: on a busy machine `srun` may reach the node before Slurm misses its daemon.
    assert re.search(r"n3 of job 1 cannot be used|pc3 \(n3\) did not answer", errors), errors
    assert "--exclude=n3" in errors
    assert not (tmp_path / "second").exists()
    assert not parts(tmp_path)


def test_a_cancelled_sweep_continues_and_leaves_no_part(box, tmp_path: Path) -> None:
    command = f"test -e {tmp_path}/quick || exec sleep 30"
    write(tmp_path / "one.yaml", f"{{command: {json.dumps(command)}}}", "change_hosts: false")
    with (tmp_path / "one.yaml").open("a") as file:
        file.write("axes: {congestion: [cubic]}\n")
    script = f"""{SWEEP}
touch quick
sweep 3 one.yaml --until capture_on_3_hosts & first=$!
until ls results/one/runs/*/run.json >list 2>/dev/null; do sleep 0.1; done
rm quick
until on n2 pgrep -f -x 'sleep 30' >/dev/null; do sleep 0.1; done
cp -a "$(head -n 1 list)" kept
scancel 1
wait $first
find results -name '*.part*' >parts
until [ "$(sinfo -h -t idle -o %D)" = 3 ]; do sleep 0.1; done
{{ pgrep -x flowsweep-captu; pgrep -f -x 'sleep 30'; }} >processes
touch quick
sweep 3 one.yaml --until capture_on_3_hosts || {{ cat slurm-*.out; exit 9; }}
cmp kept "$(head -n 1 list)" || exit 8
test kept -nt "$(head -n 1 list)" -o "$(head -n 1 list)" -nt kept && exit 7
exit 0
"""
    box(script, nodes=3)
    assert (tmp_path / "parts").read_text() == ""
    assert (tmp_path / "processes").read_text() == ""
    runs = list((tmp_path / "results" / "one" / "runs").glob("*/run.json"))
    assert len(runs) >= 2
    assert {record(path.parent)["status"] for path in runs} == {"valid"}
    assert not parts(tmp_path)


def test_from_the_login_node_a_block_of_runs_is_one_job(box, tmp_path: Path) -> None:
    pytest.importorskip("snakemake_executor_plugin_slurm", reason="run .config/prepare.sh slurm")
    write(tmp_path / "one.yaml", "{command: 'true'}", "change_hosts: false")
    profile = (
        f"--profile {ROOT}/workflows/profiles/slurm --slurm-init-seconds-before-status-checks 2"
    )
    box(
        f"{ASKING_SNAKEMAKE} --configfile one.yaml --snakefile {ROOT}/Snakefile {profile} "
        "--latency-wait 5 --until capture_on_3_hosts >said 2>&1 || { cat said; exit 9; }",
        nodes=3,
    )
    runs = list((tmp_path / "results" / "one" / "runs").glob("*/run.json"))
    assert len(runs) >= 2
    assert {record(path.parent)["status"] for path in runs} == {"valid"}
    submitted = re.findall("submitted with SLURM jobid ([0-9]+)", (tmp_path / "said").read_text())
    assert submitted == ["1"]
