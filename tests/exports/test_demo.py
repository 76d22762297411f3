"""The kept demo as traces: every message, even with a wrong clock."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from spoiled import DEMO, change, copy_run, translate

import flowsweep

RUNS = ("nqueens-rate_10Mbit-r1", "nqueens-baseline-r1")
MS = 1_000_000
AHEAD = 50 * MS


def ingest(command, run: Path, tables: Path) -> Path:
    done = command("flowsweep", "ingest", run, "--match", "--output", tables)
    assert done.returncode == 0, done.stderr
    return tables


@pytest.fixture(scope="module")
def tables(command, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "tables"
    for run in RUNS:
        ingest(command, DEMO / run, folder)
    return folder


@pytest.mark.parametrize("run", RUNS)
def test_every_message_that_a_host_sent_is_there_once_and_arrives(run, tables, export):
    trace, about = export(tables, "--run", run)
    assert trace.processes == ["critical path", "pc1", "pc2", "pc3", "pc4"]
    expected = []
    for folder in (tables / f"run={run}").iterdir():
        host = folder.name.removeprefix("host=")
        address = {"pc1": "10.77.1.1", "pc2": "10.77.1.2", "pc3": "10.77.2.1", "pc4": "10.77.2.2"}
        flows = pl.read_parquet(folder / "flows.parquet").filter(src_ip=address[host])
        rows = pl.read_parquet(folder / "messages.parquet").join(
            flows.select("connection", "direction"), on=["connection", "direction"]
        )
        expected += [(host, *row) for row in rows.select("bytes", "packets").iter_rows()]
    sent = [one for one in trace.slices if one.thread.startswith("to ")]
    shown = [(one.process, one.args["bytes"], one.args["packets"]) for one in sent]
    assert sorted(shown) == sorted(expected)
    assert about["messages"] == about["arrived"] == len(expected) > 250
    for before, after in trace.arrows:
        assert before.thread == f"to {after.process}"
        assert after.thread.startswith(f"from {before.process}")
        assert before.start <= after.start <= after.end
        assert before.end <= after.end


@pytest.mark.parametrize("run", RUNS)
def test_the_critical_path_lies_beside_the_messages_it_takes(run, tables, export):
    trace, _ = export(tables, "--run", run)
    path = trace.critical_path
    assert all(one.end == other.start for one, other in pairwise(path))
    files = (tables / f"run={run}").glob("host=*/critical_path.parquet")
    whole = pl.concat(pl.read_parquet(file) for file in files)
    ends = (whole["begin"].dt.epoch("ns") + whole["duration_ns"]).max()
    assert path[-1].end == ends
    # The ranks exchange some messages before the program's clock starts.
    assert path[0].start == whole["begin"].dt.epoch("ns").min()
    assert path[0].start > min(one.start for one in trace.slices)
    # Where a message of the path begins, its sender begins to send.
    begins = [
        after
        for before, after in pairwise(path)
        if after.args["receiver"] is not None and before.args["receiver"] is None
    ]
    assert len(begins) > 50
    for piece in begins:
        sent = trace.slices_of(piece.args["host"], f"to {piece.args['receiver']}")
        assert piece.start in {one.start for one in sent}


@pytest.mark.parametrize("run", RUNS)
def test_a_message_arrived_when_the_receiver_begins_to_acknowledge_its_last_byte(
    run, tables, export
):
    """Uses the capture of pc1 alone, whose clock is the reference, and the sizes of messages."""
    trace, _ = export(tables, "--run", run)
    rows = pl.DataFrame(flowsweep.read_packets(DEMO / run / "pc1.pcap.zst"))
    flows = pl.DataFrame(flowsweep.read_flows(DEMO / run / "pc1.pcap.zst"))
    waits = []
    for host, address in (("pc2", "10.77.1.2"), ("pc3", "10.77.2.1"), ("pc4", "10.77.2.2")):
        own = rows.join(flows.filter(dst_ip=address), on=["connection", "direction"])
        answers = own.sort("packet").select(pl.col("time").dt.epoch("ns"), "ack").rows()
        # The first acknowledgement is for the SYN.
        first = next(ack for _, ack in answers if ack)
        end = 0
        for message, arrived in ((a, b) for a, b in trace.arrows if a.process == host):
            end += message.args["bytes"]
            covering = (at for at, ack in answers if ack and (ack - first) % 2**32 >= end)
            covered = next(covering, None)
            if covered is None:
                # The last message of a connection, answered with a reset.
                assert "close" in message.args["evidence"]
                continue
            waits.append(covered - arrived.end)
    assert len(waits) > 140
    assert min(waits) >= 0
    # Linux delays an acknowledgement by at most 40 ms, plus the time to its next tick.
    assert max(waits) < 60 * MS
    assert sorted(waits)[len(waits) // 2] < MS


def test_a_router_that_translates_addresses_changes_nothing(command, tmp_path, export):
    """Neither a message nor a piece of the critical path."""
    made = []
    for name, addresses in (("plain", {}), ("translated", {"10.77.1.1": "203.0.113.1"})):
        run = copy_run(DEMO / RUNS[1], tmp_path / name / RUNS[1])
        for host in ("pc3", "pc4"):
            translate(run, host, addresses)
        made.append(export(ingest(command, run, tmp_path / name / "tables")))
    (plain, about), (translated, found) = made
    assert about["arrived"] == found["arrived"] > 250
    assert translated.slices == plain.slices
    assert translated.arrows == plain.arrows
    assert translated.critical_path == plain.critical_path != []


def test_a_wrong_clock_moves_no_message_by_more_than_the_stated_error(
    tables, command, tmp_path, export
):
    run = RUNS[1]
    spoiled = copy_run(DEMO / run, tmp_path / run)
    change(spoiled, "pc3", lambda _, time: time + AHEAD)
    ingest(command, spoiled, tmp_path / "tables")
    honest, _ = export(tables, "--run", run)
    repaired, about = export(tmp_path / "tables")
    assert about["arrived"] == about["messages"] == len(honest.arrows)
    for before, after in zip(
        *(
            sorted(
                trace.arrows,
                key=lambda pair: (
                    pair[0].args["source"],
                    pair[0].args["destination"],
                    pair[0].start,
                ),
            )
            for trace in (honest, repaired)
        ),
        strict=True,
    ):
        assert before[0].args["bytes"] == after[0].args["bytes"]
        error = after[1].args["error_ns"] + before[1].args["error_ns"]
        assert abs(after[0].start - before[0].start) <= error < AHEAD
        assert abs(after[1].end - before[1].end) <= error
