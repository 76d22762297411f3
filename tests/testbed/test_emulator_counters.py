"""What the emulator's counters say of a run: whether it is valid, and what its axes measured."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from flowsweep.testbed import emulation, runner

LINK = {"from": "west", "to": "east", "received": 100_000, "in_flight": 0}


def record(*, kernel_dropped: int = 0, **counters: int) -> dict[str, Any]:
    ports = [{"name": "west", "kernel_dropped": kernel_dropped}]
    return {"ports": ports, "links": [LINK | counters]}


def test_frames_that_the_kernel_lost_spoil_a_run() -> None:
    assert emulation.loss_faults(record(delivered=100_000)) == []
    assert emulation.loss_faults(record(kernel_dropped=25, dropped_send=3)) == [
        "the kernel dropped 25 frames before the emulator",
        "the kernel refused 3 frames from the emulator",
    ]
    assert emulation.loss_faults({}) == []  # machines with links of their own


def test_frames_that_no_counter_explains_spoil_a_run() -> None:
    whole = record(delivered=90_000, dropped_queue=10_000)
    assert emulation.balance_faults(whole, is_quiet=True) == []
    (fault,) = emulation.balance_faults(record(delivered=60_000), is_quiet=False)
    assert fault == (
        "emulator, west to east: 100000 received, 0 duplicated, 60000 delivered, 0 dropped"
    )
    under_way = record(delivered=99_990, in_flight=10)
    assert emulation.balance_faults(under_way, is_quiet=False) == []
    assert len(emulation.balance_faults(under_way, is_quiet=True)) == 1


def measured(*links: dict[str, int], rtts_ns: tuple[int, ...] = (10_000_000,)) -> dict[str, str]:
    pairs = [("west", f"east{number}") for number in range(len(rtts_ns))]
    run = SimpleNamespace(links=pairs, experiment=SimpleNamespace(pairs=[]))
    paths = [{"rtt_ns": rtt, "rate_bit_s": None} for rtt in rtts_ns]
    result = SimpleNamespace(paths=paths, emulator={"links": [LINK | link for link in links]})
    return runner._measured(run, result)  # type: ignore[arg-type]


def test_loss_is_measured_of_the_frames_that_used_the_line() -> None:
    assert measured({"dropped_queue": 50_000, "dropped_loss": 1_000})["loss"] == "2%"
    assert measured({"dropped_loss": 1_000})["loss"] == "1%"
    assert "loss" not in measured({"dropped_queue": 100_000, "dropped_loss": 0})


def test_the_measured_rtt_is_the_median_of_the_links() -> None:
    link = {"dropped_loss": 0}
    assert measured(link, rtts_ns=(14_000_000, 10_000_000))["rtt"] == "12ms"
    assert measured(link, rtts_ns=(9_000_000, 14_000_000, 10_000_000))["rtt"] == "10ms"
