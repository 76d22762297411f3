"""What limited a flow according to the sender's kernel: recorded flows, and the bench itself."""

from __future__ import annotations

from pathlib import Path

import limit_truth
import limits
import numpy as np
import pytest
from cut_pcap import packet_ends, write_prefixes
from writers import FIELDS

#: 4.2 % when they were chosen, more than in the whole grid, because each writer is represented.
MOST_WRONG_KEPT = 0.05


@pytest.fixture(scope="module")
def compared() -> list[limits.Compared]:
    """The flows of the checkout."""
    found = list(limits.compare_data())
    assert len(found) >= 10
    return found


def test_recorded_flows_are_classified_as_their_kernel_did(compared: list[limits.Compared]) -> None:
    matrix = sum(one.matrix for one in compared)
    wrong, unknown = limits.wrong_and_unknown(matrix)
    limits.print_matrix(matrix)
    assert wrong <= MOST_WRONG_KEPT
    assert unknown < limits.MOST_UNKNOWN


def test_a_steady_writer_limits_itself_at_every_rtt(compared: list[limits.Compared]) -> None:
    steady = [one for one in compared if one.flow["writer"] in limits.STEADY]
    assert {one.flow["rtt_ms"] for one in steady} == {1, 4, 16, 64}
    for one in steady:
        assert one.matrix[0, 0] >= limits.LEAST_STEADY * one.matrix[0].sum(), one.flow


def polls(**columns: object) -> dict[str, np.ndarray]:
    """Returns 100 polls of a writer, 2 ms apart: idle, except for `columns`."""
    table = np.zeros(100, FIELDS)
    table["time"] = 10**18 + 2 * limit_truth.MS * np.arange(100)
    table["mss"], table["cwnd"], table["window"] = 1448, 10, 10**6
    for name, value in columns.items():
        table[name] = value
    calls = np.array([table["time"][0] - 1])
    return {"polls": table, "begun": calls, "done": calls + 10**9}


@pytest.mark.parametrize(
    ("columns", "truth"),
    [
        ({"notsent": 5000, "unacked": 10}, "network"),
        ({"notsent": 5000, "unacked": 3, "receiver_us": 2000 * np.arange(100)}, "receiver"),
        ({"notsent": 5000, "unacked": 4, "window": 6000}, "receiver"),
        ({"notsent": 5000, "unacked": 4, "recovery": 3, "window": 6000}, "network"),
        ({"notsent": 100, "unacked": 4}, "sender"),
        ({"notsent": 100, "unacked": 4, "acked": 24_000 * np.arange(100)}, "network"),
    ],
)
def test_the_kernel_says_which_class_it_is(columns: dict[str, object], truth: str) -> None:
    truths = limit_truth.derive_from_polls(polls(**columns), rate_bit_s=1e8, rtt_ms=1)
    shares = truths.sums[:, -1] / truths.sums[:, -1].sum()
    assert shares[limit_truth.CLASSES.index(truth)] > 0.95, shares


def test_a_writer_that_does_not_sleep_in_send_limits_itself() -> None:
    idle = polls(notsent=100, unacked=4)
    idle["done"] = idle["begun"] + limit_truth.SLEPT_NS
    truth = limit_truth.derive_from_polls(idle, rate_bit_s=1e8, rtt_ms=1)
    assert truth.sums[0, -1] == truth.sums[:, -1].sum() > 0


def test_the_truth_is_the_same_after_it_was_kept() -> None:
    truth = limit_truth.derive_from_polls(
        polls(notsent=3000 * (np.arange(100) % 7 > 3)), 1e8, rtt_ms=1
    )
    kept = limit_truth.Truth.from_json(truth.to_json())
    begin, end = truth.borders[[0, 13, 40]], truth.borders[[13, 40, 90]]
    assert np.allclose(kept.between(begin, end), truth.between(begin, end), atol=limit_truth.MS)
    assert len(kept.borders) < len(truth.borders)


def test_confusion_counts_what_both_say_and_shares_out_the_rest() -> None:
    found = np.array([[60, 10, 0, 20, 10], [0, 0, 100, 0, 0]], float)
    truth = np.array([[80, 0, 0, 20], [0, 0, 100, 0]], float)
    matrix = limit_truth.confusion(found, truth)
    assert matrix[0].tolist() == [60, 10, 0, 0, 10]
    assert matrix[3].tolist() == [0, 0, 0, 20, 0]
    assert matrix[2].tolist() == [0, 0, 100, 0, 0]
    assert limits.wrong_and_unknown(matrix) == (0.05, 0.05)


def test_prefixes_hold_the_packets_before_their_border(tmp_path: Path) -> None:
    import struct

    header = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 96, 1)
    packets = [struct.pack("<4I", 7, second, 4, 4) + b"abcd" for second in (10, 20, 30)]
    content = b"".join([header, *packets])
    times, ends = packet_ends(content)
    assert times.tolist() == [7 * 10**9 + n for n in (10, 20, 30)]
    files = write_prefixes(content, times[[0, 2]] + [0, 1], tmp_path)
    assert [file.read_bytes() for file in files] == [header, content]
    assert ends[-1] == len(content)
