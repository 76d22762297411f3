"""A made-up sweep of the RTT whose flows have known bytes in flight."""

from __future__ import annotations

from pathlib import Path

import tiny

PC1, PC3 = (host["address"] for host in tiny.HOSTS)
#: By RTT in ms: wire bytes of each run of 1 s.
SENT = {1: (125_000, 250_000, 500_000), 10: (62_500,), 100: (12_500,)}
#: Of a flow's 10,000 wire bytes: the payload, and the part of it that was sent again.
PAYLOAD, REPEATED = 9_000, 1_000
IN_FLIGHT = {1: 40_000, 10: 100_000, 100: 50_000}


def make(directory: Path, window: int | None = 65_000, *, has_rate: bool = True) -> Path:
    """Makes runs at three RTTs; without `has_rate`, the largest RTT has no rate."""
    runs = []
    for rtt, sizes in SENT.items():
        for number, size in enumerate(sizes):
            name = f"{rtt}-{number}"
            rate = 1e8 if has_rate or rtt < max(SENT) else None
            runs.append(
                tiny.run(
                    name, baseline=rtt == 1, repetition=number,
                    rtt_asked_ns=rtt * tiny.MS, rtt_measured_ns=rtt * tiny.MS,
                    rate_asked_bit_s=rate, rate_measured_bit_s=rate,
                )
            )  # fmt: skip
            capture(directory, name, size, IN_FLIGHT[rtt] + number, window)
    return tiny.runs(directory, runs)


def capture(directory: Path, run: str, size: int, in_flight: int, window: int | None) -> None:
    """Writes data from pc1 to pc3 and acknowledgements; each host captures both directions."""
    forward = {"payload_bytes": PAYLOAD, "retransmitted_bytes": REPEATED,
               "max_in_flight_bytes": in_flight, "max_window_bytes": 64_000}  # fmt: skip
    backward = {"direction": "backward", "payload_bytes": 0, "retransmitted_bytes": 0,
                "max_in_flight_bytes": None, "max_window_bytes": window}  # fmt: skip
    for host in ("pc1", "pc3"):
        tiny.table(directory, "captures", run, host, [tiny.capture()])
        tiny.table(directory, "flows", run, host, [
            tiny.flow(PC1, PC3, **forward),
            tiny.flow(PC3, PC1, src_port=2000, dst_port=1000, **backward),
        ])  # fmt: skip
        tiny.table(directory, "throughput", run, host, tiny.bins(PC1, PC3, {0: size}))
