"""Captures that nothing assigns to a sweep: each run stands alone."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
import tiny

from flowsweep import numbers
from flowsweep.analysis import adds_up
from flowsweep.render import page, totals_alone, verdict_captures
from flowsweep.warehouse import Warehouse, figure_names

MS = tiny.MS
SERVER = "203.0.113.5"
#: Words about sweeps, which such a page has only in the SQL under its figures.
FOREIGN = r"\bsweep|baseline|lightpath|repetition|slowdown|median over the runs|valid run|the sites"


def run(
    directory: Path,
    name: str,
    bins: dict[int, int],
    *,
    host: str = "pc",
    own: str = "10.0.0.7",
    times: tuple[int, ...] = (0,),
    last: int | None = None,
    **changes: object,
) -> None:
    """Writes a capture that sends to a server: bytes by bin of 10 ms, messages at these ns."""
    last = last or tiny.T0 + (max(bins) + 1) * 10 * MS - 1
    size = sum(bins.values())
    facts = {"wire_bytes": size, "dropped_kernel": None, "dropped_interface": None, **changes}
    tiny.table(directory, "captures", name, host, [tiny.capture(last_time=last, **facts)])
    tiny.table(directory, "flows", name, host, [
        tiny.flow(own, SERVER, last_time=last, duration_ns=last - tiny.T0, packets=len(bins),
                  wire_bytes=size, rtt_min_ns=None, ecn_capable_packets=2, ce_packets=1,
                  ece_packets=0, cwr_packets=0),
        tiny.flow(SERVER, own, direction="backward", last_time=last, packets=1, wire_bytes=60,
                  payload_bytes=0),
    ])  # fmt: skip
    tiny.table(directory, "throughput", name, host, [
        *tiny.bins(own, SERVER, bins), *tiny.bins(SERVER, own, {0: 60})
    ])  # fmt: skip
    tiny.table(directory, "messages", name, host, [
        tiny.message(700, first_time=tiny.T0 + at, last_time=tiny.T0 + at) for at in times
    ])  # fmt: skip


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes a small client, a busy web server, a laptop asleep for a day, and a broken file."""
    directory = tmp_path_factory.mktemp("alone")
    names = ("client", "laptop", "web", "torn")
    tiny.runs(directory, [{"run": name, "status": "no record"} for name in names])
    # 13 messages a second, beside a run of about 10^5 s
    run(directory, "client", {0: 100, 99: 100}, host="client",
        times=tuple(1_000 * MS * place // 13 for place in range(13)))  # fmt: skip
    run(directory, "laptop", {0: 500, 9: 500, 8_640_000: 400}, host="laptop", own="192.0.2.9",
        times=(0, 86_400_000 * MS))  # fmt: skip
    run(directory, "web", dict.fromkeys(range(300), 125000), host="web", own="192.0.2.8")
    tiny.table(directory, "rdma", "web", "web", [tiny.queue_pair("192.0.2.8", SERVER)])
    run(directory, "torn", {0: 90_000_000}, host="pc", truncated_tail=True)
    return directory


@pytest.fixture(scope="module")
def html(experiment: Path) -> str:
    return page.build(experiment).html.replace("\u00a0", " ")


def extract_text(html: str) -> str:
    """Returns what a reader sees of the page."""
    shown = re.sub(r"<(script|style|details)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", shown).split())


def test_each_run_has_a_row_of_its_own(experiment: Path) -> None:
    warehouse = Warehouse(experiment)
    for query in ("totals", "requirement", "message_rate", "limits", "lightpaths"):
        rows = warehouse.rows(query)
        assert rows["run"].null_count() == 0, query
        assert rows["app"].to_list() == rows["run"].to_list(), query
    hosts = dict(warehouse.rows("totals").select("run", "host").iter_rows())
    assert hosts == {"client": "client", "laptop": "laptop", "torn": "pc", "web": "web"}


def test_what_is_stated_adds_up(experiment: Path) -> None:
    warehouse = Warehouse(experiment)
    names = figure_names(warehouse.catalog.folder)
    assert [str(one) for one in adds_up.contradictions(warehouse, names)] == []


def test_no_word_of_a_sweep_is_on_the_page(html: str) -> None:
    text = extract_text(html)
    assert re.findall(FOREIGN, text, re.IGNORECASE) == []
    assert "What do these captures hold?" in text


def test_tables_have_no_columns_of_axes(html: str) -> None:
    """Nothing was varied, so the tables of marks and RDMA begin with the run."""
    for name, first in (("congestion_marks", "from"), ("rdma", "from")):
        (body,) = re.findall(rf'<table[^>]* id="{name}-table".*?</table>', html, re.DOTALL)
        heads = [extract_text(head) for head in re.findall(r"<th\b.*?</th>", body, re.DOTALL)]
        assert heads[:2] == ["run", first]
        assert "RTT (ms)" not in heads


def test_packets_are_counted_in_whole_numbers(html: str) -> None:
    (body,) = re.findall(r'<table[^>]* id="congestion_marks-table".*?</table>', html, re.DOTALL)
    first = body.split("<tbody>")[1].split("</tr>")[0]
    cells = [extract_text(cell) for cell in re.findall(r"<td\b.*?</td>", first, re.DOTALL)]
    assert cells[3:6] == ["2", "1", "50.0"]


def test_the_interfaces_of_one_file_are_parts_of_one_capture(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [{"run": "both", "status": "no record"}])
    run(tmp_path, "both", {0: 5000, 5: 5000})
    tiny.table(tmp_path, "captures", "both", "pc", [
        tiny.capture(
            interface=number, snaplen=snaplen, dropped_kernel=None, dropped_interface=None
        )
        for number, snaplen in enumerate((96, 1514))
    ])  # fmt: skip
    html = page.build(tmp_path).html.replace("\u00a0", " ")
    text = extract_text(html)
    assert "1 run · 1 capture" in text
    assert (
        f"2 parts (files, interfaces) of 1 capture: 2 of grade {numbers.NONE} (drops unknown)"
        in text
    )
    (body,) = re.findall(r'<table[^>]* id="run_quality-table".*?</table>', html, re.DOTALL)
    heads = [extract_text(head) for head in re.findall(r"<th\b.*?</th>", body, re.DOTALL)]
    assert heads[:4] == ["run", "host", "interface", "grade"]


def test_traffic_that_counts_twice_is_named_beside_the_totals() -> None:
    grade = {"has_traffic": True, "dropped_kernel": 0, "dropped_interface": 0}
    rows = [
        grade | {"run": "router", "translated_connections": 2},
        grade | {"run": "web", "translated_connections": 0},
    ]
    (_, doubled) = verdict_captures.verdict([], [], [], rows).unknown
    assert doubled == (
        "how much of the traffic of router counts twice, as some connections look captured on both "
        "sides of an address translation (NAT)"
    )


def test_a_single_packet_has_no_length() -> None:
    assert totals_alone._length({"length_s": 1e-9}) == numbers.NONE
    assert totals_alone._length({"length_s": 2e-6}) == "2.00 µs"


@pytest.mark.parametrize("bins", [{0: 5000}, {0: 5000, 1: 5000}], ids=["2 ms", "12 ms"])
def test_no_mean_exceeds_the_busiest_bin(tmp_path: Path, bins: dict[int, int]) -> None:
    tiny.runs(tmp_path, [{"run": "short", "status": "no record"}])
    run(tmp_path, "short", bins, last=tiny.T0 + 2 * MS + max(bins) * 10 * MS)
    warehouse = Warehouse(tmp_path)
    rows = warehouse.rows("throughput_series").filter(direction="out")
    assert rows["max_mbit_s"].to_list() == [4] * len(bins)
    assert rows["run_mean_mbit_s"].to_list() == [None] * len(bins)
    assert warehouse.rows("requirement")["mean_mbit_s"].to_list() == [None]
    assert adds_up.contradictions(warehouse, ["throughput_series", "requirement"]) == []


def test_a_capture_that_is_shorter_than_a_bin_has_no_message_rate(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [{"run": "short", "status": "no record"}])
    run(tmp_path, "short", {0: 5000}, last=tiny.T0 + 2 * MS)
    warehouse = Warehouse(tmp_path)
    rows = warehouse.rows("message_rate")
    assert rows.select("messages", "messages_s").rows() == [(1, None)]
    assert warehouse.rows("message_rate_series").is_empty()
    assert adds_up.contradictions(warehouse, ["message_rate", "message_rate_series"]) == []
    assert "message_rate" in extract_text(page.build(tmp_path).html)


def test_the_run_with_most_traffic_comes_first_and_one_of_grade_d_last(html: str) -> None:
    text = extract_text(html)
    order = re.findall(r">(client|laptop|web|torn)</span>", html)
    assert list(dict.fromkeys(order)) == ["web", "laptop", "client", "torn"]
    # 37.5 MB in 3 s
    assert "web sent 37.5 MB" in text
    assert "in its busiest 10 ms it sent at 100 Mbit/s" in text


def test_no_finding_rests_on_a_capture_of_grade_d(html: str) -> None:
    verdict = extract_text(
        html.split('<section id="verdict"')[1].split("</section>", maxsplit=1)[0]
    )
    assert "torn sent" not in verdict
    assert "traffic of torn, whose captures have grade D" in verdict
    for finding in re.findall(r'<p class="finding">(.*?)</p>', html):
        assert "torn" not in finding


def test_messages_a_second_do_not_depend_on_the_length_of_other_runs(experiment: Path) -> None:
    rows = Warehouse(experiment).rows("message_rate_series").to_dicts()
    client_rows = [row for row in rows if row["run"] == "client"]
    rates = dict(Warehouse(experiment).rows("message_rate").select("run", "messages_s").iter_rows())
    assert rates["client"] == pytest.approx(13, rel=0.01)
    spans = [row["end_s"] - row["start_s"] for row in client_rows]
    messages = sum(row["messages_s"] * span for row, span in zip(client_rows, spans, strict=True))
    assert messages / sum(spans) == pytest.approx(rates["client"], rel=0.001)
    assert sum(row["messages"] for row in client_rows) == 13


def test_a_long_silence_is_cut_out_of_the_axis_and_reported(experiment: Path, html: str) -> None:
    rows = Warehouse(experiment).rows("throughput_series").to_dicts()
    sent = [row for row in rows if row["run"] == "laptop" and row["direction"] == "out"]
    assert [row["cut_before_s"] for row in sent if row["cut_before_s"]] == [86_399.9]
    # the rest is drawn bin by bin: the first 100 ms, and the last bin
    assert sum(row["bins"] for row in sent) == 11
    assert sum(row["wire_bytes"] for row in sent) == 1_400
    assert "24 h 0 min cut" in html
    series = Warehouse(experiment).rows("message_rate_series").to_dicts()
    assert sum(row["cut_s"] for row in series if row["run"] == "laptop") == pytest.approx(86_399.9)


def test_a_long_silence_is_cut_out_of_what_crosses_between_hosts(
    experiment: Path, html: str
) -> None:
    rows = Warehouse(experiment).rows("wan_throughput").to_dicts()
    own = [row for row in rows if (row["run"], row["from_site"]) == ("laptop", "laptop")]
    # steps are 100 ms wide
    assert [row["cut_before_s"] for row in own if row["cut_before_s"]] == [
        pytest.approx(86_399.9, abs=0.1)
    ]
    assert sum(row["wire_bytes"] for row in own) == 1_400
    assert sum(row["steps"] for row in own) == 2
    figure = html.split('id="figure-wan_throughput"')[1].split("</figure>", maxsplit=1)[0]
    assert "24 h 0 min cut" in figure
    assert "a silence is cut out of the axis" in figure


def test_pauses_of_a_program_that_comes_and_goes_are_not_cut(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [{"run": "r", "status": "no record"}])
    run(tmp_path, "r", {minute * 9_000: 500 for minute in range(20)})
    assert Warehouse(tmp_path).rows("throughput_series")["cut_before_s"].sum() == 0


def test_the_range_of_dates_is_reported(html: str) -> None:
    assert "captured 2026-01-01 to 2026-01-02" in html


def test_addresses_are_named_as_guesses(html: str) -> None:
    assert "address (a guess)" in html
    assert "192.0.2.8" in html


def test_one_that_names_an_axis_makes_a_sweep(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [
        {"run": "a", "status": "no record"},
        {"run": "b", "status": "valid", "rtt_asked_ns": 16 * MS},
    ])  # fmt: skip
    run(tmp_path, "a", {0: 500})
    run(tmp_path, "b", {0: 500})
    runs = Warehouse(tmp_path).select("select distinct app, stands_alone from runs").rows()
    assert runs == [("application", False)]


def test_a_host_receives_what_it_sends_to_itself(tmp_path: Path) -> None:
    """In a capture of the loopback interface, totals and series have both directions."""
    tiny.runs(tmp_path, [{"run": "lo", "status": "no record"}])
    tiny.table(tmp_path, "captures", "lo", "pc", [tiny.capture(wire_bytes=500)])
    tiny.table(tmp_path, "flows", "lo", "pc", [
        tiny.flow("::1", "::1", wire_bytes=300, last_time=tiny.T0 + 1_000 * MS),
        tiny.flow("::1", "::1", direction="backward", src_port=2000, dst_port=1000,
                  wire_bytes=200),
    ])  # fmt: skip
    tiny.table(tmp_path, "throughput", "lo", "pc", tiny.bins("::1", "::1", {0: 300, 90: 200}))
    warehouse = Warehouse(tmp_path)
    (row,) = warehouse.rows("totals").rows(named=True)
    series = warehouse.rows("throughput_series").group_by("direction").agg(pl.sum("wire_bytes"))
    assert dict(series.rows()) == {"in": 500, "out": 500}
    assert row["in_mb"] == row["out_mb"] == 0.0005
    assert adds_up.contradictions(warehouse, ["totals", "throughput_series"]) == []


@pytest.mark.parametrize(("at_interface", "is_unknown"), [(None, True), (0, False)])
def test_drops_are_known_where_the_interface_counted_them(
    at_interface: int | None, is_unknown: bool, tmp_path: Path
) -> None:
    """Files of dumpcap have only the interface's count."""
    tiny.runs(tmp_path, [{"run": "a", "status": "no record"}])
    run(tmp_path, "a", {0: 1000, 5: 1000}, dropped_interface=at_interface)
    text = extract_text(page.build(tmp_path).html)
    assert ("whether packets were dropped (some captures do not record it)" in text) == is_unknown
