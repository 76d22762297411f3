"""What a TCP flow gets beside a transfer, against TCP alone and beside TCP at the same point."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import tiny
from grid import rows

from flowsweep import numbers
from flowsweep.render import page
from flowsweep.render.figure import Context
from flowsweep.render.figures import fairness
from flowsweep.warehouse import Warehouse


def transfer(
    name: str, transport: str, mbit_s: float, beside: float | None = None, **changes: Any
) -> dict[str, Any]:
    """Makes a run of `bulk` with one stream."""
    stream = {"mbit_s": mbit_s} | ({} if beside is None else {"beside_mbit_s": beside})
    application = {"problem": {"transport": transport}, "answer": {"streams": [stream]}}
    # The report knows a workload by its name.
    app = transport if beside is None else f"{transport}_beside"
    record = json.dumps({"application": application})
    return tiny.run(name, app=app, **{"baseline": True} | changes, json=record)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    far = {"loss": 0.001, "baseline": False}
    return tiny.runs(tmp_path_factory.mktemp("fair"), [
        transfer("a1", "lambda", 60.0, 30.0), transfer("a2", "lambda", 50.0, 50.0),
        transfer("a3", "lambda", 40.0, 40.0), transfer("b", "lambda", 90.0, 10.0, **far),
        transfer("t1", "tcp", 75.0), transfer("t2", "tcp", 80.0), transfer("t3", "tcp", 85.0),
        transfer("u", "tcp", 20.0, 60.0), transfer("c", "tcp", 6.0, **far),
        transfer("x", "lambda", 99.0, 1.0, status="invalid"),
    ])  # fmt: skip


def test_each_point_is_compared_with_tcp_at_the_same_point(directory: Path) -> None:
    names = ("streams", "transfer_mbit_s", "beside_mbit_s", "beside_mbit_s_min",
             "beside_mbit_s_max", "tcp_alone_mbit_s", "tcp_beside_tcp_mbit_s")  # fmt: skip
    found = {
        (row["app"], row["loss"] or 0.0): tuple(row[name] for name in names)
        for row in rows(directory, "fairness")
    }
    assert found == {
        ("lambda_beside", 0.0): (3, 50.0, 40.0, 30.0, 50.0, 80.0, 60.0),
        ("lambda_beside", 0.001): (1, 90.0, 10.0, 10.0, 10.0, 6.0, None),
        ("tcp_beside", 0.0): (1, 20.0, 60.0, 60.0, 60.0, 80.0, 60.0),
    }


def test_shares_and_the_index_are_those_of_the_definition(directory: Path) -> None:
    (row,) = rows(directory, "fairness", app="lambda_beside", loss=0.001)
    assert row["beside_share"] == 0.1
    # Jain: (x + y)^2 / (2 (x^2 + y^2))
    assert row["jain_index"] == pytest.approx(100**2 / (2 * (90**2 + 10**2)), abs=1e-6)


def test_the_page_answers_whether_it_is_fair(directory: Path) -> None:
    warehouse = Warehouse(directory)
    context = Context(warehouse, page._series(warehouse, ""))
    heading = fairness.heading(context)
    assert heading == (
        "Is it fair? A TCP flow gets, of what both get, beside lambda 10 % to 44 %; beside tcp 75 %"
    )
    html = page.build(directory).html.replace("\u00a0", " ")
    assert heading in html
    assert '<div class="part" id="part-fairness">' in html


def test_goodput_is_of_all_transfers_of_a_run_together(tmp_path: Path) -> None:
    """Where a run sends both ways at once, the share of the link is that of both directions."""
    link = {"between": ["west", "east"], "rate_bit_s": 100e6, "links": 1}

    def run(
        name: str, problem: dict[str, object], *mbit_s: float, **record: object
    ) -> dict[str, object]:
        streams = [{"mbit_s": one} for one in mbit_s]
        record_text = {"application": {"problem": problem, "answer": {"streams": streams}},
                "links": [link]} | record  # fmt: skip
        return tiny.run(name, app="bulk", baseline=True, problem=json.dumps(problem),
                        json=json.dumps(record_text))  # fmt: skip

    disk = {"transport": "lambda", "source": "disk", "target": "disk"}
    both = {"transport": "lambda", "both_ways": True}
    tiny.runs(tmp_path, [
        run("a", disk, 90.0), run("b", disk, 94.0), run("c", both, 90.0, 95.0),
        run("d", {"transport": "udp"}, 97.0),
        run("e", {"transport": "tcp"}, 4.0, links=[link | {"back": {"rate_bit_s": 5e6}}]),
        run("f", {"transport": "tcp", "target": "disk"}, 9.0,
            uplinks={"east": {"rate_bit_s": 10e6, "links": 1}}),
    ])  # fmt: skip
    rows = Warehouse(tmp_path).rows("goodput").rows(named=True)
    found = {
        (row["transport"], row["source"], row["target"], row["is_both_ways"]): (
            row["goodput_mbit_s"], row["goodput_mbit_s_min"], row["link_share"], row["streams"]
        )
        for row in rows
    }  # fmt: skip
    assert found == {
        ("lambda", "disk", "disk", False): (92.0, 90.0, 0.92, 2),
        ("lambda", "memory", "memory", True): (185.0, 185.0, 0.925, 2),
        ("udp", "memory", "memory", False): (97.0, 97.0, 0.97, 1),
        # With 5 Mbit/s one way, or an access line of 10, no single rate describes the link.
        ("tcp", "memory", "memory", False): (4.0, 4.0, None, 1),
        ("tcp", "memory", "disk", False): (9.0, 9.0, None, 1),
    }
    table = page.build(tmp_path).html.partition('id="goodput-table"')[2].partition("</table>")[0]
    cells = [cell.strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", table, re.DOTALL)]
    at = cells.index("lambda, memory to memory, both ways")
    assert cells[at + 1 : at + 5] == ["185.0", "185.0", "185.0", "92\u00a0%"]
    assert cells[cells.index("tcp, memory to memory") + 4] == numbers.NONE
