"""The tables of an experiment, and the rows that SQL makes of them."""

from flowsweep.warehouse.database import Warehouse, figure_names, reports_folder

__all__ = ["Warehouse", "figure_names", "reports_folder"]
