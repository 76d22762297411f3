"""The keeper, run in a shell: it rejects files that others can change, and restores the machine."""

from __future__ import annotations

import os
import subprocess

import pytest

from flowsweep.testbed import launch
from flowsweep.testbed.machines import keeper

NOBODY = 65534
SECRET = "root:*:19000:0:99999:7:::\n"
SETTINGS = """\
interface exp0
address 10.77.0.1
capture -w {folder}/pc1.pcap.zst --buffer 1000000
filter icmp
offload tso off
offload gro off
sysctl net.ipv4.tcp_rmem 4096 65536 65536
sysctl net.ipv4.tcp_slow_start_after_idle 1
congestion reno
"""
# A machine with its own network and its own /run.
UP = """\
set -u
mount -t tmpfs -o mode=755,size=1m tmpfs /run
ip link add exp0 type veth peer name far
ip addr add 10.77.0.1/24 dev exp0
ip link set exp0 up; ip link set far up
while ip route | grep -q linkdown; do sleep 0.02; done
echo '4096 131072 6000000' >/proc/sys/net/ipv4/tcp_rmem
state() {
    tr '\\t' ' ' </proc/sys/net/ipv4/tcp_rmem
    ip -o route show
    ethtool -k exp0 | grep -E '^(tcp-seg|generic-)'
}
keeper() { sh KEEPER pc1 FOLDER; }
until_ready() { until grep -q ready "$1"; do kill -0 $2 || exit 9; sleep 0.02; done; }
"""


@pytest.fixture
def machine(tmp_path, namespaces):
    """Runs a shell script on its own machine; `tmp_path/there/pc1` is the keeper's folder."""
    if os.geteuid() != 0:
        pytest.skip("needs root: to be several users")
    folder = tmp_path / "there" / "pc1"
    whole_keeper = tmp_path / keeper.NAME
    whole_keeper.write_bytes(keeper.script())

    def run(script: str) -> subprocess.CompletedProcess[str]:
        whole = (UP + script).replace("KEEPER", str(whole_keeper)).replace("FOLDER", str(folder))
        kinds = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        return subprocess.run(
            ["unshare", *kinds, "bash", "-c", whole],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            cwd=tmp_path,
        )

    return run


@pytest.fixture
def folder(tmp_path):
    """The folder as `Machine.prepare` leaves it."""
    folder = tmp_path / "there" / "pc1"
    folder.mkdir(parents=True)
    folder.parent.chmod(0o755)
    folder.chmod(0o700)
    (folder / "settings").write_text(SETTINGS.format(folder=folder))
    program = folder / "flowsweep-capture"
    program.write_bytes(launch.program_path("flowsweep-capture").read_bytes())
    program.chmod(0o700)
    # The keeper must not run this file.
    (folder / "restore.sh").write_text(f"touch {folder.parents[1]}/owned\n")
    return folder


# What another user may have prepared in a folder like /tmp, as shell commands in `there`.
KINDS = {
    "folder of another user": "chown -R 65534 pc1",
    "folder above of another user": "chown 65534 .",
    "everybody may write": "chmod 777 pc1",
    "everybody may write, but sticky": "chmod 1777 pc1",
    "everybody may write above": "chmod 777 .",
    "a group may write": "chmod 770 pc1",
    "link of another user": "mv pc1 ../elsewhere; ln -s ../elsewhere pc1; chown -h 65534 pc1",
    "link of its own": "mv pc1 ../elsewhere; ln -s ../elsewhere pc1",
    "link of another user above": (
        "mv ../there ../elsewhere; ln -s elsewhere ../there; chown -h 65534 ../there"
    ),
    "agent of another user": "chown 65534 pc1/flowsweep-capture",
    "agent that everybody may write to": "chmod 777 pc1/flowsweep-capture",
    "agent that is a link": (
        "mv pc1/flowsweep-capture ../elsewhere; ln -s ../../elsewhere pc1/flowsweep-capture"
    ),
    "settings of another user": "chown 65534 pc1/settings",
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_others_can_change_is_neither_run_nor_read(machine, folder, tmp_path, kind):
    tmp_path.chmod(0o1777)
    subprocess.run(["sh", "-ec", KINDS[kind]], cwd=folder.parent, check=True)
    done = machine("state; echo ====; keeper </dev/null; echo code $?; echo ====; state")
    before, output, after = done.stdout.split("====\n")
    assert before == after
    assert output.endswith("code 2\n"), done.stdout + done.stderr
    error, expected, remedy = output.splitlines()[-2].removeprefix("error: ").split("\t")
    assert str(tmp_path) in error
    assert expected
    assert remedy
    assert not (tmp_path / "owned").exists()
    assert not list(folder.glob("*.pcap*"))


def test_only_a_folder_that_is_ours_alone_is_prepared(machine, tmp_path):
    tmp_path.chmod(0o1777)
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "one.pcap.zst").write_text("all there is")
    (tmp_path / "link").symlink_to(victim)
    os.chown(tmp_path / "link", NOBODY, NOBODY, follow_symlinks=False)
    done = machine(f"""
sh -s -- --prepare FOLDER <KEEPER; echo code $?
sh -s -- --prepare {tmp_path}/link <KEEPER; echo code $?
sh -s -- --prepare {tmp_path}/link/new/pc1 <KEEPER; echo code $?
""")
    first, second, third = done.stdout.split("code ")[1:]
    assert (first[0], second[0], third[0]) == ("0", "2", "2"), done.stdout + done.stderr
    assert (tmp_path / "there/pc1").stat().st_mode & 0o7777 == 0o700
    assert (tmp_path / "there").stat().st_mode & 0o7777 == 0o700
    assert [path.name for path in victim.iterdir()] == ["one.pcap.zst"]


RUN = """
state
mkfifo FOLDER/in; keeper <FOLDER/in >FOLDER/said & keeper=$!
exec 3>FOLDER/in; until_ready FOLDER/said $keeper
state >FOLDER/changed
END
echo ====; state; ls /run/flowsweep/*
"""
ENDS = {
    "stop": "echo stop >&3; wait $keeper || exit 8",
    "its input ends": "exec 3>&-; wait $keeper",
    "killed": """
kill -9 $(cat FOLDER/keeper.pid); wait $keeper; exec 3>&-
grep -q 'tcp_rmem 4096 131072 6000000' /run/flowsweep/*/record || exit 7
keeper </dev/null >FOLDER/said; grep -q '^restored an earlier run' FOLDER/said || exit 6""",
}


@pytest.mark.parametrize("end", ENDS)
def test_the_machine_is_put_back_however_its_keeper_ends(machine, folder, end):
    done = machine(RUN.replace("END", ENDS[end]))
    assert done.returncode == 0, done.stdout + done.stderr
    before, after = done.stdout.split("====\n")
    assert after == before + "lock\n"
    changed = (folder / "changed").read_text()
    assert changed.startswith("4096 65536 65536\n")
    assert "tcp-segmentation-offload: off" in changed
    assert "congctl reno" in changed
    assert not (folder.parents[1] / "owned").exists()


def test_under_sudo_the_captures_are_of_the_user_of_ssh(machine, folder, passable):
    passable(folder.parents[1])
    subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", folder], check=True)
    sudo = f"export SUDO_UID={NOBODY} SUDO_GID={NOBODY}\n"
    done = machine(sudo + RUN.replace("END", ENDS["stop"]))
    assert done.returncode == 0, done.stdout + done.stderr
    before, after = done.stdout.split("====\n")
    assert after == before + "lock\n"
    for name in ("pc1.pcap.zst", "pc1.capture.json"):
        assert (folder / name).stat().st_uid == NOBODY
    assert (folder / "pc1.pcap.zst").stat().st_mode & 0o7777 == 0o600
    # A user other than the one who called sudo is refused, too.
    done = machine(f"export SUDO_UID={NOBODY - 1}\nkeeper </dev/null; echo code $?")
    assert done.stdout.endswith("code 2\n")
    assert f"{folder} is of user" in done.stdout


BAD = [
    "sysctl kernel.core_pattern |/bin/sh",
    "sysctl net.ipv4.tcp_rmem $(touch owned)",
    "sysctl net.ipv4.tcp_rmem/../../../../../tmp/x 1",
    "offload exp0;touch tso on",
    "offload -h tso on",
    "offload exp0 rx off",
    "route default dev exp0; touch owned",
    "route -batch owned dev exp0",
    "sh ./restore.sh",
]


def test_a_record_is_data_and_what_it_may_say_is_little(machine, folder):
    lines = "\n".join(f"{number} {text}" for number, text in enumerate(BAD))
    (folder.parent / "bad").write_text(lines + "\n")
    done = machine("""
here=/run/flowsweep/net-$(stat -L -c %i /proc/self/ns/net)
mkdir -m 700 -p $here; chmod 700 /run/flowsweep
while read -r number line; do
    printf '%s\\n' 'flowsweep-record 1' 'sysctl net.ipv4.tcp_rmem 1 2 3' "$line" end >$here/record
    keeper </dev/null; echo "code $?"
    # Half of a record is put back by nobody, and kept for a person to look at.
    grep -q '^4096' /proc/sys/net/ipv4/tcp_rmem && [ -e $here/record ] || echo changed
done <FOLDER/../bad
printf '%s\\n' 'flowsweep-record 1' 'sysctl net.ipv4.tcp_rmem 1 2 3' >$here/record
keeper </dev/null; echo "code $?"
""")
    printed = done.stdout.splitlines()
    assert printed.count("code 2") == len(BAD) + 1, done.stdout + done.stderr
    assert "changed" not in printed
    assert sum(line.count("by hand, then rm /run/flowsweep/") for line in printed) == len(BAD) + 1
    assert not (folder.parents[1] / "owned").exists()


@pytest.mark.parametrize("full", ["/run", "folder"])
def test_with_a_full_disk_nothing_is_changed(machine, folder, full):
    where = "/run/flowsweep" if full == "/run" else str(folder)
    fill = {
        # The folders and the lock exist from an earlier run and take no room.
        "/run": "keeper </dev/null >FOLDER/said; dd if=/dev/zero of=/run/full bs=4k 2>/dev/null",
        "folder": """
mkdir /run/kept; cp -p FOLDER/* /run/kept; mount -t tmpfs -o mode=700,size=20m tmpfs FOLDER
cp -p /run/kept/* FOLDER; rm -r /run/kept; dd if=/dev/zero of=FOLDER/full bs=4k 2>/dev/null""",
    }[full].replace("size=1m", "size=20m")
    done = machine(f"""
mount -o remount,size=20m /run
{fill}
state; echo ====; keeper </dev/null; echo code $?; echo ====; state; ls /run/flowsweep/*
""")
    before, output, after = done.stdout.split("====\n")
    assert after == before + "lock\n", done.stderr
    assert output.endswith("code 2\n"), done.stdout + done.stderr
    found, expected, remedy = output.splitlines()[-2].removeprefix("error: ").split("\t")
    assert where in found
    assert expected
    assert "free some space there" in remedy
