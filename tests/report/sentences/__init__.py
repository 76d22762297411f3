"""Every sentence under a figure of the report, with the condition under which it is true.

The conditions are checked against the tables, not the code that prints the sentences. `holds`
must be true wherever a sentence is printed, given the match of its pattern; `due`, if present,
says whether it must be printed.
"""

from sentences.asked import Asked, Sentence
from sentences.completion import COMPLETION
from sentences.distributions import DISTRIBUTIONS
from sentences.engines import ENGINES
from sentences.flows import FLOWS
from sentences.needs import FRONTIER, NEEDS
from sentences.over_time import SERIES, WAN
from sentences.papers import PAPERS
from sentences.path import PATH
from sentences.transfers import TRANSFERS

__all__ = ["SENTENCES", "Asked", "Sentence"]

SENTENCES = [
    *COMPLETION,
    *NEEDS,
    *FRONTIER,
    *SERIES,
    *WAN,
    *PATH,
    *FLOWS,
    *DISTRIBUTIONS,
    *ENGINES,
    *TRANSFERS,
    *PAPERS,
]
