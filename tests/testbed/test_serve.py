"""Servers of a workload: up before its program, ended with it, and reported if they fail."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import socket
import time
from pathlib import Path

import pytest

from flowsweep.testbed.servers import SOCKETS, open_ports

EXPERIMENT = """\
sites: {west: [pc1, pc2], east: [pc3]}
link: {rtt: 1ms, rate: 100Mbit/s}
workload:
  command: COMMAND
  where: WHERE
  serve: SERVE
repetitions: 1
warmup: 0
timeout: 5s
limits: {other_programs: 100%, cpu_pressure: 100%, lateness: 100ms}
"""
# Prints its environment and serves one client after another until it is killed.
ECHO = """\
import os, socket, time
time.sleep(0.7)
server = socket.create_server(("0.0.0.0", 7000))
print("up", os.environ["FLOWSWEEP_HOST"], os.environ["FLOWSWEEP_PROBLEM"], flush=True)
while True:
    client, _ = server.accept()
    client.sendall(b"hello from " + os.environ["FLOWSWEEP_HOST"].encode())
    client.close()
"""
CLIENT = """python3 -c 'import socket; print(socket.create_connection(("pc3", 7000)).recv(99))'"""


@pytest.fixture
def make(tmp_path, namespaces, flowsweep):
    runs = itertools.count()

    def run(command: str, serve: object, where: object = "first"):
        text = EXPERIMENT
        for name, value in (("COMMAND", command), ("WHERE", where), ("SERVE", serve)):
            text = text.replace(name, json.dumps(value))
        (tmp_path / "own.yaml").write_text(text)
        output = tmp_path / f"run{next(runs)}"
        begin = time.monotonic()
        done = flowsweep("run", tmp_path / "own.yaml", "-o", output)
        record = json.loads((output / "run.json").read_text())
        assert done.returncode == (record["status"] == "failed"), done.stderr
        return record, output, time.monotonic() - begin

    return run


def echo(tmp_path: Path, **more: object) -> dict[str, object]:
    (tmp_path / "echo.py").write_text(ECHO)
    return {"command": f"exec python3 {tmp_path}/echo.py", "hosts": ["pc3"], "port": 7000, **more}


def test_a_server_is_up_before_the_program_and_ends_with_it(make, tmp_path):
    record, output, _ = make(CLIENT, echo(tmp_path), ["pc1", "pc2"])
    assert record["status"] == "valid", record["reason"]
    assert (output / "program.log").read_text().splitlines() == ["b'hello from pc3'"] * 2
    assert (output / "serve-pc3.log").read_text() == "up pc3 {}\n"
    assert record["ranks"] == ["pc1", "pc2"]
    # The program's time excludes the servers: this one took 0.7 s to open its port.
    assert record["completion_s"] < record["cost_s"]["program"] - 0.6
    assert record["serve"][0]["hosts"] == ["pc3"]


def test_a_moment_may_be_waited_and_a_server_may_end_by_itself(make):
    serve = [
        {"command": "echo first", "hosts": ["pc1", "pc2"], "wait": "1s"},
        {"command": "echo second", "hosts": ["pc1"]},
    ]
    record, output, _ = make("true", serve)
    assert record["status"] == "valid", record["reason"]
    assert (output / "serve-pc1.log").read_text() == "first\nsecond\n"
    assert (output / "serve-pc2.log").read_text() == "first\n"
    assert record["cost_s"]["program"] > 0.5


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("echo no such file >&2; exit 3", "the server on pc3 failed: exit code 3: no such file"),
        # Fails while the program runs, which would not end by itself.
        ("python3 -m http.server 7000 & sleep 2; kill $!; echo too late; exit 4",
         "the server on pc3 failed: exit code 4: too late"),
    ],
)  # fmt: skip
def test_one_that_fails_ends_the_program_and_is_reported(make, command, reason):
    record, _, seconds = make("sleep 99", {"command": command, "hosts": ["pc3"], "port": 7000})
    assert (record["status"], record["completion_s"]) == ("failed", None)
    assert record["reason"] == reason
    assert seconds < 60


def test_one_that_never_opens_its_port_is_reported(make):
    record, _, _ = make("true", {"command": "sleep 99", "hosts": ["pc3"], "port": 7000})
    assert record["reason"] == "the server on pc3 has not opened port 7000 after 5 s"


def test_the_example_of_the_readme_of_workflows_runs(tmp_path, namespaces, flowsweep, root):
    if shutil.which("curl") is None:
        pytest.skip("no curl")
    blocks = re.findall(r"```yaml\n(.*?)```", (root / "workflows/README.md").read_text(), re.DOTALL)
    [example] = [block for block in blocks if "serve:" in block]
    around, _, rest = EXPERIMENT.replace("[pc1, pc2], east: [pc3]", "[pc1], east: [pc2]").partition(
        "workload:"
    )
    (tmp_path / "own.yaml").write_text(around + example + rest[rest.index("repetitions:") :])
    done = flowsweep("run", tmp_path / "own.yaml", "-o", tmp_path / "one")
    record = json.loads((tmp_path / "one/run.json").read_text())
    assert record["status"] == "valid", (record["reason"], done.stderr)
    assert (tmp_path / "one/serve-pc2.log").read_text().count('"GET /page HTTP/1.1" 200') == 5


def test_the_example_experiment_runs(tmp_path, namespaces, flowsweep, root):
    file = root / "workflows/experiments/http.yaml"
    done = flowsweep("run", file, "--set", "rtt=10ms", "-o", tmp_path / "one")
    record = json.loads((tmp_path / "one/run.json").read_text())
    assert record["status"] != "failed", (record["reason"], done.stderr)
    # A handshake and 20 requests take a round trip each.
    assert 0.21 < record["completion_s"] < 20
    assert (tmp_path / "one/serve-pc2.log").read_text().count('"GET /page HTTP/1.1" 200') == 20


def test_the_kernels_list_of_sockets_is_read():
    def ports() -> set[int]:
        return open_ports("".join(Path("/proc", name).read_text() for name in SOCKETS))

    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(type=socket.SOCK_DGRAM) as udp,
    ):
        udp.bind(("127.0.0.1", 0))
        listening, bound = server.getsockname()[1], udp.getsockname()[1]
        with socket.create_connection(server.getsockname()) as client:
            own = client.getsockname()[1]
            assert {listening, bound} <= ports()
            assert own not in ports()
    assert not {listening, bound} & ports()
