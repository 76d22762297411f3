"""Any command line gives an answer, or an error that explains what is wrong."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import time
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsweep import cli, printing
from flowsweep.cli import arguments, failures
from flowsweep.errors import FlowsweepError

from .test_any_input import ROOT, many

#: CPU time limit of a command; most have nothing to do.
MOST_S = 5.0
#: Names of existing places, of missing ones, and of wrong kinds.
PLACES = ["run", "runs", "results", "x.yaml", "a.pcap", "b.pcap.zst", "fifo", "empty", "gone",
    "loop", "link", "cut.yaml",
          "text", "", ".", "-", "/dev/zero", "/dev/full", "/dev/null/x", "n" * 300, "a\nb",
          "\udcff", "\x1b[31m", "a b",
          "$(id)", "[a]*", "-x", "x/../../x"]  # fmt: skip
NUMBERS = ["0", "-1", "1", "512", "513", "100000", "9" * 5000, "1e400", "nan", "inf", "0x10",
"1.5", "", " ", "٣", "²",
           "1ms", "0ms", "-1ms", "1e-9ns", "9223372036854775807ns", "9223372036854775808ns",
           "1e30s", "1e400s", "60"]  # fmt: skip
OPTIONS = ["--output", "-o", "--bin", "--udp-timeout", "--threads", "--packets",
    "--verify-checksums", "--format", "--sql",
           "--experiment", "--run", "--set", "--failed", "--dry-run", "--help", "-h", "--",
           "--quiet", "--quick", "-q",
           "--version", "--x", "-z", "--bin=", "--threads=9", "--output=out/made"]  # fmt: skip
OTHER = ["csv", "json", "table", "text", "schema", "thresholds", "totals", "run_table", "nothing",
    "rtt=16ms", "rtt=", "=",
         "problem.board=NaN"]  # fmt: skip
#: With these valid command lines each command has work to do.
RIGHT = [
    ["plan", "x.yaml"], ["plan", "x.yaml", "--format", "json"], ["run", "x.yaml", "--dry-run",
    "-o", "out/run/one"],
    ["retry", "results"], ["parse", "a.pcap", "-o", "out/parsed"], ["ingest", "run", "-o",
    "out/tables", "--bin", "1ms"],
    ["runs", "runs", "-o", "out/runs.parquet", "--experiment", "x.yaml"], ["show", "a.pcap"],
    ["show", "a.pcap", "--format", "json"], ["query", "totals", "results"], ["query", "run_table",
    "gone", "--sql"],
    ["report", "gone"], ["testbed"], ["testbed", "check", "--x"], [], ["--version"], ["nothing"],
]  # fmt: skip


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with all the places; commands run in it."""
    folder = tmp_path_factory.mktemp("arguments")
    demo = ROOT / "workflows/experiments/captured/demo/runs/nqueens-baseline-r1"
    for name in ("run", "runs/one", "results/runs/one", "results/tables", "empty"):
        (folder / name).mkdir(parents=True)
    shutil.copy(demo / "pc1.pcap.zst", folder / "b.pcap.zst")
    shutil.copy(demo / "pc1.pcap.zst", folder / "run/pc1.pcap.zst")
    (folder / "a.pcap").write_bytes(
        bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")
    )
    shutil.copy(ROOT / "workflows/experiments/demo.yaml", folder / "x.yaml")
    (folder / "cut.yaml").write_text("sites: [")
    (folder / "text").write_text("text\n")
    for runs in ("runs", "results/runs"):
        (folder / runs / "one/run.json").write_text(json.dumps({"completion_s": 1}))
    os.mkfifo(folder / "fifo")
    (folder / "loop").symlink_to("loop")
    (folder / "link").symlink_to("gone")
    before = Path.cwd()
    os.chdir(folder)
    yield folder
    os.chdir(before)


@st.composite
def commands(draw: st.DrawFn) -> list[str]:
    words = list(draw(st.sampled_from(RIGHT)))
    any_word = (
        st.sampled_from(PLACES)
        | st.sampled_from(NUMBERS)
        | st.sampled_from(OPTIONS)
        | st.sampled_from(OTHER)
    )
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["replace", "insert", "remove", "repeat", "option"]))
        place = draw(st.integers(0, len(words)))
        if kind == "insert" or not words:
            words.insert(place, draw(any_word))
        elif kind == "option":
            words += [
                draw(st.sampled_from(OPTIONS)),
                draw(st.sampled_from(NUMBERS + PLACES + OTHER)),
            ]
        elif kind == "remove":
            del words[place - 1]
        elif kind == "repeat":
            words.insert(place, words[place - 1])
        else:
            words[place - 1] = draw(any_word)
    return words


def is_safe(words: list[str]) -> bool:
    """Returns whether it neither waits for input nor starts a testbed, and stays in its folder."""
    if "-" in words or ("testbed" in words and not {"--help", "-h", "--x", "-z"} & set(words)):
        return False
    if {"parse", "show"} & set(words) and "fifo" in words:  # would wait for a stream of packets
        return False
    if "run" in words[:1] and "--dry-run" not in words:
        return False
    return not any(word.startswith(("x/..", "/dev/null")) for word in words)


def run_words(words: list[str]) -> tuple[int, str, str]:
    """Returns the exit code and the output of `main`."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        printing.guard()
        status = failures.status_of(lambda: cli._status(words))
    return status, out.getvalue(), err.getvalue()


@many
@given(commands().filter(is_safe))
def test_commands(here, words):
    start = time.process_time()
    status, out, err = run_words(words)
    assert time.process_time() - start < MOST_S
    assert "a fault of flowsweep" not in err
    assert "Traceback" not in err
    assert status in (0, 1, 2)
    # Exit code 1 means that the answer is no, as for an empty capture.
    assert status != 1 or words[0] == "show"
    assert status != 2 or err.startswith(("error: ", "usage: "))
    (out + err).encode()
    assert "\x1b" not in err


@many
@given(st.lists(st.sampled_from([*OPTIONS, *NUMBERS, *PLACES, *OTHER]), max_size=8))
@pytest.mark.parametrize("name", ["run", "testbed.shell", "testbed.check", "ingest"])
def test_words_of_commands_that_need_a_testbed(name, words):
    parser = arguments.Parser(name, "What it does.")
    import_module(f"flowsweep.cli.{name}").arguments(parser)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(FlowsweepError):
        parser.parse(words)
