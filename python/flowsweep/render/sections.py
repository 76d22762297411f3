"""What the page consists of, from the top down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flowsweep.render import (
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

#: Sections whose tables stand below the figures.
FIGURES_FIRST = ("sensitivity", "wan", "transfers", "application")

Heading = str | Callable[[Context], str]


@dataclass(frozen=True)
class Section:
    """A part of the page: anchor, heading, and what makes its content.

    Attributes:
        absent: What is said at the end of the page when it has no data.
    """

    anchor: str
    heading: str
    absent: str
    figures: tuple[Callable[[Context], Figure | None], ...] = ()
    tables: tuple[tuple[str, Heading, Callable[[Context], str | None]], ...] = ()


SECTIONS = (
    Section(
        "requirement", "Requirement", "No requirement: neither RTT nor rate was varied.",
        figures=(requirement.strip,),
        tables=(("requirement", "", sweep_tables.requirement),),
    ),
    Section(
        "sensitivity", "Sensitivity", "No sensitivity: neither RTT nor rate was varied.",
        figures=(completion.by_rtt, completion.by_rate),
        tables=(
            ("completion_by_problem", "Time and traffic by problem", sweep_tables.problems),
            ("transfer_table", "Seconds for a message", demand_tables.transfers),
            ("transfer_errors", published.heading, published.errors),
        ),
    ),
    Section(
        "traffic", "Traffic", "No traffic: there are no throughput tables.",
        figures=(throughput.series, throughput.cdf),
        tables=(("totals", "How much is sent, per point of the sweep", sweep_tables.totals),),
    ),
    Section(
        "wan", "Between the sites", "Nothing between the sites: no traffic of two was captured.",
        figures=(wan.throughput, wan_ranks.peaks, wan_ranks.per_core),
        tables=(("lightpaths", demand_tables.lightpaths_heading, demand_tables.lightpaths),),
    ),
    Section("flows", "Flows", "No flows: there are no flow tables.", figures=(flows.sizes,)),
    Section(
        "limits", "What holds it back", "Nothing on what holds it back: no TCP flow has payload.",
        figures=(limits.shares,),
    ),
    Section(
        "messages", "Messages", "No messages: there are no message tables.",
        figures=(messages.rate,),
    ),
    Section(
        "transfers", "Transfers", "No transfers: the application told none, connections were few.",
        figures=(transfers.activity, transfer_times.times),
        tables=(("fairness", demand_tables.fairness_heading, demand_tables.fairness),),
    ),
    Section(
        "application", "Inside the application",
        "Nothing from inside the application: it told neither phases nor its time in MPI.",
        figures=(phases.times,),
        tables=(("mpi_costs", "What calls of MPI cost", demand_tables.mpi),),
    ),
    Section(
        "intervals", "Intervals", "No packet intervals: there are no interval tables.",
        figures=(intervals.gaps,),
    ),
    Section(
        "runs", "Runs", "No runs: the run table is empty.",
        tables=(("run_table", run_tables.runs_heading, run_tables.runs),),
    ),
    Section(
        "quality", "Quality", "No captures: nothing can be said about their quality.",
        tables=(("run_quality", run_tables.quality_heading, run_tables.quality),),
    ),
)  # fmt: skip
