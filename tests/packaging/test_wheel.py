"""The wheel contains everything, and its commands work without a checkout."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

RUN = "nqueens-baseline-r1"
TINY = """
sites: {west: [pc1], east: [pc2]}
link: {rtt: 1ms, rate: 100Mbit/s}
workload: {app: nqueens, problem: {board: 8, node_ns: 20000}}
timeout: 100s
limits: {other_programs: 100%, cpu_pressure: 100%, lateness: 100ms}
"""


@pytest.fixture(scope="module")
def plain(environment) -> Path:
    """Flowsweep without an extra."""
    return environment("")


@pytest.fixture(scope="module")
def whole(environment) -> Path:
    """Flowsweep with the extra `sweep`."""
    return environment("sweep")


@pytest.fixture
def capture(root) -> Path:
    return root / f"workflows/experiments/captured/demo/runs/{RUN}/pc1.pcap.zst"


def test_the_wheel_is_abi3_and_holds_content_and_programs(wheel):
    assert "-cp311-abi3-" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    share = "platlib/flowsweep/share"
    for part in (
        "flowsweep/py.typed",
        "flowsweep/_parsers.abi3.so",
        f"{share}/Snakefile",
        f"{share}/profiles/default/config.yaml",
        f"{share}/workflows/rules/common.smk",
        f"{share}/workflows/experiments/demo.yaml",
        f"{share}/workflows/experiment.schema.json",
        f"{share}/reports/macros.sql",
        f"{share}/reports/page.html.j2",
        f"{share}/reports/figures/thresholds.sql",
        f"{share}/reports/figures/thresholds.yaml",
        f"{share}/capture/workloads/nqueens/nqueens.py",
        f"{share}/capture/workloads/libflowsweep_kernels.so",
        "scripts/flowsweep-capture",
        "scripts/flowsweep-wan",
    ):
        assert any(name.endswith(part) for name in names), part
    assert not [name for name in names if "__pycache__" in name or name.endswith(".rs")]


def test_no_wheel_content_is_missing(wheel, root):
    """The wheel contains all files of the content, except those excluded by name."""
    names = set(zipfile.ZipFile(wheel).namelist())
    (share,) = {name.partition("/share/")[0] for name in names if "/share/" in name}
    wanted = [
        path.relative_to(root)
        for folder in ("reports", "workflows", "capture/workloads")
        for path in (root / folder).rglob("*")
        if path.is_file()
        and not {"kernels", "__pycache__"} & set(path.parts)
        and not path.name.startswith(("readme-", "."))
    ]
    assert len(wanted) > 200
    assert [path for path in wanted if f"{share}/share/{path}" not in names] == []


def test_parser_and_readers_need_no_extra(plain, run, capture, outside):
    done = run(plain, "flowsweep", "parse", capture, "--output", "tables")
    assert done.returncode == 0, done.stderr
    shown = run(plain, "flowsweep", "show", capture)
    assert shown.returncode == 0, shown.stderr
    assert "3,641 packets" in shown.stdout
    code = (
        "import flowsweep, duckdb, json; flows = flowsweep.read_flows('tables');"
        "packets = flowsweep.read_packets(PATH, time_unit='us');"
        "print(json.dumps([flowsweep.__file__, flowsweep.__version__,"
        "duckdb.sql('select sum(packets)::int from flows').fetchall()[0][0],"
        "duckdb.sql('select epoch(max(time) - min(time)) from packets').fetchall()[0][0]]))"
    )
    answer = run(plain, "python", "-c", f"PATH = {str(capture)!r}; {code}")
    assert answer.returncode == 0, answer.stderr
    file, version, packets, seconds = json.loads(answer.stdout)
    assert Path(file).is_relative_to(plain)
    assert version == "0.1.0"
    assert packets == 3641
    assert seconds == pytest.approx(2.393, abs=1e-3)


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("report", "results"), "report"),
        (("query", "totals", "results"), "report"),
        (("plan", "experiment.yaml"), "sweep"),
        (("run", "experiment.yaml", "--output", "one"), "sweep"),
    ],
)
def test_a_command_without_its_extra_says_so_once(plain, run, words, extra):
    done = run(plain, "flowsweep", *words)
    assert done.returncode == 2
    assert done.stderr.count("error: ") == 1
    assert done.stderr.startswith(f"error: flowsweep {words[0]}: a Python package")
    assert f"remedy    pip install 'flowsweep[{extra}]'" in done.stderr
    assert done.stdout == ""


def test_captures_to_their_report_without_a_checkout(whole, run, root, outside):
    where = run(whole, "flowsweep", "workflow", "path")
    assert where.returncode == 0, where.stderr
    snakefile = Path(where.stdout.strip())
    assert snakefile.is_relative_to(whole)
    own_run = outside / "mine/runs" / RUN
    own_run.mkdir(parents=True)
    source = root / "workflows/experiments/captured/demo/runs" / RUN
    for name in ("pc1.pcap.zst", "pc3.pcap.zst", "run.json"):
        (own_run / name).write_bytes((source / name).read_bytes())
    (outside / "mine/experiment.yaml").write_text("title: mine\n")
    made = run(whole, "snakemake", "-s", snakefile, "--configfile", "mine/experiment.yaml")
    assert made.returncode == 0, made.stdout + made.stderr
    assert (outside / "results/mine/report.html").stat().st_size > 100_000
    asked = run(whole, "flowsweep", "query", "totals", "results/mine", "--format", "csv")
    assert asked.returncode == 0, asked.stderr
    assert asked.stdout.count("\n") > 1
    again = run(whole, "flowsweep", "report", "results/mine")
    assert again.returncode == 0, again.stderr
    assert not (snakefile.parent / "results").exists()


def test_an_experiment_that_comes_with_it_is_planned(whole, run):
    file = run(whole, "flowsweep", "workflow", "path", "demo").stdout.strip()
    planned = run(whole, "flowsweep", "plan", file)
    assert planned.returncode == 0, planned.stderr
    assert "nqueens-baseline-r1" in planned.stdout
    unknown = run(whole, "flowsweep", "workflow", "path", "nothing")
    assert unknown.returncode == 2
    assert "captured/demo" in unknown.stderr


@pytest.mark.usefixtures("namespaces")
def test_a_run_with_the_workloads_and_programs_of_the_wheel(whole, run, outside):
    (outside / "tiny.yaml").write_text(TINY)
    done = run(whole, "flowsweep", "run", "tiny.yaml", "--output", "one")
    assert done.returncode == 0, done.stderr
    record = json.loads((outside / "one/run.json").read_text())
    assert record["status"] == "valid", record["reason"]
    assert (outside / "one/pc1.pcap.zst").stat().st_size > 0
