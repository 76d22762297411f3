"""Builds the Containerfile without a container engine: each stage in a fresh Debian root.

    python tests/packaging/fresh_debian.py FOLDER

FOLDER, a new one, gets the roots; they take 3 GB and about five minutes. The exit code is 77,
with the reason, where this is impossible. It needs root, for chroot(2), and the network, for
packages; the Rust toolchain, package addresses and certificates come from this machine.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from containerfile import ROOT, Stage, stages

SKIPPED = 77
SUITE = "bookworm"
MACHINE_FILES = ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf")
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
#: Their place in a new root.
TRUSTED = "/certificates.pem"
TRUST = ("SSL_CERT_FILE", "PIP_CERT", "CURL_CA_BUNDLE", "CARGO_HTTP_CAINFO")
RUST = "/opt/rust-of-this-machine"
SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
CAPTURED = ROOT / "workflows" / "experiments" / "captured"
# The commands that the head of the Containerfile promises, and a run of a sweep, in /data.
TRIED = (
    "flowsweep --version",
    "flowsweep show mine/runs/nqueens-baseline-r1/pc1.pcap.zst",
    "snakemake --cores all -s /opt/flowsweep/workflow/Snakefile --configfile mine/experiment.yaml",
    "flowsweep query thresholds results/mine",
    "flowsweep run --set rtt=16ms --output one -- tiny.yaml",
)
TINY = """\
sites: {west: [pc1], east: [pc2]}
link: {rtt: 1ms, rate: 100Mbit/s}
workload: {app: nqueens, problem: {board: 8}}
timeout: 60s
limits: {other_programs: 100%, cpu_pressure: 100%, lateness: 100ms}
"""


def why_not() -> str | None:
    """Returns why the roots cannot be created here, or None."""
    if os.geteuid() != 0:
        return "not root"
    path = f"{os.environ.get('PATH', '')}:{SYSTEM}"
    for program in ("debootstrap", "unshare", "chroot", "rustc", "git"):
        if shutil.which(program, path=path) is None:
            return f"no {program}"
    if shutil.which("apt-get") is None:
        return "no apt, which knows where Debian's packages are"
    return None


def mirror() -> str:
    """Returns the address from which this machine's apt takes packages of the suite."""
    words = ["apt-get", "indextargets", "--format", "$(SITE) $(CODENAME) $(CREATED_BY)"]
    output = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    found = [line.split()[0] for line in output.splitlines() if line.split()[1:2] == [SUITE]]
    if not found:
        raise SystemExit(f"skipped: this machine's apt knows no packages of {SUITE}")
    return found[0]


def run(words: list[object], **options: object) -> None:
    """Runs a command that must succeed."""
    subprocess.run([*map(str, words)], check=True, **options)  # type: ignore[call-overload]


class Built:
    """A stage in its own root."""

    def __init__(self, root: Path, fresh: Path, others: dict[str, Built]) -> None:
        self.root = root
        self._others = others
        self._folder = "/"
        self._with_rust = False
        self.environment = {"PATH": SYSTEM, "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive"}
        run(["cp", "-a", "--reflink=auto", fresh, root])
        for name in MACHINE_FILES:
            if Path(name).exists():
                shutil.copy(name, root / name[1:])
        for folder in ("etc/apt/apt.conf.d", "etc/apt/sources.list.d"):
            shutil.copytree(f"/{folder}", root / folder, dirs_exist_ok=True)
        keys = Path("/usr/share/keyrings")
        if keys.is_dir():
            shutil.copytree(keys, root / "usr/share/keyrings", dirs_exist_ok=True)
        # The package `ca-certificates` installs a file of that name there.
        shutil.copy(CERTIFICATES, root / TRUSTED[1:])

    def steps(self, stage: Stage) -> None:
        """Executes every instruction of a stage, in order."""
        self._with_rust = stage.name == "build"
        for instruction, text in stage.steps:
            print(f"{instruction} {text[:100]}", flush=True)
            getattr(self, f"_{instruction.lower()}")(text)

    def call(self, command: str) -> None:
        """Runs a shell command in the root, as a container engine would."""
        path, mounts = self.environment["PATH"], ""
        if self._with_rust:
            sysroot = subprocess.run(
                ["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True
            ).stdout.strip()
            (self.root / RUST[1:]).mkdir(parents=True, exist_ok=True)
            mounts = f"mount --bind {shlex.quote(sysroot)} $root{RUST} && "
            path = f"{RUST}/bin:{path}"
        trusted = dict.fromkeys(TRUST, TRUSTED)
        inside = f"cd {shlex.quote(self._folder)} && {command}"
        script = (
            f"root={shlex.quote(str(self.root))}; mount --bind $root $root && "
            f"mount -t proc proc $root/proc && mount --rbind /sys $root/sys && "
            f"mount --rbind /dev $root/dev && {mounts}"
            f"exec chroot $root /bin/sh -c {shlex.quote(inside)}"
        )
        words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script]
        run(words, env={**self.environment, **trusted, "PATH": path})

    def _run(self, text: str) -> None:
        self.call(text)

    def _workdir(self, text: str) -> None:
        self._folder = text
        (self.root / text[1:]).mkdir(parents=True, exist_ok=True)

    def _copy(self, text: str) -> None:
        words = text.split()
        if words == [".", "."]:
            listed = subprocess.run(
                ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
            ).stdout
            target = self.root / self._folder[1:]
            packed = subprocess.run(
                ["tar", "-c", "--null", "-T", "-"],
                cwd=ROOT, input=listed, capture_output=True, check=True,
            ).stdout  # fmt: skip
            run(["tar", "-x", "-C", target], input=packed)
            return
        found = re.fullmatch(r"--from=(\S+) (/\S+) (/\S+)", text)
        if found is None:
            raise ValueError(f"COPY {text}: a form that nothing here knows")
        source = self._others[found[1]].root / found[2][1:]
        run(["cp", "-a", source, self.root / found[3][1:]])

    def _env(self, text: str) -> None:
        name, _, value = text.partition("=")
        self.environment[name] = re.sub(
            r"\$(\w+)", lambda match: self.environment[match[1]], value.strip('"')
        )

    def _entrypoint(self, text: str) -> None:
        """Ignores the instruction: nothing is started."""

    _cmd = _entrypoint


def build(folder: Path) -> Built:
    """Builds all stages; returns the last one."""
    folder.mkdir(parents=True)
    fresh = folder / "fresh"
    words = ["debootstrap", "--variant=minbase", f"--include={','.join(BASE)}", SUITE]
    run([*words, fresh, mirror()], env={**os.environ, "PATH": f"{os.environ['PATH']}:{SYSTEM}"})
    made: dict[str, Built] = {}
    for number, stage in enumerate(stages()):
        built = Built(folder / f"stage-{number}", fresh, dict(made))
        built.steps(stage)
        made[stage.name or str(number)] = built
    return built


# Packages that a Debian image also has.
BASE = ("apt", "bash", "coreutils")


def main(folder: Path) -> int:
    """Builds the stages and tries what the Containerfile promises."""
    reason = why_not()
    if reason is not None:
        print(f"skipped: {reason}")
        return SKIPPED
    built = build(folder)
    data = built.root / "data"
    shutil.copytree(CAPTURED / "demo" / "runs", data / "mine" / "runs")
    (data / "mine" / "experiment.yaml").write_text("title: the demo, in a container\n")
    (data / "tiny.yaml").write_text(TINY)
    for command in TRIED:
        print(f"$ {command}", flush=True)
        built.call(command)
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]).absolute()))
