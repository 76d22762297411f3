"""The command line: order of arguments, help, and errors."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from flowsweep.cli import COMMANDS, completion, query
from flowsweep.cli.arguments import Parser
from flowsweep.errors import FlowsweepError
from flowsweep.warehouse import figure_names


def parsed(command: str, *words: str) -> dict[str, object] | None:
    parser = Parser(command, "What it does.")
    import_module(f"flowsweep.cli.{command}").arguments(parser)
    return parser.parse(words)


@pytest.mark.parametrize(
    "words",
    [
        "a b -o out --bin 1ms",
        "a -o out b --bin=1ms",
        "--bin 1ms --output=out a b",
        "-oout --bin 1ms -- a b",
    ],
)
def test_arguments_stand_in_any_order(words):
    found = parsed("parse", *words.split())
    assert found == {
        "files": [Path("a"), Path("b")],
        "output": Path("out"),
        "bin_ns": 1_000_000,
        "udp_timeout_ns": 60_000_000_000,
        "packets": False,
        "threads": 0,
        "verify_checksums": False,
        "keep_duplicates": False,
        "by_network": False,
        "order_window_ns": 1_000_000_000,
        "order_window_packets": 65_536,
        "memory": None,
    }


def test_a_file_may_begin_with_a_dash_behind_two():
    assert parsed("show", "--", "-a", "--help")["files"] == [Path("-a"), Path("--help")]


def test_the_words_of_a_shells_command_stay_as_they_are():
    words = "a.yaml --set rtt=1ms --set rate=2Mbit/s -- git log --help -- --set x"
    found = parsed("testbed.shell", *words.split())
    assert found["command"] == ["git", "log", "--help", "--", "--set", "x"]
    assert found["settings"] == ["rtt=1ms", "rate=2Mbit/s"]
    assert parsed("testbed.shell", "a.yaml", "hostname")["command"] == ["hostname"]
    assert parsed("testbed.shell", "a.yaml")["command"] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("a", "-o/--output"),
        ("-o out", "FILE"),
        ("a -o out --threads -1", "argument --threads: '-1'"),
        ("a -o out --threads 100000", "100000 is too many; expected at most 512"),
        (f"a -o out --threads {'9' * 5000}", "is too many; expected at most 512"),
        ("a -o out --threads 1e3", "is not a whole number of 0 or more"),
        ("a -o out --bin 1e400s", "beyond every time"),
        ("a -o out --bin 9223372036854775808ns", "beyond every time"),
        ("a -o out --udp-timeout nan", "is not a time"),
        ("a -o out --bin 3", 'argument --bin: "3" has no unit; expected a time with a unit'),
        ("a -o out --pack", "--pack"),
    ],
)
def test_what_is_wrong_is_reported(words, message):
    with pytest.raises(FlowsweepError) as caught:
        parsed("parse", *words.split())
    assert message in caught.value.what
    assert caught.value.remedy == "parse --help"


def test_a_message_fits_the_window_and_its_remedy_can_be_copied():
    names = ", ".join(f"name_{number}" for number in range(40))
    remedy = "snakemake --configfile " + "x" * 70
    error = FlowsweepError("no such thing", found=names, expected="a name", remedy=remedy)
    *lines, last = error.fitted(80).splitlines()
    assert max(map(len, lines)) <= 80
    assert last == f"  remedy    {remedy}"
    assert " ".join(" ".join(lines).split()) == f"no such thing found {names} expected a name"
    assert str(error).count("\n") == 3


def test_every_command_has_a_help_that_fits_the_window(command):
    programs = [(name,) for name in COMMANDS] + [("testbed", "check"), ("testbed", "shell"), ()]
    for words in programs:
        done = command("flowsweep", *words, "--help", env={"COLUMNS": "80"})
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(" ".join(["usage: flowsweep", *words]))
        assert max(map(len, done.stdout.splitlines())) <= 80, words


def test_the_help_of_query_lists_every_name_with_what_it_is(command, root):
    help_text = command("flowsweep", "query", "--help", env={"COLUMNS": "80"}).stdout
    found = [*root.glob("reports/figures/*.sql"), *root.glob("reports/papers/*/figures/*.sql")]
    names = [path.stem for path in found]
    assert len(names) > 20
    for name in names:
        assert re.search(rf"^  {name} +[A-Z]", help_text, re.MULTILINE), name


@pytest.mark.parametrize("words", [(), ("testbed",)])
def test_no_command_is_an_error_with_the_list(command, words):
    done = command("flowsweep", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "usage: flowsweep" in done.stderr


def test_an_unknown_command_is_reported_with_the_known_ones(command):
    done = command("flowsweep", "prase", "a.pcap")
    assert done.returncode == 2
    assert "flowsweep prase: no such command" in done.stderr
    assert "parse" in done.stderr.splitlines()[1]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["qu"], ["query"]),
        (["query", "thr"],
         ["thresholds", "throughput_cdf", "throughput_per_core", "throughput_series"]),
        (["query", "thresholds", "--fo"], ["--format"]),
        (["query", "thresholds", "results", "--format", ""], ["table", "csv", "json"]),
        (["testbed", ""], ["check", "shell", "--help"]),
        (["columns", "fl"], ["flows", "flow_durations", "flow_rates", "flow_sizes"]),
        (["parse", ""], []),
        (["nothing", ""], []),
    ],
)  # fmt: skip
def test_a_shell_completes_commands_options_and_names(line, words):
    assert completion.candidates(line) == words


def test_bash_completes_the_name_of_a_query():
    typed = 'eval "$(flowsweep completion bash)"; COMP_WORDS=(flowsweep query thresh) COMP_CWORD=2;'
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", "-c", f"{typed} _flowsweep; echo ${{COMPREPLY[@]}}"],
        env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ended.stdout == "thresholds\n"


@pytest.mark.parametrize("words", [[], ["--list"]])
def test_a_query_without_a_name_prints_the_names(words, capsys):
    query.query(**parsed("query", *words))
    printed = capsys.readouterr().out
    assert [line.split()[0] for line in printed.splitlines() if line[2] != " "] == figure_names()


def test_a_query_without_a_folder_asks_for_it():
    with pytest.raises(FlowsweepError, match="the folder of the results is missing"):
        query.query(**parsed("query", "thresholds"))
