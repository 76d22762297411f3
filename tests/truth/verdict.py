"""Tests the verdict's statistics and sentences with sweeps whose truth is known.

Prints for each shape, number of runs and spread: how often the printed interval contains the true
threshold, how often there is an answer, and how many sweeps got a sentence that the true curve
contradicts. Exits with 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict

import made_sweeps
import numpy as np

from flowsweep.analysis import need
from flowsweep.analysis.estimates import LEVELS
from flowsweep.render import markup, verdict

RUNS = (3, 6, 10, 20)
SPREADS = (0.01, 0.02, 0.05)
# Goals in %.
LEAST_HELD, MOST_FALSE = 93, 5
# The counts, and their denominators.
SHARES = {"held": "intervals", "told": "sweeps", "false": "sweeps"}
Results = dict[tuple[str, int, float], Counter[str]]
KNOWN = ("found", "one-sided", "never", "at once", "not monotone")

OPEN = "open"  # an end that the sweep does not bound
NUMBER = r"([\d.,]+)"
# "about 11.3 ms (95 % interval 4.00 to 16.0)"; later ones omit these words; an open end is
# "16.0 or more".
VALUE = (
    rf"about {NUMBER} \S+ \((?:95 % interval )?"
    rf"(?:(?P<low>{NUMBER}) to (?P<high>{NUMBER})|(?P<end>{NUMBER}) or (?P<side>more|less))\)"
)
NEED = re.compile(rf"(?:needs|RTT of) {VALUE}")
SEVERE = re.compile(rf"50 % slower (?:above|below) {VALUE}")
FALL = re.compile(rf"at {NUMBER} \S+ it takes .* but at {NUMBER} \S+ it takes")
CLOSER = re.compile(rf"cannot be determined more closely than {NUMBER} to {NUMBER} ")
WITHIN = re.compile(rf"stayed within 10 % at every (?:RTT|rate) tried,? (?:up|down) to {NUMBER}")
BEYOND = re.compile(rf"It is 10 % slower at {NUMBER} \S+ and at every (?:RTT|rate) beyond")


def printed(sweep: made_sweeps.Sweep) -> tuple[list[need.Threshold], list[str]]:
    """Returns the thresholds at each level, and the opening sentences of the report."""
    found = [need.threshold(sweep.points, level) for level in LEVELS]
    key = {"app": "app", "problem": "", "buffer_bytes": None, "axis": sweep.points.axis}
    key["outcome"] = "completion_time"
    key |= {"drift": None, "drift_low": None, "drift_high": None, "drift_p": None}
    rows = [key | {"level": level} | asdict(one) for level, one in zip(LEVELS, found, strict=True)]
    requirement = key | {
        "better": "less",
        "baseline_value": 10.0,
        "baseline_s": 10.0,
        "worst_grade": "A",
        "baseline_packets": 1,
        "crossing_packets": 1,
        "runs_used": 1,
    }
    worded = verdict.verdict(rows, [requirement], {("app", ""): "app"})
    return found, [markup.plain(sentence) for sentence in worded.sentences]


def false_sentences(sweep: made_sweeps.Sweep, sentences: list[str]) -> list[str]:
    """Returns the sentences that the true curve contradicts."""
    return [sentence for sentence in sentences if not is_true(sweep, sentence)]


def is_true(sweep: made_sweeps.Sweep, sentence: str) -> bool:
    """Returns whether the true curve agrees with everything that the sentence claims.

    Raises:
        ValueError: No rule here judges the sentence.
    """
    claims = []
    if match := NEED.search(sentence):
        claims.append(_holds(sweep, LEVELS[0], *_ends(match)))
    if match := SEVERE.search(sentence):
        claims.append(_holds(sweep, LEVELS[1], *_ends(match)))
    if match := CLOSER.search(sentence):
        claims.append(_holds(sweep, LEVELS[0], match[1], match[2]))
    if match := WITHIN.search(sentence):
        claims.append(_all_within(sweep, _value(match[1])))
    if match := BEYOND.search(sentence):
        claims.append(_all_beyond(sweep, _value(match[1])))
    if "times slower at the mildest" in sentence:
        claims.append(bool((sweep.slowdowns() >= LEVELS[0]).all()))
    if "gets faster again" in sentence:
        slower, faster = (_true_at(sweep, _value(one)) for one in FALL.search(sentence).groups())
        claims.append(slower > faster)
    if "cannot be determined" in sentence:
        # A refusal is no claim; an interval given as its reason is judged separately.
        claims.append(True)
    if not claims:
        raise ValueError(f"no rule judges the sentence {sentence!r}")
    return all(claims)


def _ends(match: re.Match[str]) -> tuple[str, str]:
    """Returns the tried values between which the threshold lies according to the sentence."""
    if match["side"] is None:
        return match["low"], match["high"]
    return (match["end"], OPEN) if match["side"] == "more" else (OPEN, match["end"])


def _value(text: str) -> float:
    return float(text.replace(",", ""))


def _holds(sweep: made_sweeps.Sweep, level: float, low: str, high: str) -> bool:
    """Returns whether every crossing of the level by the true curve lies between the two.

    A curve without a crossing in the tried range crosses beyond it.
    """
    least, most = _end(sweep, low, 0.0), _end(sweep, high, float("inf"))
    beyond = float("inf") if sweep.points.axis == "rtt" else 0.0
    return all(least <= one <= most for one in sweep.crossings(level) or [beyond])


def _end(sweep: made_sweeps.Sweep, text: str, default: float) -> float:
    """Returns the tried point that was printed with three figures; `default` for an open end."""
    return default if text == OPEN else sweep.points.x[_index(sweep, _value(text))]


def _index(sweep: made_sweeps.Sweep, value: float) -> int:
    """Returns the index of the tried point that was printed as `value`."""
    return int(np.argmin(np.abs(np.array(sweep.points.x) - value)))


def _true_at(sweep: made_sweeps.Sweep, value: float) -> float:
    return float(sweep.slowdowns()[_index(sweep, value)])


def _all_within(sweep: made_sweeps.Sweep, value: float) -> bool:
    return bool((sweep.slowdowns()[: _index(sweep, value) + 1] <= LEVELS[0]).all())


def _all_beyond(sweep: made_sweeps.Sweep, value: float) -> bool:
    return bool((sweep.slowdowns()[_index(sweep, value) :] >= LEVELS[0]).all())


def measure(shape: str, runs: int, spread: float, sweeps: int) -> Counter[str]:
    """Returns counts over many sweeps: `sweeps, intervals, held, told, false`."""
    counts: Counter[str] = Counter(sweeps=sweeps)
    for seed in range(sweeps):
        sweep = made_sweeps.make(shape, runs, spread, seed)
        found, sentences = printed(sweep)
        counts["told"] += found[0].state in KNOWN
        for level, one in zip(LEVELS, found, strict=True):
            if one.low is None and one.high is None:
                continue
            counts["intervals"] += 1
            low, high = (OPEN if end is None else f"{end!r}" for end in (one.low, one.high))
            counts["held"] += _holds(sweep, level, low, high)
        counts["false"] += bool(false_sentences(sweep, sentences))
    return counts


def main() -> int:
    """Prints the table; returns 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    help_quick = "100 sweeps of each kind, not 1,000; judged with all spreads together"
    parser.add_argument("--quick", action="store_true", help=help_quick)
    is_quick = parser.parse_args().quick
    sweeps = 100 if is_quick else 1_000
    jobs = [
        (shape, runs, spread, sweeps)
        for shape in made_sweeps.SHAPES for runs in RUNS for spread in SPREADS
    ]  # fmt: skip
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        measured = pool.map(measure, *zip(*jobs, strict=True))
        results = {job[:3]: counts for job, counts in zip(jobs, measured, strict=True)}
    table(results, sweeps)
    cells = list(results.values())
    if is_quick:
        size = len(SPREADS)
        cells = [sum(cells[at : at + size], Counter()) for at in range(0, len(cells), size)]
    return judge(cells)


def table(results: Results, sweeps: int) -> None:
    """Prints the results, one line for each shape and number of runs."""
    print(f"Verdict: {sweeps:,} made sweeps of each shape, number of runs and spread")
    print("holds: intervals that hold the true threshold; told: sweeps with an answer;")
    print("false: sweeps with a false sentence; all in %, for spreads of 1, 2 and 5 %")
    print(f"\n{'shape':18}{'runs':>5}{'holds':>18}{'told':>18}{'false':>18}")
    for shape in made_sweeps.SHAPES:
        for runs in RUNS:
            shares = [
                _share(results[shape, runs, spread], name) for name in SHARES for spread in SPREADS
            ]
            cells = "".join(f"{share:6.1f}" for share in shares)
            print(f"{shape if runs == RUNS[0] else '':18}{runs:>5}{cells}")


def judge(cells: list[Counter[str]]) -> int:
    """Prints the worst counts with the goals; returns 1 if one is missed."""
    held = min(_share(cell, "held") for cell in cells if cell["intervals"])
    false = max(_share(cell, "false") for cell in cells)
    shares = [_share(cell, "told") for cell in cells]
    is_held, is_true_enough = held >= LEAST_HELD, false <= MOST_FALSE
    print(f"\nleast held {held:.1f} %, goal at least {LEAST_HELD} %: {_word(is_held)}")
    print(f"most false {false:.1f} %, goal at most {MOST_FALSE} %: {_word(is_true_enough)}")
    print(f"told: median {np.median(shares):.0f} %, least {min(shares):.0f} %")
    return 0 if is_held and is_true_enough else 1


def _share(counts: Counter[str], name: str) -> float:
    """Returns the share in percent, NaN without an interval."""
    whole = counts[SHARES[name]]
    return 100 * counts[name] / whole if whole else float("nan")


def _word(reached: bool) -> str:
    return "reached" if reached else "MISSED"


if __name__ == "__main__":
    sys.exit(main())
