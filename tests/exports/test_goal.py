"""Schedules: their grammar, and that a replay sends every message at its time."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import schedules
import tiny
import traces
from spoiled import DEMO


@pytest.fixture(scope="module")
def tables(command, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("goal") / "tables"
    run = DEMO / "nqueens-rate_10Mbit-r1"
    done = command("flowsweep", "ingest", run, "--match", "--output", folder)
    assert done.returncode == 0, done.stderr
    return folder


def export(command, tables: Path, to: str, path: Path) -> Path:
    done = command("flowsweep", "export", tables, "--to", to, "-o", path)
    assert done.returncode == 0, done.stderr
    return path


def test_a_replay_with_the_measured_transfers_sends_every_message_when_it_was_sent(
    command, tables, tmp_path
):
    ranks = schedules.read(export(command, tables, "goal", tmp_path / "x.goal"))
    trace = traces.read(export(command, tables, "perfetto", tmp_path / "x.json"))
    assert len(ranks) == 4
    assert len(trace.arrows) == sum(one.kind == "send" for own in ranks for one in own) > 250
    zero = trace.slices[0].start
    # Both number messages by sending time.
    arrows = dict(enumerate(trace.arrows, 1))
    transfers = {tag: after.end - before.start for tag, (before, after) in arrows.items()}
    assert schedules.replay(ranks, transfers) == {
        tag: before.start - zero for tag, (before, _) in arrows.items()
    }
    hosts = [f"pc{number}" for number in range(1, 5)]
    for rank, own in enumerate(ranks):
        for one in own:
            if one.kind == "send":
                before, after = arrows[one.tag]
                assert (before.process, after.process) == (hosts[rank], hosts[one.peer])
                assert before.args["bytes"] == one.size


def test_a_slower_network_delays_what_was_sent_after_an_arrival(command, tables, tmp_path):
    ranks = schedules.read(export(command, tables, "goal", tmp_path / "x.goal"))
    tags = [one.tag for own in ranks for one in own if one.kind == "send"]
    ends = [
        max(schedules.replay(ranks, dict.fromkeys(tags, delay)).values())
        for delay in (0, 10_000_000)
    ]
    # Each of a host's more than 40 requests and responses waits for the previous one.
    assert ends[1] - ends[0] > 40 * 10_000_000


def test_it_is_the_same_each_time_and_packs(command, tables, tmp_path):
    import gzip

    plain = export(command, tables, "goal", tmp_path / "x.goal").read_bytes()
    again = export(command, tables, "goal", tmp_path / "y.goal").read_bytes()
    packed = export(command, tables, "goal", tmp_path / "x.goal.gz").read_bytes()
    assert plain == again == gzip.decompress(packed)


def test_hosts_without_messages_are_ranks_too(command, tmp_path):
    for host in ("a", "b"):
        for name in ("flows", "messages", "fates", "one_way"):
            path = tmp_path / "tables" / "run=r" / f"host={host}" / f"{name}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            empty = {"connection": pl.Int64, "direction": pl.String, "first_time": tiny.TIME}
            pl.DataFrame(schema=empty).write_parquet(path)
    path = tmp_path / "x.goal"
    done = command("flowsweep", "export", tmp_path, "--to", "goal", "-o", path)
    assert done.returncode == 1, done.stderr
    assert [[one.size for one in own] for own in schedules.read(path)] == [[0], [0]]
