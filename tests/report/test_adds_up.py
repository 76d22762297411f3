"""Every query's claims about its rows hold for any experiment, and violations are found."""

from __future__ import annotations

import tempfile
from pathlib import Path

import critical
import in_flight
import made
import pytest
import ranked
import reconfigured
import synthetic
import tiny
from hypothesis import given

from flowsweep.analysis.adds_up import contradictions
from flowsweep.render import page
from flowsweep.warehouse import Warehouse, figure_names, figures, reports_folder


@made.some(10)
@given(made.experiments())
def test_random_experiments_add_up(experiment: list[made.Run]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        warehouse = Warehouse(made.write(Path(folder), experiment))
        # As in a report: making facts one by one would take three times as long, and each query
        # would first check whether the tables have changed.
        with warehouse.reading():
            warehouse.keep_facts()
            assert [str(one) for one in contradictions(warehouse, figure_names())] == []


def test_every_query_declares_what_must_hold() -> None:
    for name in figure_names():
        claims = figures.read_description(reports_folder(), name)["adds_up"]
        assert claims, name
        for claim in claims:
            assert set(claim) == {"claim", "sql"}
            assert "figure_rows" in claim["sql"], name


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes pairs of RTT and rate with two outcomes, and runs along two more axes."""
    rows = [
        tiny.run(
            f"{rtt}-{rate}", baseline=(rtt, rate) == (1, 100), rtt_asked_ns=rtt * tiny.MS,
            rtt_measured_ns=rtt * tiny.MS, rate_asked_bit_s=rate * 1e6,
            rate_measured_bit_s=rate * 1e6, completion_s=8.0 + 0.1 * rtt + 100 / rate,
            outcomes=[{"name": "tps", "unit": "1/s", "better": "more", "value": 900 / (rtt + 8)}],
        )
        for rtt in (1, 4, 16, 64)
        for rate in (100, 20, 5)
    ]  # fmt: skip
    base = {"rtt_asked_ns": tiny.MS, "rtt_measured_ns": tiny.MS,
            "rate_asked_bit_s": 1e8, "rate_measured_bit_s": 1e8}  # fmt: skip
    rows += [tiny.run(f"loss-{loss}", loss=loss, completion_s=9 + 300 * loss, **base)
             for loss in (0.001, 0.01)]  # fmt: skip
    rows += [tiny.run("bbr", congestion="bbr", completion_s=10.0, **base)]
    directory = tiny.runs(tmp_path_factory.mktemp("plane"), rows)
    flow = tiny.flow("10.77.1.1", "10.77.2.1", ecn_capable_packets=10, ce_packets=3)
    tiny.table(directory, "flows", "bbr", "pc1", [flow])
    tiny.table(directory, "rdma", "bbr", "pc1", [tiny.queue_pair("10.77.1.1", "10.77.2.1")])
    (directory / "experiment.yaml").write_text('need: {tps: "> 80 1/s"}\ncaptured: .\n')
    return directory


@pytest.fixture(scope="module")
def warehouses(
    two_apps: Path, full: Path, plane: Path, tmp_path_factory: pytest.TempPathFactory
) -> list[Warehouse]:
    """Returns experiments; every query has rows in at least one of them."""
    changing = reconfigured.make(tmp_path_factory.mktemp("reconfigured"))
    over_ranks = ranked.make(tmp_path_factory.mktemp("ranked"))
    matched = tiny.runs(tmp_path_factory.mktemp("matched"), [tiny.run("r", baseline=True)])
    tiny.sent(matched, "r", "pc1", "pc3", "axxaxa?xx")
    tiny.sent(matched, "r", "pc3", "pc1", "aaa")
    sending = in_flight.make(tmp_path_factory.mktemp("in_flight"))
    paths = critical.make(tmp_path_factory.mktemp("critical"))
    made_once = (full, two_apps, over_ranks, changing, matched, sending, paths)
    return [
        *(Warehouse(one, is_anew=True) for one in made_once),
        Warehouse(plane, against=plane),
    ]


@pytest.mark.parametrize("name", figure_names())
def test_a_row_that_is_lost_is_seen(warehouses: list[Warehouse], name: str) -> None:
    """If the first, middle or last row is lost, a claim fails in at least one of these cases."""
    for warehouse in warehouses:
        rows = warehouse.rows(name).height
        if rows:
            break
    assert rows, f"no experiment here has rows of {name}"
    assert contradictions(warehouse, [name]) == []
    seen = 0
    chosen = sorted({0, rows // 2, rows - 1})
    for lost in chosen:
        warehouse.keep_rows(name)
        warehouse.connection.execute(
            f"create or replace temp view figure_rows as "
            f"select * from rows_of_{name} where rowid <> {lost}"
        )
        seen += any(not _holds(warehouse, sql) for _, sql in warehouse.catalog.claims(name))
    assert seen, f"{name}: {rows} rows, none of {chosen} is missed"


def test_a_report_that_contradicts_itself_says_so_at_the_top(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    import shutil

    from flowsweep.cli.report import report

    reports = tmp_path / "reports"
    shutil.copytree(reports_folder(), reports)
    totals = reports / "figures" / "totals.sql"
    text = totals.read_text(encoding="utf-8")
    totals.write_text(
        text.replace("from final\norder", "from final\nwhere is_baseline\norder"), encoding="utf-8"
    )
    plan = synthetic.Plan(rtts_ms=(1, 16), rates_mbit_s=(100,), repetitions=1, warmup=0)
    directory = synthetic.make(tmp_path / "made", plan)
    assert "This report contradicts" not in page.build(directory).html.replace("\u00a0", " ")
    monkeypatch.setenv("FLOWSWEEP_REPORTS", str(reports))
    html = page.build(directory).html.replace("\u00a0", " ")
    at = html.index("This report contradicts the tables that it was made from.")
    assert at < html.index('id="verdict"')
    assert "totals: it should hold that the runs of all points are the runs that count" in html
    report(directory=directory, against=None)
    assert "warning: the report contradicts its tables: totals" in capsys.readouterr().err


def _holds(warehouse: Warehouse, sql: str) -> bool:
    from flowsweep.analysis import adds_up

    return adds_up.find_wrong_rows(warehouse, sql).is_empty()


def test_a_folder_without_a_packet_adds_up(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True), tiny.run("s", status="failed")])
    assert contradictions(Warehouse(tmp_path), figure_names()) == []
