"""A generated run: two hosts with captures, one without, and all times known."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest
from build import START_NS, ethernet, ip, pcap

MS, US = 1_000_000, 1_000
HOSTS = {"a": "10.0.0.1", "b": "10.0.0.2", "c": "10.0.0.3"}
#: How far the clock of b is ahead of that of a.
AHEAD = 70 * MS
#: One-way delays from a to b, and back.
THERE, BACK = 5 * MS, 5 * MS
MSS = 1000


class Lab:
    """Connections from port 1000 to port 80, and the packets that each host captured."""

    def __init__(self) -> None:
        self.seen: dict[str, list[tuple[int, bytes]]] = {"a": [], "b": []}
        self._ident = 0

    def segment(self, time, ends, flags, seq, ack, size=0, *, lost=False):
        """Sends a packet from one host to another; `time` is by the clock of a."""
        src, dst = ends
        self._ident += 1
        port = {host: 80 if host == "b" else 1000 for host in HOSTS}
        options = struct.pack(">BBH", 2, 4, MSS) if flags & 2 else b""
        offset = (5 + len(options) // 4) << 12
        fields = (port[src], port[dst], seq, ack, offset | flags, 512, 0, 0)
        content = struct.pack(">HHIIHHHH", *fields) + options + bytes(size)
        frame = ethernet(ip(HOSTS[src], HOSTS[dst], 6, content, ident=self._ident))
        delay = THERE if src == "a" else BACK
        for host, at in ((src, time), (dst, time + delay)):
            if host in self.seen and not (lost and host == dst):
                self.seen[host].append((at + (AHEAD if host == "b" else 0), frame))

    def write(self, folder: Path) -> Path:
        folder.mkdir()
        for host, packets in self.seen.items():
            content = pcap(sorted(packets, key=lambda one: one[0]), snaplen=96)
            (folder / f"{host}.pcap").write_bytes(content)
        return folder


def open_connection(lab: Lab, at: int, ends: tuple[str, str]) -> None:
    lab.segment(at, ends, 2, 99, 0)
    lab.segment(at + 6 * MS, ends[::-1], 0x12, 499, 100)
    lab.segment(at + 12 * MS, ends, 0x10, 100, 500)


@pytest.fixture(scope="module")
def run(tmp_path_factory, command) -> Path:
    """The table folder of a run in which a and c talk with b.

    a asks b every 100 ms with 2,400 bytes, and b answers with 100 bytes; the second segment of
    every third question is lost and sent again 20 ms later; nobody gets the last question.
    """
    folder = tmp_path_factory.mktemp("made")
    lab = Lab()
    open_connection(lab, 0, ("a", "b"))
    open_connection(lab, 1 * MS, ("c", "b"))
    there, back = 100, 500
    drawn = random.Random(3)
    for number in range(30):
        at = (100 + 100 * number) * MS + drawn.randrange(US)
        is_lost, is_last = number % 3 == 1, number == 29
        for place, size in enumerate((1000, 1000, 400)):
            lost = is_last or (is_lost and place == 1)
            seq = there + 1000 * place
            lab.segment(at + place * 10 * US, ("a", "b"), 0x18, seq, back, size, lost=lost)
        if is_last:
            break
        if is_lost:
            lab.segment(at + 20 * MS, ("a", "b"), 0x18, there + 1000, back, 1000)
        there += 2400
        lab.segment(at + 40 * MS, ("b", "a"), 0x18, back, there, 100)
        back += 100
        lab.segment(at + 60 * MS, ("a", "b"), 0x10, there, back)
    lab.segment(150 * MS, ("c", "b"), 0x18, 100, 500, 300)
    lab.segment(160 * MS, ("b", "c"), 0x18, 500, 400, 200)
    captures = lab.write(folder / "r1")
    done = command("flowsweep", "ingest", captures, "--match", "-o", folder / "tables")
    assert done.returncode == 0, done.stderr
    return folder / "tables"


def test_questions_and_answers_stand_where_they_were_sent_and_arrived(run, export):
    trace, about = export(run)
    assert trace.processes == ["critical path", "a", "b"]
    assert about["without_arrival"] == {"not captured": 2, "lost or not matched": 1, "clock": 0}
    questions = trace.slices_of("a", "to b")
    arrived = trace.slices_of("b", "from a")
    assert [one.args["bytes"] for one in questions] == [2400] * 30
    assert [one.args["packets"] for one in questions] == [3] * 30
    assert len(arrived) == 29
    drawn = random.Random(3)
    for number, question in enumerate(questions):
        at = START_NS + (100 + 100 * number) * MS + drawn.randrange(US)
        assert (question.start, question.end) == (at, at + 20 * US)
        assert question.args["source"] == "10.0.0.1:1000"
        assert question.args["destination"] == "10.0.0.2:80"
        assert (question.args["peer"], question.args["tables_of"]) == ("b", "a")
        if number == 29:
            assert question.args["no_arrow"] == "lost or not matched"
            break
        # A retransmission comes after 20 ms, and the rest of the message before it.
        length = 20 * MS if number % 3 == 1 else 20 * US
        answer = arrived[number]
        # The split of the RTT is unknown, which limits the accuracy of times at b.
        error = answer.args["error_ns"]
        assert 0 < error < 6 * MS
        assert abs(answer.start - (at + THERE)) <= error
        assert answer.end - answer.start == length
        assert answer.args["transfer_ns"] == answer.end - question.start
        assert (question, answer) in trace.arrows
    for answer, question in zip(
        trace.slices_of("b", "to a"), trace.slices_of("a", "from b"), strict=True
    ):
        assert (answer, question) in trace.arrows
        assert answer.args["bytes"] == question.args["bytes"] == 100
        assert question.start == question.end >= answer.start
    assert len(trace.arrows) == 29 + 29


def test_an_arrow_leads_from_what_arrived_to_what_was_sent_next(run, export):
    trace, _ = export(run)
    answers, at_a = trace.slices_of("b", "to a"), trace.slices_of("a", "from b")
    questions, at_b = trace.slices_of("a", "to b"), trace.slices_of("b", "from a")
    # One question is not answered, and b hears from 10.0.0.3 between two others.
    (received,), (sent,) = (trace.slices_of("b", f"{way} 10.0.0.3") for way in ("from", "to"))
    for waited in (
        *zip(at_a, questions[1:], strict=True),
        *zip(at_b, answers, strict=True),
        (received, sent),
    ):
        assert waited in trace.dependencies
    assert len(trace.dependencies) == 29 + 29 + 1


def test_the_clock_of_the_other_host_is_repaired_in_messages_without_an_arrow_too(run, export):
    trace, _ = export(run)
    (received,) = trace.slices_of("b", "from 10.0.0.3")
    (sent,) = trace.slices_of("b", "to 10.0.0.3")
    for one, at in ((received, 150 * MS + BACK), (sent, 160 * MS)):
        assert abs(one.start - START_NS - at) <= 6 * MS < AHEAD
        assert one.args["no_arrow"] == "not captured"
        assert one.args["tables_of"] == "b"
    assert (received.args["bytes"], sent.args["bytes"]) == (300, 200)


def test_the_same_tables_give_the_same_bytes_packed_or_not(run, start, tmp_path):
    import gzip

    paths = [tmp_path / name for name in ("x.json", "y.json", "x.json.gz", "y.json.gz")]
    for path in paths:
        assert start(run, "-o", path).returncode == 0
    plain, again, packed, packed_again = (path.read_bytes() for path in paths)
    assert plain == again == gzip.decompress(packed)
    assert packed == packed_again


def test_what_is_printed(run, start, tmp_path):
    done = start(run, "-o", tmp_path / "x.json")
    assert done.stdout.splitlines() == [
        "61 messages, 58 with an arrival",
        "2 without: not captured at both ends",
        "1 without: lost, or their packets were not matched",
    ]
    assert done.stderr == f"r1: 2 hosts -> {tmp_path / 'x.json'}\n"
