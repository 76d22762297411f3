"""Finds the program Zeek and runs it on a capture."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from flowsweep import _parsers, content
from flowsweep.errors import FlowsweepError
from flowsweep.parsing import name_paths, readable_errors

#: A command with arguments that replaces `zeek`, such as one that runs it in a container.
COMMAND = "FLOWSWEEP_ZEEK"
#: Folders where Zeek's packages install it.
FOLDERS = ("/opt/zeek/bin", "/usr/local/zeek/bin", "/usr/local/bin", "/opt/homebrew/bin")
#: The container image to use if Zeek is not installed, but a container engine is.
IMAGE = "docker.io/zeek/zeek:8.0"
#: Lines of Zeek's output that are printed when it fails.
SHOWN_LINES = 3
CLASSIC = (b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d")
HEADER_BYTES = 24


def scripts() -> Path:
    """Returns the folder with flowsweep's Zeek scripts."""
    return content.folder("workflows") / "zeek"


def command(folder: Path) -> list[str]:
    """Returns the command that starts Zeek with access to flowsweep's scripts and to `folder`.

    Raises:
        FlowsweepError: There is no Zeek on this machine.
    """
    if configured := os.environ.get(COMMAND):
        return shlex.split(configured)
    path = os.pathsep.join([os.environ.get("PATH", ""), *FOLDERS])
    if found := shutil.which("zeek", path=path):
        return [found]
    own = str(scripts())
    if found := shutil.which("apptainer"):
        binds = f"{own}:{own}:ro,{folder}:{folder}"
        return [found, "exec", "--bind", binds, "--pwd", str(folder), f"docker://{IMAGE}", "zeek"]
    for engine in ("podman", "docker"):
        if found := shutil.which(engine):
            volumes = [f"--volume={own}:{own}:ro", f"--volume={folder}:{folder}"]
            return [found, "run", "--rm", "-i", *volumes, f"--workdir={folder}", IMAGE, "zeek"]
    raise FlowsweepError(
        "Zeek is not on this machine",
        found=f"no program zeek in PATH and {', '.join(FOLDERS)}, and none that runs containers",
        expected="Zeek 6 or newer",
        remedy=f"install it (README, Zeek), or name the command that starts it: {COMMAND}=...",
    )


def logs_of(
    captures: Sequence[Path],
    folder: Path,
    settings: Sequence[str] = (),
    started: Callable[[subprocess.Popen[bytes]], object] = lambda _: None,
) -> list[Path]:
    """Runs Zeek on the parts of one capture; returns the logs in `folder`, sorted.

    Args:
        captures: Parts in the order of their packets; several must be classic pcap of one kind.
        folder: An empty folder, into which Zeek writes.
        settings: Further arguments, such as `Flowsweep::bins=F`.
        started: Called with the process, so that another thread can end it.

    Raises:
        FlowsweepError: There is no Zeek, or it failed.
    """
    words = [*command(folder), "-C", "-r", "-", str(scripts() / "flowsweep.zeek"), *settings]
    # Zeek's output goes to a file: a pipe without a reader would fill up and block Zeek.
    with (folder / "output").open("w+b") as output:
        with subprocess.Popen(
            words, cwd=folder, stdin=subprocess.PIPE, stdout=output, stderr=output
        ) as process:
            assert process.stdin is not None  # noqa: S101 - it is a pipe
            started(process)
            try:
                _feed(captures, process.stdin)
            except BaseException:
                process.kill()
                raise
        output.seek(0)
        text = output.read().decode(errors="replace").strip()
    (folder / "output").unlink()
    if process.returncode != 0:
        lines = text.splitlines()[-SHOWN_LINES:]
        code = process.returncode
        how = f"failed with exit code {code}" if code > 0 else f"was killed by signal {-code}"
        raise FlowsweepError(
            f"{captures[0]}: Zeek {how}",
            found=" / ".join(lines) or "not a word of Zeek's",
            expected="a run of Zeek without an error",
            remedy=shlex.join(words[:-1] if settings else words),
        )
    return sorted(folder.glob("*.log"))


def _feed(captures: Sequence[Path], stdin: IO[bytes]) -> None:
    """Writes the capture; ignores a broken pipe, as Zeek's exit code shows why it ended."""
    try:
        with suppress(BrokenPipeError):
            for part in _join(captures):
                stdin.write(part)
    finally:
        # `close` flushes the buffer, which fails if Zeek has ended.
        with suppress(BrokenPipeError):
            stdin.close()


def _join(captures: Sequence[Path]) -> Iterator[bytes]:
    """Yields the bytes of the capture; further parts without their file headers."""
    first_header = b""
    for path in captures:
        parts = _content(path)
        begin = b""
        while len(begin) < HEADER_BYTES and (part := next(parts, b"")):
            begin += part
        header = begin[:HEADER_BYTES]
        if not first_header:
            first_header = header
        elif header[:4] not in CLASSIC or header != first_header:
            raise FlowsweepError(
                f"{path}: Zeek reads one file, and this one cannot be put behind the first",
                found="another format, link type or snap length",
                expected=f"a part of {captures[0]} as a rotating agent writes it",
                remedy=f"mergecap -w one.pcap {captures[0]} {path}",
            )
        else:
            begin = begin[HEADER_BYTES:]
        yield begin
        yield from parts


def _content(path: Path) -> Iterator[bytes]:
    ((_, name),) = name_paths([path])
    with readable_errors():
        unpacked = _parsers.Unpacked(path, name)
    while part := unpacked.part():
        yield part
