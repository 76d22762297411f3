"""Runs by their tables: which run is meant, missing tables, and uncaptured data."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import tiny

HOSTS = {"pc1": "10.0.0.1", "pc2": "10.0.0.2", "pc10": "10.0.0.10"}
US = 1_000


def message(time: int, *, lasts: int = 0, size: int = 100, **changes) -> dict:
    times = {"first_time": tiny.T0 + time, "last_time": tiny.T0 + time + lasts}
    return tiny.message(size, **times, packets=2 if lasts else 1) | changes


def run(
    folder: Path,
    messages: list[dict],
    *,
    sender="pc1",
    receiver="pc2",
    delays: dict[int, int | None] | None = None,
    is_reference_known=True,
    src=None,
    name="r",
) -> Path:
    """Writes tables of a run with messages of one connection, in packets of 100 bytes.

    `delays`: by packet number from 0, where it is not 100 us; None means unknown.
    """
    ends = {
        "src_ip": src or HOSTS[sender], "src_port": 1000, "dst_ip": HOSTS[receiver],
        "dst_port": 2000,
    }  # fmt: skip
    flow = tiny.flow(ends["src_ip"], ends["dst_ip"], last_time=tiny.T0 + 10**9)
    tiny.table(folder, "flows", name, sender, [flow])
    tiny.table(folder, "messages", name, sender, messages)
    names = ("first_time", "last_time")
    times = [one[key] for one in messages for key in names[: one["packets"]]]
    packets = [
        {
            "sender": sender, "receiver": receiver, **ends, "protocol": "tcp", "time_sent": time,
            "packet_sent": place + 1, "fate": "delivered", "seq": 100 * place,
            "payload_bytes": 100,
        }
        for place, time in enumerate(times)
    ]  # fmt: skip
    tiny.table(folder, "fates", name, sender, packets)
    delays = delays or {}
    known = [
        packet
        | {
            "delay_ns": delays.get(place, 100 * US),
            "delay_error_ns": 7 * US,
            "time_sent_reference": packet["time_sent"] + 5 if is_reference_known else None,
        }
        for place, packet in enumerate(packets)
    ]
    frame_of_types = {"delay_ns": pl.Int64, "time_sent_reference": tiny.TIME}
    tiny.table(folder, "one_way", name, sender, known)
    path = folder / "tables" / f"run={name}" / f"host={sender}" / "one_way.parquet"
    pl.read_parquet(path).cast(frame_of_types).write_parquet(path)
    (path.parents[1] / f"host={receiver}").mkdir()
    return folder


def test_messages_that_overlap_at_the_receiver_lie_beside_each_other(tmp_path, export):
    messages = [message(0), message(10 * US, lasts=5 * US), message(20 * US), message(900 * US)]
    # The last packet of the second message arrives after the third message.
    trace, about = export(run(tmp_path, messages, delays={0: 200 * US, 2: 150 * US}))
    assert about["arrived"] == 4
    assert len(trace.slices_of("pc1", "to pc2")) == 4
    start = tiny.T0 + 5
    shown = [
        (one.thread, one.start - start, one.end - start)
        for one in trace.slices
        if one.process == "pc2"
    ]
    assert shown == [
        ("from pc1", 110 * US, 165 * US),
        ("from pc1 (2)", 120 * US, 120 * US),
        ("from pc1", 200 * US, 200 * US),
        ("from pc1", 1000 * US, 1000 * US),
    ]


def test_no_arrow_points_back(tmp_path, export):
    trace, about = export(run(tmp_path, [message(0), message(US)], delays={0: -3, 1: 0}))
    assert about["without_arrival"] == {"not captured": 0, "lost or not matched": 0, "clock": 1}
    first, second = trace.slices_of("pc2", "from pc1")
    assert first.start == tiny.T0 + 5 - 3
    assert first.args["no_arrow"] == trace.slices_of("pc1", "to pc2")[0].args["no_arrow"] == "clock"
    assert trace.arrows == [(trace.slices_of("pc1", "to pc2")[1], second)]
    assert second.start == tiny.T0 + US + 5


def test_a_delay_that_is_not_known_is_no_loss(tmp_path, export):
    trace, about = export(run(tmp_path, [message(0), message(9 * US)], delays={1: None}))
    assert about["without_arrival"]["clock"] == 1
    assert [one.args.get("no_arrow") for one in trace.slices_of("pc1", "to pc2")] == [None, "clock"]


def test_a_host_whose_clock_is_not_known_says_so(tmp_path, export):
    folder = run(tmp_path, [message(0)], delays={0: None}, is_reference_known=False)
    trace, about = export(folder)
    assert about["own_clocks"] == ["pc1"]
    assert trace.processes == ["pc1 (by its own clock)", "pc2"]
    assert [one.start for one in trace.slices] == [tiny.T0]


def test_an_address_that_no_host_is_known_by_is_shown_where_it_was_captured(tmp_path, export):
    folder = run(tmp_path, [message(0)])
    other = tiny.flow("192.168.0.1", "192.168.0.2", connection=1)
    flow = tiny.flow(HOSTS["pc1"], HOSTS["pc2"], last_time=tiny.T0 + 10**9)
    tiny.table(folder, "flows", "r", "pc1", [flow, other])
    tiny.table(folder, "messages", "r", "pc1", [message(0), message(50, connection=1)])
    trace, _ = export(folder)
    (passing,) = trace.slices_of("pc1", "192.168.0.1 to 192.168.0.2")
    assert passing.start == tiny.T0 + 50 + 5
    assert passing.args["no_arrow"] == "not captured"


def test_a_message_that_its_senders_capture_lacks_is_as_the_receiver_saw_it(tmp_path, export):
    folder = run(tmp_path, [message(0)])
    lacking = tiny.flow(HOSTS["pc2"], HOSTS["pc1"], connection=1)
    flow = tiny.flow(HOSTS["pc1"], HOSTS["pc2"], last_time=tiny.T0 + 10**9)
    tiny.table(folder, "flows", "r", "pc1", [flow, lacking])
    tiny.table(folder, "messages", "r", "pc1", [message(0), message(50, connection=1)])
    trace, about = export(folder)
    (seen,) = trace.slices_of("pc1", "from pc2")
    assert seen.start == tiny.T0 + 50 + 5
    assert about["without_arrival"]["not captured"] == 1


def test_ports_that_are_used_again_are_another_connection(tmp_path, export):
    messages = [message(0), message(2_000 * US, connection=1)]
    folder = run(tmp_path, messages, delays={1: 300 * US})
    flows = [
        tiny.flow(HOSTS["pc1"], HOSTS["pc2"], last_time=tiny.T0),
        tiny.flow(
            HOSTS["pc1"], HOSTS["pc2"], connection=1, first_time=tiny.T0 + 2_000 * US,
            last_time=tiny.T0 + 2_000 * US,
        ),
    ]  # fmt: skip
    tiny.table(folder, "flows", "r", "pc1", flows)
    trace, _ = export(folder)
    assert [after.start - before.start for before, after in trace.arrows] == [100 * US, 300 * US]
    assert [before.args["connection"] for before, _ in trace.arrows] == [0, 1]


def test_tables_without_messages_make_a_trace_that_opens(tmp_path, export):
    folder = run(tmp_path, [message(0)])
    for path in folder.rglob("*.parquet"):
        pl.read_parquet(path).clear().write_parquet(path)
    trace, about = export(folder, status=1)
    assert about["messages"] == 0
    assert (trace.processes, trace.slices) == (["pc1", "pc2"], [])
    assert trace.about == {"run": "r", "first_message_ns_since_1970": None}


def test_hosts_stand_in_the_order_of_their_numbers(tmp_path, export):
    folder = run(tmp_path, [message(0)], sender="pc10")
    assert export(folder)[0].processes == ["pc2", "pc10"]


def test_the_folder_of_a_run_may_be_the_current_one(tmp_path, command):
    folder = run(tmp_path, [message(0)]) / "tables" / "run=r"
    words = ("flowsweep", "export", ".", "--to", "goal", "-o", tmp_path / "x.goal")
    done = command(*words, cwd=folder)
    assert done.stderr == f"r: 2 hosts -> {tmp_path / 'x.goal'}\n"


def test_one_of_several_runs_is_named(tmp_path, start, export):
    for name in ("one", "two"):
        run(tmp_path, [message(0)], name=name)
    output = tmp_path / "x.json"
    done = start(tmp_path, "-o", output)
    assert (done.returncode, done.stdout) == (2, "")
    assert "2 runs: one, two" in done.stderr
    assert "--run one" in done.stderr
    done = start(tmp_path, "--run", "twoo", "-o", output)
    assert done.returncode == 2
    assert "did you mean --run two?" in done.stderr
    assert not output.exists()
    for path in (tmp_path, tmp_path / "tables"):
        assert export(path, "--run", "two")[1]["run"] == "two"
    (tmp_path / "runs" / "one").mkdir(parents=True)
    for path in (tmp_path / "tables" / "run=one", tmp_path / "runs" / "one"):
        assert export(path)[1]["run"] == "one"


@pytest.mark.parametrize(
    ("there", "found"),
    [
        ("", "no tables of a run"),
        ("fates.parquet", "matched tables, and no messages beside them"),
        ("pc1.pcap", "captures"),
        ("runs/r/pc1.pcap", "captures of runs"),
    ],
)
def test_without_tables_it_says_what_makes_them(tmp_path, start, there, found):
    folder = tmp_path / "x"
    (folder / there).parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(exist_ok=True)
    if there:
        (folder / there).write_bytes(b"")
    done = start(folder, "-o", tmp_path / "x.json")
    assert done.returncode == 2
    assert f"found     {found}" in done.stderr
    assert "--match" in done.stderr


def test_a_run_that_was_not_matched_is_refused_with_the_remedy(tmp_path, start):
    tiny.table(tmp_path, "messages", "r", "pc1", [message(0)])
    output = tmp_path / "x.json"
    output.write_text("as it was")
    done = start(tmp_path, "-o", output)
    assert done.returncode == 2
    assert "the captures of this run were not put together" in done.stderr
    assert f"flowsweep ingest RUNS/r --output {tmp_path / 'tables'} --match" in done.stderr
    assert output.read_text() == "as it was"


@pytest.mark.parametrize("content", [b"", b"no table at all", None])
def test_a_damaged_table_is_named(tmp_path, start, content):
    folder = run(tmp_path, [message(0)])
    path = folder / "tables" / "run=r" / "host=pc1" / "one_way.parquet"
    if content is None:
        pl.DataFrame({"packet_sent": ["many"]}).write_parquet(path)
    else:
        path.write_bytes(content)
    done = start(folder, "-o", tmp_path / "x.json")
    assert done.returncode == 2
    assert f"error: {path}: this table cannot be read\n  found " in done.stderr
    assert "a fault of flowsweep" not in done.stderr
    assert not (tmp_path / "x.json").exists()


def test_a_trace_appears_whole_or_not_at_all(tmp_path, start):
    folder = run(tmp_path, [message(0)])
    done = start(folder, "-o", tmp_path / "none" / "x.json")
    assert done.returncode == 2
    assert "cannot write" in done.stderr
    (tmp_path / "x.json").mkdir()
    before = sorted(tmp_path.iterdir())
    done = start(folder, "-o", tmp_path / "x.json")
    assert done.returncode == 2
    assert sorted(tmp_path.iterdir()) == before
