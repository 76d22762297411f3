"""Paths that are no files, endless files, and files above the size limit."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flowsweep import experiment as experiments
from flowsweep.errors import FlowsweepError
from flowsweep.experiment import estimate, results
from flowsweep.files import inputs, manifests
from flowsweep.runs import run_records

#: Limit of the address space; without a bound, `plan /dev/zero` takes 24 GiB.
MOST_BYTES = 2**30
#: Reading a FIFO without a writer would never end.
LIMIT_S = 20
ROOT = Path(__file__).parents[2]


@pytest.fixture(params=["device", "fifo", "folder", "socket", "loop", "sparse"])
def no_file(request, tmp_path):
    """A path and its error."""
    path = tmp_path / request.param
    if request.param == "device":
        return Path("/dev/zero"), "a device"
    if request.param == "fifo":
        os.mkfifo(path)
        return path, "a FIFO"
    if request.param == "folder":
        path.mkdir()
        return path, "a folder"
    if request.param == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
        return path, "a socket"
    if request.param == "loop":
        path.symlink_to(path)
        return path, "Too many levels of symbolic links"
    with path.open("wb") as stream:
        stream.truncate(10**12)
    return path, "1,000,000,000,000 bytes"


def limited(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "flowsweep", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES)),
    )


def test_an_experiment_is_a_plain_file(no_file):
    path, found = no_file
    done = limited("plan", path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {path}: ")
    assert f"found     {found}" in done.stderr
    assert "expected  an experiment file" in done.stderr


def test_records_and_manifests_are_plain_files(no_file, tmp_path):
    path, found = no_file
    run = tmp_path / "runs/one"
    run.mkdir(parents=True)
    readers = {
        "run.json": lambda: run_records.read_rows(run.parent),
        "app.json": lambda: run_records.read_rows(run.parent),
        "pc1.capture.json": lambda: manifests.drops(run / "pc1.capture.json"),
    }
    for name, read in readers.items():
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(path)
        with pytest.raises(FlowsweepError, match=name) as caught:
            read()
        assert found in str(caught.value)
        (run / name).unlink()
        (run / name).write_text('{"status": "valid"}')


def test_what_is_looked_at_in_passing_is_left_alone_if_it_is_no_file(no_file, tmp_path):
    path, _ = no_file
    loaded = experiments.load(ROOT / "workflows/experiments/demo.yaml")
    run = loaded.plan()[0]
    (tmp_path / "runs" / run.id).mkdir(parents=True)
    (tmp_path / "runs" / run.id / "run.json").symlink_to(path)
    (tmp_path / "runs" / results.RUNS_MARK).symlink_to(path)
    assert not estimate.is_there(run, tmp_path / "runs")
    assert estimate.estimate([run], tmp_path / "runs").missing == 1
    assert results.check(loaded, tmp_path) is None


def test_a_manifest_that_nobody_writes_does_not_hold_a_parse(tmp_path, root):
    demo = root / "workflows/experiments/captured/demo/runs/nqueens-baseline-r1/pc1.pcap.zst"
    (tmp_path / "pc1.pcap.zst").write_bytes(demo.read_bytes())
    os.mkfifo(tmp_path / "pc1.capture.json")
    done = limited("parse", tmp_path / "pc1.pcap.zst", "-o", tmp_path / "out")
    assert done.returncode == 2
    assert "pc1.capture.json: is not a file" in done.stderr
    assert not list(tmp_path.rglob("*.parquet*"))


def test_pydantic_is_not_imported_to_parse(tmp_path, root):
    """Importing it takes as long as parsing many a capture."""
    run = root / "workflows/experiments/captured/demo/runs/nqueens-baseline-r1"
    code = (
        "import sys; from flowsweep import cli, parsing;"
        f"cli._status(['parse', {str(run / 'pc1.pcap.zst')!r}, '-o', {str(tmp_path)!r}]);"
        "print(sorted(name for name in sys.modules if name in ('pydantic', 'yaml', 'polars')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr
    assert (run / "pc1.capture.json").exists()


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b"\xff\xfe{}", ["line 1: is not text", "0xff"]),
        (b'{\n"a": "\xc3"}', ["line 2: is not text", "iconv"]),
        (b'{"a": NaN}', ["NaN", "64 bits"]),
        (b'{"a": [1, -Infinity]}', ["-Infinity"]),
        (b'{"a": {"b": [0, 1e400]}}', ["a.b[1]: a number is too large"]),
        (b'{"a": 18446744073709551616}', ["a: a number is too large", "65 bits", "in quotes"]),
        (b'{"a":\n ' + b"1" * 5000 + b"}", ["line 2: a number is too long", "5,000 digits"]),
        (b'{"a": ' + b"[" * 65 + b"]" * 65 + b"}", ["nested too deeply", "at most 64"]),
        (b"[" * 100_000, ["nested too deeply"]),
        (b'{"a": "\\ud800"}', ["a: half of a character"]),
        (b'{"\\udfff": 1}', ["half of a character"]),
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', ['"c" stands twice']),
        (b'{"a": 1,}', ["line 1: this is not JSON", "remedy    correct line 1"]),
        (b"[1]", ["this is not a thing", "a list", '{"a": 1}']),
        (b"", ["line 1: this is not JSON"]),
    ],
)
def test_json_that_cannot_be_used_is_reported_with_its_place(content, parts, tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(FlowsweepError) as caught:
        inputs.read_object(path, "a thing", '{"a": 1}')
    for part in [str(path), *parts]:
        assert part in str(caught.value)


def test_json_that_can_be_used_is_what_it_was(tmp_path):
    path = tmp_path / "x.json"
    value = {"a": [2**64 - 1, -(2**63), 1.7e308, "ünï\U0001f600", None, True], "deep": [[[[{}]]]]}
    path.write_text("\ufeff" + json.dumps(value, ensure_ascii=False), encoding="utf-8")
    assert inputs.read_object(path, "a thing", "{}") == (value, path.read_text("utf-8-sig"))


#: A text of each kind, whose size is proportional to the number.
LARGE = {
    "numbers": lambda size: '{"a": [' + "1," * (500_000 * size) + "1]}",
    "too many": lambda size: '{"a": [' + "{}," * (337_500 * size) + "{}]}",
    "objects": lambda size: '{"a": [' + '{"a": 1},' * (30_000 * size) + "{}]}",
    "keys": lambda size: "{" + ",".join(f'"{n}":1' for n in range(93_750 * size)) + "}",
    "text": lambda size: '{"a": "' + "x" * (1_037_500 * size) + '"}',
    "digits": lambda size: '{"a": ' + "9" * (1_037_500 * size) + "}",
    "cut": lambda size: '{"a": 1, ' * (30_000 * size),
    "nested": lambda size: '[{"a":' * (15_000 * size),
    "blanks": lambda size: " " * (1_037_500 * size),
}


def seconds_to_read(path: Path) -> float:
    """Returns the lower CPU time of two readings, in seconds."""
    taken = []
    for _ in range(2):
        start = time.process_time()
        with contextlib.suppress(FlowsweepError):
            inputs.read_object(path, "a thing", "{}")
        taken.append(time.process_time() - start)
    return min(taken)


@pytest.mark.parametrize("kind", LARGE)
def test_time_grows_with_the_size_of_a_file_and_no_faster(kind, tmp_path):
    """Up to eight mebibytes; larger files are refused unread. Quadratic work would take 64-fold."""
    small, largest = tmp_path / "small.json", tmp_path / "largest.json"
    small.write_text(LARGE[kind](1))
    largest.write_text(LARGE[kind](8))
    assert seconds_to_read(largest) < 0.2 + 24 * seconds_to_read(small)
