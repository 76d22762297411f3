"""Every failure gives a message and exit code 2, and no traceback."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import signal
import subprocess
import sys
import tempfile

import pytest

from flowsweep import signals
from flowsweep.cli import failures
from flowsweep.errors import SYSTEM, FlowsweepError

#: From linux/prctl.h and linux/capability.h.
PR_CAPBSET_DROP, DAC_OVERRIDE, DAC_READ_SEARCH = 24, 1, 2


class Panic(BaseException):
    """Like the parser's panics, no Exception."""


def fail(failure: BaseException) -> int:
    def command() -> int:
        raise failure

    return failures.status_of(command)


@pytest.mark.parametrize(
    "failure", [KeyError("x"), Panic("index out of bounds"), RecursionError("deep"), OSError("?")]
)
def test_what_no_command_expects_is_one_line_that_says_how_to_report_it(
    failure, capsys, monkeypatch
):
    monkeypatch.delenv(failures.TRACEBACK, raising=False)
    assert fail(failure) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"error: {type(failure).__name__}: ")
    assert (
        "please report the command and its input with what FLOWSWEEP_TRACEBACK=1 shows" in message
    )
    assert message.count("\n") == 1


def test_a_switch_shows_where_it_arose(capsys, monkeypatch):
    monkeypatch.setenv(failures.TRACEBACK, "1")
    assert fail(KeyError("x")) == 2
    message = capsys.readouterr().err
    assert "Traceback" in message
    assert "raise failure" in message


@pytest.mark.parametrize(
    "failure",
    [
        MemoryError(),
        Panic('Os { code: 11, message: "Resource temporarily unavailable" }'),
        ImportError("x.so: failed to map segment from shared object"),
    ],
)
def test_out_of_memory_is_one_line(failure, capsys, monkeypatch):
    monkeypatch.delenv(failures.TRACEBACK, raising=False)
    assert fail(failure) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: out of memory: ")
    assert message.count("\n") == 1


def test_the_systems_errors_have_a_remedy(capsys):
    for number in SYSTEM:
        assert fail(OSError(number, os.strerror(number), "/x/y")) == 2
        message = capsys.readouterr().err
        assert message.startswith(f"error: /x/y: {os.strerror(number)}\n  expected ")
        assert "\n  remedy    " in message


def test_the_systems_errors_in_the_words_of_a_library_have_it_too(capsys):
    assert fail(ValueError("parquet: underlying IO error: No space left (os error 28)")) == 2
    message = capsys.readouterr().err
    assert "a fault of flowsweep" not in message
    assert "  remedy    make room" in message


@pytest.mark.parametrize("before", ["", "Detached database 'made', but CHECKPOINT failed. " * 20])
def test_a_full_folder_of_temporary_files_is_reported_with_its_remedy(before, capsys):
    """DuckDB reports it with an error of its own."""
    place = f"{tempfile.gettempdir()}/.flowsweep-1/made.duckdb"
    failure = ValueError(f'{before}Could not write file "{place}": No space left on device')
    assert fail(failure) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"error: cannot write {place}\n  found     No space left on device\n")
    assert "  remedy    make room, or set TMPDIR to a folder on another disk" in message


def test_what_commands_tell_keeps_its_exit_code(capsys):
    assert fail(FlowsweepError("lost", exit_code=1)) == 1
    assert fail(FlowsweepError("wrong")) == 2
    assert fail(KeyboardInterrupt()) == 130
    assert fail(BrokenPipeError(errno.EPIPE, "Broken pipe")) == 0
    assert capsys.readouterr().err == "error: lost\nerror: wrong\nstopped\n"


def test_memory_that_is_not_there_is_reported(tmp_path):
    """In the Python code of a command; C libraries fail in their own ways."""
    (tmp_path / "runs/one").mkdir(parents=True)
    (tmp_path / "runs/one/run.json").write_text('{"a": [' + "1," * 3_900_000 + "1]}")
    code = (
        "import sys, resource; from flowsweep import cli, experiment;"
        "from flowsweep.runs import run_records; import polars;"
        "used = int(open('/proc/self/statm').read().split()[0]) * 4096 + (40 << 20);"
        "resource.setrlimit(resource.RLIMIT_AS, (used, used));"
        "sys.argv[1:] = ['runs', 'runs', '-o', 'out/runs.parquet']; cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith("error: out of memory")
    assert not (tmp_path / "out").exists()


def without_override() -> None:
    """Makes root subject to file permissions."""
    for capability in (DAC_OVERRIDE, DAC_READ_SEARCH):
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


@pytest.fixture
def shut(tmp_path, root):
    """A folder that is not writable, and one that is not readable."""
    demo = root / "workflows/experiments/captured/demo/runs/nqueens-baseline-r1/pc1.pcap.zst"
    (tmp_path / "runs/one").mkdir(parents=True)
    (tmp_path / "runs/one/pc1.pcap.zst").write_bytes(demo.read_bytes())
    (tmp_path / "runs/one/run.json").write_text(json.dumps({"completion_s": 1}))
    (tmp_path / "read").mkdir(mode=0o555)
    (tmp_path / "none").mkdir(mode=0o000)
    yield tmp_path
    (tmp_path / "none").chmod(0o700)


@pytest.mark.parametrize(
    "words",
    [
        ("parse", "runs/one/pc1.pcap.zst", "-o", "read/out"),
        ("ingest", "runs/one", "-o", "read/out"),
        ("runs", "runs", "-o", "read/out/runs.parquet"),
        ("parse", "runs/one/pc1.pcap.zst", "-o", "none/out"),
        ("parse", "none/x.pcap", "-o", "out"),
        ("ingest", "none", "-o", "out"),
        ("runs", "none", "-o", "out/runs.parquet"),
        ("query", "totals", "none"),
        ("report", "none"),
        ("retry", "none"),
        ("plan", "none/x.yaml"),
        ("show", "none/x.pcap"),
        ("parse", "runs/one/pc1.pcap.zst", "-o", "n" * 300),
        ("runs", "runs", "-o", f"out/{'n' * 300}"),
        ("plan", "n" * 300),
        ("parse", "runs/one/pc1.pcap.zst", "-o", "runs/one/run.json"),
        ("runs", "runs", "-o", "runs"),
    ],
    ids=" ".join,
)
def test_a_place_that_may_not_be_used_is_reported_with_the_remedy(words, shut):
    done = subprocess.run(
        [sys.executable, "-m", "flowsweep", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=shut,
        preexec_fn=without_override,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: ")
    assert "a fault of flowsweep" not in done.stderr
    assert "  expected  " in done.stderr
    assert not list(shut.rglob("*.part*"))


def test_a_closed_stdout_is_no_error():
    done = subprocess.run(
        [sys.executable, "-m", "flowsweep", "columns", "flows"],
        stderr=subprocess.PIPE,
        check=False,
        preexec_fn=lambda: os.close(1),
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_signal_that_a_library_turned_into_its_own_failure_stops(monkeypatch, capsys):
    """Polars panics if a signal arrives while it imports `datetime`."""
    monkeypatch.setattr(signals, "_raised", [])

    def interrupted():
        try:
            signals._stop(signal.SIGHUP, None)
        except KeyboardInterrupt:
            raise ImportError("PyCapsule_Import could not import module") from None

    assert failures.status_of(interrupted) == 128 + signal.SIGHUP
    assert capsys.readouterr().err == "stopped\n"


def test_without_a_signal_the_same_failure_is_a_fault(monkeypatch, capsys):
    monkeypatch.setattr(signals, "_raised", [])

    def broken():
        raise ImportError("PyCapsule_Import could not import module")

    assert failures.status_of(broken) == 2
    assert "a fault of flowsweep" in capsys.readouterr().err
