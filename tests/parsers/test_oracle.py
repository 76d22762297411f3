"""The tables of every capture of the collection against tshark, capinfos, tcpdump and tcptrace."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from agreement import Difference, differences, readable_files, rtt_means, table
from collection import by_size

KNOWN = Path(__file__).with_name("disagreements.csv")
#: One row for all flows of a file with later fragments, which the oracle leaves out.
JOINED = "later fragments joined"

FILES = {row["file"]: row for row in readable_files()}


def known() -> dict[tuple[str, str], tuple[str, str]]:
    """Returns the disagreements that are explained: ours and theirs by file and number."""
    with KNOWN.open(newline="", encoding="utf-8") as file:
        return {
            (row["file"], row["what"]): (row["ours"], row["theirs"]) for row in csv.DictReader(file)
        }


def without_fragments(found: set[Difference]) -> tuple[set[Difference], int]:
    """Removes what flows gained by later fragments; returns the rest and the packets gained."""
    gained = {
        difference
        for difference in found
        if difference.what.split()[-1] in {"packets", "payload_bytes"}
        and int(difference.ours) > int(difference.theirs)
    }
    packets = [it for it in gained if it.what.endswith(" packets")]
    return found - gained, sum(int(it.ours) - int(it.theirs) for it in packets)


@pytest.mark.parametrize("file", FILES)
def test_every_number_is_the_oracles_or_a_listed_disagreement(file: str) -> None:
    listed = {
        Difference(name, what, *both) for (name, what), both in known().items() if name == file
    }
    found = set(differences(FILES[file]))
    found, joined = (
        without_fragments(found) if any(d.what == JOINED for d in listed) else (found, 0)
    )
    found |= {Difference(file, JOINED, str(joined), "0")} if joined else set()
    assert found - listed == set(), "differs from the oracle and is not listed"
    assert listed - found == set(), "is listed but differs no longer: take the row out"


def test_every_listed_disagreement_names_a_file_of_the_collection_and_a_reason() -> None:
    with KNOWN.open(newline="", encoding="utf-8") as file:
        listed = list(csv.DictReader(file))
    assert all(len(row["reason"]) > 20 for row in listed)
    named = {row["file"] for row in listed}
    assert len(named & FILES.keys()) == by_size(small=5, large=len(named))


def test_mean_rtts_are_compared_with_tcptraces() -> None:
    compared = [pair for name in FILES for pair in rtt_means(name, table(name, "flows"))]
    assert len(compared) >= by_size(small=40, large=501)
