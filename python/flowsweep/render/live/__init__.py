"""The page of `flowsweep report --live`: the tables of a report, and DuckDB to query them."""

from flowsweep.render.live.page import LivePage, write

__all__ = ["LivePage", "write"]
