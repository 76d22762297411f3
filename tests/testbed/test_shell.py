"""The emulated path as seen by programs on the hosts: delay, rate, names, exit codes."""

from __future__ import annotations

import re
import statistics
import subprocess

import pytest

from .conftest import FLOWSWEEP

FLOOD = """
import socket, struct, subprocess, sys, time
FRAME = 42 + 1472
RECEIVE = '''
import socket, struct, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
s.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
s.setsockopt(socket.SOL_SOCKET, 40, 1)  # SO_RXQ_OVFL: how many this socket had no room for
s.bind(("10.77.2.1", 5000))
print("bound", flush=True)
stamps, missed = [], 0
s.settimeout(120)
try:
    while True:
        data, extra, _, _ = s.recvmsg(2048, 128)
        for _, kind, value in extra:
            if kind == 35:
                seconds, nanoseconds = struct.unpack("qq", value[:16])
                stamps.append(seconds * 10**9 + nanoseconds)
            elif kind == 40:
                (missed,) = struct.unpack("I", value)
        s.settimeout(0.5)
except TimeoutError:
    pass
print(len(stamps) + missed, stamps[-1] - stamps[0])
'''
asked, seconds = float(sys.argv[1]), 1.0
receiver = subprocess.Popen(
    ["on", "pc3", sys.executable, "-c", RECEIVE], stdout=subprocess.PIPE, text=True
)
receiver.stdout.readline()
SEND = '''
import socket, sys, time
asked, seconds = float(sys.argv[1]), float(sys.argv[2])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_UDP, 103, 1472)  # the kernel cuts one call into ten datagrams
start = time.monotonic()
sent = 0
while (now := time.monotonic() - start) < seconds:
    while sent * 1514 * 8 < 2 * asked * now:
        s.sendto(bytes(14720), ("10.77.2.1", 5000))
        sent += 10
    time.sleep(0.001)
'''
subprocess.run(["on", "pc1", sys.executable, "-c", SEND, str(asked), str(seconds)], check=True)
count, span = map(int, receiver.stdout.read().split())
print((count - 1) * FRAME * 8 / (span / 1e9))
"""


def times_of(output: str) -> list[float]:
    return [float(text) for text in re.findall(r"time=([0-9.]+)", output)]


@pytest.mark.parametrize("asked_ms", [2.0, 16.0, 64.0])
def test_ping_takes_the_asked_time(experiment, flowsweep, asked_ms, measurement):
    def measure():
        ping = ["on", "pc1", "ping", "-c", "9", "-i", "0.05", "pc3"]
        words = [experiment, "--set", f"rtt={asked_ms:g}ms", "--", *ping]
        done = flowsweep("testbed", "shell", *words)
        times = times_of(done.stdout)
        assert len(times) == 9, done.stdout + done.stderr
        return times

    def check(times):
        assert abs(statistics.median(times) - asked_ms) <= 0.2 + 0.05 * asked_ms

    measurement(measure).holds(check)


# The queue covers the time when the sender does not get the CPU.
@pytest.mark.parametrize(
    ("asked", "queue"), [("1Mbit/s", "64KiB"), ("10Mbit/s", "256KiB"), ("100Mbit/s", "4MiB")]
)
def test_a_udp_flood_arrives_at_the_asked_rate(
    experiment, flowsweep, asked, queue, tmp_path, measurement
):
    import sys

    from flowsweep.units import parse_rate

    program = tmp_path / "flood.py"
    program.write_text(FLOOD)
    command = [sys.executable, program, parse_rate(asked)]
    settings = ["--set", f"rate={asked}", "--set", f"queue={queue}"]

    def measure():
        done = flowsweep("testbed", "shell", experiment, *settings, "--", *command)
        assert done.returncode == 0, done.stderr
        return float(done.stdout)

    def check(rate):
        assert abs(rate / parse_rate(asked) - 1) <= 0.02

    measurement(measure).holds(check)


def test_hosts_have_names_addresses_and_one_interface_in_the_experiment(experiment, flowsweep):
    script = (
        "echo $FLOWSWEEP_HOSTS; on pc2 hostname; on pc2 cat /proc/net/dev; "
        "on pc1 ping -q -c1 pc3 | head -1; on nowhere true"
    )
    done = flowsweep("testbed", "shell", experiment, "--", "sh", "-c", script)
    lines = done.stdout.splitlines()
    assert lines[0] == "pc1=10.77.1.1,pc2=10.77.1.2,pc3=10.77.2.1"
    assert lines[1] == "pc2"
    assert {"lo", "exp0", "mgmt0"} == {line.split(":")[0].strip() for line in lines[4:-1]}
    # A name resolves to the address on the emulated network, so its packets cross the links.
    assert "10.77.2.1" in lines[-1]
    assert done.returncode == 2
    assert "hosts: pc1 pc2 pc3" in done.stderr


def test_exit_code_is_the_commands(experiment, flowsweep):
    done = flowsweep("testbed", "shell", experiment, "--", "sh", "-c", "exit 7")
    assert done.returncode == 7


def test_a_congestion_control_that_is_not_there_is_refused(experiment, flowsweep):
    experiment.write_text(experiment.read_text().replace("reno", "nonsuch"))
    done = flowsweep("testbed", "shell", experiment, "--", "true")
    assert done.returncode == 2
    assert "cannot use nonsuch" in done.stderr
    assert "available:" in done.stderr


def test_settings_of_a_workload_hold_on_every_host(experiment, flowsweep):
    text = experiment.read_text().replace(
        "  app: nqueens\n", "  app: nqueens\n  tcp: {tcp_sack: 0, tcp_recovery: 0, quickack: 1}\n"
    )
    experiment.write_text(text)
    script = "for h in pc1 pc3; do on $h sh -c 'cd /proc/sys/net/ipv4; cat tcp_sack tcp_recovery; \
        ip route show dev exp0'; done"
    done = flowsweep("testbed", "shell", experiment, "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.isdigit()] == ["0"] * 4
    routes = [line for line in lines if "10.77" in line]
    assert len(routes) == 2
    assert all("congctl reno" in line and "quickack 1" in line for line in routes), routes


def test_check_answers_with_a_line_for_each_part(namespaces, flowsweep):
    done = flowsweep("testbed", "check")
    assert done.returncode in (0, 1), done.stderr
    names = [line[6:26].strip() for line in done.stdout.splitlines() if line[:4].strip() in
             ("ok", "note", "bad")]  # fmt: skip
    assert names[1:] == ["capture", "link emulator", "real-time priority", "cores", "MPI"]
    assert done.stdout.splitlines()[-1].startswith("This machine can")


def test_check_tells_what_to_change_where_namespaces_are_forbidden(namespaces):
    forbid = "echo 0 >/proc/sys/user/max_user_namespaces; echo 0 >/proc/sys/user/max_net_namespaces"
    words = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *FLOWSWEEP, "testbed", "check"]
    done = subprocess.run(
        ["unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c",
         f'{forbid}; exec "$@"', "sh", *words],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("bad   user namespaces"), done.stdout
    remedy = next(line for line in lines if "remedy:" in line)
    assert "max_user_namespaces" in remedy
    assert "cannot run demo.yaml" in done.stdout
