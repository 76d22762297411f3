"""The process that draws the figures of a report."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from flowsweep.errors import FlowsweepError
from flowsweep.render import drawing

POINTS = {"data": {"values": [{"a": 1}, {"a": 2}]}, "mark": "point",
          "encoding": {"x": {"field": "a", "type": "quantitative"}}}  # fmt: skip


@pytest.fixture
def drawer() -> Iterator[drawing.Drawer]:
    drawer = drawing.Drawer()
    yield drawer
    drawer.close()


def chart(title: str) -> str:
    return json.dumps(POINTS | {"title": title})


def test_pictures_come_in_their_order_and_are_those_of_this_process(
    drawer: drawing.Drawer,
) -> None:
    titles = [f"é {number}" for number in range(5)]
    pictures = [drawer.submit(chart(title)).result() for title in titles]
    assert [title in picture for title, picture in zip(titles, pictures, strict=True)] == [True] * 5
    own = drawing.draw(chart(titles[0]))
    assert len(own) == len(pictures[0])


def test_what_is_no_chart_is_refused_and_the_next_one_is_drawn(drawer: drawing.Drawer) -> None:
    refused = drawer.submit('{"mark": 5}')
    drawn = drawer.submit(chart("next"))
    with pytest.raises(ValueError, match="Vega-Lite"):
        refused.result()
    assert "next" in drawn.result()


def test_an_end_by_a_signal_is_reported_and_another_process_begins(
    drawer: drawing.Drawer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "_drawer", drawer)
    drawer.submit(chart("one")).result()
    assert drawing.ensure_drawer() is drawer
    os.kill(drawer._process.pid, signal.SIGKILL)
    with pytest.raises(FlowsweepError, match="SIGKILL"):
        drawer.submit(chart("two")).result()
    other = drawing.ensure_drawer()
    assert "three" in other.submit(chart("three")).result()
    other.close()


def test_it_ends_with_the_process_that_started_it_however_that_ends() -> None:
    program = (
        "from flowsweep.render import drawing; import time\n"
        'drawer = drawing.ensure_drawer(); drawer.submit(\'{"mark": "point"}\').result()\n'
        "print(drawer._process.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        drawer = int(parent.stdout.readline())
        assert is_running(drawer)
        parent.kill()
    until = time.monotonic() + 60
    while is_running(drawer) and time.monotonic() < until:
        time.sleep(0.05)
    assert not is_running(drawer)


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"
