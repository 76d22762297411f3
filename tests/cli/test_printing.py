"""Text from elsewhere cannot control the terminal; data stay unchanged."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flowsweep import printing

#: A colour, a window title, a cursor movement, and text that reads backwards.
EVIL = "\x1b[31m\x1b]0;owned\x07\x9b2J\r\u202egnp.exe\u2066"


def test_commands_are_spelled_out_and_text_is_left():
    assert printing.visible("a\tb\nünï €\U0001f600") == "a\tb\nünï €\U0001f600"
    shown = printing.visible(EVIL)
    assert shown == "\\x1b[31m\\x1b]0;owned\\x07\\x9b2J\\x0d\\u202egnp.exe\\u2066"
    assert printing.visible(os.fsdecode(b"a\xff")) == "a\\xff"
    assert printing.line("a\nb\tc") == "a\\nb\\tc"
    assert all(printing.visible(chr(code)).isprintable() for code in [*range(9), 27, 127, 155])


def in_terminal(words: list[object], folder: Path) -> bytes:
    """Returns everything that a command writes to its terminal."""
    master, slave = pty.openpty()
    try:
        done = subprocess.Popen(
            [sys.executable, "-m", "flowsweep", *map(str, words)],
            cwd=folder, stdout=slave, stderr=slave, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(slave)
        output = b""
        while True:
            try:
                part = os.read(master, 65_536)
            except OSError:  # end of file on Linux
                break
            output += part
        done.wait()
    finally:
        os.close(master)
    return output


@pytest.fixture
def evil(tmp_path, captured_demo, root) -> Path:
    """A capture, results, an experiment and a broken one, all with hostile names or texts."""
    runs = root / "workflows/experiments/captured/demo/runs"
    shutil.copy(
        runs / "nqueens-baseline-r1/pc1.pcap.zst", tmp_path / f"{EVIL}.pcap.zst".replace("\r", "")
    )
    (tmp_path / f"{EVIL}.yaml").write_text("sites: [")
    (tmp_path / "runs/one").mkdir(parents=True)
    (tmp_path / "runs/one/run.json").write_text(json.dumps({"reason": EVIL, "status": "invalid"}))
    (tmp_path / "bad/one").mkdir(parents=True)
    (tmp_path / "bad/one/run.json").write_text(json.dumps({"axes": {EVIL: 1}}))
    (tmp_path / "cut.yaml").write_text(f"tit{EVIL}le: 1\n")
    shutil.copytree(captured_demo, tmp_path / f"{EVIL}d", symlinks=True)
    return tmp_path


def test_no_command_reaches_the_terminal_from_outside(evil):
    capture = next(evil.glob("*.zst"))
    for words in (
        ["plan", f"{EVIL}.yaml"], ["plan", "cut.yaml"], ["plan", EVIL], ["show", capture],
        ["show", EVIL],
        ["runs", "bad", "-o", "x/runs.parquet"], ["runs", "runs", "-o", f"{EVIL}/r"], [EVIL],
        ["query", EVIL, "."],
        ["parse", capture, "-o", f"{EVIL}out"], ["run", "cut.yaml", "--dry-run", "--set", EVIL],
        ["parse", "x", "-o", "y", "--bin", EVIL], ["query", "totals", f"{EVIL}d"], ["report",
        EVIL], ["retry", EVIL],
    ):  # fmt: skip
        output = in_terminal(words, evil).decode()
        for colour in (
            "\r\x1b[K",
            "\x1b[1m",
            "\x1b[0m",
            "\x1b[2m",
            "\x1b[32m",
            "\x1b[33m",
            "\x1b[31mbad",
        ):
            output = output.replace(colour, "")  # colours of `parse` and `show` themselves
        output = output.replace("\r\n", "\n")  # from the terminal
        commands = {character for character in EVIL if not character.isprintable()}
        assert not commands & set(output), words


def test_data_is_what_it_is(captured_demo, tmp_path, command):
    folder = tmp_path / "a\nb\x1b[31m"
    shutil.copytree(captured_demo, folder, symlinks=True)
    asked = command("flowsweep", "query", "run_table", folder, "--format", "json")
    assert json.loads(asked.stdout)
    text = 'sites: {west: 1, east: 1}\nworkload: {command: "echo \\u202e"}\n'
    (tmp_path / "x.yaml").write_text(text)
    planned = command("flowsweep", "plan", tmp_path / "x.yaml", "--format", "json")
    assert json.loads(planned.stdout)[0]["program"] == "echo \u202e"
    shown = command("flowsweep", "plan", tmp_path / "x.yaml")
    assert "\u202e" not in shown.stdout


def test_a_script_is_a_script_whatever_the_folder_is_called(captured_demo, tmp_path, command):
    """A newline in the name would end the comment, and the rest would be SQL."""
    import duckdb

    folder = tmp_path / "a\ncopy (select 1) to 'pwned.csv'; --'\x1b"
    shutil.copytree(captured_demo, folder, symlinks=True)
    script = command("flowsweep", "query", "run_table", folder, "--sql").stdout
    assert script.startswith("-- run_table of ")
    assert "\\ncopy" in script.splitlines()[0]
    rows = duckdb.connect().execute(script).fetchall()
    assert len(rows) == 16
    assert not list(tmp_path.rglob("pwned.csv"))
