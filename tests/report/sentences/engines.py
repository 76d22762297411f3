"""Sentences under the figure that shows our parser beside Zeek."""
# ruff: noqa: E501 - sentences stand as they are printed

from __future__ import annotations

import re

from flowsweep import numbers
from sentences.asked import Asked, Check, N, Sentence, always


def _both_have(quantity: str) -> Check:
    """Returns a check that both engines have values of the quantity."""
    return lambda asked, _match: (
        asked.rows("engines").filter(quantity=quantity)["engine"].n_unique() == 2
    )


def _flow_values(asked: Asked, match: re.Match[str]) -> bool:
    """Whether the counts of flow durations are those of both tables at hosts both engines read."""
    hosts = "(run, host) in (select (run, host) from agreements) and run in (select run from shown_runs)"
    ours = asked.one(f"select count(*) from stg_flows where {hosts}")
    zeeks = asked.one(f"select count(*) from stg_zeek_flows where {hosts}")
    return (match[1], match[2]) == (numbers.count(ours), numbers.count(zeeks))


ENGINES = [
    *always("engines", r"CDF over all hosts of .+? whose capture both have read\.",
             r"Solid: our parser; dashed: Zeek\.",
             r"[123] of \d+ applications are drawn; all: flowsweep query engines DIR\."),
    Sentence("engines", rf"Values by our parser and by Zeek: (?:.+?, )?flow duration: ({N}) and ({N})"
             r"(?:, .+?)?\.", _flow_values),
    Sentence("engines", r"Zeek's messages end at a turn of the conversation or behind a short segment "
             r"with PSH; our parser has further signs, so that sizes differ\.", _both_have("message")),
    Sentence("engines", r"Zeek writes times in microseconds\.", _both_have("packet interval")),
]  # fmt: skip
