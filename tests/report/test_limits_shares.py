"""The shares of what limits senders at a point, against numbers worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tiny

from flowsweep.warehouse import Warehouse

WEST, EAST = "10.77.1.1", "10.77.2.1"


def limited(
    app: int, sender: int, receiver: int, network: int, unknown: int = 0, **changes: Any
) -> dict[str, Any]:
    """Returns a flow of pc3 that each cause limited for so many ms."""
    names = ("app", "sender", "receiver", "network", "unknown")
    times = zip(names, (app, sender, receiver, network, unknown), strict=True)
    return tiny.flow(EAST, WEST, **{f"{k}_limited_ns": v * tiny.MS for k, v in times}) | changes


def test_limits_are_added_up_over_the_flows_of_a_point(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    udp = {"app_limited_ns": None, "protocol": "udp", "src_port": 3}
    tiny.table(tmp_path, "flows", "r", "pc3", [
        limited(300, 0, 0, 0),
        limited(40, 10, 20, 30, connection=1, src_port=1),
        # a flow without payload has nothing to hold back; UDP has no limits
        limited(900, 0, 0, 0, connection=2, src_port=2, payload_bytes=0),
        limited(0, 0, 0, 0, connection=3, **udp),
    ])  # fmt: skip
    (row,) = Warehouse(tmp_path).rows("limits").rows(named=True)
    found = [row[f"{name}_share"] for name in ("app", "sender", "receiver", "network", "unknown")]
    assert found == [0.7, 0.05, 0.1, 0.15, 0.0]
    assert (row["directions"], row["sending_s"], row["most_held_share"]) == (2, 0.4, 0.6)


def test_long_transfers_of_many_bytes_are_weighed(tmp_path: Path) -> None:
    """Bytes times nanoseconds overflow 64 bits: 100 GB in a quarter of an hour."""
    tiny.runs(tmp_path, [tiny.run("r")])
    rows = [limited(450_000, 50_000, 50_000, 450_000, payload_bytes=10**11)]
    tiny.table(tmp_path, "flows", "r", "pc3", rows)
    (found,) = Warehouse(tmp_path).rows("limits").to_dicts()
    assert found["app_share"] == pytest.approx(0.45)


def test_what_headers_do_not_tell_is_a_part_of_the_time_that_nobody_knows(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    tiny.table(tmp_path, "flows", "r", "pc3", [
        limited(40, 10, 0, 30, 20),
        limited(60, 0, 0, 40, 0, connection=1, src_port=1),
        # nothing is known of a sender that was not captured: its whole payload is unknown
        limited(1, 1, 1, 1, 1, connection=2, src_ip=WEST, dst_ip=EAST),
    ])  # fmt: skip
    (row,) = Warehouse(tmp_path).rows("limits").rows(named=True)
    found = [row[f"{name}_share"] for name in ("app", "sender", "receiver", "network", "unknown")]
    assert found == [0.333333, 0.033333, 0.0, 0.233333, 0.4]
    assert (row["directions"], row["unknown_directions"], row["sending_s"]) == (3, 1, 0.2)
    assert row["unknown_because"] == "sender not captured; headers do not show it"
    # the unknown share is not part of the share that held senders back
    assert row["most_held_share"] == 0.4


def test_tables_without_the_unknown_time_share_out_all_of_it(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    old = limited(75, 0, 0, 25)
    del old["unknown_limited_ns"]
    tiny.table(tmp_path, "flows", "r", "pc3", [old])
    (row,) = Warehouse(tmp_path).rows("limits").rows(named=True)
    assert (row["app_share"], row["unknown_share"], row["unknown_because"]) == (0.75, 0.0, None)


def test_limits_that_the_data_lack_are_unknown_with_the_reason(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    tiny.table(tmp_path, "flows", "r", "pc3", [
        limited(500, 0, 0, 0),
        limited(0, 0, 0, 0, connection=1, src_port=1, network_limited_ns=None),
        limited(1, 1, 1, 1, connection=2, src_ip=WEST, dst_ip=EAST),
    ])  # fmt: skip
    (row,) = Warehouse(tmp_path).rows("limits").rows(named=True)
    # all three flows carried 9,000 bytes
    assert (row["app_share"], row["unknown_share"]) == (0.333333, 0.666667)
    assert row["unknown_directions"] == 2
    assert row["unknown_because"] == "limits not in the tables; sender not captured"


def test_a_control_connection_that_is_open_and_idle_holds_nothing_back(tmp_path: Path) -> None:
    """Unweighted, iperf3's control connection would make 68 % of the time application-limited."""
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    tiny.table(tmp_path, "flows", "r", "pc3", [
        limited(0, 0, 0, 500, payload_bytes=9_990_000),
        limited(1500, 0, 0, 0, connection=1, src_port=1, payload_bytes=10_000),
    ])  # fmt: skip
    (row,) = Warehouse(tmp_path).rows("limits").rows(named=True)
    assert (row["app_share"], row["network_share"]) == (0.001, 0.999)


def test_every_combination_of_the_axes_is_a_point(tmp_path: Path) -> None:
    mild, far = {"baseline": True}, {"rtt_asked_ns": 9 * tiny.MS}
    points = {"a": mild, "b": mild, "c": far, "d": far | {"rate_asked_bit_s": 1e7},
              "e": far | {"status": "invalid"}, "f": mild | {"warmup": True}}  # fmt: skip
    tiny.runs(tmp_path, [tiny.run(name, **changes) for name, changes in points.items()])
    for name, held in zip("abcdef", (0, 20, 50, 70, 90, 90), strict=True):
        tiny.table(tmp_path, "flows", name, "pc3", [limited(100 - held, 0, 0, held)])
    found = Warehouse(tmp_path).rows("limits")
    assert found["network_share"].to_list() == [0.1, 0.5, 0.7]
    assert found["runs"].to_list() == [2, 1, 1]
    assert found["is_baseline"].to_list() == [True, False, False]


def split(**row: Any) -> dict[str, float]:
    names = ("own", "wait", "wait_rtt", "wait_link", "wait_queue", "wait_peer")
    return {name: row[f"{name}_share"] for name in names}


def asking(**changes: Any) -> dict[str, Any]:
    """Returns a client that waits 400 of 500 ms for 20 answers, at an RTT of 10 ms."""
    return limited(500, 0, 0, 0, peer_wait_ns=400 * tiny.MS, peer_waits=20,
                   rtt_min_ns=10 * tiny.MS, payload_bytes=5_000) | changes  # fmt: skip


def serving(**changes: Any) -> dict[str, Any]:
    """Returns the other end: its application takes 100 ms and waits for requests for 400 ms."""
    return limited(500, 0, 0, 0, direction="backward", src_ip=WEST, dst_ip=EAST, src_port=2000,
                   dst_port=1000, peer_wait_ns=400 * tiny.MS, peer_waits=19,
                   rtt_min_ns=10 * tiny.MS, payload_bytes=5_000) | changes  # fmt: skip


def test_of_both_ends_a_wait_is_split_between_the_network_and_the_other_host(
    tmp_path: Path,
) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True, rate_asked_bit_s=1e6)])
    tiny.table(tmp_path, "flows", "r", "pc3", [asking()])
    # a direction of almost no weight, so that the numbers are those of the client
    tiny.table(tmp_path, "flows", "r", "pc1", [serving(payload_bytes=1)])
    (row,) = Warehouse(tmp_path).rows("limits").rows(named=True)
    # 400 ms: 200 of RTT, 40 for 5,001 bytes at the rate, 100 of the server, 60 of queues
    expected = {"own": 0.2, "wait": 0.8, "wait_rtt": 0.4, "wait_link": 0.08, "wait_queue": 0.12,
                "wait_peer": 0.2}  # fmt: skip
    assert split(**row) == pytest.approx(expected, abs=2e-4)
    assert (row["app_share"], row["most_held_share"]) == (1.0, 0.8)


def test_of_one_end_a_wait_is_the_network_s_for_its_round_trips(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True, rate_asked_bit_s=1e6)])
    tiny.table(tmp_path, "flows", "r", "pc3", [asking()])
    (row,) = Warehouse(tmp_path).rows("limits").rows(named=True)
    assert split(**row) == {"own": 0.2, "wait": 0.8, "wait_rtt": 0.4, "wait_link": 0.0,
                            "wait_queue": 0.0, "wait_peer": 0.0}  # fmt: skip


def test_without_a_handshake_the_smallest_rtt_may_hold_work_of_the_other_host(
    tmp_path: Path,
) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    tiny.table(tmp_path, "flows", "r", "pc3", [asking(start="midstream")])
    (row,) = Warehouse(tmp_path).rows("limits").rows(named=True)
    assert (row["wait_share"], row["wait_rtt_share"]) == (0.8, 0.0)


def test_what_the_headers_of_the_other_end_do_not_tell_is_left_open(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    tiny.table(tmp_path, "flows", "r", "pc3", [asking()])
    dark = {"app_limited_ns": 0, "peer_wait_ns": 0, "unknown_limited_ns": 500 * tiny.MS}
    tiny.table(tmp_path, "flows", "r", "pc1", [serving(payload_bytes=1, **dark)])
    (row,) = Warehouse(tmp_path).rows("limits").rows(named=True)
    known = row["wait_rtt_share"] + row["wait_link_share"] + row["wait_queue_share"]
    assert (round(known, 3), row["wait_peer_share"]) == (0.4, 0.0)


@pytest.mark.parametrize("is_known", [True, False])
def test_the_other_side_of_a_wait_is_of_the_same_connection(
    tmp_path: Path, *, is_known: bool
) -> None:
    """East's only data and west's only data are of two connections that used the same ports."""
    tiny.runs(tmp_path, [tiny.run("r", baseline=True)])
    wait = {"peer_wait_ns": 50 * tiny.MS, "peer_waits": 1, "rtt_min_ns": tiny.MS}
    ends = {"src_ip": WEST, "src_port": 2000, "dst_ip": EAST, "dst_port": 1000}
    tiny.table(tmp_path, "flows", "r", "pc3", [
        limited(80, 0, 0, 20, payload_bytes=1000, **wait),
    ])  # fmt: skip
    again = [] if is_known else [
        limited(40, 0, 0, 0, payload_bytes=0, peer_wait_ns=0, direction="backward", **ends),
        tiny.flow(EAST, WEST, connection=1, payload_bytes=0),
    ]  # fmt: skip
    tiny.table(tmp_path, "flows", "r", "pc1", [
        *again,
        limited(40, 0, 0, 0, payload_bytes=1000, peer_wait_ns=0, connection=9, **ends),
    ])  # fmt: skip
    (row,) = Warehouse(tmp_path).rows("limits").rows(named=True)
    assert (row["wait_peer_share"] > 0.1) == is_known
