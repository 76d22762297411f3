"""Predicts peaks between the sites from those at fewer ranks: the table `rank_fits`.

The model is a fixed rate per rank, as Maassen et al. found it (figure 5). Each tried number of
ranks is predicted from the runs with fewer alone, so that the model is tested where it was not
fitted; twice and four times the largest number are predicted from all runs.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from typing import Any

from flowsweep.analysis import student

NOTE = (
    "peaks in proportion to the ranks, from the runs with fewer, and 95 % of what one further run "
    "would have (flowsweep.analysis.rank_fits)"
)
COLUMNS = {
    "app": "varchar",
    "problem": "varchar",
    "ranks": "double",
    "is_tried": "boolean",
    "from_ranks": "varchar",
    "from_runs": "bigint",
    "predicted_mbit_s": "double",
    "low_mbit_s": "double",
    "high_mbit_s": "double",
    "direction_predicted_mbit_s": "double",
}
#: Predicted multiples of the largest number of ranks that was tried.
BEYOND = (2, 4)
PROBABILITY = 0.975


def rows(runs: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Returns the rows of the table.

    Args:
        runs: `app, problem, ranks, peak_mbit_s, direction_peak_mbit_s` of each run on a line that
            varies only the ranks, sorted by these.
    """
    found: list[tuple[Any, ...]] = []
    for key, group in itertools.groupby(runs, key=lambda run: (run["app"], run["problem"])):
        own = list(group)
        tried = sorted({run["ranks"] for run in own})
        for ranks in tried[1:]:
            fewer = [run for run in own if run["ranks"] < ranks]
            found.append((*key, ranks, True, *_predict(fewer, ranks)))
        beyond = [times * tried[-1] for times in BEYOND] if len(tried) > 1 else []
        found += [(*key, ranks, False, *_predict(own, ranks)) for ranks in beyond]
    return found


def _predict(runs: Sequence[dict[str, Any]], ranks: float) -> tuple[Any, ...]:
    each = [run["peak_mbit_s"] / run["ranks"] for run in runs]
    mean, low, high = statistics.mean(each), None, None
    if len(each) > 1:
        wide = student.quantile(PROBABILITY, len(each) - 1) * math.sqrt(1 + 1 / len(each))
        half = wide * statistics.stdev(each)
        low, high = max(mean - half, 0.0) * ranks, (mean + half) * ranks
    direction = statistics.mean(run["direction_peak_mbit_s"] / run["ranks"] for run in runs)
    behind = ", ".join(f"{one:g}" for one in sorted({run["ranks"] for run in runs}))
    return behind, len(runs), mean * ranks, low, high, direction * ranks
