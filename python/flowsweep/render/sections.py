"""What the page consists of, from the top down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flowsweep.render import (
    agreement,
    completion,
    demand_tables,
    flows,
    intervals,
    limits,
    messages,
    phases,
    published,
    requirement,
    run_tables,
    sweep_tables,
    throughput,
    transfer_times,
    transfers,
    wan,
    wan_ranks,
)
from flowsweep.render.figure import Context, Figure

if TYPE_CHECKING:
    from markupsafe import Markup

#: Sections whose tables stand below the figures.
FIGURES_FIRST = ("sensitivity", "wan", "transfers", "application")

Heading = str | Callable[[Context], str]


@dataclass(frozen=True)
class Section:
    """A part of the page: anchor, heading, and what makes its content.

    Attributes:
        subject: What the section is about, for the end of the page where it has no data.
        query: The query whose needs tell why it has none.
        too_little: What is missing where its query has rows, and there is nothing to draw.
    """

    anchor: str
    heading: str
    subject: str
    query: str
    figures: tuple[Callable[[Context], Figure | None], ...] = ()
    tables: tuple[tuple[str, Heading, Callable[[Context], Markup | None]], ...] = ()
    too_little: str = ""

    def absent(self, context: Context) -> str:
        """Why the page lacks this section, in words that are true of the tables."""
        if context.rows(self.query).height:
            told = self.too_little or f"the rows of the query {self.query} have nothing to draw"
        else:
            lacks = context.warehouse.lacks(self.query)
            told = lacks or f"the query {self.query} has no rows"
        return f"No {self.subject}: {told}."


SECTIONS = (
    Section(
        "requirement", "Requirement", "requirement", "thresholds",
        figures=(requirement.strip,),
        tables=(("requirement", "", sweep_tables.requirement),),
    ),
    Section(
        "sensitivity", "Sensitivity", "sensitivity", "thresholds",
        figures=(completion.by_rtt, completion.by_rate),
        tables=(
            ("completion_by_problem", "Time and traffic by problem", sweep_tables.problems),
            ("transfer_table", "Seconds for a message", demand_tables.transfers),
            ("transfer_errors", published.heading, published.errors),
        ),
    ),
    Section(
        "traffic", "Traffic", "traffic", "throughput_series",
        figures=(throughput.series, throughput.cdf),
        tables=(("totals", "How much is sent, per point of the sweep", sweep_tables.totals),),
    ),
    Section(
        "wan", "Between the sites", "traffic between sites", "wan_throughput",
        figures=(wan.throughput, wan_ranks.peaks, wan_ranks.per_core),
        tables=(("lightpaths", demand_tables.lightpaths_heading, demand_tables.lightpaths),),
    ),
    Section("flows", "Flows", "flows", "flow_sizes", figures=(flows.sizes,)),
    Section(
        "limits", "What holds it back", "time that held a sender back", "limits",
        figures=(limits.shares,),
    ),
    Section("messages", "Messages", "messages", "message_rate", figures=(messages.rate,)),
    Section(
        "transfers", "Transfers", "transfers", "transfer_activity",
        too_little=f"no run has {transfers.FEWEST} transfers that come and go",
        figures=(transfers.activity, transfer_times.times),
        tables=(("fairness", demand_tables.fairness_heading, demand_tables.fairness),),
    ),
    Section(
        "application", "Inside the application", "phases of the application", "phase_times",
        figures=(phases.times,),
        tables=(("mpi_costs", "What calls of MPI cost", demand_tables.mpi),),
    ),
    Section(
        "intervals", "Intervals", "packet intervals", "packet_intervals",
        figures=(intervals.gaps,),
    ),
    Section(
        "runs", "Runs", "runs", "run_table",
        tables=(("run_table", run_tables.runs_heading, run_tables.runs),),
    ),
    Section(
        "quality", "Quality", "captures", "run_quality",
        tables=(
            ("run_quality", run_tables.quality_heading, run_tables.quality),
            ("agreement", agreement.heading, agreement.classes),
        ),
    ),
)  # fmt: skip
