"""Facts of runs: the same alone and together, made once, and rebuilt where an input differs."""

from __future__ import annotations

import inspect
import json
import shutil
from pathlib import Path

import made
import polars as pl
import pytest
import tiny
from hypothesis import given, settings
from sending import ASKED, add_tables, experiment, rows, sent

from flowsweep.analysis import capture_rules, claims, grades
from flowsweep.files import owned
from flowsweep.warehouse import (
    Warehouse,
    database,
    facts,
    figure_names,
    parts,
    reports_folder,
    signatures,
)

FOLDER = reports_folder() / "facts"
FACTS = sorted(path.stem for path in FOLDER.glob("*.sql"))


def files(directory: Path) -> dict[str, set[str]]:
    """Returns the names of the files of each fact."""
    folder = directory / owned.FACTS
    return {path.name: {file.name for file in path.iterdir()} for path in folder.glob("*/")}


@given(made.experiments())
@settings(max_examples=3, deadline=None)
def test_a_fact_of_a_run_follows_from_that_run_alone(runs: list[made.Run]) -> None:
    """A fact that read other runs would change as soon as a run is added."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        directory = made.write(Path(folder), runs)
        together = Warehouse(directory, _folders(directory))
        alone = [
            Warehouse(directory, {run: folders}) for run, folders in _folders(directory).items()
        ]
        for fact in FACTS:
            every = rows(together, fact)
            parts = [found for one in alone if (found := rows(one, fact)).height]
            joined = pl.concat(parts, how="vertical_relaxed") if parts else every.clear()
            assert _texts(joined) == _texts(every), fact


def test_a_change_of_the_grading_rules_changes_the_digests_of_facts(tmp_path, monkeypatch) -> None:
    """Rules and claims are in modules of their own."""
    tiny.runs(tmp_path, [tiny.run("r")])
    before = Warehouse(tmp_path).catalog.digests
    source = inspect.getsource
    for module in (capture_rules, claims, grades):

        def changed(one: object, module: object = module) -> str:
            return source(one) + ("# changed" if one is module else "")  # type: ignore[arg-type]

        monkeypatch.setattr(inspect, "getsource", changed)
        after = Warehouse(tmp_path).catalog.digests
        differ = {fact for fact in after if after[fact] != before[fact]}
        assert "interval_histogram" in differ
        assert "raw_sums" not in differ


def _folders(directory: Path) -> dict[str, set[str]]:
    warehouse = Warehouse(directory)
    return signatures.read_inputs(warehouse.tables, warehouse.connection).folders


def _texts(frame: pl.DataFrame) -> list[str]:
    return sorted(str(row) for row in frame.rows())


def test_what_is_kept_gives_the_rows_that_the_tables_give(one_app: Path, tmp_path: Path) -> None:
    kept = shutil.copytree(one_app, tmp_path / "kept")
    shutil.rmtree(kept / owned.FACTS, ignore_errors=True)
    (blocked := tmp_path / "blocked").mkdir()
    shutil.copytree(kept / "tables", blocked / "tables")
    (blocked / owned.FACTS).write_text("something else has the name")
    with_facts, without = Warehouse(kept), Warehouse(blocked)
    with_facts.keep_facts()
    for name in figure_names():
        assert with_facts.rows(name).equals(without.rows(name)), name
    assert set(files(kept)) == set(FACTS)
    assert (blocked / owned.FACTS).is_file()


def test_a_foreign_file_among_the_facts_is_named_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment(tmp_path)
    sent(tmp_path)
    stray = tmp_path / owned.FACTS / "stray"
    stray.write_text("not ours")
    add_tables(tmp_path, "r1", 7)
    warehouse = Warehouse(tmp_path)
    warehouse.keep_facts()
    warehouse.keep_facts()
    notes = capsys.readouterr().err
    assert notes.count("note: facts are not kept") == 1
    assert f"{stray}: in the way" in notes
    assert sent(tmp_path) == {"r0": 300, "r1": 21, "r2": 900}
    assert stray.read_text() == "not ours"


def test_a_second_warehouse_opens_what_the_first_one_kept(tmp_path: Path) -> None:
    experiment(tmp_path)
    assert sent(tmp_path) == {"r0": 300, "r1": 600, "r2": 900}
    before = files(tmp_path)
    # The second warehouse reads the kept file, so a change in it shows.
    (path,) = (tmp_path / owned.FACTS / "host_totals").iterdir()
    more = pl.read_parquet(path).with_columns(pl.col("wire_bytes") + 1)
    more.write_parquet(path, metadata={owned.TABLE_MARK.decode(): "host_totals"})
    assert sent(tmp_path) == {"r0": 301, "r1": 601, "r2": 901}
    assert files(tmp_path) == before


@pytest.mark.parametrize("is_small", [True, False])
def test_a_second_question_about_little_makes_all_facts_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_small: bool
) -> None:
    if not is_small:
        monkeypatch.setattr(database, "SMALL_BYTES", 0)
    experiment(tmp_path)
    warehouse = Warehouse(tmp_path)
    warehouse.rows("message_rate")
    first = {*files(tmp_path)}
    assert first < {*FACTS}
    warehouse.rows("requirement")
    assert first < {*files(tmp_path)}
    assert ({*files(tmp_path)} == {*FACTS}) is is_small


def test_adding_a_run_makes_that_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment(tmp_path)
    sent(tmp_path)
    made_of = record_calls(monkeypatch)
    tiny.runs(tmp_path, [tiny.run(f"r{one}", baseline=one == 0) for one in range(4)])
    add_tables(tmp_path, "r3", 5)
    assert sent(tmp_path) == {"r0": 300, "r1": 600, "r2": 900, "r3": 15}
    assert made_of == [(ASKED, ["r3"])]


def test_facts_are_kept_from_inside_the_folder_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for `flowsweep report .`: its paths begin with `facts/`."""
    experiment(tmp_path)
    sent(tmp_path)
    monkeypatch.chdir(tmp_path)
    add_tables(tmp_path, "r1", 7)
    made_of = record_calls(monkeypatch)
    for _ in range(2):
        assert sent(Path()) == {"r0": 300, "r1": 21, "r2": 900}
    assert made_of == [(ASKED, ["r1"])]


def test_a_run_that_was_parsed_anew_and_one_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment(tmp_path)
    sent(tmp_path)
    made_of = record_calls(monkeypatch)
    add_tables(tmp_path, "r1", 7)
    assert sent(tmp_path) == {"r0": 300, "r1": 21, "r2": 900}
    shutil.rmtree(tmp_path / "tables/run=r0")
    assert sent(tmp_path) == {"r1": 21, "r2": 900}
    # r0 still has its row in runs.parquet.
    assert made_of == [(ASKED, ["r1"]), (ASKED, ["r0"])]


def test_a_record_that_says_something_else_makes_its_run_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment(tmp_path)
    assert rows(Warehouse(tmp_path), "windows")["bins"].to_list() == [100] * 3
    made_of = record_calls(monkeypatch)
    runs = [tiny.run(f"r{one}", baseline=one == 0) for one in range(3)]
    runs[2]["end"] += 500 * tiny.MS
    tiny.runs(tmp_path, runs)
    assert rows(Warehouse(tmp_path), "windows")["bins"].to_list() == [100, 100, 150]
    assert made_of == [(["windows"], ["r2"])]


def test_another_sql_of_a_fact_makes_that_fact_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = experiment(tmp_path / "experiment")
    sent(directory)
    rows(Warehouse(directory), "windows")
    before = files(directory)
    reports = shutil.copytree(reports_folder(), tmp_path / "reports")
    sql = reports / "facts" / "host_totals.sql"
    sql.write_text(sql.read_text().replace("sum(wire_bytes)", "2 * sum(wire_bytes)"))
    monkeypatch.setenv("FLOWSWEEP_REPORTS", str(reports))
    made_of = record_calls(monkeypatch)
    assert sent(directory) == {"r0": 600, "r1": 1200, "r2": 1800}
    assert made_of == [(["host_totals"], ["r0", "r1", "r2"])]
    after = files(directory)
    assert [fact for fact in after if after[fact] != before[fact]] == ["host_totals"]


def test_another_macro_makes_the_facts_that_call_it_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = experiment(tmp_path / "experiment")
    Warehouse(directory).keep_facts()
    reports = shutil.copytree(reports_folder(), tmp_path / "reports")
    macros = reports / "macros.sql"
    macros.write_text(macros.read_text().replace("log2(greatest(value, 1e-300))", "log2(value)"))
    monkeypatch.setenv("FLOWSWEEP_REPORTS", str(reports))
    made_of = record_calls(monkeypatch)
    Warehouse(directory).keep_facts()
    calling = {name for name in FACTS if "bucket_of(" in (FOLDER / f"{name}.sql").read_text()}
    assert "throughput_histogram" in calling
    assert "windows" not in calling
    assert {name for names, _ in made_of for name in names} == calling


def test_who_was_stopped_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = experiment(tmp_path / "experiment", runs=5)
    monkeypatch.setattr(facts, "BATCH_RUNS", 1)
    calls = record_calls(monkeypatch)
    write = Warehouse._write_facts

    def stop(self, names, runs, place):  # type: ignore[no-untyped-def]
        if len(calls) == 3:
            raise KeyboardInterrupt
        write(self, names, runs, place)

    monkeypatch.setattr(Warehouse, "_write_facts", stop)
    with pytest.raises(KeyboardInterrupt):
        sent(directory)
    monkeypatch.setattr(Warehouse, "_write_facts", write)
    assert sent(directory) == {f"r{one}": 300 * (one + 1) for one in range(5)}
    assert [runs for _, runs in calls] == [["r0"], ["r1"], ["r2"], ["r3"], ["r4"]]


def test_many_small_parts_become_few(tmp_path: Path) -> None:
    for runs in range(1, 12):
        experiment(tmp_path, runs)
        assert len(sent(tmp_path)) == runs
        assert all(1 <= len(names) <= facts.CLASS_PARTS + 1 for names in files(tmp_path).values())
    listed = json.loads((tmp_path / owned.FACTS / parts.PARTS).read_text())
    assert len(listed["parts"]) < 11
    assert sum(len(part["runs"]) for part in listed["parts"]) == 11


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format": 1}', '{"format": 1, "parts": [{"name": "../../x"}]}']
)
def test_a_damaged_list_of_parts_is_made_anew(tmp_path: Path, text: str) -> None:
    experiment(tmp_path)
    sent(tmp_path)
    (tmp_path / owned.FACTS / parts.PARTS).write_text(text)
    assert sent(tmp_path) == {"r0": 300, "r1": 600, "r2": 900}


def record_calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], list[str]]]:
    """Returns a list that records, from now on, which facts are made of which runs."""
    calls: list[tuple[list[str], list[str]]] = []
    write = Warehouse._write_facts

    def tell(self, names, runs, place):  # type: ignore[no-untyped-def]
        calls.append((sorted(names), list(runs.signatures)))
        write(self, names, runs, place)

    monkeypatch.setattr(Warehouse, "_write_facts", tell)
    return calls
