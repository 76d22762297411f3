"""One machine behind ssh: files to and from it, and its keeper."""

from __future__ import annotations

import contextlib
import hashlib
import select
import shlex
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep.errors import FlowsweepError
from flowsweep.testbed import kernel

if TYPE_CHECKING:
    from flowsweep.testbed.machines.spec import MachineSpec

CONNECT_LIMIT_S = 60.0
ANSWER_LIMIT_S = 60.0
KEEPER = Path(__file__).with_name("keeper.sh")


class Machine:
    """`name` is what the experiment calls it, `login` what ssh is told."""

    def __init__(self, machine: MachineSpec, options: list[str], control: Path, sudo: bool) -> None:
        self.name = machine.name
        self.login = machine.login
        self.address = machine.address
        self.folder = f"{machine.folder}/{machine.name}"
        shared = ["ControlMaster=auto", f"ControlPath={control}/%C", "ControlPersist=60"]
        more = ["BatchMode=yes", "ServerAliveInterval=5", "ServerAliveCountMax=3"]
        words = [word for option in [*shared, *more] for word in ("-o", option)]
        # What the person says comes first: ssh takes the first value that it is given.
        self.ssh = ["ssh", *options, *words]
        self._sudo = ["sudo", "-n"] if sudo else []
        self._keeper: subprocess.Popen[bytes] | None = None
        self._buffer = b""
        self.lacking: list[str] | None = None
        """What its kernel has instead of the congestion control that it was asked for."""

    def run(self, command: str, data: bytes = b"", limit_s: float = CONNECT_LIMIT_S) -> bytes:
        """What a shell command prints there.

        Raises:
            FlowsweepError: If it fails, with what it said.
        """
        try:
            done = subprocess.run(
                [*self.ssh, self.login, command],
                input=data,
                capture_output=True,
                check=False,
                timeout=limit_s,
                preexec_fn=kernel.die_with_parent,
            )
        except subprocess.TimeoutExpired:
            raise self.failure("does not answer", f"nothing for {limit_s:g} s") from None
        if done.returncode != 0:
            self._raise_told(done.stdout.decode(errors="replace"))
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise self.failure(f"failed: {command[:60]}", said[-1] if said else "no message")
        return done.stdout

    def put(self, name: str, data: bytes, *, mode: str = "600") -> None:
        """A file into its folder, whole or not at all."""
        target = shlex.quote(f"{self.folder}/{name}")
        self.run(f"cat >{target}.part && chmod {mode} {target}.part && mv {target}.part {target}",
                 data)  # fmt: skip

    def get(self, name: str) -> bytes | None:
        """A file of its folder, compared with its checksum there; None if there is none."""
        path = shlex.quote(f"{self.folder}/{name}")
        said = self.run(f"test ! -e {path} || {{ sha256sum <{path}; cat {path}; }}", limit_s=600.0)
        told, _, data = said.partition(b"\n")
        if not told:
            return None
        if hashlib.sha256(data).hexdigest() != told.split()[0].decode():
            raise self.failure(f"{name} came over damaged", "another SHA-256")
        return data

    def prepare(self, agent: Path, settings: list[str]) -> None:
        """The agent and the keeper are there afterwards; files of an earlier run are not.

        Raises:
            FlowsweepError: Somebody else on the machine could change its folder.
        """
        data = agent.read_bytes()
        # By its standard input: nothing of the folder is started before it was looked at.
        words = ["sh", "-s", "--", "--prepare", self.folder]
        found = self.run(shlex.join(words), KEEPER.read_bytes()).split()
        if not found or found[0].decode() != hashlib.sha256(data).hexdigest():
            self.put("flowsweep-capture", data, mode="700")
        self.put("keeper.sh", KEEPER.read_bytes(), mode="700")
        self.put("settings", "".join(f"{line}\n" for line in settings).encode())

    def keep(self) -> None:
        """Starts the keeper; `wait_ready` waits for it."""
        words = [*self._sudo, "sh", f"{self.folder}/keeper.sh", self.name, self.folder]
        self._keeper = subprocess.Popen(
            [*self.ssh, self.login, shlex.join(words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
            preexec_fn=kernel.die_with_parent,  # noqa: PLW1509 - there is one thread
        )

    def wait_ready(self) -> str:
        """The interface on which it captures."""
        while True:
            words = self._line().split()
            if words[:1] == ["ready"]:
                return words[1]
            if words[:1] == ["lacking"]:
                self.lacking = words[1:]

    def counters(self) -> tuple[int, int, int, float]:
        """Packets received and sent on the interface, CPU pressure (us or -1), uptime (s)."""
        self._tell("counters")
        _, received, sent, pressure, uptime = self._line().split()
        return int(received), int(sent), int(pressure), float(uptime)

    def tcp(self) -> dict[str, str]:
        """TCP's settings, as `topology.tcp_settings` has them."""
        self._tell("tcp")
        found = {}
        while (line := self._line()) != "end":
            _, key, value = line.split(" ", 2)
            found[key] = value
        return found

    def ask_to_stop(self) -> None:
        """The capture is ended and the machine put back; `wait_stopped` waits."""
        self._tell("stop")

    def wait_stopped(self) -> None:
        """Waits for the end of the keeper."""
        words = self._line().split()
        assert self._keeper is not None  # noqa: S101 - it just answered
        assert self._keeper.stdout is not None  # noqa: S101
        self._keeper.wait(ANSWER_LIMIT_S)
        self._buffer += self._keeper.stdout.read()
        self._raise_told(self._rest())  # it could not put everything back
        if words[:1] != ["stopped"] or words[1] not in ("0", "1"):  # 1: data was lost: see manifest
            raise self.failure("the capture failed", " ".join(words))
        self._keeper = None

    def leave(self) -> None:
        """Whatever happened: the end of its stdin makes the keeper put everything back."""
        keeper, self._keeper = self._keeper, None
        if keeper is None or keeper.stdin is None:
            return
        with contextlib.suppress(OSError):
            keeper.stdin.close()
        try:
            keeper.wait(20.0)
        except subprocess.TimeoutExpired:
            keeper.kill()
            keeper.wait()

    def check_alive(self) -> None:
        """Raises when the keeper, or the connection to it, has ended."""
        if self._keeper is not None and self._keeper.poll() is not None:
            raise self.failure("ended too early", self._rest() or "the connection was lost")

    def failure(
        self, what: str, found: str, expected: str = "", remedy: str = ""
    ) -> FlowsweepError:
        """An error that names the machine."""
        return FlowsweepError(
            f"testbed: {self.name} ({self.login}) {what}",
            found=found,
            expected=expected or "a machine that ssh reaches without a password",
            remedy=remedy or f"ssh {self.login} true; testbed.sudo if it is a matter of rights",
        )

    def _raise_told(self, text: str) -> None:
        """Raises what the keeper says of an error: found, expected and remedy, tabs between."""
        for line in text.splitlines():
            if line.startswith("error: "):
                found, expected, remedy, *_ = [*line.removeprefix("error: ").split("\t"), "", ""]
                raise self.failure("cannot be used", found, expected, remedy)

    def _tell(self, line: str) -> None:
        self.check_alive()
        assert self._keeper is not None  # noqa: S101 - see check_alive
        assert self._keeper.stdin is not None  # noqa: S101
        self._keeper.stdin.write(f"{line}\n".encode())
        self._keeper.stdin.flush()

    def _rest(self) -> str:
        return self._buffer.decode(errors="replace").strip()

    def _line(self) -> str:
        """The next line of the keeper; what it says of an error is raised."""
        assert self._keeper is not None  # noqa: S101 - called after `keep`
        assert self._keeper.stdout is not None  # noqa: S101
        end = time.monotonic() + ANSWER_LIMIT_S
        while b"\n" not in self._buffer:
            readable, _, _ = select.select([self._keeper.stdout], [], [], end - time.monotonic())
            data = self._keeper.stdout.read1(65536) if readable else b""  # type: ignore[attr-defined]
            if not data:
                raise self.failure("did not answer", self._rest() or "the connection was lost")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        text = line.decode(errors="replace").strip()
        self._raise_told(text)
        return text
