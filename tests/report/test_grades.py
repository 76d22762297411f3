"""Grades: one rule for `flowsweep show` and the report, on the same captures."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import synthetic
import tiny
from collection import PCAPS, by_size
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsweep import numbers
from flowsweep.analysis import claims, grades
from flowsweep.analysis.capture_summary import facts, summarise
from flowsweep.cli.show import show
from flowsweep.parsing import TABLES, parse_tables
from flowsweep.render import page
from flowsweep.render.figure import Context
from flowsweep.render.figures import (
    flow_sizes,
    limits,
    message_rate,
    packet_intervals,
    throughput_cdf,
    throughput_series,
    wan_throughput,
)
from flowsweep.warehouse import Warehouse

CLEAN = {"packets": 10_000, "is_drops_known": True}


@pytest.mark.parametrize(
    ("changes", "letter", "forbidden"),
    [
        ({}, "A", set()),
        ({"dropped_packets": 1}, "B", set()),
        ({"dropped_packets": 2}, "C", {claims.GAPS}),
        ({"dropped_packets": 102}, "D", set(claims.CLAIMS)),
        ({"dropped_packets": 102, "received_packets": 9_000}, "D", set(claims.CLAIMS)),
        # the file is only a part of the capture in which these packets were dropped
        ({"dropped_packets": 102, "received_packets": 20_000}, "C", {claims.GAPS}),
        ({"dropped_packets": 102, "received_packets": 2_000_000}, "B", set()),
        ({"super_packets": 500}, "B", set()),
        ({"super_packets": 501}, "C", {claims.GAPS}),
        ({"time_regressions": 1}, "C", {claims.GAPS}),
        ({"time_regressions": 1, "largest_step_back_ns": grades.STEP_NS}, "C", {claims.GAPS}),
        ({"time_regressions": 10, "largest_step_back_ns": grades.STEP_NS - 1}, "B", set()),
        ({"time_regressions": 11, "largest_step_back_ns": 1}, "C", {claims.GAPS}),
        ({"unread_tcp_packets": 501}, "C", {claims.CONTENT}),
        ({"unread_subframes": 1}, "C", {claims.CONTENT}),
        ({"unread_subframes": 101}, "D", set(claims.CLAIMS)),
        ({"is_truncated": True}, "C", set()),
        ({"is_truncated": True, "is_drops_known": False}, "D", set(claims.CLAIMS)),
        ({"is_drops_known": False}, grades.UNKNOWN, set()),
        ({"is_drops_known": False, "fragments": 2}, "B", set()),
        ({"not_ip_packets": 500}, "A", set()),
        ({"not_ip_packets": 501}, "B", set()),
        ({"undecoded_packets": 101, "cut_packets": 51, "malformed_packets": 50}, "D",
         set(claims.CLAIMS)),
        ({"midstream_connections": 1}, "B", set()),
        ({"repeated_packets": 50, "repeated_bytes": 450, "payload_bytes": 1000}, "D",
         set(claims.CLAIMS)),
        ({"repeated_packets": 49, "repeated_bytes": 450, "payload_bytes": 1000}, "A", set()),
        ({"end_ns": 10 * grades.JUMP_NS, "silence_ns": grades.JUMP_NS}, "B", set()),
        ({"end_ns": 10 * grades.JUMP_NS, "silence_ns": grades.JUMP_NS - 1}, "A", set()),
        ({"end_ns": 11 * grades.JUMP_NS, "silence_ns": grades.JUMP_NS}, "A", set()),
        ({"is_clock_compared": True}, "C", {claims.DELAYS}),
        ({"is_clock_compared": True, "delay_error_ns": 10, "least_delay_ns": 100}, "A", set()),
        ({"is_clock_compared": True, "delay_error_ns": 11, "least_delay_ns": 100}, "B", set()),
        ({"is_clock_compared": True, "delay_error_ns": 0, "least_delay_ns": 0}, "A", set()),
    ],
)  # fmt: skip
def test_the_worst_fault_makes_the_grade_and_says_what_it_forbids(
    changes: dict[str, Any], letter: str, forbidden: set[str]
) -> None:
    grade = grades.grade(CLEAN | changes)
    assert grade.letter == letter
    assert set(grade.forbidden) == forbidden
    assert bool(grade.reasons) == (letter != "A")
    claims_named = {claim for claim in claims.CLAIMS if claim in grade.reasons}
    assert claims_named == (forbidden if letter == "C" else set())


def test_a_file_of_two_interfaces_has_the_worst_grade_and_added_notes() -> None:
    rows = [CLEAN | {"super_packets": 600}, CLEAN | {"super_packets": 1}]
    grade = grades.combine(rows)
    assert grade.letter == "C"
    assert grade.reasons.startswith("601 packets longer than a network carries")
    assert grade.reasons.endswith("; no claim on gaps between packets; the rest with the notes")


def test_without_an_interface_nothing_is_known() -> None:
    assert grades.combine([]).letter == grades.UNKNOWN


def test_the_letter_for_the_unknown_is_the_mark_for_no_value() -> None:
    assert grades.UNKNOWN == numbers.NONE


#: The tables that a grade depends on.
ASKED = ("captures", "flows", "throughput")


def both(tables: Path, directory: Path) -> tuple[grades.Grade, dict[str, Any]]:
    """Returns the grade of parsed tables as in `show`, and the row of the report's model."""
    read = {name: pl.read_parquet(tables / f"{name}.parquet") for name in ASKED}
    tiny.runs(directory, [tiny.run("r")])
    for name, frame in read.items():
        path = directory / "tables" / "run=r" / "host=pc1" / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        frame.write_parquet(path)
    rows = Warehouse(directory).select("from captures order by grade_rank desc, grade")
    return grades.combine(facts(read["captures"], read["flows"], read["throughput"])), rows.row(
        0, named=True
    )


def write_tables(
    folder: Path,
    captures: list[dict[str, Any]],
    flows: list[dict[str, Any]],
    bins: list[dict[str, Any]],
) -> None:
    """Writes the tables that a grade depends on."""
    for name, rows in (("captures", captures), ("flows", flows), ("throughput", bins)):
        frame = pl.DataFrame(rows, infer_schema_length=None)
        times = [name for name in frame.columns if name.endswith(("_time", "bin_start"))]
        frame.with_columns(pl.col(times).cast(tiny.TIME)).write_parquet(folder / f"{name}.parquet")


COUNTS = (
    "super_packets", "tunnelled_packets", "not_ip_packets", "unknown_link_packets", "cut_packets",
    "malformed_packets", "unread_tcp_packets", "time_regressions", "fragments",
)  # fmt: skip
SOME = st.one_of(st.just(0), st.sampled_from([1, 30, 101, 400, 600]))


@settings(max_examples=10, deadline=None)
@given(
    counts=st.fixed_dictionaries(dict.fromkeys(COUNTS, SOME)),
    dropped=st.sampled_from([None, 0, 1, 50, 200]),
    at_interface=st.sampled_from([None, 0, 5]),
    received=st.sampled_from([None, 9_000, 1_000_000]),
    is_cut=st.booleans(),
    start=st.sampled_from(["syn", "midstream"]),
    again=st.sampled_from([0, 60]),
    pause_s=st.sampled_from([0, 3599, 3600, 86_400]),
    step_back=st.sampled_from([None, 1, grades.STEP_NS]),
    is_latest_last=st.booleans(),
)
def test_show_and_report_grade_the_same_tables_alike(
    tmp_path_factory: pytest.TempPathFactory,
    counts: dict[str, int],
    dropped: int | None,
    at_interface: int | None,
    received: int | None,
    is_cut: bool,
    start: str,
    again: int,
    pause_s: int,
    step_back: int | None,
    is_latest_last: bool,
) -> None:
    """The latest packet may not be the last of the file, as a clock may be set back."""
    folder = tmp_path_factory.mktemp("grade")
    latest = tiny.T0 + (pause_s + 1) * 10**9
    kinds = ("not_ip", "unknown_link", "cut", "malformed")
    row = tiny.capture(
        **counts,
        truncated_tail=is_cut,
        received_packets=received,
        dropped_kernel=dropped,
        dropped_interface=at_interface,
        bad_checksum_packets=None,
        unverified_packets=None,
        largest_step_back_ns=step_back,
        undecoded_packets=sum(counts[f"{kind}_packets"] for kind in kinds),
        last_time=latest if is_latest_last else tiny.T0,
    )
    busy = {0: 100, 1 + pause_s * 100: 100}
    flow = tiny.graded_flow(
        "10.77.1.1",
        "10.77.2.1",
        start=start,
        last_time=latest,
        retransmitted_packets=again,
        retransmitted_bytes=again * 100,
    )
    busy = {0: 100, 1 + pause_s * 100: 100}
    write_tables(folder, [row], [flow], tiny.bins("10.77.1.1", "10.77.2.1", busy))
    shown, reported = both(folder, folder / "results")
    assert (shown.letter, shown.rank) == (reported["grade"], reported["grade_rank"])
    assert shown.reasons == reported["reasons"]
    is_part = received == 1_000_000 and bool((dropped or 0) + (at_interface or 0))
    assert ("1,000,000 packets received" in shown.reasons) == is_part
    says_nothing = "does not say whether packets were dropped" in shown.reasons
    assert says_nothing == (dropped is at_interface is None)
    assert ("was the clock changed" in shown.reasons) == (pause_s >= 3600)
    assert (claims.GAPS not in shown.forbidden) == reported["has_gaps"]
    assert (claims.CONTENT not in shown.forbidden) == reported["has_content"]


@pytest.mark.parametrize(("packets", "letter"), [(0, "A"), (1, grades.UNKNOWN)])
def test_an_idle_interface_needs_no_statistics(packets: int, letter: str, tmp_path: Path) -> None:
    unknown = {"dropped_kernel": None, "dropped_interface": None}
    captures = [tiny.capture(), tiny.capture(interface="eth1", packets=packets, **unknown)]
    ends = ("10.77.1.1", "10.77.2.1")
    flows = [tiny.graded_flow(*ends), tiny.graded_flow(*ends[::-1], direction="backward")]
    write_tables(tmp_path, captures, flows, tiny.bins(*ends, {0: 100}))
    shown, reported = both(tmp_path, tmp_path / "results")
    assert shown.letter == reported["grade"] == letter


def test_show_and_report_grade_real_captures_alike(tmp_path: Path) -> None:
    files = sorted(
        path
        for path in PCAPS.rglob("*.pcap*")
        if path.is_file() and path.stat().st_size < 300_000 and path.suffix in (".pcap", ".pcapng")
    )[:: by_size(small=1, large=9)]
    found = set()
    for number, path in enumerate(files):
        tables, results = tmp_path / f"tables{number}", tmp_path / f"results{number}"
        tables.mkdir()
        parse_tables([path], tables)
        assert set(TABLES) <= {one.stem for one in tables.glob("*.parquet")}
        shown, reported = both(tables, results)
        assert summarise(path).grade == shown.letter == reported["grade"], path.name
        found.add(shown.letter)
    assert len(found) > 1


def test_show_prints_the_grade_in_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(__file__).parents[2] / "parsers" / "fuzz" / "seeds" / "capture" / "cut.pcap"
    show(files=[path], output_format="json", verify_checksums=False)
    (shown,) = json.loads(capsys.readouterr().out)
    assert (shown["grade"], shown["grade_means"]) == ("D", "unreliable")
    show(files=[path], output_format="text", verify_checksums=False)
    assert "\nquality  D   unreliable\n" in capsys.readouterr().out


READ_WITH_NOTES = " of grade C: read with (its|their) notes in the quality table"


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes a small experiment whose captures have no fault."""
    plan = synthetic.Plan(rtts_ms=(1, 16), rates_mbit_s=(100,), repetitions=1, warmup=0)
    return synthetic.make(tmp_path_factory.mktemp("graded"), plan)


@pytest.mark.parametrize(
    ("changes", "traffic", "has_gaps", "has_content"),
    [
        ({}, "", True, True),
        ({"time_regressions": 1}, READ_WITH_NOTES, False, True),
        ({"dropped_share": 0.005}, READ_WITH_NOTES, False, True),
        ({"unread_share": 0.1}, READ_WITH_NOTES, True, False),
        ({"dropped_share": 0.02}, "Unreliable: ", False, False),
    ],
)
def test_every_figure_says_what_a_grade_forbids_it(
    swept: Path,
    tmp_path: Path,
    changes: dict[str, float],
    traffic: str,
    has_gaps: bool,
    has_content: bool,
) -> None:
    directory = Path(shutil.copytree(swept, tmp_path / "results"))
    for path in directory.glob("tables/*/*/captures.parquet"):
        share = pl.col("packets") / 1
        pl.read_parquet(path).with_columns(
            time_regressions=pl.lit(changes.get("time_regressions", 0)).cast(pl.Int64),
            dropped_kernel=(share * changes.get("dropped_share", 0)).ceil().cast(pl.Int64),
            unread_tcp_packets=(share * changes.get("unread_share", 0)).ceil().cast(pl.Int64),
        ).write_parquet(path)
    # Page and figures share a warehouse, so that its models are made only once.
    warehouse = Warehouse(directory, is_anew=True)
    with warehouse.reading():
        html = page._build(warehouse).html.replace("\u00a0", " ")
    shown = Context(warehouse, page._series(warehouse, ""))
    for make in (throughput_series.draw, throughput_cdf.draw, flow_sizes.draw, wan_throughput.draw):
        caption = make(shown).caption
        assert re.search(traffic, caption) if traffic else (" of grade " not in caption), make
    for name in ("totals", "lightpaths"):
        part = html[html.index(f'id="part-{name}"') :].partition("<details>")[0]
        assert re.search(traffic, part) if traffic else (" of grade " not in part), name
    for make, may in ((packet_intervals.draw, has_gaps), (message_rate.draw, has_content)):
        figure = make(shown)
        assert figure.rows.is_empty() != may
        assert figure.caption.startswith("Left out: ") != may
    known = limits.draw(shown).rows["unknown_share"]
    assert set(known) == ({0.0} if has_content else {1.0})


@pytest.mark.parametrize(
    ("begin_hour", "words"),
    [
        (0, "packets of 2026-01-01, none for 60 min from 00:00:10 UTC on: "),
        (23, "packets of 2026-01-01 to 2026-01-02, none for 60 min from 2026-01-01 on: "),
    ],
)
def test_a_silence_has_a_time_where_the_capture_has_one_day(begin_hour: int, words: str) -> None:
    hour = 3_600 * 10**9
    begin = 1_767_225_600 * 10**9 + begin_hour * hour
    text = grades.describe_jump({
        "begin_ns": begin, "end_ns": begin + 2 * hour,
        "silence_ns": hour, "silence_from_ns": begin + 10 * 10**9,
    })  # fmt: skip
    assert text is not None
    assert text.startswith(words)
