"""Runs a command in private namespaces, as a process tree that cannot outlive us.

    flowsweep -> unshare -> hub (process 1 of its PID namespace) -> everything else

The kernel kills `unshare` when this process dies, the hub when `unshare` dies, and all
others when the hub dies; networks disappear with their last process. So there is nothing
to clean up, whichever of them is killed.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowsweep import signals
from flowsweep.errors import FlowsweepError
from flowsweep.testbed import kernel, transient
from flowsweep.testbed.tools import KILLED, ended
from flowsweep.testbed.transient import TransientError

if TYPE_CHECKING:
    from flowsweep.testbed.spec import Spec

END_LIMIT_S = 10.0
# Seconds before a failed set-up is repeated. By then the kernel has again what it lacked for a
# moment, such as namespaces while it still removes old ones.
PAUSES_S = (0.2, 1.0)
SHORT_OF = tuple(map(os.strerror, (errno.ENOMEM, errno.EAGAIN, errno.ENOSPC)))
CAP_NET_ADMIN, CAP_SYS_ADMIN = 12, 21
SYSTEM_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")


def is_privileged() -> bool:
    """Returns whether this process may create namespaces without a user namespace around them."""
    status = Path("/proc/self/status").read_text()
    effective = int(status.split("CapEff:")[1].split()[0], 16)
    return bool(effective >> CAP_NET_ADMIN & 1 and effective >> CAP_SYS_ADMIN & 1)


def _see_system_programs() -> None:
    """Extends PATH: on Debian, an ordinary user's PATH lacks the folders of `bridge` and others."""
    path = os.environ.get("PATH", os.defpath)
    missing = [folder for folder in SYSTEM_FOLDERS if folder not in path.split(os.pathsep)]
    os.environ["PATH"] = os.pathsep.join([path, *missing])


def unshare_command() -> list[str]:
    """Returns the words that start a command in new namespaces, with all rights inside them."""
    _see_system_programs()
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        raise FlowsweepError(
            "testbed: programs are missing",
            found="no unshare or no ip in PATH",
            expected="util-linux and iproute2",
            remedy="apt install util-linux iproute2",
        )
    user = [] if is_privileged() else ["--user", "--map-current-user", "--keep-caps"]
    spaces = ["--net", "--mount", "--uts", "--ipc", "--pid"]
    return ["unshare", *user, *spaces, "--fork", "--kill-child", "--mount-proc"]


class Hub:
    """A process in new namespaces that waits for a description of what to build.

    It may start before the description of the testbed exists, even before the lock is taken:
    starting Python a second time takes as long as reading an experiment.

    With mode "shell" it is in our session, with our terminal. With "run" and "check" it has
    its own session, so that Ctrl-C reaches only us, and we end it.
    """

    def __init__(self, mode: str, lock: int) -> None:
        kernel.adopt_orphans()
        self._mode = mode
        spec, self._spec = os.pipe()
        self._events, events = os.pipe()
        self._stderr = os.memfd_create("stderr", 0)
        hub = [
            sys.executable,
            "-m",
            "flowsweep.testbed.namespaces.hub",
            str(spec),
            str(events),
            mode,
        ]
        try:
            self._others = _children()
            self._process = subprocess.Popen(
                [*unshare_command(), *hub],
                stdin=None if mode == "shell" else subprocess.DEVNULL,
                stderr=None if mode == "shell" else self._stderr,
                pass_fds=(spec, events, lock),
                start_new_session=mode != "shell",
                preexec_fn=kernel.die_with_parent,  # noqa: PLW1509 - there is one thread
            )
        except OSError as error:
            for descriptor in (self._spec, self._events, self._stderr):
                os.close(descriptor)
            raise TransientError(
                "testbed: no process could be started",
                found=str(error),
                expected="unshare, as process and with memory of its own",
                remedy="stop other programs, and run it again",
            ) from None
        finally:
            os.close(spec)
            os.close(events)

    def run(self, spec: Spec) -> tuple[int, dict[str, Any]]:
        """Builds the testbed and does what `mode` names; returns the exit code and the result."""
        with (
            os.fdopen(self._events) as reader,
            os.fdopen(self._stderr, "r+b") as errors,
            _ctrl_c_is_for_the_shell(self._mode),
        ):
            with signals.cleaning(lambda: _end(self._process, self._others)):
                with contextlib.suppress(BrokenPipeError), os.fdopen(self._spec, "w") as pipe:
                    pipe.write(spec.to_json())
                text = reader.read()
                code = self._process.wait()
            errors.seek(0)
            return _outcome(code, text, errors.read().decode(errors="replace"))

    def cancel(self) -> None:
        """Ends the hub before it has received a description."""
        _end(self._process, self._others)
        for descriptor in (self._spec, self._events, self._stderr):
            os.close(descriptor)


def run(
    spec: Spec,
    mode: str,
    lock: int,
    say: Callable[[str], None],
    first: Callable[[], Hub] | None = None,
) -> tuple[int, dict[str, Any]]:
    """Runs a hub from its start to its end; returns its exit code and its result.

    It repeats a set-up that fails before the program starts: nothing is lost. `first` returns the
    hub of the first try, if there is one already.
    """
    pauses_s = list(PAUSES_S)
    while True:
        try:
            hub = first() if first is not None else Hub(mode, lock)
            return hub.run(spec)
        except TransientError as error:
            if error.in_program or not pauses_s:
                raise
            say(f"  set up once more: {error.line}")
        first = None
        time.sleep(pauses_s.pop(0))


def _outcome(code: int, text: str, printed: str) -> tuple[int, dict[str, Any]]:
    events = list(_events(text))
    last = events[-1] if events else {}
    if last.get("event") == "result":
        return code, last
    error = transient.from_event(last) if last.get("event") == "error" else _silence(code, printed)
    if isinstance(error, TransientError):
        error.in_program = events[0]["event"] == "started" if events else False
    raise error


def _events(text: str) -> Iterator[dict[str, Any]]:
    """Yields the hub's events. A killed hub may have left half a line."""
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def _silence(code: int, printed: str) -> FlowsweepError:
    """Returns why the hub ended without a result; `printed`: its standard error."""
    what = "testbed: it ended without a result"
    lines = printed.strip().splitlines()
    last = lines[-1] if lines else ended(code)
    # The message of unshare (util-linux 2.38) after SIGKILL has ended its child process.
    if code == -signal.SIGKILL or last.startswith("unshare: sigprocmask unblock"):
        return TransientError(
            what,
            found="killed by SIGKILL",
            expected="a testbed that lasts as long as its program",
            remedy=KILLED,
        )
    places = [line.strip() for line in lines if line.lstrip().startswith('File "')]
    refused = last.startswith("unshare:") and not last.endswith(SHORT_OF)
    return (FlowsweepError if refused else TransientError)(
        what,
        found=f"{last} ({places[-1]})" if places else last,
        expected="namespaces in which a network can be built",
        remedy="install Python and flowsweep where this user may execute them"
        if "failed to execute" in last
        else "flowsweep testbed check",
    )


@contextlib.contextmanager
def _ctrl_c_is_for_the_shell(mode: str) -> Iterator[None]:
    """Leaves Ctrl-C to the command of a shell; other signals stop this process as usual."""
    old = signal.signal(signal.SIGINT, signal.SIG_IGN) if mode == "shell" else None
    try:
        yield
    finally:
        if mode == "shell":
            signal.signal(signal.SIGINT, old)


def _children() -> set[int]:
    """Returns the child processes of this one."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The name in brackets may contain spaces; state and parent follow it.
            if int(status.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                found.add(int(status.parent.name))
    return found


def _end(process: subprocess.Popen[bytes], others: set[int]) -> None:
    """Ends everything in the namespaces and waits until it is gone.

    Args:
        process: `unshare`, whose child the hub is.
        others: Children that existed before, such as a `tee` of the shell that started this
            process; this does not wait for them.
    """
    if process.poll() is None:
        process.kill()
        process.wait()
    # The hub became our child when `unshare` died; the kernel reports its end after
    # that of all processes inside.
    end = time.monotonic() + END_LIMIT_S
    while time.monotonic() < end:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            if _children() <= others:
                return
            time.sleep(0.005)
    left = " ".join(map(str, sorted(_children() - others)))
    print(
        f"warning: the testbed left processes: {left} (waited {END_LIMIT_S:g} s)", file=sys.stderr
    )
