"""The film pipeline: frames in order; one way, in bursts at the frame rate, limited by the link."""

from __future__ import annotations

import itertools

import polars as pl
import pytest

from .launch import alone, captured, counts_agree

READERS = ("10.77.1.1", "10.77.1.2")
# Two ranks per host: 4 readers in the west; 2 filters, 1 compressor and the counter in the east.
PROBLEM = {"format": "4K", "shrink": 16, "frames": 30, "fps": 10, "readers": 4, "filters": 2}
FRAME_BYTES = 240 * 135 * 6


@pytest.mark.parametrize("compute", ["busy", "paced"])
def test_frames_arrive_in_order_and_are_right(tmp_path, compute):
    problem = {"format": "2K", "shrink": 10, "frames": 20, "fps": 100, "readers": 2, "filters": 2}
    done, record = alone("video", problem, tmp_path, ranks=7, compute=compute)
    assert record is not None, done.stderr
    answer = record["answer"]
    assert (answer["frames"], answer["in_order"], answer["wrong"]) == (20, True, 0)
    assert answer["checked"] == 8
    assert record["correct"] is True
    assert counts_agree(record)
    assert len(record["transfers"]) == 20
    # All readers send to all filters, so two links share four connections, not two.
    assert {(span["from"], span["to"]) for span in record["transfers"]} == {
        (0, 2), (0, 3), (1, 2), (1, 3)
    }  # fmt: skip
    assert {span["bytes"] for span in record["transfers"]} == {192 * 108 * 6}
    assert {phase["name"] for phase in record["phases"]} == {"read", "filter", "compress", "count"}


def test_frames_of_a_folder_are_read(tmp_path):
    for number in range(4):
        frame = bytes([number]) * (60 * 33 * 6)
        (tmp_path / f"frame-{number:05d}.rgb48").write_bytes(frame)
    problem = {"format": "1K", "shrink": 16, "frames": 4, "folder": str(tmp_path)}
    done, record = alone("video", problem, tmp_path, ranks=4)
    assert record is not None, done.stderr
    assert record["correct"] is True


@pytest.fixture(scope="module")
def measured(namespaces, tmp_path_factory, measurement):
    """A wide and a narrow link: frames of 194 400 bytes, 15.6 Mbit/s at 10 fps."""
    return measurement(
        lambda: {
            rate: captured(
                *("video", PROBLEM, tmp_path_factory.mktemp("video")),
                *("ranks_per_host=2", f"rate={rate}Mbit/s"),
            )
            for rate in (100, 8)
        }
    )


def crossing(run) -> tuple[int, float]:
    """Returns payload from the readers to the east, and the seconds from first to last packet."""
    flows = pl.concat([run.table(host, "flows") for host in ("pc1", "pc2")])
    frames = flows.filter(
        pl.col("src_ip").is_in(READERS)
        & pl.col("dst_ip").str.starts_with("10.77.2.")
        & (pl.col("payload_bytes") > FRAME_BYTES)
    )
    span = frames["last_time"].max() - frames["first_time"].min()
    new = frames["payload_bytes"].sum() - frames["retransmitted_bytes"].sum()
    return new, span.total_seconds()


def test_whole_frames_cross_one_way_at_the_frame_rate(measured):
    def check(runs):
        _, seconds = crossing(runs[100])
        # A reader that the machine delayed sends late, and reports by how much.
        late = max(rank.get("worst_late_s", 0) for rank in runs[100].application["ranks"])
        assert 2.9 / 1.15 <= seconds <= 2.9 / 0.85 + late

    measured.holds(check)
    run = measured.value[100]
    assert run.application["correct"] is True
    payload, _ = crossing(run)
    assert payload == pytest.approx(30 * FRAME_BYTES, rel=0.01)
    # The reverse traffic is much smaller.
    back = sum(run.bins(host, READERS[i])["in"].sum() for i, host in enumerate(("pc1", "pc2")))
    assert back < 0.02 * payload


def test_frames_are_bursts_with_silence_between(measured):
    """A frame takes 16 ms at 100 Mbit/s, and one comes every 100 ms."""
    measured.holds(check_bursts)


def check_bursts(runs) -> None:
    parts = [runs[100].table(host, "throughput") for host in ("pc1", "pc2")]
    sent = pl.concat(parts).filter(
        pl.col("src_ip").cast(pl.String).is_in(READERS)
        & pl.col("dst_ip").cast(pl.String).str.starts_with("10.77.2.")
        & (pl.col("payload_bytes") > 1000)
    )
    bins = sorted(set((sent["bin_start"].dt.epoch("ns") // 10_000_000).to_list()))
    gaps = [later - earlier for earlier, later in itertools.pairwise(bins)]
    bursts = 1 + sum(gap > 2 for gap in gaps)
    assert 24 <= bursts <= 33, gaps


def test_fewer_frames_cross_a_link_that_is_too_narrow(measured):
    """Maassen, section 3.2.1: 25 fps of 30 where 12 Gbit/s meet 10."""

    def check(runs):
        payload, seconds = crossing(runs[8])
        fps = payload / FRAME_BYTES / seconds
        assert fps == pytest.approx(8e6 / 8 / FRAME_BYTES, rel=0.12)
        assert runs[8].application["answer"]["fps"] < 7

    measured.holds(check)
