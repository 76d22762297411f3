"""The sentence on what holds an application back, and the names of points."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import tiny
from valid_charts import valid

from flowsweep.render import held_senders, page, points, svg
from flowsweep.render.figure import Context
from flowsweep.render.figures import limits
from flowsweep.warehouse import Warehouse

AXES = {asked: None for asked, _, _ in points.AXES} | {
    "rtt_ms": 1.0, "rtt_asked_ms": 1.0, "rate_mbit_s": 100.0, "rate_asked_mbit_s": 100.0,
    "queue_bytes": 131_072,
}  # fmt: skip


def point(*shares: float, baseline: bool = False, **changes: Any) -> dict[str, Any]:
    """Returns a row of `limits` with these shares, and without waits for the other side."""
    names = [column for column, *_ in held_senders.CLASSES if column != "wait_share"]
    row = AXES | dict(zip(names, shares, strict=True))
    row |= dict.fromkeys(("wait_share", *(column for column, _ in held_senders.WAITS)), 0.0)
    row |= {"is_baseline": baseline, "unknown_because": None, "udp_share": None,
            "link_share": None}  # fmt: skip
    return row | changes


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(rows, infer_schema_length=None)


LIMITS = ("app_limited_ns", "sender_limited_ns", "receiver_limited_ns", "network_limited_ns")
FAR = {"rtt_ms": 64.1, "rtt_asked_ms": 64.0}
UNKNOWN = {"unknown_because": "sender not captured"}


def test_the_sentence_names_who_set_the_pace_and_who_held_it_most() -> None:
    rows = frame(point(0.9, 0, 0, 0.1, 0, baseline=True), point(0.5, 0, 0.4, 0.1, 0, **FAR))
    assert held_senders.describe([rows], ["lu"]) == (
        "At the baseline the application itself set the pace of lu for 90 % of the sending time; "
        "the receiver's window held it most at 64.1 ms, for 40 %."
    )


def test_a_network_that_sets_the_pace_at_the_baseline_is_named() -> None:
    rows = frame(point(0.2, 0, 0, 0.8, 0, baseline=True), point(0.3, 0, 0, 0.7, 0, **FAR))
    assert held_senders.describe([rows], ["lu"]) == (
        "At the baseline the network set the pace of lu for 80 % of the sending time; "
        "the network held it most also there, for 80 %."
    )


def test_the_application_is_not_named_where_the_link_was_full() -> None:
    """If redis fills 4.99 of 5 Mbit/s, the page must not say: application 100 %."""
    slow = {"rate_mbit_s": 5.0, "rate_asked_mbit_s": 5.0}
    wide = point(1, 0, 0, 0, 0, baseline=True, link_share=0.3)
    rows = frame(wide, point(1, 0, 0, 0, 0, **slow, link_share=0.998))
    assert held_senders.describe([rows], ["redis"]) == (
        "At the baseline the application itself set the pace of redis for 100 % of the sending "
        "time. The link was full for redis at 5.00 Mbit/s: what the senders waited for there was "
        "the network's doing."
    )
    full = frame(
        point(0.9, 0, 0, 0.1, 0, baseline=True, link_share=0.95), point(1, 0, 0, 0, 0, **FAR)
    )
    assert held_senders.describe([full], ["redis"]) == (
        "At the baseline the link set the pace of redis: it was 95 % full; the network held it "
        "most also there, for 10 %."
    )


def waiting(own: float, rtt: float, link: float, peer: float, **changes: Any) -> dict[str, Any]:
    parts = {"wait_share": 1 - own, "wait_rtt_share": rtt, "wait_link_share": link,
             "wait_peer_share": peer}  # fmt: skip
    return point(own, 0, 0, 0, 0, **parts | changes)


def test_of_a_wait_for_the_other_side_the_network_and_the_other_host_are_distinguished() -> None:
    rows = frame(waiting(0.2, 0.3, 0.1, 0.4, baseline=True), waiting(0.1, 0.85, 0, 0.05, **FAR))
    assert held_senders.describe([rows], ["pgbench"]) == (
        "At the baseline waiting for the other side set the pace of pgbench for 80 % of the "
        "sending time (of that: the RTT 37 %, the link's rate 12 %, the other host 50 %); waiting "
        "for the other side held it most at 64.1 ms, for 90 % (of that: the RTT 94 %, the other "
        "host 5.6 %)."
    )


def test_of_a_wait_whose_other_side_was_not_captured_the_network_took_that_much_or_more() -> None:
    rows = frame(waiting(0.2, 0.4, 0, 0, baseline=True))
    assert held_senders.describe([rows], ["pgbench"]) == (
        "At the baseline waiting for the other side set the pace of pgbench for 80 % of the "
        "sending time (known of that: the RTT 50 %)."
    )


def test_what_udp_carries_is_not_reported_of_the_application() -> None:
    """A transfer over UDP has an idle TCP connection beside it."""
    most = [point(1, 0, 0, 0, 0, baseline=True, udp_share=0.9999),
            point(1, 0, 0, 0, 0, **FAR, udp_share=0.5)]  # fmt: skip
    little = [point(1, 0, 0, 0, 0, baseline=True, udp_share=0.01)]
    text = held_senders.describe([frame(*most), frame(*little)], ["lambda", "dns"])
    assert text == (
        "At the baseline the application itself set the pace of the TCP flows of lambda (< 0.1 % "
        "to 50 % of its payload) for 100 % of the sending time; at no point did anything else hold "
        "it. At the baseline the application itself set the pace of dns for 100 % of the sending "
        "time."
    )


def test_one_point_is_compared_with_nothing() -> None:
    assert held_senders.describe([frame(point(1, 0, 0, 0, 0, baseline=True))], ["lu"]) == (
        "At the baseline the application itself set the pace of lu for 100 % of the sending time."
    )


def test_what_nobody_knows_is_stated_and_nothing_is_excluded() -> None:
    rows = frame(point(0.9, 0, 0, 0, 0.1, baseline=True), point(0.8, 0, 0, 0, 0.2, **FAR))
    assert held_senders.describe([rows], ["lu"]) == (
        "At the baseline the application itself set the pace of lu for 90 % of the sending time; "
        "at no point is anything else known to have held it. Up to 20 % of the sending time at a "
        "point cannot be attributed: headers do not show it."
    )
    text = held_senders.describe([rows] * 4, list("abcd"))
    assert "At no point is anything else known to have held any of them." in text


@pytest.mark.parametrize(
    ("unknown", "reasons", "expected"),
    [
        (0, [], None),
        (
            0,
            [held_senders.IN_PART],
            "Cannot tell: parts of some directions (headers do not show it).",
        ),
        (1, ["sender not captured"], "Cannot tell: 1 direction as a whole (sender not captured)."),
        (
            2,
            [held_senders.IN_PART, "sender not captured"],
            (
                "Cannot tell: 2 directions as a whole (sender not captured) and parts of others "
                "(headers do not show it)."
            ),
        ),
    ],
)  # fmt: skip
def test_what_is_unknown_is_stated_of_whole_directions_or_of_parts(
    unknown: int, reasons: list[str], expected: str | None
) -> None:
    assert held_senders.describe_unknown(unknown, reasons) == expected


def test_a_pace_is_reported_only_where_what_nobody_knows_would_not_change_it() -> None:
    headers = {"unknown_because": "headers do not show it"}
    unclear = point(0.4, 0, 0, 0.3, 0.3, baseline=True, **headers)
    assert held_senders.describe([frame(unclear)], ["lu"]) == (
        "What holds lu back cannot be determined (headers do not show it)."
    )
    rows = frame(unclear, point(0.1, 0, 0, 0.8, 0.1, **FAR, **headers))
    assert held_senders.describe([rows], ["lu"]).startswith(
        "At 64.1 ms the network set the pace of lu for 80 % of the sending time; "
        "the network held it most also there, for 80 %."
    )


def test_nothing_but_the_application_is_stated() -> None:
    rows = frame(point(1, 0, 0, 0, 0, baseline=True), point(1, 0, 0, 0, 0, **FAR))
    assert held_senders.describe([rows], ["lu"]).endswith("at no point did anything else hold it.")


def test_without_the_columns_the_data_cannot_answer() -> None:
    rows = frame(point(0, 0, 0, 0, 1, baseline=True, **UNKNOWN))
    assert held_senders.describe([rows], ["lu"]) == (
        "What holds lu back cannot be determined (sender not captured)."
    )


BASE = point(0.9, 0, 0, 0.1, 0, baseline=True)


def test_of_many_applications_the_standouts_are_named() -> None:
    network = frame(point(0.2, 0, 0, 0.8, 0, baseline=True))
    window = frame(BASE, point(0.5, 0, 0.5, 0, 0, **FAR))
    mild = frame(BASE, point(0.7, 0, 0, 0.3, 0, **FAR))
    none = frame(point(1, 0, 0, 0, 0, baseline=True))
    text = held_senders.describe([none, mild, frame(BASE), network, window], list("abcde"))
    assert text == (
        "At the baseline the application itself set the pace of 4 of 5 for 90 % or more of the "
        "sending time and the network that of d for 80 %. Held most by anything else: d (the "
        "network, 80 %), e (the receiver's window, 50 % at 64.1 ms), b (the network, "
        "30 % at 64.1 ms); the other 2 for 10 % or less at every point."
    )
    assert held_senders.describe([none] * 4, list("abcd")).endswith(
        "anything else hold any of them."
    )
    assert held_senders.describe([mild, window, network, none], list("abcd")).endswith("; d never.")


def test_it_is_no_longer_for_twenty_applications() -> None:
    names = [f"application {number}" for number in range(20)]
    assert len(held_senders.describe([frame(BASE)] * 20, names)) < 400


def test_of_many_applications_those_without_data_are_named() -> None:
    lost = frame(point(0, 0, 0, 0, 1, baseline=True, **UNKNOWN))
    text = held_senders.describe([lost, *[frame(BASE)] * 4, lost], list("abcdef"))
    assert "set the pace of all 4 for 90 % or more" in text
    assert text.endswith("What holds a and f back cannot be determined (sender not captured).")


def test_all_panels_share_one_legend_with_one_colour_for_each_kind(tmp_path: Path) -> None:
    tiny.runs(tmp_path, [tiny.run(app, app=app, baseline=True) for app in "abc"])
    for app, kept in {"a": (5, 0, 0, 0), "b": (4, 0, 1, 0), "c": (0, 1, 0, 4)}.items():
        times = {name: part * 100 * tiny.MS for name, part in zip(LIMITS, kept, strict=True)}
        tiny.table(tmp_path, "captures", app, "pc3", [tiny.capture()])
        tiny.table(tmp_path, "flows", app, "pc3", [tiny.flow("10.77.2.1", "10.77.1.1", **times)])
    warehouse = Warehouse(tmp_path)
    figure = limits.draw(Context(warehouse, page._series(warehouse, "")))
    assert figure is not None
    panels = valid(figure.chart)["concat"]
    scales = [panel["layer"][0]["encoding"]["color"]["scale"] for panel in panels]
    assert len(scales) == 3
    assert scales[1:] == scales[:-1]
    labels = ["application", "sender's buffer", "receiver's window", "network"]
    assert scales[0]["domain"] == labels
    assert len(set(scales[0]["range"])) == len(labels)
    drawn = svg.render(figure.chart, "limits")
    # Once in the legend; the labels beside bars end with a share.
    assert [drawn.count(f">{escape(label, quote=False)}<") for label in labels] == [1] * len(labels)


def test_points_are_named_by_the_axes_that_vary_as_measured() -> None:
    buffers = {"buffer_bytes": 65_536}
    rows = frame(point(1, 0, 0, 0, 0), point(1, 0, 0, 0, 0, **FAR, **buffers))
    assert points.labels(rows) == ["1.00 ms · default buffers", "64.1 ms · 64 KiB buffers"]


def test_a_queue_is_named_only_where_nothing_else_differs() -> None:
    small, large = (point(1, 0, 0, 0, 0, queue_bytes=size) for size in (16_384, 131_072))
    far = point(1, 0, 0, 0, 0, **FAR, queue_bytes=1_600_000)
    assert points.labels(frame(small, large, far)) == [
        "1.00 ms · 16 KiB queue", "1.00 ms · 128 KiB queue", "64.1 ms",
    ]  # fmt: skip
    assert points.labels(frame(large, far)) == ["1.00 ms", "64.1 ms"]


def test_no_two_points_share_a_name() -> None:
    rows = frame(point(1, 0, 0, 0, 0), point(0, 0, 0, 1, 0, rtt_asked_ms=1.01))
    assert points.labels(rows) == ["1.00 ms (1)", "1.00 ms (2)"]


def test_of_many_points_the_baseline_and_the_last_are_drawn() -> None:
    rows = pl.DataFrame({"number": range(100)})
    shown = points.choose_drawn(rows)["number"].to_list()
    assert (len(shown), shown[0], shown[-1]) == (points.MAX_ROWS, 0, 99)
