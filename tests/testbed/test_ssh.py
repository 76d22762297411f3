"""The same run on machines behind ssh: sshd in three namespaces, with an emulated link between."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import shifted

from .conftest import FLOWSWEEP, LIMIT_S

OUTER = """\
sites: SITES
link: {rtt: 10ms, rate: 100Mbit/s}
workload: {command: 'true'}
"""
EXPERIMENT = """\
sites: SITES
tcp: {congestion_control: reno, buffer: 64KiB}
workload: {command: COMMANDMORE}
testbed:
  kind: ssh
  options: [-F, FOLDER/config]
  folder: FOLDER/there
  hosts: HOSTS
timeout: 200s
limits: {cpu_pressure: 100%}
"""
# With SHLVL, bash skips the user's .bashrc, which may start anything, even take a lock that a
# killed process keeps.
SSHD = """\
Port 2222
ListenAddress 10.99.0.NUMBER
HostKey FOLDER/hostkey
PidFile FOLDER/NUMBER.pid
AuthorizedKeysFile FOLDER/key.pub
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
SetEnv SHLVL=1
"""
CONFIG = """\
Host pcNAME
  HostName 10.99.0.NUMBER
  Port 2222
  IdentityFile FOLDER/key
  IdentitiesOnly yes
  UserKnownHostsFile FOLDER/known
  StrictHostKeyChecking yes
"""
UP = """\
mkdir -p /run/sshd
for host in NAMES; do
    on $host SSHD -f FOLDER/$host.conf -E FOLDER/$host.log || exit 3
done
until (on pc1 true && for n in NUMBERS; do : </dev/tcp/10.99.0.$n/2222 || exit 1; done) 2>/dev/null
do sleep 0.05; done
"""
STATE = """\
on pc1 sh -c 'cat /proc/sys/net/ipv4/tcp_rmem /proc/sys/net/ipv4/tcp_no_metrics_save; ip route;
    ethtool -k exp0 | grep -E "^(tcp-seg|generic-)"'
"""


#: Machines by the name of their site.
THREE = {"west": ["pc1", "pc2"], "east": ["pc3"]}
FIVE = {"west": ["pc1", "pc2", "pc3"], "east": ["pc4", "pc5"]}


def about(text: str, sites: dict[str, list[str]]) -> str:
    """Returns `text` with the machines' addresses, numbered from 2 on the management network."""
    names = [name for some in sites.values() for name in some]
    addresses = {
        name: {"address": f"10.77.{site}.{place}"}
        for site, some in enumerate(sites.values(), start=1)
        for place, name in enumerate(some, start=1)
    }
    text = text.replace("SITES", json.dumps(sites)).replace("HOSTS", json.dumps(addresses))
    numbers = " ".join(str(number) for number in range(2, 2 + len(names)))
    return text.replace("NAMES", " ".join(names)).replace("NUMBERS", numbers)


def sshd() -> str | None:
    return shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


@pytest.fixture
def machines(request, tmp_path, namespaces):
    """Runs a bash script next to machines with sshd: three, or as the parameter defines."""
    sites = getattr(request, "param", THREE)
    for program in (sshd(), shutil.which("ssh"), shutil.which("ethtool"), shutil.which("setsid")):
        if program is None:
            pytest.skip("no sshd, ssh, ethtool or setsid (apt install openssh-server ethtool)")
    folder = str(tmp_path)

    def filled(text: str, number: int = 0) -> str:
        text = text.replace("FOLDER", folder).replace("NUMBER", str(number))
        return text.replace("SSHD", str(sshd())).replace("NAME", str(number - 1))

    for name in ("key", "hostkey"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name]
        subprocess.run(words, check=True)
    key = " ".join((tmp_path / "hostkey.pub").read_text().split()[:2])
    for number, host in enumerate([name for some in sites.values() for name in some], start=2):
        (tmp_path / f"{host}.conf").write_text(filled(SSHD, number))
        with (tmp_path / "config").open("a") as config:
            config.write(filled(CONFIG, number))
        with (tmp_path / "known").open("a") as known:
            known.write(f"[10.99.0.{number}]:2222 {key}\n")
    (tmp_path / "outer.yaml").write_text(about(OUTER, sites))

    def run(command: str, script: str, more: str = "") -> tuple[str, Path]:
        text = EXPERIMENT.replace("COMMAND", json.dumps(command)).replace("MORE", more)
        text = about(text.replace("FOLDER", folder), sites)
        (tmp_path / "ssh.yaml").write_text(text)
        flowsweep = " ".join(f"'{word}'" for word in FLOWSWEEP)
        names = f'flowsweep() {{ {flowsweep} "$@"; }}\n'
        # In the background, $! is then the process itself and not a shell around it.
        names += f'become_flowsweep() {{ exec {flowsweep} "$@"; }}\n'
        whole = filled(about(UP, sites)) + names + script
        words = ["testbed", "shell", tmp_path / "outer.yaml", "--", "bash", "-c", whole]
        done = subprocess.run(
            [*FLOWSWEEP, *map(str, words)],
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout, tmp_path

    return run


def test_a_run_is_captured_on_every_machine_and_leaves_each_as_it_was(machines, measurement):
    command = (
        "echo $FLOWSWEEP_HOST $(cat /proc/sys/net/ipv4/tcp_rmem); test $FLOWSWEEP_RANK = 0 && "
    )
    command += "ping -q -c 3 -i 0.2 10.77.2.1 >/dev/null; true"
    script = f"rm -rf one\n{STATE}\necho ====\nflowsweep run ssh.yaml -o one || exit 4\n{STATE}"

    def run():
        output, folder = machines(command, script)
        before, after = output.split("====\n")
        assert before == after
        assert "src 10.77.1.1" in before
        return folder, json.loads((folder / "one" / "run.json").read_text())

    def check(made):
        _, record = made
        assert record["status"] == "valid", record["reason"]
        assert abs(float(record["axes"]["rtt"]["measured"].removesuffix("ms")) - 10) < 1
        assert 0.4 <= record["completion_s"] < 1.5  # three pings; without the time that ssh takes

    made = measurement(run)
    made.holds(check)
    folder, record = made.value
    assert "asked" not in record["axes"]["rtt"]  # no RTT was requested
    assert record["tcp"]["congestion_control"] == "reno"
    one = folder / "one"
    lines = sorted((one / "program.log").read_text().splitlines())
    assert lines == [f"pc{number} 4096 65536 65536" for number in (1, 2, 3)]
    for host, packets in (("pc1", 6), ("pc2", 0), ("pc3", 6)):
        manifest = json.loads((one / f"{host}.capture.json").read_text())
        # Three pings before and after the program and its own, both ways, without ssh.
        idle = 2 * 2 * 5 if packets else 0
        assert manifest["packets_written"] == packets + idle
        assert (one / f"{host}.pcap.zst").stat().st_size > 0
    assert not list((folder / "there").glob("*/*.pcap*"))


def test_a_congestion_control_that_a_machine_lacks_costs_the_run_and_not_the_sweep(machines):
    script = f"""
sed -i 's/: reno/: nosuch/' ssh.yaml
{STATE}
echo ====
flowsweep run ssh.yaml -o one ; [ $? = 1 ] || exit 4
{STATE}
"""
    output, folder = machines("true", script)
    before, after = output.split("====\n")
    assert before == after
    record = json.loads((folder / "one" / "run.json").read_text())
    assert (record["status"], record["completion_s"]) == ("failed", None)
    expected = "tcp.congestion_control: the kernel of pc1 cannot use nosuch (available: "
    assert record["reason"].startswith(expected)
    assert record["tcp"]["congestion_control"] != "nosuch"
    assert not (folder / "one" / "program.log").exists()
    assert json.loads((folder / "one" / "pc1.capture.json").read_text())["status"] == "complete"


def test_a_server_is_up_before_the_program_and_ended_after_it(machines):
    server = "echo up on $FLOWSWEEP_HOST; exec python3 -um http.server 7000"
    serve = json.dumps({"command": server, "hosts": ["pc3"], "port": 7000})
    client = "exec python3 -c 'import urllib.request as r; r.urlopen(\"http://10.77.2.1:7000/\")'"
    script = """
flowsweep run ssh.yaml -o one || exit 4
pgrep -r S,R,D -f -x 'python3 -um http.server 7000' && exit 8
ls there/pc3
"""
    output, folder = machines(client, script, f", where: first, serve: {serve}")
    record = json.loads((folder / "one" / "run.json").read_text())
    assert record["status"] == "valid", record["reason"]
    log = (folder / "one" / "serve-pc3.log").read_text()
    assert log.startswith("up on pc3\n")
    assert '"GET / HTTP/1.1" 200' in log
    assert "serve" not in output


def test_an_mpi_command_is_one_world_over_the_machines(machines):
    command = (
        f"exec {sys.executable} -c 'from mpi4py import MPI; w = MPI.COMM_WORLD; "
        "print(w.allreduce(w.rank), w.size)'"
    )
    script = "flowsweep run ssh.yaml -o one || exit 4\n"
    _, folder = machines(command, script, ", where: mpi")
    record = json.loads((folder / "one" / "run.json").read_text())
    assert record["status"] == "valid", record["reason"]
    assert record["application"]["timed"] == "by rank 0"
    assert (folder / "one" / "program.log").read_text().splitlines() == ["3 3"] * 3


@pytest.mark.parametrize("victim", ["flowsweep", "flowsweep by scancel", "keeper"])
def test_after_a_kill_the_machines_are_put_back(machines, victim):
    kills = {
        # The command goes away: the keeper's input ends.
        "flowsweep": "kill -9 $run",
        # The signals that Slurm sends; the command ends in order.
        "flowsweep by scancel": "kill -TERM $run; kill -HUP $run",
        # The keeper itself: the next run uses the keeper's record.
        "keeper": "kill -9 $(cat there/pc?/keeper.pid)",
    }
    script = f"""
{STATE}
echo ====
become_flowsweep run ssh.yaml -o one 2>said & run=$!
# The program by its whole command: keepers sleep too.
until [ -s there/pc3/capture.pid ] && pgrep -f -x 'sleep 300' >/dev/null; do sleep 0.05; done
grep -q 65536 <(on pc1 cat /proc/sys/net/ipv4/tcp_rmem) || exit 5
{kills[victim]}
wait $run
test -e one && exit 6
sed -i 's/sleep 300/true/' ssh.yaml
flowsweep run ssh.yaml -o one || exit 7
pgrep -r S,R,D -f -x 'sleep 300' && exit 8
pgrep -r S,R,D -x flowsweep-captu && exit 8
{STATE}
"""
    output, folder = machines("exec sleep 300", script)
    before, after = output.split("====\n")
    assert before == after
    assert json.loads((folder / "one" / "run.json").read_text())["status"] == "valid"


def test_a_folder_that_somebody_else_made_there_is_refused(machines):
    """Otherwise another user could leave a script there for root to run."""
    if os.geteuid() != 0:
        pytest.skip("needs root: to be somebody else")
    script = f"""
mkdir -p there/pc1; chmod 755 there; cp /bin/true there/pc1/flowsweep-capture
echo "touch $PWD/owned" >there/pc1/restore.sh; chown -R 65534 there/pc1
{STATE}
echo ====
flowsweep run ssh.yaml -o one 2>said; echo code $? >>said
{STATE}
ls there/pc1
"""
    output, folder = machines("true", script)
    before, after = output.split("====\n")
    assert after == before + "flowsweep-capture\nrestore.sh\n"
    errors = (folder / "said").read_text()
    assert errors.endswith("code 2\n")
    assert "testbed: pc1" in errors
    assert f"found     {folder}/there/pc1 is of user" in errors
    assert "testbed.folder" in errors
    assert not (folder / "owned").exists()
    assert not (folder / "one").exists()


@pytest.mark.parametrize("machines", [FIVE], indirect=True)
def test_five_machines_whose_clocks_are_a_minute_apart(machines, flowsweep):
    """The machines share one clock here, so their captures are shifted afterwards."""
    serve = ", serve: {command: head -c 200000 /dev/zero >page; exec python3 -m http.server 8000, "
    serve += "hosts: [pc1], port: 8000}"
    fetch = "from urllib.request import urlopen; urlopen('http://10.77.1.1:8000/page').read()"
    command = f'test $FLOWSWEEP_RANK = 0 || python3 -c "{fetch}"'
    _, folder = machines(command, "flowsweep run ssh.yaml -o runs/one", serve)
    one = folder / "runs" / "one"
    assert json.loads((one / "run.json").read_text())["status"] == "valid"
    apart = {"pc1": 0, "pc2": 60, "pc3": 0, "pc4": -60, "pc5": 0}
    for host, seconds in apart.items():
        data = shifted.ahead(one / f"{host}.pcap.zst", seconds)
        (one / f"{host}.pcap.zst").unlink()
        (one / f"{host}.pcap").write_bytes(data)
    out = folder / "results"
    for words in (
        ["ingest", "--output", out / "tables", "--bin", "10ms", one],
        ["runs", "--output", out / "tables" / "runs.parquet", folder / "runs"],
    ):
        done = flowsweep(*words)
        assert done.returncode == 0, done.stderr
    rows = json.loads(flowsweep("query", "clocks", out, "--format", "json").stdout)
    put_back = {row["host"]: row["put_back_ms"] for row in rows}
    assert put_back == pytest.approx({host: 1e3 * s for host, s in apart.items()}, abs=15)
    # Only the pings before and after the run cross the link outside its time.
    rows = json.loads(flowsweep("query", "wan_throughput", out, "--format", "json").stdout)
    outside = [row["wire_bytes"] for row in rows if not row["is_within"]]
    assert sum(outside) <= 2 * 2 * 5 * 98 * len(apart)
    inside = {
        site: sum(row["wire_bytes"] for row in rows if row["to_site"] == site and row["is_within"])
        for site in ("east", "west")
    }
    assert 400_000 < inside["east"] < 500_000
    assert inside["west"] > 2_000  # acknowledgements


def test_a_machine_without_the_right_to_capture_is_named(machines, tmp_path):
    if shutil.which("setpriv") is None:
        pytest.skip("no setpriv (part of util-linux)")
    with (tmp_path / "pc2.conf").open("a") as config:
        config.write(
            'ForceCommand exec setpriv --bounding-set=-net_raw -- sh -c "$SSH_ORIGINAL_COMMAND"\n'
        )
    output, folder = machines(
        "true",
        f"{STATE}\necho ====\nflowsweep run ssh.yaml -o one 2>said; echo code $? >>said\n{STATE}",
    )
    before, after = output.split("====\n")
    assert after == before
    errors = (folder / "said").read_text()
    assert errors.endswith("code 2\n")
    assert "testbed: pc2" in errors
    assert "nothing can be captured: socket: Operation not permitted" in errors
    assert f"setcap cap_net_raw+ep {folder}/there/pc2/flowsweep-capture" in errors
    assert not (folder / "one").exists()


def test_a_machine_that_is_not_there_is_named(tmp_path, flowsweep):
    if shutil.which("ssh") is None:
        pytest.skip("no ssh")
    (tmp_path / "config").write_text("Host *\n  HostName 127.0.0.1\n  Port 1\n")
    text = EXPERIMENT.replace("COMMANDMORE", "'true'").replace("FOLDER", str(tmp_path))
    text = about(text, THREE)
    (tmp_path / "ssh.yaml").write_text(text)
    done = flowsweep("run", tmp_path / "ssh.yaml", "-o", tmp_path / "one")
    assert done.returncode == 2
    assert "testbed: pc1" in done.stderr
    assert "Connection refused" in done.stderr
    assert not (tmp_path / "one").exists()
