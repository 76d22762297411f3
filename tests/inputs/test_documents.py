"""Experiment files that expand to more than they contain, or mean something unexpected."""

from __future__ import annotations

import json
import time

import pytest

from flowsweep import experiment
from flowsweep.errors import FlowsweepError

WHOLE = "sites: {west: 1, east: 1}\n"
IN_PROBLEM = f"{WHOLE}workload:\n  app: lu\n  problem:\n    "
LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
)
MERGED = "a0: &a0 {x: 1}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}\n" for n in range(1, 12)
)


def refused(text: str, tmp_path) -> str:
    """Returns the error for a file, which must come at once."""
    path = tmp_path / "x.yaml"
    path.write_text(text)
    start = time.process_time()
    with pytest.raises(FlowsweepError) as caught:
        experiment.load(path).plan()
    assert time.process_time() - start < 1
    assert str(caught.value).startswith(f"{path}, line ")
    assert caught.value.found is not None
    assert caught.value.expected is not None
    assert caught.value.remedy is not None
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (IN_PROBLEM + LAUGHS.replace("\n", "\n    "),
        "too many values"),
        (IN_PROBLEM + MERGED.replace("\n", "\n    "),
        "too many values"),
        ("a: &a [*a]", "an alias within its own anchor"),
        ("a: &a {b: {<<: *a}}", "an alias within its own anchor"),
        (f"a: &a {'x' * 50_000}\nb: [{'*a, ' * 900}]", "1,048,576 characters"),
        (f"a: &a x\nb: [{'*a, ' * 1001}]", "too many aliases"),
        ("[" * 100_000, "nested too deeply"),
        ("- " * 100_000, "nested too deeply"),
        ("{a: " * 100_000, "nested too deeply"),
        ("? " * 100_000, "nested too deeply"),
        ("a: [" + "1, " * 300_000 + "]", "too many values"),
        ("a:\n" * 300_000, "too many values"),
    ],
)  # fmt: skip
def test_no_file_stands_for_more_than_it_may(text, part, tmp_path):
    assert part in refused(text, tmp_path)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("seed: " + "9" * 5000, "not a number that can be used"),
        ("seed: 0x" + "f" * 5000, "not a number that can be used"),
        ("seed: 1" + ":1" * 5000, "not a number that can be used"),
        ("seed: 18446744073709551616", "not a number that can be used"),
        ("limits: {lateness_share: .nan}", "not a number that can be used"),
        ("link: {loss_burst: .inf}", "not a number that can be used"),
        ("link: {loss: 60%, loss_burst: 1}", "so much loss needs longer bursts"),
        ("link: {loss_burst: 1.0e+400}", "not a number that can be used"),
        ("seed: !!int x", "not a number that can be used"),
        ("seed: !!float '-'", "not a number that can be used"),
        ("seed: !!bool x", "neither true nor false"),
        ("seed: !!timestamp x", "this is not YAML"),
        ("seed: !!binary AA==", "this is not YAML"),
        ("seed: !!set {a, b}", "this is not YAML"),
        ("seed: !!python/object/apply:os.system ['true']", "this is not YAML"),
        ("? [a, b]\n: c", "a key is not text"),
        ("? {a: b}\n: c", "a key is not text"),
        ('title: "\\e[31m"', "a control character in a text"),
        ('title: "\\0"', "a control character in a text"),
        ('"\\x07": 1', "a control character in a text"),
        ("2026-01-01: x", "2026-01-01: unknown key"),
        ("1: x", "1: unknown key"),
    ],
)
def test_values_that_json_has_not_are_refused_with_their_line(text, part, tmp_path):
    assert part in refused(text, tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "link: {loss_burst: 2}\naxes: {loss: [1%, 90%]}\n",
        "link: {loss: 90%}\npairs: [{between: [west, east], loss_burst: 2}]\n",
        "link: {loss_burst: 2}\npairs: [{between: [west, east], back: {loss: 90%}}]\n",
        "link: {loss: 90%}\nschedule: [{at: 1s, loss_burst: 2}]\n",
        "schedule: [{at: 2s, loss: 90%}, {at: 1s, loss_burst: 2}]\n",
        "link: {loss: 90%}\nschedules: {bad: [{at: 1s, loss_burst: 2}]}\naxes: {schedule: [bad]}\n",
    ],
)
def test_bursts_fit_the_loss_that_another_place_sets(text, tmp_path):
    part = "so much loss needs longer bursts"
    assert part in refused(f"{WHOLE}workload: {{app: lu}}\n{text}", tmp_path)
    path = tmp_path / "x.yaml"
    path.write_text(path.read_text().replace("loss_burst: 2", "loss_burst: 9"))
    assert experiment.load(path).plan()


def test_dates_and_odd_keys_of_a_problem_are_text(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(
        f"{WHOLE}workload:\n  app: lu\n  problem:\n"
        "    {day: 2026-01-01, 2026-01-02: x, 1: y, null: z}\n"
    )
    (run, *_) = experiment.load(path).plan()
    assert run.point.parameters == {"day": "2026-01-01", "2026-01-02": "x", "1": "y", "null": "z"}


@pytest.mark.parametrize("name", ["pc1\n", "pc1\u2028", "Pc1", "pc 1", "-pc1", "pc1;id"])
def test_a_host_has_no_other_letters_than_an_interface(name, tmp_path):
    sites = json.dumps({"west": [name], "east": 1})
    message = refused(f"sites: {sites}\nworkload: {{app: lu}}\n", tmp_path)
    assert "cannot be the name of a site or host" in message


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("sites: {" + ", ".join(f"s{n}: 1" for n in range(65)) + "}", "too many sites"),
        (
            f"sites: {{west: {[f'h{n}' for n in range(251)]}, east: 1}}",
            "west: too many hosts",
        ),
        (
            (
                f"{WHOLE}workload: {{app: lu}}\ndesign: grid\nrepetitions: 1000\n"
                f"axes: {{rtt: {[f'{n}ms' for n in range(1, 99)]}, links: {list(range(1, 64))}}}"
            ),
            "too many runs",
        ),
    ],
)
def test_a_plan_has_an_end(text, part, tmp_path):
    assert part in refused(text, tmp_path)
