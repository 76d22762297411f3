"""`flowsweep show`: what it says on messages, and on what held the sender back."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from build import pcap, tcp

from flowsweep.cli import show
from flowsweep.render import capture

CLIENT, SERVER = ("10.0.0.1", 1000), ("10.0.0.2", 80)


def test_three_pauses_make_four_messages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(
        pcap([
            (number * 100_000_000, tcp(*CLIENT, *SERVER, seq=number * 10, payload=10))
            for number in range(4)
        ])
    )  # fmt: skip
    summary = show.summarise(path)
    found = summary.messages
    assert (found["count"], found["p50_bytes"], found["max_bytes"]) == (4, 10, 10)
    capture.print_summaries([summary])
    *_, messages, limits = capsys.readouterr().out.splitlines()
    assert messages.startswith("messages  4: median 10 B, p90 10 B, max 10 B;")
    # no acknowledgement: nothing says on which side the capture was made
    assert limits == "held by   cannot tell: no top flow was captured beside its sender"


def flows(rtt_there_ns: int | None, rtt_back_ns: int | None) -> pl.DataFrame:
    """A connection with 3 MB forward, limited by the network for three quarters."""
    shared = {
        "connection": 0, "protocol": "tcp", "duration_ns": 10**9, "packets": 9,
        "retransmitted_packets": 0, "sender_limited_ns": 0, "receiver_limited_ns": 0,
    }  # fmt: skip
    ends = {"src_ip": "a", "src_port": 1, "dst_ip": "b", "dst_port": 2}
    there = {"direction": "forward", "payload_bytes": 3_000_000, "rtt_min_ns": rtt_there_ns,
             "app_limited_ns": 250, "network_limited_ns": 750}  # fmt: skip
    back = {"direction": "backward", "payload_bytes": 5, "rtt_min_ns": rtt_back_ns,
            "app_limited_ns": 1000, "network_limited_ns": 0}  # fmt: skip
    return pl.DataFrame([shared | ends | there, shared | ends | back])


@pytest.mark.parametrize(
    ("there", "back", "line"),
    [
        (5_000_000, 9_000, "application 25.0 %, network 75.0 %  (1 top flow sent from here)"),
        (9_000, 5_000_000, "application 100.0 %  (1 top flow sent from here)"),
        (5_000_000, 4_000_000, "cannot tell: no top flow was captured beside its sender"),
        (None, None, "cannot tell: no top flow was captured beside its sender"),
    ],
)
def test_limits_are_told_only_beside_the_sender(
    there: int | None, back: int | None, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = show.Summary("a.pcap", ["ETHERNET"], 96, 1, 1.0, 18, 3_001_000, 1, damaged=False)
    summary.top = show._top(flows(there, back))
    capture.print_summaries([summary])
    assert capsys.readouterr().out.splitlines()[-1] == f"held by   {line}"
