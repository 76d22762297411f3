"""Errors in run.json, app.json and manifests, by people or programs: reported with their place."""

from __future__ import annotations

import json

import pytest

from flowsweep.cli import runs as runs_command
from flowsweep.errors import FlowsweepError
from flowsweep.files import manifests
from flowsweep.render import charts, inline, svg
from flowsweep.runs import link_balance, run_records


@pytest.fixture
def row(tmp_path):
    """Returns the row of a run with this run.json and app.json."""

    def read(record: object, application: object = None) -> dict:
        folder = tmp_path / "mine/runs/a"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "run.json").write_text(json.dumps(record))
        if application is not None:
            (folder / "app.json").write_text(json.dumps(application))
        run_records.write_table(folder.parent, tmp_path / "runs.parquet", None)
        (found,) = run_records.read_rows(folder.parent)
        return found

    return read


@pytest.mark.parametrize(
    ("record", "place", "expected"),
    [
        ({"completion_s": "12.3"}, "completion_s", "a number, without quotes"),
        ({"completion_s": -1}, "completion_s", "greater than or equal to 0"),
        ({"completion_s": True}, "completion_s", "a number"),
        ({"completion_s": [1]}, "completion_s", "a number"),
        ({"repetition": "one"}, "repetition", "a whole number"),
        ({"repetition": 1.5}, "repetition", "a whole number"),
        ({"repetition": 2**63}, "repetition", "less than or equal to"),
        ({"block": {}}, "block", "a whole number"),
        ({"baseline": 1}, "baseline", "true or false"),
        ({"warmup": "no"}, "warmup", "true or false"),
        ({"app": 5}, "app", "text"),
        ({"app": "a\u0001b"}, "app", "characters that can be seen"),
        ({"app": "<!--\n"}, "app", "characters that can be seen"),
        ({"status": ["valid"]}, "status", "text"),
        ({"start": 1234}, "start", "a time with its zone"),
        ({"start": "yesterday"}, "start", "a time with its zone"),
        ({"start": "2026-11-20T23:40:12"}, "start", "a time with its zone"),
        ({"end": "2026-13-01T00:00:00Z"}, "end", "a time with its zone"),
        ({"hosts": "pc1"}, "hosts", "a list"),
        ({"hosts": ["pc1"]}, "hosts[0]", "keys with values"),
        ({"hosts": [{"name": "pc1"}, {"name": 2}]}, "hosts[1].name", "text"),
        ({"hosts": [{"site": "\u001b[31m"}]}, "hosts[0].site", "characters that can be seen"),
        ({"axes": ["rtt"]}, "axes", "keys with values"),
        ({"axes": {"rtt": ["16ms"]}}, "axes.rtt", "a time with a unit"),
        ({"axes": {"rtt": "1e400s"}}, "axes.rtt", "a time with a unit"),
        ({"axes": {"rtt": "300years"}}, "axes.rtt", "a time with a unit"),
        ({"axes": {"rtt": "9e18s"}}, "axes.rtt", "a time with a unit"),
        ({"axes": {"rtt": "-1ms"}}, "axes.rtt", "0 or more"),
        ({"axes": {"rate": {"asked": "1e30Gbit/s"}}}, "axes.rate", "a rate with a unit"),
        ({"axes": {"links": True}}, "axes.links", "1, 2, 3"),
        ({"axes": {"congestion": ["reno"]}}, "axes.congestion", "cubic"),
        ({"queue_bytes": -1}, "queue_bytes", "greater than or equal to 0"),
        ({"emulator": 5}, "emulator", "keys with values"),
        ({"emulator": {"lateness_ns": {"p99": "x"}}}, "emulator.lateness_ns.p99", "a whole"),
        (
            {"emulator": {"links": [{"from": "w", "to": "e", "dropped_x": "1"}]}},
            "emulator.links[0]",
            "0",
        ),
        ({"emulator": {"links": [{"received": 2**62}]}}, "emulator.links[0]", "0 or more"),
        ({"emulator": {"links": [{"from": ["w"], "to": "e"}]}}, "emulator.links[0].from", "text"),
        ({"emulator": {"ports": [{"kernel_dropped": 0.5}]}}, "emulator.ports[0]", "0 or more"),
        ({"links": [{"rate_bit_s": "1Gbit/s"}]}, "links[0].rate_bit_s", "a number"),
        (
            {
                "links": [
                    {"between": ["w", "e"], "rate_bit_s": 1e8},
                    {"between": ["e", "w"], "rate_bit_s": 5e7},
                ]
            },
            "links: the pair e and w is there twice",
            "one for each pair",
        ),
        ({"application": {"ranks": [1, {"rank": "0"}]}}, "application.ranks[1].rank", "a whole"),
    ],
)
def test_a_wrong_value_is_reported_with_its_place(record, place, expected, row):
    with pytest.raises(FlowsweepError) as caught:
        row(record)
    message = str(caught.value)
    assert f"/a/run.json: {place}" in message
    assert expected in (caught.value.expected or "")
    assert caught.value.found is not None


@pytest.mark.parametrize(
    ("application", "place"),
    [
        ({"completion_s": "x"}, "completion_s"),
        ({"phases": [{"start_s": "x"}]}, "phases[0].start_s"),
        ({"transfers": [{"from": 0, "bytes": 2**63}]}, "transfers[0].bytes"),
        ({"ranks": [{"to": {'"': {"bytes": 1}}}]}, "ranks[0].to"),
        ({"ranks": [{"mpi": {"$[": {"calls": 1}}}]}, "ranks[0].mpi"),
        ({"ranks": [{"mpi": {"send": {"seconds": "x"}}}]}, "ranks[0].mpi.send.seconds"),
        ({"answer": {"sizes": [{"message_bytes": 0.5}]}}, "answer.sizes[0].message_bytes"),
    ],
)
def test_what_the_report_reads_of_an_application_is_checked(application, place, row):
    with pytest.raises(FlowsweepError) as caught:
        row({"status": "valid"}, application)
    assert f"/a/app.json: {place}" in str(caught.value)


def test_what_the_report_does_not_read_is_kept_as_it_is(row):
    record = {"ranks": 4, "phases": "two", "answer": 42, "transfers": [1], "own": {"a": [None]}}
    found = row({"axes": {"rtt": "1ms"}, "weather": "rain", "problem": "small"}, record)
    assert json.loads(found["json"])["application"] == record
    assert json.loads(found["json"])["weather"] == "rain"
    assert found["problem"] == '"small"'


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("FD00::1", "fd00::1"),
        ("fd00:0:0::03", "fd00::3"),
        ("::FFFF:10.0.0.1", "::ffff:10.0.0.1"),
        ("10.77.1.1", "10.77.1.1"),
        ("pc1.example.org", "pc1.example.org"),
        (None, None),
    ],
)
def test_an_address_is_written_as_in_the_tables(written, kept, row):
    (host,) = row({"hosts": [{"name": "pc1", "address": written}]})["hosts"]
    assert host["address"] == kept


def test_times_at_the_ends_of_what_nanoseconds_tell(row):
    found = row({"start": "1678-01-01T00:00:00Z", "end": "2261-12-31T23:59:59.999999999+00:00"})
    assert found["start"] == -9214560000000000000
    assert found["end"] == 9214646399999999999


def test_a_reason_that_quotes_a_program_has_no_commands(row):
    assert (
        row({"status": "failed", "reason": "\x1b[31mno\x1b[0m"})["reason"] == "\\x1b[31mno\\x1b[0m"
    )


def test_counters_of_links_are_read_only_where_they_are_right(row):
    counted = {"from": "west", "to": "east", "received": 5, "dropped_queue": 2, "delivered": 3}
    counted |= {"in_flight": None, "dropped_loss": None}
    found = row({"emulator": {"links": [counted]}})
    assert found["emulator_dropped"] == 2
    assert link_balance.rows([("a", found["json"])])[0][3] == 5


@pytest.mark.parametrize("value", ["3", 1.0, -1, True, [1], 2**63, {}])
def test_a_manifest_counts_or_says_nothing(value, tmp_path):
    path = tmp_path / "pc1.capture.json"
    path.write_text(json.dumps({"dropped_kernel": value, "dropped_interface": 0}))
    with pytest.raises(FlowsweepError, match="dropped_kernel: not a number of packets"):
        manifests.drops(path)
    path.write_text(json.dumps({"dropped_interface": 7, "dropped_kernel": None, "own": "x"}))
    assert manifests.drops(path) == (None, 7)


def test_packets_that_an_agent_could_not_write_are_lost(tmp_path):
    path = tmp_path / "pc1.capture.json"
    counts = {"dropped_kernel": 2, "dropped_interface": 1, "lost_writing": 90_000}
    path.write_text(json.dumps({"status": "incomplete", **counts}))
    assert manifests.drops(path) == (90_002, 1)
    # They may be in its buffer.
    path.write_text(json.dumps({"status": "running", **counts}))
    assert manifests.drops(path) == (2, 1)


def test_a_text_that_no_svg_can_hold_does_not_end_the_process():
    """The drawing library measures every text, and aborts on characters that XML forbids."""
    rows = [{"x": "a\x00\x01\x1b\ufffe", "y": 1.0}]
    drawn = svg.render(charts.Chart(rows).mark("bar").encode(x="x:N", y="y:Q"), "odd")
    assert "a\u2400\u2401\u241b\ufffd" in drawn


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0), 0xD800, 0xDFFF, 0xFFFE, 0xFFFF])
def test_every_character_that_is_none_of_xml_is_seen_in_a_chart(code):
    is_seen = svg._UNPRINTABLE.search(json.dumps(chr(code), ensure_ascii=False)) is not None
    assert is_seen == (chr(code) not in "\t\n\r")
    assert is_seen == (inline.printable(chr(code)) != chr(code))


def test_a_key_that_is_almost_right_is_reported(tmp_path, capsys):
    folder = tmp_path / "runs/r1"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"completion": 12.3, "axis": {}, "mine": 1, "host": 2}')
    (folder / "app.json").write_text('{"completion_s": 1.5, "completion": 2, "phase": []}')
    runs_command.runs(directory=folder.parent, output=tmp_path / "runs.parquet", experiment=None)
    assert capsys.readouterr().err.splitlines() == [
        f"warning: {folder}/run.json: `completion` is not read; `completion_s` would be",
        f"warning: {folder}/run.json: `host` is not read; `hosts` would be",
        f"warning: {folder}/app.json: `phase` is not read; `phases` would be",
    ]
