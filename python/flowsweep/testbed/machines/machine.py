"""Runs commands on a machine, copies files to and from it, and controls its keeper."""

from __future__ import annotations

import contextlib
import hashlib
import select
import shlex
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from flowsweep.errors import FlowsweepError
from flowsweep.files import outputs
from flowsweep.testbed import kernel, tools
from flowsweep.testbed.machines import keeper

if TYPE_CHECKING:
    from flowsweep.testbed.machines.reach import Reach
    from flowsweep.testbed.machines.spec import MachineSpec

ANSWER_LIMIT_S = 60.0
COPY_LIMIT_S = 3600.0  # for a file of any length
COPY_TRIES = 3
BEAT_S = 2.0  # interval of heartbeats to a keeper
SILENCE_LIMIT_S = 15.0  # a keeper that takes longer to answer is lost
PIECE_BYTES = 2**20


class LostError(FlowsweepError):
    """A machine disappeared while a run used it."""


class _DiffersError(Exception):
    """A copy differs from the original."""


class Machine:
    """A machine: `name` is its name in the experiment, `login` the name to connect to."""

    def __init__(self, machine: MachineSpec, reach: Reach, *, sudo: bool = False) -> None:
        self.name = machine.name
        self.login = machine.login
        self.address = machine.address
        self.folder = f"{machine.folder}/{machine.name}"
        self.described = machine
        self._reach = reach
        self._sudo = ["sudo", "-n"] if sudo else []
        self._keeper: subprocess.Popen[bytes] | None = None
        self._buffer = b""
        self._asked = self._answered = 0.0
        self.own_name = ""
        """What the machine calls itself, when its keeper is ready."""
        self.lacking: list[str] | None = None
        """What its kernel has instead of the congestion control that it was asked for."""

    def words(self, command: str) -> list[str]:
        """Returns the words to start here to run a shell command there."""
        return self._reach.words(self.described, command)

    def run(self, command: str, data: bytes = b"", limit_s: float | None = None) -> bytes:
        """Runs a shell command there; returns its output.

        Raises:
            FlowsweepError: It failed; the message has its last line of output.
        """
        limit_s = limit_s or self._reach.answer_limit_s
        try:
            done = subprocess.run(
                self.words(command),
                input=data,
                capture_output=True,
                check=False,
                timeout=limit_s,
                preexec_fn=kernel.die_with_parent,
            )
        except subprocess.TimeoutExpired:
            raise self.failure("does not answer", f"nothing for {limit_s:g} s") from None
        if done.returncode != 0:
            self._raise_reported(done.stdout.decode(errors="replace"))
            printed = done.stderr.decode(errors="replace").strip().splitlines()
            raise self.failure(f"failed: {command[:60]}", printed[-1] if printed else "no message")
        return done.stdout

    def put(self, name: str, data: bytes, *, mode: str = "600") -> None:
        """Writes a file into its folder, whole or not at all."""
        self.put_all({name: (data, mode)})

    def put_all(self, files: Mapping[str, tuple[bytes, str]]) -> None:
        """Writes files with their modes into its folder in one step; each whole or not at all."""
        steps = []
        for name, (data, mode) in files.items():
            target = shlex.quote(f"{self.folder}/{name}")
            size = f'[ "$(wc -c <{target}.part)" -eq {len(data)} ]'
            steps.append(
                f"head -c {len(data)} >{target}.part && {size} && chmod {mode} {target}.part"
                f" && mv {target}.part {target}"
            )
        self.run(" && ".join(steps), b"".join(data for data, _ in files.values()))

    def fetch(self, name: str, target: Path) -> bool:
        """Copies a file of its folder to a new one here, by checksum; False if there is none.

        Only a piece of the file is in memory at a time. A copy that differs is repeated; the
        original stays until a copy is equal.
        """
        damage = ""
        for _ in range(COPY_TRIES):
            try:
                return self._copy(name, target)
            except _DiffersError as difference:
                damage = str(difference)
        raise self.failure(f"{name} came over damaged, {COPY_TRIES} times", damage)

    def _copy(self, name: str, target: Path) -> bool:
        """Copies a file once; False if there is none.

        Raises:
            _DiffersError: The copy differs from what was read there.
        """
        path = shlex.quote(f"{self.folder}/{name}")
        command = f"test ! -e {path} || {{ sha256sum <{path} && wc -c <{path} && cat {path}; }}"
        with subprocess.Popen(
            self.words(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            limit = threading.Timer(COPY_LIMIT_S, process.kill)
            limit.start()
            try:
                assert process.stdout is not None  # noqa: S101 - it is a pipe
                fields = process.stdout.readline().split()
                if fields:
                    size = int(process.stdout.readline() or 0)
                    with outputs.replacing(target, 0o600) as file:
                        digest, copied = hashlib.sha256(), 0
                        while data := process.stdout.read(PIECE_BYTES):
                            digest.update(data)
                            copied += len(data)
                            file.write(data)
                        self._check_copied(name, process.wait())
                        if digest.hexdigest() != fields[0].decode():
                            raise _DiffersError(f"{copied:,} of {size:,} bytes, another SHA-256")
                self._check_copied(name, process.wait())
            finally:
                limit.cancel()
        return bool(fields)

    def _check_copied(self, name: str, code: int) -> None:
        if code != 0:
            raise self.failure(f"does not give {name}", tools.ended(code))

    def prepare(self, agent: Path, settings: list[str]) -> None:
        """Installs the agent and the keeper, and removes files of an earlier run.

        Raises:
            FlowsweepError: Somebody else on the machine could change its folder.
        """
        data = agent.read_bytes()
        # By its standard input: nothing in the folder is started before the folder was checked.
        words = ["sh", "-s", "--", "--prepare", self.folder]
        script = keeper.script()
        checksum = self.run(shlex.join(words), script).split()
        if not checksum or checksum[0].decode() != hashlib.sha256(data).hexdigest():
            self.put("flowsweep-capture", data, mode="700")
        printed = "".join(f"{line}\n" for line in settings).encode()
        self.put_all({keeper.NAME: (script, "700"), "settings": (printed, "600")})

    def keep(self, script: str = keeper.NAME) -> None:
        """Starts the keeper, a script in its folder; `wait_ready` waits for it."""
        words = [*self._sudo, "sh", f"{self.folder}/{script}", self.name, self.folder]
        self._keeper = subprocess.Popen(
            self.words(shlex.join(words)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
            preexec_fn=kernel.die_with_parent,  # noqa: PLW1509 - there is one thread
        )

    def wait_ready(self) -> str:
        """Waits for the keeper; returns the interface on which it captures."""
        while True:
            words = self._line().split()
            if words[:1] == ["ready"]:
                self.own_name = words[2]
                return words[1]
            if words[:1] == ["lacking"]:
                self.lacking = words[1:]

    def counters(self) -> tuple[int, int, int, float]:
        """Reads packets received and sent on the interface, CPU pressure (us or -1), uptime (s)."""
        self._tell("counters")
        _, received, sent, pressure, uptime = self._line().split()
        return int(received), int(sent), int(pressure), float(uptime)

    def tcp(self) -> dict[str, str]:
        """Returns the TCP settings, in the form of `topology.tcp_settings`."""
        self._tell("tcp")
        found = {}
        while (line := self._line()) != "end":
            _, key, value = line.split(" ", 2)
            found[key] = value
        return found

    def ask_to_stop(self) -> None:
        """Asks the keeper to end the capture and restore the machine; `wait_stopped` waits."""
        self._tell("stop")

    def wait_stopped(self) -> None:
        """Waits for the end of the keeper."""
        words = self._line().split()
        assert self._keeper is not None  # noqa: S101 - it just answered
        assert self._keeper.stdout is not None  # noqa: S101
        self._keeper.wait(ANSWER_LIMIT_S)
        self._buffer += self._keeper.stdout.read()
        self._raise_reported(self._rest())  # the keeper could not restore everything
        if words[:1] != ["stopped"] or words[1] not in ("0", "1"):  # 1: data was lost: see manifest
            raise self.failure("the capture failed", " ".join(words))
        self._keeper = None

    def leave(self) -> None:
        """Ends the keeper, whatever happened: the end of its stdin makes it restore everything."""
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
        """Raises if the keeper or the connection to it has ended, or if it no longer answers.

        A machine that disappears closes no connection, so the keeper must answer heartbeats.
        """
        if self._keeper is None:
            return
        if self._keeper.poll() is not None:
            raise self._lost("ended too early", self._rest() or "the connection was lost")
        now = time.monotonic()
        if self._asked <= self._answered and now - self._asked >= BEAT_S:
            self._asked = now
            self._send("beat")
        assert self._keeper.stdout is not None  # noqa: S101 - see `keep`
        while select.select([self._keeper.stdout], [], [], 0)[0]:
            data = self._keeper.stdout.read1(65536)  # type: ignore[attr-defined]
            if not data:
                raise self._lost("ended too early", self._rest() or "the connection was lost")
            self._buffer += data
            if b"alive\n" in self._buffer:
                self._buffer = self._buffer.replace(b"alive\n", b"")
                self._answered = now
        if self._asked > self._answered and now - self._asked > SILENCE_LIMIT_S:
            raise self._lost("answers no more", f"silent for {SILENCE_LIMIT_S:g} s in mid-run")

    def _lost(self, what: str, found: str) -> FlowsweepError:
        error = self.failure(what, found)
        return LostError(
            error.what, found=error.found, expected=error.expected, remedy=error.remedy
        )

    def failure(
        self, what: str, found: str, expected: str = "", remedy: str = ""
    ) -> FlowsweepError:
        """Returns an error that names the machine."""
        return FlowsweepError(
            f"testbed: {self.name} ({self.login}) {what}",
            found=found,
            expected=expected or self._reach.expected,
            remedy=remedy or self._reach.remedy(self.described),
        )

    def _raise_reported(self, text: str) -> None:
        """Raises an error that the keeper reported: found, expected, remedy, with tabs between."""
        for line in text.splitlines():
            if line.startswith("error: "):
                found, expected, remedy, *_ = [*line.removeprefix("error: ").split("\t"), "", ""]
                raise self.failure("cannot be used", found, expected, remedy)

    def _tell(self, line: str) -> None:
        if self._keeper is not None and self._keeper.poll() is not None:
            raise self._lost("ended too early", self._rest() or "the connection was lost")
        self._send(line)

    def _send(self, line: str) -> None:
        assert self._keeper is not None  # noqa: S101 - called after `keep`
        assert self._keeper.stdin is not None  # noqa: S101
        try:
            self._keeper.stdin.write(f"{line}\n".encode())
            self._keeper.stdin.flush()
        except OSError as error:
            raise self._lost("ended too early", str(error)) from None

    def _rest(self) -> str:
        return self._buffer.decode(errors="replace").strip()

    def _line(self) -> str:
        """Returns the keeper's next line; raises an error that it reports."""
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
        if text == "alive":
            self._answered = time.monotonic()
            return self._line()
        self._raise_reported(text)
        return text
